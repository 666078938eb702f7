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
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/faults/proxy"
	"github.com/traas-stack/altershield-operator/hack/faults/state"
)

// progressEvery is the number of plans between two lines of progress.
const progressEvery = 50

// quiet is how long nothing may be written after the end state is reached.
const quiet = 2 * time.Second

// result is that of a plan.
type result struct {
	Plan  plan   `json:"plan"`
	Class string `json:"class"`
	// Reached reports whether the planned fault was injected.
	Reached bool `json:"reached"`
	// Again reports whether the run ended differently beside others and was repeated alone; the result is that of the repetition.
	Again   bool    `json:"again,omitempty"`
	Seconds float64 `json:"seconds"`
	// Differences is empty if the run ended like an undisturbed one.
	Differences []string `json:"differences,omitempty"`
}

// run is one without a fault.
type run struct {
	state   state.State
	records []proxy.Record
	err     error
}

// undisturbed plays scenarios without a fault, each twice and all concurrently, like the runs with faults, but for those that are alone. It
// returns the positions of each.
func (g *group) undisturbed(ctx context.Context) (map[string][]proxy.Position, error) {
	var beside sync.WaitGroup
	var alone []func()
	ended := map[string]*[2]run{}
	for name, scenario := range g.scenarios {
		runs := &[2]run{}
		ended[name] = runs
		for i := range runs {
			play := func() { runs[i] = g.play(ctx, name) }
			if scenario.isAlone() {
				alone = append(alone, play)
			} else {
				beside.Go(play)
			}
		}
	}
	beside.Wait()
	for _, play := range alone {
		play()
	}
	found := map[string][]proxy.Position{}
	var failures error
	for name, runs := range ended {
		if err := errors.Join(runs[0].err, runs[1].err); err != nil {
			failures = errors.Join(failures, err)
			continue // there is nothing to compare with
		}
		g.references[name] = state.NewReference(runs[0].state, runs[1].state)
		found[name] = positions(slices.Concat(runs[0].records, runs[1].records))
	}
	return found, failures
}

// play plays a scenario without a fault.
func (g *group) play(ctx context.Context, name string) (played run) {
	s := g.enter(plan{scenario: name})
	defer s.leave(ctx)
	err := s.perform(ctx)
	if err == nil {
		played.state, err = s.settled(ctx)
	}
	if err != nil {
		played.err = fmt.Errorf("playing %s undisturbed: %w", name, err)
	}
	if s.isAlone() {
		played.records = g.api.Records(s.objects...)
	} else {
		played.records = slices.Concat(g.api.Records(s.namespace), g.calls.Records(s.namespace))
	}
	return played
}

// try plays a scenario with the fault of a plan, and compares the end state.
func (g *group) try(ctx context.Context, plan plan) result {
	tried, began := result{Plan: plan, Class: plan.class()}, time.Now()
	s := g.enter(plan)
	defer s.leave(ctx)
	if err := s.perform(ctx); err != nil {
		tried.Differences = []string{err.Error()}
	} else {
		tried.Differences = s.compare(ctx, plan)
	}
	tried.Reached = s.struck || slices.ContainsFunc(s.ledgers(), g.api.Fired) || g.calls.Fired(s.namespace)
	tried.Seconds = time.Since(began).Seconds()
	return tried
}

// enter chooses a namespace for a scenario, and plans the fault of a plan in it.
func (g *group) enter(plan plan) *stage {
	s := &stage{
		group: g, scenario: g.scenarios[plan.scenario], namespace: fmt.Sprintf("faults-%d", g.namespaces.Add(1)), name: workloadName,
		trouble: plan.trouble, killed: g.keeper.kills.Load(),
	}
	for _, ledger := range s.ledgers() {
		g.api.Plan(ledger, plan.fault)
	}
	g.calls.Plan(s.namespace, plan.fault)
	return s
}

// perform creates the namespace, and plays the scenario.
func (s *stage) perform(ctx context.Context) error {
	if err := s.Namespace(ctx, s.namespace, true); err != nil {
		return err
	}
	if err := until(ctx, "the default service account", func(ctx context.Context) error {
		return s.Kube.Get(ctx, s.key("default"), &corev1.ServiceAccount{})
	}); err != nil {
		return err
	}
	return s.scenario.play(ctx, s)
}

// leave deletes the objects of a scenario, so that a restarted manager doesn't find more and more of them.
func (s *stage) leave(ctx context.Context) {
	s.api.Forget(s.ledgers()...)
	s.calls.Forget(s.namespace)
	// On failure it only costs time.
	_ = s.Kube.DeleteAllOf(ctx, s.kind.New(), client.InNamespace(s.namespace), client.PropagationPolicy("Background"))
}

// ledgers are the namespace and the objects without one whose writes are counted.
func (s *stage) ledgers() []string { return append([]string{s.namespace}, s.objects...) }

// settled waits until nothing changes any more, and returns the state.
func (s *stage) settled(ctx context.Context) (last state.State, err error) {
	err = rests(ctx, "rest", func(ctx context.Context) (bool, error) {
		found, err := s.look(ctx, 0)
		if err != nil {
			return false, err
		}
		changed := !maps.Equal(found, last)
		last = found
		return changed, nil
	})
	return last, err
}

// compare waits until the namespace is in the end state of an undisturbed run and nothing is written any more.
func (s *stage) compare(ctx context.Context, plan plan) (differences []string) {
	writes := -1
	err := rests(ctx, "the end state", func(ctx context.Context) (bool, error) {
		abandoned := s.keeper.kills.Load() - s.killed
		if plan.fault != nil && plan.fault.BeginsCheck() {
			abandoned++ // after a lost answer, the server can't be asked whether a check has begun
		}
		found, err := s.look(ctx, abandoned)
		if err != nil {
			return false, err
		}
		differences = s.references[plan.scenario].Differences(found)
		before := writes
		writes = len(s.api.Records(s.ledgers()...))
		return writes != before || len(differences) > 0, nil
	})
	if err != nil && len(differences) == 0 {
		return []string{err.Error()}
	}
	return differences
}

// rests waits until nothing has changed for some time.
func rests(ctx context.Context, what string, changes func(context.Context) (bool, error)) error {
	since := time.Now()
	return until(ctx, what, func(ctx context.Context) error {
		changed, err := changes(ctx)
		if changed || err != nil {
			since = time.Now()
		}
		if err != nil {
			return err
		}
		past := time.Since(since)
		return expect(past >= quiet, "the last write or difference was %s ago", past.Round(time.Millisecond))
	})
}

// all tries plans, several at a time, and prints those that fail.
func (g *group) all(ctx context.Context, plans []plan, parallel int) []result {
	var mutex sync.Mutex
	var results []result
	var running errgroup.Group
	running.SetLimit(parallel)
	for _, next := range plans {
		if ctx.Err() != nil {
			break
		}
		running.Go(func() error {
			tried := g.try(ctx, next)
			mutex.Lock()
			defer mutex.Unlock()
			results = append(results, tried)
			g.tell(tried)
			if len(results)%progressEvery == 0 {
				fmt.Fprintf(g.out, "%s %d of %d\n", time.Now().Format(time.TimeOnly), len(results), len(plans))
			}
			return nil
		})
	}
	_ = running.Wait() // a try has its error in its result
	if parallel == 1 {
		return results
	}
	// Plans that ended differently beside others are repeated alone: the faults of neighbours kill the same manager, and slow it down.
	for i := range results {
		if len(results[i].Differences) > 0 && ctx.Err() == nil {
			results[i] = g.try(ctx, results[i].Plan)
			results[i].Again = true
			g.tell(results[i])
		}
	}
	return results
}

func (g *group) tell(tried result) {
	switch {
	case len(tried.Differences) > 0:
		fmt.Fprintf(g.out, "FAILED %s after %.1fs\n", tried.Plan, tried.Seconds)
		showDifferences(g.out, tried.Differences)
	case tried.Again:
		fmt.Fprintf(g.out, "alone it ends like an undisturbed run: %s\n", tried.Plan)
	}
}

// disturb plays scenarios at once while the view of one resource is disturbed: the manager watches a resource once for all
// namespaces.
func (g *group) disturb(ctx context.Context, scenarios []string, disturbance proxy.Disturbance) []result {
	var plans []plan
	for _, name := range scenarios {
		plans = append(plans, plan{scenario: name, disturbance: disturbance})
	}
	g.api.Disturb(disturbance)
	g.nudge(ctx)
	results := g.all(ctx, plans, len(plans))
	for i := range results {
		results[i].Reached = g.api.Disturbed() > 0
	}
	g.api.Disturb(proxy.Disturbance{})
	return results
}

// nudge changes a setting without effect here, so that settings have an event, too.
func (g *group) nudge(ctx context.Context) {
	setting := &appv1alpha1.OpsConfigInfo{}
	setting.Namespace, setting.Name = appv1alpha1.SystemNamespace, appv1alpha1.ConfigRefusal
	remark := fmt.Sprintf(`{"spec":{"remark":%q}}`, time.Now().Format(time.RFC3339Nano))
	// Without the event the plan counts as not reached.
	_ = g.Kube.Patch(ctx, setting, client.RawPatch("application/merge-patch+json", []byte(remark)))
}
