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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

func paused(object *unstructured.Unstructured) {
	object.Object["spec"].(map[string]any)["paused"] = true
}

// heldForStep is a Deployment that is paused until its next step.
func heldForStep(object *unstructured.Unstructured) {
	paused(object)
	annotated("paced", `{"release":7,"policy":"shop/careful","lever":"Gates","rests":true}`)(object)
}

func TestHoldAndResumeDistinguishThePauseOfAUserFromThatOfTheOperator(t *testing.T) {
	held := func(object *unstructured.Unstructured) { paused(object); annotated("held", "7")(object) }
	overridden := func(object *unstructured.Unstructured) { paused(object); annotated("held", "7-overridden")(object) }
	for name, row := range map[string]struct {
		state        func(*unstructured.Unstructured)
		hold, resume string
	}{
		"a rollout that goes on": {func(*unstructured.Unstructured) {}, "", "the rollout of deployment/web isn't paused"},
		"the pause of a user":    {paused, "the rollout of deployment/web is paused by a user already", ""},
		"the hold of the operator": {held,
			"the operator holds the rollout of deployment/web already: kubectl altershield why web shows for what",
			"the operator holds the rollout of deployment/web, no user has paused it: kubectl altershield why web shows for what; --override resumes it all the same"},
		"a pause until the next step": {heldForStep,
			"the operator holds the rollout of deployment/web already: kubectl altershield why web shows for what",
			"the operator holds the rollout of deployment/web, no user has paused it: kubectl altershield why web shows for what; --override resumes it all the same"},
		"the pause of a user after a resumption": {overridden, "the rollout of deployment/web is paused by a user already", ""},
	} {
		g := NewWithT(t)
		request, err := view.HoldOf(facts(workload(7, "49", row.state)), "waits")
		if row.hold == "" {
			g.Expect(err).NotTo(HaveOccurred(), name)
			g.Expect(request.Reason).To(Equal("waits"))
			g.Expect(request.Kind).To(BeEquivalentTo("HoldRequest"))
		} else {
			g.Expect(err).To(MatchError(row.hold), name)
		}
		request, err = view.ResumeOf(facts(workload(7, "49", row.state)), false, "")
		if row.resume == "" {
			g.Expect(err).NotTo(HaveOccurred(), name)
			g.Expect(request.Kind).To(BeEquivalentTo("ResumeRequest"))
			continue
		}
		g.Expect(err).To(MatchError(row.resume), name)
	}
	_, err := view.ResumeOf(facts(workload(7, "49", held)), true, "")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
}

func TestKindsWithoutAPauseSayWhatKeepsTheirPods(t *testing.T) {
	for kind, says := range map[string]string{
		"StatefulSet": "statefulset/web has no pause: spec.updateStrategy.rollingUpdate.partition keeps pods from being replaced",
		"DaemonSet":   "daemonset/web has no pause: spec.updateStrategy.type OnDelete keeps pods from being replaced",
		"CronJob":     "cronjob/web has no rollout: spec.suspend keeps its Jobs from starting",
		"CloneSet":    "cloneset/web has no pause that is known here: only Deployments have",
	} {
		known := facts(workload(7, "49"))
		known.Reference = appv1alpha1.WorkloadReference{Kind: kind, Name: "web"}
		_, err := view.HoldOf(known, "")
		NewWithT(t).Expect(err).To(MatchError(says))
		_, err = view.ResumeOf(known, true, "")
		NewWithT(t).Expect(err).To(MatchError(says))
		NewWithT(t).Expect(view.SetPaused(known, known.Workload, true, "")).To(MatchError(says))
	}
	_, err := view.HoldOf(facts(nil), "")
	NewWithT(t).Expect(err).To(MatchError("deployment/web can't be read, so that it isn't known whether it is paused"))
}

func TestSetPausedSetsAndRemovesThePauseWithItsReason(t *testing.T) {
	g := NewWithT(t)
	object := workload(7, "49")
	g.Expect(view.SetPaused(facts(object), object, true, "waits")).To(Succeed())
	g.Expect(object.Object["spec"]).To(HaveKeyWithValue("paused", true))
	g.Expect(object.GetAnnotations()).To(HaveKeyWithValue("altershield.defense.antgroup.com/reason", "waits"))
	g.Expect(view.StatusOf(facts(object), now).Workload.PauseReason).To(Equal("waits"))
	g.Expect(view.SetPaused(facts(object), object, false, "")).To(Succeed())
	g.Expect(object.Object["spec"]).NotTo(HaveKey("paused"))
	g.Expect(object.GetAnnotations()).NotTo(HaveKey("altershield.defense.antgroup.com/reason"))

	bare := &unstructured.Unstructured{Object: map[string]any{"spec": "?"}}
	g.Expect(view.SetPaused(facts(bare), bare, true, "")).To(MatchError(ContainSubstring("setting /spec/paused of deployment/web")))
}

func TestAskHasItsOwnReasonOrNone(t *testing.T) {
	for name, row := range map[string]struct {
		state        func(*unstructured.Unstructured)
		reason, want string
	}{
		"its own":                {annotated("reason", "CHG-1"), "INC-99", "INC-99"},
		"none":                   {annotated("reason", "CHG-1"), "", ""},
		"that of a user's pause": {func(object *unstructured.Unstructured) { paused(object); annotated("reason", "waits")(object) }, "", "waits"},
	} {
		object := workload(7, "49", row.state)
		view.Ask(facts(object), object, "altershield.defense.antgroup.com/go-on", "7:2", row.reason)
		NewWithT(t).Expect(object.GetAnnotations()["altershield.defense.antgroup.com/reason"]).To(Equal(row.want), name)
		NewWithT(t).Expect(object.GetAnnotations()).To(HaveKeyWithValue("altershield.defense.antgroup.com/go-on", "7:2"), name)
	}
	asked := workload(7, "49", annotated("reason", "INC-99"))
	NewWithT(t).Expect(view.StatusOf(facts(asked), now).Workload.RequestReason).To(Equal("INC-99"))
}
