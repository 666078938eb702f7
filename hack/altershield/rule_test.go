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

package altershield_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/hack/altershield"
)

func TestRuleHoldsForWhatItNames(t *testing.T) {
	first, second := 0, 1
	for _, row := range []struct {
		name    string
		rule    altershield.Rule
		verdict string
	}{
		{"no rule", altershield.Rule{}, "pass"},
		{"any batch of any Deployment", altershield.Rule{Stage: "PRE", Verdict: "FAIL"}, "fail"},
		{"an inconclusive rule", altershield.Rule{Stage: "PRE", Verdict: "INCONC"}, "fail"},
		{"a rule that passes", altershield.Rule{Stage: "PRE", Verdict: "PASS"}, "pass"},
		{"the other stage", altershield.Rule{Stage: "POST", Verdict: "FAIL"}, "pass"},
		{"this batch", altershield.Rule{Stage: "PRE", Verdict: "FAIL", Batch: &second}, "fail"},
		{"another batch", altershield.Rule{Stage: "PRE", Verdict: "FAIL", Batch: &first}, "pass"},
		{"this Deployment", altershield.Rule{Stage: "PRE", Verdict: "FAIL", Deployment: "web"}, "fail"},
		{"this Deployment with its namespace", altershield.Rule{Stage: "PRE", Verdict: "FAIL", Deployment: "default/web"}, "fail"},
		{"another Deployment", altershield.Rule{Stage: "PRE", Verdict: "FAIL", Deployment: "eb"}, "pass"},
	} {
		t.Run(row.name, func(t *testing.T) {
			k := newKit(t, altershield.Options{PreDelay: soon})
			k.server.AddRule(row.rule)
			k.submit("o1")
			k.start("o1", 1)
			k.Expect(k.received().body).To(ContainSubstring(`"verdict":"` + row.verdict + `"}}`))
		})
	}
}

func TestRuleHoldsForSoManyChecks(t *testing.T) {
	k := newKit(t, altershield.Options{PreDelay: soon})
	k.server.AddRule(altershield.Rule{Name: "twice", Stage: "PRE", Verdict: "FAIL", Remaining: 2})
	k.server.AddRule(altershield.Rule{Name: "always", Stage: "PRE", Verdict: "PASS"})
	k.submit("o1")
	for _, verdict := range []string{"fail", "fail", "pass"} {
		k.start("o1", 0)
		k.Expect(k.received().body).To(ContainSubstring(`"verdict":"` + verdict + `"}}`))
	}
	k.Expect(k.server.Rules()).To(Equal([]altershield.Rule{{Name: "always", Stage: "PRE", Verdict: "PASS"}}))
	k.server.ClearRules()
	k.Expect(k.server.Rules()).To(BeEmpty())
}

func TestCheckPassesInAnEmergency(t *testing.T) {
	for name, change := range map[string]func(order, batch string) (string, string){
		"of the order": func(order, batch string) (string, string) {
			return with(order, map[string]any{"changeScenarioCode": "01"}), batch
		},
		"of the batch": func(order, batch string) (string, string) {
			return order, with(batch, map[string]any{"emergency": true})
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t, altershield.Options{PreDelay: soon})
			k.server.AddRule(altershield.Rule{Stage: "PRE", Verdict: "FAIL"})
			order, batch := change(orderBody("o1"), startBody("o1", 0))
			k.Expect(k.call("submitChangeExecOrder", order).body).To(succeeds())
			k.Expect(k.call("submitChangeExecBatchStartNotify", batch).body).To(succeeds())
			k.Expect(strings.HasSuffix(k.received().body, passed+`,"changeCheckType":"CHANGE_BATCH"}`)).To(BeTrue())
		})
	}
}
