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
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/hack/lab"
)

const (
	opCreate   = "create"
	opTemplate = "update of the template"
	opOther    = "update of an annotation"
)

// addedBy names the figure for the time that webhooks add to an operation, tailOf that for the ratio of the slowest calls.
func addedBy(operation string) string { return operation + ": added at the median" }
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

// runAdmission measures how long writes of Deployments take in an opted-in namespace and in one without webhooks.
func runAdmission(ctx context.Context, b *bench) ([]Figure, error) {
	l, err := lab.Open(ctx, lab.Options{Manager: b.manager, Config: b.config})
	if err != nil {
		return nil, err
	}
	defer func() { b.closed(l.Close(ctx)) }()
	if err := (setup{batch: 1}).prepare(ctx, l, b.managerArgs()...); err != nil {
		return nil, err
	}
	var figures []Figure
	for _, who := range []clients{{count: 1, groups: 5, group: 20}, {count: 8, groups: 4, group: 160}} {
		some, err := who.run(ctx, l)
		if err != nil {
			return nil, err
		}
		figures = append(figures, some...)
	}
	return figures, nil
}

func (c clients) run(ctx context.Context, l *lab.Lab) ([]Figure, error) {
	// The first one is without webhooks.
	namespaces := []string{fmt.Sprintf("free-%d", c.count), fmt.Sprintf("controlled-%d", c.count)}
	for i, namespace := range namespaces {
		if err := l.Namespace(ctx, namespace, i == 1); err != nil {
			return nil, err
		}
	}
	before, err := readHandled(ctx, l)
	if err != nil {
		return nil, err
	}
	operations := []string{opCreate, opTemplate, opOther}
	took := map[string][2][]float64{}
	for group := range c.groups {
		for _, operation := range operations {
			for _, i := range order(2, group) {
				if err := l.Quiet(ctx); err != nil {
					return nil, err
				}
				milliseconds, err := c.write(ctx, l.Kube, operation, namespaces[i], group)
				if err != nil {
					return nil, err
				}
				if group == 0 { // connections and caches are warm after it
					continue
				}
				both := took[operation]
				both[i] = append(both[i], milliseconds...)
				took[operation] = both
			}
		}
	}
	var figures []Figure
	for _, operation := range operations {
		figures = append(figures, c.figures(operation, took[operation][0], took[operation][1])...)
	}
	after, err := readHandled(ctx, l)
	if err != nil {
		return nil, err
	}
	return append(figures, c.figure("a call of a webhook, in the manager: mean", "ms", after.meanSince(before))), nil
}

// handled is the work of the manager in its webhooks so far.
type handled struct{ seconds, calls float64 }

func readHandled(ctx context.Context, l *lab.Lab) (handled, error) {
	families, err := l.Metrics(ctx)
	if err != nil {
		return handled{}, err
	}
	var sum handled
	for _, metric := range families["controller_runtime_webhook_latency_seconds"].GetMetric() {
		sum.seconds += metric.GetHistogram().GetSampleSum()
		sum.calls += float64(metric.GetHistogram().GetSampleCount())
	}
	return sum, nil
}

// meanSince returns the mean duration of a call since an earlier reading, in milliseconds; 0 if there was none.
func (h handled) meanSince(earlier handled) float64 {
	if h.calls == earlier.calls {
		return 0
	}
	return (h.seconds - earlier.seconds) / (h.calls - earlier.calls) * 1000
}

// figures compares the times of an operation with and without the webhooks.
func (c clients) figures(operation string, without, with []float64) []Figure {
	median, tail := percentile(without, 50), percentile(without, 99)
	figures := []Figure{
		c.figure(operation+": p50 without webhooks", "ms", median),
		c.figure(operation+": p50 with webhooks", "ms", percentile(with, 50)),
		c.figure(addedBy(operation), "ms", percentile(with, 50)-median),
		c.figure(operation+": p99 without webhooks", "ms", tail),
		c.figure(operation+": p99 with webhooks", "ms", percentile(with, 99)),
	}
	if tail > 0 {
		figures = append(figures, c.figure(tailOf(operation), "", percentile(with, 99)/tail))
	}
	return figures
}

func (c clients) figure(name, unit string, value float64) Figure {
	return Figure{Load: loadAdmission, Setup: c.String(), Name: name, Unit: unit, Summary: summarize([]float64{value})}
}

// write makes a group of writes and returns how long each took, in milliseconds.
func (c clients) write(ctx context.Context, kube client.Client, operation, namespace string, group int) ([]float64, error) {
	var lock sync.Mutex
	var took []float64
	one := func(ctx context.Context, i int) error {
		begin := time.Now()
		err := writeOnce(ctx, kube, operation, namespace, fmt.Sprintf("app-%d-%d", group, i))
		lock.Lock()
		defer lock.Unlock()
		took = append(took, inMilliseconds(time.Since(begin)))
		return err
	}
	if c.count > 1 {
		return took, atOnce(ctx, c.group, one)
	}
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for i := range c.group {
		if err := one(ctx, i); err != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
	}
	return took, nil
}

func writeOnce(ctx context.Context, kube client.Client, operation, namespace, name string) error {
	if operation == opCreate {
		return kube.Create(ctx, lab.Deployment(namespace, name, 0))
	}
	patch := `{"metadata":{"annotations":{"note":"second"}}}`
	if operation == opTemplate {
		patch = `{"spec":{"template":{"metadata":{"annotations":{"note":"second"}}}}}`
	}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	return kube.Patch(ctx, deployment, client.RawPatch("application/merge-patch+json", []byte(patch)))
}
