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
	"log"
	"maps"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/altershield"
	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/local/operator"
)

// restFor is how long an idle operator is watched.
const restFor = 30 * time.Second

// runRest measures the resource usage of an idle operator: without objects, with Deployments whose releases are verified,
// with many more of Deployments without pods, and the same with the test server.
func runRest(ctx context.Context, t *testbed) ([]Figure, error) {
	if err := t.Serve(ctx, altershield.Options{}); err != nil {
		return nil, err
	}
	var figures []Figure
	for _, step := range []struct {
		name    string
		options []string
		added   fleet
	}{
		{name: "no objects", options: []string{elected}},
		{name: "1,000 Deployments", options: []string{elected}, added: deploymentsIn("idle", 1000, 1)},
		{name: "10,000 more releases", options: []string{elected}, added: deploymentsIn("finished", 10_000, 0)},
		{name: "10,000 more releases, server", options: []string{elected, server}},
	} {
		if step.added.count > 0 {
			if err := step.added.create(ctx, t.Lab); err != nil {
				return nil, err
			}
		}
		if err := t.prepare(ctx, setup{batch: 1, options: step.options}); err != nil {
			return nil, err
		}
		watched, err := t.measure(ctx, func() (times, error) { return times{}, lab.Pause(ctx, restFor) })
		if err != nil {
			return nil, err
		}
		t.report.Writes[t.load+", "+step.name] = restWritesOf(watched)
		figures = append(figures, restFigures(step.name, watched)...)
	}
	return figures, nil
}

// restWritesOf counts the writes, Events among them, but for those of the lease.
func restWritesOf(watched sample) map[string]int {
	writes := writesOf(watched.requests, operator.Namespace, "idle", "finished")
	maps.DeleteFunc(writes, func(kind string, _ int) bool { return strings.HasSuffix(kind, " leases") })
	return writes
}

// restFigures returns the figures of the manager during a rest.
func restFigures(name string, watched sample) []Figure {
	writes := restWritesOf(watched)
	return []Figure{
		figureOf(name, "writes except for the lease", "", float64(total(writes, "")+writes[events])),
		figureOf(name, "CPU of the manager", "ms/s", watched.used.CPU.Seconds()*1000/restFor.Seconds()),
		figureOf(name, "memory of the manager", "MiB", float64(watched.used.Memory)/mebibyte),
		figureOf(name, "heap after garbage collection", "MiB", watched.heap/mebibyte),
	}
}

// settleFor is how long a new manager may take to handle the events of all objects.
const settleFor = 10 * time.Second

// runDeclaredRest measures the memory that objects of a declared kind take in the cache, and with the records of their releases, beside
// Deployments of the same size.
func runDeclaredRest(cached, released int) measurement {
	return func(ctx context.Context, t *testbed) ([]Figure, error) {
		var took time.Duration
		var heaps []float64
		for _, step := range []func() error{
			func() error { return t.Namespace(ctx, "others", false) },
			// The cache holds objects with a version; nothing is recorded of those in a namespace that isn't opted in.
			func() error { return t.createPadded(ctx, gadgets(), "others", cached) },
			func() (err error) { took, err = t.undeclare(ctx); return err },
			func() error {
				return errors.Join(t.Kube.DeleteAllOf(ctx, gadgets().empty(), client.InNamespace("others")), t.declare(ctx))
			},
			func() error {
				return errors.Join(t.Namespace(ctx, "gadgets", true), t.createPadded(ctx, gadgets(), "gadgets", released))
			},
			func() error {
				return errors.Join(t.Namespace(ctx, "deployments", true), t.createPadded(ctx, deployments(), "deployments", released))
			},
		} {
			if err := step(); err != nil {
				return nil, err
			}
			heap, err := t.heapAtRest(ctx, t.declared) // the manager that has ended the kind goes on
			if err != nil {
				return nil, err
			}
			log.Printf("%s  heap %.1f MiB", t.load, heap/mebibyte)
			heaps = append(heaps, heap)
		}
		return declaredRestFigures(heaps, cached, released, took), nil
	}
}

// createPadded creates a number of workloads of 7 KB.
func (t *testbed) createPadded(ctx context.Context, of kind, namespace string, count int) error {
	return atOnce(ctx, writers, count, func(ctx context.Context, i int) error {
		return of.create(ctx, t.Kube, padded(namespace, fmt.Sprintf("app-%d", i)))
	})
}

// heapAtRest returns the heap of the manager, or of a new one, once the control plane is idle and events are handled.
func (t *testbed) heapAtRest(ctx context.Context, renew bool) (float64, error) {
	if err := t.Quiet(ctx); err != nil {
		return 0, err
	}
	if renew {
		if err := t.prepare(ctx, setup{batch: 1}); err != nil {
			return 0, err
		}
	}
	if err := lab.Pause(ctx, settleFor); err != nil {
		return 0, err
	}
	return t.heap(ctx)
}

// declaredRestFigures returns the figures of the heaps without objects, with those in the cache, after the end of their kind, and without and
// with workloads of the declared kind and Deployments.
func declaredRestFigures(heaps []float64, cached, released int, took time.Duration) []Figure {
	added := func(i, count int) float64 { return (heaps[i] - heaps[i-1]) / 1024 / float64(count) }
	declared, native := gadgets().title, deployments().title
	return []Figure{
		figureOf(declared, "heap per object in the cache", "KiB", added(1, cached)),
		figureOf(declared, "end of the ControlledKind", "ms", inMilliseconds(took)),
		figureOf(declared, "heap left after the end", "MiB", (heaps[2]-heaps[0])/mebibyte),
		figureOf(declared, "heap per workload without pods, with its record", "KiB", added(4, released)),
		figureOf(native, "heap per workload without pods, with its record", "KiB", added(5, released)),
	}
}

// padded returns a Deployment with a version, whose JSON has 7 KB once it is stored.
func padded(namespace, name string) *appsv1.Deployment {
	deployment := lab.Deployment(namespace, name, 0)
	deployment.Labels = map[string]string{"app": name, appv1alpha1.LabelVersion: "6a8ff823a5011291b0f02a1d83c2222d"} // unlike its pods
	container := &deployment.Spec.Template.Spec.Containers[0]
	for i := range 64 {
		container.Env = append(container.Env, corev1.EnvVar{Name: fmt.Sprintf("SETTING_%02d", i), Value: name + strings.Repeat(".", 20)})
	}
	return deployment
}

// bigReplicas is the size of the Deployments that a control plane is filled with.
const bigReplicas = 500

// runGrowth measures the same releases with more and more controlled pods, and the memory that these take.
func runGrowth(sizes ...int) measurement {
	return func(ctx context.Context, t *testbed) ([]Figure, error) {
		figures, err := t.grow(ctx, append([]int{0}, sizes...), setup{batch: 100}, besidePods)
		if err != nil {
			return nil, err
		}
		return append(figures, growthFigures(figures, sizes[0], sizes[len(sizes)-1])...), nil
	}
}

// runOthers measures them with a thousand controlled pods, without and with many others.
func runOthers(others int) measurement {
	return func(ctx context.Context, t *testbed) ([]Figure, error) {
		if err := t.fill(ctx, filling("few", 1000, setup{batch: 100})); err != nil {
			return nil, err
		}
		figures, err := t.grow(ctx, []int{0, others}, setup{}, besideOthers)
		if err != nil {
			return nil, err
		}
		return append(figures, othersFigure(figures, others)), nil
	}
}

// filling returns big Deployments with a number of pods in total.
func filling(namespace string, pods int, s setup) contestant {
	f := deploymentsIn(namespace, pods/bigReplicas, bigReplicas)
	f.free = s.native()
	return contestant{setup: s, fleet: f}
}

func besidePods(pods int) string   { return fmt.Sprintf("%d pods", pods) }
func besideOthers(pods int) string { return fmt.Sprintf("1000 pods, %d others", pods) }

// grow adds pods in a setup until there are as many as each of the sizes, and measures a release of other pods each time.
func (t *testbed) grow(ctx context.Context, sizes []int, s setup, name func(pods int) string) (figures []Figure, err error) {
	all := []contestant{{name: "native", fleet: deploymentsIn("bystander", 20, 10)}, {setup: setup{batch: 10}, fleet: deploymentsIn("probe", 20, 10)}}
	all[0].fleet.free = true
	if err := t.fill(ctx, all...); err != nil {
		return nil, err
	}
	there := 0
	for _, size := range sizes {
		all[1].name = name(size)
		if err := t.fill(ctx, filling(fmt.Sprintf("filled-%d", size), size-there, s)); err != nil {
			return nil, err
		}
		there = size
		samples, err := t.roll(ctx, all)
		if err != nil {
			return nil, err
		}
		figures = append(figures, all[1].figures(samples[1], samples[0])...)
	}
	return figures, nil
}

// growthRange is the setup of comparisons.
const growthRange = "largest / smallest number of pods"

// growthFigures compares a release beside the largest number of pods with one beside the smallest: the cost of a pod must not grow.
func growthFigures(figures []Figure, smallest, largest int) []Figure {
	compared := func(name string) Figure {
		return figureOf(growthRange, name, "", median(figures, besidePods(largest), name)/median(figures, besidePods(smallest), name))
	}
	heap := func(pods int) float64 { return median(figures, besidePods(pods), "heap after garbage collection") }
	perPod := func(pods int) float64 { return (heap(pods) - heap(0)) / float64(pods) }
	return []Figure{
		figureOf(growthRange, "heap per pod, smallest number", "KiB", perPod(smallest)*1024),
		figureOf(growthRange, "heap per pod, largest number", "KiB", perPod(largest)*1024),
		figureOf(growthRange, "heap per pod", "", perPod(largest)/perPod(smallest)),
		compared("verified time / native roll"),
		compared("CPU per pod"),
	}
}

// othersFigure returns the heap of each of many pods that aren't controlled, which must cost nothing.
func othersFigure(figures []Figure, others int) Figure {
	heap := func(pods int) float64 { return median(figures, besideOthers(pods), "heap after garbage collection") }
	return figureOf("with other pods", "heap per other pod", "KiB", (heap(others)-heap(0))*1024/float64(others))
}
