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

// plan is one fault in one scenario: of a write, of a view, or a trouble.
type plan struct {
	scenario    string
	fault       *proxy.Fault
	trouble     *trouble
	disturbance proxy.Disturbance
}

// String returns the name of a plan, as used by --only: "walkthrough/patch changepods/status#2/killed-after", "walkthrough/stale pods/3s" or
// "late/trouble/stale-pods".
func (p plan) String() string {
	switch {
	case p.fault != nil:
		return fmt.Sprintf("%s/%s/%s", p.scenario, p.fault.Position, p.fault.Mode)
	case p.trouble != nil:
		return fmt.Sprintf("%s/%s/%s", p.scenario, classTrouble, p.trouble.name)
	}
	return fmt.Sprintf("%s/%s %s/%s", p.scenario, p.disturbance.View, strings.Join(p.disturbance.Resources, "+"), p.disturbance.For)
}

// MarshalText names a plan in the file of results.
func (p plan) MarshalText() ([]byte, error) { return []byte(p.String()), nil } //nolint:unparam // encoding.TextMarshaler

// classTrouble is the class of all troubles.
const classTrouble = "trouble"

// class returns the column of a plan in the table.
func (p plan) class() string {
	switch {
	case p.fault != nil:
		return string(p.fault.Mode)
	case p.trouble != nil:
		return classTrouble
	}
	return string(p.disturbance.View)
}

// parsePlan returns the plan of a name.
func parsePlan(name string) (plan, error) {
	first, last := strings.Index(name, "/"), strings.LastIndex(name, "/")
	if first == last {
		return plan{}, fmt.Errorf("%q is not a plan: expected a name like \"walkthrough/patch changepods/status#2/killed-after\"", name)
	}
	scenario := name[:first]
	for _, known := range slices.Concat(troublePlans(scenarios(), share{every: 1}), viewPlans(scenario)) {
		if known.String() == name {
			return known, nil
		}
	}
	position, err := proxy.ParsePosition(name[first+1 : last])
	mode, wrong := proxy.ParseMode(name[last+1:])
	if err := cmp.Or(err, wrong); err != nil {
		return plan{}, fmt.Errorf("parsing plan %q: %w", name, err)
	}
	return plan{scenario: scenario, fault: &proxy.Fault{Position: position, Mode: mode}}, nil
}

// troublePlans returns the troubles of some scenarios. The part in the middle is the first of each.
func troublePlans(scenarios []scenario, share share) (plans []plan) {
	firsts := share.every > 1 && share.part == middle
	for _, scenario := range scenarios {
		for i := range scenario.troubles {
			if i == 0 || !firsts {
				plans = append(plans, plan{scenario: scenario.name, trouble: &scenario.troubles[i]})
			}
		}
	}
	if firsts {
		return plans
	}
	return sample(plans, share)
}

// writePlans returns the faults of each position of the undisturbed runs.
func writePlans(scenario string, positions []proxy.Position) []plan {
	var plans []plan
	for _, mode := range proxy.Modes() {
		for _, position := range positions {
			if mode == proxy.Conflict && position.Verb == proxy.VerbCall {
				continue // AlterShield Server has no conflicts
			}
			plans = append(plans, plan{scenario: scenario, fault: &proxy.Fault{Position: position, Mode: mode}})
		}
	}
	return plans
}

// viewPlans returns the disturbances of each resource that the manager watches. Each applies a few times in a run, less often with longer periods.
func viewPlans(scenario string) (plans []plan) {
	for _, disturbance := range []proxy.Disturbance{
		{View: proxy.Stale, For: time.Second, Times: 12}, {View: proxy.Stale, For: 3 * time.Second, Times: 4}, {View: proxy.Stale, For: 10 * time.Second, Times: 2},
		{View: proxy.Unobserved, For: time.Second, Times: 3}, {View: proxy.Replay, Times: 1000},
	} {
		for _, resource := range watched() {
			disturbance.Resources = []string{resource}
			plans = append(plans, plan{scenario: scenario, disturbance: disturbance})
		}
	}
	return plans
}

// watched returns the resources that the manager caches.
func watched() []string {
	return []string{
		"namespaces", "deployments", "replicasets", "statefulsets", "daemonsets", "controllerrevisions", "pods",
		"changeworkloads", "changepods", "opsconfiginfoes", "controlledkinds", "changefreezes", "breakglasses",
		"releasepolicies", "releasegates", "changeapprovals", "changeverdicts", "verificationpolicies", "verificationsources", "changesubscriptions", "webapps",
	}
}

// share is a part of all plans, one of so many.
type share struct{ every, part int }

// middle is the part in the middle.
const middle = -1

// sample returns a share of some plans. Plans of a kind are adjacent, so that no kind is skipped by being in step with the share.
func sample[P any](plans []P, share share) []P {
	part := share.part
	if part == middle {
		part = share.every / 2
	}
	var kept []P
	for i := part; i < len(plans); i += share.every {
		kept = append(kept, plans[i])
	}
	return kept
}

// spread orders plans so that those of a scenario are far from each other: where the pods of three workloads crash within two minutes, the operator
// takes that for a common cause, and fails none of them.
func spread(plans []plan) []plan {
	total, seen, place := map[string]int{}, map[string]int{}, map[string]float64{}
	for _, one := range plans {
		total[one.scenario]++
	}
	for _, one := range plans {
		seen[one.scenario]++
		place[one.String()] = float64(seen[one.scenario]) / float64(total[one.scenario]+1)
	}
	return slices.SortedStableFunc(slices.Values(plans), func(one, other plan) int {
		return cmp.Compare(place[one.String()], place[other.String()])
	})
}

// positions returns the positions of undisturbed runs, in the order of the first run that has them.
func positions(records []proxy.Record) (found []proxy.Position) {
	for _, record := range records {
		if !slices.Contains(found, record.Position) {
			found = append(found, record.Position)
		}
	}
	return found
}

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
func (g *group) checkLog(path string) error {
	_, crashes, err := lab.KeepLog(path, strings.TrimSuffix(g.opts.out, ".json")+"-"+g.name+".log")
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
