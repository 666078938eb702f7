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
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/lab"
)

const (
	// patience is how long a state may take to be reached: longer than the two minutes after which a release that fails to start goes back.
	patience = 8 * time.Minute
	replicas = 2
)

// app is a Deployment in a state.
type app struct {
	lab.Workload
	state state
	copy  int
	// object is the workload as it is created.
	object client.Object
	// wentOn reports that its user went on after the upgrade.
	wentOn bool
}

func newApp(l *lab.Lab, of state, number int) *app {
	namespace := controlled
	if of.outside {
		namespace = outside
	}
	object := lab.Deployment(namespace, fmt.Sprintf("%s-%d", of.name, number), replicas)
	return &app{Workload: workloadOf(l, appsv1.SchemeGroupVersion.WithKind("Deployment"), object), state: of, copy: number, object: object}
}

func workloadOf(l *lab.Lab, kind schema.GroupVersionKind, object client.Object) lab.Workload {
	return lab.Workload{Lab: l, Kind: kind, ObjectKey: client.ObjectKeyFromObject(object), Patience: patience}
}

func (a *app) String() string { return a.Name }

// prepare brings the app to its state.
func (a *app) prepare(ctx context.Context) error { return a.inTurn(ctx, a.state.prepare...) }

// begin starts what is under way when the operator is upgraded.
func (a *app) begin(ctx context.Context) error { return a.inTurn(ctx, a.state.begin...) }

// arrived checks where the app is after an upgrade.
func (a *app) arrived(ctx context.Context) error {
	if a.wentOn {
		return a.inTurn(ctx, a.state.end...)
	}
	return a.inTurn(ctx, a.state.after...)
}

// goOn does what users do next in the state.
func (a *app) goOn(ctx context.Context) error {
	a.wentOn = true
	return a.inTurn(ctx, slices.Concat(a.state.then, a.state.end)...)
}

// releaseAgain makes one more release.
func (a *app) releaseAgain(ctx context.Context) error {
	if a.state.outside {
		return a.inTurn(ctx, release("again"))
	}
	return a.inTurn(ctx, release("again"), verified(a.state.releases+1))
}

func (a *app) inTurn(ctx context.Context, steps ...step) error {
	for _, act := range steps {
		if err := act(a, ctx); err != nil {
			return err
		}
	}
	return nil
}

// reaches waits until the newest release is of this number and has the status, and the Deployment is suspended or isn't.
func (a *app) reaches(ctx context.Context, number int64, status appv1alpha1.ChangeWorkloadPhase) error {
	return a.Awaits(ctx, fmt.Sprintf("release %d with the status %s", number, status), func(_ context.Context, now lab.Seen) error {
		record := now.Record
		_, suspended := now.GetLabels()[appv1alpha1.LabelSuspend]
		if record.Spec.Release != number || record.Status.Status != status || suspended != (status == appv1alpha1.ChangeWorkloadSuspend) {
			return fmt.Errorf("it is at release %d with the status %s, suspended is %t", record.Spec.Release, record.Status.Status, suspended)
		}
		return nil
	})
}

func (a *app) create(ctx context.Context) error {
	return a.write(ctx, func(ctx context.Context) error {
		return a.Lab.Kube.Create(ctx, a.object.DeepCopyObject().(client.Object))
	})
}

// write writes as a user who tries again where the webhooks don't answer.
func (a *app) write(ctx context.Context, act func(context.Context) error) error {
	var refused error
	err := lab.Until(ctx, patience, "an answer", func(ctx context.Context) error {
		err := act(ctx)
		if apierrors.IsInternalError(err) {
			return err
		}
		refused = err
		return nil
	})
	return errors.Join(refused, err)
}

// waits returns once one pod is running and not ready, so that the rollout waits for it.
func (a *app) waits(ctx context.Context) error {
	return a.waiting(ctx, func(*corev1.Pod) error { return nil })
}

// readyOne makes that pod ready.
func (a *app) readyOne(ctx context.Context) error {
	return a.waiting(ctx, func(pod *corev1.Pod) error { return lab.Report(ctx, a.Lab.Kube, pod, true) })
}

func (a *app) waiting(ctx context.Context, act func(*corev1.Pod) error) error {
	return lab.Until(ctx, patience, "a pod that is running and not ready", func(ctx context.Context) error {
		pods, err := lab.Idle(ctx, a.Lab.Kube, corev1.PodRunning, client.InNamespace(a.Namespace), client.MatchingLabels{"app": a.Name})
		if err != nil {
			return err
		}
		if len(pods) != 1 {
			return fmt.Errorf("there are %d", len(pods))
		}
		return act(&pods[0])
	})
}

// denied makes a release that has to be denied.
func (a *app) denied(ctx context.Context) error {
	err := release("denied")(a, ctx)
	if err == nil || !strings.Contains(err.Error(), "is suspended") {
		return fmt.Errorf("a release should be denied because the Deployment is suspended, and had the answer: %w", err)
	}
	return nil
}
