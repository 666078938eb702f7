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
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/altershield"
	"github.com/traas-stack/altershield-operator/hack/lab"
)

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
