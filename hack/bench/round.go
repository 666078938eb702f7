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
	"net/http"
	"slices"
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
	// used is the manager's resource usage, with the peak memory since it was started for the round; zero without a manager.
	used process.Usage
	// plane is the processor time of the control plane in seconds.
	plane float64
	// requests are the manager's requests.
	requests []auditv1.Event
	// reconciles is the number of reconciles by controller.
	reconciles map[string]float64
}

// measure runs do, and reads the meters before and after it.
func measure(ctx context.Context, l *lab.Lab, do func() (times, error)) (sample, error) {
	before, err := readMeters(ctx, l)
	if err != nil {
		return sample{}, err
	}
	position, err := l.Position()
	if err != nil {
		return sample{}, err
	}
	took, err := do()
	if err != nil {
		return sample{}, err
	}
	// The operator's work after the last verdict counts, too.
	if err := l.Quiet(ctx); err != nil {
		return sample{}, err
	}
	after, err := readMeters(ctx, l)
	if err != nil {
		return sample{}, err
	}
	result := sample{times: took, used: after.manager, plane: after.plane - before.plane, reconciles: map[string]float64{}}
	result.used.CPU -= before.manager.CPU
	for name, count := range after.reconciles {
		result.reconciles[name] = count - before.reconciles[name]
	}
	result.requests, err = l.RequestsSince(position)
	return result, err
}

// meters is the resource usage so far.
type meters struct {
	manager    process.Usage
	plane      float64
	reconciles map[string]float64
}

func readMeters(ctx context.Context, l *lab.Lab) (meters, error) {
	parts, err := l.Plane.Usage()
	if err != nil {
		return meters{}, err
	}
	read := meters{}
	for _, part := range parts {
		read.plane += part.CPU.Seconds()
	}
	if l.Operator == nil {
		return read, nil
	}
	metrics, err := l.Metrics(ctx)
	if err != nil {
		return meters{}, err
	}
	read.reconciles = reconciles(metrics)
	read.manager, err = l.Operator.Usage()
	return read, err
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

// figuresOf returns the figures of a setup's rounds, compared with the native rounds of the same load.
func figuresOf(name string, s setup, rolled fleet, rounds, native []sample) []Figure {
	pods := float64(rolled.pods())
	pick := func(from []sample, value func(sample) float64) []float64 {
		values := make([]float64, len(from))
		for i := range from {
			values[i] = value(from[i])
		}
		return values
	}
	var figures []Figure
	add := func(what, unit string, value func(sample) float64) {
		figures = append(figures, figureOf(name, s.String(), what, unit, pick(rounds, value)...))
	}
	compare := func(what string, value, with func(sample) float64) {
		figures = append(figures, Figure{Load: name, Setup: s.String(), Name: what, Summary: ratio(pick(rounds, value), pick(native, with))})
	}
	roll := func(s sample) float64 { return s.rolled.Seconds() }
	verified := func(s sample) float64 { return s.verified.Seconds() }
	writes := func(s sample) map[string]int { return writesOf(s.requests, rolled.namespace) }
	add(rollTime, "s", roll)
	add("CPU of the control plane", "s", func(s sample) float64 { return s.plane })
	if s.native() {
		return figures
	}
	compare(rollRatio, roll, roll)
	add(cpuTime, "s", func(s sample) float64 { return s.used.CPU.Seconds() })
	add(peakMemory, "MiB", func(s sample) float64 { return float64(s.used.Peak) / mebibyte })
	if s.peer != nil {
		add("rollouts complete", "", func(s sample) float64 { return float64(rolled.count - s.missing) })
		return figures
	}
	add(verifiedTime, "s", verified)
	compare(verifiedRatio, verified, roll)
	add(writesPerPod, "", func(s sample) float64 { return float64(total(writes(s))) / pods })
	add("conflicts per pod", "", func(s sample) float64 { return float64(conflicts(writes(s))) / pods })
	add("Events per pod", "", func(s sample) float64 { return float64(writes(s)["events"]) / pods })
	add("GET and LIST per pod", "", func(s sample) float64 { return float64(total(readsOf(s.requests))) / pods })
	for _, controller := range []string{"deployment", "pod", "changeworkload", "changepod"} {
		add("reconciles per pod, "+controller, "", func(s sample) float64 { return s.reconciles[controller] / pods })
	}
	return figures
}

func conflicts(counts map[string]int) int {
	sum := 0
	for kind, count := range counts {
		if strings.HasSuffix(kind, "(conflict)") {
			sum += count
		}
	}
	return sum
}

// writesOf counts the writes to a namespace by verb and kind, with conflicts and failures separately. Events are counted
// under "events", whatever their result.
func writesOf(requests []auditv1.Event, namespace string) map[string]int {
	counts := map[string]int{}
	for _, request := range requests {
		object := request.ObjectRef
		if object == nil || object.Namespace != namespace || isRead(request.Verb) {
			continue
		}
		if object.Resource == "events" {
			counts["events"]++
			continue
		}
		kind := request.Verb + " " + object.Resource
		if object.Subresource != "" {
			kind += "/" + object.Subresource
		}
		if status := request.ResponseStatus; status != nil && status.Code == http.StatusConflict {
			kind += " (conflict)"
		} else if status != nil && status.Code >= http.StatusBadRequest {
			kind += " (failed)"
		}
		counts[kind]++
	}
	return counts
}

func isRead(verb string) bool { return slices.Contains([]string{"get", "list", "watch"}, verb) }

// total returns the number of writes, without Events.
func total(counts map[string]int) int {
	sum := 0
	for kind, count := range counts {
		if kind != "events" {
			sum += count
		}
	}
	return sum
}

// readsOf counts the GETs and LISTs by verb and kind.
func readsOf(requests []auditv1.Event) map[string]int {
	counts := map[string]int{}
	for _, request := range requests {
		if request.ObjectRef != nil && (request.Verb == "get" || request.Verb == "list") {
			counts[request.Verb+" "+request.ObjectRef.Resource]++
		}
	}
	return counts
}
