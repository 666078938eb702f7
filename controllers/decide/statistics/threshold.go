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

// Threshold fails once the rate of the new pods exceeds a fixed one in so many looks running, with what was counted in these. Looks with less exposure
// than needed neither count nor interrupt, and nothing fails while too few of the pods were seen.
func Threshold(looks []Look, maxRate float64, consecutive int, minTotal float64, ended bool) Finding {
	f := Finding{Verdict: Inconclusive, Reason: InProgress, PValue: math.NaN(), Threshold: maxRate, MinimumDetectable: math.Inf(1)}
	judged, news, above := 0, Count{}, Count{}
	for i := range looks {
		f.Looks++
		f.NewPods = f.NewPods.plus(len(looks[i].New), looks[i].NewPods)
		look := sum(looks[i].New)
		if news = news.plus(look); look.Total == 0 || look.Total < minTotal {
			continue
		}
		judged++
		if f.Running, above = f.Running+1, above.plus(look); look.rate() <= maxRate {
			f.Running, above = 0, Count{}
		}
		if f.Running >= consecutive && f.NewPods.enough() { // the pods that aren't seen may be the good ones
			f.Verdict, f.Reason, news = Fail, CheckFailed, above
			break
		}
	}
	f.New, f.NewEvents = news.rate(), news.Bad
	switch {
	case f.Verdict == Fail:
	case !f.NewPods.enough():
		f.Reason = missing(f.NewPods, Coverage{})
	case ended && judged < consecutive:
		f.Reason = LowTraffic
	case ended:
		f.Verdict, f.Reason = Pass, CheckPassed
	}
	return f
}
