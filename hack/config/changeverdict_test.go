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

package config

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestChangeVerdictsAreReportedOnce(t *testing.T) {
	judge := judgeOf(t, "app.ops.cloud.alipay.com_changeverdicts.yaml")
	const (
		spec     = `spec: {workload: {kind: Deployment.apps, name: web}, release: 3, version: 6a8ff823a5011291b0f02a1d83c2222d, policy: shop/drift, check: drift, mode: Enforce}`
		by       = `reporter: bob, reportedAt: "2026-11-21T10:00:00Z"`
		reported = `{verdict: Fail, reason: Drift, message: psi, pods: [{name: web-1, message: drifts}, {name: web-2}], ` + by + `}`
		denied   = "the verdict was reported before: it can't be changed or taken back"
	)
	for name, row := range map[string]struct{ before, after, message string }{
		"a verdict":                {"", reported, ""},
		"a pass":                   {"", `{verdict: Pass, ` + by + `}`, ""},
		"the same again":           {reported, reported, ""},
		"another verdict":          {reported, `{verdict: Pass, ` + by + `}`, denied},
		"another message":          {reported, `{verdict: Fail, reason: Drift, message: none, pods: [{name: web-1, message: drifts}, {name: web-2}], ` + by + `}`, denied},
		"fewer pods":               {reported, `{verdict: Fail, reason: Drift, message: psi, pods: [{name: web-1, message: drifts}], ` + by + `}`, denied},
		"another reporter":         {reported, `{verdict: Fail, reason: Drift, message: psi, pods: [{name: web-1, message: drifts}, {name: web-2}], reporter: carol, reportedAt: "2026-11-21T10:00:00Z"}`, denied},
		"no verdict any more":      {reported, "", denied},
		"a message alone":          {"", `{message: soon, ` + by + `}`, "status.verdict: Required value"},
		"a verdict of its own":     {"", `{verdict: Pending, ` + by + `}`, `status.verdict: Unsupported value: "Pending": supported values: "Pass", "Fail", "Inconclusive"`},
		"nobody's":                 {"", `{verdict: Pass}`, "status.reporter: Required value"},
		"a sentence as the reason": {"", `{verdict: Fail, reason: psi 0.31, ` + by + `}`, "status.reason in body should match"},
		"pods that passed":         {"", `{verdict: Pass, pods: [{name: web-1}], ` + by + `}`, "pods are those that failed, and verdict isn't Fail"},
		"a useless time":           {"", `{verdict: Pass, reporter: bob, reportedAt: "2026-11-21t10:00:00Z"}`, "status.reportedAt in body should match"},
	} {
		t.Run(name, func(t *testing.T) {
			with := func(status string) string {
				if status == "" {
					return spec
				}
				return spec + "\nstatus: " + status
			}
			message := judge.update(t, with(row.before), with(row.after))
			if row.message == "" {
				NewWithT(t).Expect(message).To(BeEmpty())
				return
			}
			NewWithT(t).Expect(message).To(ContainSubstring(row.message))
		})
	}
}

func TestChangeVerdictsStayOnTheirRelease(t *testing.T) {
	g, judge := NewWithT(t), judgeOf(t, "app.ops.cloud.alipay.com_changeverdicts.yaml")
	const before = `spec: {workload: {kind: Deployment.apps, name: web}, release: 3, version: 6a8ff823a5011291b0f02a1d83c2222d, policy: shop/drift, check: drift, mode: Enforce}`
	_, message := judge.apply(t, before)
	g.Expect(message).To(BeEmpty())
	g.Expect(judge.update(t, before, `spec: {workload: {kind: Deployment.apps, name: web}, release: 4, version: 6a8ff823a5011291b0f02a1d83c2222d, policy: shop/drift, check: drift, mode: Enforce}`)).
		To(ContainSubstring("the spec of a ChangeVerdict can't be changed: the verdict is one on this release"))
}
