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

// Command shop is an application of tests: it answers requests at port 80, or makes up its own, fails some of them, counts them as Prometheus
// wants to read it, and gets into trouble as its flags have it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"sync"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
)

func main() {
	host, err := os.Hostname()
	if err == nil {
		err = run(host, os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "shop:", err)
		os.Exit(1)
	}
}

// run serves until the end of the shop.
func run(host string, args []string) error {
	options, err := parse(args, os.Stderr)
	if err != nil {
		return err
	}
	server := http.Server{Addr: ":80", Handler: newShop(options, host, time.Now, trouble), ReadHeaderTimeout: 10 * time.Second}
	return server.ListenAndServe()
}

// options are what happens in a shop: its flags say what each means.
type options struct {
	every                        int64
	work                         time.Duration
	visits, failed, slow, differ float64
	shockTimes                   float64
	shockEvery, shockFor         time.Duration
	crash, exhaust, unready      time.Duration
	silent                       bool
	seed                         uint64
}

// parse parses a command line; the usage goes to out.
func parse(args []string, out io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("shop", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Int64Var(&o.every, "every", 0, "how many requests there are to each that fails, of those that are made to the shop; 0 if none fails")
	flags.DurationVar(&o.work, "work", 0, "how long each of them keeps a processor busy")
	flags.Float64Var(&o.visits, "visits", 0, "requests that the shop makes up in a second")
	flags.Float64Var(&o.failed, "failed", 0, "the share of these that fails")
	flags.Float64Var(&o.slow, "slow", 0, "the share of these that is slow")
	flags.Float64Var(&o.differ, "differ", 0, "coefficient of variation of a factor of both shares that a pod has all its life")
	flags.Float64Var(&o.shockTimes, "shock-times", 1, "how many times more failed and slow requests there are in a shock")
	flags.DurationVar(&o.shockEvery, "shock-every", 0, "from shock to shock, by the clock of the wall; 0 for no shocks")
	flags.DurationVar(&o.shockFor, "shock-for", 0, "length of a shock")
	flags.DurationVar(&o.crash, "crash", 0, "how long after the first question whether it is ready it crashes, up to a tenth sooner or later; 0 for never")
	flags.DurationVar(&o.exhaust, "exhaust", 0, "the same, until it takes memory without end")
	flags.DurationVar(&o.unready, "unready", 0, "the same, until it isn't ready any more")
	flags.BoolVar(&o.silent, "silent", false, "without metrics")
	flags.Uint64Var(&o.seed, "seed", 0, "seed of all pods of a release; each adds its name")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("%q is not a flag", flags.Arg(0))
	}
	for _, share := range []float64{o.failed, o.slow} {
		if share < 0 || share > 1 {
			return o, errors.New("a share is at least 0 and at most 1")
		}
	}
	if o.every < 0 || o.visits < 0 || o.differ < 0 || o.shockTimes < 1 || o.shockFor > o.shockEvery {
		return o, errors.New("a number is negative, or a shock less than nothing or longer than the time between two of them")
	}
	return o, nil
}

// trouble starts what a shop gets into. It has begun to be ready.
func trouble(o options, vary func(time.Duration) time.Duration) {
	if o.crash > 0 {
		time.AfterFunc(vary(o.crash), func() { os.Exit(3) })
	}
	if o.exhaust > 0 {
		time.AfterFunc(vary(o.exhaust), func() {
			for taken := [][]byte{}; ; {
				part := make([]byte, 1<<20)
				for i := range part {
					part[i] = 1 // the memory counts once it is written
				}
				taken = append(taken, part)
			}
		})
	}
}

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
