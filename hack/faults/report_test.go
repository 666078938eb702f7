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
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/hack/faults/proxy"
)

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

func TestCheckLogFailsAfterACrashAndKeepsTheLogOfEachHalf(t *testing.T) {
	g, dir := NewWithT(t), t.TempDir()
	log := filepath.Join(dir, "manager.log")
	g.Expect(os.WriteFile(log, []byte("panic: nil map\n"), 0o600)).To(Succeed())
	out := options{out: filepath.Join(dir, "bin", "faults.json")}
	g.Expect((&half{opts: out}).checkLog(log)).To(MatchError("the manager crashed 1 times: line 1 of " + filepath.Join(dir, "bin", "faults.log") + ": panic: nil map"))
	g.Expect((&half{checked: true, opts: out}).checkLog(log)).To(MatchError(ContainSubstring("faults-server.log")))
	g.Expect((&half{opts: out}).checkLog(filepath.Join(dir, "absent"))).To(MatchError(ContainSubstring("keeping the manager's log")))
}
