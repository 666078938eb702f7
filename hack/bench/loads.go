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
	"slices"
	"strings"

	"github.com/traas-stack/altershield-operator/hack/lab"
)

// Names of loads.
const (
	loadTiny        = "tiny"
	loadHundred     = "100x10"
	loadFiveHundred = "500x10"
	loadOne         = "1x2000"
	loadLate        = "late"
	loadAdmission   = "admission"
	loadVerdict     = "verdict"
	loadStuck       = "stuck"
	loadRest        = "rest"
	loadGrowth      = "growth"
	loadScale       = "scale"
	loadPlugin      = "plugin"
	loadRecords     = "records"

	loadDeclared          = "declared"
	loadDeclaredAdmission = "declared-admission"
	loadDeclaredRest      = "declared-rest"
)

// measurement measures the operator in a lab.
type measurement func(context.Context, *bench, *lab.Lab) ([]Figure, error)

// inLab returns a load that is measured in a lab of its own.
func inLab(run measurement) func(context.Context, *bench) ([]Figure, error) {
	return func(ctx context.Context, b *bench) ([]Figure, error) {
		l, err := lab.Open(ctx, lab.Options{Manager: b.manager, Config: b.config})
		if err != nil {
			return nil, err
		}
		defer func() { b.closed(l.Close(ctx)) }()
		return run(ctx, b, l)
	}
}

// load is a load to measure the operator under.
type load struct {
	name string
	// always reports whether it is measured by default.
	always bool
	run    func(context.Context, *bench) ([]Figure, error)
}

// loads returns all loads, the one for smoke tests first.
func loads() []load {
	roll := func(name string, rolled fleet) func(context.Context, *bench) ([]Figure, error) {
		return inLab(func(ctx context.Context, b *bench, l *lab.Lab) ([]Figure, error) {
			return rolling{name: name, fleet: rolled, setups: b.setups, rounds: b.report.Rounds}.run(ctx, b, l)
		})
	}
	return []load{
		{name: loadTiny, run: roll(loadTiny, fleet{deployments: 5, replicas: 4})},
		{name: loadHundred, always: true, run: roll(loadHundred, fleet{deployments: 100, replicas: 10})},
		{name: loadFiveHundred, run: roll(loadFiveHundred, fleet{deployments: 500, replicas: 10})},
		{name: loadOne, run: roll(loadOne, fleet{deployments: 1, replicas: 2000})},
		{name: loadLate, always: true, run: roll(loadLate, fleet{deployments: 10, replicas: 10, late: true})},
		{name: loadAdmission, always: true, run: inLab(runAdmission)},
		{name: loadVerdict, always: true, run: inLab(runVerdict)},
		{name: loadStuck, always: true, run: inLab(runStuck(20))},
		{name: loadRest, run: inLab(runRest(1000, 10_000))},
		{name: loadGrowth, run: runGrowth([]int{1000, 5000, 10_000, 20_000})},
		{name: loadScale, run: runScale([]int{1000, 3000, 10_000})},
		{name: loadPlugin, run: inLab(runPlugin(fleet{deployments: 200, replicas: 10}, fleet{deployments: 1, replicas: 5000}))},
		{name: loadRecords, run: inLab(runRecords(chains{workloads: 100, releases: 100}))},
		{name: loadDeclared, run: inLab(withGadgets(runDeclared(fleet{deployments: 50, replicas: 10})))},
		{name: loadDeclaredAdmission, run: inLab(withGadgets(runDeclaredAdmission))},
		{name: loadDeclaredRest, run: inLab(withGadgets(runDeclaredRest(2000, 1000)))},
	}
}

func loadNames() []string {
	var names []string
	for _, load := range loads() {
		names = append(names, load.name)
	}
	return names
}

// chooseLoads returns the loads with these names, separated by commas; by default those that are always measured.
func chooseLoads(names string) ([]load, error) {
	wanted := strings.Split(names, ",")
	var chosen []load
	for _, load := range loads() {
		if names == "" && load.always || slices.Contains(wanted, load.name) {
			chosen = append(chosen, load)
		}
	}
	for _, name := range wanted {
		if names != "" && !slices.Contains(loadNames(), name) {
			return nil, fmt.Errorf("unknown load %q, expected one of %s", name, strings.Join(loadNames(), ", "))
		}
	}
	return chosen, nil
}
