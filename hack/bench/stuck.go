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
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/lab"
)

const (
	// stuckAfter is how long pods get to run.
	stuckAfter = 10 * time.Second
	// stuckTimeout is how long all may take to go back.
	stuckTimeout = 5 * time.Minute
)

// runStuck measures how long after the deadline of its pods a release that can't start has gone back, of many at once.
func runStuck(count int) func(context.Context, *bench) ([]Figure, error) {
	return func(ctx context.Context, b *bench) ([]Figure, error) {
		l, err := lab.Open(ctx, lab.Options{Manager: b.manager, Config: b.config})
		if err != nil {
			return nil, err
		}
		defer func() { b.closed(l.Close(ctx)) }()
		if err := (setup{batch: 1}).prepare(ctx, l, b.managerArgs()...); err != nil {
			return nil, err
		}
		if err := l.Set(ctx, appv1alpha1.ConfigStuckRollback, true, stuckAfter.String()); err != nil {
			return nil, err
		}
		stuck := fleet{namespace: "stuck", deployments: count, replicas: 1}
		if err := l.Namespace(ctx, stuck.namespace, true); err != nil {
			return nil, err
		}
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

// goBack releases each Deployment with pods that never start, and tells how long after their deadline each had its old template back.
func (f fleet) goBack(ctx context.Context, l *lab.Lab) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, stuckTimeout)
	defer cancel()
	deployments, err := l.Kube.Watch(ctx, &appsv1.DeploymentList{}, client.InNamespace(f.namespace))
	if err != nil {
		return nil, fmt.Errorf("watch Deployments: %w", err)
	}
	defer deployments.Stop()
	pods, err := l.Kube.Watch(ctx, &corev1.PodList{}, client.InNamespace(f.namespace), client.HasLabels{lab.StartLabel})
	if err != nil {
		return nil, fmt.Errorf("watch pods: %w", err)
	}
	defer pods.Stop()
	release := func(ctx context.Context, i int) error { return l.ReleaseStuck(ctx, f.namespace, f.name(i)) }
	if err := atOnce(ctx, f.deployments, release); err != nil {
		return nil, err
	}
	seen := newReturns()
	for len(seen.back) < f.deployments {
		event, err := nextOf(ctx, deployments.ResultChan(), pods.ResultChan())
		if err != nil {
			return nil, fmt.Errorf("%d of %d releases that can't start have gone back: %w", len(seen.back), f.deployments, err)
		}
		seen.saw(event.Object, time.Now())
	}
	return seen.delays(), nil
}

// returns are those of Deployments to the template before, by name.
type returns struct {
	// deadlines are when the first pod that doesn't start should have been running. The API server keeps whole seconds of when it was created.
	deadlines map[string]time.Time
	// away are released with pods that don't start; back is when they were seen to be so no more.
	away map[string]bool
	back map[string]time.Time
}

func newReturns() *returns {
	return &returns{deadlines: map[string]time.Time{}, away: map[string]bool{}, back: map[string]time.Time{}}
}

// saw takes note of an object that a watch shows now.
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

// delays are how long after the deadline each came back.
func (r *returns) delays() []time.Duration {
	var delays []time.Duration
	for name, at := range r.back {
		delays = append(delays, at.Sub(r.deadlines[name]))
	}
	return delays
}
