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
	"math/bits"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/combin"
)

const (
	// fewPods is the greatest number of new pods that are too few to permute.
	fewPods = 2
	// dominated is the least number of old pods that a new one can be judged with by dominance, dominanceLooks in how many looks running.
	dominated      = 5
	dominanceLooks = 3
	// maxArrangements are enumerated; of more, draws are drawn (Phipson and Smyth 2010).
	maxArrangements = 20_000
	draws           = 2_000
)

// Gauge is the values of a pod, one for each look; NaN while it warms up and where there is none.
type Gauge struct {
	Pod    string
	Values []float64
}

// Gauges compares the values of new pods with those of old ones, once, at the end of the check's time. A pod counts once, with its median,
// however often it is looked at, as its values depend on each other. With three new pods, and enough in all that chance alone rarely sorts
// them so, the means are compared by permutation. With fewer, every new pod must exceed every old one, as of each of the last three looks;
// that has no p-value and isn't part of the budget. The share is the part of the budget that the check may spend, Budget.LevelShare.
func Gauges(news, olds []Gauge, settings GaugeSettings, share float64, ended bool) Finding {
	f := Finding{Verdict: Inconclusive, Reason: InProgress, PValue: math.NaN(), Threshold: share, MinimumDetectable: math.Inf(1)}
	newMedians, oldMedians := medians(news), medians(olds)
	f.NewPods, f.OldPods = Coverage{len(newMedians), len(news)}, Coverage{len(oldMedians), len(olds)}
	f.Looks = looksOf(news)
	if !f.NewPods.enough() || !f.OldPods.enough() {
		f.Reason = missing(f.NewPods, f.OldPods)
		return f
	}
	f.New, f.Old = median(newMedians), median(oldMedians)
	f.Ratio, f.Superiority = ratio(f.New, f.Old), superiority(newMedians, oldMedians)
	n, k := len(oldMedians), len(newMedians)
	matters := f.New-f.Old >= settings.MinDelta
	if k > fewPods && combin.GeneralizedBinomial(float64(n+k), float64(k)) >= 1/share {
		if !ended {
			return f
		}
		f.Verdict, f.Reason, f.PValue = Pass, CheckPassed, 1
		f.MinimumDetectable = detectableGauge(newMedians, oldMedians, settings, share)
		if matters {
			f.PValue = permutation(settings.discounted(newMedians), oldMedians)
		}
		if f.PValue <= share {
			f.Verdict, f.Reason = Fail, CheckFailed
		}
		return f
	}
	switch {
	case n < dominated:
		f.Reason = TooFewPods
	case !ended:
	case matters && dominance(news, olds, settings):
		f.Verdict, f.Reason = Fail, CheckFailed
	default:
		f.Verdict, f.Reason = Pass, CheckPassed
		f.MinimumDetectable = ratio(settings.Tolerance*slices.Max(oldMedians), f.Old)
	}
	return f
}

// discounted returns the values less what is tolerated of them: of negative values it makes less, too.
func (s GaugeSettings) discounted(values []float64) []float64 {
	less := make([]float64, len(values))
	for i, v := range values {
		less[i] = v - (1-1/s.Tolerance)*math.Abs(v)
	}
	return less
}

// permutation returns the share of the arrangements of all values in which as many of them as there are new ones have at least the mean
// of the new ones. The draws begin with one seed, and with sorted values, so that it is the same whoever computes it.
func permutation(news, olds []float64) float64 {
	all := slices.Concat(news, olds)
	slices.Sort(all)
	// The fewer of the groups are drawn: the new ones to have a great sum, or the old ones a small one.
	chosen, sign := news, 1.0
	if len(olds) < len(news) {
		chosen, sign = olds, -1
	}
	n, k := len(all), len(chosen)
	limit, size := 0.0, 0.0
	for _, v := range chosen {
		limit += sign * v
	}
	for i, v := range all {
		size += math.Abs(v)
		all[i] = sign * v
	}
	limit -= 1e-12 * size // sums of the same values in another order differ
	least := all[:k]
	if sign < 0 {
		least = all[n-k:]
	}
	if floats.Sum(least) >= limit { // as where every new value, less what is tolerated, is below all old ones
		return 1
	}
	extreme := func(total float64) float64 {
		if total >= limit {
			return 1
		}
		return 0
	}
	if count := combin.GeneralizedBinomial(float64(n), float64(k)); count <= maxArrangements {
		hits, indices := 0.0, make([]int, k)
		for g := combin.NewCombinationGenerator(n, k); g.Next(); {
			total := 0.0
			for _, i := range g.Combination(indices) {
				total += all[i]
			}
			hits += extreme(total)
		}
		return hits / math.Round(count)
	}
	random, hits := rand.NewPCG(1, 1), 1.0
	for range draws {
		total := 0.0
		for i := range k {
			rest := all[i:n]
			j := below(random, uint64(len(rest)))
			rest[0], rest[j] = rest[j], rest[0]
			total += rest[0]
		}
		hits += extreme(total)
	}
	return hits / (draws + 1)
}

// below returns a number below n, the same one as rand.Rand does. That calls its source by an interface, which takes half of the time of a
// permutation.
func below(random *rand.PCG, n uint64) uint64 {
	if n&(n-1) == 0 {
		return random.Uint64() & (n - 1)
	}
	high, low := bits.Mul64(random.Uint64(), n)
	for low < n && low < -n%n {
		high, low = bits.Mul64(random.Uint64(), n)
	}
	return high
}

// dominance reports whether every new pod exceeds every old one, as of each of the last looks.
func dominance(news, olds []Gauge, settings GaugeSettings) bool {
	looks := looksOf(news)
	for past := range dominanceLooks {
		now, then := medians(until(news, looks-past)), medians(until(olds, looks-past))
		if len(now) < len(news) || len(then) < dominated || slices.Min(settings.discounted(now)) <= slices.Max(then) {
			return false
		}
	}
	return true
}

// detectableGauge returns the ratio that the permutation finds with 80%, by the normal approximation.
func detectableGauge(news, olds []float64, settings GaugeSettings, share float64) float64 {
	n, k := float64(len(olds)), float64(len(news))
	level := settings.Tolerance * stat.Mean(olds, nil)
	if level <= 0 {
		return math.Inf(1)
	}
	// The spread of the new pods is taken at the level of the old ones, where their ratio is undone.
	variance := (n - 1) * stat.Variance(olds, nil)
	if mean := stat.Mean(news, nil); mean > 0 {
		variance += (k - 1) * stat.Variance(news, nil) * math.Pow(stat.Mean(olds, nil)/mean, 2)
	}
	deviation := math.Sqrt(max(0, variance) / (n + k - 2) * (1/n + 1/k))
	relative := (mathext.NormalQuantile(1-share) + power) * deviation / stat.Mean(olds, nil)
	return settings.Tolerance * (1 + relative)
}

// superiority returns the probability that a new value is greater than an old one, equal ones counting half.
func superiority(news, olds []float64) float64 {
	sorted, wins := slices.Clone(olds), 0
	slices.Sort(sorted)
	for _, a := range news {
		below, found := slices.BinarySearch(sorted, a)
		notAbove := below
		for found && notAbove < len(sorted) && sorted[notAbove] == a {
			notAbove++
		}
		wins += below + notAbove // twice, so that equal ones count half
	}
	return float64(wins) / 2 / float64(len(news)*len(olds))
}

// medians returns the medians of the pods that have values.
func medians(gauges []Gauge) (medians []float64) {
	var values []float64
	for _, g := range gauges {
		if values = appendSeen(values[:0], g.Values); len(values) > 0 {
			slices.Sort(values)
			medians = append(medians, middle(values))
		}
	}
	return medians
}

// median returns the median.
func median(values []float64) float64 {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return middle(sorted)
}

// middle returns the median of sorted values, of an even number the mean of the two in the middle.
func middle(sorted []float64) float64 {
	n := len(sorted)
	return sorted[(n-1)/2]/2 + sorted[n/2]/2
}

// until returns the gauges as they were after so many looks.
func until(gauges []Gauge, looks int) []Gauge {
	past := slices.Clone(gauges)
	for i := range past {
		past[i].Values = past[i].Values[:min(max(looks, 0), len(past[i].Values))]
	}
	return past
}

// appendSeen appends the values that are some.
func appendSeen(seen, values []float64) []float64 {
	for _, v := range values {
		if math.Abs(v) <= maxCount {
			seen = append(seen, v)
		}
	}
	return seen
}

// looksOf returns how many looks there were.
func looksOf(gauges []Gauge) (looks int) {
	for _, g := range gauges {
		looks = max(looks, len(g.Values))
	}
	return looks
}
