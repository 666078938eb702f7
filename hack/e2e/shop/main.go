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
	"io"
	"net/http"
	"os"
	"time"
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
