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
	"reflect"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
)

const (
	frozenKey     = "altershield.defense.antgroup.com/frozen"
	breakGlassKey = "altershield.defense.antgroup.com/break-glass"
	heldKey       = "altershield.defense.antgroup.com/held"
)

// lock is an incident lock of the namespace default that began an hour ago.
func lock(changes ...func(*appv1alpha1.ChangeFreezeSpec)) *appv1alpha1.ChangeFreeze {
	freeze := &appv1alpha1.ChangeFreeze{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "lock", CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))},
		Spec: appv1alpha1.ChangeFreezeSpec{
			Expires: &metav1.Duration{Duration: 8 * time.Hour}, Action: "Park", Running: "Finish", Thaw: appv1alpha1.FreezeThaw{Concurrent: 5},
			Reason: "INC-7",
		},
	}
	for _, change := range changes {
		change(&freeze.Spec)
	}
	return freeze
}

func acting(action appv1alpha1.FreezeAction) func(*appv1alpha1.ChangeFreezeSpec) {
	return func(spec *appv1alpha1.ChangeFreezeSpec) { spec.Action = action }
}

// glass lets a release of the Deployment sleep pass.
func glass(changes ...func(*appv1alpha1.BreakGlass)) *appv1alpha1.BreakGlass {
	glass := &appv1alpha1.BreakGlass{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "inc-7", UID: "bg-1", CreationTimestamp: metav1.NewTime(now.Add(-time.Minute))},
		Spec: appv1alpha1.BreakGlassSpec{
			Reason: "INC-7", Workloads: []appv1alpha1.WorkloadSelector{{Kind: "Deployment.apps", Name: "sleep"}},
			Overrides: []appv1alpha1.BreakGlassOverride{"Freeze"}, For: metav1.Duration{Duration: time.Hour}, Uses: 1, RequestedBy: "bob",
		},
	}
	for _, change := range changes {
		change(glass)
	}
	return glass
}

const (
	isFrozen = "deployment sleep is frozen: ChangeFreeze default/lock is on until 2026-11-21T17:00:00Z: INC-7"
	isParked = "the release is parked: it starts when the freeze ends"
	mark     = `{"release":2,"by":["default/lock"],"concurrent":5}`
	advice   = "in an emergency, create a BreakGlass in namespace default for Deployment.apps sleep with overrides [Freeze]"
	passes   = "deployment sleep passes by BreakGlass inc-7, which is recorded for alice, although " + isFrozen
	evidence = `{"release":2,"name":"inc-7","uid":"bg-1","user":"alice","time":"2026-11-21T10:00:00Z","overrides":["Freeze"],"would":["` + isFrozen + `"]}`
)

// admit has a defaulter answer a request while there are ChangeFreezes and BreakGlasses.
func admit(t *testing.T, kind workload.Kind, request admission.Request, objects ...client.Object) (response admission.Response, patch map[string]any) {
	t.Helper()
	accounts := accountsOf(t, readerOf(t, interceptor.Funcs{}))
	defaulter := &defaulter{kind: kind, operator: operator, clock: accounts.clock, accounts: accounts, past: pastOf(nil, accounts),
		freezes: freezesOf(t, accounts, kind, objects...), paces: pacesOf(t, pastOf(nil, accounts), kind, objects...)}
	response = defaulter.Handle(t.Context(), request)
	return response, operations(response.Patches)
}

func TestDefaulterFreezesReleases(t *testing.T) {
	old, next := all(stamped(versionOf123, "1")), all(stamped(versionOf123, "1"), repaired)
	for _, row := range []struct {
		name         string
		old, updated edit
		objects      []client.Object
		user         string
		denial       string
		warnings     []string
		frozen       bool
		paused       bool
		broken       string
	}{
		{"parks a release", old, next, []client.Object{lock()}, "alice", "", []string{isFrozen, isParked}, true, true, ""},
		{"denies it if a freeze does", old, next, []client.Object{lock(acting("Deny"))}, "alice", isFrozen, []string{advice}, false, false, ""},
		{"warns of it if a freeze does", old, next, []client.Object{lock(acting("Warn"))}, "alice", "", []string{isFrozen + "; it is admitted all the same"}, false, false, ""},
		{"leaves alone what is no release", old, all(old, field(float64(7), "replicas", "spec")), []client.Object{lock()}, "alice", "", nil, false, false, ""},
		{"leaves alone the operator's own", old, next, []client.Object{lock(acting("Deny"))}, operator, "", nil, false, false, ""},
		{"leaves alone an excepted user", old, next, []client.Object{lock(acting("Deny"), func(spec *appv1alpha1.ChangeFreezeSpec) {
			spec.Except = &appv1alpha1.FreezeException{Users: []string{"alice"}}
		})}, "alice", "", nil, false, false, ""},
		{"leaves alone an excepted group", old, next, []client.Object{lock(acting("Deny"), func(spec *appv1alpha1.ChangeFreezeSpec) {
			spec.Except = &appv1alpha1.FreezeException{Groups: []string{"sre-oncall"}}
		})}, "alice", "", nil, false, false, ""},
		{"leaves alone other workloads", old, next, []client.Object{lock(acting("Deny"), func(spec *appv1alpha1.ChangeFreezeSpec) {
			spec.Workloads = []appv1alpha1.WorkloadSelector{{Kind: "StatefulSet.apps"}}
		})}, "alice", "", nil, false, false, ""},
		{"marks a release that a user has paused", old, all(next, field(true, "paused", "spec")), []client.Object{lock()}, "alice", "", []string{isFrozen, isParked}, true, false, ""},
		{"lets a release pass by a BreakGlass", old, next, []client.Object{lock(), glass()}, "alice", "", []string{passes}, false, false, evidence},
		{"also where it is denied", old, next, []client.Object{lock(acting("Deny")), glass()}, "alice", "", []string{passes}, false, false, evidence},
		{"not by one that is used up", old, next, []client.Object{lock(), glass(func(glass *appv1alpha1.BreakGlass) {
			glass.Status.Uses = []appv1alpha1.BreakGlassUse{{}}
		})}, "alice", "", []string{isFrozen, isParked}, true, true, ""},
		{"not by one that has expired", old, next, []client.Object{lock(), glass(func(glass *appv1alpha1.BreakGlass) {
			glass.Spec.For = metav1.Duration{Duration: time.Minute}
		})}, "alice", "", []string{isFrozen, isParked}, true, true, ""},
		{"not by one whose author is unknown", old, next, []client.Object{lock(), glass(func(glass *appv1alpha1.BreakGlass) {
			glass.Spec.RequestedBy = ""
		})}, "alice", "", []string{isFrozen, isParked}, true, true, ""},
		{"not by one for something else", old, next, []client.Object{lock(), glass(func(glass *appv1alpha1.BreakGlass) {
			glass.Spec.Overrides = []appv1alpha1.BreakGlassOverride{"Suspension"}
		})}, "alice", "", []string{isFrozen, isParked}, true, true, ""},
		{"not by one for another workload", old, next, []client.Object{lock(), glass(func(glass *appv1alpha1.BreakGlass) {
			glass.Spec.Workloads[0].Name = "awake"
		})}, "alice", "", []string{isFrozen, isParked}, true, true, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			request := requestOf(t, deployment(t, row.old), deployment(t, row.updated))
			request.UserInfo = authenticationv1.UserInfo{Username: row.user, Groups: []string{"sre-oncall"}}
			response, patch := admit(t, kind.Kind{}, request, row.objects...)
			g.Expect(response.Allowed).To(Equal(row.denial == ""))
			g.Expect(response.Warnings).To(Equal(row.warnings))
			if row.denial != "" {
				g.Expect(response.Result.Message).To(Equal(row.denial))
				g.Expect(response.Result.Reason).To(BeEquivalentTo("deployment sleep is frozen"))
				g.Expect(response.Result.Code).To(BeEquivalentTo(403))
				return
			}
			marked := map[bool]string{true: mark}
			held, paused := map[bool]string{true: "2"}, map[bool]any{true: true}
			g.Expect(annotationSet(patch, frozenKey)).To(Equal(marked[row.frozen]))
			g.Expect(annotationSet(patch, heldKey)).To(Equal(held[row.paused]))
			g.Expect([]any{patch["add /spec/paused"]}).To(HaveExactElements(paused[row.paused]))
			g.Expect(annotationSet(patch, breakGlassKey)).To(Equal(row.broken))
		})
	}
}

// annotationSet returns the value that a patch sets an annotation to.
func annotationSet(patch map[string]any, key string) string {
	if all, ok := patch["add /metadata/annotations"].(map[string]string); ok {
		return all[key]
	}
	value, _ := patch["add /metadata/annotations/altershield.defense.antgroup.com~1"+key[len("altershield.defense.antgroup.com/"):]].(string)
	return value
}

func TestDefaulterFreezesNamespacesOfTheOperatorsFreezes(t *testing.T) {
	central := lock(acting("Deny"), func(spec *appv1alpha1.ChangeFreezeSpec) {
		spec.Namespaces = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "prod"}}
	})
	for namespace, row := range map[string]struct {
		tier   string
		denied bool
	}{
		"altershieldoperator-system": {"prod", true},
		"default":                    {"prod", false},
		"other":                      {"prod", false},
	} {
		t.Run(namespace, func(t *testing.T) {
			central.Namespace = namespace
			labelled := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default", Labels: map[string]string{"tier": row.tier}}}
			request := requestOf(t, deployment(t, stamped(versionOf123, "1")), deployment(t, stamped(versionOf123, "1"), repaired))
			response, _ := admit(t, kind.Kind{}, request, central, labelled)
			NewWithT(t).Expect(response.Allowed).To(Equal(!row.denied))
			labelled.Labels["tier"] = "dev"
			response, _ = admit(t, kind.Kind{}, request, central, labelled)
			NewWithT(t).Expect(response.Allowed).To(BeTrue())
		})
	}
}

func TestDefaulterFreezesNewWorkloads(t *testing.T) {
	g := NewWithT(t)
	response, patch := admit(t, kind.Kind{}, requestOf(t, nil, deployment(t)), lock())
	g.Expect(response.Allowed).To(BeTrue())
	g.Expect(patch).To(HaveKeyWithValue("add /spec/paused", true))
	g.Expect(annotationSet(patch, frozenKey)).To(Equal(`{"release":1,"by":["default/lock"],"concurrent":5}`))
	for _, kind := range []workload.Kind{statefulset.Kind{}, daemonset.Kind{}} {
		response, _ = admit(t, kind, requestOf(t, nil, deployment(t)), lock())
		g.Expect(response.Allowed).To(BeFalse(), "its pause lets the first pods start")
	}
}

func TestDefaulterFreezesASetByItsPartition(t *testing.T) {
	g := NewWithT(t)
	set := func(edits ...edit) object {
		return deployment(t, append([]edit{stamped(versionOf123, "1"), field(object{"type": "RollingUpdate", "rollingUpdate": object{"partition": float64(2)}}, "updateStrategy", "spec")}, edits...)...)
	}
	request := requestOf(t, set(), set(repaired))
	request.Kind.Kind = "StatefulSet"
	response, patch := admit(t, statefulset.Kind{}, request, lock())
	g.Expect(response.Allowed).To(BeTrue())
	g.Expect(patch).To(HaveKeyWithValue("add /spec/updateStrategy/rollingUpdate/partition", BeEquivalentTo(2147483647)))
	g.Expect(annotationSet(patch, "altershield.defense.antgroup.com/held-from")).NotTo(BeEmpty(), "the partition of the user comes back")
}

// submitted returns the object of a request as the defaulter admits it.
func submitted(t *testing.T, kind workload.Kind, old, updated object, objects ...client.Object) (object, admission.Warnings) {
	t.Helper()
	request := requestOf(t, old, updated)
	response, _ := admit(t, kind, request, objects...)
	NewWithT(t).Expect(response.Allowed).To(BeTrue())
	return patched(t, updated, response), response.Warnings
}

// with returns a copy of an object with the edits.
func with(t *testing.T, of object, edits ...edit) object {
	t.Helper()
	return objectOf(t, string(raw(t, of).Raw), edits...)
}

func TestDefaulterParksByWhatTheReleaseItselfNeedsToKnow(t *testing.T) {
	g, kind := NewWithT(t), kinds.Sample(t, "..", "knative-service", "knativeservices")
	container := func(image string) edit {
		return field([]any{object{"image": image}}, "containers", "spec", "template", "spec")
	}
	revision := func(object object) any {
		return at(object, "spec")["traffic"].([]any)[0].(map[string]any)["revisionName"]
	}
	first := objectOf(t, knativeService)
	next := with(t, first, container("web:2"))
	parked, _ := submitted(t, kind, first, next, lock())
	g.Expect(revision(parked)).To(Equal("web-00001"), "the first update is parked, too")
	second, _ := submitted(t, kind, first, next)
	at(second, "status")["latestReadyRevisionName"] = "web-00002"
	parked, _ = submitted(t, kind, second, with(t, second, container("web:3")), lock())
	g.Expect(revision(parked)).To(Equal("web-00002"))

	g.Expect(at(parked, "metadata", "annotations")).To(HaveKeyWithValue(heldKey, "2"))
	at(parked, "status")["latestReadyRevisionName"] = "web-00003"
	again, _ := submitted(t, kind, parked, with(t, parked, container("web:4")), lock())
	g.Expect(revision(again)).To(Equal("web-00002"), "the revision of a parked release gets no traffic")
	g.Expect(at(again, "metadata", "annotations")).To(HaveKeyWithValue("altershield.defense.antgroup.com/hold-with", ContainSubstring("web-00002")))
	g.Expect(at(again, "metadata", "annotations")).To(HaveKeyWithValue(heldKey, "3"))
	released, _ := submitted(t, kind, parked, with(t, parked, container("web:4")))
	g.Expect(at(released, "spec")).NotTo(HaveKey("traffic"), "the pause ends as it began")
}

func TestDefaulterKeepsThePartitionOfTheUserWhileASetIsParked(t *testing.T) {
	g := NewWithT(t)
	template := func(test string) edit { return templateLabel("test", test) }
	partition := field(object{"type": "RollingUpdate", "rollingUpdate": object{"partition": float64(2)}}, "updateStrategy", "spec")
	heldFrom := HaveKeyWithValue("altershield.defense.antgroup.com/held-from", MatchJSON(`{"partition":2}`))
	old := deployment(t, stamped(versionOf123, "1"), partition)
	first, _ := submitted(t, statefulset.Kind{}, old, with(t, old, template("a")), lock())
	g.Expect(at(first, "metadata", "annotations")).To(heldFrom)
	reinvoked, _ := submitted(t, statefulset.Kind{}, old, with(t, first, label("injected", "true")), lock())
	g.Expect(at(reinvoked, "metadata", "annotations")).To(heldFrom, "another webhook changed something meanwhile")
	second, _ := submitted(t, statefulset.Kind{}, first, with(t, first, template("b")), lock())
	g.Expect(at(second, "metadata", "annotations")).To(heldFrom)
	g.Expect(at(second, "metadata", "annotations")).To(HaveKeyWithValue(heldKey, "3"))
	third, _ := submitted(t, statefulset.Kind{}, second, with(t, second, template("c")))
	g.Expect(at(third, "spec", "updateStrategy", "rollingUpdate")).To(HaveKeyWithValue("partition", float64(2)))
}

func TestDefaulterFreezesAReleaseAfterOneThatIsHeld(t *testing.T) {
	g := NewWithT(t)
	held := all(stamped(versionOf123, "1"), suspended, annotation(heldKey, "1"), field(true, "paused", "spec"))
	_, patch := admit(t, kind.Kind{}, requestOf(t, deployment(t, held), deployment(t, held, repaired, ignoring)), lock())
	g.Expect(patch).NotTo(HaveKey("remove /spec/paused"), "the pause of the release before goes on")
	g.Expect(annotationSet(patch, heldKey)).To(Equal("2"))
	g.Expect(annotationSet(patch, frozenKey)).To(Equal(mark))
}

// The partition of the first call is not the one of the user.
func TestDefaulterIsCalledAgainForAParkedReleaseOfASet(t *testing.T) {
	g := NewWithT(t)
	at := func(partition float64, edits ...edit) object {
		return deployment(t, append([]edit{field(object{"type": "RollingUpdate", "rollingUpdate": object{"partition": partition}}, "updateStrategy", "spec")}, edits...)...)
	}
	again := at(2147483647, stamped(versionOf1234, "2"), repaired, annotation(heldKey, "2"), annotation("altershield.defense.antgroup.com/held-from", `{"partition":2}`),
		annotation(frozenKey, mark), releasedBy("alice", versionOf1234, "2", "x"))
	request := requestOf(t, at(2, stamped(versionOf123, "1")), again)
	request.Kind.Kind = "StatefulSet"
	_, patch := admit(t, statefulset.Kind{}, request, lock())
	g.Expect(patch).NotTo(HaveKey(ContainSubstring("/spec/updateStrategy")))
	g.Expect(patch).NotTo(HaveKey(ContainSubstring("held-from")))
}

func TestDefaulterIsCalledAgainForAParkedRelease(t *testing.T) {
	g := NewWithT(t)
	old := deployment(t, stamped(versionOf123, "1"))
	_, first := admit(t, kind.Kind{}, requestOf(t, old, deployment(t, stamped(versionOf123, "1"), repaired)), lock())
	again := deployment(t, stamped(versionOf1234, "2"), repaired, field(true, "paused", "spec"), annotation(heldKey, "2"),
		annotation(frozenKey, mark), releasedBy("alice", versionOf1234, "2", annotationSetRecord(t, first)))
	response, patch := admit(t, kind.Kind{}, requestOf(t, old, again), lock())
	g.Expect(response.Allowed).To(BeTrue())
	g.Expect(patch).NotTo(HaveKey(ContainSubstring("/spec/paused")))
	g.Expect(patch).NotTo(HaveKey(ContainSubstring("~1held")))
	g.Expect(patch).NotTo(HaveKey(ContainSubstring("~1frozen")))
}

// annotationSetRecord returns the change that the record of a patch shows.
func annotationSetRecord(t *testing.T, patch map[string]any) string {
	t.Helper()
	record, found := appv1alpha1.ReleaseRecordOf(map[string]string{
		"altershield.defense.antgroup.com/released-by": annotationSet(patch, "altershield.defense.antgroup.com/released-by"),
	})
	NewWithT(t).Expect(found).To(BeTrue())
	NewWithT(t).Expect(record.Changes).To(HaveLen(1))
	return record.Changes[0]
}

func TestDefaulterKeepsAParkedReleaseParked(t *testing.T) {
	parked := all(stamped(versionOf123, "2"), field(true, "paused", "spec"), annotation(heldKey, "2"), annotation(frozenKey, mark))
	resumed := all(parked, field(false, "paused", "spec"))
	except := func(spec *appv1alpha1.ChangeFreezeSpec) {
		spec.Except = &appv1alpha1.FreezeException{Users: []string{"alice"}}
	}
	over := func(spec *appv1alpha1.ChangeFreezeSpec) { spec.Expires.Duration = time.Minute }
	const (
		stays = "the release stays parked: it starts by itself"
		turn  = "deployment sleep waits for its turn after ChangeFreeze default/lock"
	)
	during, thawing := []string{isFrozen, stays}, []string{turn, stays}
	for _, row := range []struct {
		name         string
		old, updated edit
		objects      []client.Object
		user         string
		denial       string
		warnings     []string
		paused       bool
		broken       string
	}{
		{"from a manifest that states the lever", parked, all(resumed, label("team", "b")), []client.Object{lock()}, "alice", "", during, true, ""},
		{"from a user who also removes the mark", parked, all(stamped(versionOf123, "2")), []client.Object{lock()}, "alice", "", during, true, ""},
		{"while others go on", parked, resumed, nil, "alice", "", thawing, true, ""},
		{"while others go on, and a freeze warns", parked, resumed, []client.Object{lock(acting("Warn"))}, "alice", "",
			[]string{isFrozen + "; it is admitted all the same", turn, stays}, true, ""},
		{"by the operator if a user has paused it before", all(parked, without(heldKey, "metadata", "annotations")), resumed, []client.Object{lock()}, "alice", "", during, true, ""},
		{"not for the operator", parked, resumed, []client.Object{lock()}, operator, "", nil, false, ""},
		{"not for an excepted user", parked, resumed, []client.Object{lock(except)}, "alice", "", nil, false, ""},
		{"not for an excepted user while others go on", parked, resumed, []client.Object{lock(except, over)}, "alice", "", nil, false, ""},
		{"not by a BreakGlass", parked, resumed, []client.Object{lock(), glass()}, "alice", "", []string{passes}, false, evidence},
		{"not by a BreakGlass while others go on", parked, resumed, []client.Object{glass()}, "alice", "",
			[]string{"deployment sleep passes by BreakGlass inc-7, which is recorded for alice, although " + turn}, false, strings.Replace(evidence, isFrozen, turn, 1)},
		{"while a freeze denies it", parked, resumed, []client.Object{lock(acting("Deny"))}, "alice", isFrozen, []string{advice}, false, ""},
		{"as long as it stays paused", parked, all(parked, label("team", "b")), []client.Object{lock(acting("Deny"))}, "alice", "", nil, true, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			request := requestOf(t, deployment(t, row.old), deployment(t, row.updated))
			request.UserInfo.Username = row.user
			response, patch := admit(t, kind.Kind{}, request, row.objects...)
			g.Expect(response.Allowed).To(Equal(row.denial == ""))
			var kept []string
			for _, warning := range response.Warnings {
				if !strings.HasPrefix(warning, "not changed, since only the operator writes them") {
					kept = append(kept, warning)
				}
			}
			g.Expect(kept).To(Equal(row.warnings))
			if row.denial != "" {
				g.Expect(response.Result.Message).To(Equal(row.denial))
				return
			}
			g.Expect(annotationSet(patch, breakGlassKey)).To(Equal(row.broken))
			if row.user == operator {
				g.Expect(patch).To(BeEmpty())
				return
			}
			after := patched(t, deployment(t, row.updated), response)
			paused, _ := at(after, "spec")["paused"].(bool)
			g.Expect(paused).To(Equal(row.paused))
			if row.paused {
				g.Expect(at(after, "metadata", "annotations")).To(And(HaveKeyWithValue(heldKey, "2"), HaveKeyWithValue(frozenKey, mark)))
			}
		})
	}
}

func TestDefaulterKeepsAParkedDaemonSetParked(t *testing.T) {
	g := NewWithT(t)
	strategy := func(kind string) edit { return field(kind, "type", "spec", "updateStrategy") }
	old := deployment(t, stamped(versionOf123, "1"), strategy("RollingUpdate"))
	applies := func(old object, edits ...edit) object {
		return deployment(t, append([]edit{repaired, strategy("RollingUpdate")}, edits...)...)
	}
	parked, _ := submitted(t, daemonset.Kind{}, old, applies(old), lock())
	g.Expect(at(parked, "spec", "updateStrategy")).To(HaveKeyWithValue("type", "OnDelete"))
	for name, objects := range map[string][]client.Object{"in the freeze": {lock()}, "while others go on": nil} {
		again, warnings := submitted(t, daemonset.Kind{}, parked, applies(parked, label("team", "b")), objects...)
		g.Expect(warnings).To(ContainElement("the release stays parked: it starts by itself"), name)
		g.Expect(at(again, "spec", "updateStrategy")).To(HaveKeyWithValue("type", "OnDelete"), name)
		g.Expect(at(again, "metadata", "labels")).To(HaveKeyWithValue("team", "b"), name)
		g.Expect(at(again, "metadata", "annotations")).To(Equal(at(parked, "metadata", "annotations")), name)
	}
}

func TestDefaulterKeepsTheOriginalsOfAParkedSet(t *testing.T) {
	g := NewWithT(t)
	partition := func(pods float64) edit {
		return field(object{"type": "RollingUpdate", "rollingUpdate": object{"partition": pods}}, "updateStrategy", "spec")
	}
	old := deployment(t, stamped(versionOf123, "1"), partition(2))
	parked, _ := submitted(t, statefulset.Kind{}, old, with(t, old, repaired), lock())
	kept, _ := submitted(t, statefulset.Kind{}, parked, with(t, parked, partition(1)), lock())
	g.Expect(kept).To(Equal(parked))
}

// Another webhook reverts the template that the first call stamped.
func TestDefaulterKeepsAParkedReleaseParkedInALaterCall(t *testing.T) {
	g := NewWithT(t)
	old := deployment(t, stamped(versionOf123, "2"), field(true, "paused", "spec"), annotation(heldKey, "2"), annotation(frozenKey, mark))
	first, _ := submitted(t, kind.Kind{}, old, with(t, old, repaired, without("paused", "spec")), lock())
	g.Expect(at(first, "metadata", "annotations")).To(HaveKeyWithValue(heldKey, "3"))
	second, _ := submitted(t, kind.Kind{}, old, with(t, first, templateLabel("test", "123")), lock())
	g.Expect(second).To(Equal(old))
}

func TestDefaulterKeepsTheScheduleOfACronJob(t *testing.T) {
	job := func(edits ...edit) object {
		return deployment(t, append([]edit{stamped(versionOf123, "1"), func(job object) {
			at(job, "spec")["jobTemplate"] = object{"spec": object{"template": at(job, "spec", "template")}}
		}}, edits...)...)
	}
	next := func(job object) {
		at(job, "spec", "jobTemplate", "spec", "template", "metadata", "labels")["test"] = "1234"
	}
	g := NewWithT(t)
	response, _ := admit(t, cronjob.Kind{}, requestOf(t, job(), job(next)), lock())
	g.Expect(response.Allowed).To(BeFalse())
	g.Expect(response.Result.Message).To(Equal("cronjob sleep is frozen: ChangeFreeze default/lock is on until 2026-11-21T17:00:00Z: INC-7; " +
		"it can't be parked: its present schedule would stop until the freeze ends"))
	paused := field(true, "suspend", "spec")
	response, _ = admit(t, cronjob.Kind{}, requestOf(t, job(paused), job(paused, next)), lock())
	g.Expect(response.Allowed).To(BeTrue(), "it is suspended")
	response, _ = admit(t, cronjob.Kind{}, requestOf(t, nil, job()), lock())
	g.Expect(response.Allowed).To(BeTrue(), "it is new")
}

func TestDefaulterAdvisesWhatABreakGlassHasToOverride(t *testing.T) {
	old := all(stamped(versionOf123, "1"), suspended)
	response, _ := admit(t, kind.Kind{}, requestOf(t, deployment(t, old), deployment(t, old, repaired)), lock(acting("Deny")))
	NewWithT(t).Expect(response.Warnings).To(ConsistOf(
		"in an emergency, create a BreakGlass in namespace default for Deployment.apps sleep with overrides [Freeze, Suspension]"))
}

func TestBreakGlassIsNotUsedWhereTheValidatorAdmitsARelease(t *testing.T) {
	old := all(stamped(versionOf123, "2"), suspended)
	open := glass(func(glass *appv1alpha1.BreakGlass) {
		glass.Spec.Overrides = []appv1alpha1.BreakGlassOverride{"Freeze", "Suspension"}
	})
	for _, row := range []struct {
		name    string
		old     edit
		status  string
		objects []client.Object
		would   string
	}{
		{"a return to a verified version", old, "Success", []client.Object{open}, ""},
		{"but if it failed since", old, "Suspend", []client.Object{open}, "deployment sleep is suspended"},
		{"but if it is quarantined", all(old, rolledBack(leaving(versionOf1234, "2", refused))), "Success", []client.Object{open}, "deployment sleep is suspended"},
		{"but if it is frozen", old, "Success", []client.Object{open, lock()}, isFrozen},
		{"by one that passes the freeze alone", old, "Success", []client.Object{glass(), lock()}, isFrozen},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			reader := readerOf(t, interceptor.Funcs{}, cached(t, row.old), changeWorkload("d-1", versionOf1234, row.status, ""))
			accounts := accountsOf(t, reader)
			defaulter := &defaulter{kind: kind.Kind{}, operator: operator, clock: accounts.clock, accounts: accounts, past: pastOf(reader, accounts),
				freezes: freezesOf(t, accounts, kind.Kind{}, row.objects...), paces: pacesOf(t, pastOf(reader, accounts), kind.Kind{})}
			response := defaulter.Handle(t.Context(), requestOf(t, deployment(t, row.old), deployment(t, row.old, repaired)))
			g.Expect(response.Allowed).To(BeTrue())
			passed := annotationSet(operations(response.Patches), breakGlassKey)
			if row.would == "" {
				g.Expect(passed).To(BeEmpty())
				return
			}
			g.Expect(passed).To(ContainSubstring(`"would":["` + row.would + `"]`))
		})
	}
}

func TestDefaulterDecidesNothingWhileAReturnCannotBeRead(t *testing.T) {
	old := all(stamped(versionOf123, "2"), suspended)
	accounts := accountsOf(t, readerOf(t, interceptor.Funcs{}, cached(t, old), changeWorkload("d-1", versionOf1234, "Success", "")))
	past := pastOf(readerOf(t, interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return errors.New("no answer")
	}}), accounts)
	defaulter := &defaulter{kind: kind.Kind{}, operator: operator, clock: accounts.clock, accounts: accounts, past: past,
		freezes: freezesOf(t, accounts, kind.Kind{}, glass()), paces: pacesOf(t, past, kind.Kind{})}
	response := defaulter.Handle(t.Context(), requestOf(t, deployment(t, old), deployment(t, old, repaired)))
	NewWithT(t).Expect(response.Result.Code).To(BeEquivalentTo(500), "a BreakGlass may be used for nothing")
}

func TestBreakGlassCountsTheReleaseBefore(t *testing.T) {
	const uncounted = "the last use of BreakGlass inc-7 isn't recorded yet: try again"
	used := func(release int64) *appv1alpha1.BreakGlass {
		return glass(func(glass *appv1alpha1.BreakGlass) {
			glass.Spec.Uses = 3
			glass.Status.Uses = []appv1alpha1.BreakGlassUse{{Kind: "Deployment", Workload: "sleep", Release: release, Time: metav1.NewTime(now)}}
		})
	}
	old := all(stamped(versionOf123, "2"), annotation(breakGlassKey, evidence))
	request := requestOf(t, deployment(t, old), deployment(t, old, repaired))
	g := NewWithT(t)
	response, patch := admit(t, kind.Kind{}, request, lock(), used(1))
	g.Expect(response.Warnings).To(Equal([]string{uncounted, isFrozen, isParked}))
	g.Expect(annotationSet(patch, breakGlassKey)).To(BeEmpty())
	response, _ = admit(t, kind.Kind{}, request, lock(acting("Deny")), used(1))
	g.Expect(response.Result.Message).To(Equal(isFrozen + "; " + uncounted))
	_, patch = admit(t, kind.Kind{}, request, lock(), used(2))
	g.Expect(annotationSet(patch, breakGlassKey)).To(ContainSubstring(`"release":3`))
	another := used(1)
	another.Name, another.UID = "inc-8", "bg-8"
	_, patch = admit(t, kind.Kind{}, request, lock(), used(1), another)
	g.Expect(annotationSet(patch, breakGlassKey)).To(ContainSubstring(`"name":"inc-8"`))
}

func TestBreakGlassPassesASuspension(t *testing.T) {
	overriding := func(overrides ...appv1alpha1.BreakGlassOverride) *appv1alpha1.BreakGlass {
		return glass(func(glass *appv1alpha1.BreakGlass) { glass.Spec.Overrides = overrides })
	}
	old := all(stamped(versionOf123, "1"), suspended)
	g := NewWithT(t)
	request := requestOf(t, deployment(t, old), deployment(t, old, repaired))
	_, patch := admit(t, kind.Kind{}, request, overriding("Suspension"))
	g.Expect(annotationSet(patch, breakGlassKey)).To(Equal(
		`{"release":2,"name":"inc-7","uid":"bg-1","user":"alice","time":"2026-11-21T10:00:00Z","overrides":["Suspension"],"would":["deployment sleep is suspended"]}`))
	_, patch = admit(t, kind.Kind{}, request, overriding("Suspension"), lock())
	g.Expect(annotationSet(patch, breakGlassKey)).To(ContainSubstring(`"overrides":["Suspension"]`))
	g.Expect(annotationSet(patch, frozenKey)).To(Equal(mark), "it does not pass the freeze")
	response, _ := admit(t, kind.Kind{}, request, overriding("Suspension"), lock(acting("Deny")))
	g.Expect(response.Result.Message).To(Equal(isFrozen + "; deployment sleep is suspended"))
	g.Expect(response.Warnings).To(Equal([]string{
		"in an emergency, create a BreakGlass in namespace default for Deployment.apps sleep with overrides [Freeze, Suspension]"}))
	_, patch = admit(t, kind.Kind{}, request, overriding("Freeze", "Suspension"), lock())
	g.Expect(annotationSet(patch, breakGlassKey)).To(ContainSubstring(`"would":["` + isFrozen + `","deployment sleep is suspended"]`))

	claimed := deployment(t, old, repaired, annotation(breakGlassKey, evidence))
	for name, row := range map[string]struct {
		objects []client.Object
		allowed bool
	}{
		"by one that overrides it": {[]client.Object{overriding("Suspension")}, true},
		"not by one that doesn't":  {[]client.Object{overriding("Freeze")}, false},
		"not by a mere claim":      {nil, false},
		"whatever others do": {[]client.Object{glass(func(glass *appv1alpha1.BreakGlass) {
			glass.Name, glass.UID, glass.Spec.Overrides = "another", "bg-0", []appv1alpha1.BreakGlassOverride{"Suspension"}
		}), overriding("Suspension")}, true},
		"not by another of its name": {[]client.Object{glass(func(glass *appv1alpha1.BreakGlass) {
			glass.UID, glass.Spec.Overrides = "bg-2", []appv1alpha1.BreakGlassOverride{"Suspension"}
		})}, false},
	} {
		t.Run(name, func(t *testing.T) {
			accounts := accountsOf(t, readerOf(t, interceptor.Funcs{}))
			validator := &validator{kind: kind.Kind{}, operator: operator, clock: accounts.clock, accounts: accounts,
				past: pastOf(accounts.cache, accounts), freezes: freezesOf(t, accounts, kind.Kind{}, row.objects...)}
			request := requestOf(t, deployment(t, old), claimed)
			request.Operation = admissionv1.Update
			NewWithT(t).Expect(validator.Handle(t.Context(), request).Allowed).To(Equal(row.allowed))
		})
	}
}

func TestFreezesThatCanNotBeRead(t *testing.T) {
	old, next := deployment(t, stamped(versionOf123, "1")), deployment(t, stamped(versionOf123, "1"), repaired)
	answer := func(failing client.ObjectList, objects ...client.Object) admission.Response {
		accounts := accountsOf(t, readerOf(t, interceptor.Funcs{}))
		reader := fake.NewClientBuilder().WithScheme(testkit.Scheme()).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
			List: func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
				if reflect.TypeOf(list) == reflect.TypeOf(failing) {
					return errors.New("no answer")
				}
				return kube.List(ctx, list, options...)
			},
		}).Build()
		options := Options{Reader: reader, Live: reader, Namespace: "altershieldoperator-system", Clock: accounts.clock}
		defaulter := &defaulter{kind: kind.Kind{}, operator: operator, clock: accounts.clock, accounts: accounts, past: pastOf(nil, accounts),
			freezes: newFreezes(options, newPast(options, accounts), accounts).of(kind.Kind{}), paces: newPaces(options, newPast(options, accounts)).of(kind.Kind{})}
		return defaulter.Handle(t.Context(), requestOf(t, old, next))
	}
	g := NewWithT(t)
	frozen := []client.Object{lock(acting("Deny")), glass()}
	g.Expect(answer(nil, frozen...).Allowed).To(BeTrue(), "by the BreakGlass")
	g.Expect(answer(&appv1alpha1.ChangeFreezeList{}, frozen...).Result.Code).To(BeEquivalentTo(500), "no release passes a freeze that is not known")
	denial := answer(&appv1alpha1.BreakGlassList{}, frozen...).Result
	g.Expect(denial.Code).To(BeEquivalentTo(500), "no release is parked or denied that a BreakGlass may let pass")
	g.Expect(denial.Message).To(Equal("deployment sleep: listing the BreakGlasses in namespace default: no answer: try again"))

	inSteps := answer(&appv1alpha1.BreakGlassList{}, careful(), gate())
	g.Expect(inSteps.Allowed).To(BeTrue(), "it is paced as without a BreakGlass")
	g.Expect(annotationSet(operations(inSteps.Patches), "altershield.defense.antgroup.com/paced")).To(ContainSubstring(`"policy":"default/careful"`))
	g.Expect(inSteps.Warnings).To(ContainElement(
		"deployment sleep: listing the BreakGlasses in namespace default: no answer: it is rolled out in steps, whatever they override"))
	denial = answer(&appv1alpha1.BreakGlassList{}, careful(), gate(), lock()).Result
	g.Expect(denial.Code).To(BeEquivalentTo(500), "it would be parked")
}

func TestValidatorDecidesNothingWhileBreakGlassesCannotBeRead(t *testing.T) {
	accounts := accountsOf(t, readerOf(t, interceptor.Funcs{}))
	freezes := freezesOf(t, accounts, kind.Kind{})
	freezes.live = fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("no answer")
		},
	}).Build()
	validator := &validator{kind: kind.Kind{}, operator: operator, clock: accounts.clock, accounts: accounts, past: pastOf(accounts.cache, accounts), freezes: freezes}
	old := all(stamped(versionOf123, "1"), suspended)
	response := validator.Handle(t.Context(), requestOf(t, deployment(t, old), deployment(t, old, repaired, annotation(breakGlassKey, evidence))))
	NewWithT(t).Expect(response.Result.Code).To(BeEquivalentTo(500))
	NewWithT(t).Expect(response.Result.Message).To(Equal("deployment sleep: listing the BreakGlasses in namespace default: no answer: try again"))
}
