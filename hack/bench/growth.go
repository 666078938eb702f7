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

	"github.com/traas-stack/altershield-operator/hack/lab"
)

const (
	// bigReplicas is the size of the Deployments that a control plane is filled with.
	bigReplicas = 500
	// growthBatch is the size of batches during this load.
	growthBatch = 10
)

// point is a measurement with a number of pods.
type point struct {
	// pods are controlled, others are not.
	pods, others int
	// heap is the heap after a garbage collection, memory the resident memory of the process, in bytes.
	heap, memory float64
	// perPod is the verified time over the native roll time of the probe, cpu the manager's processor time per pod of it in milliseconds.
	perPod, cpu Summary
}

// runGrowth measures the same releases with more and more pods, and the memory that these take.
func runGrowth(sizes []int) func(context.Context, *bench) ([]Figure, error) {
	return func(ctx context.Context, b *bench) ([]Figure, error) {
		controlled, err := grow(ctx, b, sizes, true)
		if err != nil {
			return nil, err
		}
		// One thousand controlled pods with all the others.
		others, err := grow(ctx, b, []int{0, sizes[len(sizes)-1]}, false)
		if err != nil {
			return nil, err
		}
		return growthFigures(controlled, others), nil
	}
}

// grow fills a lab of its own size by size, with controlled pods or with others, and probes it each time. The first point with
// controlled pods is the one without any.
func grow(ctx context.Context, b *bench, sizes []int, controlled bool) ([]point, error) {
	l, err := lab.Open(ctx, lab.Options{Manager: b.manager, Config: config, Nodes: 8})
	if err != nil {
		return nil, err
	}
	defer func() { b.closed(l.Close(ctx)) }()
	probe := deploymentsIn("probe", 20, 10)
	bystander := deploymentsIn("bystander", 20, 10)
	if err := (rolling{}).fill(ctx, l, bystander, probe); err != nil {
		return nil, err
	}
	if controlled {
		sizes = append([]int{0}, sizes...)
	} else if err := fill(ctx, l, "controlled", 1000, true); err != nil {
		return nil, err
	}
	var points []point
	there := 0
	for _, size := range sizes {
		if err := fill(ctx, l, fmt.Sprintf("filled-%d", size), size-there, controlled); err != nil {
			return nil, err
		}
		there = size
		at, err := measurePoint(ctx, b, l, probe, bystander)
		if err != nil {
			return nil, err
		}
		at.pods, at.others = size, 0
		if !controlled {
			at.pods, at.others = 1000, size
		}
		b.logf("%d controlled pods, %d others: heap %.1f MiB, memory %.1f MiB, verified %.2f x native, CPU %.2f ms per pod",
			at.pods, at.others, at.heap/mebibyte, at.memory/mebibyte, at.perPod.Median, at.cpu.Median)
		points = append(points, at)
	}
	return points, nil
}

// fill creates big Deployments with the given number of pods in total.
func fill(ctx context.Context, l *lab.Lab, namespace string, pods int, controlled bool) error {
	if pods == 0 {
		return nil
	}
	s := setup{}
	if controlled {
		s.batch = 100
	}
	if err := s.prepare(ctx, l); err != nil {
		return err
	}
	_, err := deploymentsIn(namespace, pods/bigReplicas, bigReplicas).create(ctx, l, controlled)
	return err
}

// measurePoint rolls out the probe and reads the memory.
func measurePoint(ctx context.Context, b *bench, l *lab.Lab, probe, bystander fleet) (point, error) {
	address, err := pprofAddress()
	if err != nil {
		return point{}, err
	}
	var native, verified, cpu []float64
	for round := range b.report.Rounds + 1 {
		note := fmt.Sprintf("round-%d", round)
		if position, err := l.Position(); err == nil {
			note = fmt.Sprintf("at-%d", position)
		}
		if err := (setup{}).prepare(ctx, l); err != nil {
			return point{}, err
		}
		without, err := measure(ctx, l, func() (times, error) { return bystander.roll(ctx, l, false, note) })
		if err != nil {
			return point{}, err
		}
		if err := (setup{batch: growthBatch}).prepare(ctx, l, "--pprof-bind-address="+address); err != nil {
			return point{}, err
		}
		with, err := measure(ctx, l, func() (times, error) { return probe.roll(ctx, l, true, note) })
		if err != nil {
			return point{}, err
		}
		if round == 0 {
			continue
		}
		native = append(native, without.rolled.Seconds())
		verified = append(verified, with.verified.Seconds())
		cpu = append(cpu, with.used.CPU.Seconds()*1000/float64(probe.pods()))
	}
	heap, err := heapOf(ctx, address)
	if err != nil {
		return point{}, err
	}
	used, err := l.Operator.Usage()
	if err != nil {
		return point{}, err
	}
	return point{heap: heap, memory: float64(used.Memory), perPod: ratio(verified, native), cpu: summarize(cpu)}, nil
}

// growthFigures compares the points: the cost of a pod must not grow with their number, and other pods must cost nothing. The first
// point of controlled is without pods, the first of others without others.
func growthFigures(controlled, others []point) []Figure {
	var figures []Figure
	add := func(setup, name, unit string, value float64) {
		figures = append(figures, figureOf(loadGrowth, setup, name, unit, value))
	}
	addPoint := func(setup string, at point) {
		figures = append(figures, Figure{Load: loadGrowth, Setup: setup, Name: growthVerified, Summary: at.perPod},
			Figure{Load: loadGrowth, Setup: setup, Name: growthCPU, Unit: "ms", Summary: at.cpu})
		add(setup, growthMemory, "MiB", at.memory/mebibyte)
		add(setup, "heap after garbage collection", "MiB", at.heap/mebibyte)
	}
	for _, at := range controlled {
		addPoint(beside(at.pods), at)
	}
	for _, at := range others {
		addPoint(fmt.Sprintf("%s, %d others", beside(at.pods), at.others), at)
	}
	base, first, last := controlled[0], controlled[1], controlled[len(controlled)-1]
	perPod := func(at point) float64 { return (at.heap - base.heap) / float64(at.pods) }
	add(growthSetup, "heap per pod, smallest number", "KiB", perPod(first)/1024)
	add(growthSetup, "heap per pod, largest number", "KiB", perPod(last)/1024)
	add(growthSetup, growthHeap, "", perPod(last)/perPod(first))
	add(growthSetup, growthVerified, "", last.perPod.Median/first.perPod.Median)
	add(growthSetup, growthCPU, "", last.cpu.Median/first.cpu.Median)
	alone, crowded := others[0], others[len(others)-1]
	add(othersSetup, othersHeap, "KiB", (crowded.heap-alone.heap)/float64(crowded.others)/1024)
	return figures
}

func beside(pods int) string { return fmt.Sprintf("%d pods", pods) }
