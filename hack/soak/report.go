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
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/traas-stack/altershield-operator/hack/soak/history"
	"github.com/traas-stack/altershield-operator/hack/soak/invariant"
	"github.com/traas-stack/altershield-operator/hack/soak/plan"
)

// report is the result of a soak.
type report struct {
	actions  map[plan.Kind]map[string]int
	releases map[string]int
	results  []named
	// process are the measurements of the managers after each part.
	process [][]invariant.Process
}

func (r *report) violations() int {
	var count int
	for _, result := range r.results {
		count += len(result.Violations)
	}
	return count
}

func (r *report) write(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nACTION\tTIMES\tRESULT")
	total := 0
	for _, kind := range slices.Sorted(maps.Keys(r.actions)) {
		times, came := 0, []string{}
		for _, word := range slices.Sorted(maps.Keys(r.actions[kind])) {
			times += r.actions[kind][word]
			came = append(came, fmt.Sprintf("%d %s", r.actions[kind][word], word))
		}
		total += times
		fmt.Fprintf(table, "%s\t%d\t%s\n", kind, times, strings.Join(came, ", "))
	}
	fmt.Fprintf(table, "all\t%d\t\n", total)
	fmt.Fprintln(table, "\nRELEASES\tCOUNT")
	for _, outcome := range slices.Sorted(maps.Keys(r.releases)) {
		fmt.Fprintf(table, "%s\t%d\n", outcome, r.releases[outcome])
	}
	fmt.Fprintln(table, "\nINVARIANT\tOBSERVED\tVIOLATED")
	for _, result := range r.results {
		fmt.Fprintf(table, "%s\t%d\t%d\n", result.name, result.Observations, len(result.Violations))
	}
	if len(r.process) > 1 {
		fmt.Fprintln(table, "\nMANAGER\tBEFORE\tAFTER")
		for _, last := range r.process[len(r.process)-1] {
			describe(table, last, last.Former(r.process[0]))
		}
	}
	return table.Flush()
}

// describe prints the resource usage of a manager, and the former one of the same process in the same role.
func describe(out io.Writer, now invariant.Process, former *invariant.Process) {
	name, goroutines, heap := now.Name, "-", "-"
	if now.Leads {
		name += ", the leader"
	}
	if former != nil {
		goroutines, heap = strconv.Itoa(former.Goroutines), fmt.Sprintf("%d KiB", former.Heap>>10)
	}
	fmt.Fprintf(out, "%s: goroutines\t%s\t%d\n", name, goroutines, now.Goroutines)
	fmt.Fprintf(out, "%s: heap after a collection\t%s\t%d KiB\n", name, heap, now.Heap>>10)
}

// outcomes counts releases by their final outcome.
func outcomes(writes []history.Write, operator string) map[string]int {
	type release struct {
		workload string
		number   int64
	}
	last := map[release]string{}
	templates := map[string]string{}
	counts := map[string]int{}
	for _, write := range writes {
		if workload := write.Workload; workload != nil && workload.Observed == workload.Release {
			last[release{workload.UID, workload.Release}] = strings.TrimSpace(string(workload.Status) + " " + workload.Verified)
		}
		if next := write.Released; next != nil {
			if old, known := templates[next.UID]; known && old != next.Template && write.User == operator {
				counts["(made by a rollback)"]++
			}
			templates[next.UID] = next.Template
		}
	}
	for _, outcome := range last {
		counts[outcome]++
	}
	return counts
}
