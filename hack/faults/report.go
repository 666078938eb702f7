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

// written is a plan in the file of results.
type written struct {
	Plan        string   `json:"plan"`
	Class       string   `json:"class"`
	Reached     bool     `json:"reached"`
	Again       bool     `json:"again,omitempty"`
	Seconds     float64  `json:"seconds"`
	Differences []string `json:"differences,omitempty"`
}

// tally counts the plans in a cell of the table.
type tally struct{ Tried, Failed, NotReached int }

func (t tally) String() string {
	if t.Tried+t.NotReached == 0 {
		return "-"
	}
	text := fmt.Sprintf("%d/%d", t.Tried, t.Failed)
	if t.NotReached > 0 {
		text += fmt.Sprintf(" (+%d)", t.NotReached)
	}
	return text
}

func (t *tally) add(tried result) {
	if tried.reached {
		t.Tried++
	} else {
		t.NotReached++
	}
	if len(tried.differences) > 0 {
		t.Failed++
	}
}

// count adds up results by scenario and class, with a row and a column for the totals.
func count(results []result) map[string]map[string]*tally {
	counts := map[string]map[string]*tally{}
	for _, tried := range results {
		for _, scenario := range []string{tried.plan.scenario, all} {
			if counts[scenario] == nil {
				counts[scenario] = map[string]*tally{}
			}
			for _, class := range []string{tried.plan.class(), all} {
				if counts[scenario][class] == nil {
					counts[scenario][class] = &tally{}
				}
				counts[scenario][class].add(tried)
			}
		}
	}
	return counts
}

const all = "all"

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
	counts := count(results)
	rows, columns := []string{}, append(classes(), all)
	for _, scenario := range scenarios() {
		rows = append(rows, scenario.name)
	}
	writer := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(writer, "tried/failed")
	for _, class := range columns {
		fmt.Fprintf(writer, "\t%s", class)
	}
	fmt.Fprintln(writer)
	for _, scenario := range append(rows, all) {
		fmt.Fprint(writer, scenario)
		for _, class := range columns {
			cell := cmp.Or(counts[scenario][class], &tally{})
			fmt.Fprintf(writer, "\t%s", cell)
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
	slices.SortFunc(results, func(a, b result) int { return cmp.Compare(a.plan.String(), b.plan.String()) })
	fmt.Fprintln(out)
	if err := table(out, results); err != nil {
		return fmt.Errorf("printing the table: %w", err)
	}
	var plans []written
	var failed []result
	unreached, again := 0, 0
	for _, tried := range results {
		plans = append(plans, written{tried.plan.String(), tried.plan.class(), tried.reached, tried.again, tried.took.Seconds(), tried.differences})
		if len(tried.differences) > 0 {
			failed = append(failed, tried)
		}
		if !tried.reached {
			unreached++
		}
		if tried.again {
			again++
		}
	}
	fmt.Fprintf(out, "\n%d faults were injected, %d were not (their write didn't occur), %d runs ended differently from an undisturbed one. %d plans were repeated alone. %s in total.\n",
		len(results)-unreached, unreached, len(failed), again, took.Round(time.Second))
	for _, tried := range failed {
		fmt.Fprintf(out, "\n%s\n", tried.plan)
		showDifferences(out, tried.differences)
		fmt.Fprintf(out, "    repeat it with: make faults FAULTS_ARGS=\"--only='%s'\"\n", tried.plan)
	}
	if err := lab.Save(file, map[string]any{"seconds": took.Seconds(), "counts": count(results), "plans": plans}); err != nil {
		return err
	}
	if len(failed) > 0 {
		return fmt.Errorf("%d of %d plans ended differently from an undisturbed run", len(failed), len(results))
	}
	return nil
}
