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
		l, err := lab.Open(ctx, lab.Options{Manager: b.manager, Config: config})
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
		{name: loadTiny, run: roll(loadTiny, deploymentsIn("", 5, 4))},
		{name: loadHundred, always: true, run: roll(loadHundred, deploymentsIn("", 100, 10))},
		{name: loadFiveHundred, run: roll(loadFiveHundred, deploymentsIn("", 500, 10))},
		{name: loadOne, run: roll(loadOne, deploymentsIn("", 1, 2000))},
		{name: loadLate, always: true, run: roll(loadLate, fleet{kind: deployments(), count: 10, replicas: 10, late: true})},
		{name: loadAdmission, always: true, run: inLab(runAdmission)},
		{name: loadVerdict, always: true, run: inLab(runVerdict)},
		{name: loadStuck, always: true, run: inLab(runStuck(20))},
		{name: loadRest, run: inLab(runRest(1000, 10_000))},
		{name: loadGrowth, run: runGrowth([]int{1000, 5000, 10_000, 20_000})},
		{name: loadScale, run: runScale([]int{1000, 3000, 10_000})},
		{name: loadPlugin, run: inLab(runPlugin(deploymentsIn("", 200, 10), deploymentsIn("", 1, 5000)))},
		{name: loadRecords, run: inLab(runRecords(chains{workloads: 100, releases: 100}))},
		{name: loadDeclared, run: inLab(withGadgets(runDeclared(deploymentsIn("", 50, 10))))},
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

// Names of figures.
const (
	rollTime      = "roll time"
	rollRatio     = "roll time / native"
	verifiedTime  = "verified time"
	verifiedRatio = "verified time / native roll"
	writesPerPod  = "writes per pod"
	cpuTime       = "CPU of the manager"
	peakMemory    = "peak memory of the manager"

	verdictMedian = "verdict to suspension, p50"
	verdictTail   = "verdict to suspension, p99"

	stuckMedian  = "deadline to rollback, p50"
	stuckSlowest = "deadline to rollback, slowest"

	restNothing  = "no objects"
	restIdle     = "1,000 Deployments"
	restFinished = "10,000 more releases"
	restServed   = "10,000 more releases, server"
	restWrites   = "writes except for the lease"

	growthSetup    = "largest / smallest number of pods"
	growthVerified = "verified time / native roll"
	growthCPU      = "CPU per pod"
	growthHeap     = "heap per pod"
	growthMemory   = "memory of the manager"
	othersSetup    = "with other pods"
	othersHeap     = "heap per other pod"

	pluginList    = "list -A"
	pluginListAll = "list -A --all"
	pluginStatus  = "status of the big one"
	pluginHistory = "history of the big one"

	recordsSetup = "10000 records"
	exportCSV    = "export as CSV"
	exportHTML   = "export as HTML"
	exportVerify = "export --verify"
)

// goal is the upper limit of a figure.
type goal struct {
	load, setup, name string
	most              float64
}

func (g goal) is(figure *Figure) bool {
	return g.load == figure.Load && g.setup == figure.Setup && g.name == figure.Name
}

// goals returns the goals of the project for the loads of this benchmark.
func goals() []goal {
	const single, tens, served, servedTens = "batches of 1", "batches of 10", "batches of 1, server", "batches of 10, server"
	const unlabelled = "batches of 10, label off"
	all := []goal{
		{loadHundred, single, writesPerPod, 3.6},
		{loadHundred, tens, writesPerPod, 1.8},
		{loadHundred, unlabelled, writesPerPod, 0.8},
		{loadHundred, served, writesPerPod, 6.2},
		{loadHundred, servedTens, writesPerPod, 1.8},
		{loadHundred, single, rollRatio, 1.7},
		{loadHundred, tens, rollRatio, 1.4},
		{loadHundred, unlabelled, rollRatio, 1.15},
		{loadHundred, single, verifiedRatio, 1.6},
		{loadHundred, tens, verifiedRatio, 1.25},
		{loadLate, single, rollRatio, 1.03},
		{loadLate, tens, rollRatio, 1.03},
		{loadHundred, single, cpuTime, 6},
		{loadHundred, tens, cpuTime, 4},
		{loadHundred, single, peakMemory, 70},
		{loadHundred, tens, peakMemory, 70},
	}
	return slices.Concat(all, otherGoals(), declaredGoals())
}

// declaredGoals returns the goals for declared kinds.
func declaredGoals() []goal {
	const one = "1 client, " + setupDeclared
	return []goal{
		{loadDeclared, "batches of 1, " + setupCompared, writesPerPod, 1.05},
		{loadDeclared, "batches of 10, " + setupCompared, writesPerPod, 1.05},
		{loadDeclaredAdmission, one, addedBy(opCreate), 4}, // it calls two webhooks
		{loadDeclaredAdmission, one, addedBy(opTemplate), 4},
		{loadDeclaredAdmission, one, addedBy(opOther), 2}, // there are rules for updates
		{loadDeclaredAdmission, one, webhookCall, 2},
		{loadDeclaredRest, setupDeclared, heapPerObject, 4},
		{loadDeclaredRest, setupDeclared, declaredEnd, 5000},
		{loadDeclaredRest, setupDeclared, heapLeft, 2}, // the queues of the controllers keep room for as many requests
	}
}

func otherGoals() []goal {
	const one, eight = "1 client", "8 clients"
	return []goal{
		{loadAdmission, one, addedBy(opCreate), 1.5},
		{loadAdmission, one, addedBy(opTemplate), 3}, // it calls two webhooks
		{loadAdmission, one, addedBy(opOther), 0.6},
		{loadAdmission, eight, tailOf(opCreate), 2},
		{loadAdmission, eight, tailOf(opTemplate), 2},
		{loadAdmission, eight, tailOf(opOther), 2},
		{loadVerdict, "idle plane", verdictMedian, 10},
		{loadVerdict, "idle plane", verdictTail, 50},
		{loadStuck, "20 at once", stuckSlowest, 1000},
		{loadRest, restNothing, restWrites, 0},
		{loadRest, restIdle, restWrites, 0},
		{loadRest, restFinished, restWrites, 0},
		{loadRest, restServed, restWrites, 0},
		{loadGrowth, beside(1000), growthMemory, 60},
		{loadGrowth, beside(10_000), growthMemory, 100},
		{loadGrowth, growthSetup, growthVerified, 1.2},
		{loadGrowth, growthSetup, growthCPU, 1.2},
		{loadGrowth, growthSetup, growthHeap, 1.2},
		{loadGrowth, othersSetup, othersHeap, 0.05}, // the size of a heap varies
		{loadPlugin, "200 Deployments of 10 pods, 1 of 5000", pluginList, 1000},
		{loadPlugin, "200 Deployments of 10 pods, 1 of 5000", pluginListAll, 1000},
		{loadPlugin, "200 Deployments of 10 pods, 1 of 5000", pluginStatus, 1000},
		{loadRecords, recordsSetup, exportCSV, 10_000},
		{loadRecords, recordsSetup, exportHTML, 10_000},
		{loadRecords, recordsSetup, exportVerify, 10_000},
	}
}
