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
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/traas-stack/altershield-operator/hack/altershield"
)

// contestant is a fleet that is rolled out in a setup.
type contestant struct {
	name  string
	setup setup
	fleet fleet
}

// contestants returns a fleet without the operator, in each setup of the operator, and with each peer.
func contestants(size fleet, setups []setup) []contestant {
	var all []contestant
	for _, s := range append([]setup{{}}, setups...) {
		rolled := size
		rolled.namespace = "controlled"
		switch {
		case s.native():
			rolled.namespace, rolled.free = "native", true
		case s.peer != nil:
			rolled.namespace, rolled.free = filepath.Base(s.peer.program), true
			rolled.kind, rolled.patience = s.peer.kind, peerTimeout
		}
		all = append(all, contestant{name: s.String(), setup: s, fleet: rolled})
	}
	return all
}

// runRolling measures the releases of a fleet in all setups.
func runRolling(size fleet) measurement {
	return func(ctx context.Context, t *testbed) ([]Figure, error) {
		if slices.ContainsFunc(t.setups, func(s setup) bool { return s.has(server) }) {
			if err := t.Serve(ctx, altershield.Options{}); err != nil {
				return nil, err
			}
		}
		all := contestants(size, t.setups)
		samples, err := t.fillAndRoll(ctx, all)
		var figures []Figure
		for i := range samples {
			figures = append(figures, all[i].figures(samples[i], samples[0])...)
		}
		return figures, err
	}
}

// runDeclared measures the same releases of Deployments and of a declared kind.
func runDeclared(size fleet) measurement {
	return func(ctx context.Context, t *testbed) ([]Figure, error) {
		var all []contestant
		for _, s := range []setup{{batch: 1}, {batch: 10}} {
			for _, of := range []kind{deployments(), gadgets()} {
				rolled := size
				rolled.kind, rolled.namespace = of, of.namespace()
				all = append(all, contestant{name: s.String() + ", " + of.title, setup: s, fleet: rolled})
			}
		}
		samples, err := t.fillAndRoll(ctx, all)
		if err != nil {
			return nil, err
		}
		var figures []Figure
		for i := range all {
			figures = append(figures, all[i].figures(samples[i], nil)...)
		}
		return append(figures, declaredFigures(figures, all)...), nil
	}
}

// declaredFigures compares the writes for Gadgets with those for Deployments, which are in turn.
func declaredFigures(figures []Figure, all []contestant) []Figure {
	var ratios []Figure
	for i := 0; i < len(all); i += 2 {
		native, declared := median(figures, all[i].name, "writes per pod"), median(figures, all[i+1].name, "writes per pod")
		ratios = append(ratios, figureOf(all[i+1].name, "writes per pod / Deployments", "", declared/native))
	}
	return ratios
}

// fillAndRoll creates the fleets and rolls them out.
func (t *testbed) fillAndRoll(ctx context.Context, all []contestant) ([][]sample, error) {
	if err := t.fill(ctx, all...); err != nil {
		return nil, err
	}
	return t.roll(ctx, all)
}

// fill creates the fleet of each namespace, in big batches.
func (t *testbed) fill(ctx context.Context, all ...contestant) error {
	filled := sets.New[string]()
	for _, c := range all {
		if filled.Has(c.fleet.namespace) || c.fleet.count == 0 {
			continue
		}
		filled.Insert(c.fleet.namespace)
		if c.setup.peer != nil {
			if err := c.setup.peer.install(ctx, t.Lab); err != nil {
				return err
			}
		}
		if c.setup.batch > 0 {
			c.setup = setup{batch: 100}
		}
		if err := t.prepare(ctx, c.setup); err != nil {
			return err
		}
		if err := c.fleet.create(ctx, t.Lab); err != nil {
			return t.failure(err)
		}
	}
	return nil
}

// roll rolls out all fleets, interleaved: each once per round. The first round is dropped.
func (t *testbed) roll(ctx context.Context, all []contestant) ([][]sample, error) {
	samples := make([][]sample, len(all))
	for round := range t.report.Rounds + 1 {
		for i := range all {
			i = turn(i, len(all), round)
			c := all[i]
			if err := t.prepare(ctx, c.setup); err != nil {
				return nil, err
			}
			t.releases++
			note := fmt.Sprintf("release-%d", t.releases)
			one, err := t.measure(ctx, func() (times, error) { return c.fleet.roll(ctx, t.Lab, note) })
			if err != nil {
				return nil, fmt.Errorf("%s, round %d: %w", c.name, round, t.failure(err))
			}
			log.Printf("%s  %s  round %d: rolled %.1f s, verified %.1f s, CPU %.2f s, peak %d MiB, heap %.1f MiB", t.load, c.name, round,
				one.rolled.Seconds(), one.verified.Seconds(), one.used.CPU.Seconds(), one.used.Peak/mebibyte, one.heap/mebibyte)
			if round > 0 {
				samples[i] = append(samples[i], one)
			}
			if c.setup.batch > 0 {
				t.report.Writes[t.load+", "+c.name] = writesOf(one.requests, c.fleet.namespace)
				t.report.Reads[t.load+", "+c.name] = readsOf(one.requests)
			}
		}
	}
	return samples, nil
}

// failure adds the end of the log of the peer, if one is running.
func (t *testbed) failure(err error) error {
	if t.peer == nil {
		return err
	}
	return t.peer.Failure(err)
}

// figures returns the figures of a contestant's rounds, compared with the native rounds of the same load, if there are any.
func (c contestant) figures(rounds, native []sample) []Figure {
	var figures []Figure
	values := func(from []sample, value func(sample) float64) []float64 {
		all := make([]float64, len(from))
		for i := range from {
			all[i] = value(from[i])
		}
		return all
	}
	rolled := func(of sample) float64 { return of.rolled.Seconds() }
	verified := func(of sample) float64 { return of.verified.Seconds() }
	add := func(name, unit string, value func(sample) float64) {
		figures = append(figures, figureOf(c.name, name, unit, values(rounds, value)...))
	}
	compare := func(name string, value func(sample) float64) {
		if native != nil {
			figures = append(figures, Figure{Setup: c.name, Name: name, Summary: ratio(values(rounds, value), values(native, rolled))})
		}
	}
	add("roll time", "s", rolled)
	add("CPU of the control plane", "s", func(of sample) float64 { return of.plane })
	if c.setup.native() {
		return figures
	}
	compare("roll time / native", rolled)
	add("CPU of the manager", "s", func(of sample) float64 { return of.used.CPU.Seconds() })
	add("peak memory of the manager", "MiB", func(of sample) float64 { return float64(of.used.Peak) / mebibyte })
	if c.setup.peer != nil {
		add("rollouts complete", "", func(of sample) float64 { return float64(c.fleet.count - of.missing) })
		return figures
	}
	add("memory of the manager", "MiB", func(of sample) float64 { return float64(of.used.Memory) / mebibyte })
	add("heap after garbage collection", "MiB", func(of sample) float64 { return of.heap / mebibyte })
	add("verified time", "s", verified)
	compare("verified time / native roll", verified)
	perPod := func(name, unit string, value func(sample) float64) {
		add(name, unit, func(of sample) float64 { return value(of) / float64(c.fleet.pods()) })
	}
	writes := func(of sample) map[string]int { return writesOf(of.requests, c.fleet.namespace) }
	perPod("CPU per pod", "ms", func(of sample) float64 { return of.used.CPU.Seconds() * 1000 })
	perPod("writes per pod", "", func(of sample) float64 { return float64(total(writes(of), "")) })
	perPod("conflicts per pod", "", func(of sample) float64 { return float64(total(writes(of), conflict)) })
	perPod("Events per pod", "", func(of sample) float64 { return float64(writes(of)[events]) })
	perPod("GET and LIST per pod", "", func(of sample) float64 { return float64(total(readsOf(of.requests), "")) })
	for _, controller := range []string{"deployment", "pod", "changeworkload", "changepod"} {
		perPod("reconciles per pod, "+controller, "", func(of sample) float64 { return of.reconciles[controller] })
	}
	return figures
}
