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
	"log"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/local/assets"
	"github.com/traas-stack/altershield-operator/hack/local/operator"
)

const (
	// scaleReplicas is the number of pods of each Deployment, scaleReleased the share of the Deployments that are released at once.
	scaleReplicas, scaleReleased = 10, 0.1
	// scaleNodes is enough for the pods of the largest size.
	scaleNodes = 16
	// settledLooks is for how many seconds a manager that has started may reconcile nothing until it counts as settled.
	settledLooks = 5
	// configuredMemory is what config/manager has.
	configuredMemory = "GOMEMLIMIT=900MiB"
)

// runScale measures starts, a take-over and memory of a manager with ever more Deployments at rest, and the release of a tenth of them.
func runScale(sizes ...int) measurement {
	return func(ctx context.Context, t *testbed) ([]Figure, error) {
		var figures []Figure
		there := 0
		for _, size := range sizes {
			added := deploymentsIn(fmt.Sprintf("scale-%d", size), size-there, scaleReplicas)
			there = size
			if err := t.prepare(ctx, setup{batch: 10}); err != nil {
				return nil, err
			}
			if err := added.restore(ctx, t.Lab); err != nil {
				return nil, fmt.Errorf("filling namespace %s: %w", added.namespace, err)
			}
			log.Printf("%d Deployments of %d are at rest", size, scaleReplicas)
			added.count = int(float64(size) * scaleReleased)
			measured, err := t.atScale(ctx, fmt.Sprintf("%d Deployments of %d", size, scaleReplicas), added)
			if err != nil {
				return nil, err
			}
			figures = append(figures, measured...)
		}
		return figures, nil
	}
}

// restore creates Deployments with the ReplicaSets and pods that they would have, as a backup does, and waits until their first releases are
// verified. Without the controllers of Kubernetes in between a pod takes a fraction of the time.
func (f fleet) restore(ctx context.Context, l *lab.Lab) error {
	if err := l.Namespace(ctx, f.namespace, true); err != nil {
		return err
	}
	account := client.ObjectKey{Namespace: f.namespace, Name: "default"}
	err := lab.Until(ctx, time.Minute, "waiting for the service account of pods", func(ctx context.Context) error {
		return l.Kube.Get(ctx, account, &corev1.ServiceAccount{})
	})
	if err != nil {
		return err
	}
	if err := l.Plane.StopPart(ctx, assets.ControllerManager); err != nil {
		return err
	}
	if err := atOnce(ctx, writers, f.count, func(ctx context.Context, i int) error { return f.restoreOne(ctx, l, i) }); err != nil {
		return err
	}
	_, err = f.follow(ctx, l, "first", func(ctx context.Context, i int) error {
		if i > 0 {
			return nil
		}
		return l.Plane.StartPart(ctx, assets.ControllerManager)
	})
	return err
}

// restoreOne creates a Deployment, and what its controllers would create of the template that admission has stamped.
func (f fleet) restoreOne(ctx context.Context, l *lab.Lab, i int) error {
	deployment := lab.Deployment(f.namespace, f.name(i), int32(f.replicas))
	deployment.Spec.Template.Annotations = map[string]string{"note": "first"}
	if err := l.Kube.Create(ctx, deployment); err != nil {
		return err
	}
	set := replicaSetOf(deployment, deployments())
	if err := l.Kube.Create(ctx, set); err != nil {
		return err
	}
	for number := range f.replicas {
		template := set.Spec.Template.DeepCopy()
		pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
		pod.Namespace, pod.Name = set.Namespace, fmt.Sprintf("%s-%d", set.Name, number)
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}
		pod.Spec.NodeName = fmt.Sprintf("node-%d", 1+(i+number)%scaleNodes) // which makes it ready
		if err := l.Kube.Create(ctx, pod); err != nil {
			return err
		}
	}
	return nil
}

// atScale measures the manager with what is there, and releases some Deployments, the present ones of one namespace.
func (t *testbed) atScale(ctx context.Context, name string, released fleet) ([]Figure, error) {
	var figures []Figure
	add := func(setup, what, unit string, value float64) {
		log.Printf("%s, %s: %s %s %s", name, setup, what, number(value), unit)
		figures = append(figures, figureOf(name+", "+setup, what, unit, value))
	}
	for _, environment := range []string{"GOMEMLIMIT=off", configuredMemory} {
		if err := t.StopOperator(ctx); err != nil {
			return nil, err
		}
		began := time.Now()
		err := t.StartOperator(ctx, func(options *operator.Options) {
			options.Args = []string{"--leader-elect", "--pprof-bind-address=" + t.pprof}
			options.Env = []string{environment}
		})
		if err != nil {
			return nil, err
		}
		ready := time.Since(began)
		settled, cpu, err := t.settle(ctx)
		if err != nil {
			return nil, err
		}
		watched, err := t.measure(ctx, func() (times, error) { return times{}, lab.Pause(ctx, restFor) })
		if err != nil {
			return nil, err
		}
		add(environment, "start until ready", "s", ready.Seconds())
		add(environment, "start until everything is reconciled", "s", settled.Sub(began).Seconds())
		add(environment, "processor time of the start", "s", cpu.Seconds())
		add(environment, "processor time at rest", "ms/s", watched.used.CPU.Seconds()*1000/restFor.Seconds())
		add(environment, "heap after garbage collection", "MiB", watched.heap/mebibyte)
		add(environment, "peak memory of the start", "MiB", float64(watched.used.Peak)/mebibyte)
	}
	rolled, err := t.measure(ctx, func() (times, error) { return released.roll(ctx, t.Lab, "second") })
	if err != nil {
		return nil, err
	}
	setup := fmt.Sprintf("%d released, %s", released.count, configuredMemory)
	add(setup, "roll time", "s", rolled.rolled.Seconds())
	add(setup, "verified time", "s", rolled.verified.Seconds())
	add(setup, "CPU per pod", "ms", rolled.used.CPU.Seconds()*1000/float64(released.pods()))
	add(setup, "peak memory of the manager", "MiB", float64(rolled.used.Peak)/mebibyte)
	taken, err := t.takeOver(ctx, released)
	if err != nil {
		return nil, err
	}
	add("the leader is killed", "release until it is verified by the other replica", "s", taken.Seconds())
	return figures, nil
}

// settle returns when the manager had reconciled every object and was idle, and its processor time until then.
func (t *testbed) settle(ctx context.Context) (at time.Time, cpu time.Duration, err error) {
	last := -1.0
	for looks := 0; looks < settledLooks; looks++ {
		if err := lab.Pause(ctx, time.Second); err != nil {
			return at, cpu, err
		}
		read, err := t.readMeters(ctx)
		if err != nil {
			return at, cpu, err
		}
		sum := 0.0
		for _, count := range read.reconciles {
			sum += count
		}
		if sum != last {
			looks, last, at, cpu = 0, sum, time.Now(), read.used.CPU
		}
	}
	return at, cpu, nil
}

// takeOver kills the leader of two replicas and releases a Deployment at once. It returns how long that took to be verified.
func (t *testbed) takeOver(ctx context.Context, among fleet) (time.Duration, error) {
	if err := t.StartReplicas(ctx, []string{"leader", "other"}); err != nil {
		return 0, err
	}
	if err := lab.Pause(ctx, restFor); err != nil {
		return 0, err
	}
	if err := t.Replicas[0].Kill(ctx); err != nil {
		return 0, err
	}
	took, err := deploymentsIn(among.namespace, 1, among.replicas).roll(ctx, t.Lab, "third")
	return took.verified, err
}
