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

package view_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

// judged is a batch of two pods, of which the first one failed. A pod that isn't in it failed as well.
func judged() *appv1alpha1.ChangePod {
	return &appv1alpha1.ChangePod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web--x--1", UID: "b-1", ResourceVersion: "12"},
		Spec:       appv1alpha1.ChangePodSpec{PodInfos: []appv1alpha1.PodSummary{{Pod: "web-1", IP: "10.0.0.1"}, {Pod: "web-2", IP: "10.0.0.2"}}},
		Status: appv1alpha1.ChangePodStatus{Status: "ExecuteDone", PodResults: []appv1alpha1.PodSummary{
			{Pod: "web-1", IP: "10.0.0.1", Verdict: "unpass", Message: "5xx"}, {Pod: "typo", Verdict: "unpass", Message: "5xx"},
		}},
	}
}

func TestVerdictOfPods(t *testing.T) {
	typo := appv1alpha1.PodSummary{Pod: "typo", Verdict: "unpass", Message: "5xx"}
	for name, row := range map[string]struct {
		verdict appv1alpha1.Verdict
		pod     string
		changes []string
		results []appv1alpha1.PodSummary
	}{
		"a failure is withdrawn": {"pass", "web-1", []string{"web-1: unpass -> pass"},
			[]appv1alpha1.PodSummary{{Pod: "web-1", IP: "10.0.0.1", Verdict: "pass", Message: "why"}, typo}},
		"all are withdrawn": {"pass", "", []string{"web-1: unpass -> pass", "typo: unpass -> pass"},
			[]appv1alpha1.PodSummary{{Pod: "web-1", IP: "10.0.0.1", Verdict: "pass", Message: "why"}, {Pod: "typo", Verdict: "pass", Message: "why"}}},
		"a pod fails": {"unpass", "web-2", []string{"web-2: no verdict -> unpass"},
			[]appv1alpha1.PodSummary{{Pod: "web-1", IP: "10.0.0.1", Verdict: "unpass", Message: "5xx"}, typo, {Pod: "web-2", IP: "10.0.0.2", Verdict: "unpass", Message: "why"}}},
		"all fail that haven't": {"unpass", "", []string{"web-2: no verdict -> unpass"},
			[]appv1alpha1.PodSummary{{Pod: "web-1", IP: "10.0.0.1", Verdict: "unpass", Message: "5xx"}, typo, {Pod: "web-2", IP: "10.0.0.2", Verdict: "unpass", Message: "why"}}},
	} {
		g := NewWithT(t)
		batch := judged()
		request, changed, err := view.VerdictOf(batch, row.verdict, row.pod, "why")
		g.Expect(err).NotTo(HaveOccurred(), name)
		g.Expect(request).To(Equal(view.Request{
			Kind: "VerdictRequest", APIVersion: "cli.altershield/v1", Namespace: "shop", Object: "changepod/web--x--1", Changes: row.changes, Reason: "why", At: "b-1/12",
		}), name)
		g.Expect(changed.Status.PodResults).To(Equal(row.results), name)
		g.Expect(batch).To(Equal(judged()), "what was read stays as it is")
	}
}

func TestVerdictThatChangesNothing(t *testing.T) {
	passed := judged()
	passed.Status.PodResults = nil
	for name, row := range map[string]struct {
		batch   *appv1alpha1.ChangePod
		verdict appv1alpha1.Verdict
		pod     string
		says    string
	}{
		"none failed": {passed, "pass", "", "no pod of changepod/web--x--1 failed, and only a failure can be withdrawn"},
		"it passed":   {judged(), "pass", "web-2", "pod web-2 of changepod/web--x--1 didn't fail, and only a failure can be withdrawn"},
		"it failed":   {judged(), "unpass", "web-1", "these pods of changepod/web--x--1 failed already"},
		"another pod": {judged(), "unpass", "web-3", "changepod/web--x--1 has no pod web-3; its pods are web-1, web-2"},
	} {
		_, _, err := view.VerdictOf(row.batch, row.verdict, row.pod, "why")
		NewWithT(t).Expect(err).To(MatchError(row.says), name)
	}
}
