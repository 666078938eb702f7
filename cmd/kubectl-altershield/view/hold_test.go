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
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
	kinds "github.com/traas-stack/altershield-operator/controllers/workload"
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
			"the operator holds the rollout of deployment/web already: kubectl altershield why deployment/web -n shop shows for what",
			"the operator holds the rollout of deployment/web, no user has paused it: kubectl altershield why deployment/web -n shop shows for what; --override resumes it all the same"},
		"a pause until the next step": {heldForStep,
			"release 7 of deployment/web is rolled out in steps: kubectl altershield freeze lock LOCK deployment/web -n shop --running=Hold --reason WHY keeps it at its step",
			"the operator holds the rollout of deployment/web, no user has paused it: kubectl altershield why deployment/web -n shop shows for what; --override resumes it all the same"},
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

func TestKindsWithoutAPauseSayWhy(t *testing.T) {
	for name, row := range map[string]struct{ apiVersion, kind, says string }{
		"a Job":                      {"batch/v1", "Job", "job/web has no rollout: spec.suspend would delete its pods"},
		"a kind without hold":        {"apps.kruise.io/v1alpha1", "CloneSet", "cloneset.apps.kruise.io/web has no pause: there is no spec.hold in the ControlledKind clonesets.apps.kruise.io"},
		"another kind of that name":  {"example.com/v1", "Deployment", "deployment.example.com/web has no pause: there is no spec.hold in the ControlledKind deployments.example.com"},
		"another kind without group": {"v1", "Service", "service/web has no pause: there is no spec.hold in the ControlledKind services.v1"},
	} {
		known := facts(workload(7, "49"))
		known.Reference = appv1alpha1.WorkloadReference{APIVersion: row.apiVersion, Kind: row.kind, Name: "web"}
		_, err := view.HoldOf(known, "")
		NewWithT(t).Expect(err).To(MatchError(row.says), name)
		_, err = view.ResumeOf(known, true, "")
		NewWithT(t).Expect(err).To(MatchError(row.says), name)
		NewWithT(t).Expect(view.SetPaused(known, known.Workload, true, "")).To(MatchError(row.says), name)
	}
	_, err := view.HoldOf(facts(nil), "")
	NewWithT(t).Expect(err).To(MatchError("deployment/web can't be read, so that it isn't known whether it is paused"))
	known := factsOf("batch.volcano.sh/v1alpha1", "Job", map[string]any{})
	known.Pauser = lever{"", []kinds.Operation{{Op: "add", Path: "/spec/paused", Value: true}}}
	_, err = view.HoldOf(known, "")
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), "a declared kind of that name")
}

// factsOf returns the facts of a workload of another kind.
func factsOf(apiVersion, kind string, spec map[string]any, states ...func(*unstructured.Unstructured)) view.Facts {
	object := workload(7, "49")
	object.SetAPIVersion(apiVersion)
	object.SetKind(kind)
	object.Object["spec"] = spec
	for _, state := range states {
		state(object)
	}
	known := facts(object)
	known.Reference = appv1alpha1.WorkloadReference{APIVersion: apiVersion, Kind: kind, Name: "web"}
	return known
}

func strategy(fields map[string]any) map[string]any {
	return map[string]any{"replicas": int64(4), "updateStrategy": fields}
}

func TestHoldAndResumeOfOtherKindsSetWhatHoldsThem(t *testing.T) {
	for name, row := range map[string]struct {
		known        view.Facts
		hold, resume []string
		spec         map[string]any
	}{
		"the partition of a StatefulSet": {factsOf("apps/v1", "StatefulSet", strategy(map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"partition": int64(0)}})),
			[]string{"spec.updateStrategy.rollingUpdate.partition: 2147483647"}, []string{"spec.updateStrategy.rollingUpdate.partition: 0"},
			strategy(map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"partition": int64(2147483647)}})},
		"that of one without a strategy": {factsOf("apps/v1", "StatefulSet", map[string]any{}), []string{`spec.updateStrategy.rollingUpdate: {"partition":2147483647}`},
			[]string{"spec.updateStrategy.rollingUpdate.partition: 0"},
			map[string]any{"updateStrategy": map[string]any{"rollingUpdate": map[string]any{"partition": int64(2147483647)}}}},
		"the strategy of a DaemonSet": {factsOf("apps/v1", "DaemonSet", strategy(map[string]any{"type": "RollingUpdate"})), []string{`spec.updateStrategy.type: "OnDelete"`},
			[]string{`spec.updateStrategy.type: "RollingUpdate"`}, strategy(map[string]any{"type": "OnDelete"})},
		"the schedule of a CronJob": {factsOf("batch/v1", "CronJob", map[string]any{}), []string{"spec.suspend: true"}, []string{"spec.suspend: false"}, map[string]any{"suspend": true}},
	} {
		g := NewWithT(t)
		request, err := view.HoldOf(row.known, "waits")
		g.Expect(err).NotTo(HaveOccurred(), name)
		g.Expect(request.Changes).To(Equal(row.hold), name)
		g.Expect(view.SetPaused(row.known, row.known.Workload, true, "waits")).To(Succeed(), name)
		g.Expect(row.known.Workload.Object["spec"]).To(Equal(row.spec), name)
		g.Expect(view.StatusOf(row.known, now).Workload).To(And(HaveField("Paused", true), HaveField("PauseReason", "waits"), HaveField("Held", false)), name)
		_, err = view.HoldOf(row.known, "")
		g.Expect(err).To(MatchError(ContainSubstring("is paused by a user already")), name)
		request, err = view.ResumeOf(row.known, false, "")
		g.Expect(err).NotTo(HaveOccurred(), name)
		g.Expect(request.Changes).To(Equal(row.resume), name)
		g.Expect(view.SetPaused(row.known, row.known.Workload, false, "")).To(Succeed(), name)
		g.Expect(view.StatusOf(row.known, now).Workload.Paused).To(BeFalse(), name)
	}
}

func TestHoldAndResumeOfOtherKindsLeaveWhatTheyCannotRestore(t *testing.T) {
	partition := func(value int64) map[string]any {
		return strategy(map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"partition": value}})
	}
	_, err := view.HoldOf(factsOf("apps/v1", "StatefulSet", partition(3)), "")
	NewWithT(t).Expect(err).To(MatchError(`a pause of statefulset/web would overwrite what resume can't restore: {"partition":3}; set the field yourself`))
	_, err = view.HoldOf(factsOf("apps/v1", "StatefulSet", partition(2), annotated("paced", `{"release":7,"policy":"shop/careful","lever":"Partition"}`)), "")
	NewWithT(t).Expect(err).To(MatchError("release 7 of statefulset/web is rolled out in steps: " +
		"kubectl altershield freeze lock LOCK statefulset/web -n shop --running=Hold --reason WHY keeps it at its step"))
	_, err = view.ResumeOf(factsOf("apps/v1", "StatefulSet", strategy(map[string]any{"type": "OnDelete"})), false, "")
	NewWithT(t).Expect(err).To(MatchError("statefulset/web is paused by its strategy, not by a value that hold sets: change the strategy yourself"))

	held := factsOf("apps/v1", "StatefulSet", partition(2147483647), annotated("held", "7"), annotated("held-from", `{"partition":3}`))
	_, err = view.ResumeOf(held, false, "")
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("the operator holds the rollout of statefulset/web, no user has paused it")))
	request, err := view.ResumeOf(held, true, "")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(request.Changes).To(Equal([]string{"spec.updateStrategy.rollingUpdate.partition: 3"}), "the partition of the user")
}

// lever is the pause of a declared kind.
type lever struct {
	originals string
	pause     []kinds.Operation
}

func (lever) Paused(client.Object) bool               { return false }
func (l lever) Pause(client.Object) []kinds.Operation { return l.pause }
func (l lever) Originals(client.Object) string        { return l.originals }
func (lever) Resume(client.Object, string) []kinds.Operation {
	return []kinds.Operation{{Op: "remove", Path: "/spec/paused"}}
}

func TestHoldOfADeclaredKindIsThatOfItsControlledKind(t *testing.T) {
	g := NewWithT(t)
	known := factsOf("apps.kruise.io/v1alpha1", "CloneSet", map[string]any{"paused": false})
	known.Pauser = lever{`{"/spec/paused":false,"/spec/strategy":null}`, []kinds.Operation{{Op: "replace", Path: "/spec/paused", Value: true}, {Op: "remove", Path: "/spec/x"}}}
	request, err := view.HoldOf(known, "")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(request.Changes).To(Equal([]string{"spec.paused: true", "spec.x: removed"}))
	g.Expect(view.SetPaused(known, known.Workload, true, "")).To(Succeed())
	g.Expect(known.Workload.Object["spec"]).To(Equal(map[string]any{"paused": true}))

	known.Pauser = lever{}
	_, err = view.HoldOf(known, "")
	g.Expect(err).To(MatchError("cloneset.apps.kruise.io/web can't be paused: the value that holds it depends on the object before its release"))
	known.Pauser = lever{`{"/spec/traffic":[1]}`, nil}
	_, err = view.HoldOf(known, "")
	g.Expect(err).To(MatchError(`a pause of cloneset.apps.kruise.io/web would overwrite what resume can't restore: {"/spec/traffic":[1]}; set the field yourself`))
	known.Pauser = lever{"", []kinds.Operation{{Op: "add", Path: "/spec/paused", Value: func() {}}}}
	g.Expect(view.SetPaused(known, known.Workload, true, "")).To(MatchError(ContainSubstring("writing the value of /spec/paused")))
}

func TestSetPausedSetsAndRemovesThePauseWithItsReason(t *testing.T) {
	g := NewWithT(t)
	object := workload(7, "49")
	g.Expect(view.SetPaused(facts(object), object, true, "waits")).To(Succeed())
	g.Expect(object.Object["spec"]).To(HaveKeyWithValue("paused", true))
	g.Expect(object.GetAnnotations()).To(HaveKeyWithValue("altershield.defense.antgroup.com/pause-reason", "waits"))
	g.Expect(view.StatusOf(facts(object), now).Workload.PauseReason).To(Equal("waits"))
	g.Expect(view.SetPaused(facts(object), object, false, "")).To(Succeed())
	g.Expect(object.Object["spec"]).NotTo(HaveKey("paused"))
	g.Expect(object.GetAnnotations()).NotTo(HaveKey("altershield.defense.antgroup.com/pause-reason"))

	bare := &unstructured.Unstructured{Object: map[string]any{"spec": "?"}}
	g.Expect(view.SetPaused(facts(bare), bare, true, "")).To(MatchError(ContainSubstring("pausing or resuming deployment/web: setting /spec/paused")))
}

func TestAskHasItsOwnReasonOrNone(t *testing.T) {
	for reason, want := range map[string]string{"INC-99": "INC-99", "": ""} {
		object := workload(7, "49", paused, annotated("reason", "CHG-1"), annotated("pause-reason", "waits"))
		view.Ask(object, "altershield.defense.antgroup.com/go-on", "7:2", reason)
		NewWithT(t).Expect(object.GetAnnotations()["altershield.defense.antgroup.com/reason"]).To(Equal(want))
		NewWithT(t).Expect(object.GetAnnotations()).To(HaveKeyWithValue("altershield.defense.antgroup.com/go-on", "7:2"))
		NewWithT(t).Expect(object.GetAnnotations()).To(HaveKeyWithValue("altershield.defense.antgroup.com/pause-reason", "waits"))
	}
}

func TestStatusHasTheReasonsOfAPauseAndOfARequest(t *testing.T) {
	both := func(object *unstructured.Unstructured) {
		annotated("pause-reason", "waits")(object)
		annotated("go-on", "7:2")(object)
		annotated("go-on-reason", "7:2 INC-99")(object)
	}
	for name, row := range map[string]struct {
		states         []func(*unstructured.Unstructured)
		pause, request string
	}{
		"of both":               {[]func(*unstructured.Unstructured){paused, both}, "waits", "INC-99"},
		"of a request":          {[]func(*unstructured.Unstructured){both}, "", "INC-99"},
		"of a rollback":         {[]func(*unstructured.Unstructured){annotated("rollback", "true"), annotated("rollback-reason", "true INC-99")}, "", "INC-99"},
		"of the end of a pause": {[]func(*unstructured.Unstructured){annotated("pause-reason", "the database is back")}, "", "the database is back"},
		"annotated by hand":     {[]func(*unstructured.Unstructured){annotated("reason", "INC-99")}, "", "INC-99"},
		"a pause by hand":       {[]func(*unstructured.Unstructured){paused, annotated("reason", "waits")}, "waits", ""},
		"of an earlier request": {[]func(*unstructured.Unstructured){annotated("go-on", "7:3"), annotated("go-on-reason", "7:2 INC-99")}, "", ""},
	} {
		shown := view.StatusOf(facts(workload(7, "49", row.states...)), now).Workload
		NewWithT(t).Expect(shown.PauseReason).To(Equal(row.pause), name)
		NewWithT(t).Expect(shown.RequestReason).To(Equal(row.request), name)
	}
}
