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

package changepod

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

func TestOrderChangedPassesWhatABatchWaitsFor(t *testing.T) {
	open := appv1alpha1.ChangeWorkloadStatus{Order: &appv1alpha1.ChangeOrder{BizExecOrderID: "1", State: "Open"}}
	early := *open.DeepCopy()
	early.EarlyVerdicts = []appv1alpha1.EarlyVerdict{{ChangePodID: "node-1", Stage: "PRE", Verdict: "pass"}}
	due := *open.DeepCopy()
	due.Conditions = []metav1.Condition{{Type: "Verified", Status: "Unknown", Reason: "AwaitingOrder"}}
	held := *open.DeepCopy()
	held.Status, held.Verification = "Running", &appv1alpha1.ReleaseVerification{Policies: []appv1alpha1.AppliedPolicy{{}}}
	held.Verification.Policies[0].Mode = "Enforce"
	held.Verification.Policies[0].Checks = []appv1alpha1.VerificationCheck{{Name: "smoke", OnInconclusive: "Hold"}}
	suspended := *held.DeepCopy()
	suspended.Status = "Suspend"
	counted := *open.DeepCopy()
	counted.Counts.Passed = 1
	for _, row := range []struct {
		name          string
		before, after appv1alpha1.ChangeWorkloadStatus
		passes        bool
	}{
		{"the release is observed", appv1alpha1.ChangeWorkloadStatus{}, appv1alpha1.ChangeWorkloadStatus{ObservedRelease: 1}, true},
		{"its order opens", appv1alpha1.ChangeWorkloadStatus{}, open, true},
		{"a verdict came early", open, early, true},
		{"the check of the order is due", open, due, true},
		{"a suspension ends the hold of a check", held, suspended, true},
		{"pods are counted", open, counted, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			before, after := &appv1alpha1.ChangeWorkload{Status: row.before}, &appv1alpha1.ChangeWorkload{Status: row.after}
			g.Expect(checkChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})).To(Equal(row.passes))
			g.Expect(checkChanged().Create(event.CreateEvent{Object: after})).To(BeFalse())
			g.Expect(checkChanged().Delete(event.DeleteEvent{Object: after})).To(BeFalse())
		})
	}
}

func TestConcernedListsTheBatchesThatAreCheckedOrHaveToShowAFailure(t *testing.T) {
	g := NewWithT(t)
	batch := func(name, workload, status string) client.Object {
		changePod := &appv1alpha1.ChangePod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
		changePod.Spec.ChangeWorkloadID, changePod.Status.Status = workload, appv1alpha1.ChangePodPhase(status)
		return changePod
	}
	unjudged := batch("unjudged", "web", "ExecuteDone").(*appv1alpha1.ChangePod)
	unjudged.Spec.ServerCheck, unjudged.Status.ServerResults = true, []appv1alpha1.PodSummary{{Pod: "web-1", Verdict: "unpass"}}
	late := batch("late", "web", "ExecuteDone").(*appv1alpha1.ChangePod)
	late.Status.Message, late.Status.ChangePodID = "PostTimeout", "node-1"
	reconciler := &Reconciler{Client: testkit.NewFake(t, unjudged, late,
		batch("new", "web", ""), batch("waiting", "web", "PostWait"), batch("done", "web", "ExecuteDone"), batch("other", "api", "PostWait"))}
	workload := &appv1alpha1.ChangeWorkload{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	workload.Status.EarlyVerdicts = []appv1alpha1.EarlyVerdict{{ChangePodID: "node-1", Stage: "POST", Verdict: "unpass"}}
	g.Expect(reconciler.concerned(t.Context(), workload)).To(ConsistOf(
		reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "new"}},
		reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "waiting"}},
		reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "unjudged"}},
		reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "late"}},
	))
	reconciler.Client = fake.NewClientBuilder().WithScheme(testkit.Scheme()).Build()
	g.Expect(reconciler.concerned(t.Context(), workload)).To(BeEmpty(), "a cache without indexes can't be asked")
}
