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
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/bounded"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/daemonset"
	kind "github.com/traas-stack/altershield-operator/controllers/workload/deployment"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
)

func TestDefaulterKeepsTheFieldsOfAPacedRelease(t *testing.T) {
	limits := func(unavailable, surge any) edit {
		return all(field(unavailable, "maxUnavailable", "spec", "strategy", "rollingUpdate"), field(surge, "maxSurge", "spec", "strategy", "rollingUpdate"))
	}
	pinned := all(stamped(versionOf123, "2"), marked(byGates), limits(float64(0), "25%"))
	declared := all(stamped(versionOf123, "2"), marked(`{"release":2,"policy":"default/careful","lever":"Gates","traffic":"With"}`))
	rests := all(declared, marked(`{"release":2,"policy":"default/careful","lever":"Gates","traffic":"With","rests":true}`), field(true, "paused", "spec"))
	parted := all(stamped(versionOf123, "2"), marked(byPartition), atPartition(4))
	for _, row := range []struct {
		name    string
		kind    workload.Kind
		old     edit
		updated edit
		policy  *appv1alpha1.ReleasePolicy
		fields  string
		mark    string
		patch   map[string]any
	}{
		{"a pin", kind.Kind{}, pinned, limits("30%", "25%"), careful(), "spec.strategy.rollingUpdate.maxUnavailable",
			`{"release":2,"policy":"default/careful","lever":"Gates","traffic":"With","from":{"maxUnavailable":"30%"}}`, map[string]any{unavailable: float64(0)}},
		{"a pin that the update would end", kind.Kind{}, pinned, limits("25%", "25%"), careful(), "spec.strategy.rollingUpdate.maxUnavailable", "",
			map[string]any{unavailable: float64(0)}},
		{"a strategy", kind.Kind{}, pinned, field(object{"type": "Recreate"}, "strategy", "spec"), careful(),
			"spec.strategy.type and spec.strategy.rollingUpdate.maxUnavailable and spec.strategy.rollingUpdate.maxSurge", "",
			map[string]any{"add /spec/strategy/type": "RollingUpdate"}},
		{"not the strategy if its capacity is as declared", kind.Kind{}, declared, limits("30%", "25%"), careful(asDeclared), "", "", nil},
		{"not the pause of a user", kind.Kind{}, pinned, field(true, "paused", "spec"), careful(), "", "", nil},
		{"the pause of a step", kind.Kind{}, rests, without("paused", "spec"), careful(asDeclared), "spec.paused", "", map[string]any{"add /spec/paused": true}},
		{"a partition", statefulset.Kind{}, parted, atPartition(0), careful(), "spec.updateStrategy.rollingUpdate.partition",
			`{"release":2,"policy":"default/careful","lever":"Partition","traffic":"With"}`, map[string]any{partition: float64(4)}},
		{"a partition of the operator", statefulset.Kind{}, parted, atPartition(3), careful(), "spec.updateStrategy.rollingUpdate.partition",
			`{"release":2,"policy":"default/careful","lever":"Partition","traffic":"With","from":{"partition":3}}`, map[string]any{partition: float64(4)}},
		{"a strategy of nodes", daemonset.Kind{}, all(stamped(versionOf123, "2"), marked(byNodes), updating(object{"type": "OnDelete"})),
			updating(object{"type": "RollingUpdate"}), careful(), "spec.updateStrategy.type", "", map[string]any{"add /spec/updateStrategy/type": "OnDelete"}},
		{"a strategy of nodes while the first ones are awaited", daemonset.Kind{},
			all(stamped(versionOf123, "2"), marked(byNodes), annotation(heldKey, "2-first-nodes"), updating(object{"type": "OnDelete"})),
			updating(object{"type": "RollingUpdate"}), careful(), "spec.updateStrategy.type", "", map[string]any{"add /spec/updateStrategy/type": "OnDelete"}},
		{"not the strategy of a new workload", kind.Kind{}, all(stamped(versionOf123, "2"), marked(`{"release":2,"policy":"default/careful","lever":"Gates","traffic":"Before","new":true}`)),
			limits("30%", "25%"), careful(before), "", "", nil},
		{"a pin while the release is held for a failure", kind.Kind{}, all(pinned, annotation(heldKey, "2"), field(true, "paused", "spec")), limits("25%", "25%"), careful(),
			"spec.strategy.rollingUpdate.maxUnavailable", "", map[string]any{unavailable: float64(0)}},
		{"not a pin of a release that is held for a failure, and resumed", kind.Kind{}, all(pinned, annotation(heldKey, "2"), field(true, "paused", "spec")),
			all(without("paused", "spec"), limits("25%", "25%")), careful(), "", "", nil},
		{"a pin of a workload with the mark of an earlier hold", kind.Kind{}, all(pinned, annotation(heldKey, "1")), limits("25%", "25%"), careful(),
			"spec.strategy.rollingUpdate.maxUnavailable", "", map[string]any{unavailable: float64(0)}},
		{"not the strategy of a release that failed on its first nodes", daemonset.Kind{},
			all(stamped(versionOf123, "2"), marked(byNodes), annotation(heldKey, "2"), updating(object{"type": "OnDelete"})),
			updating(object{"type": "RollingUpdate"}), careful(), "", "", nil},
		{"not of a release that was resumed", statefulset.Kind{}, all(parted, annotation(heldKey, "2-overridden")), atPartition(0), careful(), "", "", nil},
		{"not of a release that is held for a failure", statefulset.Kind{}, all(parted, annotation(heldKey, "2")), atPartition(0), careful(), "", "", nil},
		{"not of another release", statefulset.Kind{}, all(parted, stamped(versionOf123, "3")), atPartition(0), careful(), "", "", nil},
		{"nothing else", statefulset.Kind{}, parted, field(float64(7), "replicas", "spec"), careful(), "", "", nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			response, patch := admit(t, row.kind, requestOf(t, deployment(t, row.old), deployment(t, row.old, row.updated)), row.policy)
			g.Expect(response.Allowed).To(BeTrue())
			if row.fields == "" {
				g.Expect(response.Warnings).To(BeEmpty())
				g.Expect(patch).To(BeEmpty())
				return
			}
			noun := workload.Noun(row.kind)
			annotate := "kubectl annotate " + noun + "/sleep --namespace default --overwrite altershield.defense.antgroup.com/"
			g.Expect(response.Warnings).To(Equal([]string{
				noun + " sleep is paced: the present value of " + row.fields + " stays until the last step; " + annotate + "go-on=2:all ends the pace once no approval is missing",
				annotate + "rollback=true asks for a rollback",
			}))
			g.Expect(annotationSet(patch, pacedKey)).To(Equal(row.mark))
			kept := patched(t, deployment(t, row.old, row.updated), response)
			again, _ := submitted(t, row.kind, deployment(t, row.old), kept, row.policy)
			g.Expect(again).To(Equal(kept), "the webhook is called again")
			for _, key := range []string{"strategy", "updateStrategy", "paused"} {
				g.Expect(at(kept, "spec")[key]).To(Or(BeNil(), Equal(at(deployment(t, row.old), "spec")[key])))
			}
			for path, value := range row.patch {
				g.Expect(jsonOf(t, patch[path])).To(Equal(value), path)
			}
		})
	}
}

// Another webhook turns the update into a release, after a first call that kept the fields.
func TestDefaulterReleasesWhatAnUpdateOfAPacedReleaseChanged(t *testing.T) {
	unavailable := func(value any) edit { return field(value, "maxUnavailable", "spec", "strategy", "rollingUpdate") }
	pinned := all(stamped(versionOf123, "2"), marked(byGates), unavailable(float64(0)))
	parted := all(stamped(versionOf123, "2"), marked(byPartition), atPartition(4))
	paused := all(stamped(versionOf123, "2"), marked(strings.Replace(beforeTraffic, `"rests":true,`, "", 1)), unavailable(float64(0)), field(true, "paused", "spec"))
	for _, row := range []struct {
		name    string
		kind    workload.Kind
		old     edit
		updated edit
		objects []client.Object
	}{
		{"a pin", kind.Kind{}, pinned, unavailable("30%"), []client.Object{careful(), gate()}},
		{"a pin of a release that isn't paced", kind.Kind{}, pinned, unavailable("30%"), nil},
		{"a partition", statefulset.Kind{}, parted, atPartition(1), []client.Object{careful()}},
		{"a partition of a release that isn't paced", statefulset.Kind{}, parted, atPartition(1), nil},
		{"the end of the partition", statefulset.Kind{}, parted, atPartition(0), []client.Object{careful()}},
		{"the end of a pause", kind.Kind{}, paused, without("paused", "spec"), []client.Object{careful(), gate()}},
		{"nothing of the pace", kind.Kind{}, pinned, label("team", "a"), []client.Object{careful(), gate()}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			old := deployment(t, row.old)
			first, _ := submitted(t, row.kind, old, with(t, old, row.updated), row.objects...)
			again, _ := submitted(t, row.kind, old, with(t, first, repaired), row.objects...)
			once, _ := submitted(t, row.kind, old, with(t, old, row.updated, repaired), row.objects...)
			g.Expect(again).To(Equal(once), "as if the release had come at once")
		})
	}
}

func TestDefaulterNamesADeclaredKindInFullInACommand(t *testing.T) {
	g := NewWithT(t)
	parted := all(stampedGroup(versionOfGroup, "4"), marked(`{"release":4,"policy":"default/careful","lever":"Partition","traffic":"With"}`),
		field(2.0, "partition", "spec", "rolloutStrategy", "rollingUpdateConfiguration"))
	whole := field(0.0, "partition", "spec", "rolloutStrategy", "rollingUpdateConfiguration")
	response, _ := admit(t, groups(t), requestOf(t, objectOf(t, group, parted), objectOf(t, group, parted, whole)), careful())
	g.Expect(response.Warnings).To(HaveExactElements(HaveSuffix("; kubectl annotate leaderworkersets.leaderworkerset.x-k8s.io/llm --namespace default"+
		" --overwrite altershield.defense.antgroup.com/go-on=4:all ends the pace once no approval is missing"), ContainSubstring("/rollback=true")))
}

func TestDefaulterShowsTheStepOfAPacedRelease(t *testing.T) {
	g := NewWithT(t)
	record := changeWorkload("d-1", versionOf123, "Running", "PodsChecking")
	record.Status.ObservedRelease, record.Status.Pace = 2, &appv1alpha1.ReleasePace{Step: 1, Progress: "1/3"}
	reader := readerOf(t, interceptor.Funcs{}, record)
	accounts := accountsOf(t, reader)
	paces := newPaces(Options{Reader: reader, Namespace: "altershieldoperator-system"}, pastOf(nil, accounts)).of(statefulset.Kind{})
	patcher := &defaulter{kind: statefulset.Kind{}, operator: operator, clock: accounts.clock, accounts: accounts, past: pastOf(nil, accounts),
		freezes: freezesOf(t, accounts, statefulset.Kind{}), paces: paces}
	parted := all(stamped(versionOf123, "2"), marked(byPartition), atPartition(4))
	response := patcher.Handle(t.Context(), requestOf(t, deployment(t, parted), deployment(t, parted, atPartition(0))))
	g.Expect(response.Warnings).To(ContainElement(HavePrefix("statefulset sleep is paced (step 1/3): ")))
}

func TestDefaulterRecordsWhoLetsAReleaseGoOn(t *testing.T) {
	paced := all(stamped(versionOf123, "2"), marked(byNodes), updating(object{"type": "OnDelete"}))
	for _, row := range []struct {
		name     string
		old      edit
		updated  edit
		by       string
		gone     bool
		warnings []string
	}{
		{"records a user", paced, annotation(goOnKey, "2:2"), "alice", false, nil},
		{"drops what a user claims", paced, all(annotation(goOnKey, "2:2"), annotation(goOnByKey, "bob")), "alice", false, nil},
		{"keeps the first one", all(paced, annotation(goOnKey, "2:2"), annotation(goOnByKey, "bob")), label("a", "b"), "", false, nil},
		{"forgets one who withdraws it", all(paced, annotation(goOnKey, "2:2"), annotation(goOnByKey, "bob")), without(goOnKey, "metadata", "annotations"), "", true, nil},
		{"warns where nothing is paced", stamped(versionOf123, "2"), annotation(goOnKey, "2:all"), "alice", false,
			[]string{"the annotation altershield.defense.antgroup.com/go-on has no effect: release 2 of daemonset sleep is not paced"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			response, patch := admit(t, daemonset.Kind{}, requestOf(t, deployment(t, row.old), deployment(t, row.old, row.updated)))
			const key = " /metadata/annotations/altershield.defense.antgroup.com~1go-on-by"
			by, _ := patch["add"+key].(string)
			g.Expect(by).To(Equal(row.by))
			if row.gone {
				g.Expect(patch).To(HaveKey("remove" + key))
			} else {
				g.Expect(patch).NotTo(HaveKey("remove" + key))
			}
			if row.warnings != nil {
				g.Expect(response.Warnings).To(Equal(row.warnings))
			}
		})
	}
}

func TestDefaulterWarnsOfARequestThatComesWithARelease(t *testing.T) {
	const removed = " is removed, since this update makes release 3 of deployment sleep: set it afterwards"
	release := stamped(versionOf123, "2")
	for _, row := range []struct {
		name         string
		old, updated edit
		warnings     []string
	}{
		{"to go on", release, all(repaired, annotation(goOnKey, "3:all")), []string{"the annotation altershield.defense.antgroup.com/go-on" + removed}},
		{"for a rollback", release, all(repaired, asking("true")), []string{"the annotation altershield.defense.antgroup.com/rollback" + removed}},
		{"not of one that was there", all(release, annotation(goOnKey, "2:2"), asking("true")), repaired, nil},
		{"not of one that kubectl rollout undo brings back", release, all(repaired, annotation(goOnKey, "1:all"), stamped(versionOf1234, "1")), nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			response, patch := admit(t, kind.Kind{}, requestOf(t, deployment(t, row.old), deployment(t, row.old, row.updated)))
			NewWithT(t).Expect(response.Warnings).To(Equal(row.warnings))
			NewWithT(t).Expect(annotationSet(patch, goOnKey)).To(BeEmpty())
		})
	}
}

func TestValidatorDeniesAReleaseToGoOn(t *testing.T) {
	const use = ": set altershield.defense.antgroup.com/go-on=2:<step> or altershield.defense.antgroup.com/go-on=2:all"
	old := stamped(versionOf123, "2")
	for _, row := range []struct {
		name    string
		old     edit
		updated edit
		denial  string
	}{
		{"by something else", old, annotation(goOnKey, "yes"), `deployment sleep can't go on by the annotation altershield.defense.antgroup.com/go-on="yes"` + use},
		{"by a step that is none", old, annotation(goOnKey, "2:0"), `deployment sleep can't go on by the annotation altershield.defense.antgroup.com/go-on="2:0"` + use},
		{"if it isn't present any more", old, annotation(goOnKey, "1:all"), "deployment sleep is at release 2, not at release 1, which is to go on" + use},
		{"not if it is present", old, annotation(goOnKey, "2:3"), ""},
		{"not to all pods", old, annotation(goOnKey, "2:all"), ""},
		{"not by what was there before", all(old, annotation(goOnKey, "1:all")), label("a", "b"), ""},
		{"not by its removal", all(old, annotation(goOnKey, "2:all")), without(goOnKey, "metadata", "annotations"), ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			request := requestOf(t, deployment(t, row.old), deployment(t, row.old, row.updated))
			accounts := accountsOf(t, readerOf(t, interceptor.Funcs{}))
			validator := &validator{kind: kind.Kind{}, operator: operator, clock: accounts.clock, accounts: accounts, past: pastOf(nil, accounts)}
			response := validator.Handle(t.Context(), request)
			g.Expect(response.Allowed).To(Equal(row.denial == ""))
			if row.denial != "" {
				g.Expect(response.Result.Message).To(Equal(row.denial))
			}
		})
	}
}

func TestPodGatesAddGates(t *testing.T) {
	pod := func(edits ...edit) object {
		result := object{"metadata": object{"generateName": "sleep-", "labels": object{
			"admission-webhook-altershield.antgroup.com/version": versionOf1234, gateKey: "start"}}, "spec": object{}}
		for _, edit := range edits {
			edit(result)
		}
		return result
	}
	index := func(index string) edit { return label("apps.kubernetes.io/pod-index", index) }
	gatedFrom := func(first int32) client.Object {
		object := gate()
		object.Spec.GatedFrom = map[string]int32{versionOf1234: first, versionOf123: 0}
		return object
	}
	other, start := []any{object{"name": "other"}}, object{"name": "altershield.defense.antgroup.com/verified"}
	ready := object{"conditionType": "altershield.defense.antgroup.com/verified"}
	for _, row := range []struct {
		name    string
		pod     object
		objects []client.Object
		patch   map[string]any
	}{
		{"to start", pod(), []client.Object{gate()}, map[string]any{"add /spec/schedulingGates": []any{start}}},
		{"to start, beside others", pod(field(other, "schedulingGates", "spec")), []client.Object{gate()}, map[string]any{"add /spec/schedulingGates/-": start}},
		{"to be ready", pod(label(gateKey, "ready")), []client.Object{gate()}, map[string]any{"add /spec/readinessGates": []any{ready}}},
		{"to be ready, beside others", pod(label(gateKey, "ready"), field([]any{object{"conditionType": "a/b"}}, "readinessGates", "spec")),
			[]client.Object{gate()}, map[string]any{"add /spec/readinessGates/-": ready}},
		{"while other versions are verified", pod(), []client.Object{gate(versionOf123)}, map[string]any{"add /spec/schedulingGates": []any{start}}},
		{"not to a verified version", pod(), []client.Object{gate(versionOf1234)}, nil},
		{"not without a ReleaseGate", pod(), nil, nil},
		{"not by one of another name", pod(), []client.Object{func() client.Object { other := gate(); other.Name = "other"; return other }()}, nil},
		{"not without the label", pod(without(gateKey, "metadata", "labels")), []client.Object{gate()}, nil},
		{"not by another value of it", pod(label(gateKey, "other")), []client.Object{gate()}, nil},
		{"not to a pod with one", pod(field([]any{start}, "schedulingGates", "spec")), []client.Object{gate()}, nil},
		{"not to a pod with a readiness gate", pod(label(gateKey, "ready"), field([]any{ready}, "readinessGates", "spec")), []client.Object{gate()}, nil},
		{"to start, to one that a StatefulSet gained", pod(index("20")), []client.Object{gatedFrom(20)}, map[string]any{"add /spec/schedulingGates": []any{start}}},
		{"to start and to be ready, to such a one", pod(index("21"), label(gateKey, "ready")), []client.Object{gatedFrom(20)},
			map[string]any{"add /spec/schedulingGates": []any{start}, "add /spec/readinessGates": []any{ready}}},
		{"not to one that was there before", pod(index("19")), []client.Object{gatedFrom(20)}, nil},
		{"to be ready, to one that was there before", pod(index("19"), label(gateKey, "ready")), []client.Object{gatedFrom(20)}, map[string]any{"add /spec/readinessGates": []any{ready}}},
		{"to start, where it isn't known which were", pod(index("19")), []client.Object{gate()}, map[string]any{"add /spec/schedulingGates": []any{start}}},
		{"to start, to one without an ordinal", pod(), []client.Object{gatedFrom(20)}, map[string]any{"add /spec/schedulingGates": []any{start}}},
		{"to start, to one whose ordinal is none", pod(index("x")), []client.Object{gatedFrom(20)}, map[string]any{"add /spec/schedulingGates": []any{start}}},
		{"to be ready, to one without an ordinal", pod(label(gateKey, "ready")), []client.Object{gatedFrom(20)}, map[string]any{"add /spec/readinessGates": []any{ready}}},
		{"not to a bound pod", pod(field("node-1", "nodeName", "spec")), []client.Object{gate()}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			request := requestOf(t, nil, row.pod)
			request.Operation = admissionv1.Create
			reader := readerOf(t, interceptor.Funcs{}, row.objects...)
			response := (&podGates{cache: reader, live: reader}).Handle(t.Context(), request)
			g.Expect(response.Allowed).To(BeTrue())
			patch := operations(response.Patches)
			g.Expect(patch).To(HaveLen(len(row.patch)))
			for path, value := range row.patch {
				g.Expect(jsonOf(t, patch[path])).To(Equal(jsonOf(t, value)), path)
			}
		})
	}
}

func TestPodGatesAskTheAPIServerForAReleaseGateThatTheCacheDoesNotShow(t *testing.T) {
	labels := object{"admission-webhook-altershield.antgroup.com/version": versionOf1234, gateKey: "start"}
	unlabelled := object{"admission-webhook-altershield.antgroup.com/version": versionOf1234}
	working := interceptor.Funcs{}
	broken := interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return errors.New("the API server is away")
	}}
	flooded := interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return fmt.Errorf("listing: %w", bounded.ErrTooManyReads)
	}}
	for _, row := range []struct {
		name         string
		labels       object
		cached, live []client.Object
		calls        interceptor.Funcs
		lists        int
		patches      int
		problem      string
	}{
		{"one is new", labels, nil, []client.Object{gate()}, working, 1, 1, ""},
		{"the new one lists the version", labels, nil, []client.Object{gate(versionOf1234)}, working, 1, 0, ""},
		{"there is none", labels, nil, nil, working, 1, 0, ""},
		{"one of another name", labels, nil, []client.Object{func() client.Object { other := gate(); other.Name = "other"; return other }()}, working, 1, 0, ""},
		{"one of another namespace", labels, nil, []client.Object{func() client.Object { other := gate(); other.Namespace = "other"; return other }()}, working, 1, 0, ""},
		{"the cache shows it", labels, []client.Object{gate()}, nil, broken, 0, 1, ""},
		{"the pod has no label", unlabelled, nil, []client.Object{gate()}, broken, 0, 0, ""},
		{"too many pods come without one", labels, nil, nil, flooded, 1, 0, ""},
		{"it can't be read", labels, nil, []client.Object{gate()}, broken, 1, 0, "listing the ReleaseGates of namespace default on the API server: the API server is away"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g, live := NewWithT(t), &counting{Reader: readerOf(t, row.calls, row.live...)}
			request := requestOf(t, nil, object{"metadata": object{"generateName": "sleep-", "labels": row.labels}, "spec": object{}})
			response := (&podGates{cache: readerOf(t, interceptor.Funcs{}, row.cached...), live: live}).Handle(t.Context(), request)
			g.Expect(live.lists).To(Equal(row.lists))
			g.Expect(response.Patches).To(HaveLen(row.patches))
			g.Expect(response.Allowed).To(Equal(row.problem == ""))
			if row.problem != "" {
				g.Expect(response.Result.Message).To(Equal(row.problem))
				g.Expect(response.Result.Code).To(BeEquivalentTo(500))
			}
		})
	}
}
