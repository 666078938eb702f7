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
	"slices"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/hack/lab"
)

// Operations on a workload.
const (
	create   = "create"
	release  = "update of the template"
	annotate = "update of an annotation"
)

// webhookCall names the figure for the manager's own part of a call.
const webhookCall = "a call of a webhook, in the manager: mean"

// addedTo names the figure for the time that webhooks add to an operation, tailOf that for the ratio of the slowest calls.
func addedTo(operation string) string { return operation + ": added at the median" }
func tailOf(operation string) string  { return operation + ": p99 / without webhooks" }

// pace is the pause between two writes of a single client. The reactions of controllers and of the operator to a write, for which it
// gathers events for 0.1 s, must not be measured with the next one.
const pace = 250 * time.Millisecond

// clients are concurrent writers. They write in groups, to a namespace with and to one without the webhooks in turn.
type clients struct {
	count, groups, group int
}

func (c clients) String() string {
	if c.count == 1 {
		return "1 client"
	}
	return fmt.Sprintf("%d clients", c.count)
}

// runAdmission measures how long writes of workloads take in an opted-in namespace and in one without webhooks, of each kind in turn.
func runAdmission(kinds ...kind) measurement {
	return func(ctx context.Context, t *testbed) ([]Figure, error) {
		var figures []Figure
		for _, who := range []clients{{count: 1, groups: 5, group: 20}, {count: 8, groups: 4, group: 160}} {
			took, err := who.run(ctx, t, kinds)
			if err != nil {
				return nil, err
			}
			for _, kind := range kinds {
				called, err := t.meanCall(ctx, kind)
				if err != nil {
					return nil, err
				}
				figures = append(figures, admissionFigures(who.String(), kind.title, took, called)...)
			}
		}
		return figures, nil
	}
}

// written identifies writes of workloads of a kind, in a namespace with or without webhooks.
type written struct {
	kind, operation string
	controlled      bool
}

// run writes workloads of each kind in turn, with a newly started manager. It returns how many milliseconds each write took.
func (c clients) run(ctx context.Context, t *testbed, kinds []kind) (map[written][]float64, error) {
	if err := t.prepare(ctx, setup{batch: 1}); err != nil {
		return nil, err
	}
	namespaces := map[bool]string{false: fmt.Sprintf("free-%d", c.count), true: fmt.Sprintf("controlled-%d", c.count)}
	for controlled, namespace := range namespaces {
		if err := t.Namespace(ctx, namespace, controlled); err != nil {
			return nil, err
		}
	}
	took := map[written][]float64{}
	for group := range c.groups {
		for _, operation := range operations() {
			for i := range 2 * len(kinds) {
				i = turn(i, 2*len(kinds), group)
				if err := t.Quiet(ctx); err != nil {
					return nil, err
				}
				of := written{kind: kinds[i/2].title, operation: operation, controlled: i%2 == 1}
				milliseconds, err := c.write(ctx, t.Kube, kinds[i/2], operation, namespaces[of.controlled], group)
				if err != nil {
					return nil, err
				}
				if group > 0 { // connections and caches are warm then
					took[of] = append(took[of], milliseconds...)
				}
			}
		}
	}
	return took, nil
}

func operations() []string { return []string{create, release, annotate} }

// meanCall returns the mean duration of a call of the webhooks of a kind, in the manager since it was started, in milliseconds.
func (t *testbed) meanCall(ctx context.Context, of kind) (float64, error) {
	families, err := t.Metrics(ctx)
	if err != nil {
		return 0, err
	}
	return meanOf(families["controller_runtime_webhook_latency_seconds"], of.webhooks), nil
}

// meanOf returns the mean of the histograms of some webhooks in milliseconds, 0 if there was no call.
func meanOf(family *dto.MetricFamily, webhooks []string) float64 {
	var seconds, calls float64
	for _, metric := range family.GetMetric() {
		if slices.ContainsFunc(metric.GetLabel(), func(label *dto.LabelPair) bool { return slices.Contains(webhooks, label.GetValue()) }) {
			seconds += metric.GetHistogram().GetSampleSum()
			calls += float64(metric.GetHistogram().GetSampleCount())
		}
	}
	return seconds * 1000 / max(calls, 1)
}

// admissionFigures compares the times of each operation with and without the webhooks, a call of which takes the manager some milliseconds.
func admissionFigures(who, kind string, took map[written][]float64, called float64) []Figure {
	setup := who + ", " + kind
	figures := []Figure{figureOf(setup, webhookCall, "ms", called)}
	add := func(name, unit string, value float64) {
		figures = append(figures, figureOf(setup, name, unit, value))
	}
	for _, operation := range operations() {
		without, with := took[written{kind, operation, false}], took[written{kind, operation, true}]
		median, tail := percentile(without, 50), percentile(without, 99)
		add(operation+": p50 without webhooks", "ms", median)
		add(operation+": p50 with webhooks", "ms", percentile(with, 50))
		add(addedTo(operation), "ms", percentile(with, 50)-median)
		add(operation+": p99 without webhooks", "ms", tail)
		add(operation+": p99 with webhooks", "ms", percentile(with, 99))
		if tail > 0 {
			add(tailOf(operation), "", percentile(with, 99)/tail)
		}
	}
	return figures
}

// write makes a group of writes and returns how long each took, in milliseconds.
func (c clients) write(ctx context.Context, kube client.Client, of kind, operation, namespace string, group int) ([]float64, error) {
	var lock sync.Mutex
	var took []float64
	err := atOnce(ctx, c.count, c.group, func(ctx context.Context, i int) error {
		begin := time.Now()
		err := of.write(ctx, kube, operation, namespace, fmt.Sprintf("app-%d-%d", group, i))
		milliseconds := inMilliseconds(time.Since(begin))
		lock.Lock()
		took = append(took, milliseconds)
		lock.Unlock()
		if err == nil && c.count == 1 {
			err = lab.Pause(ctx, pace)
		}
		return err
	})
	return took, err
}

// write creates or changes a workload without pods.
func (k kind) write(ctx context.Context, kube client.Client, operation, namespace, name string) error {
	if operation == create {
		return k.create(ctx, kube, lab.Deployment(namespace, name, 0))
	}
	patch := `{"metadata":{"annotations":{"note":"second"}}}`
	if operation == release {
		patch = `{"spec":{"template":{"metadata":{"annotations":{"note":"second"}}}}}`
	}
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	object.SetGroupVersionKind(k.GroupVersionKind)
	return kube.Patch(ctx, object, client.RawPatch("application/merge-patch+json", []byte(patch)))
}
