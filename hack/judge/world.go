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

package main

import (
	"math"
	"math/rand/v2"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
)

const (
	// interval is the time between two scrapes, and between two looks.
	interval = 15 * time.Second
	// history is what is scraped before a release, in intervals, minutes10 how long its new pods count.
	history, minutes10 = 20, 40
	// createdAfter and readyAfter are when new pods begin, and count after the warm-up.
	createdAfter, readyAfter, warmup = 10 * time.Second, 30 * time.Second, time.Minute
	// watched is how long a release is watched.
	watched = readyAfter + warmup + minutes10*interval
)

// began returns when all releases begin: each has a namespace of its own.
func began() time.Time { return time.Unix(1767225600, 0).UTC() }

// world generates the requests of a release, as the world of the tests of package statistics does: Poisson, with the disturbances given.
type world struct {
	olds, news int
	// base is the share of failed requests of the old pods, and of slow ones; requests those of a pod and interval.
	base, requests float64
	// errors and slowness are how many times more the new pods have of each.
	errors, slowness float64
	// burst is the shape of a gamma factor of each pod and interval, 0 for none; lasting the coefficient of variation of a factor of each pod.
	burst, lasting float64
	// For shock, the failed and slow requests of all pods are so many times more.
	shock       time.Duration
	shockFactor float64
	// cold is how many times more failed and slow requests new pods have while they warm up, 0 for none.
	cold float64
	// unseen reports whether the new pods have no metrics.
	unseen bool
}

// pod is what was scraped of a pod.
type pod struct {
	name    string
	isNew   bool
	scrapes []scrape
}

// scrape has the counters of a pod at a time.
type scrape struct {
	at                  time.Time
	total, failed, slow float64
}

// pods returns what is scraped of the pods of a release. Each pod is scraped at its own times, as by Prometheus.
func (w world) pods(random *rand.Rand) (pods []pod) {
	shockAt := readyAfter + warmup + time.Duration(random.Int64N(int64(minutes10*interval-w.shock)))
	for i := range w.olds + w.news {
		of := pod{name: "web-5c6f8-" + suffix(random), isNew: i >= w.olds}
		if of.isNew {
			of.name = "web-7d4b9-" + suffix(random)
		}
		if !of.isNew || !w.unseen {
			of.scrapes = w.scrapes(random, of.isNew, shockAt)
		}
		pods = append(pods, of)
	}
	return pods
}

func (w world) scrapes(random *rand.Rand, isNew bool, shockAt time.Duration) (scrapes []scrape) {
	lasting := [2]float64{gamma(random, w.lasting), gamma(random, w.lasting)}
	factors := [2]float64{1, 1}
	now := scrape{total: math.Round(w.requests * 100 * random.Float64())}
	from := -history * interval
	if isNew {
		factors, now.total, from = [2]float64{w.errors, w.slowness}, 0, 0
	}
	offset := time.Duration(random.Int64N(int64(interval/time.Millisecond))) * time.Millisecond
	for at := from + offset; at <= watched; at += interval {
		if isNew && at < createdAfter {
			continue
		}
		now.at = began().Add(at)
		scrapes = append(scrapes, now)
		now.total += w.requests
		for i, counter := range []*float64{&now.failed, &now.slow} {
			rate := w.base * lasting[i] * factors[i]
			if w.burst > 0 {
				rate *= gamma(random, 1/math.Sqrt(w.burst))
			}
			if isNew && w.cold > 0 && at+interval <= readyAfter+warmup {
				rate *= w.cold
			}
			if shocked := min(at+interval, shockAt+w.shock) - max(at, shockAt); shocked > 0 {
				rate *= 1 + (w.shockFactor-1)*shocked.Seconds()/interval.Seconds()
			}
			*counter += min(poisson(random, rate*w.requests), w.requests)
		}
	}
	return scrapes
}

// suffix returns what Kubernetes adds to the names of pods.
func suffix(random *rand.Rand) string {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	text := make([]byte, 5)
	for i := range text {
		text[i] = letters[random.IntN(len(letters))]
	}
	return string(text)
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
