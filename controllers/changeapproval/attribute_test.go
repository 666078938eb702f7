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

package changeapproval

import (
	"cmp"
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	review "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/pace"
	"github.com/traas-stack/altershield-operator/controllers/platform/bounded"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
)

const (
	present  = "6a8ff823a5011291b0f02a1d83c2222d"
	previous = "c6c45d23c098bdf181853a85b60b5d74"
)

// web returns a Deployment at its twelfth release, which alice made.
func web() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "web", UID: "d-1", Labels: map[string]string{"admission-webhook-altershield.antgroup.com/version": present},
		Annotations: map[string]string{
			"altershield.defense.antgroup.com/release":     "12",
			"altershield.defense.antgroup.com/released-by": `{"user":"alice","time":"2026-11-21T10:00:00Z","version":"` + present + `","release":12}`,
		},
	}}
}

func TestAttributorRecordsOrDeniesAnApproval(t *testing.T) {
	const robot = "system:serviceaccount:ci:robot"
	naming := func(users, groups []string) *appv1alpha1.Approvers {
		return &appv1alpha1.Approvers{Users: users, Groups: groups}
	}
	type spec = appv1alpha1.ChangeApprovalSpec
	for _, row := range []struct {
		name      string
		user      string
		groups    []string
		change    func(*spec)
		workload  func(*appsv1.Deployment)
		approvers *appv1alpha1.Approvers
		// recorded is the operation on the groups, empty for none.
		recorded string
		// recordedAs is the name that the approval has, empty for the user's.
		recordedAs string
		denial     string
	}{
		{name: "of another user", user: "bob"},
		{name: "that names somebody else", user: "bob", change: func(spec *spec) { spec.ApprovedBy, spec.UID = "carol", "d-7" }},
		{name: "that names groups", user: "bob", change: func(spec *spec) { spec.Groups = []string{"sre"} }, recorded: `{"op":"remove","path":"/spec/groups"}`},
		{name: "that names another group", user: "bob", groups: []string{"dev", "sre"}, approvers: naming(nil, []string{"sre", "managers"}),
			change: func(spec *spec) { spec.Groups = []string{"managers"} }, recorded: `{"op":"add","path":"/spec/groups","value":["sre"]}`},
		{name: "of the author", user: "alice", denial: "alice made release 12 of deployment web, so that another user has to approve it"},
		{name: "of the author, which denies the release", user: "alice", change: func(spec *spec) { spec.Decision = "Deny" }},
		{name: "of a release whose author is unknown", user: "bob", workload: func(web *appsv1.Deployment) {
			delete(web.Annotations, "altershield.defense.antgroup.com/released-by")
		}, denial: "the author of release 12 of deployment web is unknown: release it again to have it approved"},
		{name: "of an earlier release", user: "bob", change: func(spec *spec) { spec.Release = 11 },
			denial: "deployment web is at release 12 of version " + present + ", not at release 11 of version " + present},
		{name: "of another version", user: "bob", change: func(spec *spec) { spec.Version = previous },
			denial: "deployment web is at release 12 of version " + present + ", not at release 12 of version " + previous},
		{name: "of a workload without a release", user: "bob", workload: func(web *appsv1.Deployment) { web.Labels, web.Annotations = nil, nil },
			denial: "deployment web has no release: none was made under change control"},
		{name: "of a workload that isn't there", user: "bob", change: func(spec *spec) { spec.Workload.Name = "shop" },
			denial: "there is no deployment shop in namespace shop"},
		{name: "of a kind that isn't controlled", user: "bob", change: func(spec *spec) { spec.Workload.Kind = "Pod" },
			denial: "Pod is not a kind of workload under change control, such as Deployment.apps"},
		{name: "of a named user", user: "bob", approvers: naming([]string{"bob"}, nil)},
		{name: "of a user of a named group", user: "bob", groups: []string{"sre"}, approvers: naming(nil, []string{"sre"}),
			recorded: `{"op":"add","path":"/spec/groups","value":["sre"]}`},
		{name: "of a user who isn't named", user: "bob", groups: []string{"dev"}, approvers: naming([]string{"carol"}, []string{"sre"}),
			denial: "bob is not one of the approvers of ReleasePolicy shop/careful, which concerns deployment web"},
		{name: "that denies the release, of a user who isn't named", user: "bob", approvers: naming([]string{"carol"}, nil),
			change: func(spec *spec) { spec.Decision = "Deny" },
			denial: "bob is not one of the approvers of ReleasePolicy shop/careful, which concerns deployment web"},
		{name: "of a service account", user: robot,
			denial: "service account " + robot + " can't approve releases of deployment web: ReleasePolicy shop/careful doesn't name it in spec.approvers.users"},
		{name: "of a service account of a named group", user: robot, groups: []string{"system:serviceaccounts"}, approvers: naming(nil, []string{"system:serviceaccounts"}),
			denial: "service account " + robot + " can't approve releases of deployment web: ReleasePolicy shop/careful doesn't name it in spec.approvers.users"},
		{name: "of a named service account", user: robot, approvers: naming([]string{robot}, nil)},
		{name: "of a user with a long name", user: strings.Repeat("b", 300), recordedAs: strings.Repeat("b", 250) + "..."},
		{name: "of an author with a long name", user: strings.Repeat("b", 300), workload: func(web *appsv1.Deployment) {
			web.Annotations["altershield.defense.antgroup.com/released-by"] = `{"user":"` + strings.Repeat("b", 300) + `","time":"2026-11-21T10:00:00Z","version":"` + present + `","release":12}`
		}, denial: strings.Repeat("b", 300) + " made release 12 of deployment web, so that another user has to approve it"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			object := web()
			if row.workload != nil {
				row.workload(object)
			}
			policy := &appv1alpha1.ReleasePolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "careful"}}
			policy.Spec.Approvers = row.approvers
			approval := &appv1alpha1.ChangeApproval{ObjectMeta: metav1.ObjectMeta{Name: "ok"}, Spec: spec{
				Workload: appv1alpha1.ReleasedWorkload{Kind: "Deployment.apps", Name: "web"}, Version: present, Release: 12, Decision: "Approve",
			}}
			if row.change != nil {
				row.change(&approval.Spec)
			}
			kube := testkit.NewFake(t, object, policy)
			response := handle(t, &Attributor{
				Kinds: workload.Registry{deployment.Kind{}}, Live: kube, Policies: pace.Reader{Namespaces: kube, Policies: kube, Namespace: "system"},
			}, approval, authenticationv1.UserInfo{Username: row.user, Groups: row.groups})
			g.Expect(response.Allowed).To(Equal(row.denial == ""))
			if row.denial != "" {
				g.Expect(response.Result.Message).To(Equal(row.denial))
				return
			}
			g.Expect(response.Warnings).To(BeEmpty())
			wanted := []string{`{"op":"add","path":"/spec/approvedBy","value":"` + cmp.Or(row.recordedAs, row.user) + `"}`, `{"op":"add","path":"/spec/uid","value":"d-1"}`}
			if row.recorded != "" {
				wanted = append([]string{row.recorded}, wanted...)
			}
			var operations []string
			for _, operation := range response.Patches {
				operations = append(operations, operation.Json())
			}
			g.Expect(operations).To(Equal(wanted))
		})
	}
}

func TestAttributorWarnsWithoutAPolicy(t *testing.T) {
	g, kube := NewWithT(t), testkit.NewFake(t, web())
	attributor := &Attributor{Kinds: workload.Registry{deployment.Kind{}}, Live: kube, Policies: pace.Reader{Namespaces: kube, Policies: kube, Namespace: "system"}}
	approval := &appv1alpha1.ChangeApproval{Spec: appv1alpha1.ChangeApprovalSpec{
		Workload: appv1alpha1.ReleasedWorkload{Kind: "Deployment.apps", Name: "web"}, Version: present, Release: 12,
	}}
	response := handle(t, attributor, approval, authenticationv1.UserInfo{Username: "bob"})
	g.Expect(response.Allowed).To(BeTrue())
	g.Expect(response.Warnings).To(Equal([]string{"no ReleasePolicy concerns deployment web: its releases need no approvals"}))
	response = handle(t, attributor, approval, authenticationv1.UserInfo{Username: "system:serviceaccount:ci:robot"})
	g.Expect(response.Result.Message).To(Equal(
		"service account system:serviceaccount:ci:robot can't approve releases of deployment web: no ReleasePolicy names it in spec.approvers.users"))
}

func TestAttributorReadsAtALimitedRate(t *testing.T) {
	g, kube := NewWithT(t), testkit.NewFake(t, web())
	attributor := &Attributor{
		Kinds: workload.Registry{deployment.Kind{}}, Live: bounded.NewReader(kube, clocktesting.NewFakePassiveClock(testkit.Now())),
		Policies: pace.Reader{Namespaces: kube, Policies: kube, Namespace: "system"},
	}
	approval := &appv1alpha1.ChangeApproval{Spec: appv1alpha1.ChangeApprovalSpec{
		Workload: appv1alpha1.ReleasedWorkload{Kind: "Deployment.apps", Name: "web"}, Version: present, Release: 12,
	}}
	for range 200 {
		g.Expect(handle(t, attributor, approval, authenticationv1.UserInfo{Username: "bob"}).Allowed).To(BeTrue())
	}
	response := handle(t, attributor, approval, authenticationv1.UserInfo{Username: "bob"})
	g.Expect(response.Result.Message).To(Equal("reading deployment web in namespace shop: too many live reads in this second: try again"))
}

// handle returns the answer to the creation of an approval in the namespace shop.
func handle(t *testing.T, attributor *Attributor, approval *appv1alpha1.ChangeApproval, user authenticationv1.UserInfo) review.Response {
	t.Helper()
	raw, err := json.Marshal(approval)
	if err != nil {
		t.Fatal(err)
	}
	return attributor.Handle(t.Context(), review.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Operation: "CREATE", Namespace: "shop", Name: "ok", UserInfo: user, Object: runtime.RawExtension{Raw: raw},
	}})
}
