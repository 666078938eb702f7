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
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/testkit/kinds"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/cronjob"
	"github.com/traas-stack/altershield-operator/controllers/workload/daemonset"
	kind "github.com/traas-stack/altershield-operator/controllers/workload/deployment"
	"github.com/traas-stack/altershield-operator/controllers/workload/job"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
)

const (
	gateKey   = "altershield.defense.antgroup.com/gate"
	pacedKey  = "altershield.defense.antgroup.com/paced"
	goOnKey   = "altershield.defense.antgroup.com/go-on"
	goOnByKey = "altershield.defense.antgroup.com/go-on-by"

	setGate     = "add /spec/template/metadata/labels/altershield.defense.antgroup.com~1gate"
	dropGate    = "remove /spec/template/metadata/labels/altershield.defense.antgroup.com~1gate"
	dropPaced   = "remove /metadata/annotations/altershield.defense.antgroup.com~1paced"
	unavailable = "add /spec/strategy/rollingUpdate/maxUnavailable"
	partition   = "add /spec/updateStrategy/rollingUpdate/partition"
)

// careful is a ReleasePolicy of the namespace default, with gates installed.
func careful(changes ...func(*appv1alpha1.ReleasePolicy)) *appv1alpha1.ReleasePolicy {
	policy := &appv1alpha1.ReleasePolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "careful"},
		Spec: appv1alpha1.ReleasePolicySpec{
			Traffic: "With", Capacity: "Keep", OnFail: "Hold",
			Steps: []appv1alpha1.ReleaseStep{{Replicas: 1}, {Percent: 25}, {Percent: 100, Approvals: 1}},
		},
		Status: appv1alpha1.ReleasePolicyStatus{Conditions: []metav1.Condition{{Type: "Gated", Status: "True", Reason: "Webhook"}}},
	}
	for _, change := range changes {
		change(policy)
	}
	return policy
}

func before(policy *appv1alpha1.ReleasePolicy)       { policy.Spec.Traffic = "Before" }
func asDeclared(policy *appv1alpha1.ReleasePolicy)   { policy.Spec.Capacity = "AsDeclared" }
func ungated(policy *appv1alpha1.ReleasePolicy)      { policy.Status.Conditions[0].Status = "False" }
func withoutSteps(policy *appv1alpha1.ReleasePolicy) { policy.Spec.Steps = nil }

// gate is the ReleaseGate of the namespace default.
func gate(verified ...string) *appv1alpha1.ReleaseGate {
	object := &appv1alpha1.ReleaseGate{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "altershield"}}
	object.Spec.Verified = map[string]string{}
	for _, version := range verified {
		object.Spec.Verified[version] = "Deployment.apps/sleep"
	}
	return object
}

// updating gives an object the update strategy of a StatefulSet or a DaemonSet.
func updating(strategy object) edit { return field(strategy, "updateStrategy", "spec") }

func atPartition(partition int) edit {
	return updating(object{"type": "RollingUpdate", "rollingUpdate": object{"partition": float64(partition)}})
}

// marked is the mark of a paced release.
func marked(mark string) edit { return annotation(pacedKey, mark) }

const (
	// beforeTraffic rests until the first step begins.
	beforeTraffic = `{"release":2,"policy":"default/careful","lever":"Gates","traffic":"Before","rests":true,"from":{"maxUnavailable":"25%"}}`

	byGates     = `{"release":2,"policy":"default/careful","lever":"Gates","traffic":"With","from":{"maxUnavailable":"25%"}}`
	byPartition = `{"release":2,"policy":"default/careful","lever":"Partition","traffic":"With","from":{"partition":2}}`
	byNodes     = `{"release":2,"policy":"default/careful","lever":"Nodes","traffic":"With"}`
)

func TestDefaulterPacesReleases(t *testing.T) {
	rolling := updating(object{"type": "RollingUpdate"})
	for _, row := range []struct {
		name     string
		kind     workload.Kind
		edits    edit
		objects  []client.Object
		mark     string
		warnings []string
		patch    map[string]any
		absent   []string
	}{
		{"by gates", kind.Kind{}, all(), []client.Object{careful(), gate()}, byGates, nil,
			map[string]any{setGate: "start", unavailable: float64(0)}, []string{"/spec/paused", "~1held"}},
		{"by gates before traffic", kind.Kind{}, all(), []client.Object{careful(before), gate()},
			beforeTraffic, nil, map[string]any{setGate: "ready", "add /spec/paused": true}, []string{"~1held"}},
		{"before traffic with the pause of a user", kind.Kind{}, field(true, "paused", "spec"), []client.Object{careful(before), gate()},
			strings.Replace(beforeTraffic, `"rests":true,`, "", 1), nil, map[string]any{setGate: "ready"}, []string{"/spec/paused"}},
		{"with its capacity as declared", kind.Kind{}, all(), []client.Object{careful(asDeclared), gate()},
			`{"release":2,"policy":"default/careful","lever":"Gates","traffic":"With"}`,
			[]string{"while a step waits, 1 of 5 pods of deployment sleep may be missing: the capacity of ReleasePolicy default/careful is AsDeclared"},
			map[string]any{setGate: "start"}, []string{"rollingUpdate"}},
		{"by the partition", statefulset.Kind{}, atPartition(2), []client.Object{careful()}, byPartition, nil,
			map[string]any{partition: float64(2147483647)}, []string{"~1gate", "~1held"}},
		{"by the partition, and by gates on pods that it gains", statefulset.Kind{}, all(atPartition(2), field(float64(20), "replicas", "spec")), []client.Object{careful(), gate()},
			`{"release":2,"policy":"default/careful","lever":"Partition","traffic":"With","gatedFrom":20,"from":{"partition":2}}`, nil,
			map[string]any{partition: float64(2147483647), setGate: "start"}, nil},
		{"by the partition, from another first ordinal", statefulset.Kind{}, all(atPartition(2), field(float64(20), "replicas", "spec"), field(object{"start": float64(100)}, "ordinals", "spec")),
			[]client.Object{careful(), gate()},
			`{"release":2,"policy":"default/careful","lever":"Partition","traffic":"With","gatedFrom":120,"from":{"partition":2}}`, nil, map[string]any{setGate: "start"}, nil},
		{"by the partition before traffic", statefulset.Kind{}, all(atPartition(2), field(float64(20), "replicas", "spec")), []client.Object{careful(before), gate()},
			`{"release":2,"policy":"default/careful","lever":"Partition","traffic":"Before","gatedFrom":20,"from":{"partition":2}}`, nil,
			map[string]any{partition: float64(2147483647), setGate: "ready"}, nil},
		{"by the partition under traffic without gates", statefulset.Kind{}, atPartition(2), []client.Object{careful(before, ungated)}, byPartition,
			[]string{"the pods of statefulset sleep get traffic before they are checked: no gates are installed"}, nil, []string{"~1gate"}},
		{"by nodes", daemonset.Kind{}, rolling, []client.Object{careful()}, byNodes, nil,
			map[string]any{"replace /spec/updateStrategy/type": "OnDelete"}, []string{"~1gate", "~1held"}},
		{"not by nodes if a user replaces the pods", daemonset.Kind{}, updating(object{"type": "OnDelete"}), []client.Object{careful()}, "",
			[]string{"daemonset sleep is not paced: its pods are replaced only when they are deleted"}, nil, nil},
		{"not by the partition if a user replaces the pods", statefulset.Kind{}, updating(object{"type": "OnDelete"}), []client.Object{careful()}, "",
			[]string{"statefulset sleep is not paced: its pods are replaced only when they are deleted"}, nil, nil},
		{"not without a policy", kind.Kind{}, all(), []client.Object{gate()}, "", nil, nil, []string{"~1gate", "rollingUpdate"}},
		{"not without steps", kind.Kind{}, all(), []client.Object{careful(withoutSteps), gate()}, "", nil, nil, []string{"~1gate"}},
		{"not without gates", kind.Kind{}, all(), []client.Object{careful(ungated), gate()}, "",
			[]string{"deployment sleep is not paced: no gates are installed"}, nil, []string{"~1gate", "rollingUpdate"}},
		{"not before the policy is ready", kind.Kind{}, all(), []client.Object{careful(func(policy *appv1alpha1.ReleasePolicy) { policy.Status.Conditions = nil }), gate()}, "",
			[]string{"deployment sleep is not paced: ReleasePolicy default/careful is not ready yet"}, nil, []string{"~1gate"}},
		{"not without a ReleaseGate", kind.Kind{}, all(), []client.Object{careful()}, "",
			[]string{"deployment sleep is not paced: namespace default has no ReleaseGate yet"}, nil, []string{"~1gate"}},
		{"not if all pods are replaced at once", kind.Kind{}, field(object{"type": "Recreate"}, "strategy", "spec"), []client.Object{careful(), gate()}, "",
			[]string{"deployment sleep is not paced: nothing can hold back its pods"}, nil, []string{"~1gate"}},
		{"not by a policy for others", kind.Kind{}, all(), []client.Object{gate(), careful(func(policy *appv1alpha1.ReleasePolicy) {
			policy.Spec.Workloads = []appv1alpha1.WorkloadSelector{{Kind: "StatefulSet.apps"}}
		})}, "", nil, nil, []string{"~1gate"}},
		{"with the pause of a user", kind.Kind{}, field(true, "paused", "spec"), []client.Object{careful(), gate()}, byGates, nil,
			map[string]any{setGate: "start"}, []string{"/spec/paused"}},
		{"with the partition at which a user holds it", statefulset.Kind{}, atPartition(2147483647), []client.Object{careful()},
			`{"release":2,"policy":"default/careful","lever":"Partition","traffic":"With","from":{"partition":2147483647}}`, nil, nil,
			[]string{"updateStrategy"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			release := all(stamped(versionOf123, "1"), row.edits)
			response, patch := admit(t, row.kind, requestOf(t, deployment(t, release), deployment(t, release, repaired)), row.objects...)
			g.Expect(response.Allowed).To(BeTrue())
			g.Expect(response.Warnings).To(Equal(row.warnings))
			g.Expect(annotationSet(patch, pacedKey)).To(Equal(row.mark))
			for path, value := range row.patch {
				g.Expect(patch).To(HaveKey(path))
				g.Expect(jsonOf(t, patch[path])).To(Equal(value), path)
			}
			for _, path := range row.absent {
				g.Expect(patch).NotTo(HaveKey(ContainSubstring(path)))
			}
		})
	}
}

// A policy may be in the cache before its status and its ReleaseGate are.
func TestDefaulterPacesReleasesByWhatTheCacheDoesNotShowYet(t *testing.T) {
	young := func(policy *appv1alpha1.ReleasePolicy) { policy.Status = appv1alpha1.ReleasePolicyStatus{} }
	for _, row := range []struct {
		name         string
		cached, live []client.Object
		warnings     []string
	}{
		{"the ReleaseGate", []client.Object{careful()}, []client.Object{gate()}, nil},
		{"that gates are installed", []client.Object{careful(young), gate()}, []client.Object{careful()}, nil},
		{"unless none are", []client.Object{careful(young), gate()}, []client.Object{careful(ungated)},
			[]string{"deployment sleep is not paced: no gates are installed"}},
		{"or that isn't known yet", []client.Object{careful(young), gate()}, []client.Object{careful(young)},
			[]string{"deployment sleep is not paced: ReleasePolicy default/careful is not ready yet"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			accounts := accountsOf(t, readerOf(t, interceptor.Funcs{}))
			live := fake.NewClientBuilder().WithScheme(testkit.Scheme()).WithObjects(row.live...).Build()
			defaulter := &defaulter{kind: kind.Kind{}, operator: operator, clock: accounts.clock, accounts: accounts, past: pastOf(nil, accounts),
				freezes: freezesOf(t, accounts, kind.Kind{}), paces: pacesOf(t, pastOf(live, accounts), kind.Kind{}, row.cached...)}
			request := requestOf(t, deployment(t, stamped(versionOf123, "1")), deployment(t, stamped(versionOf123, "1"), repaired))
			response := defaulter.Handle(t.Context(), request)
			NewWithT(t).Expect(response.Warnings).To(Equal(row.warnings))
		})
	}
}

// Neither the rollbacks of the operator nor new workloads are paced, except that the pods of a new Deployment get no traffic before they
// passed.
func TestDefaulterPacesNoOtherReleases(t *testing.T) {
	g := NewWithT(t)
	request := requestOf(t, deployment(t, stamped(versionOf123, "1")), deployment(t, stamped(versionOf123, "1"), repaired))
	request.UserInfo.Username = operator
	_, patch := admit(t, kind.Kind{}, request, careful(), gate())
	g.Expect(annotationSet(patch, pacedKey)).To(BeEmpty())
	for _, of := range []workload.Kind{kind.Kind{}, statefulset.Kind{}, job.Kind{}} {
		response, patch := admit(t, of, requestOf(t, nil, deployment(t)), careful(), gate())
		g.Expect(annotationSet(patch, pacedKey)).To(BeEmpty(), "a new %s has no earlier pods to protect", of.Resource())
		g.Expect(patch).NotTo(HaveKey(setGate))
		g.Expect(response.Warnings).To(BeEmpty())
	}
	response, patch := admit(t, statefulset.Kind{}, requestOf(t, nil, deployment(t)), careful(before), gate())
	g.Expect(annotationSet(patch, pacedKey)).To(BeEmpty())
	g.Expect(response.Warnings).To(Equal([]string{"statefulset sleep is not paced: the pods of a new statefulset come at once"}))
	response, _ = admit(t, cronjob.Kind{}, requestOf(t, nil, deployment(t)), careful(before), gate())
	g.Expect(response.Warnings).To(ContainElement("cronjob sleep is not paced: nothing can hold back its pods"))
	response, patch = admit(t, kind.Kind{}, requestOf(t, nil, deployment(t)), careful(before), gate())
	g.Expect(annotationSet(patch, pacedKey)).To(Equal(`{"release":1,"policy":"default/careful","lever":"Gates","traffic":"Before","new":true,"rests":true}`))
	g.Expect(patch).To(And(HaveKeyWithValue(setGate, "ready"), HaveKeyWithValue("add /spec/paused", true)))
	g.Expect(patch).NotTo(HaveKey(ContainSubstring("strategy")), "there are no pods that it could take away")
	g.Expect(response.Warnings).To(BeEmpty())
	response, _ = admit(t, kind.Kind{}, requestOf(t, nil, deployment(t)), careful(before, asDeclared), gate())
	g.Expect(response.Warnings).To(BeEmpty())
	_, patch = admit(t, kind.Kind{}, requestOf(t, nil, deployment(t, field(true, "paused", "spec"))), careful(before), gate())
	g.Expect(annotationSet(patch, pacedKey)).To(HaveSuffix(`"new":true}`), "its creator has paused it")
}

// Not every kind can be held, and a pause may not keep a new workload from starting.
func TestDefaulterWarnsOfPodsThatStartBeforeTheFirstStep(t *testing.T) {
	rollouts, unpausable := kinds.Sample(t, "..", "rollout", "rollouts"), struct{ workload.Kind }{kind.Kind{}}
	old, updated := deployment(t, stamped(versionOf123, "1")), deployment(t, stamped(versionOf123, "1"), repaired)
	ofAll := func(policy *appv1alpha1.ReleasePolicy) {
		before(policy)
		policy.Spec.Workloads = []appv1alpha1.WorkloadSelector{{Kind: "Rollout.argoproj.io"}, {Kind: "Deployment.apps"}}
	}
	for _, row := range []struct {
		name         string
		kind         workload.Kind
		old, updated object
		mark         string
		paused       bool
		warnings     []string
	}{
		{"not of one that can be held", rollouts, old, updated,
			`{"release":2,"policy":"default/careful","lever":"Gates","traffic":"Before","rests":true}`, true, nil},
		{"of one that can't be held", unpausable, old, updated,
			`{"release":2,"policy":"default/careful","lever":"Gates","traffic":"Before"}`, false,
			[]string{"the pods of deployment sleep start, without traffic, before its first step: its rollout can't be held"}},
		{"of a new one", rollouts, nil, deployment(t), `{"release":1,"policy":"default/careful","lever":"Gates","traffic":"Before","new":true}`, false,
			[]string{"the pods of rollout sleep start, without traffic, before its first step: a pause doesn't keep its first pods from starting"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			request := requestOf(t, row.old, row.updated)
			request.Kind.Kind = row.kind.GroupVersionKind().Kind
			response, patch := admit(t, row.kind, request, careful(ofAll), gate())
			g.Expect(annotationSet(patch, pacedKey)).To(Equal(row.mark))
			g.Expect(response.Warnings).To(Equal(row.warnings))
			if row.paused {
				g.Expect(patch).To(HaveKeyWithValue("add /spec/paused", true))
			} else {
				g.Expect(patch).NotTo(HaveKey(ContainSubstring("paused")))
			}
		})
	}
}

func TestDefaulterEndsThePaceOfTheReleaseBefore(t *testing.T) {
	pinned := all(stamped(versionOf123, "2"), templateLabel(gateKey, "start"), marked(byGates), field(float64(0), "maxUnavailable", "spec", "strategy", "rollingUpdate"))
	parted := all(stamped(versionOf123, "2"), marked(byPartition), atPartition(4))
	nodes := all(stamped(versionOf123, "2"), marked(byNodes), updating(object{"type": "OnDelete"}))
	for _, row := range []struct {
		name    string
		kind    workload.Kind
		old     edit
		updated edit
		objects []client.Object
		mark    string
		patch   map[string]any
		absent  []string
	}{
		{"unpins it", kind.Kind{}, pinned, repaired, nil, "", map[string]any{unavailable: "25%", dropGate: nil, dropPaced: nil}, nil},
		{"keeps what the release changes", kind.Kind{}, pinned, all(repaired, field("10%", "maxUnavailable", "spec", "strategy", "rollingUpdate")), nil, "",
			map[string]any{dropPaced: nil}, []string{"maxUnavailable"}},
		{"pins it again", kind.Kind{}, pinned, repaired, []client.Object{careful(), gate()},
			`{"release":3,"policy":"default/careful","lever":"Gates","traffic":"With","from":{"maxUnavailable":"25%"}}`, nil, []string{"maxUnavailable", "~1gate"}},
		{"pins what the release changes", kind.Kind{}, pinned, all(repaired, field("10%", "maxUnavailable", "spec", "strategy", "rollingUpdate")),
			[]client.Object{careful(), gate()}, `{"release":3,"policy":"default/careful","lever":"Gates","traffic":"With","from":{"maxUnavailable":"10%"}}`,
			map[string]any{unavailable: float64(0)}, nil},
		{"resumes one that rests", kind.Kind{}, all(pinned, marked(`{"release":2,"policy":"default/careful","lever":"Gates","rests":true}`), field(true, "paused", "spec")),
			repaired, nil, "", map[string]any{"remove /spec/paused": nil}, nil},
		{"leaves alone the pause of a user", kind.Kind{}, all(pinned, field(true, "paused", "spec")), repaired, nil, "", nil, []string{"/spec/paused"}},
		{"resumes one that failed", kind.Kind{}, all(pinned, field(true, "paused", "spec"), annotation(heldKey, "2")), repaired, nil, "",
			map[string]any{"remove /spec/paused": nil, unavailable: "25%"}, nil},
		{"restores a partition", statefulset.Kind{}, parted, repaired, nil, "", map[string]any{partition: float64(2)}, nil},
		{"keeps a partition of the release", statefulset.Kind{}, parted, all(repaired, atPartition(1)), nil, "", nil, []string{"updateStrategy"}},
		{"paces by a partition again", statefulset.Kind{}, parted, repaired, []client.Object{careful()},
			`{"release":3,"policy":"default/careful","lever":"Partition","traffic":"With","from":{"partition":2}}`, map[string]any{partition: float64(2147483647)}, nil},
		{"remembers a partition of the release", statefulset.Kind{}, parted, all(repaired, atPartition(1)), []client.Object{careful()},
			`{"release":3,"policy":"default/careful","lever":"Partition","traffic":"With","from":{"partition":1}}`, map[string]any{partition: float64(2147483647)}, nil},
		{"restores the partition of one that failed", statefulset.Kind{}, all(parted, atPartition(2147483647), annotation(heldKey, "2")), repaired, nil, "",
			map[string]any{partition: float64(2)}, nil},
		{"ends the pause of a DaemonSet", daemonset.Kind{}, nodes, repaired, nil, "", map[string]any{"replace /spec/updateStrategy/type": "RollingUpdate"}, nil},
		{"paces a DaemonSet again", daemonset.Kind{}, nodes, repaired, []client.Object{careful()},
			`{"release":3,"policy":"default/careful","lever":"Nodes","traffic":"With"}`, nil, []string{"updateStrategy"}},
		{"drops requests to go on", kind.Kind{}, all(pinned, annotation(goOnKey, "2:2"), annotation(goOnByKey, "bob")), repaired, nil, "",
			map[string]any{"remove /metadata/annotations/altershield.defense.antgroup.com~1go-on": nil, "remove /metadata/annotations/altershield.defense.antgroup.com~1go-on-by": nil}, nil},
	} {
		for _, user := range []string{"alice", operator} {
			if user == operator && row.mark != "" {
				continue
			}
			t.Run(row.name+" for "+user, func(t *testing.T) {
				g := NewWithT(t)
				request := requestOf(t, deployment(t, row.old), deployment(t, row.old, row.updated))
				request.UserInfo.Username = user
				response, patch := admit(t, row.kind, request, row.objects...)
				g.Expect(response.Allowed).To(BeTrue())
				g.Expect(annotationSet(patch, pacedKey)).To(Equal(row.mark))
				for path, value := range row.patch {
					g.Expect(patch).To(HaveKey(path))
					if value != nil {
						g.Expect(jsonOf(t, patch[path])).To(Equal(value), path)
					}
				}
				for _, path := range row.absent {
					g.Expect(patch).NotTo(HaveKey(ContainSubstring(path)))
				}
			})
		}
	}
}

// A further call finds what the first one wrote, and comes to the same end.
func TestDefaulterIsCalledAgainForAPacedRelease(t *testing.T) {
	for name, row := range map[string]struct {
		kind    workload.Kind
		old     edit
		objects []client.Object
	}{
		"by gates":               {kind.Kind{}, all(), []client.Object{careful(), gate()}},
		"before traffic":         {kind.Kind{}, all(), []client.Object{careful(before), gate()}},
		"before traffic, frozen": {kind.Kind{}, all(), []client.Object{careful(before), gate(), lock()}},
		"before traffic, after one that rests": {kind.Kind{}, all(marked(strings.Replace(beforeTraffic, `"release":2`, `"release":1`, 1)), field(true, "paused", "spec"),
			field(float64(0), "maxUnavailable", "spec", "strategy", "rollingUpdate")), []client.Object{careful(before), gate()}},
		"by gates, frozen":         {kind.Kind{}, all(), []client.Object{careful(), gate(), lock()}},
		"by the partition":         {statefulset.Kind{}, atPartition(2), []client.Object{careful()}},
		"by the partition, frozen": {statefulset.Kind{}, atPartition(2), []client.Object{careful(), lock()}},
		"by nodes":                 {daemonset.Kind{}, updating(object{"type": "RollingUpdate"}), []client.Object{careful()}},
		"by nodes, frozen":         {daemonset.Kind{}, updating(object{"type": "RollingUpdate"}), []client.Object{careful(), lock()}},
		"after a paced release": {kind.Kind{}, all(marked(`{"release":1,"policy":"default/careful","lever":"Gates","from":{"maxUnavailable":"25%"}}`),
			field(float64(0), "maxUnavailable", "spec", "strategy", "rollingUpdate")), []client.Object{careful(), gate()}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			old := deployment(t, stamped(versionOf123, "1"), row.old)
			first, _ := admit(t, row.kind, requestOf(t, old, deployment(t, stamped(versionOf123, "1"), row.old, repaired)), row.objects...)
			sent := patched(t, deployment(t, stamped(versionOf123, "1"), row.old, repaired), first)
			again, _ := admit(t, row.kind, requestOf(t, old, sent), row.objects...)
			g.Expect(patched(t, sent, again)).To(Equal(sent))
			g.Expect(operations(again.Patches)).NotTo(HaveKey(ContainSubstring("/spec/")))
			reverted := deployment(t, stamped(versionOf123, "1"), row.old)
			at(reverted, "metadata")["annotations"] = at(sent, "metadata", "annotations")
			for _, kept := range []string{"strategy", "updateStrategy", "paused"} {
				if value, set := at(sent, "spec")[kept]; set {
					at(reverted, "spec")[kept] = value
				}
			}
			again, _ = admit(t, row.kind, requestOf(t, old, reverted), row.objects...)
			g.Expect(patched(t, reverted, again)).To(Equal(old), "another webhook has reverted the template")
		})
	}
}

func TestDefaulterIsCalledAgainForANewWorkload(t *testing.T) {
	for name, objects := range map[string][]client.Object{
		"that rests":                {careful(before), gate()},
		"that is frozen":            {lock()},
		"that is frozen, and rests": {careful(before), gate(), lock()},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			first, _ := admit(t, kind.Kind{}, requestOf(t, nil, deployment(t)), objects...)
			sent := patched(t, deployment(t), first)
			g.Expect(at(sent, "spec")).To(HaveKeyWithValue("paused", true))
			again, _ := admit(t, kind.Kind{}, requestOf(t, nil, sent), objects...)
			g.Expect(patched(t, sent, again)).To(Equal(sent))
		})
	}
}

func TestDefaulterFreezesAPacedRelease(t *testing.T) {
	g := NewWithT(t)
	release := all(stamped(versionOf123, "1"), atPartition(2))
	_, patch := admit(t, statefulset.Kind{}, requestOf(t, deployment(t, release), deployment(t, release, repaired)), careful(), lock())
	g.Expect(annotationSet(patch, pacedKey)).To(Equal(byPartition))
	g.Expect(annotationSet(patch, frozenKey)).To(Equal(mark))
	g.Expect(annotationSet(patch, heldKey)).To(Equal("2"))
	g.Expect(patch).To(HaveKey(partition))
	_, patch = admit(t, kind.Kind{}, requestOf(t, deployment(t, stamped(versionOf123, "1")), deployment(t, stamped(versionOf123, "1"), repaired)), careful(), gate(), lock())
	g.Expect(annotationSet(patch, pacedKey)).To(Equal(byGates))
	g.Expect(patch).To(HaveKeyWithValue("add /spec/paused", true))
	g.Expect(annotationSet(patch, heldKey)).To(Equal("2"))
	_, patch = admit(t, kind.Kind{}, requestOf(t, deployment(t, stamped(versionOf123, "1")), deployment(t, stamped(versionOf123, "1"), repaired)), careful(before), gate(), lock())
	g.Expect(annotationSet(patch, pacedKey)).To(Equal(beforeTraffic), "it rests once the freeze has ended")
	g.Expect(annotationSet(patch, heldKey)).To(Equal("2"))
}

// The gates of its pods don't keep them from starting.
func TestDefaulterLetsAReleaseRestWhosePauseAUserEnds(t *testing.T) {
	const stays = "deployment sleep is paced: it stays paused until its step begins"
	pausedByUser := strings.Replace(beforeTraffic, `"rests":true,`, "", 1)
	paused := func(edits ...edit) edit {
		return all(stamped(versionOf123, "2"), field(float64(0), "maxUnavailable", "spec", "strategy", "rollingUpdate"), field(true, "paused", "spec"), all(edits...))
	}
	frozen := all(annotation(heldKey, "2"), annotation(frozenKey, mark))
	excepting := lock(func(spec *appv1alpha1.ChangeFreezeSpec) {
		spec.Except = &appv1alpha1.FreezeException{Users: []string{"alice"}}
	})
	for _, row := range []struct {
		name     string
		old      edit
		objects  []client.Object
		rests    bool
		warnings []string
		gone     []string
	}{
		{"its own", paused(marked(pausedByUser)), nil, true, []string{stays}, nil},
		{"that of a freeze by which it may pass", paused(marked(beforeTraffic), frozen), []client.Object{excepting}, true, []string{stays}, []string{heldKey, frozenKey}},
		{"not under traffic", paused(marked(byGates)), nil, false, nil, nil},
		{"not of one that failed", paused(marked(pausedByUser), annotation(heldKey, "2")), nil, false, nil, nil},
		{"not of another release", paused(marked(strings.Replace(pausedByUser, `"release":2`, `"release":1`, 1))), nil, false, nil, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			old := deployment(t, row.old)
			objects := append(row.objects, careful(before), gate())
			after, warnings := submitted(t, kind.Kind{}, old, with(t, old, without("paused", "spec")), objects...)
			again, _ := submitted(t, kind.Kind{}, old, after, objects...)
			g.Expect(again).To(Equal(after), "the webhook is called again")
			if row.warnings != nil {
				g.Expect(warnings).To(Equal(admission.Warnings(row.warnings)))
			}
			if !row.rests {
				g.Expect(at(after, "spec")).NotTo(HaveKey("paused"))
				g.Expect(annotationOf(after, pacedKey)).To(Equal(annotationOf(old, pacedKey)))
				return
			}
			g.Expect(at(after, "spec")).To(HaveKeyWithValue("paused", true))
			g.Expect(annotationOf(after, pacedKey)).To(ContainSubstring(`"rests":true`))
			for _, key := range row.gone {
				g.Expect(at(after, "metadata", "annotations")).NotTo(HaveKey(key))
			}
		})
	}
}

func TestDefaulterKeepsAPacedReleaseParked(t *testing.T) {
	for name, row := range map[string]struct {
		kind    workload.Kind
		of      edit
		objects []client.Object
		kept    []string
	}{
		"by the partition": {statefulset.Kind{}, atPartition(2), []client.Object{careful()}, nil},
		"by nodes":         {daemonset.Kind{}, updating(object{"type": "RollingUpdate"}), []client.Object{careful()}, nil},
		"by gates": {kind.Kind{}, all(field(false, "paused", "spec"), field("25%", "maxUnavailable", "spec", "strategy", "rollingUpdate")), []client.Object{careful(), gate()},
			[]string{"deployment sleep is paced: the present value of spec.strategy.rollingUpdate.maxUnavailable stays until the last step; " +
				"kubectl annotate deployment/sleep --namespace default --overwrite altershield.defense.antgroup.com/go-on=2:all ends the pace once no approval is missing",
				"kubectl annotate deployment/sleep --namespace default --overwrite altershield.defense.antgroup.com/rollback=true asks for a rollback"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			old := deployment(t, stamped(versionOf123, "1"), row.of)
			parked, _ := submitted(t, row.kind, old, with(t, old, repaired), append(row.objects, lock())...)
			g.Expect(at(parked, "metadata", "annotations")).To(And(HaveKey(pacedKey), HaveKeyWithValue(heldKey, "2"), HaveKeyWithValue(frozenKey, mark)))
			manifest := with(t, parked, row.of)
			again, warnings := submitted(t, row.kind, parked, manifest, append(row.objects, lock())...)
			g.Expect(again).To(Equal(parked))
			g.Expect(warnings).To(Equal(append(admission.Warnings{
				strings.Replace(isFrozen, "deployment", workload.Noun(row.kind), 1), "the release stays parked: it starts by itself"}, row.kept...)))
			again, _ = submitted(t, row.kind, parked, manifest, row.objects...)
			g.Expect(again).To(Equal(parked), "while others go on")
			next, _ := submitted(t, row.kind, parked, with(t, manifest, templateLabel("test", "12345")), append(row.objects, lock())...)
			g.Expect(at(next, "metadata", "annotations")).To(And(
				HaveKeyWithValue(pacedKey, strings.Replace(annotationOf(parked, pacedKey), `"release":2`, `"release":3`, 1)), HaveKeyWithValue(heldKey, "3")))
			g.Expect(annotationOf(next, "altershield.defense.antgroup.com/held-from")).To(Equal(annotationOf(parked, "altershield.defense.antgroup.com/held-from")))
		})
	}
}

// Its field would let all of its pods come before the operator sets it for the present step.
func TestDefaulterKeepsTheStepsOfAReleaseThatPassesItsFreeze(t *testing.T) {
	excepting := lock(func(spec *appv1alpha1.ChangeFreezeSpec) {
		spec.Except = &appv1alpha1.FreezeException{Users: []string{"alice"}}
	})
	for name, row := range map[string]struct {
		kind  workload.Kind
		of    edit
		first edit
		held  string
	}{
		"by the partition":               {statefulset.Kind{}, atPartition(2), all(), ""},
		"by nodes":                       {daemonset.Kind{}, updating(object{"type": "RollingUpdate"}), all(), ""},
		"by nodes, after its first ones": {daemonset.Kind{}, updating(object{"type": "RollingUpdate"}), annotation(heldKey, "2-first-nodes"), "2-first-nodes"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			old := deployment(t, stamped(versionOf123, "1"), row.of)
			parked, _ := submitted(t, row.kind, old, with(t, old, repaired), careful(), lock())
			parked = with(t, parked, row.first)
			after, warnings := submitted(t, row.kind, parked, with(t, parked, row.of), careful(), excepting)
			g.Expect(at(after, "spec")).To(Equal(at(parked, "spec")))
			g.Expect(warnings).To(Equal(admission.Warnings{workload.Phrase(row.kind, "sleep") + " is paced: it stays paused until its step begins"}))
			g.Expect(at(after, "metadata", "annotations")).To(And(HaveKeyWithValue(pacedKey, annotationOf(parked, pacedKey)), Not(HaveKey(frozenKey))))
			g.Expect(annotationOf(after, heldKey)).To(Equal(row.held), "the pause is that of its step")
		})
	}
}

// Another webhook changes something meanwhile.
func TestDefaulterIsCalledAgainForAPacedReleaseWhosePauseAUserEnds(t *testing.T) {
	rollouts := func(policy *appv1alpha1.ReleasePolicy) { policy.Spec.Workloads = nil }
	strategy := field("25%", "maxUnavailable", "spec", "strategy", "rollingUpdate")
	excepting := lock(func(spec *appv1alpha1.ChangeFreezeSpec) {
		spec.Except = &appv1alpha1.FreezeException{Users: []string{"alice"}}
	})
	anything := glass(func(glass *appv1alpha1.BreakGlass) {
		glass.Spec.Workloads = []appv1alpha1.WorkloadSelector{{Kind: "Deployment.apps"}, {Kind: "StatefulSet.apps"}, {Kind: "DaemonSet.apps"}, {Kind: "Rollout.argoproj.io"}}
	})
	for name, row := range map[string]struct {
		kind    workload.Kind
		of      edit
		objects []client.Object
	}{
		"by the partition":                  {statefulset.Kind{}, atPartition(2), []client.Object{careful()}},
		"by nodes":                          {daemonset.Kind{}, updating(object{"type": "RollingUpdate"}), []client.Object{careful()}},
		"by gates":                          {kind.Kind{}, all(field(false, "paused", "spec"), strategy), []client.Object{careful(), gate()}},
		"before traffic":                    {kind.Kind{}, all(field(false, "paused", "spec"), strategy), []client.Object{careful(before), gate()}},
		"before traffic, of a declared one": {kinds.Sample(t, "..", "rollout", "rollouts"), field(false, "paused", "spec"), []client.Object{careful(before, rollouts), gate()}},
	} {
		for how, passing := range map[string][]client.Object{"BreakGlass": {lock(), anything}, "exception": {excepting}} {
			t.Run(name+", by a "+how, func(t *testing.T) {
				g := NewWithT(t)
				old := deployment(t, stamped(versionOf123, "1"), row.of)
				parked, _ := submitted(t, row.kind, old, with(t, old, repaired), append(row.objects, lock())...)
				resumed, _ := submitted(t, row.kind, parked, with(t, parked, row.of), append(row.objects, passing...)...)
				sent := with(t, resumed, label("injected", "true"))
				again, _ := submitted(t, row.kind, parked, sent, append(row.objects, passing...)...)
				g.Expect(again).To(Equal(sent))
			})
		}
	}
}

func annotationOf(of object, key string) string {
	value, _ := at(of, "metadata", "annotations")[key].(string)
	return value
}

func TestDefaulterPacesAReleaseOnItsFirstNodes(t *testing.T) {
	g := NewWithT(t)
	release := all(stamped(versionOf123, "1"), first("zone=a"), updating(object{"type": "RollingUpdate"}))
	accounts := accountsOf(t, readerOf(t, interceptor.Funcs{}))
	patcher := setDefaulter(t, daemonset.Kind{}, nil)
	patcher.paces = pacesOf(t, pastOf(nil, accounts), daemonset.Kind{}, careful())
	patch := operations(patcher.Handle(t.Context(), requestOf(t, deployment(t, release), deployment(t, release, repaired))).Patches)
	g.Expect(annotationSet(patch, pacedKey)).To(Equal(byNodes))
	g.Expect(annotationSet(patch, heldKey)).To(Equal("2-first-nodes"))
	g.Expect(patch).To(HaveKeyWithValue("replace /spec/updateStrategy/type", BeEquivalentTo("OnDelete")))
}

func TestBreakGlassPassesThePace(t *testing.T) {
	overriding := func(overrides ...appv1alpha1.BreakGlassOverride) *appv1alpha1.BreakGlass {
		return glass(func(glass *appv1alpha1.BreakGlass) { glass.Spec.Overrides = overrides })
	}
	const (
		steps     = "ReleasePolicy default/careful rolls it out in 3 steps"
		approvals = "ReleasePolicy default/careful asks for approvals: 1 for step 3"
		proof     = `{"release":2,"name":"inc-7","uid":"bg-1","user":"alice","time":"2026-11-21T10:00:00Z","overrides":`
	)
	for _, row := range []struct {
		name    string
		objects []client.Object
		paced   string
		broken  string
	}{
		{"by one that overrides it", []client.Object{overriding("Pace")}, "", proof + `["Pace"],"would":["` + steps + `"]}`},
		{"together with the approvals", []client.Object{overriding("Approval", "Pace")}, "", proof + `["Pace"],"would":["` + steps + `"]}`},
		{"but for the approvals", []client.Object{overriding("Approval")}, byGates, proof + `["Approval"],"would":["` + approvals + `"]}`},
		{"together with a freeze", []client.Object{overriding("Freeze", "Pace"), lock()}, "", proof + `["Freeze","Pace"],"would":["` + isFrozen + `","` + steps + `"]}`},
		{"not by one for a freeze", []client.Object{overriding("Freeze")}, byGates, ""},
		{"not without one", nil, byGates, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			request := requestOf(t, deployment(t, stamped(versionOf123, "1")), deployment(t, stamped(versionOf123, "1"), repaired))
			_, patch := admit(t, kind.Kind{}, request, append(row.objects, careful(), gate())...)
			g.Expect(annotationSet(patch, pacedKey)).To(Equal(row.paced))
			g.Expect(annotationSet(patch, breakGlassKey)).To(Equal(row.broken))
		})
	}
}

// It was parked before there was one.
func TestBreakGlassPassesThePaceOfAParkedRelease(t *testing.T) {
	old := deployment(t, stamped(versionOf123, "1"))
	for overrides, want := range map[string]string{
		"Freeze": `["Freeze"]`, "Freeze,Approval": `["Freeze","Approval"]`, "Freeze,Pace": `["Freeze","Pace"]`, "Approval": "", "Pace": "",
	} {
		t.Run(overrides, func(t *testing.T) {
			g := NewWithT(t)
			broken := glass(func(glass *appv1alpha1.BreakGlass) {
				glass.Spec.Overrides = nil
				for _, override := range strings.Split(overrides, ",") {
					glass.Spec.Overrides = append(glass.Spec.Overrides, appv1alpha1.BreakGlassOverride(override))
				}
			})
			parked, _ := submitted(t, kind.Kind{}, old, with(t, old, repaired), careful(), gate(), lock())
			resumed, _ := submitted(t, kind.Kind{}, parked, with(t, parked, without("paused", "spec")), careful(), gate(), lock(), broken)
			if want == "" {
				g.Expect(resumed).To(Equal(parked))
				return
			}
			g.Expect(annotationOf(resumed, breakGlassKey)).To(ContainSubstring(`"overrides":` + want))
			g.Expect(annotationOf(resumed, pacedKey)).To(Equal(byGates), "the operator ends the pace")
		})
	}
}

// Another one passed it when it was released.
func TestBreakGlassKeepsWhatAParkedReleasePassedBefore(t *testing.T) {
	of := func(name string, override appv1alpha1.BreakGlassOverride) *appv1alpha1.BreakGlass {
		return glass(func(glass *appv1alpha1.BreakGlass) {
			glass.Name, glass.UID, glass.Spec.Overrides = name, types.UID("uid-of-"+name), []appv1alpha1.BreakGlassOverride{override}
		})
	}
	g, old := NewWithT(t), deployment(t, stamped(versionOf123, "1"))
	parked, _ := submitted(t, kind.Kind{}, old, with(t, old, repaired), careful(), gate(), lock(), of("inc-7", "Approval"))
	g.Expect(annotationOf(parked, breakGlassKey)).To(ContainSubstring(`"name":"inc-7","uid":"uid-of-inc-7","user":"alice","time":"2026-11-21T10:00:00Z","overrides":["Approval"]`))
	resumed, _ := submitted(t, kind.Kind{}, parked, with(t, parked, without("paused", "spec")), careful(), gate(), lock(), of("inc-8", "Freeze"))
	g.Expect(annotationOf(resumed, breakGlassKey)).To(Equal(`{"release":2,"name":"inc-8","uid":"uid-of-inc-8","user":"alice","time":"2026-11-21T10:00:00Z",` +
		`"overrides":["Freeze","Approval"],"would":["` + isFrozen + `"]}`))
	next, _ := submitted(t, kind.Kind{}, parked, with(t, parked, templateLabel("test", "12345")), careful(), gate(), lock(), of("inc-8", "Freeze"))
	g.Expect(annotationOf(next, breakGlassKey)).To(ContainSubstring(`"overrides":["Freeze"]`), "another release")
}

// It has one step, without approvals.
func TestBreakGlassIsNotUsedForTheApprovalsOfANewWorkload(t *testing.T) {
	g := NewWithT(t)
	approving := glass(func(glass *appv1alpha1.BreakGlass) {
		glass.Spec.Overrides = []appv1alpha1.BreakGlassOverride{"Approval"}
	})
	_, patch := admit(t, kind.Kind{}, requestOf(t, nil, deployment(t)), approving, careful(before), gate())
	g.Expect(annotationSet(patch, breakGlassKey)).To(BeEmpty())
	passing := glass(func(glass *appv1alpha1.BreakGlass) { glass.Spec.Overrides = []appv1alpha1.BreakGlassOverride{"Pace"} })
	_, patch = admit(t, kind.Kind{}, requestOf(t, nil, deployment(t)), passing, careful(before), gate())
	g.Expect(annotationSet(patch, breakGlassKey)).To(HaveSuffix(`"would":["ReleasePolicy default/careful rolls it out in 1 step"]}`))
}

// The use by the release before is still to be counted.
func TestBreakGlassThatPassesMoreIsPending(t *testing.T) {
	const uncounted = "the last use of BreakGlass inc-7 isn't recorded yet: try again"
	of := func(name string, overrides ...appv1alpha1.BreakGlassOverride) *appv1alpha1.BreakGlass {
		return glass(func(glass *appv1alpha1.BreakGlass) {
			glass.Name, glass.UID, glass.Spec.Overrides, glass.Spec.Uses = name, types.UID("uid-of-"+name), overrides, 3
		})
	}
	old := all(stamped(versionOf123, "2"), annotation(breakGlassKey, `{"release":2,"name":"inc-7","uid":"uid-of-inc-7","user":"alice","time":"2026-11-21T10:00:00Z","would":[]}`))
	for _, row := range []struct {
		name     string
		objects  []client.Object
		broken   string
		warnings []string
	}{
		{"than none", []client.Object{of("inc-7", "Pace")}, "", []string{uncounted}},
		{"than another", []client.Object{of("inc-7", "Freeze", "Pace"), of("inc-8", "Approval")}, `"name":"inc-8"`, []string{uncounted, isFrozen, isParked}},
		{"not if another passes as much", []client.Object{of("inc-7", "Approval"), of("inc-8", "Pace")}, `"name":"inc-8"`, []string{isFrozen, isParked}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			objects := append(row.objects, careful(), gate())
			if row.broken != "" {
				objects = append(objects, lock())
			}
			response, patch := admit(t, kind.Kind{}, requestOf(t, deployment(t, old), deployment(t, old, repaired)), objects...)
			g.Expect(annotationSet(patch, breakGlassKey)).To(ContainSubstring(row.broken))
			others := slices.DeleteFunc(response.Warnings, func(warning string) bool { return strings.Contains(warning, "passes by BreakGlass") })
			g.Expect(others).To(Equal(row.warnings))
		})
	}
}

// verifiedDefaulter returns a defaulter whose cache and API server show the version of the repair as verified, and its ReplicaSets.
func verifiedDefaulter(t *testing.T, objects []client.Object, replicaSets ...client.Object) *defaulter {
	t.Helper()
	record := changeWorkload("d-1", versionOf1234, "Success", "AllPodsPassed")
	reader := readerOf(t, interceptor.Funcs{}, append(replicaSets, record, cached(t, stamped(versionOf123, "2")))...)
	accounts := accountsOf(t, reader)
	past := pastOf(reader, accounts)
	return &defaulter{kind: kind.Kind{}, operator: operator, clock: accounts.clock, accounts: accounts, past: past,
		freezes: freezesOf(t, accounts, kind.Kind{}, objects...), paces: pacesOf(t, past, kind.Kind{}, objects...)}
}

func ofSleep() []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "sleep", UID: "d-1", Controller: ptr.To(true)}}
}

// gatedReplicaSet is a ReplicaSet with a gate label and the number of its last release.
func gatedReplicaSet(name, gate, number string, age time.Duration, owners []metav1.OwnerReference) *appsv1.ReplicaSet {
	labels := map[string]string{"admission-webhook-altershield.antgroup.com/version": versionOf1234}
	if gate != "" {
		labels[gateKey] = gate
	}
	return &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: name, Labels: labels, OwnerReferences: owners, CreationTimestamp: metav1.NewTime(now.Add(-age)),
		Annotations: map[string]string{"deployment.kubernetes.io/revision": number},
	}}
}

// With another label, the pods of the version would restart.
func TestDefaulterKeepsTheGateOfAVerifiedVersion(t *testing.T) {
	elsewhere := ofSleep()
	elsewhere[0].UID = "d-2"
	for _, row := range []struct {
		name        string
		replicaSets []client.Object
		gate        string
	}{
		{"that its pods have", []client.Object{gatedReplicaSet("a", "start", "1", time.Hour, ofSleep())}, "start"},
		{"of the newest ReplicaSet", []client.Object{gatedReplicaSet("a", "start", "1", time.Hour, ofSleep()), gatedReplicaSet("b", "ready", "2", time.Minute, ofSleep())}, "ready"},
		{"of the ReplicaSet that was used last", []client.Object{gatedReplicaSet("a", "start", "4", time.Hour, ofSleep()), gatedReplicaSet("b", "", "2", time.Minute, ofSleep())}, "start"},
		{"none of pods without one", []client.Object{gatedReplicaSet("a", "", "1", time.Hour, ofSleep())}, ""},
		{"none without pods", nil, ""},
		{"none of another Deployment", []client.Object{gatedReplicaSet("a", "start", "1", time.Hour, elsewhere)}, ""},
	} {
		for _, user := range []string{"alice", operator} {
			t.Run(row.name+" for "+user, func(t *testing.T) {
				g := NewWithT(t)
				request := requestOf(t, deployment(t, stamped(versionOf123, "2")), deployment(t, stamped(versionOf123, "2"), repaired))
				request.UserInfo.Username = user
				response := verifiedDefaulter(t, []client.Object{careful(), gate()}, row.replicaSets...).Handle(t.Context(), request)
				patch := operations(response.Patches)
				if row.gate == "" {
					g.Expect(patch).NotTo(HaveKey(setGate))
				} else {
					g.Expect(patch).To(HaveKeyWithValue(setGate, row.gate))
				}
				g.Expect(annotationSet(patch, pacedKey)).To(BeEmpty())
				if user == "alice" {
					g.Expect(response.Warnings).To(Equal([]string{"deployment sleep is not paced: its version was verified before"}))
				}
			})
		}
	}
}

// In an incident the API server may be slow: steps must not hold up the way out.
func TestDefaulterTrustsTheCacheWhereItCanNotReadWhetherAVersionWasVerified(t *testing.T) {
	g := NewWithT(t)
	defaulter := verifiedDefaulter(t, []client.Object{careful(), gate()})
	defaulter.past.live = readerOf(t, interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return errors.New("timeout")
	}})
	back := func(edits ...edit) admission.Request {
		return requestOf(t, deployment(t, append(edits, stamped(versionOf123, "2"))...), deployment(t, append(edits, stamped(versionOf123, "2"), repaired)...))
	}
	response := defaulter.Handle(t.Context(), back())
	g.Expect(annotationSet(operations(response.Patches), pacedKey)).To(BeEmpty())
	g.Expect(response.Warnings).To(Equal([]string{"deployment sleep is not paced: its version was verified before"}))
	response = defaulter.Handle(t.Context(), back(suspended))
	g.Expect(response.Result.Message).To(ContainSubstring("timeout"), "a suspended one is read, or refused")
}

func TestDefaulterKeepsTheGateOfAnExport(t *testing.T) {
	g := NewWithT(t)
	_, patch := admit(t, kind.Kind{}, requestOf(t, nil, deployment(t, stamped(versionOf123, "2"), templateLabel(gateKey, "start"))))
	g.Expect(patch).NotTo(HaveKey(ContainSubstring("~1gate")))
	_, patch = admit(t, kind.Kind{}, requestOf(t, nil, deployment(t, stamped(versionOf123, "2"), repaired, templateLabel(gateKey, "start"))))
	g.Expect(patch).To(HaveKey(dropGate), "it brings the version of another template")
}

func TestDefaulterRestoresTheGate(t *testing.T) {
	g := NewWithT(t)
	gated := all(stamped(versionOf123, "1"), templateLabel(gateKey, "start"))
	_, patch := admit(t, kind.Kind{}, requestOf(t, deployment(t, gated), deployment(t, stamped(versionOf123, "1"))))
	g.Expect(patch).To(HaveKeyWithValue(setGate, "start"))
	_, patch = admit(t, kind.Kind{}, requestOf(t, deployment(t, stamped(versionOf123, "1")), deployment(t, gated)))
	g.Expect(patch).To(HaveKey(dropGate))
	g.Expect(patch).To(HaveLen(1), "it is no release")
}

func TestMarksIgnoreTheGateInTheVersion(t *testing.T) {
	g := NewWithT(t)
	version, err := marksOf(t, deployment(t, templateLabel(gateKey, "start"))).computedVersion()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(version).To(Equal(versionOf123))
}
