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
)

// measurement measures the operator in a lab.
type measurement func(context.Context, *testbed) ([]Figure, error)

// load is a load to measure the operator under.
type load struct {
	name string
	// always reports whether it is measured by default.
	always bool
	// nodes is the number of nodes, that of a lab if zero.
	nodes int
	// parts are measured in a lab of their own each.
	parts []measurement
}

// loads returns all loads, the one for smoke tests first.
func loads() []load {
	late := deploymentsIn("", 10, 10)
	late.late = true
	of := func(parts ...measurement) []measurement { return parts }
	return []load{
		{name: "tiny", parts: of(runRolling(deploymentsIn("", 5, 4)))},
		{name: "100x10", always: true, parts: of(runRolling(deploymentsIn("", 100, 10)))},
		{name: "500x10", parts: of(runRolling(deploymentsIn("", 500, 10)))},
		{name: "1x2000", parts: of(runRolling(deploymentsIn("", 1, 2000)))},
		{name: "late", always: true, parts: of(runRolling(late))},
		{name: "admission", always: true, parts: of(runAdmission(deployments()))},
		{name: "verdict", always: true, parts: of(runVerdict)},
		{name: "stuck", always: true, parts: of(runStuck(20))},
		{name: "rest", parts: of(runRest)},
		{name: "growth", nodes: 8, parts: of(runGrowth(1000, 5000, 10_000, 20_000), runOthers(20_000))},
		{name: "scale", nodes: scaleNodes, parts: of(runScale(1000, 3000, 10_000))},
		{name: "plugin", parts: of(runPlugin(deploymentsIn("many", 200, 10), deploymentsIn("big", 1, 5000)))},
		{name: "records", parts: of(runRecords)},
		{name: "declared", parts: of(withGadgets(runDeclared(deploymentsIn("", 50, 10))))},
		{name: "declared-admission", parts: of(withGadgets(runAdmission(deployments(), gadgets())))},
		{name: "declared-rest", parts: of(withGadgets(runDeclaredRest(2000, 1000)))},
	}
}

func names(loads []load) []string {
	var names []string
	for _, load := range loads {
		names = append(names, load.name)
	}
	return names
}

// chooseLoads returns the loads with these names, separated by commas; by default those that are always measured.
func chooseLoads(list string) ([]load, error) {
	wanted := strings.Split(list, ",")
	var chosen []load
	for _, load := range loads() {
		if list == "" && load.always || slices.Contains(wanted, load.name) {
			chosen = append(chosen, load)
		}
	}
	for _, name := range wanted {
		if list != "" && !slices.Contains(names(loads()), name) {
			return nil, fmt.Errorf("unknown load %q, expected one of %s", name, strings.Join(names(loads()), ", "))
		}
	}
	return chosen, nil
}

// goal identifies a figure with an upper limit.
type goal struct{ load, setup, name string }

// goals returns the goals of the project.
func goals() map[goal]float64 {
	return map[goal]float64{
		{"100x10", "batches of 1", "writes per pod"}:                                 3.6,
		{"100x10", "batches of 10", "writes per pod"}:                                1.8,
		{"100x10", "batches of 10, label off", "writes per pod"}:                     0.8,
		{"100x10", "batches of 1, server", "writes per pod"}:                         6.2,
		{"100x10", "batches of 10, server", "writes per pod"}:                        1.8,
		{"100x10", "batches of 1", "roll time / native"}:                             1.7,
		{"100x10", "batches of 10", "roll time / native"}:                            1.4,
		{"100x10", "batches of 10, label off", "roll time / native"}:                 1.15,
		{"100x10", "batches of 1", "verified time / native roll"}:                    1.6,
		{"100x10", "batches of 10", "verified time / native roll"}:                   1.25,
		{"late", "batches of 1", "roll time / native"}:                               1.03,
		{"late", "batches of 10", "roll time / native"}:                              1.03,
		{"100x10", "batches of 1", "CPU of the manager"}:                             6,
		{"100x10", "batches of 10", "CPU of the manager"}:                            4,
		{"100x10", "batches of 1", "peak memory of the manager"}:                     70,
		{"100x10", "batches of 10", "peak memory of the manager"}:                    70,
		{"admission", "1 client, Deployments", addedTo(create)}:                      1.5,
		{"admission", "1 client, Deployments", addedTo(release)}:                     3, // it calls two webhooks
		{"admission", "1 client, Deployments", addedTo(annotate)}:                    0.6,
		{"admission", "8 clients, Deployments", tailOf(create)}:                      2,
		{"admission", "8 clients, Deployments", tailOf(release)}:                     2,
		{"admission", "8 clients, Deployments", tailOf(annotate)}:                    2,
		{"verdict", "idle plane", "verdict to suspension, p50"}:                      10,
		{"verdict", "idle plane", "verdict to suspension, p99"}:                      50,
		{"stuck", "20 at once", "deadline to rollback, p100"}:                        1000,
		{"rest", "no objects", "writes except for the lease"}:                        0,
		{"rest", "1,000 Deployments", "writes except for the lease"}:                 0,
		{"rest", "10,000 more releases", "writes except for the lease"}:              0,
		{"rest", "10,000 more releases, server", "writes except for the lease"}:      0,
		{"growth", "1000 pods", "memory of the manager"}:                             60,
		{"growth", "10000 pods", "memory of the manager"}:                            100,
		{"growth", growthRange, "verified time / native roll"}:                       1.2,
		{"growth", growthRange, "CPU per pod"}:                                       1.2,
		{"growth", growthRange, "heap per pod"}:                                      1.2,
		{"growth", "with other pods", "heap per other pod"}:                          0.05, // the size of a heap varies
		{"plugin", "200 Deployments of 10 pods, 1 of 5000", "list -A"}:               1000,
		{"plugin", "200 Deployments of 10 pods, 1 of 5000", "list -A --all"}:         1000,
		{"plugin", "200 Deployments of 10 pods, 1 of 5000", "status of the big one"}: 1000,
		{"records", "10000 records", "export as CSV"}:                                10_000,
		{"records", "10000 records", "export as HTML"}:                               10_000,
		{"records", "10000 records", "export --verify"}:                              10_000,
		{"declared", "batches of 1, declared kind", "writes per pod / Deployments"}:  1.05,
		{"declared", "batches of 10, declared kind", "writes per pod / Deployments"}: 1.05,
		{"declared-admission", "1 client, declared kind", addedTo(create)}:           4, // it calls two webhooks
		{"declared-admission", "1 client, declared kind", addedTo(release)}:          4,
		{"declared-admission", "1 client, declared kind", addedTo(annotate)}:         2, // there are rules for updates
		{"declared-admission", "1 client, declared kind", webhookCall}:               2,
		{"declared-rest", "declared kind", "heap per object in the cache"}:           4,
		{"declared-rest", "declared kind", "end of the ControlledKind"}:              5000,
		{"declared-rest", "declared kind", "heap left after the end"}:                2, // the queues of the controllers keep room for as many requests
	}
}
