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
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/altershield"
	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/local/operator"
	"github.com/traas-stack/altershield-operator/hack/local/process"
)

const (
	// restFor is how long an idle operator is watched.
	restFor = 30 * time.Second

	idleNamespace, finishedNamespace = "idle", "finished"
)

// runRest measures the resource usage of an idle operator: without objects, with Deployments whose releases are verified,
// with many more of Deployments without pods, and the same with the test server.
func runRest(idle, finished int) measurement {
	return func(ctx context.Context, b *bench, l *lab.Lab) ([]Figure, error) {
		var figures []Figure
		step := func(name string, s setup, added fleet) error {
			if added.count > 0 {
				if _, err := added.create(ctx, l, true); err != nil {
					return err
				}
			}
			some, err := rest(ctx, l, b, name, s)
			figures = append(figures, some...)
			return err
		}
		if err := step(restNothing, setup{batch: 1}, fleet{}); err != nil {
			return nil, err
		}
		if err := step(restIdle, setup{batch: 1}, deploymentsIn(idleNamespace, idle, 1)); err != nil {
			return nil, err
		}
		if err := step(restFinished, setup{batch: 1}, deploymentsIn(finishedNamespace, finished, 0)); err != nil {
			return nil, err
		}
		if err := l.Serve(ctx, altershield.Options{}); err != nil {
			return nil, err
		}
		err := step(restServed, setup{batch: 1, server: true}, fleet{})
		return figures, err
	}
}

// rest watches a manager that was just started and has come to rest.
func rest(ctx context.Context, l *lab.Lab, b *bench, name string, s setup) ([]Figure, error) {
	address, err := s.prepareProfiled(ctx, l, "--leader-elect")
	if err != nil {
		return nil, err
	}
	watched, err := measure(ctx, l, func() (times, error) { return times{}, lab.Pause(ctx, restFor) })
	if err != nil {
		return nil, err
	}
	heap, err := heapOf(ctx, address)
	if err != nil {
		return nil, err
	}
	used, err := l.Operator.Usage()
	if err != nil {
		return nil, err
	}
	writes := map[string]int{}
	for _, namespace := range []string{operator.Namespace, idleNamespace, finishedNamespace} {
		for kind, count := range writesOf(watched.requests, namespace) {
			writes[kind] += count
		}
	}
	delete(writes, "update leases")
	delete(writes, "patch leases")
	b.report.Writes[loadRest+", "+name] = writes
	return restFigures(name, total(writes)+writes["events"], used, watched.used.CPU, heap), nil
}

// restFigures returns the figures of the manager after the rest, and its processor time during it.
func restFigures(name string, writes int, now process.Usage, cpu time.Duration, heap float64) []Figure {
	return []Figure{
		figureOf(loadRest, name, restWrites, "", float64(writes)),
		figureOf(loadRest, name, cpuTime, "ms/s", cpu.Seconds()*1000/restFor.Seconds()),
		figureOf(loadRest, name, "memory of the manager", "MiB", float64(now.Memory)/mebibyte),
		figureOf(loadRest, name, "heap after garbage collection", "MiB", heap/mebibyte),
	}
}

const (
	heapPerObject   = "heap per object in the cache"
	heapPerWorkload = "heap per workload without pods, with its record"
	declaredEnd     = "end of the ControlledKind"
	heapLeft        = "heap left after the end"

	// settleFor is how long a new manager may take to handle the events of all objects.
	settleFor = 10 * time.Second
)

// runDeclaredRest measures the memory that objects of a declared kind take in the cache, and with the records of their releases, beside
// Deployments of the same size.
func runDeclaredRest(cached, released int) measurement {
	return func(ctx context.Context, b *bench, l *lab.Lab) ([]Figure, error) {
		return (&declaredRest{bench: b, lab: l}).run(ctx, cached, released)
	}
}

type declaredRest struct {
	bench *bench
	lab   *lab.Lab
	// address is where the present manager serves its profiles.
	address string
}

func (r *declaredRest) run(ctx context.Context, cached, released int) ([]Figure, error) {
	for namespace, optedIn := range map[string]bool{"others": false, "gadgets": true, "deployments": true} {
		if err := r.lab.Namespace(ctx, namespace, optedIn); err != nil {
			return nil, err
		}
	}
	empty, err := r.heap(ctx, "no objects")
	if err != nil {
		return nil, err
	}
	// The cache holds objects with a version; nothing is recorded of those in a namespace that isn't opted in.
	alone, err := r.added(ctx, cached, func(name string) (client.Object, error) {
		object, err := gadgets().like(padded("others", name))
		if err == nil {
			object.SetLabels(map[string]string{appv1alpha1.LabelVersion: "6a8ff823a5011291b0f02a1d83c2222d"})
		}
		return object, err
	})
	if err != nil {
		return nil, err
	}
	took, err := undeclare(ctx, r.lab)
	if err != nil {
		return nil, err
	}
	if err := lab.Pause(ctx, settleFor); err != nil {
		return nil, err
	}
	ended, err := heapOf(ctx, r.address)
	if err != nil {
		return nil, err
	}
	if err := r.lab.Kube.DeleteAllOf(ctx, gadgets().empty(), client.InNamespace("others")); err != nil {
		return nil, fmt.Errorf("deleting the Gadgets: %w", err)
	}
	if err := declare(ctx, r.lab); err != nil {
		return nil, err
	}
	before, err := r.heap(ctx, "no objects again")
	if err != nil {
		return nil, err
	}
	declared, err := r.added(ctx, released, func(name string) (client.Object, error) { return gadgets().like(padded("gadgets", name)) })
	if err != nil {
		return nil, err
	}
	native, err := r.added(ctx, released, func(name string) (client.Object, error) { return padded("deployments", name), nil })
	if err != nil {
		return nil, err
	}
	return declaredRestFigures(
		[]float64{(alone - empty) / float64(cached), (declared - before) / float64(released), (native - declared) / float64(released)},
		empty, ended, took), nil
}

// added creates a number of objects and returns the heap of a manager that is started then.
func (r *declaredRest) added(ctx context.Context, count int, object func(name string) (client.Object, error)) (float64, error) {
	err := atOnce(ctx, writers, count, func(ctx context.Context, i int) error {
		created, err := object(fmt.Sprintf("app-%d", i))
		if err != nil {
			return err
		}
		return r.lab.Kube.Create(ctx, created)
	})
	if err != nil {
		return 0, fmt.Errorf("creating objects: %w", err)
	}
	return r.heap(ctx, fmt.Sprintf("%d objects more", count))
}

// heap returns the heap of a newly started manager once the control plane is idle.
func (r *declaredRest) heap(ctx context.Context, with string) (float64, error) {
	if err := r.lab.Quiet(ctx); err != nil {
		return 0, err
	}
	address, err := (setup{batch: 1}).prepareProfiled(ctx, r.lab)
	if err != nil {
		return 0, err
	}
	if err := awaitDeclared(ctx, r.lab, "gadgets"); err != nil {
		return 0, err
	}
	if err := lab.Pause(ctx, settleFor); err != nil {
		return 0, err
	}
	r.address = address
	heap, err := heapOf(ctx, address)
	r.bench.logf("%s  %s: heap %.1f MiB", loadDeclaredRest, with, heap/mebibyte)
	return heap, err
}

// declaredRestFigures returns the figures of the bytes that an object takes in the cache, and that a workload of the declared kind and a
// Deployment take with their records.
func declaredRestFigures(perObject []float64, empty, ended float64, took time.Duration) []Figure {
	return []Figure{
		figureOf(loadDeclaredRest, setupDeclared, heapPerObject, "KiB", perObject[0]/1024),
		figureOf(loadDeclaredRest, setupDeclared, declaredEnd, "ms", inMilliseconds(took)),
		figureOf(loadDeclaredRest, setupDeclared, heapLeft, "MiB", (ended-empty)/mebibyte),
		figureOf(loadDeclaredRest, setupDeclared, heapPerWorkload, "KiB", perObject[1]/1024),
		figureOf(loadDeclaredRest, setupDeployments, heapPerWorkload, "KiB", perObject[2]/1024),
	}
}

// padded returns a Deployment whose JSON has 7 KB once it is stored.
func padded(namespace, name string) *appsv1.Deployment {
	deployment := lab.Deployment(namespace, name, 0)
	container := &deployment.Spec.Template.Spec.Containers[0]
	for i := range 64 {
		container.Env = append(container.Env, corev1.EnvVar{Name: fmt.Sprintf("SETTING_%02d", i), Value: name + strings.Repeat(".", 20)})
	}
	return deployment
}
