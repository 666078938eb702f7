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
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/plugin"
)

func TestReconcileFailsAReleaseByACondition(t *testing.T) {
	g := NewWithT(t)
	record, policy := recordAt(2, version, "Success", "AllPodsPassed"), judged()
	policy.Spec.Checks = []appv1alpha1.VerificationCheck{{Name: "smoke", Type: "Condition", Condition: &appv1alpha1.ConditionCheck{
		APIVersion: "apps/v1", Kind: "DaemonSet", Name: "$workload-test", Type: "Passed",
	}}}
	record.Status.Verification = &appv1alpha1.ReleaseVerification{Policies: []appv1alpha1.AppliedPolicy{
		{Policy: "default/own", UID: policy.UID, VerificationTerms: policy.Spec.VerificationTerms},
	}}
	record.Status.Checks = []appv1alpha1.CheckResult{{Policy: "default/own", Name: "smoke", Type: "Condition", Mode: "Observe", Verdict: "Pending"}}
	test := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: record.Namespace, Name: "sleep-test"},
		Status: appsv1.DaemonSetStatus{Conditions: []appsv1.DaemonSetCondition{
			{Type: "Passed", Status: corev1.ConditionFalse, Reason: "Failed", Message: "2 of 12 tests"},
		}},
	}
	p := newPlane(t, append(sleepOf(1), record, policy, finishedPod(1), passedBatch(1), test), nil)
	p.Asker = &plugin.Asker{Live: p.api, Looks: p.Looks}
	p.reconcile()
	g.Expect(<-p.woken).To(Equal(record.Name))
	p.reconcile()
	found := p.checkOf("sleep")
	g.Expect(found.Verdict).To(BeEquivalentTo("Fail"))
	g.Expect(found.Message).To(Equal("DaemonSet sleep-test: Passed is False, Failed: 2 of 12 tests"))
	g.Expect(found.Pods).To(HaveLen(1))
}
