/*
Copyright 2026 The AlterShield Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package statistics

import "math"

// ladder is the evidence of looks against one ratio, as the mean of that for ten alternatives to it.
type ladder struct{ logs [rungs]float64 }

// evidence is the evidence of a fault that is there from the first look, and of one that begins with a later look: the mean of that from each look on,
// by weights whose sum is 1. Otherwise a healthy time would count against a fault that begins after it, the more, the more traffic it had. As a
// mean of evidence it reaches 1/a as seldom.
type evidence struct {
	first, later ladder
	// looks is the number of looks with which the fault may have begun.
	looks int
}

// begin lets the fault begin with the next look as well.
func (e *evidence) begin() {
	e.looks++
	k := float64(e.looks)
	weight := -math.Log(k * (k - 1))
	for j, log := range e.later.logs {
		if k == 1 {
			e.later.logs[j] = math.Inf(-1)
			continue
		}
		more, less := max(log, weight), min(log, weight)
		e.later.logs[j] = more + math.Log1p(math.Exp(less-more))
	}
}

// value returns the e-value.
func (e *evidence) value() float64 { return fromFirst*e.first.value() + (1-fromFirst)*e.later.value() }

// addShares adds a look at new and old pods whose shares are known. The looks since a later begin have a dispersion of their own: how much pods differ
// for good adds up from look to look.
func (e *evidence) addShares(news, olds Count, shares *[rungs]float64, by, dispersion, later float64) {
	e.first.addShares(news, olds, shares, by, dispersion)
	e.later.addShares(news, olds, shares, by, later)
}

// addRate adds a look at new pods, against a known rate.
func (e *evidence) addRate(news Count, rate, by, dispersion, most float64) {
	e.first.addRate(news, rate, by, dispersion, most)
	e.later.addRate(news, rate, by, dispersion, most)
}

// value returns the e-value: by Ville's inequality it ever reaches 1/a with probability a at most, if the ratio holds.
func (l *ladder) value() float64 {
	total := 0.0
	for _, log := range l.logs {
		total += math.Exp(log)
	}
	return total / rungs
}

// addShares adds a look at new and old pods. An event falls on a new pod with the probability rE/(rE+F) if r is the ratio, E and F the exposures:
// whatever changes all pods at the same time cancels.
func (l *ladder) addShares(news, olds Count, shares *[rungs]float64, by, dispersion float64) {
	rung, most := math.Log(by), math.Log(maxFactor)
	for j, share := range shares {
		l.logs[j] += min(most, (news.Bad*rung*float64(j+1)-(news.Bad+olds.Bad)*share)/dispersion)
	}
}

// sharesOf returns the logarithms of how much greater than under the ratio the share of all events is that each alternative expects.
func sharesOf(news, olds Count, null, by float64) (shares [rungs]float64) {
	times, all := 1.0, null*news.Total+olds.Total
	for j := range shares {
		times *= by
		shares[j] = math.Log((null*times*news.Total + olds.Total) / all)
	}
	return shares
}

// addRate adds a look at new pods, against a known rate. Most is how much of the logarithm of
// maxFactor its evidence may be.
func (l *ladder) addRate(news Count, rate, by, dispersion, most float64) {
	times, rung, most := 1.0, math.Log(by), most*math.Log(maxFactor)
	for j := range l.logs {
		times *= by
		l.logs[j] += min(most, (news.Bad*rung*float64(j+1)-(times-1)*rate*news.Total)/dispersion)
	}
}
