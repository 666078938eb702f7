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
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/traas-stack/altershield-operator/hack/judge/report"
)

// class is a class of releases that are alike.
type class struct {
	report.Class
	count int
	world world
}

const errorsCheck, latencyCheck = "errors", "latency"

// good returns classes of releases that change nothing, 120 in all.
func good() (classes []class) {
	for _, row := range []struct {
		name   string
		world  world
		silent bool
	}{
		{"Poisson, few errors", world{base: 0.001, requests: 30}, false},
		{"Poisson, many errors", world{base: 0.01, requests: 300}, false},
		{"bursts", world{base: 0.01, requests: 300, burst: 0.5}, false},
		{"pods differ by 35%, little traffic", world{base: 0.01, requests: 30, lasting: 0.35}, false},
		{"pods differ by 35%", world{base: 0.01, requests: 300, lasting: 0.35}, false},
		{"pods differ by 35%, big traffic", world{base: 0.01, requests: 3000, lasting: 0.35}, false},
		{"common shock x50 for 30 s", world{base: 0.01, requests: 300, shock: 30 * time.Second, shockFactor: 50}, false},
		{"common shock x50 for 2 min", world{base: 0.01, requests: 300, shock: 2 * time.Minute, shockFactor: 50}, false},
		{"x10 while new pods warm up", world{base: 0.01, requests: 300, cold: 10}, false},
		{"no traffic", world{base: 0.01}, true},
		{"no metrics of new pods", world{base: 0.01, requests: 300, unseen: true}, true},
	} {
		counts := map[bool]int{false: 4, true: 2}[row.silent]
		for _, group := range [][2]int{{9, 1}, {5, 5}, {2, 1}} {
			busy := row.world.base*row.world.requests >= report.Traffic
			of := class{Class: report.Class{Name: row.name, Silent: row.silent, Busy: busy}, count: counts, world: row.world}
			of.world.olds, of.world.news, of.world.errors, of.world.slowness = group[0], group[1], 1, 1
			classes = append(classes, of)
		}
	}
	return classes
}

// bad returns classes of releases with a fault, 120 in all. Each has nine old pods and a new one, which would have so many errors at the rate
// of the old ones while it counts.
func bad() []class {
	faulty := func(name string, count int, expected, errors, slowness float64, change func(*class)) class {
		of := class{
			Class: report.Class{Name: name, Fault: errorsCheck}, count: count,
			world: world{olds: 9, news: 1, base: 0.01, requests: expected / 0.01 / minutes10, errors: errors, slowness: slowness},
		}
		change(&of)
		return of
	}
	shocked := func(of *class) { of.world.shock, of.world.shockFactor, of.Recall = 30*time.Second, 50, 0.95 }
	return []class{
		faulty("errors x3, 12 expected", 10, 12, 3, 1, func(*class) {}), // hard to tell: no target
		faulty("errors x3, 60 expected", 15, 60, 3, 1, func(of *class) { of.Recall = 0.85 }),
		faulty("errors x3, 120 expected", 10, 120, 3, 1, func(of *class) { of.Recall = 0.85 }),
		faulty("errors x5, 12 expected", 15, 12, 5, 1, func(of *class) { of.Recall = 0.95 }),
		faulty("errors x5, 120 expected", 15, 120, 5, 1, func(of *class) { of.Recall, of.Delay = 0.95, 90*time.Second }),
		faulty("errors x10, 12 expected", 15, 12, 10, 1, func(of *class) { of.Recall, of.Delay = 0.95, 90*time.Second }),
		faulty("errors x5, 120 expected, common shock", 15, 120, 5, 1, shocked),
		faulty("errors x5, 120 expected, bursts", 10, 120, 5, 1, func(of *class) { of.world.burst = 0.5 }),
		faulty("slow requests x3, 120 expected", 15, 120, 1, 3, func(of *class) { of.Fault, of.Recall = latencyCheck, 0.85 }),
	}
}

// release is a release, with what was scraped of its pods.
type release struct {
	class     class
	namespace string
	pods      []pod
}

// newReleases returns so many times the releases of the classes. The same set of seeds gives the same ones.
func newReleases(classes []class, times int, set uint64) (releases []release) {
	for _, class := range classes {
		for range class.count * times {
			number := len(releases) + 1
			random := rand.New(rand.NewPCG(set, uint64(number)))
			releases = append(releases, release{class, fmt.Sprintf("release-%d", number), class.world.pods(random)})
		}
	}
	return releases
}

// thresholdSeconds is the bound of the buckets above which requests are slow.
const thresholdSeconds = "0.5"

// samples returns what was scraped, as OpenMetrics.
func samples(releases []release) string {
	var text strings.Builder
	text.WriteString("# TYPE http_requests counter\n")
	write := func(metric, label, value string, counter func(scrape) float64) {
		for i := range releases {
			for _, pod := range releases[i].pods {
				for _, at := range pod.scrapes {
					fmt.Fprintf(&text, "%s{namespace=%q,pod=%q,%s=%q} %.0f %d.%03d\n", metric, releases[i].namespace, pod.name, label, value,
						counter(at), at.at.Unix(), at.at.Nanosecond()/int(time.Millisecond))
				}
			}
		}
	}
	write("http_requests_total", "code", "200", func(s scrape) float64 { return s.total - s.failed })
	write("http_requests_total", "code", "500", func(s scrape) float64 { return s.failed })
	text.WriteString("# TYPE http_request_duration_seconds histogram\n")
	write("http_request_duration_seconds_bucket", "le", thresholdSeconds, func(s scrape) float64 { return s.total - s.slow })
	write("http_request_duration_seconds_bucket", "le", "+Inf", func(s scrape) float64 { return s.total })
	return text.String() + "# EOF\n"
}

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
