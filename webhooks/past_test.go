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
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// counting counts the lists from a reader.
type counting struct {
	client.Reader
	lists int
}

func (c *counting) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	c.lists++
	return c.Reader.List(ctx, list, options...)
}

// replicaSet returns a ReplicaSet with the template of sleep with the edits. It belongs to the Deployment with this UID, to none if
// that is empty.
func replicaSet(t testing.TB, name, deployment, version string, edits ...edit) *appsv1.ReplicaSet {
	t.Helper()
	template := cached(t, append(edits, stamped(version, "1"))...).Spec.Template
	template.Labels["pod-template-hash"] = name
	result := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep-" + name, UID: types.UID(name), Labels: template.Labels},
		Spec:       appsv1.ReplicaSetSpec{Template: template},
	}
	if deployment != "" {
		result.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: "Deployment", Name: "sleep", UID: types.UID(deployment), Controller: ptr.To(true)}}
	}
	return result
}

// kept returns the kept revision of a version of sleep with the edits.
func kept(t testing.TB, version string, edits ...edit) *appsv1.ControllerRevision {
	t.Helper()
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "sleep--x--" + version,
			Labels: map[string]string{"admission-webhook-altershield.antgroup.com/version": version, "app.kubernetes.io/deployment-name": "sleep"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "Deployment", Name: "sleep", UID: "d-1", Controller: ptr.To(true)}},
		},
		Data: runtime.RawExtension{Raw: raw(t, deployment(t, edits...)).Raw},
	}
}

// anotherHash is the version of the repaired template as computed by another build of the operator.
const anotherHash = "fedcba9876543210fedcba9876543210"

// typed adds the fields that a template gets from our types, through which the fake client sends it.
func typed(deployment object) {
	containers := at(deployment, "spec", "template", "spec")["containers"].([]any)
	containers[0].(object)["resources"] = object{}
}

func TestPastDecidesOnTheAPIServerWhetherAVersionIsVerified(t *testing.T) {
	verified := changeWorkload("d-1", versionOf1234, "Success", "AllPodsPassed")
	failed := changeWorkload("d-1", versionOf1234, "Suspend", "PodsFailed")
	anothers := changeWorkload("d-2", versionOf1234, "Success", "AllPodsPassed")
	anothers.Labels["app.kubernetes.io/deployment-name"] = "sleep"
	release := all(stamped(versionOf123, "4"), suspended)
	for _, row := range []struct {
		name        string
		cache, live []client.Object
		allowed     bool
		lists       int
	}{
		{"both say so", []client.Object{verified}, []client.Object{verified}, true, 1},
		{"the cache doesn't know of a bad verdict yet", []client.Object{verified}, []client.Object{failed}, false, 1},
		{"the record is gone", []client.Object{verified}, nil, false, 1},
		{"the record is another Deployment's by now", []client.Object{verified}, []client.Object{anothers}, false, 1},
		{"not verified in the cache: nothing is read", []client.Object{failed}, []client.Object{verified}, false, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			validator := validatorOf(t, readerOf(t, interceptor.Funcs{}, append(row.cache, cached(t, release))...))
			live := &counting{Reader: readerOf(t, interceptor.Funcs{}, row.live...)}
			validator.past = pastOf(live, validator.accounts)
			response := validator.Handle(t.Context(), requestOf(t, deployment(t, release), deployment(t, release, repaired, stamped(versionOf1234, "5"))))
			g.Expect(response.Allowed).To(Equal(row.allowed))
			g.Expect(live.lists).To(Equal(row.lists))
		})
	}
	t.Run("the API server can't be read", func(t *testing.T) {
		g := NewWithT(t)
		validator := validatorOf(t, readerOf(t, interceptor.Funcs{}, verified, cached(t, release)))
		validator.past = pastOf(readerOf(t, interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("boom")
		}}), validator.accounts)
		response := validator.Handle(t.Context(), requestOf(t, deployment(t, release), deployment(t, release, repaired, stamped(versionOf1234, "5"))))
		g.Expect(response.Allowed).To(BeFalse())
		g.Expect(response.Result.Message).To(Equal("listing the ChangeWorkloads of Deployment default/sleep on the API server: boom"))
	})
}

func TestPastKnowsATemplateUnderAnotherVersion(t *testing.T) {
	release := all(typed, stamped(versionOf123, "4"), processed)
	refusing := rolledBack(leaving(anotherHash, "4", refused, `"reason":"PodsFailed"`))
	expired := rolledBack(leaving(anotherHash, "4", `"refusedUntil":"2026-11-21T10:00:00Z"`))
	verified := changeWorkload("d-1", anotherHash, "Success", "AllPodsPassed")
	failing := changeWorkload("d-1", versionOf123, "Suspend", "PodsFailed")
	again := changeWorkload("d-1", versionOf1234, "Suspend", "PodsFailed")
	ofReplicaSet := replicaSet(t, "a", "d-1", anotherHash, repaired)
	for _, row := range []struct {
		name    string
		old     edit
		objects []client.Object
		denial  string // empty if it is allowed
		lists   int
	}{
		{"it is refused as that of a ReplicaSet", all(release, refusing), []client.Object{ofReplicaSet}, "deployment sleep refuses this version", 2},
		{"it is refused as that which is kept", all(release, refusing), []client.Object{kept(t, anotherHash, typed, repaired)}, "deployment sleep refuses this version", 2},
		{"it isn't where its ReplicaSet has another", all(release, refusing), []client.Object{replicaSet(t, "a", "d-1", anotherHash, templateLabel("test", "12345"))}, "", 2},
		{"it isn't where the ReplicaSet is of another Deployment", all(release, refusing), []client.Object{replicaSet(t, "a", "d-2", anotherHash, repaired)}, "", 2},
		{"it isn't any more", all(release, expired), []client.Object{ofReplicaSet}, "", 0},
		{"it isn't, and nothing is read, where no version is refused", release, []client.Object{ofReplicaSet}, "", 0},
		{"it is verified", all(release, suspended), []client.Object{failing, verified, ofReplicaSet}, "", 3},
		{"it isn't verified where its ReplicaSet has another", all(release, suspended),
			[]client.Object{failing, verified, replicaSet(t, "a", "d-1", anotherHash)}, "deployment sleep is suspended", 2},
		{"it is verified, but refused", all(release, suspended, refusing), []client.Object{failing, verified, ofReplicaSet}, "deployment sleep is suspended", 2},
		{"it failed since, under the version of today", all(release, suspended), []client.Object{failing, verified, again, ofReplicaSet}, "deployment sleep is suspended", 0},
		{"nothing is read where nothing was verified", all(release, suspended), []client.Object{failing, ofReplicaSet}, "deployment sleep is suspended", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			reader := readerOf(t, interceptor.Funcs{}, append(row.objects, cached(t, row.old))...)
			live := &counting{Reader: reader}
			validator := validatorOf(t, reader)
			validator.past = pastOf(live, validator.accounts)
			seen := &recorder{}
			validator.accounts.recorder.Events = seen
			response := validator.Handle(t.Context(), requestOf(t, deployment(t, row.old), deployment(t, row.old, repaired, stamped(versionOf1234, "5"))))
			g.Expect(response.Allowed).To(Equal(row.denial == ""))
			g.Expect(live.lists).To(Equal(row.lists))
			if row.denial != "" {
				g.Expect(response.Result.Reason).To(BeEquivalentTo(row.denial))
			}
			if row.denial == "deployment sleep refuses this version" {
				g.Expect(seen.reported).To(HaveLen(1))
				g.Expect(seen.reported[0].related.(*corev1.ObjectReference).Name).To(Equal("sleep--x--" + anotherHash))
			}
		})
	}
}

func TestPastLetsARepairThroughThatIsRefusedUnderAnotherVersion(t *testing.T) {
	g := NewWithT(t)
	release := all(typed, stamped(versionOf123, "4"), rolledBack(leaving(anotherHash, "4", refused)))
	reader := readerOf(t, interceptor.Funcs{}, cached(t, release), replicaSet(t, "a", "d-1", anotherHash, repaired))
	response := defaulterOf(t, reader).Handle(t.Context(), requestOf(t, deployment(t, release), deployment(t, release, repaired, ignoring)))
	g.Expect(operations(response.Patches)).To(HaveKeyWithValue("add /metadata/annotations/altershield.defense.antgroup.com~1ignored-suspend-by",
		`{"user":"alice","time":"2026-11-21T10:00:00.000000Z","version":"`+versionOf1234+`","release":5}`))
	g.Expect(operations(response.Patches)).To(HaveKey("remove /metadata/labels/altershield.defense.antgroup.com~1ignored-suspend"))
}

func TestPastJudgesByVersionsWhereTemplatesCanNotBeRead(t *testing.T) {
	g := NewWithT(t)
	release := all(typed, stamped(versionOf123, "4"), rolledBack(leaving(anotherHash, "4", refused)))
	validator := validatorOf(t, readerOf(t, interceptor.Funcs{}, cached(t, release)))
	validator.past = pastOf(readerOf(t, interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return errors.New("boom")
	}}), validator.accounts)
	request := requestOf(t, deployment(t, release), deployment(t, release, repaired, stamped(versionOf1234, "5")))
	g.Expect(validator.Handle(t.Context(), request).Allowed).To(BeTrue())
}

func TestPastKeepsTheVersionOfAnOrphanedReplicaSet(t *testing.T) {
	optedIn := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	brings := func(version string) edit { return all(typed, stamped(version, "7")) }
	for _, row := range []struct {
		name    string
		created edit
		live    []client.Object
		version string
		lists   int
	}{
		{"that it brings", brings(anotherHash), []client.Object{replicaSet(t, "a", "", anotherHash)}, anotherHash, 1},
		{"but none that it doesn't bring", typed, []client.Object{replicaSet(t, "a", "", anotherHash)}, versionOf123, 0},
		{"but none that its own hash gives anyway", brings(versionOf123), []client.Object{replicaSet(t, "a", "", versionOf123)}, versionOf123, 0},
		{"but none that is malformed", brings("V1"), []client.Object{replicaSet(t, "a", "", "V1")}, versionOf123, 0},
		{"but none of another ReplicaSet", brings(anotherHash), []client.Object{replicaSet(t, "a", "", olderVersion)}, versionOf123, 1},
		{"but none of another template", brings(anotherHash), []client.Object{replicaSet(t, "a", "", anotherHash, repaired)}, versionOf123, 1},
		{"but none that has an owner", brings(anotherHash), []client.Object{replicaSet(t, "a", "d-2", anotherHash)}, versionOf123, 1},
		{"but none that its selector doesn't select", all(brings(anotherHash), field("other", "app", "spec", "selector", "matchLabels")),
			[]client.Object{replicaSet(t, "a", "", anotherHash)}, versionOf123, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			live := &counting{Reader: readerOf(t, interceptor.Funcs{}, row.live...)}
			defaulter := defaulterOf(t, readerOf(t, interceptor.Funcs{}, optedIn))
			defaulter.past = pastOf(live, defaulter.accounts)
			created := marksOf(t, deployment(t, row.created))
			response := defaulter.Handle(t.Context(), requestOf(t, nil, deployment(t, row.created)))
			g.Expect(response.Allowed).To(BeTrue())
			after := created.templates["/spec/template"].labels["admission-webhook-altershield.antgroup.com/version"]
			if value, set := operations(response.Patches)["add /spec/template/metadata/labels/admission-webhook-altershield.antgroup.com~1version"]; set {
				after = value.(string)
			}
			g.Expect(after).To(Equal(row.version))
			g.Expect(live.lists).To(Equal(row.lists))
		})
	}
	orphaned := replicaSet(t, "a", "", anotherHash)
	failing := interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return errors.New("boom")
	}}
	for name, readers := range map[string]struct{ cache, live client.Reader }{
		"a namespace that isn't opted in, of which nothing is read": {readerOf(t, interceptor.Funcs{}), readerOf(t, interceptor.Funcs{}, orphaned)},
		"an API server that can't be read":                          {readerOf(t, interceptor.Funcs{}, optedIn), readerOf(t, failing, orphaned)},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			defaulter := defaulterOf(t, readers.cache)
			defaulter.past = pastOf(readers.live, defaulter.accounts)
			response := defaulter.Handle(t.Context(), requestOf(t, nil, deployment(t, brings(anotherHash))))
			g.Expect(response.Allowed).To(BeTrue(), "no creation is denied")
			g.Expect(operations(response.Patches)).To(HaveKeyWithValue(
				"add /spec/template/metadata/labels/admission-webhook-altershield.antgroup.com~1version", versionOf123))
		})
	}
}

func TestDefaulterKeepsTheGateOfAnOrphanedReplicaSet(t *testing.T) {
	optedIn := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	gated := []client.Object{optedIn, gate()}
	orphan := func(name, owner, version, gate string, edits ...edit) *appsv1.ReplicaSet {
		replicaSet := replicaSet(t, name, owner, version, edits...)
		replicaSet.CreationTimestamp = metav1.NewTime(now)
		replicaSet.Annotations = map[string]string{"deployment.kubernetes.io/revision": "4"}
		replicaSet.Labels[gateKey] = gate
		return replicaSet
	}
	older := orphan("b", "", versionOf123, "ready")
	older.CreationTimestamp = metav1.NewTime(now.Add(time.Hour))
	older.Annotations["deployment.kubernetes.io/revision"] = "2"
	for _, row := range []struct {
		name    string
		created edit
		cached  []client.Object
		live    []client.Object
		version string
		gate    string
	}{
		{"with the computed version", typed, gated, []client.Object{orphan("a", "", versionOf123, "start")}, versionOf123, "start"},
		{"that of the one that was used last", typed, gated, []client.Object{older, orphan("a", "", versionOf123, "start")}, versionOf123, "start"},
		{"with the version that it brings", all(typed, stamped(anotherHash, "7")), gated, []client.Object{orphan("a", "", anotherHash, "start")}, anotherHash, "start"},
		{"with the computed version, where it brings another one", all(typed, stamped(olderVersion, "7")), gated,
			[]client.Object{orphan("a", "", versionOf123, "start")}, versionOf123, "start"},
		{"but none of another template", typed, gated, []client.Object{orphan("a", "", versionOf123, "start", repaired)}, versionOf123, ""},
		{"but none that has an owner", typed, gated, []client.Object{orphan("a", "d-2", versionOf123, "start")}, versionOf123, ""},
		{"but reads nothing in a namespace without gates", typed, []client.Object{optedIn}, []client.Object{orphan("a", "", versionOf123, "start")}, versionOf123, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			defaulter := defaulterOf(t, readerOf(t, interceptor.Funcs{}, row.cached...))
			defaulter.past = pastOf(readerOf(t, interceptor.Funcs{}, row.live...), defaulter.accounts)
			response := defaulter.Handle(t.Context(), requestOf(t, nil, deployment(t, row.created)))
			g.Expect(response.Allowed).To(BeTrue())
			labels := at(patched(t, deployment(t, row.created), response), "spec", "template", "metadata", "labels")
			g.Expect(labels).To(HaveKeyWithValue("admission-webhook-altershield.antgroup.com/version", row.version))
			if row.gate == "" {
				g.Expect(labels).NotTo(HaveKey(gateKey))
			} else {
				g.Expect(labels).To(HaveKeyWithValue(gateKey, row.gate))
			}
		})
	}
}

func TestPastReadsAtALimitedRate(t *testing.T) {
	g := NewWithT(t)
	past := pastOf(nil, accountsOf(t, readerOf(t, interceptor.Funcs{})))
	for range 200 {
		g.Expect(past.live.List(t.Context(), &appsv1.ReplicaSetList{})).To(Succeed())
	}
	g.Expect(past.live.List(t.Context(), &appsv1.ReplicaSetList{})).To(MatchError("too many live reads in this second"))
}
