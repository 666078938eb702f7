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
	"math"

	"gonum.org/v1/gonum/mathext"
)

const (
	// rareTolerance is the rate ratio of rare events that is tolerated.
	rareTolerance = 3
	// commonWorkloads is how many other workloads with the same trouble make it a common cause.
	commonWorkloads = 3
)

// Lives is what happened to pods, and how long they lived together.
type Lives struct{ Events, Minutes float64 }

// Rare compares rare events, such as restarts, on the new pods with those in the whole lives of the old ones: an application that restarts
// now and then may. Recent is the part of the old pods' lives since the release began: if that explains the events, or if so many other
// workloads of the node or the namespace have the same trouble, the release isn't to blame.
//
// P is the exact conditional probability. It is looked at again and again; that the tolerance is three times the old rate pays for it.
func Rare(news, olds, recent Lives, others int, level float64) Finding {
	f := Finding{
		Verdict: Inconclusive, Reason: NoData, PValue: math.NaN(), Threshold: level, MinimumDetectable: math.Inf(1),
	}
	if !news.usable() || !olds.usable() {
		return f
	}
	f.New, f.Old, f.NewEvents, f.OldEvents = news.Events/news.Minutes, olds.Events/olds.Minutes, news.Events, olds.Events
	f.Ratio = ratio(f.New, f.Old)
	f.Verdict, f.Reason, f.PValue = Pass, CheckPassed, conditional(news, olds)
	for f.EventsNeeded = 1; f.EventsNeeded < 1000 && conditional(Lives{float64(f.EventsNeeded), news.Minutes}, olds) > level; {
		f.EventsNeeded++
	}
	if f.Old > 0 {
		f.MinimumDetectable = float64(f.EventsNeeded) / news.Minutes / f.Old
	}
	if f.PValue > level {
		return f
	}
	f.Verdict, f.Reason = Fail, CheckFailed
	excused := 0.0
	if recent.usable() && recent.Events > 0 {
		excused = conditional(news, recent)
	}
	if excused > level || others >= commonWorkloads {
		f.Verdict, f.Reason = Inconclusive, CommonCause
	}
	return f
}

// conditional returns P[Bin(x+y, p) >= x] with p = 3E/(3E+F): of x+y events so many fall on the new pods, at three times the old rate.
func conditional(news, olds Lives) float64 {
	if news.Events < 1 {
		return 1
	}
	p := rareTolerance * news.Minutes / (rareTolerance*news.Minutes + olds.Minutes)
	return mathext.RegIncBeta(news.Events, olds.Events+1, p)
}

func (l Lives) usable() bool { return isCount(l.Events) && isCount(l.Minutes) && l.Minutes > 0 }
