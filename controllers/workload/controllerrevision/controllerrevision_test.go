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

package controllerrevision_test

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/podtemplate"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/controllerrevision"
	"github.com/traas-stack/altershield-operator/controllers/workload/daemonset"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
)

const versionLabel = "admission-webhook-altershield.antgroup.com/version"

var now = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// set is one whose revisions are healthy while a pod of theirs is ready.
func set() controllerrevision.Set {
	return controllerrevision.Set{
		Kind:     statefulset.Kind{},
		PodLabel: func(revision *appsv1.ControllerRevision) string { return revision.Name },
		Healthy:  func(_ client.Object, _ string, pods controllerrevision.Pods) bool { return pods.Ready > 0 },
	}
}

// web is a StatefulSet.
func web() *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "s-1"},
		Spec:       appsv1.StatefulSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
	}
}

// controlled is the metadata of an object of a StatefulSet with this UID, which has these labels beside those that it selects.
func controlled(name string, owner types.UID, added map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "default", Name: name, UID: types.UID("uid-of-" + name), CreationTimestamp: metav1.NewTime(now),
		Labels:          labels.Merge(map[string]string{"app": "web"}, added),
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "web", UID: owner, Controller: ptr.To(true)}},
	}
}

// revision is a ControllerRevision as the StatefulSet controller makes it.
func revision(name, version string, number int64) *appsv1.ControllerRevision {
	return &appsv1.ControllerRevision{
		ObjectMeta: controlled(name, "s-1", map[string]string{versionLabel: version, "controller.kubernetes.io/hash": "5d8c"}),
		Revision:   number,
		Data:       runtime.RawExtension{Raw: []byte(`{"spec":{"template":{"$patch":"replace","metadata":{"creationTimestamp":null,"labels":{"` + versionLabel + `":"` + version + `","app":"web"}},"spec":{"terminationGracePeriodSeconds":30,"containers":[{"name":"web","image":"web:` + version + `"}]}}}}`)},
	}
}

// kept is what the operator itself keeps of a template.
func kept(name, version string) *appsv1.ControllerRevision {
	result := revision(name, version, 1)
	result.Labels["altershield.defense.antgroup.com/workload"] = "web"
	return result
}

// template is that of a revision.
func template(version string) podtemplate.Template {
	return podtemplate.Template{
		"metadata": map[string]any{"labels": map[string]any{"app": "web"}},
		"spec": map[string]any{"terminationGracePeriodSeconds": int64(30),
			"containers": []any{map[string]any{"name": "web", "image": "web:" + version}}},
	}
}

// pod is one of a revision.
func pod(name, revision string, ready corev1.ConditionStatus) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: controlled(name, "s-1", map[string]string{"controller-revision-hash": revision}),
		Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
	}
}

// failing is a client that can't list objects of this type.
func failing[List client.ObjectList](t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	return interceptor.NewClient(testkit.NewFake(t, objects...), interceptor.Funcs{
		List: func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if _, fails := list.(List); fails {
				return errors.New("out of order")
			}
			return kube.List(ctx, list, options...)
		},
	})
}

func TestSetRevision(t *testing.T) {
	pods := decide.PodsOf{Owner: "s-1", Label: "controller-revision-hash", Value: "web-5d8c"}
	uncontrolled := revision("web-5d8c", "a", 6)
	uncontrolled.OwnerReferences = nil
	unstamped := revision("web-5d8c", "a", 6)
	delete(unstamped.Labels, versionLabel)
	for _, row := range []struct {
		name   string
		object client.Object
		want   decide.Revision
	}{
		{"with a version", revision("web-5d8c", "a", 6), decide.Revision{Version: "a", Number: 6, Created: now, Pods: pods}},
		{"from before change control", unstamped, decide.Revision{Number: 6, Created: now, Pods: pods}},
		{"that nothing controls", uncontrolled,
			decide.Revision{Version: "a", Number: 6, Created: now, Pods: decide.PodsOf{Label: "controller-revision-hash", Value: "web-5d8c"}}},
		{"of another type", &corev1.Pod{}, decide.Revision{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(set().Revision(row.object)).To(Equal(row.want))
		})
	}
}

func TestSetRevisionsCountTheirPods(t *testing.T) {
	going := pod("web-3", "web-b", corev1.ConditionFalse)
	going.DeletionTimestamp, going.Finalizers = ptr.To(metav1.NewTime(now)), []string{"example.com/a"}
	foreign := pod("other-0", "web-b", corev1.ConditionTrue)
	foreign.OwnerReferences[0].UID = "s-2"
	foreignRevision := revision("other-a", "a", 1)
	foreignRevision.OwnerReferences[0].UID = "s-2"
	objects := []client.Object{
		revision("web-a", "a", 1), revision("web-b", "b", 2), revision("web-c", "c", 3), foreignRevision, foreign, going,
		pod("web-0", "web-a", corev1.ConditionTrue), pod("web-1", "web-a", corev1.ConditionFalse), pod("web-2", "web-b", corev1.ConditionTrue),
	}
	g, counted := NewWithT(t), map[string]controllerrevision.Pods{}
	counting := set()
	counting.Healthy = func(object client.Object, label string, pods controllerrevision.Pods) bool {
		g.Expect(object).To(Equal(web()))
		counted[label] = pods
		return label == "web-b"
	}
	check := func(revisions []decide.Revision, err error) {
		g.Expect(err).NotTo(HaveOccurred())
		healthy := map[string]bool{}
		for _, revision := range revisions {
			healthy[revision.Version] = revision.Healthy
		}
		g.Expect(healthy).To(Equal(map[string]bool{"a": false, "b": true, "c": false}))
		g.Expect(counted).To(Equal(map[string]controllerrevision.Pods{"web-a": {There: 2, Ready: 1}, "web-b": {There: 1, Ready: 1}, "web-c": {}}))
		clear(counted)
	}
	check(counting.Revisions(t.Context(), testkit.NewFake(t, objects...), web()))
	check(counting.History(t.Context(), testkit.NewFake(t, objects...), web()))
}

func TestSetRevisionsNeedsRevisionsAndPods(t *testing.T) {
	g := NewWithT(t)
	_, err := set().Revisions(t.Context(), failing[*appsv1.ControllerRevisionList](t), web())
	g.Expect(err).To(MatchError(ContainSubstring("out of order")))
	_, err = set().Revisions(t.Context(), failing[*corev1.PodList](t), web())
	g.Expect(err).To(MatchError(ContainSubstring("out of order")))
}

func TestSetOwnerOf(t *testing.T) {
	stamped := map[string]string{versionLabel: "a"}
	of := func(change func(*metav1.OwnerReference)) *corev1.Pod {
		result := &corev1.Pod{ObjectMeta: controlled("web-0", "s-1", stamped)}
		change(&result.OwnerReferences[0])
		return result
	}
	for _, row := range []struct {
		name   string
		object client.Object
		found  bool
	}{
		{"a pod", of(func(*metav1.OwnerReference) {}), true},
		{"a ControllerRevision", revision("web-5d8c", "a", 1), true},
		{"a pod, by another version of the API", of(func(owner *metav1.OwnerReference) { owner.APIVersion = "apps/v2" }), true},
		{"not a pod of a StatefulSet of before", of(func(owner *metav1.OwnerReference) { owner.UID = "s-0" }), false},
		{"not a pod of another kind", of(func(owner *metav1.OwnerReference) { owner.Kind = "DaemonSet" }), false},
		{"not a pod of another group", of(func(owner *metav1.OwnerReference) { owner.APIVersion = "apps.kruise.io/v1" }), false},
		{"not a pod of a StatefulSet that isn't there", of(func(owner *metav1.OwnerReference) { owner.Name = "other" }), false},
		{"not a pod that nothing controls", of(func(owner *metav1.OwnerReference) { owner.Controller = nil }), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			owner, err := set().OwnerOf(t.Context(), testkit.NewFake(t, web()), row.object)
			g.Expect(err).NotTo(HaveOccurred())
			if !row.found {
				g.Expect(owner).To(BeNil())
				return
			}
			g.Expect(owner.Kind).To(Equal(statefulset.Kind{}))
			g.Expect(owner.Object.GetName()).To(Equal("web"))
			g.Expect(owner.Version).To(Equal("a"))
		})
	}
}

func TestSetHistoryHasTheTemplates(t *testing.T) {
	untyped := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "StatefulSet",
		"metadata": map[string]any{"namespace": "default", "name": "web", "uid": "s-1"},
		"spec":     map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}}},
	}}
	unstamped := revision("web-0a", "", 1)
	delete(unstamped.Labels, versionLabel)
	ofDeployment := revision("web--x--c", "c", 4)
	ofDeployment.Labels["app.kubernetes.io/deployment-name"] = "web"
	foreign := revision("other-a", "x", 1)
	foreign.OwnerReferences[0].UID = "s-2"
	unselected := revision("other-b", "y", 1)
	unselected.Labels["app"] = "other"
	kube := testkit.NewFake(t, unstamped, revision("web-a", "a", 2), revision("web-b", "b", 3), kept("statefulsets.web--x--a", "a"), ofDeployment, foreign, unselected)
	for name, object := range map[string]client.Object{"typed": web(), "untyped": untyped} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			revisions, err := set().History(t.Context(), kube, object)
			g.Expect(err).NotTo(HaveOccurred())
			templates := map[string]podtemplate.Template{}
			for _, revision := range revisions {
				templates[revision.Version] = revision.Template
			}
			g.Expect(templates).To(Equal(map[string]podtemplate.Template{"": template(""), "a": template("a"), "b": template("b")}))
		})
	}
}

func TestSetHistoryFailsOnWhatItCanNotRead(t *testing.T) {
	holding := func(data string) *appsv1.ControllerRevision {
		result := revision("web-a", "a", 1)
		result.Data.Raw = []byte(data)
		return result
	}
	typedBadly := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": "default", "name": "web"}, "spec": map[string]any{"replicas": "many"}}}
	selectingBadly := web()
	selectingBadly.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}}
	for _, row := range []struct {
		name   string
		kube   client.Reader
		object client.Object
		want   string
	}{
		{"data that is no object", testkit.NewFake(t, holding(`"a"`)), web(),
			"decoding the data of ControllerRevision default/web-a: json: cannot unmarshal string into Go value of type map[string]interface {}"},
		{"data without a template", testkit.NewFake(t, holding(`{"spec":{"template":{"$patch":"replace"}}}`)), web(), "the data of ControllerRevision default/web-a holds no pod template"},
		{"revisions", failing[*appsv1.ControllerRevisionList](t), web(), "listing the ControllerRevisions of StatefulSet default/web: out of order"},
		{"pods", failing[*corev1.PodList](t), web(), "listing the pods of StatefulSet default/web: out of order"},
		{"a workload with a field of another type", testkit.NewFake(t), typedBadly, "reading StatefulSet default/web: unrecognized type: int32"},
		{"a selector", testkit.NewFake(t), selectingBadly, `reading StatefulSet default/web: "Near" is not a valid label selector operator`},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := set().History(t.Context(), row.kube, row.object)
			NewWithT(t).Expect(err).To(MatchError(row.want))
		})
	}
}

func TestSetOrphans(t *testing.T) {
	orphan := func(revision *appsv1.ControllerRevision) *appsv1.ControllerRevision {
		revision.OwnerReferences = nil
		return revision
	}
	unselected := orphan(revision("other-a", "a", 1))
	unselected.Labels["app"] = "other"
	kube := testkit.NewFake(t, orphan(revision("web-a", "a", 1)), orphan(revision("web-b", "b", 2)), revision("web-c", "a", 3), orphan(kept("statefulsets.web--x--a", "a")), unselected)
	for name, created := range map[string]client.Object{
		"a StatefulSet": &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default"}, Spec: web().Spec},
		"a DaemonSet":   &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default"}, Spec: appsv1.DaemonSetSpec{Selector: web().Spec.Selector}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(set().Orphans(t.Context(), kube, created, "a")).To(ConsistOf(HaveField("Template", template("a"))))
			g.Expect(set().Orphans(t.Context(), kube, created, "c")).To(BeEmpty())
		})
	}
}

func TestSetOrphansFailsOnWhatItCanNotRead(t *testing.T) {
	spoilt := revision("web-a", "a", 1)
	spoilt.OwnerReferences, spoilt.Data.Raw = nil, []byte(`[]`)
	for _, row := range []struct {
		name   string
		kube   client.Reader
		object client.Object
		want   string
	}{
		{"data", testkit.NewFake(t, spoilt), web(), "decoding the data of ControllerRevision default/web-a: json: cannot unmarshal array into Go value of type map[string]interface {}"},
		{"revisions", failing[*appsv1.ControllerRevisionList](t), web(), "listing the ControllerRevisions with version a in namespace default: out of order"},
		{"a workload with a field of another type", testkit.NewFake(t),
			&unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"replicas": "many"}}}, "reading the StatefulSet: unrecognized type: int32"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := set().Orphans(t.Context(), row.kube, row.object, "a")
			NewWithT(t).Expect(err).To(MatchError(row.want))
		})
	}
}

func TestCacheHoldsNativeRevisionsWithAVersion(t *testing.T) {
	stamped, err := labels.Parse(versionLabel)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for _, row := range []struct {
		name   string
		labels labels.Set
		held   bool
	}{
		{"a revision of a stamped template", labels.Set{versionLabel: "a", "app": "web"}, true},
		{"not one from before change control", labels.Set{"app": "web"}, false},
		{"not what is kept of a Deployment", labels.Set{versionLabel: "a", "app.kubernetes.io/deployment-name": "web"}, false},
		{"not what is kept of another kind", labels.Set{versionLabel: "a", "altershield.defense.antgroup.com/workload": "web"}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(controllerrevision.Cache(stamped).Label.Matches(row.labels)).To(Equal(row.held))
		})
	}
	NewWithT(t).Expect(stamped.String()).To(Equal(versionLabel), "the selector of other kinds stays as it is")
}

func TestCacheDropsTheTemplate(t *testing.T) {
	g := NewWithT(t)
	full := revision("web-a", "a", 6)
	full.Annotations = map[string]string{"note": "b"}
	full.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kube-controller-manager"}}
	want := revision("web-a", "a", 6)
	want.Data = runtime.RawExtension{}
	transform := controllerrevision.Cache(labels.Everything()).Transform
	g.Expect(transform(full)).To(Equal(want))
	tombstone := &struct{ Key string }{"default/web-a"}
	g.Expect(transform(tombstone)).To(BeIdenticalTo(tombstone))
}

func TestCacheIsTheSameForEveryKind(t *testing.T) {
	g := NewWithT(t)
	for _, kind := range []workload.Kind{statefulset.Kind{}, daemonset.Kind{}} {
		found := 0
		for object, options := range kind.Cache(labels.Everything()) {
			if _, ok := object.(*appsv1.ControllerRevision); ok {
				found++
				g.Expect(options.Label.String()).To(Equal(controllerrevision.Cache(labels.Everything()).Label.String()))
			}
		}
		g.Expect(found).To(Equal(1), kind.Resource())
	}
}

func TestIdentify(t *testing.T) {
	g := NewWithT(t)
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(web())
	g.Expect(err).NotTo(HaveOccurred())
	observed := &unstructured.Unstructured{Object: fields}
	version, err := template("2").Version()
	g.Expect(err).NotTo(HaveOccurred())
	stranger := revision("stranger", "2", 9)
	stranger.OwnerReferences[0].UID = "s-0"
	live := testkit.NewFake(t, revision("web-1", "1", 1), revision("web-2", "2", 2), revision("web-3", "2", 4), revision("web-4", "3", 5), stranger)
	found, err := set().Identify(t.Context(), live, observed, version)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found.Version).To(Equal(version))
	g.Expect(found.Number).To(BeEquivalentTo(4), "the newest of the content")
	g.Expect(set().Identify(t.Context(), live, observed, "another")).To(BeNil())

	broken := revision("web-5", "5", 6)
	broken.Data.Raw = []byte(`"text"`)
	_, err = set().Identify(t.Context(), testkit.NewFake(t, broken), observed, version)
	g.Expect(err).To(MatchError(ContainSubstring("decoding the data of ControllerRevision default/web-5")))
	away := interceptor.NewClient(live, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("away")
		},
	})
	_, err = set().Identify(t.Context(), away, observed, version)
	g.Expect(err).To(MatchError("listing the ControllerRevisions of StatefulSet default/web: away"))
	_, err = set().Identify(t.Context(), live, &unstructured.Unstructured{Object: map[string]any{"spec": "broken"}}, version)
	g.Expect(err).To(MatchError(ContainSubstring("reading StatefulSet")))
}

func TestPods(t *testing.T) {
	g := NewWithT(t)
	stranger := pod("stranger", "web-1", corev1.ConditionTrue)
	stranger.OwnerReferences[0].UID = "s-0"
	found, err := set().Pods(t.Context(), testkit.NewFake(t, pod("web-0", "web-1", corev1.ConditionTrue), stranger), web())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found).To(HaveExactElements(HaveField("Name", "web-0")))
	_, err = set().Pods(t.Context(), nil, &unstructured.Unstructured{Object: map[string]any{"spec": "broken"}})
	g.Expect(err).To(MatchError(ContainSubstring("reading StatefulSet")))
}
