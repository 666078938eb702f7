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

package declared

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

const versionLabel = "admission-webhook-altershield.antgroup.com/version"

// cacheOf is a cache of these objects, with the index by owner.
func cacheOf(objects ...client.Object) client.WithWatch {
	builder := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(objects...)
	for _, object := range []client.Object{
		&corev1.Pod{}, &appsv1.Deployment{}, &appsv1.ReplicaSet{}, &appsv1.StatefulSet{}, &appsv1.DaemonSet{}, &batchv1.Job{},
	} {
		builder.WithIndex(object, "metadata.controller.uid", func(object client.Object) []string {
			if owner := metav1.GetControllerOfNoCopy(object); owner != nil {
				return []string{string(owner.UID)}
			}
			return nil
		})
	}
	return builder.Build()
}

func metaOf(name string, uid types.UID, stamp string, owner *metav1.OwnerReference) metav1.ObjectMeta {
	result := metav1.ObjectMeta{Namespace: "default", Name: name, UID: uid}
	if stamp != "" {
		result.Labels = map[string]string{versionLabel: stamp}
	}
	if owner != nil {
		result.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	return result
}

func ownedBy(apiVersion, kind, name string, uid types.UID) *metav1.OwnerReference {
	return &metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name, UID: uid, Controller: ptr.To(true)}
}

func rollout() *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"replicas": int64(3), "selector": map[string]any{"matchLabels": map[string]any{"app": "web"}},
	}, "status": map[string]any{"readyReplicas": int64(3), "selector": "app=web"}}}
	object.SetAPIVersion("argoproj.io/v1alpha1")
	object.SetKind("Rollout")
	object.SetNamespace("default")
	object.SetName("web")
	object.SetUID("web-1")
	object.SetLabels(map[string]string{versionLabel: "v2"})
	object.SetAnnotations(map[string]string{
		"altershield.defense.antgroup.com/release":     "2",
		"altershield.defense.antgroup.com/released-by": `{"user":"a","time":"2026-11-21T10:00:00Z","version":"v2","release":2}`,
	})
	return object
}

func TestKindOwnerOf(t *testing.T) {
	argo := ownedBy("argoproj.io/v1alpha1", "Rollout", "web", "web-1")
	pod := func(owner *metav1.OwnerReference, labels map[string]string) *corev1.Pod {
		pod := &corev1.Pod{ObjectMeta: metaOf("web-a", "pod", "v2", owner)}
		for key, value := range labels {
			pod.Labels[key] = value
		}
		return pod
	}
	cache := cacheOf(rollout(),
		&appsv1.ReplicaSet{ObjectMeta: metaOf("web-1", "rs-1", "v1", argo)},
		&appsv1.StatefulSet{ObjectMeta: metaOf("web-db", "sts-1", "", argo)},
		&appsv1.StatefulSet{ObjectMeta: metaOf("web-new", "sts-2", "v3", argo)},
		&appsv1.DaemonSet{ObjectMeta: metaOf("web-ds", "ds-1", "", argo)},
		&appsv1.ReplicaSet{ObjectMeta: metaOf("loop", "loop", "", ownedBy("apps/v1", "ReplicaSet", "loop", "loop"))})
	const byLabel, bySelector = "pods: {by: Label, key: example.com/name}", "pods: {by: Selector, path: spec.selector}"
	for _, row := range []struct {
		name, spec string
		object     client.Object
		version    string // empty where there is no owner
	}{
		{"a pod", "{}", pod(argo, nil), "v2"},
		{"a pod, by another version of the API", "{}", pod(ownedBy("argoproj.io/v2", "Rollout", "web", "web-1"), nil), "v2"},
		{"a pod of a ReplicaSet, whatever the pod says", "{}", pod(ownedBy("apps/v1", "ReplicaSet", "web-1", "rs-1"), nil), "v1"},
		{"a pod of a StatefulSet without a version", "{}", pod(ownedBy("apps/v1", "StatefulSet", "web-db", "sts-1"), nil), "v2"},
		{"a pod of a StatefulSet with the version of the next release", "{}", pod(ownedBy("apps/v1", "StatefulSet", "web-new", "sts-2"), nil), "v2"},
		{"a ReplicaSet", "{}", &appsv1.ReplicaSet{ObjectMeta: metaOf("web-1", "rs-1", "v1", argo)}, "v1"},
		{"not a pod of a kind that isn't between", "{}", pod(ownedBy("apps/v1", "DaemonSet", "web-ds", "ds-1"), nil), ""},
		{"a pod of a kind that is declared to be", "pods: {by: Owner, through: [DaemonSet.apps]}", pod(ownedBy("apps/v1", "DaemonSet", "web-ds", "ds-1"), nil), "v2"},
		{"not a pod of a Rollout of before", "{}", pod(ownedBy("argoproj.io/v1alpha1", "Rollout", "web", "web-0"), nil), ""},
		{"not a pod of another group", "{}", pod(ownedBy("example.com/v1", "Rollout", "web", "web-1"), nil), ""},
		{"not a pod of nothing", "{}", pod(nil, nil), ""},
		{"not a pod whose owners own each other", "{}", pod(ownedBy("apps/v1", "ReplicaSet", "loop", "loop"), nil), ""},
		{"by label", byLabel, pod(nil, map[string]string{"example.com/name": "web"}), "v2"},
		{"not by the label of another", byLabel, pod(nil, map[string]string{"example.com/name": "other"}), ""},
		{"not without the label", byLabel, pod(nil, nil), ""},
		{"by selector", bySelector, pod(nil, map[string]string{"app": "web"}), "v2"},
		{"by a selector that is text", "pods: {by: Selector, path: status.selector}", pod(nil, map[string]string{"app": "web"}), "v2"},
		{"not by the selector of another", bySelector, pod(nil, map[string]string{"app": "other"}), ""},
		{"not by a selector that is missing", "pods: {by: Selector, path: status.stableRS}", pod(nil, map[string]string{"app": "web"}), ""},
		{"nothing but pods by selector", bySelector, &appsv1.ReplicaSet{ObjectMeta: metaOf("web-1", "rs-1", "v1", argo)}, ""},
		{"no pods at all", "pods: {by: None}", pod(argo, nil), ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			g, kind := NewWithT(t), compiled(t, "rollouts", row.spec)
			owner, err := kind.OwnerOf(t.Context(), cache, row.object)
			g.Expect(err).NotTo(HaveOccurred())
			if row.version == "" {
				g.Expect(owner).To(BeNil())
				return
			}
			g.Expect(owner.Kind).To(BeIdenticalTo(kind))
			g.Expect(owner.Object.GetUID()).To(BeEquivalentTo("web-1"))
			g.Expect(owner.Version).To(Equal(row.version))
		})
	}
}

// A controller may copy the labels of its workload to an object of another declared kind, which is left alone, and to its pods.
func TestKindOwnerOfAPartOfAnotherWorkload(t *testing.T) {
	part := rollout()
	part.SetOwnerReferences([]metav1.OwnerReference{*ownedBy("example.com/v1", "Service", "whole", "whole-1")})
	pod := &corev1.Pod{ObjectMeta: metaOf("web-a", "pod", "v2", ownedBy("argoproj.io/v1alpha1", "Rollout", "web", "web-1"))}
	pod.Labels["app"], pod.Labels["example.com/name"] = "web", "web"
	for spec, owned := range map[string]bool{
		"{}": false, "pods: {by: Label, key: example.com/name}": false, "pods: {by: Selector, path: spec.selector}": false, "owned: Control": true,
	} {
		owner, err := compiled(t, "rollouts", spec).OwnerOf(t.Context(), cacheOf(part), pod)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(owner != nil).To(Equal(owned), spec)
	}
}

// The controller of a workload may show its selector, or its revision, after its pods are ready.
func TestKindPodsChanged(t *testing.T) {
	set := func(value string, at ...string) func(*unstructured.Unstructured) {
		return func(object *unstructured.Unstructured) { _ = unstructured.SetNestedField(object.Object, value, at...) }
	}
	const bySelector = "pods: {by: Selector, path: status.selector}"
	const byRevision = "release: {identity: {by: Revision, label: rollouts-pod-template-hash, path: status.currentPodHash}}"
	for _, row := range []struct {
		name, spec string
		change     func(*unstructured.Unstructured)
		changed    bool
	}{
		{"the selector is shown", bySelector, set("app=api", "status", "selector"), true},
		{"the revision is shown", byRevision, set("hash-2", "status", "currentPodHash"), true},
		{"not by another field", bySelector, set("hash-2", "status", "currentPodHash"), false},
		{"not where nothing shows them", "{}", set("app=api", "status", "selector"), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g, before, after := NewWithT(t), rollout(), rollout()
			row.change(after)
			kind, ok := compiled(t, "rollouts", row.spec).(workload.Selecting)
			g.Expect(ok).To(BeTrue())
			g.Expect(kind.PodsChanged(before, after)).To(Equal(row.changed))
			g.Expect(kind.PodsChanged(after, after)).To(BeFalse())
		})
	}
}

func TestKindLabelsPods(t *testing.T) {
	for spec, labels := range map[string]bool{
		"{}":                               false,
		"release: {identity: {by: Stamp}}": false,
		"release: {identity: {by: Revision, label: rollouts-pod-template-hash, path: status.currentPodHash}}":                     true,
		"{pods: {by: None}, release: {identity: {by: Revision, label: rollouts-pod-template-hash, path: status.currentPodHash}}}": false,
	} {
		kind, ok := compiled(t, "rollouts", spec).(workload.Labelled)
		NewWithT(t).Expect(ok).To(BeTrue())
		NewWithT(t).Expect(kind.LabelsPods()).To(Equal(labels), spec)
	}
}

func TestKindOwnerOfByRevision(t *testing.T) {
	g := NewWithT(t)
	kind := compiled(t, "rollouts", "{release: {identity: {by: Revision, label: rollouts-pod-template-hash, path: status.currentPodHash}}}")
	workload := rollout()
	g.Expect(unstructured.SetNestedField(workload.Object, "hash-2", "status", "currentPodHash")).To(Succeed())
	cache := cacheOf(workload)
	for hash, version := range map[string]string{"hash-2": "v2", "hash-1": ""} {
		pod := &corev1.Pod{ObjectMeta: metaOf("web-a", "pod", "", ownedBy("argoproj.io/v1alpha1", "Rollout", "web", "web-1"))}
		pod.Labels = map[string]string{"rollouts-pod-template-hash": hash}
		owner, err := kind.OwnerOf(t.Context(), cache, pod)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(owner.Version).To(Equal(version), hash)
	}
	revisions, err := kind.Revisions(t.Context(), cache, workload)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(revisions).To(HaveLen(1))
	g.Expect(revisions[0].Version).To(Equal("v2"))
	g.Expect(revisions[0].Pods).To(Equal(decide.PodsOf{Owner: "web-1", Label: "rollouts-pod-template-hash", Value: "hash-2"}))
	revisions, err = kind.Revisions(t.Context(), cache, rollout())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(revisions).To(BeEmpty(), "its controller hasn't looked yet")
	workload.SetGeneration(7)
	for generation, count := range map[string]int{"6": 0, "7": 1} { // the status still has the revision of the release before
		g.Expect(unstructured.SetNestedField(workload.Object, generation, "status", "observedGeneration")).To(Succeed())
		revisions, err = kind.Revisions(t.Context(), cache, workload)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(revisions).To(HaveLen(count), generation)
	}
}

func TestKindRevisions(t *testing.T) {
	g := NewWithT(t)
	argo := ownedBy("argoproj.io/v1alpha1", "Rollout", "web", "web-1")
	created := metav1.NewTime(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC))
	older, newer := &appsv1.ReplicaSet{ObjectMeta: metaOf("web-1", "rs-1", "v1", argo)}, &appsv1.ReplicaSet{ObjectMeta: metaOf("web-2", "rs-2", "v2", argo)}
	older.CreationTimestamp, newer.CreationTimestamp = created, metav1.NewTime(created.Add(time.Hour))
	older.Spec.Replicas, older.Status.ReadyReplicas = ptr.To[int32](2), 2
	cache := cacheOf(rollout(), older, newer,
		&appsv1.ReplicaSet{ObjectMeta: metaOf("other", "rs-3", "v2", ownedBy("argoproj.io/v1alpha1", "Rollout", "other", "other-1"))},
		&appsv1.StatefulSet{ObjectMeta: metaOf("web-db", "sts-1", "", argo)},
		&appsv1.ReplicaSet{ObjectMeta: metaOf("below", "rs-4", "v2", ownedBy("apps/v1", "StatefulSet", "web-db", "sts-1"))})

	revisions, err := compiled(t, "rollouts", "pods: {by: Owner, through: [ReplicaSet.apps]}").Revisions(t.Context(), cache, rollout())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(revisions).To(ConsistOf(
		decide.Revision{Version: "v1", Number: created.Unix(), Created: revisions[0].Created, Healthy: true, Pods: decide.PodsOf{Owner: "rs-1"}},
		decide.Revision{Version: "v2", Number: created.Unix() + 3600, Created: revisions[1].Created, Pods: decide.PodsOf{Owner: "rs-2"}},
	))

	revisions, err = compiled(t, "rollouts", "{}").Revisions(t.Context(), cache, rollout())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(revisions).To(Equal([]decide.Revision{{
		Version: "v2", Number: 2, Created: created.Add(time.Hour).In(revisions[0].Created.Location()), Healthy: true,
		Pods: decide.PodsOf{Owner: "web-1", Through: []types.UID{"rs-1", "rs-2", "sts-1", "rs-4"}, Label: versionLabel, Value: "v2"},
	}}))

	revisions, err = compiled(t, "rollouts", "pods: {by: Label, key: example.com/name}").Revisions(t.Context(), cache, rollout())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(revisions[0].Pods.Selector.String()).To(Equal("example.com/name=web"))
	g.Expect(revisions[0].Pods.Value).To(Equal("v2"))

	revisions, err = compiled(t, "rollouts", "pods: {by: None}").Revisions(t.Context(), cache, rollout())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(revisions).To(BeEmpty())
	g.Expect(layered{}.Revision(&corev1.Pod{})).To(BeZero(), "of another kind")
	g.Expect(layered{}.Layer()).To(Equal(&appsv1.ReplicaSet{}))
}

// A workload that goes back to an earlier pod template gets the ReplicaSet that has it already, with a new number.
func TestKindRevisionsAreNumberedByTheirController(t *testing.T) {
	g := NewWithT(t)
	argo := ownedBy("argoproj.io/v1alpha1", "Rollout", "web", "web-1")
	created := metav1.NewTime(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC))
	older, newer := &appsv1.ReplicaSet{ObjectMeta: metaOf("web-1", "rs-1", "v1", argo)}, &appsv1.ReplicaSet{ObjectMeta: metaOf("web-2", "rs-2", "v2", argo)}
	older.CreationTimestamp, newer.CreationTimestamp = created, metav1.NewTime(created.Add(time.Hour))
	older.Annotations = map[string]string{"rollout.argoproj.io/revision": "3"}
	newer.Annotations = map[string]string{"rollout.argoproj.io/revision": "2", "deployment.kubernetes.io/revision": "7"}
	revisions, err := compiled(t, "rollouts", "pods: {by: Owner, through: [ReplicaSet.apps]}").Revisions(t.Context(), cacheOf(rollout(), older, newer), rollout())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(revisions).To(ConsistOf(
		And(HaveField("Version", "v1"), HaveField("Number", int64(3))),
		And(HaveField("Version", "v2"), HaveField("Number", int64(2))),
	))
}

func TestKindRevisionsFindPods(t *testing.T) {
	argo := ownedBy("argoproj.io/v1alpha1", "Rollout", "web", "web-1")
	pod := func(name, version string, owner *metav1.OwnerReference, labels ...string) *corev1.Pod {
		pod := &corev1.Pod{ObjectMeta: metaOf(name, types.UID(name), version, owner)}
		for _, label := range labels {
			pod.Labels[label] = "web"
		}
		return pod
	}
	cache := cacheOf(rollout(),
		&appsv1.StatefulSet{ObjectMeta: metaOf("web-db", "sts-1", "", argo)},
		pod("direct", "v2", argo), pod("old", "v1", argo, "app", "example.com/name"), pod("other", "v2", ownedBy("apps/v1", "StatefulSet", "other", "other")),
		pod("through", "v2", ownedBy("apps/v1", "StatefulSet", "web-db", "sts-1")), pod("labelled", "v2", nil, "example.com/name"), pod("selected", "v2", nil, "app"))
	for spec, want := range map[string][]string{
		"{}": {"direct", "through"},
		"pods: {by: Owner, through: [Job.batch]}":   {"direct"},
		"pods: {by: Label, key: example.com/name}":  {"labelled"},
		"pods: {by: Selector, path: spec.selector}": {"selected"},
	} {
		t.Run(spec, func(t *testing.T) {
			g := NewWithT(t)
			revisions, err := compiled(t, "rollouts", spec).Revisions(t.Context(), cache, rollout())
			g.Expect(err).NotTo(HaveOccurred())
			pods, err := index.PodsOf(t.Context(), cache, "default", revisions[0].Pods)
			g.Expect(err).NotTo(HaveOccurred())
			var names []string
			for _, pod := range pods {
				names = append(names, pod.Name)
			}
			g.Expect(names).To(ConsistOf(want))
		})
	}
}

func TestKindSkipsOwnersThatAreNotCached(t *testing.T) {
	g := NewWithT(t)
	withoutJobs := interceptor.NewClient(cacheOf(rollout()), interceptor.Funcs{
		Get: func(ctx context.Context, kube client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if _, isJob := object.(*batchv1.Job); isJob {
				return &cache.ErrResourceNotCached{}
			}
			return kube.Get(ctx, key, object, options...)
		},
		List: func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if _, areJobs := list.(*batchv1.JobList); areJobs {
				return &cache.ErrResourceNotCached{}
			}
			return kube.List(ctx, list, options...)
		},
	})
	kind := compiled(t, "rollouts", "{}")
	revisions, err := kind.Revisions(t.Context(), withoutJobs, rollout())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(revisions).To(HaveLen(1))
	pod := &corev1.Pod{ObjectMeta: metaOf("web-a", "pod", "v2", ownedBy("batch/v1", "Job", "web", "job-1"))}
	g.Expect(kind.OwnerOf(t.Context(), withoutJobs, pod)).To(BeNil())
}

func TestKindFailsWithItsCache(t *testing.T) {
	g := NewWithT(t)
	failing := interceptor.NewClient(cacheOf(), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("no cache")
		},
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("no cache")
		},
	})
	pod := &corev1.Pod{ObjectMeta: metaOf("web-a", "pod", "v2", ownedBy("argoproj.io/v1alpha1", "Rollout", "web", "web-1"))}
	pod.Labels["example.com/name"] = "web"
	for spec, problem := range map[string]string{
		"{}": "reading the Rollout that owns default/web-a: no cache",
		"pods: {by: Label, key: example.com/name}":  "reading Rollout default/web: no cache",
		"pods: {by: Selector, path: spec.selector}": "listing the objects of kind Rollout in namespace default: no cache",
	} {
		_, err := compiled(t, "rollouts", spec).OwnerOf(t.Context(), failing, pod)
		g.Expect(err).To(MatchError(problem))
	}
	for spec, problem := range map[string]string{
		"{}": "listing *v1.ReplicaSetList in namespace default by owner web-1: no cache",
		"pods: {by: Owner, through: [ReplicaSet.apps]}": "listing *v1.ReplicaSetList in namespace default by owner web-1: no cache",
	} {
		_, err := compiled(t, "rollouts", spec).Revisions(t.Context(), failing, rollout())
		g.Expect(err).To(MatchError(problem))
	}
	broken := rollout()
	g.Expect(unstructured.SetNestedField(broken.Object, "((", "status", "selector")).To(Succeed())
	_, err := compiled(t, "rollouts", "pods: {by: Selector, path: status.selector}").Revisions(t.Context(), failing, broken)
	g.Expect(err).To(MatchError("reading status.selector of default/web: found '(', expected: !, identifier, or 'end of string'"))
	g.Expect(unstructured.SetNestedField(broken.Object, []any{map[string]any{"key": "a", "operator": "Like"}}, "spec", "selector", "matchExpressions")).To(Succeed())
	_, err = compiled(t, "rollouts", "pods: {by: Selector, path: spec.selector}").Revisions(t.Context(), failing, broken)
	g.Expect(err).To(MatchError(`reading spec.selector of default/web: "Like" is not a valid label selector operator`))
	g.Expect(unstructured.SetNestedField(broken.Object, "a", "spec", "selector", "matchExpressions")).To(Succeed())
	_, err = compiled(t, "rollouts", "pods: {by: Selector, path: spec.selector}").Revisions(t.Context(), failing, broken)
	g.Expect(err).To(MatchError(HavePrefix("reading spec.selector of default/web: ")))
}

func TestKindSelectorOfNothingFindsNothing(t *testing.T) {
	g := NewWithT(t)
	for _, value := range []any{"", map[string]any{}, nil} {
		object := rollout()
		object.Object["status"].(map[string]any)["selector"] = value
		selector, err := bare(compiled(t, "rollouts", "pods: {by: Selector, path: status.selector}")).selectorOf(object)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(selector.Matches(labels.Set{"app": "web"})).To(BeFalse())
	}
}

func TestKindOwnerOfAPodThatTwoSelect(t *testing.T) {
	other := rollout()
	other.SetName("other")
	other.SetUID("other-1")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", Labels: map[string]string{"app": "web"}}}
	owner, err := compiled(t, "rollouts", "pods: {by: Selector, path: spec.selector}").OwnerOf(t.Context(), cacheOf(rollout(), other), pod)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(owner).To(BeNil())
}

func TestKindUnits(t *testing.T) {
	g := NewWithT(t)
	object := objectOf(t, "{metadata: {namespace: infra, name: dev, uid: u-1}, spec: {cluster: {nodeList: [{ip: 10.0.0.2}, {ip: node-3}, {ip: 10.0.0.2}, {}, x]}}}")
	units := sample(t, "kubernetescluster", "kubernetesclusters").(workload.Lister).Units(object)
	g.Expect(units).To(HaveLen(2), "one that is there twice is one")
	g.Expect(units[0].Pod).To(Equal("10.0.0.2"))
	g.Expect(units[0].IP).To(Equal("10.0.0.2"))
	g.Expect(units[0].App).To(Equal("dev"))
	g.Expect(units[0].UID).To(BeEquivalentTo("u-1/10.0.0.2"))
	g.Expect(units[0].Namespace).To(Equal("infra"))
	g.Expect(units[0].WorkSpace).To(Equal("default"))
	g.Expect(units[1].Pod).To(Equal("node-3"))
	g.Expect(units[1].IP).To(BeEmpty())
	itself := sample(t, "cluster-api-cluster", "clusters").(workload.Lister).Units(object)
	g.Expect(itself).To(HaveLen(1))
	g.Expect(itself[0].Pod).To(Equal("dev"))
	g.Expect(itself[0].UID).To(BeEquivalentTo("u-1"))
}

func TestKindNamesItsTypes(t *testing.T) {
	g, kind := NewWithT(t), sample(t, "rollout", "rollouts")
	g.Expect(kind.GroupVersionKind().String()).To(Equal("argoproj.io/v1alpha1, Kind=Rollout"))
	g.Expect(kind.Resource()).To(Equal("rollouts"))
	g.Expect(bare(kind).RecordName("web")).To(Equal("rollouts.web"))
	g.Expect(kind.TemplatePath()).To(Equal([]string{"spec", "template"}))
	g.Expect(kind.New().GetObjectKind().GroupVersionKind().String()).To(Equal("argoproj.io/v1alpha1, Kind=Rollout"))
	g.Expect(kind.NewList().GetObjectKind().GroupVersionKind().String()).To(Equal("argoproj.io/v1alpha1, Kind=RolloutList"))
	g.Expect(kind.Namespaced()).To(BeTrue())
	g.Expect(kind.MayUndo()).To(BeTrue())
	g.Expect(sample(t, "jobset", "jobsets").MayUndo()).To(BeFalse())
}

func TestKindControls(t *testing.T) {
	owned := &metav1.PartialObjectMetadata{ObjectMeta: metaOf("web", "w", "", ownedBy("example.com/v1", "App", "web", "a"))}
	g := NewWithT(t)
	g.Expect(compiled(t, "rollouts", "{}").Controls(&metav1.PartialObjectMetadata{})).To(BeTrue())
	g.Expect(compiled(t, "rollouts", "{}").Controls(owned)).To(BeFalse())
	g.Expect(compiled(t, "rollouts", "owned: Control").Controls(owned)).To(BeTrue())
}

func TestKindCache(t *testing.T) {
	g := NewWithT(t)
	stamped := labels.SelectorFromSet(labels.Set{"stamped": "yes"})
	for _, held := range compiled(t, "rollouts", "mode: Enforce").Cache(stamped) {
		g.Expect(held.Label.String()).To(Equal("stamped=yes"))
		slim, err := held.Transform(rollout())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(slim.(client.Object).GetName()).To(Equal("web"))
	}
}

func TestKindSlim(t *testing.T) {
	whole := `
apiVersion: ecs.yun.com/v1
kind: KubernetesCluster
metadata:
  name: dev
  namespace: infra
  uid: u-1
  generation: 3
  managedFields: [{manager: kubectl}]
  annotations: {kubectl.kubernetes.io/last-applied-configuration: "{}", app.kubernetes.io/operation: creating}
  finalizers: [a]
  labels: {app: dev}
spec:
  addons: {dns: "1"}
  cluster: {kubeVersion: v1.30, nodeList: [{ip: 10.0.0.2, rack: a}, {ip: 10.0.0.3}], masterList: [{ip: 10.0.0.1}]}
status:
  phase: Running
  lastTransitionTime: "2026-11-21T10:00:00Z"
  reason: none
  conditions: [{type: Ready, status: "True", message: m, reason: r, observedGeneration: 2, lastTransitionTime: "2026-11-21T10:00:00Z"}]
`
	g, kind := NewWithT(t), sample(t, "kubernetescluster", "kubernetesclusters")
	slim, err := kind.Slim(objectOf(t, whole))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(slim).To(Equal(objectOf(t, `
apiVersion: ecs.yun.com/v1
kind: KubernetesCluster
metadata:
  name: dev
  namespace: infra
  uid: u-1
  generation: 3
  annotations: {app.kubernetes.io/operation: creating}
  labels: {app: dev}
spec: {cluster: {nodeList: [{ip: 10.0.0.2}, {ip: 10.0.0.3}]}}
status:
  phase: Running
  lastTransitionTime: "2026-11-21T10:00:00Z"
  conditions: [{type: Ready, status: "True", message: m, observedGeneration: 2}]
`)))
	for _, sampled := range []Kind{kind, sample(t, "rollout", "rollouts")} {
		before, _ := sampled.Health(objectOf(t, whole))
		after, _ := sampled.Health(slim.(client.Object))
		g.Expect(after).To(Equal(before))
	}
	everything := compiled(t, "kubernetesclusters", `health: {current: "object == object"}`)
	slim, err = everything.Slim(objectOf(t, whole))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(parsePlace("/spec/addons/dns").find(slim.(*unstructured.Unstructured).Object)).To(Equal("1"), "the expression looks at all of it")
	g.Expect(kind.Slim("tombstone")).To(Equal("tombstone"))
}

func TestExpressionReads(t *testing.T) {
	for text, want := range map[string][]string{
		"object.status.phase == 'a' || object.status.phase == 'b'":               {"status.phase"},
		"object.?status.?phase.orValue('') == ''":                                {"status.phase"},
		"object.metadata.?annotations[?'a/b'].orValue('') == object.spec['x-y']": {"metadata.annotations['a/b']", "spec.x-y"},
		"object.status.conditions.exists(c, c.type == object.spec.kind)":         {"status.conditions", "spec.kind"},
		"object.spec.list[0].name == 'a'":                                        {"spec.list"},
		"has(object.spec.paused)":                                                {"spec.paused"},
		"object.spec[object.metadata.name] == ''":                                {"spec", "metadata.name"},
		"release.number > 1":                                                     nil,
	} {
		t.Run(text, func(t *testing.T) {
			expression, err := compile(compiler(t).health, text, true)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			var found []string
			for _, path := range expression.reads {
				found = append(found, path.String())
			}
			NewWithT(t).Expect(found).To(ConsistOf(want))
		})
	}
}
