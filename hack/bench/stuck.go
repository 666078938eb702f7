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
	if err := atOnce(ctx, f.deployments, release); err != nil {
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
