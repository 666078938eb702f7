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

package plugin_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/plugin"
)

func awaited(changes ...func(*appv1alpha1.ChangeVerdict)) *appv1alpha1.ChangeVerdict {
	verdict := &appv1alpha1.ChangeVerdict{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "scoring", Name: "model--x--6a8f--x--3-0123456789", UID: "v-1",
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "app.ops.cloud.alipay.com/v1alpha1", Kind: "ChangeWorkload", Name: "model--x--6a8f", UID: "r-1"}},
		},
		Spec: appv1alpha1.ChangeVerdictSpec{
			Workload: appv1alpha1.ReleasedWorkload{Kind: "Deployment.apps", Name: "model"}, Release: 3, Version: "6a8f",
			Policy: "scoring/drift", Check: "drift", Mode: "Enforce",
		},
	}
	for _, change := range changes {
		change(verdict)
	}
	return verdict
}

func TestIsAwaited(t *testing.T) {
	type verdict = appv1alpha1.ChangeVerdict
	for name, row := range map[string]struct {
		change   func(*verdict)
		expected bool
	}{
		"the one of the check":       {func(*verdict) {}, true},
		"with a verdict":             {func(v *verdict) { v.Status = &appv1alpha1.ChangeVerdictStatus{Verdict: "Pass"} }, true},
		"of a mode that was lowered": {func(v *verdict) { v.Spec.Mode = "Observe" }, true},
		"with a further owner": {func(v *verdict) {
			v.OwnerReferences = append([]metav1.OwnerReference{{UID: "other"}}, v.OwnerReferences...)
		}, true},
		"without an owner":                 {func(v *verdict) { v.OwnerReferences = nil }, false},
		"of a deleted record of this name": {func(v *verdict) { v.OwnerReferences[0].UID = "r-0" }, false},
		"of another release":               {func(v *verdict) { v.Spec.Release = 2 }, false},
		"of another version":               {func(v *verdict) { v.Spec.Version = "c6c4" }, false},
		"of another policy":                {func(v *verdict) { v.Spec.Policy = "scoring/other" }, false},
		"of another check":                 {func(v *verdict) { v.Spec.Check = "other" }, false},
		"of another workload":              {func(v *verdict) { v.Spec.Workload.Name = "other" }, false},
		"that is being deleted":            {func(v *verdict) { v.DeletionTimestamp = &metav1.Time{Time: began} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(plugin.IsAwaited(awaited(row.change), awaited())).To(Equal(row.expected))
		})
	}
}

func TestOfVerdict(t *testing.T) {
	type status = appv1alpha1.ChangeVerdictStatus
	pods := func(names ...string) (named []appv1alpha1.ReportedPod) {
		for _, name := range names {
			named = append(named, appv1alpha1.ReportedPod{Name: name})
		}
		return named
	}
	for name, row := range map[string]struct {
		status   *status
		expected string
	}{
		"none":                  {nil, "Inconclusive NoVerdict final=false no verdict was reported in ChangeVerdict model--x--6a8f--x--3-0123456789 []"},
		"a pass":                {&status{Verdict: "Pass"}, "Pass CheckPassed final=true bob reports Pass []"},
		"a failure":             {&status{Verdict: "Fail", Reason: "Drift", Message: "psi 0.31"}, "Fail CheckFailed final=true bob reports Fail: Drift: psi 0.31 []"},
		"one that can't tell":   {&status{Verdict: "Inconclusive", Reason: "NoTraffic"}, "Inconclusive Undecided final=true bob reports Inconclusive: NoTraffic []"},
		"a failure of pods":     {&status{Verdict: "Fail", Pods: []appv1alpha1.ReportedPod{{Name: "new-1", Message: "psi\n9"}}}, "Fail CheckFailed final=true bob reports Fail [{new-1 uid-new-1 psi 9}]"},
		"some unknown pods":     {&status{Verdict: "Fail", Pods: pods("old-0", "new-0", "nwe-1")}, "Fail CheckFailed final=true bob reports Fail [{new-0 uid-new-0 bob reports Fail}]"},
		"unknown pods alone":    {&status{Verdict: "Fail", Pods: pods("nwe-0")}, "Fail CheckFailed final=true bob reports Fail []"},
		"control characters":    {&status{Verdict: "Fail", Message: "a\nb\u202e", Reporter: "b\u001bob"}, "Fail CheckFailed final=true b ob reports Fail: a b []"},
		"a message that's long": {&status{Verdict: "Fail", Message: strings.Repeat("é", 300)}, "Fail CheckFailed final=true bob reports Fail: " + strings.Repeat("é", 235) + "... []"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			if row.status != nil && row.status.Reporter == "" {
				row.status.Reporter = "bob"
			}
			answer := plugin.OfVerdict(release(2, 1), awaited(func(verdict *appv1alpha1.ChangeVerdict) { verdict.Status = row.status }))
			g.Expect(answer.Broken).To(BeFalse())
			g.Expect(fmt.Sprintf("%s %s final=%t %s %v", answer.Verdict, answer.Reason, answer.Final, answer.Message, answer.Pods)).To(Equal(row.expected))
		})
	}
}

func TestRequestNamesTheVerdict(t *testing.T) {
	g := NewWithT(t)
	asked := question()
	asked.Verdict = awaited()
	body, err := plugin.Request(release(1, 1), asked)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(body)).To(HaveSuffix(`,"verdictRef":{"namespace":"scoring","name":"model--x--6a8f--x--3-0123456789","uid":"v-1"}}`))
}

func TestJudgeEndsWithAFinalAnswer(t *testing.T) {
	for _, verdict := range []appv1alpha1.CheckVerdict{"Pass", "Fail", "Inconclusive"} {
		t.Run(string(verdict), func(t *testing.T) {
			g := NewWithT(t)
			found := plugin.Judge(release(2, 0), plugin.Answer{Verdict: verdict, Reason: "Told", Message: "it is so", Final: true}, measure.Terms{Again: time.Minute})
			g.Expect(found.Verdict).To(Equal(verdict))
			g.Expect(found.Reason).To(Equal("Told"))
			g.Expect(found.Message).To(Equal("it is so"))
			g.Expect(found.Final).To(Equal(verdict == "Pass"))
			g.Expect(found.Broken).To(BeFalse())
			g.Expect(found.Again).To(BeZero())
			g.Expect(found.Pods).To(HaveLen(map[appv1alpha1.CheckVerdict]int{"Fail": 2}[verdict]))
		})
	}
}
