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
	"net/http"
	"slices"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/local/process"
)

const mebibyte = 1 << 20

// sample is the result of a round.
type sample struct {
	times
	meters
	// requests are the manager's requests.
	requests []auditv1.Event
	// heap is the manager's heap after a garbage collection, in bytes.
	heap float64
}

// meters are the resource usage so far, or during a round.
type meters struct {
	// used is the resource usage of the manager or the peer, with the peak memory since it was started; zero without one.
	used process.Usage
	// plane is the processor time of the control plane in seconds.
	plane float64
	// reconciles is the number of reconciles by controller.
	reconciles map[string]float64
}

// measure runs do, and reads the meters before and after it.
func (t *testbed) measure(ctx context.Context, do func() (times, error)) (sample, error) {
	before, err := t.readMeters(ctx)
	if err != nil {
		return sample{}, err
	}
	position, err := t.Position()
	if err != nil {
		return sample{}, err
	}
	took, err := do()
	if err != nil {
		return sample{}, err
	}
	if took.missing == 0 { // the work after the last verdict counts, too; a peer that doesn't get there would continue
		if err := t.Quiet(ctx); err != nil {
			return sample{}, err
		}
	}
	after, err := t.readMeters(ctx)
	if err != nil {
		return sample{}, err
	}
	result := sample{times: took, meters: after.since(before)}
	if t.Operator == nil {
		return result, nil
	}
	if result.requests, err = t.RequestsSince(position); err != nil {
		return sample{}, err
	}
	result.heap, err = t.heap(ctx)
	return result, err
}

func (t *testbed) readMeters(ctx context.Context) (read meters, err error) {
	parts, err := t.Plane.Usage()
	if err != nil {
		return meters{}, err
	}
	for _, part := range parts {
		read.plane += part.CPU.Seconds()
	}
	switch {
	case t.peer != nil:
		read.used, err = t.peer.Usage()
	case t.Operator != nil:
		metrics, failure := t.Metrics(ctx)
		if failure != nil {
			return meters{}, failure
		}
		read.reconciles = reconciles(metrics)
		read.used, err = t.Operator.Usage()
	}
	return read, err
}

// since returns what was used since an earlier reading.
func (m meters) since(earlier meters) meters {
	m.used.CPU -= earlier.used.CPU
	m.plane -= earlier.plane
	for name, count := range earlier.reconciles {
		m.reconciles[name] -= count
	}
	return m
}

// reconciles returns the number of reconciles by controller.
func reconciles(metrics map[string]*dto.MetricFamily) map[string]float64 {
	counts := map[string]float64{}
	for _, metric := range metrics["controller_runtime_reconcile_total"].GetMetric() {
		for _, label := range metric.GetLabel() {
			if label.GetName() == "controller" {
				counts[label.GetValue()] += metric.GetCounter().GetValue()
			}
		}
	}
	return counts
}

// heap makes the manager collect garbage and returns the bytes of its heap.
func (t *testbed) heap(ctx context.Context) (float64, error) {
	profile, err := lab.Profile(ctx, t.pprof, "heap?gc=1&debug=1")
	if err != nil {
		return 0, err
	}
	return parseHeap(string(profile))
}

// parseHeap returns the value of the line # HeapAlloc = <bytes> of a heap profile in text format.
func parseHeap(profile string) (float64, error) {
	_, rest, found := strings.Cut(profile, "\n# HeapAlloc = ")
	if !found {
		return 0, errors.New("the heap profile has no HeapAlloc")
	}
	value, _, _ := strings.Cut(rest, "\n")
	return strconv.ParseFloat(value, 64)
}

const (
	// events counts Events, whatever the result of their writes.
	events   = "events"
	conflict = " (conflict)"
)

// writesOf counts the writes to some namespaces, and to ControlledKinds, by verb and kind, with conflicts and failures separately.
func writesOf(requests []auditv1.Event, namespaces ...string) map[string]int {
	counts := map[string]int{}
	for _, request := range requests {
		object := request.ObjectRef
		if object == nil || isRead(request) || !slices.Contains(namespaces, object.Namespace) && object.Resource != "controlledkinds" {
			continue
		}
		if object.Resource == events {
			counts[events]++
			continue
		}
		kind := request.Verb + " " + object.Resource
		if object.Subresource != "" {
			kind += "/" + object.Subresource
		}
		if status := request.ResponseStatus; status != nil && status.Code == http.StatusConflict {
			kind += conflict
		} else if status != nil && status.Code >= http.StatusBadRequest {
			kind += " (failed)"
		}
		counts[kind]++
	}
	return counts
}

// readsOf counts the GETs and LISTs by verb and kind.
func readsOf(requests []auditv1.Event) map[string]int {
	counts := map[string]int{}
	for _, request := range requests {
		if request.ObjectRef != nil && isRead(request) && request.Verb != "watch" {
			counts[request.Verb+" "+request.ObjectRef.Resource]++
		}
	}
	return counts
}

func isRead(request auditv1.Event) bool {
	return slices.Contains([]string{"get", "list", "watch"}, request.Verb)
}

// total adds the counts of the kinds that end with a suffix, without Events.
func total(counts map[string]int, suffix string) (sum int) {
	for kind, count := range counts {
		if kind != events && strings.HasSuffix(kind, suffix) {
			sum += count
		}
	}
	return sum
}
