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
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/hack/faults/proxy"
	"github.com/traas-stack/altershield-operator/hack/faults/state"
	"github.com/traas-stack/altershield-operator/hack/lab"
)

// progressEvery is the number of plans between two lines of progress.
const progressEvery = 50

// quiet is how long nothing may be written after the end state is reached.
const quiet = 2 * time.Second

// matrix tries plans on a lab.
type matrix struct {
	lab        *lab.Lab
	api, calls *proxy.Proxy
	keeper     *keeper
	out        io.Writer
	// namespaces counts the created ones.
	namespaces atomic.Int64
	references map[string]state.Reference
}

type result struct {
	plan plan
	// reached reports whether the planned fault was injected.
	reached bool
	// differences is empty if the run ended like an undisturbed one.
	differences []string
	// again reports whether the run ended differently beside others and was repeated alone; the result is that of the repetition.
	again bool
	took  time.Duration
}

type run struct {
	scenario string
	state    state.State
	records  []proxy.Record
	err      error
}

// undisturbed plays scenarios without a fault, each twice and all concurrently, like the runs with faults, but for those that are alone. It
// returns the positions of each.
func (m *matrix) undisturbed(ctx context.Context, chosen map[string]scenario) (map[string][]proxy.Position, error) {
	const times = 2
	ended := make(chan run, times*len(chosen))
	var beside sync.WaitGroup
	var alone []scenario
	for _, scenario := range chosen {
		for range times {
			if scenario.isAlone() {
				alone = append(alone, scenario)
			} else {
				beside.Go(func() { ended <- m.play(ctx, scenario) })
			}
		}
	}
	beside.Wait()
	for _, scenario := range alone {
		ended <- m.play(ctx, scenario)
	}
	close(ended)
	states, records := map[string][]state.State{}, map[string][][]proxy.Record{}
	var failures []error
	for run := range ended {
		if run.err != nil {
			failures = append(failures, fmt.Errorf("playing %s undisturbed: %w", run.scenario, run.err))
		}
		states[run.scenario] = append(states[run.scenario], run.state)
		records[run.scenario] = append(records[run.scenario], run.records)
	}
	found := map[string][]proxy.Position{}
	for name := range chosen {
		m.references[name] = state.NewReference(states[name][0], states[name][1:]...)
		found[name] = positions(records[name]...)
	}
	return found, errors.Join(failures...)
}

// play plays a scenario without a fault.
func (m *matrix) play(ctx context.Context, scenario scenario) run {
	played := run{scenario: scenario.name}
	namespace, err := m.open(ctx, scenario, plan{})
	if err == nil {
		err = scenario.play(ctx, m.stage(scenario, namespace, nil))
	}
	if err == nil {
		played.state, err = m.settled(ctx, namespace)
	}
	if scenario.isAlone() {
		played.records = m.records(scenario.objects...)
	} else {
		played.records = slices.Concat(m.records(namespace), m.calls.Records(namespace))
	}
	played.err = err
	m.leave(ctx, scenario, namespace)
	return played
}

// settled waits until nothing changes any more, and returns the state.
func (m *matrix) settled(ctx context.Context, namespace string) (state.State, error) {
	var last state.State
	since := time.Now()
	err := until(ctx, "rest", func(ctx context.Context) error {
		found, err := m.look(ctx, namespace, 0)
		if err != nil {
			return err
		}
		if changes := state.NewReference(found).Differences(last); len(changes) > 0 {
			last, since = found, time.Now()
		}
		if time.Since(since) < quiet {
			return fmt.Errorf("it changed %s ago", time.Since(since))
		}
		return nil
	})
	return last, err
}

// records returns the writes in namespaces, or of objects without one.
func (m *matrix) records(ledgers ...string) (records []proxy.Record) {
	for _, ledger := range ledgers {
		records = append(records, m.api.Records(ledger)...)
	}
	return records
}

// open creates a namespace for a plan, and plans its fault.
func (m *matrix) open(ctx context.Context, scenario scenario, plan plan) (string, error) {
	namespace := fmt.Sprintf("faults-%d", m.namespaces.Add(1))
	forAPI, forServer := plan.fault, (*proxy.Fault)(nil)
	if plan.fault != nil && plan.fault.Verb == verbCall {
		forAPI, forServer = nil, plan.fault
	}
	for _, ledger := range scenario.ledgers(namespace) {
		m.api.Plan(ledger, forAPI)
	}
	m.calls.Plan(namespace, forServer)
	if err := m.lab.Namespace(ctx, namespace, true); err != nil {
		return namespace, err
	}
	return namespace, until(ctx, "the default service account", func(ctx context.Context) error {
		return m.lab.Kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "default"}, &corev1.ServiceAccount{})
	})
}

func (m *matrix) stage(scenario scenario, namespace string, trouble *trouble) *stage {
	return &stage{
		lab: m.lab, kube: m.lab.Kube, api: m.api, calls: m.calls, keeper: m.keeper, namespace: namespace, kind: scenario.of(), name: workloadName,
		trouble: trouble,
	}
}

// leave deletes the objects of a scenario, so that a restarted manager doesn't find more and more of them.
func (m *matrix) leave(ctx context.Context, scenario scenario, namespace string) {
	for _, ledger := range scenario.ledgers(namespace) {
		m.api.Forget(ledger)
	}
	m.calls.Forget(namespace)
	// On failure it only costs time.
	_ = m.lab.Kube.DeleteAllOf(ctx, scenario.of().New(), client.InNamespace(namespace), client.PropagationPolicy("Background"))
}

// try plays a scenario with the fault of a plan, and compares the end state.
func (m *matrix) try(ctx context.Context, scenario scenario, plan plan) result {
	began := time.Now()
	kills := m.keeper.kills.Load()
	namespace, err := m.open(ctx, scenario, plan)
	stage := m.stage(scenario, namespace, plan.trouble)
	if err == nil {
		err = scenario.play(ctx, stage)
	}
	tried := result{plan: plan, reached: stage.struck}
	if err != nil {
		tried.differences = append(tried.differences, err.Error())
	} else {
		tried.differences = m.compare(ctx, scenario, plan, namespace, kills)
	}
	tried.reached = tried.reached || slices.ContainsFunc(scenario.ledgers(namespace), m.api.Fired) || m.calls.Fired(namespace)
	m.leave(ctx, scenario, namespace)
	tried.took = time.Since(began)
	return tried
}

// compare waits until the namespace is in the end state of an undisturbed run and nothing is written any more.
func (m *matrix) compare(ctx context.Context, scenario scenario, plan plan, namespace string, kills int64) []string {
	var differences []string
	writes, since := -1, time.Now()
	err := until(ctx, "the end state", func(ctx context.Context) error {
		abandoned := m.keeper.kills.Load() - kills
		if plan.fault != nil && beginsCheck(plan.fault.Resource) {
			abandoned++ // after a lost answer, the server can't be asked whether a check has begun
		}
		found, err := m.look(ctx, namespace, abandoned)
		if err != nil {
			return err
		}
		differences = m.references[scenario.name].Differences(found)
		if count := len(m.records(scenario.ledgers(namespace)...)); count != writes || len(differences) > 0 {
			writes, since = count, time.Now()
		}
		if time.Since(since) < quiet {
			return fmt.Errorf("%d differences, last write or difference %s ago", len(differences), time.Since(since).Round(time.Millisecond))
		}
		return nil
	})
	if err != nil && len(differences) == 0 {
		differences = []string{err.Error()}
	}
	if err == nil {
		return nil
	}
	return differences
}

// all tries plans, several at a time, and prints those that fail.
func (m *matrix) all(ctx context.Context, byName map[string]scenario, plans []plan, parallel int) []result {
	queue := make(chan plan)
	var mutex sync.Mutex
	var results []result
	var workers sync.WaitGroup
	for range parallel {
		workers.Go(func() {
			for next := range queue {
				tried := m.try(ctx, byName[next.scenario], next)
				mutex.Lock()
				results = append(results, tried)
				m.tell(tried)
				if len(results)%progressEvery == 0 {
					fmt.Fprintf(m.out, "%s %d of %d\n", time.Now().Format(time.TimeOnly), len(results), len(plans))
				}
				mutex.Unlock()
			}
		})
	}
	for _, next := range plans {
		if ctx.Err() != nil {
			break
		}
		queue <- next
	}
	close(queue)
	workers.Wait()
	if parallel > 1 {
		m.again(ctx, byName, results)
	}
	return results
}

// again repeats alone the plans that ended differently beside others, and replaces their results: the faults of neighbours kill
// the same manager, and slow it down.
func (m *matrix) again(ctx context.Context, byName map[string]scenario, results []result) {
	for i := range results {
		if len(results[i].differences) == 0 || ctx.Err() != nil {
			continue
		}
		results[i] = m.try(ctx, byName[results[i].plan.scenario], results[i].plan)
		results[i].again = true
		m.tell(results[i])
	}
}

func (m *matrix) tell(tried result) {
	switch {
	case len(tried.differences) > 0:
	case tried.again:
		fmt.Fprintf(m.out, "alone it ends like an undisturbed run: %s\n", tried.plan)
		return
	default:
		return
	}
	fmt.Fprintf(m.out, "FAILED %s after %s\n", tried.plan, tried.took.Round(time.Millisecond))
	showDifferences(m.out, tried.differences)
}
