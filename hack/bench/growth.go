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
)

// bigReplicas is the size of the Deployments that a control plane is filled with.
const bigReplicas = 500

// point is a measurement with a number of pods.
type point struct {
	pods int
	// heap is the heap after a garbage collection in bytes.
	heap float64
	// verified is the verified time over the native roll time of the probe, cpu the manager's processor time per pod of it.
	verified, cpu float64
}

// runGrowth measures the same releases with more and more controlled pods, and the memory that these take.
func runGrowth(sizes ...int) measurement {
	return func(ctx context.Context, t *testbed) ([]Figure, error) {
		figures, points, err := t.grow(ctx, append([]int{0}, sizes...), setup{batch: 100}, "%d pods")
		if err != nil {
			return nil, err
		}
		return append(figures, growthFigures(points)...), nil
	}
}

// runOthers measures them with few controlled pods, without and with many others.
func runOthers(controlled, others int) measurement {
	return func(ctx context.Context, t *testbed) ([]Figure, error) {
		if err := t.fill(ctx, filling("few", controlled, setup{batch: 100})); err != nil {
			return nil, err
		}
		figures, points, err := t.grow(ctx, []int{0, others}, setup{}, fmt.Sprintf("%d pods, %%d others", controlled))
		if err != nil {
			return nil, err
		}
		return append(figures, othersFigure(points[0], points[1])), nil
	}
}

// filling returns big Deployments with a number of pods in total.
func filling(namespace string, pods int, s setup) contestant {
	f := deploymentsIn(namespace, pods/bigReplicas, bigReplicas)
	f.free = s.native()
	return contestant{setup: s, fleet: f}
}

// grow adds pods in a setup until there are as many as each of the sizes, and measures a release of other pods each time. The name of a size
// has it in place of %d.
func (t *testbed) grow(ctx context.Context, sizes []int, s setup, name string) (figures []Figure, points []point, err error) {
	all := []contestant{{name: "native", fleet: deploymentsIn("bystander", 20, 10)}, {setup: setup{batch: 10}, fleet: deploymentsIn("probe", 20, 10)}}
	all[0].fleet.free = true
	if err := t.fill(ctx, all...); err != nil {
		return nil, nil, err
	}
	there := 0
	for _, size := range sizes {
		all[1].name = fmt.Sprintf(name, size)
		if err := t.fill(ctx, filling(fmt.Sprintf("filled-%d", size), size-there, s)); err != nil {
			return nil, nil, err
		}
		there = size
		samples, err := t.roll(ctx, all)
		if err != nil {
			return nil, nil, err
		}
		some, at := all[1].point(size, samples[1], samples[0])
		figures, points = append(figures, some...), append(points, at)
	}
	return figures, points, nil
}

// point returns the figures of a release beside a number of pods, and those that are compared.
func (c contestant) point(pods int, rounds, native []sample) ([]Figure, point) {
	last := rounds[len(rounds)-1]
	at := point{
		pods: pods, heap: last.heap, cpu: percentile(values(rounds, c.cpuPerPod), 50),
		verified: ratio(values(rounds, verifiedSeconds), values(native, rolledSeconds)).Median,
	}
	return append(c.figures(rounds, native),
		figureOf(c.name, "memory of the manager", "MiB", float64(last.used.Memory)/mebibyte),
		figureOf(c.name, "heap after garbage collection", "MiB", last.heap/mebibyte),
	), at
}

// growthRange is the setup of comparisons.
const growthRange = "largest / smallest number of pods"

// growthFigures compares the points, the first of which is without pods: the cost of a pod must not grow with their number.
func growthFigures(points []point) []Figure {
	base, first, last := points[0], points[1], points[len(points)-1]
	perPod := func(at point) float64 { return (at.heap - base.heap) / float64(at.pods) }
	return []Figure{
		figureOf(growthRange, "heap per pod, smallest number", "KiB", perPod(first)/1024),
		figureOf(growthRange, "heap per pod, largest number", "KiB", perPod(last)/1024),
		figureOf(growthRange, "heap per pod", "", perPod(last)/perPod(first)),
		figureOf(growthRange, "verified time / native roll", "", last.verified/first.verified),
		figureOf(growthRange, "CPU per pod", "", last.cpu/first.cpu),
	}
}

// othersFigure returns the heap of each of many pods that aren't controlled, which must cost nothing.
func othersFigure(without, with point) Figure {
	return figureOf("with other pods", "heap per other pod", "KiB", (with.heap-without.heap)/float64(with.pods)/1024)
}
