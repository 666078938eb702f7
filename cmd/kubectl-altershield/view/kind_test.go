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
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
	"github.com/traas-stack/altershield-operator/controllers/kindtool"
	"github.com/traas-stack/altershield-operator/controllers/verification/replay"
)

func TestKindTrialOfHasOneVerdict(t *testing.T) {
	for name, row := range map[string]struct {
		effects kindtool.Effects
		want    string
	}{
		"a release":        {kindtool.Effects{Release: "Release"}, "Admitted"},
		"a denied release": {kindtool.Effects{Release: "Release", Violations: []kindtool.Violation{{Rule: "r"}}}, "Denied"},
		"no release":       {kindtool.Effects{Release: "NotWhen"}, "NoRelease"},
		"a deletion":       {kindtool.Effects{}, "NoRelease"},
		"controlled":       {kindtool.Effects{Ignored: true}, "NotControlled"},
	} {
		NewWithT(t).Expect(view.KindTrialOf(row.effects).Verdict).To(BeEquivalentTo(row.want), name)
	}
}

func TestInferredKindOfLeavesOutTheStatus(t *testing.T) {
	g := NewWithT(t)
	shown, err := view.InferredKindOf(kindtool.Inferred{
		ControlledKind: &appv1alpha1.ControlledKind{ObjectMeta: metav1.ObjectMeta{Name: "clonesets.apps.kruise.io"}}, ClusterRole: &rbacv1.ClusterRole{}, Notes: []string{"look"},
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(shown.ControlledKind).NotTo(HaveKey("status"))
	g.Expect(shown.Notes).To(Equal([]string{"look"}))
	g.Expect(shown.Names()).To(Equal([]string{"controlledkind/clonesets.apps.kruise.io"}))
	for _, bad := range []kindtool.Inferred{{}, {ControlledKind: &appv1alpha1.ControlledKind{}}} {
		_, err := view.InferredKindOf(bad)
		g.Expect(err).To(HaveOccurred(), "what has no fields")
	}
}

func TestReplayOfHasTheFailedChecks(t *testing.T) {
	g := NewWithT(t)
	report := replay.Report{Namespace: "shop", Name: "web", Checks: []replay.Check{{Name: "errors", Verdict: "Fail"}, {Name: "slow", Verdict: "Pass"}}}
	shown := view.ReplayOf(report, appv1alpha1.WorkloadReference{Kind: "StatefulSet", Name: "web"})
	g.Expect(shown.Object).To(Equal("statefulset/web"))
	g.Expect(shown.FailedChecks()).To(Equal([]string{"errors"}))
	empty, err := json.Marshal(view.ReplayOf(replay.Report{}, appv1alpha1.WorkloadReference{}))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(empty)).To(ContainSubstring(`"checks":[]`))
}
