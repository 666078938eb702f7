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
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/altershield"
	"github.com/traas-stack/altershield-operator/hack/lab"
)

const (
	// stuckAfter is how long pods may take to run.
	stuckAfter = 10 * time.Second
	// stuckTimeout is how long all rollbacks may take together.
	stuckTimeout = 5 * time.Minute
)

// runStuck measures the time from the deadline of the pods to the rollback, for many releases at once that can't start.
func runStuck(count int) measurement {
	return func(ctx context.Context, b *bench, l *lab.Lab) ([]Figure, error) {
		if err := (setup{batch: 1}).prepare(ctx, l, b.managerArgs()...); err != nil {
			return nil, err
		}
		if err := l.Set(ctx, appv1alpha1.ConfigStuckRollback, true, stuckAfter.String()); err != nil {
			return nil, err
		}
		stuck := fleet{namespace: "stuck", deployments: count, replicas: 1}
		if _, err := stuck.create(ctx, l, true); err != nil {
			return nil, err
		}
		delays, err := stuck.goBack(ctx, l)
		if err != nil {
			return nil, err
		}
		return stuckFigures(delays), nil
	}
}

func stuckFigures(delays []time.Duration) []Figure {
	milliseconds := make([]float64, len(delays))
	for i, delay := range delays {
		milliseconds[i] = inMilliseconds(delay)
	}
	setup := fmt.Sprintf("%d at once", len(delays))
	return []Figure{
		latency(loadStuck, setup, stuckMedian, percentile(milliseconds, 50), milliseconds),
		latency(loadStuck, setup, stuckSlowest, slices.Max(milliseconds), milliseconds),
	}
}

// goBack releases each Deployment with pods that never start, and returns how long after their deadline each had its old template again.
func (f fleet) goBack(ctx context.Context, l *lab.Lab) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, stuckTimeout)
	defer cancel()
	deployments, err := l.Kube.Watch(ctx, &appsv1.DeploymentList{}, client.InNamespace(f.namespace))
	if err != nil {
		return nil, fmt.Errorf("watching Deployments: %w", err)
	}
	defer deployments.Stop()
	pods, err := l.Kube.Watch(ctx, &corev1.PodList{}, client.InNamespace(f.namespace), client.HasLabels{lab.StartLabel})
	if err != nil {
		return nil, fmt.Errorf("watching pods: %w", err)
	}
	defer pods.Stop()
	release := func(ctx context.Context, i int) error { return l.ReleaseStuck(ctx, f.namespace, f.name(i)) }
	if err := atOnce(ctx, writers, f.deployments, release); err != nil {
		return nil, err
	}
	seen := newReturns()
	for len(seen.back) < f.deployments {
		event, err := nextOf(ctx, deployments.ResultChan(), pods.ResultChan())
		if err != nil {
			return nil, fmt.Errorf("%d of %d releases that can't start were rolled back: %w", len(seen.back), f.deployments, err)
		}
		seen.saw(event.Object, time.Now())
	}
	return seen.delays(), nil
}

// returns are the rollbacks of Deployments to the previous template, by name.
type returns struct {
	// deadlines are the times by which the first pod should have been running. The API server stores its creation in whole seconds.
	deadlines map[string]time.Time
	// away are Deployments whose released pods don't start; back has the times at which their rollback was seen.
	away map[string]bool
	back map[string]time.Time
}

func newReturns() *returns {
	return &returns{deadlines: map[string]time.Time{}, away: map[string]bool{}, back: map[string]time.Time{}}
}

// saw records an object of a watch.
func (r *returns) saw(object any, now time.Time) {
	switch object := object.(type) {
	case *corev1.Pod:
		name, deadline := object.Labels["app"], object.CreationTimestamp.Add(stuckAfter)
		if known, is := r.deadlines[name]; !is || deadline.Before(known) {
			r.deadlines[name] = deadline
		}
	case *appsv1.Deployment:
		switch _, never := object.Spec.Template.Labels[lab.StartLabel]; {
		case never:
			r.away[object.Name] = true
		case r.away[object.Name]:
			delete(r.away, object.Name)
			r.back[object.Name] = now
		}
	}
}

// delays returns how long after the deadline each was rolled back.
func (r *returns) delays() []time.Duration {
	var delays []time.Duration
	for name, at := range r.back {
		delays = append(delays, at.Sub(r.deadlines[name]))
	}
	return delays
}

const (
	// verdicts is the number of bad verdicts.
	verdicts = 101
	// verdictTimeout is how long it may take from the creation of a Deployment to its suspension.
	verdictTimeout = time.Minute
	// checkTakes is the duration of a check: the creation of a Deployment is fully processed by then.
	checkTakes = 250 * time.Millisecond
)

// runVerdict measures the time from a bad verdict to the label that suspends the Deployment, one at a time.
func runVerdict(ctx context.Context, b *bench, l *lab.Lab) ([]Figure, error) {
	// The test server doesn't wait for a receiver: there is room for all callbacks.
	told := make(chan altershield.Callback, 2*verdicts)
	if err := l.Serve(ctx, altershield.Options{PreDelay: checkTakes, OnCallback: func(c altershield.Callback) { told <- c }}); err != nil {
		return nil, err
	}
	l.Server.AddRule(altershield.Rule{Name: "bad", Message: "it is to fail", Stage: altershield.StagePre, Verdict: altershield.VerdictFail})
	if err := (setup{batch: 1, server: true}).prepare(ctx, l, b.managerArgs()...); err != nil {
		return nil, err
	}
	const namespace = "suspended"
	if err := l.Namespace(ctx, namespace, true); err != nil {
		return nil, err
	}
	deployments, err := l.Kube.Watch(ctx, &appsv1.DeploymentList{}, client.InNamespace(namespace))
	if err != nil {
		return nil, fmt.Errorf("watching Deployments: %w", err)
	}
	defer deployments.Stop()
	var milliseconds []float64
	for i := range verdicts {
		took, err := suspendOnce(ctx, l, namespace, fmt.Sprintf("app-%d", i), deployments.ResultChan(), told)
		if err != nil {
			return nil, err
		}
		if i > 0 { // the first one opens the connections
			milliseconds = append(milliseconds, inMilliseconds(took))
		}
	}
	return verdictFigures(milliseconds), nil
}

func verdictFigures(milliseconds []float64) []Figure {
	const setup = "idle plane"
	return []Figure{
		latency(loadVerdict, setup, verdictMedian, percentile(milliseconds, 50), milliseconds),
		latency(loadVerdict, setup, verdictTail, percentile(milliseconds, 99), milliseconds),
	}
}

func inMilliseconds(took time.Duration) float64 { return float64(took.Microseconds()) / 1000 }

// latency returns a figure that stands for many measurements, with their spread.
func latency(load, setup, name string, value float64, milliseconds []float64) Figure {
	spread := summarize(milliseconds)
	spread.Median = value
	return Figure{Load: load, Setup: setup, Name: name, Unit: "ms", Summary: spread}
}

// suspendOnce creates a Deployment of a pod that fails, and returns the time from its callback until a watch showed the label.
func suspendOnce(ctx context.Context, l *lab.Lab, namespace, name string, deployments <-chan watch.Event, told <-chan altershield.Callback) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, verdictTimeout)
	defer cancel()
	if err := l.Kube.Create(ctx, lab.Deployment(namespace, name, 1)); err != nil {
		return 0, fmt.Errorf("creating Deployment %s/%s: %w", namespace, name, err)
	}
	var sent, seen time.Time
	for sent.IsZero() || seen.IsZero() {
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("waiting for the suspension of Deployment %s/%s: %w", namespace, name, ctx.Err())
		case callback := <-told:
			sent = callback.Time
		case event, open := <-deployments:
			if !open {
				return 0, errors.New("the watch of Deployments has ended")
			}
			deployment, is := event.Object.(*appsv1.Deployment)
			if is && deployment.Name == name && deployment.Labels[appv1alpha1.LabelSuspend] != "" && seen.IsZero() {
				seen = time.Now()
			}
		}
	}
	return seen.Sub(sent), nil
}
