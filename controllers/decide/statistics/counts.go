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

import (
	"hash/fnv"
	"math"
	"slices"
)

// Concurrent compares the counts of new pods with those of old pods in the same looks. The looks are all since the release began, also
// those that are already judged: a Fail stands, and an early pass stands unless a Fail follows it. The share is the part of the
// false-alarm budget that the check may spend, Budget.CountShare; ended reports whether the check's time is over.
func Concurrent(looks []Look, settings Settings, share float64, ended bool) Finding {
	r := race{settings: settings, needed: 1 / share, factor: 1}
	var usual usual
	var pairs []pair
	for i := range looks {
		look, isLong := &looks[i], looks[i].Time > looks[len(looks)-1].Time
		r.see(look)
		counts := onlyUsable(look.Old)
		news, olds := sum(look.New), sum(counts)
		weight := usual.weight(news.plus(olds))
		within := chiSquareOf(counts, olds, weight)
		if r.late.isOver() {
			r.late = faulty{}
		}
		factor, later := max(r.factor, within.clearly())/weight, max(r.factorOf(r.late.olds), within.clearly())/weight
		if news.Total > 0 && olds.Total > 0 {
			pair := pair{news, olds, factor, later, sharesOf(news, olds, settings.Tolerance, step)}
			r.news, r.olds, pairs = r.news.plus(news), r.olds.plus(olds), append(pairs, pair)
			r.late.news, r.late.olds = r.late.news.plus(news), r.late.olds.plus(olds)
			r.late.bad.addShares(news, olds, &pair.shares, step, later)
			r.bad.begin()
			r.bad.addShares(news, olds, &pair.shares, step, factor, later)
			good := sharesOf(news, olds, goodRatio*settings.Tolerance, 1/step)
			r.good.addShares(news, olds, &good, 1/step, factor)
			r.calm.addRate(news, settings.MinDelta, 1/step, factor, 1)
		}
		r.noise.add(counts, settings.Tolerance, max(r.factorOf(r.all), within.clearly())/weight)
		r.spread.add(counts, olds, weight, within, isLong)
		usual.add(news.plus(olds))
		r.all, r.lasting = r.all.plus(olds), r.spread.lasting()
		r.factor = r.factorOf(r.olds)
		if r.decide() {
			return r.finding
		}
	}
	return r.end(ended, func(times float64) float64 {
		var expected evidence
		unlucky := r.unlucky(times)
		for i := range pairs {
			news, olds := pairs[i].news, pairs[i].olds
			news.Bad, olds.Bad = unlucky*news.Total, r.olds.rate()*olds.Total
			expected.begin()
			expected.addShares(news, olds, &pairs[i].shares, step, pairs[i].factor, pairs[i].later)
		}
		return expected.value()
	})
}

// pair is a look at new and old pods, what its evidence was divided by, and the shares that the ratios looked for expect: they don't depend
// on the events, so that other events are judged by the same ones.
type pair struct {
	news, olds Count
	// later is that for a fault that begins late.
	factor, later float64
	shares        [rungs]float64
}

// race is the state of a comparison of counts while it goes through the looks.
type race struct {
	settings Settings
	// needed is the evidence that Fail needs, least the ratio that it needs beside it, 0 for any.
	needed, least float64
	// bad is the evidence that the new pods are worse than tolerated, good that they aren't much worse, calm that their rate is below
	// what matters.
	bad        evidence
	good, calm ladder
	noise      noise
	// spread is the dispersion of the looks so far. A look is judged with that of the looks before it, so that its own counts don't choose, unless
	// its old pods clearly differ: how their events fall on them says nothing about how they fall on new and old pods.
	spread dispersion
	factor float64
	// all is what the old pods counted until now, with new ones beside them or not, and lasting its dispersion.
	all        Count
	lasting    float64
	news, olds Count
	// late is what was counted since a fault most likely began after a healthy time.
	late    faulty
	looks   int
	passed  bool
	finding Finding
}

// faulty is what was counted on the pods in the looks of a fault, and the evidence of these looks.
type faulty struct {
	news, olds Count
	bad        ladder
}

// isOver reports whether the looks speak against a fault of any size, so that one most likely begins later.
func (f *faulty) isOver() bool { return slices.Max(f.bad.logs[:]) < 0 }

// factorOf returns the dispersion of looks in which the old pods counted so much: those that differ all the time do so by the events that they had.
func (r *race) factorOf(olds Count) float64 {
	if r.all.Bad == 0 {
		return r.spread.factor(1)
	}
	return r.spread.factor(1 + (r.lasting-1)*olds.Bad/r.all.Bad)
}

// see counts the look and the pods seen in it.
func (r *race) see(look *Look) {
	f := &r.finding
	r.looks++
	f.NewPods = f.NewPods.plus(len(look.New), look.NewPods)
	f.OldPods = f.OldPods.plus(len(look.Old), look.OldPods)
}

// decide judges the looks so far and reports whether that is final.
func (r *race) decide() bool {
	f := &r.finding
	if !f.NewPods.enough() || !f.OldPods.enough() {
		return false
	}
	evidence := r.bad.value()
	switch {
	case r.noise.value() >= noisyEvidence:
		if !r.passed {
			r.conclude(Inconclusive, NoisyMetric)
		}
	case evidence >= r.needed && r.matters(r.news.rate(), r.olds.rate(), r.news.Bad):
		r.conclude(Fail, CheckFailed)
	case evidence >= r.needed && r.matters(r.late.news.rate(), r.late.olds.rate(), r.late.news.Bad):
		r.news, r.olds = r.late.news, r.late.olds // the healthy time before it makes it look smaller
		r.conclude(Fail, CheckFailed)
	case !r.passed && max(r.good.value(), r.calm.value()) >= calmEvidence:
		r.passed = true
		r.conclude(Pass, PassedEarly)
		return false
	default:
		return false
	}
	return true
}

// matters reports whether a difference of the rates is one that Fail needs, with so many events.
func (r *race) matters(news, olds, events float64) bool {
	return news-olds >= r.settings.MinDelta && news >= r.least*olds && events >= r.settings.MinEvents
}

// end returns the finding after the last look. Evidence is the evidence that the looks would hold if the rate of the new pods were so many
// times that of the old ones.
func (r *race) end(ended bool, evidence func(times float64) float64) Finding {
	f := &r.finding
	switch {
	case r.passed:
	case !f.NewPods.enough() || !f.OldPods.enough():
		r.conclude(Inconclusive, missing(f.NewPods, f.OldPods))
	case !ended:
		r.conclude(Inconclusive, InProgress)
	default:
		r.conclude(Inconclusive, LowTraffic)
		f.MinimumDetectable = r.detectable(evidence)
		if f.MinimumDetectable <= r.settings.MaxDetectable {
			f.Verdict, f.Reason = Pass, CheckPassed
		}
	}
	return *f
}

// conclude fills the finding with the numbers so far.
func (r *race) conclude(verdict Verdict, reason Reason) {
	f := &r.finding
	f.Verdict, f.Reason, f.Looks = verdict, reason, r.looks
	f.New, f.Old, f.Ratio = r.news.rate(), r.olds.rate(), ratio(r.news.rate(), r.olds.rate())
	f.NewEvents, f.OldEvents = r.news.Bad, r.olds.Bad
	f.Evidence, f.Threshold, f.PValue = min(r.bad.value(), math.MaxFloat64), r.needed, math.NaN()
	f.Dispersion, f.MinimumDetectable = r.factor, math.Inf(1)
}

// unlucky returns a rate of the new pods that is exceeded with 80%, if the true one is so many times that of the old pods.
func (r *race) unlucky(times float64) float64 {
	mean := times * r.olds.rate() * r.news.Total
	return times * r.olds.rate() * math.Exp(-power*math.Sqrt(r.factor*(1/mean+1/r.olds.Bad)))
}

// detectable returns the least ratio for which the evidence suffices. It is infinite if the old pods had no events, as then their rate is
// unknown.
func (r *race) detectable(evidence func(times float64) float64) float64 {
	found := func(times float64) bool {
		unlucky := r.unlucky(times)
		return (times-1)*r.olds.rate() >= r.settings.MinDelta && unlucky >= r.least*r.olds.rate() &&
			unlucky*r.news.Total >= r.settings.MinEvents && evidence(times) >= r.needed
	}
	low, high := r.settings.Tolerance, 1000*r.settings.Tolerance
	if r.olds.Bad == 0 || !found(high) {
		return math.Inf(1)
	}
	for high/low > 1.01 {
		if middle := math.Sqrt(low * high); found(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

func (c Count) plus(other Count) Count {
	return Count{Bad: c.Bad + other.Bad, Total: c.Total + other.Total}
}

func (c Coverage) plus(seen, wanted int) Coverage {
	return Coverage{Seen: c.Seen + seen, Wanted: c.Wanted + max(seen, wanted)}
}

// noise compares old pods with old pods: two halves by their names, each as if it were the new ones. If a metric finds a difference there, it
// proves nothing about the new pods.
type noise struct {
	halves [2]evidence
	pods   places
	// half is that of each pod, by its place.
	half []uint32
}

// add adds the usable counts of the old pods in a look.
func (n *noise) add(counts []Count, tolerance, factor float64) {
	var halves [2]Count
	for i := range counts {
		c := &counts[i]
		place := n.pods.of(c.Pod)
		if place == len(n.half) {
			n.half = append(n.half, halfOf(c.Pod))
		}
		half := &halves[n.half[place]]
		half.Bad, half.Total = half.Bad+c.Bad, half.Total+c.Total
	}
	if halves[0].Total == 0 || halves[1].Total == 0 {
		return
	}
	for i := range n.halves {
		n.halves[i].begin()
		one, other := halves[i], halves[1-i]
		shares := sharesOf(one, other, tolerance, step)
		n.halves[i].addShares(one, other, &shares, step, factor, factor)
	}
}

// value returns the evidence of the half that is worse.
func (n *noise) value() float64 { return max(n.halves[0].value(), n.halves[1].value()) }

// halfOf returns the half of the old pods that a pod belongs to, in each look the same.
func halfOf(pod string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(pod))
	return h.Sum32() >> 16 & 1
}
