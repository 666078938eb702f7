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

	"github.com/traas-stack/altershield-operator/hack/lab"
)

// Setups of the loads with a declared kind.
const (
	setupDeployments = "Deployments"
	setupDeclared    = "declared kind"
	setupCompared    = "declared kind / Deployments"
)

// declaredSetup names a setup with one of the kinds, or their comparison.
func declaredSetup(s setup, kind string) string { return s.String() + ", " + kind }

// withGadgets measures a load with the declared kind and its controller.
func withGadgets(run measurement) measurement {
	return func(ctx context.Context, b *bench, l *lab.Lab) ([]Figure, error) {
		if err := (setup{batch: 100}).prepare(ctx, l); err != nil { // which installs the CRD of ControlledKinds
			return nil, err
		}
		if err := declare(ctx, l); err != nil {
			return nil, err
		}
		stop, err := startStandIn(ctx, l)
		if err != nil {
			return nil, err
		}
		figures, err := run(ctx, b, l)
		return figures, errors.Join(err, stop())
	}
}

// runDeclared measures the same releases of Deployments and of a declared kind.
func runDeclared(size fleet) measurement {
	return func(ctx context.Context, b *bench, l *lab.Lab) (figures []Figure, err error) {
		fleets := []fleet{size, size}
		fleets[0].namespace, fleets[1].namespace, fleets[1].kind = "deployments", "gadgets", gadgets()
		for _, f := range fleets {
			if _, err := f.create(ctx, l, true); err != nil {
				return nil, err
			}
		}
		for _, s := range []setup{{batch: 1}, {batch: 10}} {
			some, err := releaseBoth(ctx, b, l, s, fleets)
			if err != nil {
				return nil, err
			}
			figures = append(figures, some...)
		}
		return figures, nil
	}
}

// releaseBoth releases both fleets in turn. The first round is dropped.
func releaseBoth(ctx context.Context, b *bench, l *lab.Lab, s setup, fleets []fleet) ([]Figure, error) {
	samples := make([][]sample, len(fleets))
	for round := range b.report.Rounds + 1 {
		for _, i := range order(len(fleets), round) {
			rolled := fleets[i]
			if err := s.prepare(ctx, l, b.managerArgs()...); err != nil {
				return nil, err
			}
			if err := awaitDeclared(ctx, l, rolled.namespace); err != nil {
				return nil, err
			}
			note := fmt.Sprintf("batch-%d-round-%d", s.batch, round)
			one, err := measure(ctx, l, func() (times, error) { return rolled.roll(ctx, l, true, note) })
			if err != nil {
				return nil, fmt.Errorf("%s, %s, round %d: %w", s, rolled.namespace, round, err)
			}
			b.logf("%s  %s  %s  round %d: rolled %.1f s, verified %.1f s, CPU %.2f s",
				loadDeclared, s, rolled.namespace, round, one.rolled.Seconds(), one.verified.Seconds(), one.used.CPU.Seconds())
			if round > 0 {
				samples[i] = append(samples[i], one)
			}
			b.report.Writes[loadDeclared+", "+s.String()+", "+rolled.namespace] = declaredWrites(one, rolled)
			b.report.Reads[loadDeclared+", "+s.String()+", "+rolled.namespace] = readsOf(one.requests)
		}
	}
	return declaredFigures(s, fleets, samples), nil
}

// declaredWrites counts the writes of a release to its namespace, and those to the ControlledKinds.
func declaredWrites(of sample, rolled fleet) map[string]int {
	counts := writesOf(of.requests, rolled.namespace)
	for kind, count := range writesOf(of.requests, "") {
		counts[kind] += count
	}
	return counts
}

// declaredFigures compares the samples of Deployments and of the declared kind, in this order.
func declaredFigures(s setup, fleets []fleet, samples [][]sample) []Figure {
	measured := []struct {
		name, unit string
		value      func(sample, fleet) float64
	}{
		{writesPerPod, "", func(of sample, rolled fleet) float64 {
			return float64(total(declaredWrites(of, rolled))) / float64(rolled.pods())
		}},
		{"writes per release", "", func(of sample, rolled fleet) float64 {
			return float64(total(declaredWrites(of, rolled))) / float64(rolled.count)
		}},
		{"GET and LIST per pod", "", func(of sample, rolled fleet) float64 {
			return float64(total(readsOf(of.requests))) / float64(rolled.pods())
		}},
		{rollTime, "s", func(of sample, _ fleet) float64 { return of.rolled.Seconds() }},
		{verifiedTime, "s", func(of sample, _ fleet) float64 { return of.verified.Seconds() }},
		{cpuTime, "s", func(of sample, _ fleet) float64 { return of.used.CPU.Seconds() }},
	}
	var figures []Figure
	for _, what := range measured {
		values := make([][]float64, len(fleets))
		for i, kind := range []string{setupDeployments, setupDeclared} {
			for _, one := range samples[i] {
				values[i] = append(values[i], what.value(one, fleets[i]))
			}
			figures = append(figures, figureOf(loadDeclared, declaredSetup(s, kind), what.name, what.unit, values[i]...))
		}
		figures = append(figures, Figure{
			Load: loadDeclared, Setup: declaredSetup(s, setupCompared), Name: what.name, Summary: ratio(values[1], values[0]),
		})
	}
	return figures
}

// runDeclaredAdmission measures how long writes of Deployments and of a declared kind take, with and without webhooks.
func runDeclaredAdmission(ctx context.Context, b *bench, l *lab.Lab) (figures []Figure, err error) {
	if err := (setup{batch: 1}).prepare(ctx, l, b.managerArgs()...); err != nil {
		return nil, err
	}
	if err := l.Namespace(ctx, "probe", true); err != nil {
		return nil, err
	}
	if err := awaitDeclared(ctx, l, "probe"); err != nil {
		return nil, err
	}
	for _, who := range []clients{{count: 1, groups: 3, group: 20}, {count: 8, groups: 3, group: 160}} {
		took, err := who.run(ctx, l, deployments(), gadgets())
		if err != nil {
			return nil, err
		}
		figures = append(figures, admittedFigures(who, took[0], took[1])...)
	}
	return figures, nil
}

// admittedFigures compares writes of a declared kind with those of Deployments.
func admittedFigures(who clients, deployments, declared admitted) []Figure {
	name := func(kind string) string { return who.String() + ", " + kind }
	figures := deployments.figures(loadDeclaredAdmission, name(setupDeployments))
	figures = append(figures, declared.figures(loadDeclaredAdmission, name(setupDeclared))...)
	compare := func(what string, percent float64) {
		for _, operation := range operations() {
			figures = append(figures, Figure{
				Load: loadDeclaredAdmission, Setup: name(setupCompared), Name: operation + ": " + what + " with webhooks",
				Summary: ratio([]float64{percentile(declared.with[operation], percent)}, []float64{percentile(deployments.with[operation], percent)}),
			})
		}
	}
	compare("p50", 50)
	compare("p99", 99)
	return figures
}
