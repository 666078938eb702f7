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
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
)

// step is the time in which a shop makes up requests at once.
const step = 100 * time.Millisecond

// shop answers requests, and makes up its own.
type shop struct {
	options
	now     func() time.Time
	trouble func(options, func(time.Duration) time.Duration)

	mutex  sync.Mutex
	random *rand.Rand
	// lasting are the factors of failed and of slow requests that the pod has all its life.
	lasting [2]float64
	// made is until when requests were made up, closed from when on the shop isn't ready, zero for never.
	made, closed time.Time
	asked        sync.Once

	requests, failures, waits int64
}

func newShop(o options, host string, now func() time.Time, trouble func(options, func(time.Duration) time.Duration)) *shop {
	name := fnv.New64a()
	_, _ = name.Write([]byte(host))
	s := &shop{options: o, now: now, trouble: trouble, random: rand.New(rand.NewPCG(o.seed, name.Sum64())), made: now(), lasting: [2]float64{1, 1}}
	if o.differ > 0 {
		shape := 1 / (o.differ * o.differ)
		for i := range s.lasting {
			s.lasting[i] = distuv.Gamma{Alpha: shape, Beta: shape, Src: s.random}.Rand()
		}
	}
	return s
}

// ServeHTTP shows the counters at /metrics, answers at /ready whether the shop is ready, and counts all other requests.
func (s *shop) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	switch request.URL.Path {
	case "/metrics":
		s.show(writer)
	case "/ready":
		s.asked.Do(s.begin)
		if !s.closed.IsZero() && !s.now().Before(s.closed) {
			http.Error(writer, "as asked", http.StatusServiceUnavailable)
		}
	default:
		for began := s.now(); s.now().Sub(began) < s.work; {
			continue
		}
		if s.requests++; s.every > 0 && s.requests%s.every == 0 {
			s.failures++
			http.Error(writer, "as asked", http.StatusInternalServerError)
		}
	}
}

// begin sets when the shop gets into trouble.
func (s *shop) begin() {
	vary := func(after time.Duration) time.Duration {
		return time.Duration(float64(after) * (0.9 + 0.2*s.random.Float64()))
	}
	if s.unready > 0 {
		s.closed = s.now().Add(vary(s.unready))
	}
	s.trouble(s.options, vary)
}

// show shows the counters, as Prometheus reads them.
func (s *shop) show(writer http.ResponseWriter) {
	if s.silent {
		http.Error(writer, "as asked", http.StatusNotFound)
		return
	}
	for now := s.now(); s.visits > 0 && !s.made.Add(step).After(now); s.made = s.made.Add(step) {
		s.makeUp(s.made)
	}
	fmt.Fprintf(writer, "# TYPE http_requests_total counter\nhttp_requests_total{code=\"200\"} %d\nhttp_requests_total{code=\"500\"} %d\n"+
		"# TYPE http_request_duration_seconds histogram\nhttp_request_duration_seconds_bucket{le=\"0.5\"} %d\n"+
		"http_request_duration_seconds_bucket{le=\"+Inf\"} %d\n", s.requests-s.failures, s.failures, s.requests-s.waits, s.requests)
}

// makeUp makes up the requests of a step.
func (s *shop) makeUp(at time.Time) {
	visits := distuv.Poisson{Lambda: s.visits * step.Seconds(), Src: s.random}.Rand()
	s.requests += int64(visits)
	times := 1.0
	if s.shockEvery > 0 && at.Sub(at.Truncate(s.shockEvery)) < s.shockFor {
		times = s.shockTimes
	}
	s.failures += s.some(visits, s.failed*s.lasting[0]*times)
	s.waits += s.some(visits, s.slow*s.lasting[1]*times)
}

// some returns how many of so many requests something happens to.
func (s *shop) some(visits, share float64) int64 {
	if visits == 0 || share == 0 {
		return 0
	}
	return int64(distuv.Binomial{N: visits, P: min(share, 1), Src: s.random}.Rand())
}
