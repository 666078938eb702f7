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
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/lab"
)

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
		object, err := gadget(padded("others", name))
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
	if err := r.lab.Kube.DeleteAllOf(ctx, newGadget(), client.InNamespace("others")); err != nil {
		return nil, fmt.Errorf("deleting the Gadgets: %w", err)
	}
	if err := declare(ctx, r.lab); err != nil {
		return nil, err
	}
	before, err := r.heap(ctx, "no objects again")
	if err != nil {
		return nil, err
	}
	declared, err := r.added(ctx, released, func(name string) (client.Object, error) { return gadget(padded("gadgets", name)) })
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
	err := atOnce(ctx, count, func(ctx context.Context, i int) error {
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
