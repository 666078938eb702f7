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
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/plugin"
	"github.com/traas-stack/altershield-operator/controllers/source"
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
