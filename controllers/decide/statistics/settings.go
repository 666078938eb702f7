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

// Settings are what a user may set for the comparison of counters.
type Settings struct {
	// Tolerance is the rate ratio of new to old pods that is tolerated, at least 1. With 1.25 instead of 1.5 twice the errors are found
	// sooner, but pods that differ all the time cause up to 5% false alarms.
	Tolerance float64
	// MinDelta is the least difference of the rates that matters, in events per exposure: 0.005 is half a percent of the requests.
	MinDelta float64
	// MinEvents is the least number of events on the new pods that Fail needs.
	MinEvents float64
	// MaxDetectable is the greatest ratio that a check may be blind to and still pass at its end.
	MaxDetectable float64
}

// Defaults returns the settings of a check that has none.
func Defaults() Settings {
	return Settings{Tolerance: 1.5, MinDelta: 0.005, MinEvents: 5, MaxDetectable: 5}
}

// GaugeSettings are what a user may set for the comparison of gauges.
type GaugeSettings struct {
	// Tolerance is the ratio of new to old values that is tolerated, at least 1.
	Tolerance float64
	// MinDelta is the least difference of the medians that matters, in the unit of the gauge.
	MinDelta float64
}

const (
	// rungs and step are the alternatives to a ratio r: r*1.5 to r*1.5^10, or downwards. The mean of their evidence is within a factor of
	// ten of the best one's (Lindon and Malek, arXiv 2011.03567, use a continuous mixture).
	rungs = 10
	step  = 1.5
	// maxFactor is how much the evidence of one look counts at most, so that no single scrape decides. Less than a likelihood ratio is still
	// a supermartingale.
	maxFactor = 4.0
	// fromFirst is the weight of the evidence of a fault that is there from the first look; with it, four looks still suffice for 200 and five for
	// 1000. The later looks share the rest, the k-th with 1/(k(k-1)) of it.
	fromFirst = 0.98
	// goodRatio, times the tolerance, is the ratio that an early pass excludes; calmEvidence is the evidence for it: 5% slip through.
	goodRatio    = 2.0
	calmEvidence = 20.0
	// noisyEvidence is the evidence of old pods against old pods that mutes a check.
	noisyEvidence = 10.0
	// minCoverage is the share of the pods that must be seen.
	minCoverage = 0.8
	// maxCount is more than any counter counts; greater values are no data, nor are those below 1/maxCount. It keeps sums finite.
	maxCount = 1e15
	// tellingPods is the number of old pods that tell how much pods differ; fewer are taken to differ by podVariation, a coefficient of
	// variation.
	tellingPods  = 5
	podVariation = 0.45
	// fewEvents of a look are never too many; more than unusual times the usual ones are.
	fewEvents = 20
	unusual   = 2.0
	// raggedLook is the dispersion of the old pods within a look from which the look is judged by it. At the edge of a shock the pods count
	// different seconds of it, so they say little about each other, and as little about new pods.
	raggedLook = 3.0
	// power is the normal quantile of 80%, with which the minimum detectable effect is found.
	power = 0.8416
)
