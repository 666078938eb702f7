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

package statistics_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/traas-stack/altershield-operator/controllers/decide/statistics"
)

// minutes10 is ten minutes of looks, one each 15 s.
const minutes10 = 40

// world generates the counts of a release: Poisson, with the disturbances given.
type world struct {
	olds, news int
	// base is the share of bad requests of the old pods, requests those of a pod and look, ratio how much worse the new pods are.
	base, requests, ratio float64
	// burst is the shape of a gamma factor of each pod and look, 0 for none; lasting the coefficient of variation of a factor of each pod.
	burst, lasting float64
	// For shock looks the errors of all pods are so many times more.
	shock       int
	shockFactor float64
	// look is how long one takes, 15 seconds if zero.
	look time.Duration
}

// long returns the world in looks of 24 minutes.
func (w world) long() world {
	w.look, w.requests = 24*time.Minute, 96*w.requests
	return w
}

// looks returns n looks at the world.
func (w world) looks(random *rand.Rand, n int) []statistics.Look {
	return w.looksAt(random, n, w.pods(random))
}

// pods returns by how much each pod differs all the time, as a factor.
func (w world) pods(random *rand.Rand) []float64 {
	factors := make([]float64, w.olds+w.news)
	for i := range factors {
		factors[i] = gamma(random, w.lasting)
	}
	return factors
}

// looksAt returns n looks at pods with these factors.
func (w world) looksAt(random *rand.Rand, n int, factors []float64) []statistics.Look {
	looks := make([]statistics.Look, n)
	shockAt := random.IntN(n)
	names := make([]string, len(factors))
	for i := range names {
		names[i] = fmt.Sprintf("web-%d", i)
	}
	for t := range looks {
		look := &looks[t]
		look.OldPods, look.NewPods, look.Time = w.olds, w.news, cmp.Or(w.look, 15*time.Second)
		for i := range w.olds + w.news {
			rate := w.base * factors[i]
			if w.burst > 0 {
				rate *= gamma(random, 1/math.Sqrt(w.burst))
			}
			if t >= shockAt && t < shockAt+w.shock {
				rate *= w.shockFactor
			}
			pods := &look.Old
			if i >= w.olds {
				pods, rate = &look.New, rate*w.ratio
			}
			*pods = append(*pods, statistics.Count{
				Pod: names[i], Bad: poisson(random, rate*w.requests), Total: w.requests,
			})
		}
	}
	return looks
}

// scraped returns n looks of ten seconds, each pod scraped every five seconds at times of its own, while all pods fail 50 times as
// often for 25 seconds of each two minutes: at both edges, pods count different seconds of it.
func (w world) scraped(random *rand.Rand, n int) []statistics.Look {
	const look, every, lasts, times = 10, 120, 25, 50
	looks, phases, begin := make([]statistics.Look, n), make([]float64, w.olds+w.news), every*random.Float64()
	for i := range phases {
		phases[i] = 5 * random.Float64()
	}
	for t := range looks {
		l := &looks[t]
		l.OldPods, l.NewPods = w.olds, w.news
		for i, phase := range phases {
			rate, pods := w.base, &l.Old
			if i >= w.olds {
				rate, pods = w.base*w.ratio, &l.New
			}
			from, shocked := begin+float64(t)*look-phase, 0.0
			for at := -float64(every); at < from+look; at += every {
				shocked += max(0, min(from+look, at+lasts)-max(from, at)) / look
			}
			mean := w.requests * ((1-shocked)*min(1, rate) + shocked*min(1, times*rate))
			*pods = append(*pods, statistics.Count{Pod: fmt.Sprintf("web-%d", i), Bad: poisson(random, mean), Total: w.requests})
		}
	}
	return looks
}

// gamma returns a factor with the mean 1.
func gamma(random *rand.Rand, variation float64) float64 {
	if variation == 0 {
		return 1
	}
	shape := 1 / (variation * variation)
	return distuv.Gamma{Alpha: shape, Beta: shape, Src: random}.Rand()
}

func poisson(random *rand.Rand, mean float64) float64 {
	if mean == 0 {
		return 0
	}
	return distuv.Poisson{Lambda: mean, Src: random}.Rand()
}

// runs returns how often a property is tried: the full number only in the full tests.
func runs() int {
	if testing.Short() {
		return 150
	}
	return 10_000
}

// newRandom returns a source with a fixed seed, and prints it.
func newRandom(t *testing.T, seed uint64) *rand.Rand {
	t.Helper()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}
