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
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
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
	return func(ctx context.Context, t *testbed) ([]Figure, error) {
		if err := t.prepare(ctx, setup{batch: 1}); err != nil {
			return nil, err
		}
		if err := t.Set(ctx, appv1alpha1.ConfigStuckRollback, true, stuckAfter.String()); err != nil {
			return nil, err
		}
		stuck := deploymentsIn("stuck", count, 1)
		if err := stuck.create(ctx, t.Lab); err != nil {
			return nil, err
		}
		delays, err := stuck.goBack(ctx, t.Lab)
		return stuckFigures(delays), err
	}
}

func stuckFigures(milliseconds []float64) []Figure {
	return latencies(fmt.Sprintf("%d at once", len(milliseconds)), "deadline to rollback", milliseconds)
}

// latencies returns what a user waits for, each with the spread of all measurements.
func latencies(setup, what string, milliseconds []float64) []Figure {
	var figures []Figure
	for _, percent := range []float64{50, 99, 100} {
		figure := figureOf(setup, fmt.Sprintf("%s, p%.0f", what, percent), "ms", milliseconds...)
		figure.Median = percentile(milliseconds, percent)
		figures = append(figures, figure)
	}
	return figures
}

func inMilliseconds(took time.Duration) float64 { return float64(took.Microseconds()) / 1000 }

// goBack releases each Deployment with pods that never start, and returns how many milliseconds after its deadline each had its old template again.
func (f fleet) goBack(ctx context.Context, l *lab.Lab) ([]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, stuckTimeout)
	defer cancel()
	if err := atOnce(ctx, writers, f.count, func(ctx context.Context, i int) error { return l.ReleaseStuck(ctx, f.namespace, f.name(i)) }); err != nil {
		return nil, err
	}
	var pods corev1.PodList
	err := lab.Until(ctx, stuckAfter, "waiting for pods that never start", func(ctx context.Context) error {
		err := l.Kube.List(ctx, &pods, client.InNamespace(f.namespace), client.HasLabels{lab.StartLabel})
		if err == nil && len(pods.Items) < f.count {
			err = fmt.Errorf("there are %d of %d", len(pods.Items), f.count)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	seen := newReturns(pods.Items)
	err = watchUntil(ctx, l, f.namespace, &appsv1.DeploymentList{}, func(object runtime.Object) bool { return seen.saw(object, time.Now()) })
	if err != nil {
		return nil, fmt.Errorf("%d of %d releases that can't start were rolled back: %w", len(seen.delays), f.count, err)
	}
	return slices.Collect(maps.Values(seen.delays)), nil
}

// returns are the rollbacks of Deployments to the previous template, by name.
type returns struct {
	// deadlines are the times by which the pods should have been running. The API server stores their creation in whole seconds.
	deadlines map[string]time.Time
	// delays are how many milliseconds after the deadline each rollback was seen.
	delays map[string]float64
}

// newReturns returns the rollbacks to come of Deployments with one new pod each.
func newReturns(pods []corev1.Pod) *returns {
	seen := &returns{deadlines: map[string]time.Time{}, delays: map[string]float64{}}
	for i := range pods {
		seen.deadlines[pods[i].Labels["app"]] = pods[i].CreationTimestamp.Add(stuckAfter)
	}
	return seen
}

// saw records the state of a Deployment. It reports whether all were rolled back.
func (r *returns) saw(object runtime.Object, now time.Time) bool {
	deployment, _ := object.(*appsv1.Deployment)
	_, never := deployment.Spec.Template.Labels[lab.StartLabel]
	if _, known := r.delays[deployment.Name]; !never && !known {
		r.delays[deployment.Name] = inMilliseconds(now.Sub(r.deadlines[deployment.Name]))
	}
	return len(r.delays) == len(r.deadlines)
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
func runVerdict(ctx context.Context, t *testbed) ([]Figure, error) {
	// The test server doesn't wait for a receiver: there is room for all callbacks.
	told := make(chan altershield.Callback, 2*verdicts)
	if err := t.Serve(ctx, altershield.Options{PreDelay: checkTakes, OnCallback: func(c altershield.Callback) { told <- c }}); err != nil {
		return nil, err
	}
	t.Server.AddRule(altershield.Rule{Name: "bad", Message: "it is to fail", Stage: altershield.StagePre, Verdict: altershield.VerdictFail})
	if err := t.prepare(ctx, setup{batch: 1, options: []string{server}}); err != nil {
		return nil, err
	}
	const namespace = "suspended"
	if err := t.Namespace(ctx, namespace, true); err != nil {
		return nil, err
	}
	var milliseconds []float64
	for i := range verdicts {
		took, err := suspendOnce(ctx, t.Lab, namespace, fmt.Sprintf("app-%d", i), told)
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
	return latencies("idle plane", "verdict to suspension", milliseconds)
}

// suspendOnce creates a Deployment of a pod that fails, and returns the time from its callback until a watch showed the label.
func suspendOnce(ctx context.Context, l *lab.Lab, namespace, name string, told <-chan altershield.Callback) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, verdictTimeout)
	defer cancel()
	created := time.Now()
	if err := l.Kube.Create(ctx, lab.Deployment(namespace, name, 1)); err != nil {
		return 0, fmt.Errorf("creating Deployment %s/%s: %w", namespace, name, err)
	}
	err := watchUntil(ctx, l, namespace, &appsv1.DeploymentList{}, func(object runtime.Object) bool {
		deployment, _ := object.(*appsv1.Deployment)
		return deployment.Name == name && deployment.Labels[appv1alpha1.LabelSuspend] != ""
	})
	if err != nil {
		return 0, fmt.Errorf("waiting for the suspension of Deployment %s/%s: %w", namespace, name, err)
	}
	seen := time.Now()
	callback := <-told // it was sent before the label was written
	for callback.Time.Before(created) {
		callback = <-told
	}
	return seen.Sub(callback.Time), nil
}
