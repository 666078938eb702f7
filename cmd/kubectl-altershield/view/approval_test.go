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

func TestApprovalsAreOfThePresentRelease(t *testing.T) {
	g := NewWithT(t)
	for decision, kind := range map[appv1alpha1.ApprovalDecision]view.RequestKind{"Approve": "ApproveRequest", "Deny": "DenyRequest"} {
		request, approval, err := view.ApprovalOf(facts(workload(7, "49"), record(7, "49"), record(6, "48")), decision, "CHG-4711")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(request).To(Equal(view.Request{
			Kind: kind, APIVersion: "cli.altershield/v1", Namespace: "shop", Workload: "web", Object: "deployment/web",
			From: view.Side{Release: 7, Version: version("49")}, By: "alice@corp", Reason: "CHG-4711", Changes: []string{"spec.containers[web].image: web:1.8 -> web:1.9"},
		}))
		g.Expect(approval).To(Equal(&appv1alpha1.ChangeApproval{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", GenerateName: "web-"},
			Spec: appv1alpha1.ChangeApprovalSpec{
				Workload: appv1alpha1.ReleasedWorkload{Kind: "Deployment.apps", Name: "web"}, Version: version("49"), Release: 7, Decision: decision, Reason: "CHG-4711",
			},
		}))
	}
	request, _, err := view.ApprovalOf(facts(workload(7, "49"), record(6, "48")), "Approve", "")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(request.By).To(BeEmpty(), "there is no record yet")
	known := facts(nil, record(6, "48"), record(7, "49"))
	known.Notes = []view.Note{{Verb: "get", Resource: "deployments", Namespace: "shop", Lacks: "workload"}}
	request, approval, err := view.ApprovalOf(known, "Approve", "")
	g.Expect(err).NotTo(HaveOccurred(), "without the right to get the workload its records tell")
	g.Expect(request.From).To(Equal(view.Side{Release: 7, Version: version("49")}))
	g.Expect(approval.Spec).To(And(HaveField("Release", BeEquivalentTo(7)), HaveField("Version", version("49"))))
	_, _, err = view.ApprovalOf(facts(nil, record(7, "49")), "Approve", "")
	g.Expect(err).To(MatchError("deployment/web has no release under change control, so that there is nothing to approve"))
}
