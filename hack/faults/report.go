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
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/traas-stack/altershield-operator/hack/faults/proxy"
	"github.com/traas-stack/altershield-operator/hack/lab"
)

// all is the row, and the column, of the totals.
const all = "all"

// tally counts the plans in a cell of the table.
type tally struct{ tried, failed, notReached, again int }

// count returns the tally of a scenario and a class.
func count(results []result, scenario, class string) (t tally) {
	for _, tried := range results {
		if scenario != all && scenario != tried.Plan.scenario || class != all && class != tried.Class {
			continue
		}
		if tried.Reached {
			t.tried++
		} else {
			t.notReached++
		}
		if len(tried.Differences) > 0 {
			t.failed++
		}
		if tried.Again {
			t.again++
		}
	}
	return t
}

func (t tally) String() string {
	switch {
	case t.notReached > 0:
		return fmt.Sprintf("%d/%d (+%d)", t.tried, t.failed, t.notReached)
	case t.tried > 0:
		return fmt.Sprintf("%d/%d", t.tried, t.failed)
	}
	return "-"
}

// classes returns the kinds of faults, which are columns of the table.
func classes() []string {
	var names []string
	for _, mode := range proxy.Modes() {
		names = append(names, string(mode))
	}
	for _, view := range proxy.Views() {
		names = append(names, string(view))
	}
	return append(names, classTrouble)
}

// table prints how many plans were run and how many failed.
func table(out io.Writer, results []result) error {
	columns := append(classes(), all)
	writer := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(writer, "tried/failed\t"+strings.Join(columns, "\t"))
	for _, scenario := range append(scenarios(), scenario{name: all}) {
		fmt.Fprint(writer, scenario.name)
		for _, class := range columns {
			fmt.Fprintf(writer, "\t%s", count(results, scenario.name, class))
		}
		fmt.Fprintln(writer)
	}
	return writer.Flush()
}

// shown is how many differences of a run are printed; the file has all of them.
const shown = 12

func showDifferences(out io.Writer, differences []string) {
	for _, difference := range differences[:min(len(differences), shown)] {
		fmt.Fprintf(out, "    %s\n", difference)
	}
	if more := len(differences) - shown; more > 0 {
		fmt.Fprintf(out, "    and %d more\n", more)
	}
}

// checkLog copies the manager's log to the results. It returns an error if the manager has crashed.
func (h *half) checkLog(path string) error {
	kept := strings.TrimSuffix(h.opts.out, ".json")
	if h.checked {
		kept += "-server"
	}
	_, crashes, err := lab.KeepLog(path, kept+".log")
	if len(crashes) > 0 {
		return fmt.Errorf("the manager crashed %d times: %s", len(crashes), crashes[0])
	}
	return err
}

// report prints the table and writes the file. It returns an error if a run ended differently from an undisturbed one.
func report(out io.Writer, file string, results []result, took time.Duration) error {
	slices.SortFunc(results, func(a, b result) int { return cmp.Compare(a.Plan.String(), b.Plan.String()) })
	fmt.Fprintln(out)
	if err := table(out, results); err != nil {
		return fmt.Errorf("printing the table: %w", err)
	}
	total := count(results, all, all)
	fmt.Fprintf(out, "\n%d faults were injected, %d were not (their write didn't occur), %d runs ended differently from an undisturbed one. %d plans were repeated alone. %s in total.\n",
		total.tried, total.notReached, total.failed, total.again, took.Round(time.Second))
	for _, tried := range results {
		if len(tried.Differences) > 0 {
			fmt.Fprintf(out, "\n%s\n", tried.Plan)
			showDifferences(out, tried.Differences)
			fmt.Fprintf(out, "    repeat it with: make faults FAULTS_ARGS=\"--only='%s'\"\n", tried.Plan)
		}
	}
	if err := lab.Save(file, map[string]any{"seconds": took.Seconds(), "plans": results}); err != nil {
		return err
	}
	return expect(total.failed == 0, "%d of %d plans ended differently from an undisturbed run", total.failed, len(results))
}
