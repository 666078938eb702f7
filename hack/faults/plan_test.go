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
	"bytes"
	"cmp"
	"flag"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/hack/faults/proxy"
)

func TestParsePlanReadsAPlanAsItIsNamed(t *testing.T) {
	for _, name := range []string{
		"walkthrough/patch changepods/status#2/killed-after", "server/call submitChangeExecOrder#1/timeout", "stuck/create changepods#1/500",
		"walkthrough/stale pods/3s", "rollback/unobserved changeworkloads/1s", "repair/replay replicasets/0s",
		"late/trouble/stale-pods", "walkthrough/trouble/past-records", "held/trouble/unaware-client",
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			parsed, err := parsePlan(name)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(parsed.String()).To(Equal(name))
		})
	}
	for _, nonsense := range []string{"", "walkthrough", "walkthrough/late", "walkthrough/patch pods#1/late", "walkthrough/patch pods/500", "walkthrough/stale pods/long",
		"late/trouble/", "late/trouble/unaware-client", "nothing/trouble/stale-pods"} {
		_, err := parsePlan(nonsense)
		NewWithT(t).Expect(err).To(HaveOccurred(), nonsense)
	}
}

func TestWritePlansHaveEveryFaultForEachPosition(t *testing.T) {
	g := NewWithT(t)
	write := proxy.Position{Verb: "patch", Resource: "pods", Nth: 1}
	call := proxy.Position{Verb: "call", Resource: "submitChangeExecOrder", Nth: 1}
	var names []string
	for _, plan := range writePlans("server", []proxy.Position{write, call}) {
		names = append(names, plan.String())
	}
	g.Expect(names).To(Equal([]string{
		"server/patch pods#1/killed-before", "server/call submitChangeExecOrder#1/killed-before",
		"server/patch pods#1/killed-after", "server/call submitChangeExecOrder#1/killed-after",
		"server/patch pods#1/conflict",
		"server/patch pods#1/timeout", "server/call submitChangeExecOrder#1/timeout",
		"server/patch pods#1/500", "server/call submitChangeExecOrder#1/500",
	}))
}

func TestViewPlansShowEachKindLateIncompleteAndTwice(t *testing.T) {
	g := NewWithT(t)
	seen := map[string][]string{}
	for _, plan := range viewPlans("stuck") {
		disturbance := plan.disturbance
		name := string(disturbance.View)
		if disturbance.View == proxy.Stale {
			name += " " + disturbance.For.String()
		}
		g.Expect(disturbance.Resources).To(HaveLen(1))
		seen[disturbance.Resources[0]] = append(seen[disturbance.Resources[0]], name)
		g.Expect(disturbance.Times).To(BeNumerically(">", 1))
	}
	g.Expect(seen).To(HaveLen(21))
	for resource, views := range seen {
		g.Expect(views).To(Equal([]string{"stale 1s", "stale 3s", "stale 10s", "unobserved", "replay"}), resource)
	}
}

func TestTroublePlansHaveEveryTroubleAndASampleTheFirstOfEachScenario(t *testing.T) {
	g := NewWithT(t)
	names := func(every, part int) (names []string) {
		for _, plan := range troublePlans(scenarios(), share{every, part}) {
			g.Expect(plan.class()).To(Equal("trouble"))
			names = append(names, plan.String())
		}
		return names
	}
	g.Expect(names(1, middle)).To(Equal([]string{
		"walkthrough/trouble/past-records", "walkthrough/trouble/past-changepods",
		"late/trouble/stale-pods", "late/trouble/apiserver-away", "late/trouble/manager-away", "held/trouble/unaware-client",
		"checks/trouble/source-away",
	}))
	g.Expect(names(40, middle)).To(Equal([]string{"walkthrough/trouble/past-records", "late/trouble/stale-pods", "held/trouble/unaware-client", "checks/trouble/source-away"}))
	g.Expect(slices.Concat(names(3, 0), names(3, 1), names(3, 2))).To(ConsistOf(names(1, middle)), "the parts are all of them")
}

func TestSampleIsSpreadOverThePlans(t *testing.T) {
	g := NewWithT(t)
	g.Expect(sample([]int{0, 1, 2, 3, 4, 5, 6}, share{every: 1, part: middle})).To(Equal([]int{0, 1, 2, 3, 4, 5, 6}))
	g.Expect(sample([]int{0, 1, 2, 3, 4, 5, 6}, share{every: 3, part: middle})).To(Equal([]int{1, 4}))
	g.Expect(sample([]int{0, 1, 2, 3, 4, 5, 6}, share{every: 3, part: 0})).To(Equal([]int{0, 3, 6}))
	g.Expect(sample([]int{0, 1, 2, 3, 4, 5, 6}, share{every: 3, part: 2})).To(Equal([]int{2, 5}))
	g.Expect(sample([]int{}, share{every: 3})).To(BeEmpty())
}

func TestSpreadKeepsThePlansOfAScenarioApart(t *testing.T) {
	g := NewWithT(t)
	var plans []plan
	for scenario, positions := range map[string]int{"crash": 2, "freeze": 7} {
		for nth := range positions {
			plans = append(plans, plan{scenario: scenario, fault: &proxy.Fault{Position: proxy.Position{Verb: "patch", Resource: "pods", Nth: nth}, Mode: proxy.Failed}})
		}
	}
	var order []string
	for _, one := range spread(plans) {
		order = append(order, one.scenario)
	}
	g.Expect(order).To(Equal([]string{"freeze", "freeze", "crash", "freeze", "freeze", "freeze", "crash", "freeze", "freeze"}))
}

func TestSampleOfTheViewsHasSomeOfEach(t *testing.T) {
	g, views := NewWithT(t), map[proxy.View]bool{}
	for _, plan := range sample(viewPlans("stuck"), share{every: 5, part: middle}) {
		views[plan.disturbance.View] = true
	}
	g.Expect(views).To(HaveLen(3))
}

func TestPositionsAreThoseOfAllUndisturbedRuns(t *testing.T) {
	g := NewWithT(t)
	record := func(verb, resource string, nth int) proxy.Record {
		return proxy.Record{Position: proxy.Position{Verb: verb, Resource: resource, Nth: nth}, Status: 200}
	}
	found := positions([]proxy.Record{
		record("create", "changepods", 1), record("patch", "pods", 1),
		record("patch", "pods", 1), record("create", "changepods", 1), record("patch", "pods", 2),
	})
	g.Expect(found).To(Equal([]proxy.Position{
		{Verb: "create", Resource: "changepods", Nth: 1}, {Verb: "patch", Resource: "pods", Nth: 1}, {Verb: "patch", Resource: "pods", Nth: 2},
	}))
}

func TestOptionsThatMeanNothingAreRefused(t *testing.T) {
	parsed := func(args ...string) error {
		var opts options
		flags := flag.NewFlagSet("faults", flag.ContinueOnError)
		flags.SetOutput(io.Discard)
		opts.bind(flags)
		return cmp.Or(flags.Parse(args), opts.validate())
	}
	g := NewWithT(t)
	g.Expect(parsed()).To(Succeed())
	g.Expect(parsed("--sample=40", "--part=39", "--scenarios=park,statefulset", "--faults=stale,500", "--only=walkthrough/stale pods/3s")).To(Succeed())
	g.Expect(parsed("--sample=0")).To(MatchError("--sample and --parallel must be at least 1"))
	g.Expect(parsed("--sample=40", "--part=40")).To(MatchError("--part must be from 0 to one less than --sample"))
	g.Expect(parsed("--scenarios=park,walk")).To(MatchError(ContainSubstring(`there is no "walk" among walkthrough, stuck, `)))
	g.Expect(parsed("--faults=stale,all")).To(MatchError(ContainSubstring(`there is no "all" among killed-before, `)))
	g.Expect(parsed("--only=walkthrough")).To(MatchError(ContainSubstring("is not a plan")))
}

func TestChooseTakesTheNamedScenariosInTheirGroups(t *testing.T) {
	var limited options
	NewWithT(t).Expect(limited.limit("park/delete pods#1/500,server/patch pods#1/500")).To(Succeed())
	for _, row := range []struct {
		opts   options
		chosen map[string][]string
	}{
		{options{}, map[string][]string{
			"deployments": {"checks-asked", "held", "late", "notify", "rollback", "stuck", "walkthrough"},
			"checks":      {"checks", "checks-blind", "checks-compared", "crash"},
			"policies":    {"freeze", "steps", "steps-before", "thaw", "undo"},
			"kinds":       {"daemonset", "declared", "first-nodes", "park", "park-on-fail", "statefulset", "steps-nodes", "steps-partition", "undeclared"},
			"server":      {"repair", "server", "steps-order"},
		}},
		{options{scenarios: []string{"park", "statefulset", "server"}}, map[string][]string{"kinds": {"park", "statefulset"}, "server": {"server"}}},
		{limited, map[string][]string{"kinds": {"park"}, "server": {"server"}}},
	} {
		g, found := NewWithT(t), map[string][]string{}
		chosen, err := choose(row.opts, io.Discard)
		g.Expect(err).NotTo(HaveOccurred())
		for _, group := range chosen {
			found[group.name] = slices.Sorted(maps.Keys(group.scenarios))
		}
		g.Expect(found).To(Equal(row.chosen))
	}
}

func TestUnderDisturbsTheLongScenariosForWhatOnlyTheyUse(t *testing.T) {
	chosen, err := choose(options{scenarios: []string{"checks", "checks-blind", "crash"}}, io.Discard)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for resource, played := range map[string][]string{
		"verificationpolicies": {"checks", "checks-blind", "crash"}, "verificationsources": {"checks", "checks-blind", "crash"},
		"changeverdicts": {"checks", "checks-blind", "crash"}, "pods": {"crash"},
	} {
		names := chosen[0].under(proxy.Disturbance{Resources: []string{resource}})
		NewWithT(t).Expect(names).To(ConsistOf(played), resource)
	}
}

func tried(scenario string, nth int, mode proxy.Mode, reached bool, differences ...string) result {
	position := proxy.Position{Verb: "patch", Resource: "pods", Nth: nth}
	return result{
		Plan: plan{scenario: scenario, fault: &proxy.Fault{Position: position, Mode: mode}}, Class: string(mode), Reached: reached, Differences: differences,
		Seconds: 1,
	}
}

// rows returns the cells of a table.
func rows(printed string) [][]string {
	var all [][]string
	for line := range strings.Lines(printed) {
		all = append(all, strings.Split(strings.Join(strings.Fields(strings.ReplaceAll(line, " (+", "(+")), " "), " "))
	}
	return all
}

func TestTableCountsWhatWasTriedWhatFailedAndWhatDidNotComeAbout(t *testing.T) {
	g := NewWithT(t)
	var printed bytes.Buffer
	g.Expect(table(&printed, []result{
		tried("stuck", 1, proxy.Conflict, true), tried("stuck", 2, proxy.Conflict, true, "it differs"), tried("stuck", 3, proxy.Conflict, false),
		tried("server", 1, proxy.KilledAfter, true),
		{Plan: plan{scenario: "server"}, Class: "stale", Reached: true},
		{Plan: plan{scenario: "late"}, Class: "trouble", Reached: true},
	})).To(Succeed())
	all := rows(printed.String())
	g.Expect(all).To(HaveLen(len(scenarios()) + 2))
	g.Expect(slices.DeleteFunc(all, func(row []string) bool { return row[len(row)-1] == "-" })).To(Equal([][]string{
		{"tried/failed", "killed-before", "killed-after", "conflict", "timeout", "500", "stale", "unobserved", "replay", "trouble", "all"},
		{"stuck", "-", "-", "2/1(+1)", "-", "-", "-", "-", "-", "-", "2/1(+1)"},
		{"late", "-", "-", "-", "-", "-", "-", "-", "-", "1/0", "1/0"},
		{"server", "-", "1/0", "-", "-", "-", "1/0", "-", "-", "-", "2/0"},
		{"all", "-", "1/0", "2/1(+1)", "-", "-", "1/0", "-", "-", "1/0", "5/1(+1)"},
	}))
}

func TestReportNamesWhatRepeatsAFailure(t *testing.T) {
	g, file := NewWithT(t), filepath.Join(t.TempDir(), "bin", "faults.json")
	var printed bytes.Buffer
	ended := []result{
		tried("stuck", 2, proxy.Failed, true, `Deployment web .spec.paused: "true", expected "false"`), tried("stuck", 1, proxy.Failed, true),
	}
	ended[1].Again = true
	g.Expect(report(&printed, file, ended, time.Minute)).To(MatchError("1 of 2 plans ended differently from an undisturbed run"))
	g.Expect(printed.String()).To(ContainSubstring("2 faults were injected, 0 were not (their write didn't occur), 1 runs ended differently from an undisturbed one. 1 plans were repeated alone. 1m0s in total."))
	g.Expect(printed.String()).To(ContainSubstring("\nstuck/patch pods#2/500\n    Deployment web .spec.paused: \"true\", expected \"false\"\n" +
		"    repeat it with: make faults FAULTS_ARGS=\"--only='stuck/patch pods#2/500'\"\n"))
	content, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(content).To(MatchJSON(`{"seconds":60,"plans":[
		{"plan":"stuck/patch pods#1/500","class":"500","reached":true,"again":true,"seconds":1},
		{"plan":"stuck/patch pods#2/500","class":"500","reached":true,"seconds":1,"differences":["Deployment web .spec.paused: \"true\", expected \"false\""]}
	]}`))

	g.Expect(report(&printed, file, ended[:1], time.Minute)).To(Succeed())
}

func TestShowDifferencesShowsTheFirstOfMany(t *testing.T) {
	g := NewWithT(t)
	var printed bytes.Buffer
	showDifferences(&printed, strings.Split("abcdefghijklmn", ""))
	g.Expect(strings.Split(printed.String(), "\n")).To(HaveLen(14))
	g.Expect(printed.String()).To(HaveSuffix("    l\n    and 2 more\n"))
}

func TestCheckLogFailsAfterACrashAndKeepsTheLogOfEachGroup(t *testing.T) {
	g, dir := NewWithT(t), t.TempDir()
	log := filepath.Join(dir, "manager.log")
	g.Expect(os.WriteFile(log, []byte("panic: nil map\n"), 0o600)).To(Succeed())
	out := options{out: filepath.Join(dir, "bin", "faults.json")}
	g.Expect((&group{name: "kinds", opts: out}).checkLog(log)).To(MatchError("the manager crashed 1 times: line 1 of " + filepath.Join(dir, "bin", "faults-kinds.log") + ": panic: nil map"))
	g.Expect((&group{name: "server", opts: out}).checkLog(log)).To(MatchError(ContainSubstring("faults-server.log")))
	g.Expect((&group{name: "kinds", opts: out}).checkLog(filepath.Join(dir, "absent"))).To(MatchError(ContainSubstring("keeping the manager's log")))
}
