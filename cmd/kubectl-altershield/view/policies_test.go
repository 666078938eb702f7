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
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
	"github.com/traas-stack/altershield-operator/controllers/calendar"
	"github.com/traas-stack/altershield-operator/controllers/freeze"
)

func tier(value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"tier": value}}
}

func TestPoliciesSayWhatTheyDo(t *testing.T) {
	g := NewWithT(t)
	meta := metav1.ObjectMeta{Namespace: "shop", Name: "p"}
	list := view.PoliciesOf("deployment/web")
	list.AddRelease(&appv1alpha1.ReleasePolicy{ObjectMeta: meta, Spec: appv1alpha1.ReleasePolicySpec{Steps: []appv1alpha1.ReleaseStep{
		{Replicas: 1, Soak: &metav1.Duration{Duration: 5 * time.Minute}}, {Percent: 100, Approvals: 2},
	}}}, nil)
	list.AddRelease(&appv1alpha1.ReleasePolicy{ObjectMeta: meta, Spec: appv1alpha1.ReleasePolicySpec{StuckAfter: &metav1.Duration{Duration: time.Minute}}}, nil)
	list.AddVerification(&appv1alpha1.VerificationPolicy{ObjectMeta: meta, Spec: appv1alpha1.VerificationPolicySpec{VerificationTerms: appv1alpha1.VerificationTerms{
		Mode: "Enforce", Checks: []appv1alpha1.VerificationCheck{{Name: "pods"}, {Name: "errors"}},
	}}}, nil)
	for _, state := range []calendar.State{{Active: true, Until: now}, {Active: true}, {Next: now}, {}} {
		list.AddFreeze(freeze.Found{ChangeFreeze: &appv1alpha1.ChangeFreeze{ObjectMeta: meta, Spec: appv1alpha1.ChangeFreezeSpec{Action: "Park", Reason: "holidays"}}, State: state}, nil)
	}
	var does []string
	for _, policy := range list.Items {
		g.Expect(policy.Because).To(Equal("all workloads in namespace shop"))
		does = append(does, policy.Kind+" "+policy.Does)
	}
	g.Expect(does).To(Equal([]string{
		"ReleasePolicy steps: 1 (soak: 5m0s), 100% (approvals: 2)", "ReleasePolicy no steps; stuckAfter: 1m0s", "VerificationPolicy mode: Enforce; checks: pods, errors",
		"ChangeFreeze action: Park; on until 2026-11-22T16:41:52Z: holidays", "ChangeFreeze action: Park; on: holidays",
		"ChangeFreeze action: Park; from 2026-11-22T16:41:52Z: holidays", "ChangeFreeze action: Park; over: holidays",
	}))
}

func TestPoliciesSayWhySelected(t *testing.T) {
	object := workload(7, "49")
	object.SetLabels(map[string]string{"tier": "prod"})
	all := []appv1alpha1.WorkloadSelector{
		{Kind: "Deployment.apps", Name: "web"}, {Kind: "Deployment.apps", Selector: tier("prod")}, {Kind: "Deployment.apps"}, {Kind: "StatefulSet.apps"}, {Kind: "Deployment.apps", Name: "api"},
	}
	for name, row := range map[string]struct {
		namespaces     *metav1.LabelSelector
		workloads      []appv1alpha1.WorkloadSelector
		because, lists string
	}{
		"all":     {nil, nil, "all workloads in namespace system", "all workloads in namespace system"},
		"of any":  {&metav1.LabelSelector{}, nil, "all workloads in namespaces with any label", "all workloads in namespaces with any label"},
		"of prod": {tier("prod"), all[:1], "Deployment.apps web in namespaces with tier=prod", "Deployment.apps web in namespaces with tier=prod"},
		"some of all": {nil, all, "Deployment.apps web, Deployment.apps with tier=prod, each Deployment.apps in namespace system",
			"Deployment.apps web, Deployment.apps with tier=prod, each Deployment.apps, each StatefulSet.apps, Deployment.apps api in namespace system"},
	} {
		policy := &appv1alpha1.ReleasePolicy{
			ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "p"}, Spec: appv1alpha1.ReleasePolicySpec{NamespaceSelector: row.namespaces, Workloads: row.workloads},
		}
		list := view.PoliciesOf("deployment/web")
		list.AddRelease(policy, object)
		list.AddRelease(policy, nil)
		NewWithT(t).Expect(list.Items[0].Because).To(Equal(row.because), name)
		NewWithT(t).Expect(list.Items[1].Because).To(Equal(row.lists), name)
	}
}
