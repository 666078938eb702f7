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
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/traas-stack/altershield-operator/hack/altershield"
	"github.com/traas-stack/altershield-operator/hack/soak/history"
	"github.com/traas-stack/altershield-operator/hack/soak/invariant"
)

const (
	// readEvery is the interval at which the audit log is read, judgeEvery the interval at which the history is checked.
	readEvery, judgeEvery = time.Second, 15 * time.Second
	// orderLag is how much later than a following one a write may appear in the audit log: the API server ends a request after a minute.
	orderLag = 65 * time.Second
	// queuesDone is how long the operator may need for its queues once it sees everything, which is when a manager is ready.
	queuesDone = 10 * time.Second
)

// shared returns the resources that each manager watches, led those that the leader watches besides.
func shared() []string {
	return []string{
		"namespaces", "deployments", "statefulsets", "daemonsets", "replicasets", "controllerrevisions", "pods", "changeworkloads", "changepods",
		"opsconfiginfoes", "controlledkinds", "changefreezes", "releasepolicies", "releasegates", "changeverdicts",
	}
}

func led() []string {
	return []string{"webapps", "breakglasses", "changeapprovals", "verificationpolicies", "verificationsources"}
}

// named is the result of a checker, with its name.
type named struct {
	name string
	invariant.Result
}

// watch keeps the history of the cluster and checks it as it grows.
type watch struct {
	server *altershield.Server
	log    io.Writer
	// violated is called at a violation.
	violated func()

	mu      sync.Mutex
	reader  history.Reader
	system  invariant.System
	history []history.Write
	told    map[string]bool
	// lame are the intervals of system.Down after which the operator can't act yet, by their index there.
	lame map[int]lameness
}

// lameness is the reason why the operator can't act, since a time: it lacks a leader or, if it could see nothing, any of its views.
type lameness struct {
	since time.Time
	blind bool
}

// run watches until the context ends.
func (w *watch) run(ctx context.Context) error {
	read, judge := time.NewTicker(readEvery), time.NewTicker(judgeEvery)
	defer read.Stop()
	defer judge.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-read.C:
			if err := w.read(); err != nil {
				return err
			}
		case <-judge.C:
			w.tell(w.judge(time.Now().Add(-orderLag), false))
		}
	}
}

func (w *watch) read() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	writes, err := w.reader.Next()
	w.history = append(w.history, writes...)
	for at, lacks := range w.lame {
		able := w.reader.Led(lacks.since)
		if lacks.blind && !able.IsZero() {
			able = later(able, w.reader.Sees(shared(), led(), lacks.since))
		}
		if !able.IsZero() {
			w.system.Down[at].To = able.Add(queuesDone)
			delete(w.lame, at)
		}
	}
	return err
}

// later returns the later of two times, zero if one of them is.
func later(a, b time.Time) time.Time {
	if a.IsZero() || b.After(a) || b.IsZero() {
		return b
	}
	return a
}

// leaderless records the loss of the leader, and gone that it has exited: the operator can't act until another one leads.
func (w *watch) leaderless() (gone func()) { return w.down(false) }

// outage records an outage of the API server, and gone its end: the operator can't act until it sees everything again, and one
// leads.
func (w *watch) outage() (gone func()) { return w.down(true) }

// down records an interval without an end, and returns a function that is called once it can end.
func (w *watch) down(blind bool) func() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.system.Down = append(w.system.Down, invariant.Interval{From: time.Now()})
	at := len(w.system.Down) - 1
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.lame[at] = lameness{since: time.Now(), blind: blind}
	}
}

// until returns the writes up to a time, sorted.
func (w *watch) until(moment time.Time) ([]history.Write, invariant.System) {
	w.mu.Lock()
	defer w.mu.Unlock()
	writes := invariant.Until(moment, w.history)
	system := w.system
	system.Down = slices.Concat(w.system.Down, invariant.Slow(writes))
	return writes, system
}

// judge checks all invariants on the history up to a time.
func (w *watch) judge(moment time.Time, allEnded bool) []named {
	writes, system := w.until(moment)
	known, _ := w.until(time.Now()) // the record of an order may be answered after the order is made
	var orders []altershield.Order
	for _, order := range w.server.Orders() {
		if allEnded || order.Submitted.Before(moment) {
			orders = append(orders, order)
		}
	}
	return []named{
		{"the history has no gap", invariant.Complete(writes)},
		{"a suspended workload takes no unauthorised release", invariant.Suspension(writes, system)},
		{"a frozen release doesn't start", invariant.Frozen(writes, system)},
		{"a step that needs an approval has one", invariant.Approved(writes, system)},
		{"a Success has enough live passed pods, and no failed ones", invariant.Success(writes, system)},
		{"the operator changes no more of pods and templates than it may", invariant.Pods(writes, system)},
		{"nothing is written outside opted-in namespaces", invariant.Scope(writes, system)},
		{"release numbers never go back", invariant.Releases(writes, system)},
		{"no pod is in two batches of a release", invariant.Batches(writes, system)},
		{"a release is recorded once", invariant.Records(writes, system)},
		{"one order per release, none left open", invariant.Orders(known, orders, allEnded)},
	}
}

// recovered reports whether the operator sees everything again after each outage, and one leads: until then the checkers expect little of it.
func (w *watch) recovered() invariant.Result {
	w.mu.Lock()
	defer w.mu.Unlock()
	result := invariant.Result{Observations: len(w.system.Down)}
	for at := range w.lame {
		result.Violations = append(result.Violations, "after the time without it that began at "+w.system.Down[at].From.UTC().Format(time.TimeOnly))
	}
	return result
}

// tell logs each violation once.
func (w *watch) tell(results []named) {
	var found bool
	for _, result := range results {
		for _, violation := range result.Violations {
			found = true
			if !w.told[violation] {
				w.told[violation] = true
				fmt.Fprintf(w.log, "VIOLATED: %s: %s\n", result.name, violation)
			}
		}
	}
	if found {
		w.violated()
	}
}
