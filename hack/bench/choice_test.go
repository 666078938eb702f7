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
	"testing"

	. "github.com/onsi/gomega"
)

func TestChooseLoadsByName(t *testing.T) {
	g := NewWithT(t)
	chosen, err := chooseLoads("growth,100x10")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(names(chosen)).To(Equal([]string{"100x10", "growth"}))
	chosen, err = chooseLoads("")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(names(chosen)).To(Equal([]string{"100x10", "late", "admission", "verdict", "stuck"}))
	_, err = chooseLoads("100x10,200x10")
	g.Expect(err).To(MatchError(ContainSubstring(`unknown load "200x10", expected one of tiny, 100x10`)))
}

func TestPluginCommandsPrintWhatIsThere(t *testing.T) {
	g := NewWithT(t)
	commands := pluginCommands(deploymentsIn("many", 200, 10), deploymentsIn("big", 1, 5000))
	g.Expect(commands[0].prints).To(Equal("201 verified"))
	g.Expect(commands[2]).To(Equal(pluginCommand{"status of the big one", "status app-0 -n big", "5000 passed"}))
}

func TestRunEachReportsWhatCommandsTakeAndPrint(t *testing.T) {
	g := NewWithT(t)
	figures, err := runEach(t.Context(), "busy", []pluginCommand{{"list", "1 verified", "1 verified"}}, "echo", "")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect([]string{figures[0].Name, figures[1].Name}).To(Equal([]string{"list", "list, processor time"}))
	g.Expect(figures[0].Count).To(Equal(10))
	g.Expect(figures[0].Median).To(BeNumerically(">", 0))
	_, err = runEach(t.Context(), "busy", []pluginCommand{{"list", "nothing", "1 verified"}}, "echo", "")
	g.Expect(err).To(MatchError("nothing doesn't print \"1 verified\" but: nothing\n"))
	_, err = runEach(t.Context(), "busy", []pluginCommand{{"list", "nothing", ""}}, "false", "")
	g.Expect(err).To(MatchError(ContainSubstring("exit status 1")))
}

func TestParseSetups(t *testing.T) {
	g := NewWithT(t)
	for text, want := range map[string]string{
		"1,server-10":                         "[batches of 1 batches of 10, server]",
		"unlabelled-10,server-unlabelled-100": "[batches of 10, label off batches of 100, server, label off]",
		"unchecked-1,server-paced-10":         "[batches of 1, unchecked batches of 10, server, paced]",
	} {
		setups, err := parseSetups(text)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(fmt.Sprint(setups)).To(Equal(want))
	}
	for _, wrong := range []string{"", "0", "ten", "server-", "unlabelled-", "1-server", "1,,2", "paced-", "calm-1", "-1"} {
		_, err := parseSetups(wrong)
		g.Expect(err).To(HaveOccurred(), wrong)
	}
}
