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
func (h *half) undisturbed(ctx context.Context) (map[string][]proxy.Position, error) {
	const times = 2
	ended := make(chan run, times*len(h.scenarios))
	var beside sync.WaitGroup
	var alone []scenario
	for _, scenario := range h.scenarios {
		for range times {
			if scenario.isAlone() {
				alone = append(alone, scenario)
			} else {
				beside.Go(func() { ended <- h.play(ctx, scenario) })
			}
		}
	}
	beside.Wait()
	for _, scenario := range alone {
		ended <- h.play(ctx, scenario)
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
	for name := range h.scenarios {
		h.references[name] = state.NewReference(states[name][0], states[name][1:]...)
		found[name] = positions(records[name]...)
	}
	return found, errors.Join(failures...)
}

// play plays a scenario without a fault.
func (h *half) play(ctx context.Context, scenario scenario) run {
	played := run{scenario: scenario.name}
	namespace, _, err := h.played(ctx, scenario, plan{})
	if err == nil {
		played.state, err = h.settled(ctx, namespace)
	}
	if scenario.isAlone() {
		played.records = h.records(scenario.objects...)
	} else {
		played.records = slices.Concat(h.records(namespace), h.calls.Records(namespace))
	}
	played.err = err
	h.leave(ctx, scenario, namespace)
	return played
}

// settled waits until nothing changes any more, and returns the state.
func (h *half) settled(ctx context.Context, namespace string) (state.State, error) {
	var last state.State
	since := time.Now()
	err := until(ctx, "rest", func(ctx context.Context) error {
		found, err := h.look(ctx, namespace, 0)
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
func (h *half) records(ledgers ...string) (records []proxy.Record) {
	for _, ledger := range ledgers {
		records = append(records, h.api.Records(ledger)...)
	}
	return records
}

// enter creates a namespace for a scenario, and plans a fault in it, nil for none.
func (h *half) enter(ctx context.Context, scenario scenario, fault *proxy.Fault) (string, error) {
	namespace := fmt.Sprintf("faults-%d", h.namespaces.Add(1))
	forAPI, forServer := fault, (*proxy.Fault)(nil)
	if fault != nil && fault.Verb == verbCall {
		forAPI, forServer = nil, fault
	}
	for _, ledger := range scenario.ledgers(namespace) {
		h.api.Plan(ledger, forAPI)
	}
	h.calls.Plan(namespace, forServer)
	if err := h.lab.Namespace(ctx, namespace, true); err != nil {
		return namespace, err
	}
	return namespace, until(ctx, "the default service account", func(ctx context.Context) error {
		return h.lab.Kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "default"}, &corev1.ServiceAccount{})
	})
}

// played plays a scenario with the fault of a plan, and reports whether its trouble struck.
func (h *half) played(ctx context.Context, scenario scenario, plan plan) (namespace string, struck bool, err error) {
	if namespace, err = h.enter(ctx, scenario, plan.fault); err != nil {
		return namespace, false, err
	}
	s := &stage{
		lab: h.lab, kube: h.lab.Kube, api: h.api, calls: h.calls, keeper: h.keeper, namespace: namespace, kind: scenario.of(), name: workloadName,
		trouble: plan.trouble,
	}
	err = scenario.play(ctx, s)
	return namespace, s.struck, err
}

// leave deletes the objects of a scenario, so that a restarted manager doesn't find more and more of them.
func (h *half) leave(ctx context.Context, scenario scenario, namespace string) {
	for _, ledger := range scenario.ledgers(namespace) {
		h.api.Forget(ledger)
	}
	h.calls.Forget(namespace)
	// On failure it only costs time.
	_ = h.lab.Kube.DeleteAllOf(ctx, scenario.of().New(), client.InNamespace(namespace), client.PropagationPolicy("Background"))
}

// try plays a scenario with the fault of a plan, and compares the end state.
func (h *half) try(ctx context.Context, plan plan) result {
	scenario := h.scenarios[plan.scenario]
	began := time.Now()
	kills := h.keeper.kills.Load()
	namespace, struck, err := h.played(ctx, scenario, plan)
	tried := result{plan: plan, reached: struck}
	if err != nil {
		tried.differences = append(tried.differences, err.Error())
	} else {
		tried.differences = h.compare(ctx, scenario, plan, namespace, kills)
	}
	tried.reached = tried.reached || slices.ContainsFunc(scenario.ledgers(namespace), h.api.Fired) || h.calls.Fired(namespace)
	h.leave(ctx, scenario, namespace)
	tried.took = time.Since(began)
	return tried
}

// compare waits until the namespace is in the end state of an undisturbed run and nothing is written any more.
func (h *half) compare(ctx context.Context, scenario scenario, plan plan, namespace string, kills int64) []string {
	var differences []string
	writes, since := -1, time.Now()
	err := until(ctx, "the end state", func(ctx context.Context) error {
		abandoned := h.keeper.kills.Load() - kills
		if plan.fault != nil && beginsCheck(plan.fault.Resource) {
			abandoned++ // after a lost answer, the server can't be asked whether a check has begun
		}
		found, err := h.look(ctx, namespace, abandoned)
		if err != nil {
			return err
		}
		differences = h.references[scenario.name].Differences(found)
		if count := len(h.records(scenario.ledgers(namespace)...)); count != writes || len(differences) > 0 {
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
func (h *half) all(ctx context.Context, plans []plan, parallel int) []result {
	var mutex sync.Mutex
	var results []result
	var running errgroup.Group
	running.SetLimit(parallel)
	for _, next := range plans {
		if ctx.Err() != nil {
			break
		}
		running.Go(func() error {
			tried := h.try(ctx, next)
			mutex.Lock()
			defer mutex.Unlock()
			results = append(results, tried)
			h.tell(tried)
			if len(results)%progressEvery == 0 {
				fmt.Fprintf(h.out, "%s %d of %d\n", time.Now().Format(time.TimeOnly), len(results), len(plans))
			}
			return nil
		})
	}
	_ = running.Wait() // a try has its error in its result
	if parallel > 1 {
		h.again(ctx, results)
	}
	return results
}

// again repeats alone the plans that ended differently beside others, and replaces their results: the faults of neighbours kill
// the same manager, and slow it down.
func (h *half) again(ctx context.Context, results []result) {
	for i := range results {
		if len(results[i].differences) == 0 || ctx.Err() != nil {
			continue
		}
		results[i] = h.try(ctx, results[i].plan)
		results[i].again = true
		h.tell(results[i])
	}
}

func (h *half) tell(tried result) {
	switch {
	case len(tried.differences) > 0:
		fmt.Fprintf(h.out, "FAILED %s after %s\n", tried.plan, tried.took.Round(time.Millisecond))
		showDifferences(h.out, tried.differences)
	case tried.again:
		fmt.Fprintf(h.out, "alone it ends like an undisturbed run: %s\n", tried.plan)
	}
}

// disturb plays scenarios at once while the view of one resource is disturbed: the manager watches a resource once for all
// namespaces.
func (h *half) disturb(ctx context.Context, scenarios []string, disturbance proxy.Disturbance) []result {
	var plans []plan
	for _, name := range scenarios {
		plans = append(plans, plan{scenario: name, disturbance: disturbance})
	}
	h.api.Disturb(disturbance)
	h.nudge(ctx)
	results := h.all(ctx, plans, len(plans))
	for i := range results {
		results[i].reached = h.api.Disturbed() > 0
	}
	h.api.Disturb(proxy.Disturbance{})
	return results
}

// nudge changes a setting without effect here, so that settings have an event, too.
func (h *half) nudge(ctx context.Context) {
	setting := &appv1alpha1.OpsConfigInfo{}
	setting.Namespace, setting.Name = appv1alpha1.SystemNamespace, appv1alpha1.ConfigRefusal
	remark := fmt.Sprintf(`{"spec":{"remark":%q}}`, time.Now().Format(time.RFC3339Nano))
	// Without the event the plan counts as not reached.
	_ = h.lab.Kube.Patch(ctx, setting, client.RawPatch("application/merge-patch+json", []byte(remark)))
}
