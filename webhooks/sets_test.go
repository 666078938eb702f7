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

package webhooks

import (
	"context"
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/daemonset"
	kind "github.com/traas-stack/altershield-operator/controllers/workload/deployment"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
)

// set makes the Deployment of these tests a set of another kind.
func set(kind string, strategy object) edit {
	return all(field(kind, "kind"), without("strategy", "spec"), field(strategy, "updateStrategy", "spec"))
}

func TestDefaulterEndsTheHoldOfASetWithTheNextRelease(t *testing.T) {
	const heldFrom = "altershield.defense.antgroup.com/held-from"
	partition := func(number int64) object {
		return object{"type": "RollingUpdate", "rollingUpdate": object{"partition": number}}
	}
	holding := all(stamped(versionOf123, "4"), suspended, held("4"), annotation("altershield.defense.antgroup.com/parked", `{"release":4}`))
	for _, row := range []struct {
		name         string
		kind         workload.Kind
		old, updated edit
		path         string
		value        any
	}{
		{"a StatefulSet gets the partition back that it had", statefulset.Kind{},
			all(set("StatefulSet", partition(2147483647)), annotation(heldFrom, `{"partition":3}`)),
			all(set("StatefulSet", partition(2147483647)), annotation(heldFrom, `{"partition":3}`)),
			"replace /spec/updateStrategy/rollingUpdate/partition", int32(3)},
		{"a StatefulSet without one gets 0", statefulset.Kind{},
			set("StatefulSet", partition(2147483647)), set("StatefulSet", partition(2147483647)),
			"replace /spec/updateStrategy/rollingUpdate/partition", int32(0)},
		{"what the user removes is remembered all the same", statefulset.Kind{},
			all(set("StatefulSet", partition(2147483647)), annotation(heldFrom, `{"partition":3}`)),
			set("StatefulSet", partition(2147483647)),
			"replace /spec/updateStrategy/rollingUpdate/partition", int32(3)},
		{"a partition that comes with the release stays", statefulset.Kind{},
			all(set("StatefulSet", partition(2147483647)), annotation(heldFrom, `{"partition":3}`)), set("StatefulSet", partition(1)), "", nil},
		{"a DaemonSet gets RollingUpdate back", daemonset.Kind{},
			set("DaemonSet", object{"type": "OnDelete"}), set("DaemonSet", object{"type": "OnDelete"}),
			"replace /spec/updateStrategy/type", "RollingUpdate"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			old, updated := deployment(t, all(holding, row.old)), deployment(t, all(holding, row.updated, repaired, ignoring))
			accounts := accountsOf(t, readerOf(t, interceptor.Funcs{})).of(row.kind)
			patcher := &defaulter{kind: row.kind, operator: operator, clock: accounts.clock, accounts: accounts, past: pastOf(nil, accounts).of(row.kind), freezes: freezesOf(t, accounts, row.kind),
				paces: pacesOf(t, pastOf(nil, accounts).of(row.kind), row.kind)}
			patch := operations(patcher.Handle(t.Context(), requestOf(t, old, updated)).Patches)
			g.Expect(patch).To(HaveKey("remove /metadata/annotations/altershield.defense.antgroup.com~1held"))
			g.Expect(patch).To(HaveKey("remove /metadata/annotations/altershield.defense.antgroup.com~1parked"))
			if row.path == "" {
				g.Expect(patch).NotTo(HaveKey(ContainSubstring("/spec/updateStrategy")))
				return
			}
			g.Expect(patch).To(HaveKeyWithValue(row.path, BeEquivalentTo(row.value)))
		})
	}
}

func TestDefaulterLeavesTheRollbackOfASetAtItsRevision(t *testing.T) {
	const (
		templateVersion = "/spec/template/metadata/labels/admission-webhook-altershield.antgroup.com~1version"
		version         = "add /metadata/labels/admission-webhook-altershield.antgroup.com~1version"
	)
	release := all(set("StatefulSet", object{"type": "RollingUpdate"}), stamped(versionOf123, "4"))
	back := `{"version":"` + versionOf123 + `","release":4,"to":"` + olderVersion + `","toRelease":5,"time":"2026-11-21T08:00:00Z"`
	unstamp := without("admission-webhook-altershield.antgroup.com/version", "spec", "template", "metadata", "labels")
	for _, row := range []struct {
		name, user string
		updated    edit
		labelled   string
		// template is what is written of the version label of the template.
		template map[string]any
	}{
		{"stamped by an earlier build of the operator", operator,
			all(repaired, templateLabel("admission-webhook-altershield.antgroup.com/version", olderVersion), rolledBack(back+"}")), olderVersion, nil},
		{"from before change control", operator, all(repaired, unstamp, rolledBack(back+`,"unstamped":true}`)), olderVersion, nil},
		{"that a user forges", "alice", all(repaired, unstamp, rolledBack(back+`,"unstamped":true}`)), versionOf1234,
			map[string]any{"add " + templateVersion: versionOf1234}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			accounts := accountsOf(t, readerOf(t, interceptor.Funcs{})).of(statefulset.Kind{})
			patcher := &defaulter{kind: statefulset.Kind{}, operator: operator, clock: accounts.clock, accounts: accounts, past: pastOf(nil, accounts).of(statefulset.Kind{}), freezes: freezesOf(t, accounts, statefulset.Kind{}),
				paces: pacesOf(t, pastOf(nil, accounts).of(statefulset.Kind{}), statefulset.Kind{})}
			request := requestOf(t, deployment(t, release), deployment(t, all(release, row.updated)))
			request.UserInfo.Username = row.user
			patch := operations(patcher.Handle(t.Context(), request).Patches)
			g.Expect(patch).To(HaveKeyWithValue(version, row.labelled))
			of := map[string]any{}
			for path, value := range patch {
				if strings.HasSuffix(path, templateVersion) {
					of[path] = value
				}
			}
			if row.template == nil {
				g.Expect(of).To(BeEmpty())
				return
			}
			g.Expect(of).To(Equal(row.template))
		})
	}
}

// Another webhook changes the template that a rollback restores, so that the API server asks again.
func TestStampUpdateNamesTheRollbackOfASetThatALaterWebhookChanges(t *testing.T) {
	release := all(set("StatefulSet", object{"type": "RollingUpdate"}), stamped(versionOf123, "4"))
	back := func(version string) string {
		return `{"version":"` + versionOf123 + `","release":4,"to":"` + version + `","toRelease":5,"time":"2026-11-21T08:00:00Z"`
	}
	labelled := func(version string) edit {
		return templateLabel("admission-webhook-altershield.antgroup.com/version", version)
	}
	unstamp := without("admission-webhook-altershield.antgroup.com/version", "spec", "template", "metadata", "labels")
	sidecar := templateLabel("sidecar", "injected")
	for name, row := range map[string]struct{ updated, change edit }{
		"of this build":                              {all(repaired, labelled(versionOf1234), rolledBack(back(versionOf1234)+"}")), sidecar},
		"of an earlier build":                        {all(repaired, labelled(olderVersion), rolledBack(back(olderVersion)+"}")), sidecar},
		"from before change control":                 {all(repaired, unstamp, rolledBack(back(olderVersion)+`,"unstamped":true}`)), sidecar},
		"of an earlier build, and changes it back":   {all(repaired, labelled(olderVersion), rolledBack(back(olderVersion)+"}")), nil},
		"from before change control, and back again": {all(repaired, unstamp, rolledBack(back(olderVersion)+`,"unstamped":true}`)), nil},
	} {
		t.Run(name, func(t *testing.T) {
			g, by := NewWithT(t), author{user: operator, isOperator: true}
			marksOfSet := func(edits ...edit) marks {
				return newMarks(statefulset.Kind{}, marksOf(t, deployment(t, edits...)).object)
			}
			old, wanted := marksOfSet(release), olderVersion
			last := marksOfSet(release, row.updated)
			again := func() {
				result, err := stampUpdate(old, last, by, now)
				g.Expect(err).NotTo(HaveOccurred())
				last = result
			}
			again()
			if row.change != nil {
				last.content = marksOfSet(release, row.updated, row.change).content
				var err error
				wanted, err = last.computedVersion()
				g.Expect(err).NotTo(HaveOccurred())
			}
			for range 2 {
				again()
				g.Expect(last.labels).To(HaveKeyWithValue("admission-webhook-altershield.antgroup.com/version", wanted))
				if row.change != nil {
					g.Expect(last.templateLabel("admission-webhook-altershield.antgroup.com/version")).To(Equal(wanted))
				}
			}
		})
	}
}

func TestDispatcherAnswersByTheKindOfTheReview(t *testing.T) {
	g := NewWithT(t)
	var asked []string
	dispatcher := dispatcher{workload.Registry{kind.Kind{}, statefulset.Kind{}}, readerOf(t, interceptor.Funcs{}), func(kind workload.Kind) admission.Handler {
		asked = append(asked, kind.GroupVersionKind().Kind)
		return admission.MultiValidatingHandler()
	}}
	review := func(group, name string) admission.Response {
		request := requestOf(t, deployment(t), deployment(t))
		request.Kind = metav1.GroupVersionKind{Group: group, Version: "v1", Kind: name}
		return dispatcher.Handle(t.Context(), request)
	}
	g.Expect(review("apps", "StatefulSet").Allowed).To(BeTrue())
	g.Expect(review("apps", "Deployment").Allowed).To(BeTrue())
	g.Expect(review("apps.kruise.io", "StatefulSet").Allowed).To(BeTrue(), "another group's")
	g.Expect(review("apps", "DaemonSet").Allowed).To(BeTrue(), "not under change control")
	g.Expect(asked).To(Equal([]string{"StatefulSet", "Deployment"}))
}

func TestDispatcherAdmitsKindsThatAreNotEnforced(t *testing.T) {
	for name, row := range map[string]struct {
		seen  client.Object
		kind  string
		asked bool
	}{
		"Deployments are enforced without a ControlledKind": {nil, "Deployment", true},
		"StatefulSets aren't":                               {nil, "StatefulSet", false},
		"Deployments are observed":                          {testkit.ControlledKind("deployments.apps", "Observe"), "Deployment", false},
		"Deployments are enforced":                          {testkit.ControlledKind("deployments.apps", "Enforce"), "Deployment", true},
		"StatefulSets are observed":                         {testkit.ControlledKind("statefulsets.apps", "Observe"), "StatefulSet", false},
		"StatefulSets are enforced":                         {testkit.ControlledKind("statefulsets.apps", "Enforce"), "StatefulSet", true},
		"DaemonSets are enforced, which says nothing of others": {
			testkit.ControlledKind("daemonsets.apps", "Enforce"), "StatefulSet", false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			builder := fake.NewClientBuilder().WithScheme(testkit.Scheme())
			if row.seen != nil {
				builder.WithObjects(row.seen)
			}
			asked := false
			dispatcher := dispatcher{workload.Registry{kind.Kind{}, statefulset.Kind{}}, builder.Build(), func(workload.Kind) admission.Handler {
				asked = true
				return admission.MultiValidatingHandler()
			}}
			request := requestOf(t, deployment(t), deployment(t, repaired))
			request.Kind = metav1.GroupVersionKind{Group: "apps", Version: "v1", Kind: row.kind}
			response := dispatcher.Handle(t.Context(), request)
			g.Expect(response.Allowed).To(BeTrue())
			g.Expect(response.Patches).To(BeEmpty())
			g.Expect(asked).To(Equal(row.asked))
		})
	}
}

func TestDispatcherTurnsAwayADeclaredKindThatItDoesNotKnowYet(t *testing.T) {
	admitted := func(status metav1.ConditionStatus) client.Object {
		controlled := testkit.ControlledKind("gadgets.example.com", "Enforce")
		controlled.Spec.BuiltIn = false
		controlled.Status.Conditions = []metav1.Condition{{Type: "Admitted", Status: status}}
		return controlled
	}
	for name, row := range map[string]struct {
		seen   client.Object
		denial string
	}{
		"whose webhooks are called":     {admitted("True"), "the operator has just started, and doesn't know ControlledKind gadgets.example.com yet: try again"},
		"but none that leaves control":  {admitted("False"), ""},
		"and none that is not declared": {admitted("True"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			g, request := NewWithT(t), requestOf(t, deployment(t), deployment(t, repaired))
			request.Kind = metav1.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Gadget"}
			request.Resource = metav1.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gadgets"}
			if name == "and none that is not declared" {
				request.Resource.Resource = "widgets"
			}
			cache := fake.NewClientBuilder().WithScheme(testkit.Scheme()).WithObjects(row.seen).Build()
			response := dispatcher{workload.Registry{kind.Kind{}}, cache, nil}.Handle(t.Context(), request)
			g.Expect(response.Allowed).To(Equal(row.denial == ""))
			if row.denial != "" {
				g.Expect(response.Result.Code).To(Equal(int32(503)))
				g.Expect(response.Result.Message).To(Equal(row.denial))
			}
		})
	}
}

func TestDispatcherFailsWhereTheModeIsUnknown(t *testing.T) {
	unread := readerOf(t, interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return errors.New("not synced")
	}})
	dispatcher := dispatcher{workload.Registry{kind.Kind{}}, unread, nil}
	request := requestOf(t, deployment(t), deployment(t))
	request.Kind = metav1.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	response := dispatcher.Handle(t.Context(), request)
	NewWithT(t).Expect(response.Allowed).To(BeFalse())
	NewWithT(t).Expect(response.Result.Message).To(Equal("reading ControlledKind deployments.apps: not synced"))
}
