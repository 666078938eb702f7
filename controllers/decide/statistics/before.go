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
	"slices"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
)

const (
	// LeastTimes is the ratio to the past that Fail needs: what else has changed since then isn't known.
	LeastTimes = 3
	// cappedTime is the time in which the evidence against the past grows by maxFactor at most: a dependency that fails for two minutes isn't
	// enough, and a verdict takes more than three.
	cappedTime = 50 * time.Second
	// tellingLooks is the number of looks that tell how much the counts of the past vary.
	tellingLooks = 5
)

// Before compares the counts of new pods with those of the old pods before the release, where there are too few old pods to compare with at
// the same time. It fails only if they are three times the old ones. What failed for others at the same time can't be told from the
// release, so looks with Others aren't evidence. Half of the share is spent on how much the rate before may have been underestimated.
func Before(before, looks []Look, settings Settings, share float64, ended bool) Finding {
	r := race{settings: settings, needed: 2 / share, least: LeastTimes}
	for i := range before {
		counts := onlyUsable(before[i].Old)
		olds := sum(counts)
		r.spread.add(counts, olds, 1, chiSquareOf(counts, olds, 1), false)
		r.finding.OldPods = r.finding.OldPods.plus(len(before[i].Old), before[i].OldPods)
	}
	r.olds = r.spread.total
	// Pods that differ all the time make the rate uncertain, but not the looks at it.
	r.factor = r.spread.inTime()
	if r.spread.looks < tellingLooks {
		r.seeNew(looks)
		r.conclude(Inconclusive, NoData)
		return r.finding
	}
	uncertain := max(r.spread.factor(r.spread.lasting()), r.factor)
	bound := distuv.Gamma{Alpha: r.olds.Bad/uncertain + 1, Beta: 1}.Quantile(1 - share/2)
	rate := settings.Tolerance * uncertain * bound / r.olds.Total
	suspect, looks := r.bad, together(looks)
	for i := range looks {
		news, most := sum(looks[i].New), looks[i].mostEvidence()
		r.seeNew(looks[i : i+1])
		suspect.begin()
		suspect.addRate(news, rate, step, r.factor, most)
		if looks[i].Others == 0 {
			r.news = r.news.plus(news)
			if r.late.bad.value() < 1 {
				r.late = faulty{}
			}
			r.late.news, r.late.olds = r.late.news.plus(news), r.olds
			r.late.bad.addRate(news, rate, step, r.factor, most)
			r.bad.begin()
			r.bad.addRate(news, rate, step, r.factor, most)
			r.calm.addRate(news, settings.MinDelta, 1/step, r.factor, most)
		}
		if r.decide() {
			return r.finding
		}
	}
	finding := r.end(ended, func(times float64) float64 {
		var expected evidence
		unlucky := r.unlucky(times)
		for i := range looks {
			if news := sum(looks[i].New); looks[i].Others == 0 {
				news.Bad = unlucky * news.Total
				expected.begin()
				expected.addRate(news, rate, step, r.factor, looks[i].mostEvidence())
			}
		}
		return expected.value()
	})
	if finding.Verdict == Inconclusive && suspect.value() >= r.needed {
		finding.Reason = CommonCause
	}
	return finding
}

// together returns looks that are as long as the evidence against the past is capped for, of looks that may be shorter: in those, events that
// are few come in lumps, of which the cap would take away.
func together(looks []Look) (longer []Look) {
	for i := range looks {
		look, last := looks[i], len(longer)-1
		if last >= 0 && longer[last].Time+look.Time <= cappedTime {
			look.New, look.NewPods = slices.Concat(longer[last].New, look.New), longer[last].NewPods+look.NewPods
			look.Others, look.Time = longer[last].Others+look.Others, longer[last].Time+look.Time
			longer = longer[:last]
		}
		if longer = append(longer, look); len(longer[0].New) == 0 && longer[0].NewPods == 0 { // none began to count
			longer = longer[:0]
		}
	}
	return longer
}

// seeNew counts looks, and the new pods seen in them.
func (r *race) seeNew(looks []Look) {
	for i := range looks {
		r.see(&Look{New: looks[i].New, NewPods: looks[i].NewPods})
	}
}

// mostEvidence returns how much of the logarithm of maxFactor the evidence of a look may be.
func (l *Look) mostEvidence() float64 { return min(1, l.Time.Seconds()/cappedTime.Seconds()) }
