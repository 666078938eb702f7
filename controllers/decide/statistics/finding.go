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

// Verdict is how a check ends.
type Verdict string

// The verdicts. Inconclusive is also that of a check that goes on.
const (
	Pass         Verdict = "Pass"
	Fail         Verdict = "Fail"
	Inconclusive Verdict = "Inconclusive"
)

// Reason is why a check ends as it does.
type Reason string

// The reasons.
const (
	// CheckFailed: the new pods are worse than tolerated.
	CheckFailed Reason = "CheckFailed"
	// CheckPassed: no difference was found, and one that matters would have been.
	CheckPassed Reason = "CheckPassed"
	// PassedEarly: the new pods are clearly not worse, before the check's time is over.
	PassedEarly Reason = "PassedEarly"
	// InProgress: there is no verdict yet.
	InProgress Reason = "InProgress"
	// LowTraffic: even a big difference wouldn't have been found.
	LowTraffic Reason = "LowTraffic"
	// TooFewPods: a gauge can't be judged with so few pods.
	TooFewPods Reason = "TooFewPods"
	// NoData: too few of the pods were seen.
	NoData Reason = "NoData"
	// MetricMissing: no pod has the metric.
	MetricMissing Reason = "MetricMissing"
	// MissingOnNewPods: the old pods have the metric, the new ones don't. The release may have lost it.
	MissingOnNewPods Reason = "MissingOnNewPods"
	// CommonCause: others show the same at the same time.
	CommonCause Reason = "CommonCause"
	// NoisyMetric: the metric tells old pods apart from old pods, so it can't judge new ones.
	NoisyMetric Reason = "NoisyMetric"
)

// IsMissing reports whether too few of the pods were seen to tell: what was measured on them is none.
func (r Reason) IsMissing() bool { return r == NoData || r == MetricMissing || r == MissingOnNewPods }

// Finding is a verdict with the numbers that explain it. Numbers that a test doesn't have are zero, PValue is NaN.
type Finding struct {
	Verdict Verdict
	Reason  Reason
	// New and Old are the rates of events per exposure, or for a gauge the medians of the pods.
	New, Old float64
	// Ratio is New/Old: infinite if Old alone is 0, and 1 if both are.
	Ratio float64
	// NewEvents and OldEvents are the events counted.
	NewEvents, OldEvents float64
	// NewPods and OldPods are what was seen of the pods.
	NewPods, OldPods Coverage
	// Evidence is the e-value against the tolerated ratio. It may be looked at any time.
	Evidence float64
	// PValue is the probability of such a difference within the tolerance, NaN if the test has none.
	PValue float64
	// Threshold is what Evidence must reach or PValue must not exceed for Fail.
	Threshold float64
	// MinimumDetectable is the ratio that is found with 80%, infinite if none is known to be.
	MinimumDetectable float64
	// EventsNeeded is the number of events on the new pods that Fail would need. Only Rare has it.
	EventsNeeded int
	// Superiority is Vargha and Delaney's A: the probability that a new pod has a greater value than an old one. Only Gauges has it.
	Superiority float64
	// Dispersion is how much more than by chance the counts vary, at least 1.
	Dispersion float64
	// Looks is the number of looks after which the verdict stood.
	Looks int
	// Running is how many of the last looks exceed the threshold. Only Threshold has it.
	Running int
}

// Coverage is how many looks at pods were wanted, and how many there were.
type Coverage struct{ Seen, Wanted int }

// enough reports whether enough of the pods were seen to judge them.
func (c Coverage) enough() bool {
	return c.Seen > 0 && float64(c.Seen) >= minCoverage*float64(c.Wanted)
}

// Lost reports whether a release lost a metric: enough of the old pods have it, and no new one does.
func Lost(newPods, oldPods Coverage) bool {
	return newPods.Seen == 0 && newPods.Wanted > 0 && oldPods.enough()
}

// missing returns the reason why the pods seen don't suffice.
func missing(newPods, oldPods Coverage) Reason {
	switch {
	case newPods.Seen == 0 && newPods.Wanted > 0 && oldPods.Seen == 0 && oldPods.Wanted > 0:
		return MetricMissing
	case Lost(newPods, oldPods):
		return MissingOnNewPods
	}
	return NoData
}

// ratio returns a/b, which is infinite if b alone is 0 and 1 if both are.
func ratio(a, b float64) float64 {
	if b == 0 {
		if a == 0 {
			return 1
		}
		return math.Inf(1)
	}
	return a / b
}
