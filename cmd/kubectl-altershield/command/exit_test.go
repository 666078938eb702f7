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

package command_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/command"
)

func TestExitCodesAreAContract(t *testing.T) {
	for code, value := range map[command.Code]int{
		command.OK: 0, command.Failed: 1, command.Usage: 2, command.Findings: 3, command.Denied: 4,
		command.Suspended: 10, command.RolledBack: 11, command.Superseded: 12, command.NotChecked: 13, command.Timeout: 124, command.Interrupted: 130,
	} {
		NewWithT(t).Expect(int(code)).To(Equal(value))
	}
}

type slow struct{}

func (slow) Error() string { return "slow" }
func (slow) Timeout() bool { return true }

func TestCodeOfErrors(t *testing.T) {
	g := NewWithT(t)
	g.Expect(command.CodeOf(nil)).To(Equal(command.OK))
	g.Expect(command.CodeOf(errors.New("any"))).To(Equal(command.Failed))
	g.Expect(command.CodeOf(fmt.Errorf("reading: %w", context.Canceled))).To(Equal(command.Interrupted))
	g.Expect(command.CodeOf(fmt.Errorf("reading: %w", context.DeadlineExceeded))).To(Equal(command.Timeout))
	g.Expect(command.CodeOf(fmt.Errorf("reading: %w", slow{}))).To(Equal(command.Timeout))
}

func TestUsageErrorsHaveTheirCodeAndASentence(t *testing.T) {
	for line, sentence := range map[string]string{
		"list -o xml":                     `--output "xml" is none of table, wide, json, yaml, name`,
		"list --color=pink":               `--color "pink" is none of auto, always, never`,
		"list --lang=fr":                  `--lang "fr" is none of en, zh`,
		"list --request-timeout=-1s":      "--request-timeout -1s is negative",
		"list --nonsense":                 "unknown flag: --nonsense",
		"list a b":                        "accepts at most 1 arg",
		"list -l a==b==c":                 "--selector",
		"list --since=-24h":               "--since -24h0m0s is negative",
		"status":                          "name a workload: kubectl altershield list shows them",
		"status web api":                  "accepts 1 arg(s), received 2",
		"status web --until=never":        `--until "never" is not done`,
		"status a/b/c/d":                  "names no workload",
		"wait web --timeout=0s":           "--timeout must be positive",
		"why":                             "name a workload, or a file with -f",
		"diff":                            "name a workload, or a file with -f",
		"diff web x..y":                   "names no releases",
		"completion tcsh":                 "none of bash, zsh, fish, kubectl",
		"nonsense":                        `there is no verb "nonsense"; --help lists the verbs`,
		"why -f ../command/kit_test.nope": "no such file",
	} {
		g := NewWithT(t)
		answer := newBench(t).run(split(line)...)
		g.Expect(answer.err).To(ContainSubstring(sentence), line)
		g.Expect(answer.out).To(BeEmpty(), line)
		if line != "why -f ../command/kit_test.nope" {
			g.Expect(answer.code).To(Equal(command.Usage), line)
		}
	}
}

func TestCodesAreThoseOfTheHelp(t *testing.T) {
	g := NewWithT(t)
	text := newBench(t).run("--help").out
	for code, meaning := range map[command.Code]string{
		command.OK: "fine", command.Failed: "error", command.Usage: "wrong usage", command.Findings: "there is a problem (doctor)",
		command.Denied: "it would be denied", command.Suspended: "suspended (wait)", command.RolledBack: "rolled back (wait)",
		command.Superseded: "superseded by another release (wait)", command.NotChecked: "not checked (wait)", command.Timeout: "time-out",
		command.Interrupted: "interrupted",
	} {
		g.Expect(text).To(MatchRegexp(`(?m)^  %d +%s`, code, regexp.QuoteMeta(meaning)))
	}
}
