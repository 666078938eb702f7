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

package observed_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/testkit/kinds"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/cronjob"
	"github.com/traas-stack/altershield-operator/controllers/workload/daemonset"
	"github.com/traas-stack/altershield-operator/controllers/workload/declared"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
	"github.com/traas-stack/altershield-operator/controllers/workload/job"
	"github.com/traas-stack/altershield-operator/controllers/workload/observed"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
)

var start = time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)

// web is the StatefulSet with two pods of an image, rolled out at a revision.
func web(image string, generation int64, revision string) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web", UID: "set-1", Generation: generation, CreationTimestamp: metav1.NewTime(start.Add(-time.Hour)),
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl", Operation: "Apply", Time: &metav1.Time{Time: start}}},
		},
		Spec: appsv1.StatefulSetSpec{
			Replicas: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: image}}},
			},
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType},
		},
		Status: appsv1.StatefulSetStatus{
			ObservedGeneration: generation, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, CurrentRevision: revision, UpdateRevision: revision,
		},
	}
}

// held returns an object as the cache of an observed kind holds it.
func held(t *testing.T, kind workload.Observed, object client.Object) *unstructured.Unstructured {
	t.Helper()
	g := NewWithT(t)
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	g.Expect(err).NotTo(HaveOccurred())
	for _, options := range kind.Cache(labels.Nothing()) {
		g.Expect(options.Label).To(BeNil(), "it holds those without a version, too")
		slim, err := options.Transform(&unstructured.Unstructured{Object: fields})
		g.Expect(err).NotTo(HaveOccurred())
		again, err := options.Transform(slim.(*unstructured.Unstructured).DeepCopy())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(again).To(Equal(slim))
		return slim.(*unstructured.Unstructured)
	}
	return nil
}

func TestKindCacheHoldsTheVersionInPlaceOfTheTemplate(t *testing.T) {
	g := NewWithT(t)
	kind, set := observed.Of(statefulset.Kind{}), web("web:1", 7, "web-1")
	set.Labels = map[string]string{"app": "web", "admission-webhook-altershield.antgroup.com/version": "0123456789abcdef0123456789abcdef"}
	set.Annotations = map[string]string{"altershield.defense.antgroup.com/release": "3", "altershield.defense.antgroup.com/held": "3", "notes": strings.Repeat("x", 10000),
		"observed.altershield.defense.antgroup.com/version": "of a user"}
	set.Spec.Template.Spec.Containers[0].Command = []string{strings.Repeat("x", 10000)}
	slim := held(t, kind, set)
	text, err := json.Marshal(slim)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(text)).To(BeNumerically("<", 1024))
	g.Expect(slim.GetLabels()).To(BeEmpty())
	g.Expect(slim.GetAnnotations()).To(HaveLen(1))
	g.Expect(decide.ReleaseOf(slim).Version).To(BeEmpty(), "the mark isn't taken for a stamp")

	seen := kind.Sighting(slim)
	g.Expect(seen.Version).To(MatchRegexp("^[0-9a-f]{32}$"))
	g.Expect(seen.Generation).To(BeEquivalentTo(7))
	g.Expect(seen.Complete).To(BeTrue())
	g.Expect(kind.Rollout(slim).Desired).To(BeEquivalentTo(2))
	set.Spec.Template.Labels["admission-webhook-altershield.antgroup.com/version"] = "0123456789abcdef0123456789abcdef"
	g.Expect(kind.Sighting(held(t, kind, set)).Version).To(Equal(seen.Version), "without the operator's labels")
	set.Status.ObservedGeneration = 6
	g.Expect(kind.Sighting(held(t, kind, set)).Complete).To(BeFalse())

	at := kind.At(slim, decide.Release{Version: seen.Version, Number: 7}, start)
	g.Expect(decide.ReleaseOf(at)).To(Equal(decide.Release{Version: seen.Version, Number: 7}))
	g.Expect(decide.ReleaseOf(slim).Version).To(BeEmpty(), "the cached object stays as it is")
}

func TestKindCacheHoldsTheNamesOfPartsOfOthers(t *testing.T) {
	g := NewWithT(t)
	kind, part := observed.Of(job.Kind{}), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "backup-29384", UID: "j-1", ResourceVersion: "7", Labels: map[string]string{"app": "backup"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "CronJob", Name: "backup", UID: "c-1", Controller: ptr.To(true)}},
	}}
	slim := held(t, kind, part)
	g.Expect(slim.Object).NotTo(HaveKey("spec"))
	g.Expect(slim.Object).NotTo(HaveKey("status"))
	g.Expect(slim.GetLabels()).To(BeEmpty())
	g.Expect([]string{slim.GetKind(), slim.GetNamespace(), slim.GetName(), string(slim.GetUID()), slim.GetResourceVersion()}).To(
		Equal([]string{"Job", "shop", "backup-29384", "j-1", "7"}))
	g.Expect(workload.Controls(kind, slim)).To(BeFalse())
	g.Expect(kind.Sighting(slim).Version).To(BeEmpty())
}

func TestKindHasNoneOfTheInterfacesThatWrite(t *testing.T) {
	for _, kind := range append(testkit.Kinds(), kinds.Sample(t, "../../..", "kubernetescluster", "kubernetesclusters")) {
		g, kind := NewWithT(t), observed.Of(kind)
		_, pauses := kind.(workload.Pauser)
		_, restores := kind.(workload.Restorer)
		_, tries := kind.(workload.Trier)
		_, composes := kind.(workload.Composite)
		g.Expect([]bool{pauses, restores, tries, composes, workload.MayUndo(kind)}).To(HaveEach(false))
		g.Expect(observed.Of(statefulset.Kind{})).To(Equal(observed.Of(statefulset.Kind{})))
		_, err := kind.Revisions(t.Context(), nil, nil)
		g.Expect(err).NotTo(HaveOccurred())
	}
}

func TestKindControlsNoPartsOfOthers(t *testing.T) {
	g := NewWithT(t)
	owned := &metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Controller: ptr.To(true)}}}
	for _, kind := range testkit.Kinds() {
		g.Expect(workload.Controls(observed.Of(kind), owned)).To(BeFalse())
		g.Expect(workload.Controls(observed.Of(kind), &metav1.ObjectMeta{})).To(BeTrue())
	}
}

func TestSightingIsNotCompleteUntilTheControllerObservesTheGeneration(t *testing.T) {
	declaredKind, crd := kinds.Objects(t, "../../..", "rollout", "rollouts")
	declaredKind.Spec.Health.Current = "object.status.phase == 'Healthy'" // which is still that of the release before
	definition, err := declared.DefinitionOf(crd, "")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	compiler, err := declared.NewCompiler()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	compiled, problems := compiler.Compile(declaredKind, definition)
	NewWithT(t).Expect(problems).To(BeEmpty())
	kind := observed.Of(compiled)
	for seen, isComplete := range map[any]bool{"6": false, "7": true, int64(6): false, int64(7): true, nil: true} {
		rollout := &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"namespace": "shop", "name": "web", "uid": "r-1", "generation": int64(7)},
			"spec":     map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "web", "image": "web:2"}}}}},
			"status":   map[string]any{"observedGeneration": seen, "phase": "Healthy", "replicas": int64(2), "updatedReplicas": int64(2)},
		}}
		NewWithT(t).Expect(kind.Sighting(held(t, kind, rollout)).Complete).To(Equal(isComplete), "observed %v", seen)
	}
}

func TestSightingOfAJobThatHasEnded(t *testing.T) {
	g, kind, run := NewWithT(t), observed.Of(job.Kind{}), &batchv1.Job{}
	g.Expect(kind.Sighting(held(t, kind, run)).Ended).To(BeFalse())
	g.Expect(kind.Sighting(held(t, kind, run)).Complete).To(BeFalse())
	run.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	g.Expect(kind.Sighting(held(t, kind, run)).Ended).To(BeTrue())
}

func meta(name, uid string, owner client.Object, kind string) metav1.ObjectMeta {
	object := metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(uid), Generation: 1, Labels: map[string]string{"app": "web"}, CreationTimestamp: metav1.NewTime(start)}
	if owner != nil {
		object.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: kind, Name: owner.GetName(), UID: owner.GetUID(), Controller: ptr.To(true)}}
	}
	return object
}

func podTemplate(image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: image}}},
	}
}

func TestIdentifyFindsThePodsOfARelease(t *testing.T) {
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	web2 := &appsv1.Deployment{ObjectMeta: meta("web", "d-1", nil, ""), Spec: appsv1.DeploymentSpec{Selector: selector, Template: podTemplate("web:2")}}
	replicaSet := func(name, image, number string) *appsv1.ReplicaSet {
		object := &appsv1.ReplicaSet{ObjectMeta: meta("web-"+name, name, web2, "Deployment"), Spec: appsv1.ReplicaSetSpec{Template: podTemplate(image)}}
		object.Labels["pod-template-hash"], object.Spec.Template.Labels["pod-template-hash"] = name, name
		object.Annotations = map[string]string{"deployment.kubernetes.io/revision": number}
		return object
	}
	daemons := &appsv1.DaemonSet{ObjectMeta: meta("web", "ds-1", nil, ""), Spec: appsv1.DaemonSetSpec{Selector: selector, Template: podTemplate("web:2")}}
	revision := func(name, image string, number int64) *appsv1.ControllerRevision {
		object := &appsv1.ControllerRevision{ObjectMeta: meta("web-"+name, name, daemons, "DaemonSet"), Revision: number}
		object.Labels["controller-revision-hash"] = name
		text, err := json.Marshal(map[string]any{"spec": map[string]any{"template": podTemplate(image)}})
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		object.Data.Raw = text
		return object
	}
	schedule := &batchv1.CronJob{ObjectMeta: meta("web", "c-1", nil, "")}
	run := func(name string, created time.Time) *batchv1.Job {
		object := &batchv1.Job{ObjectMeta: meta("web-"+name, name, schedule, "CronJob")}
		object.CreationTimestamp = metav1.NewTime(created)
		return object
	}
	alone := &batchv1.Job{ObjectMeta: meta("web", "j-1", nil, "")}
	for _, row := range []struct {
		name    string
		kind    workload.Kind
		object  client.Object
		others  []client.Object
		label   string
		nothing bool
	}{
		{"Deployment", deployment.Kind{}, web2, []client.Object{replicaSet("a", "web:1", "3"), replicaSet("b", "web:2", "2"), replicaSet("c", "web:2", "1")}, "pod-template-hash=b", false},
		{"paused Deployment", deployment.Kind{}, web2, []client.Object{replicaSet("a", "web:1", "3")}, "", true},
		{"DaemonSet", daemonset.Kind{}, daemons, []client.Object{revision("a", "web:2", 1), revision("b", "web:1", 3), revision("c", "web:2", 2)}, "controller-revision-hash=c", false},
		{"CronJob", cronjob.Kind{}, schedule, []client.Object{run("a", start.Add(-time.Hour)), run("b", start.Add(time.Minute))}, "batch.kubernetes.io/controller-uid=b", false},
		{"CronJob that has yet to run", cronjob.Kind{}, schedule, []client.Object{run("a", start.Add(-time.Hour))}, "", true},
		{"Job", job.Kind{}, alone, nil, "batch.kubernetes.io/controller-uid=j-1", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g, kind := NewWithT(t), observed.Of(row.kind)
			api := testkit.NewFake(t, append(row.others, row.object.DeepCopyObject().(client.Object))...)
			record := &appv1alpha1.ChangeWorkload{Spec: appv1alpha1.ChangeWorkloadSpec{
				AppName: "web", Reversion: kind.Sighting(held(t, kind, row.object)).Version, CreateTimeUnix: start.Unix(),
			}}
			record.Namespace = "shop"
			record.OwnerReferences = []metav1.OwnerReference{{Kind: row.kind.GroupVersionKind().Kind, Name: "web", UID: row.object.GetUID(), Controller: ptr.To(true)}}
			found, err := kind.Identify(t.Context(), api, record)
			g.Expect(err).NotTo(HaveOccurred())
			if row.nothing {
				g.Expect(found).To(BeNil())
				return
			}
			g.Expect(found.Pods.Label + "=" + found.Pods.Value).To(Equal(row.label))
			record.Spec.Reversion = "0123456789abcdef0123456789abcdef"
			found, err = kind.Identify(t.Context(), api, record)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(found).To(BeNil(), "it has moved on")
		})
	}
}

func TestIdentifyFindsThePodsOfADeclaredKindByTheirAge(t *testing.T) {
	g, kind := NewWithT(t), kinds.Sample(t, "../../..", "rollout", "rollouts")
	rollout := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": map[string]any{"namespace": "shop", "name": "web", "uid": "r-1"},
	}}
	set := &appsv1.ReplicaSet{ObjectMeta: meta("web-1", "rs-1", rollout, "Rollout")}
	pod := func(name string, owner client.Object, created time.Time) *corev1.Pod {
		object := &corev1.Pod{ObjectMeta: meta(name, name, owner, "ReplicaSet")}
		object.CreationTimestamp = metav1.NewTime(created)
		return object
	}
	other := &appsv1.ReplicaSet{ObjectMeta: meta("other", "rs-2", nil, "")}
	api := testkit.NewFake(t, set, other, pod("old", set, start.Add(-time.Minute)), pod("new", set, start), pod("foreign", other, start))
	revision, err := kind.Identify(t.Context(), api, rollout, "0123456789abcdef0123456789abcdef", start)
	g.Expect(err).NotTo(HaveOccurred())
	pods, err := index.LivePodsOf(t.Context(), api, "shop", revision.Pods)
	g.Expect(err).NotTo(HaveOccurred())
	var names []string
	for i := range pods {
		names = append(names, pods[i].Name)
	}
	g.Expect(names).To(Equal([]string{"new"}))
}

func TestIdentifyFindsNothingOfAWorkloadThatIsGoneOrMovedOn(t *testing.T) {
	kind, set := observed.Of(statefulset.Kind{}), web("web:1", 1, "web-1")
	set.ManagedFields = nil
	version := kind.Sighting(held(t, kind, set)).Version
	record := func(version string) *appv1alpha1.ChangeWorkload {
		made := &appv1alpha1.ChangeWorkload{Spec: appv1alpha1.ChangeWorkloadSpec{AppName: "web", Reversion: version}}
		made.Namespace = "shop"
		made.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "web", UID: set.UID, Controller: ptr.To(true)}}
		return made
	}
	behind := set.DeepCopy()
	behind.Generation = 2
	stranger := record(version)
	stranger.OwnerReferences[0].UID = "set-0"
	for name, row := range map[string]struct {
		record *appv1alpha1.ChangeWorkload
		live   []client.Object
	}{
		"gone":                         {record(version), nil},
		"another one of its name":      {stranger, []client.Object{set}},
		"at another content":           {record("0123456789abcdef0123456789abcdef"), []client.Object{set}},
		"not seen by its controller":   {record(version), []client.Object{behind}},
		"without a revision as of yet": {record(version), []client.Object{set}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			found, err := kind.Identify(t.Context(), testkit.NewFake(t, row.live...), row.record)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(found).To(BeNil())
		})
	}
	away := interceptor.NewClient(testkit.NewFake(t), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("away")
		},
	})
	_, err := kind.Identify(t.Context(), away, record(version))
	NewWithT(t).Expect(err).To(MatchError("reading StatefulSet shop/web: away"))
}

func TestKindOfAnObjectThatCannotBeRead(t *testing.T) {
	g, kind := NewWithT(t), observed.Of(statefulset.Kind{})
	broken := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "web"}, "spec": map[string]any{"replicas": "many"}}}
	g.Expect(kind.Rollout(broken).Desired).To(Equal(kind.Rollout(&appsv1.StatefulSet{}).Desired))
	g.Expect(kind.Sighting(broken).Version).To(BeEmpty())
}

func TestKindHasListsOfItsOwn(t *testing.T) {
	g, kind := NewWithT(t), observed.Of(statefulset.Kind{})
	list, ok := kind.NewList().(*unstructured.UnstructuredList)
	g.Expect(ok).To(BeTrue())
	g.Expect(list.GroupVersionKind().String()).To(Equal("apps/v1, Kind=StatefulSetList"))
	g.Expect(kind.OwnerOf(t.Context(), nil, &corev1.Pod{})).To(BeNil())
}
