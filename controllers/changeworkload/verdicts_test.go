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

package changeworkload

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/plugin"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

// verdictOn is a ChangeVerdict on a release of the record, as the operator creates it.
func verdictOn(name string, record *appv1alpha1.ChangeWorkload, release int64) *appv1alpha1.ChangeVerdict {
	return &appv1alpha1.ChangeVerdict{
		ObjectMeta: metav1.ObjectMeta{Namespace: record.Namespace, Name: name, UID: "v-1", OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "app.ops.cloud.alipay.com/v1alpha1", Kind: "ChangeWorkload", Name: record.Name, UID: record.UID},
		}},
		Spec: appv1alpha1.ChangeVerdictSpec{
			Workload: appv1alpha1.ReleasedWorkload{Kind: "Deployment.apps", Name: "sleep"}, Release: release, Version: version, Policy: "default/own", Check: "drift", Mode: "Observe",
		},
	}
}

// ofDrift is a verified record that a check still watches, whose answer is awaited.
func ofDrift() (*appv1alpha1.ChangeWorkload, *appv1alpha1.VerificationPolicy) {
	record, policy := recordAt(2, version, "Success", "AllPodsPassed"), judged()
	policy.Spec.Checks = []appv1alpha1.VerificationCheck{{Name: "drift", Type: "HTTP", HTTP: &appv1alpha1.HTTPCheck{
		SourceRef: appv1alpha1.SourceReference{Name: "drift"}, Answer: "Asynchronous",
	}}}
	record.Status.Verification = &appv1alpha1.ReleaseVerification{Policies: []appv1alpha1.AppliedPolicy{
		{Policy: "default/own", UID: policy.UID, VerificationTerms: policy.Spec.VerificationTerms},
	}}
	record.Status.Checks = []appv1alpha1.CheckResult{{Policy: "default/own", Name: "drift", Type: "HTTP", Mode: "Observe", Verdict: "Pending"}}
	return record, policy
}

func TestReconcileFailsAReleaseByAVerdict(t *testing.T) {
	g := NewWithT(t)
	record, policy := ofDrift()
	reported := verdictOn(decide.ChangeVerdictName(record.Name, 2, policy.UID, "drift"), record, 2)
	reported.Status = &appv1alpha1.ChangeVerdictStatus{Verdict: "Fail", Reason: "Drift", Reporter: "bob", ReportedAt: metav1.NewTime(testkit.Now())}
	p := newPlane(t, append(sleepOf(1), record, policy, finishedPod(1), passedBatch(1), reported), nil)
	p.Asker = &plugin.Asker{Client: p.Client, Live: p.api, Looks: p.Looks}
	p.reconcile()
	var found appv1alpha1.ChangeWorkload
	g.Expect(p.api.Get(t.Context(), client.ObjectKeyFromObject(record), &found)).To(Succeed())
	g.Expect(found.Status.Checks).To(HaveLen(1))
	g.Expect(found.Status.Checks[0].Verdict).To(BeEquivalentTo("Fail"))
	g.Expect(found.Status.Checks[0].Message).To(Equal("bob reports Fail: Drift"))
	g.Expect(found.Status.Checks[0].Pods).To(HaveLen(1))
}

func TestReconcileRemovesTheVerdictsOfEarlierReleases(t *testing.T) {
	g := NewWithT(t)
	record := recordAt(2, version, "Success", "AllPodsPassed")
	other := recordAt(3, older, "Success", "AllPodsPassed")
	gone := verdictOn("gone", record, 1)
	gone.DeletionTimestamp, gone.Finalizers = &metav1.Time{Time: testkit.Now()}, []string{"example.com/kept"}
	p := newPlane(t, append(sleepOf(1), record, finishedPod(1), passedBatch(1), gone,
		verdictOn("earlier", record, 1), verdictOn("present", record, 2), verdictOn("other", other, 1)), nil)
	p.reconcile()
	var left appv1alpha1.ChangeVerdictList
	g.Expect(p.api.List(t.Context(), &left)).To(Succeed())
	var names []string
	for i := range left.Items {
		names = append(names, left.Items[i].Name)
	}
	g.Expect(names).To(ConsistOf("gone", "present", "other"))
}

func TestReportedPassesVerdicts(t *testing.T) {
	g, record := NewWithT(t), recordAt(2, version, "Success", "AllPodsPassed")
	none, verdict := verdictOn("sleep", record, 2), verdictOn("sleep", record, 2)
	verdict.Status = &appv1alpha1.ChangeVerdictStatus{Verdict: "Pass"}
	passes := reported()
	g.Expect(passes.Update(event.UpdateEvent{ObjectOld: none, ObjectNew: verdict})).To(BeTrue())
	g.Expect(passes.Update(event.UpdateEvent{ObjectOld: none, ObjectNew: none})).To(BeFalse())
	g.Expect(passes.Update(event.UpdateEvent{ObjectOld: verdict, ObjectNew: verdict})).To(BeFalse())
	g.Expect(passes.Update(event.UpdateEvent{ObjectOld: record, ObjectNew: record})).To(BeFalse())
	g.Expect(passes.Create(event.CreateEvent{Object: verdict})).To(BeFalse())
	g.Expect(passes.Delete(event.DeleteEvent{Object: none})).To(BeFalse())
}
