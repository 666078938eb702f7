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
	"gonum.org/v1/gonum/stat/distuv"
)

// Before compares the counts of new pods with those of the old pods before the release, where there are too few old pods to compare with at
// the same time. Take looks of a minute: one counts at most four times as evidence, so a failure of a dependency for two minutes isn't
// enough, and a verdict takes four minutes. What failed for others at the same time can't be told from the release, so looks with Others
// aren't evidence. Half of the share is spent on how much the rate before may have been underestimated.
func Before(before, looks []Look, settings Settings, share float64, ended bool) Finding {
	r := race{settings: settings, needed: 2 / share}
	for i := range before {
		r.spread.add(before[i].Old)
		r.finding.OldPods = r.finding.OldPods.plus(len(before[i].Old), before[i].OldPods)
	}
	r.olds = r.spread.total
	r.factor = max(r.spread.factor(), r.spread.inTime())
	if r.olds.Total == 0 {
		return r.end(ended, nil)
	}
	bound := distuv.Gamma{Alpha: r.olds.Bad/r.factor + 1, Beta: 1}.Quantile(1 - share/2)
	rate := settings.Tolerance * r.factor * bound / r.olds.Total
	suspect := r.bad
	for i := range looks {
		news := sum(looks[i].New)
		r.see(&Look{New: looks[i].New, NewPods: looks[i].NewPods})
		suspect.addRate(news, rate, step, r.factor)
		if looks[i].Others == 0 {
			r.news = r.news.plus(news)
			r.bad.addRate(news, rate, step, r.factor)
			r.calm.addRate(news, settings.MinDelta, 1/step, r.factor)
		}
		if r.decide() {
			return r.finding
		}
	}
	finding := r.end(ended, func(times float64) float64 {
		var expected ladder
		unlucky := r.unlucky(times)
		for i := range looks {
			if news := sum(looks[i].New); looks[i].Others == 0 {
				news.Bad = unlucky * news.Total
				expected.addRate(news, rate, step, r.factor)
			}
		}
		return expected.value()
	})
	if finding.Verdict == Inconclusive && suspect.value() >= r.needed {
		finding.Reason = CommonCause
	}
	return finding
}
