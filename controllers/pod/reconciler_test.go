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

package pod

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/traas-stack/altershield-operator/controllers/settings"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	kind "github.com/traas-stack/altershield-operator/controllers/workload/deployment"
)

const finishedLabel = "altershield.defense.antgroup.com/operate-finished"

// now is the time of a reconcile of pods that have been ready for a minute.
var now = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

func atNow() time.Time { return now }

func TestReconcile(t *testing.T) {
	for _, row := range []struct {
		name     string
		phase    corev1.PodPhase
		before   string
		passes   bool
		finished string
		gates    []corev1.PodReadinessGate
	}{
		{"a pod that is ready is labelled", "Running", "", true, "1795255200", nil},
		{"a pod that is ready but for its gate is labelled, as it is checked before traffic", "Running", "", true, "1795255200",
			[]corev1.PodReadinessGate{{ConditionType: "altershield.defense.antgroup.com/verified"}}},
		{"a pod that is labelled stays so", "Running", "1795250000", false, "1795250000", nil},
		{"an evicted pod is not labelled, though its condition Ready is true", "Failed", "", false, "", nil},
		{"an evicted pod that finished before keeps its label", "Failed", "1795250000", false, "1795250000", nil},
		{"a pod that ended is not labelled", "Succeeded", "", false, "", nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
			deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep", UID: "d-1",
				Labels: map[string]string{"admission-webhook-altershield.antgroup.com/version": "v1"}}}
			replicaSet := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep-1", UID: "rs-1", OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(deployment, appsv1.SchemeGroupVersion.WithKind("Deployment"))}}}
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep-1-a", Labels: map[string]string{}, OwnerReferences: []metav1.OwnerReference{
					*metav1.NewControllerRef(replicaSet, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}},
				Spec: corev1.PodSpec{ReadinessGates: row.gates},
				Status: corev1.PodStatus{Phase: row.phase, Conditions: []corev1.PodCondition{
					{Type: "Ready", Status: "True", LastTransitionTime: metav1.NewTime(now.Add(-time.Minute))}}},
			}
			if row.gates != nil {
				pod.Status.Conditions[0].Type = "ContainersReady" // Ready awaits the gate
			}
			if row.before != "" {
				pod.Labels[finishedLabel] = row.before
			}
			kube := fake.NewClientBuilder().WithScheme(testkit.Scheme()).WithObjects(namespace, deployment, replicaSet, pod).Build()
			reconciler := &Reconciler{Kinds: workload.Registry{kind.Kind{}}, Client: kube, Clock: clocktesting.NewFakePassiveClock(now), Agreed: atNow, Settings: settings.Reader{Client: kube}}

			g.Expect(unfinished().Create(event.CreateEvent{Object: pod})).To(Equal(row.passes), "its event")
			_, err := reconciler.Reconcile(t.Context(), pod)
			g.Expect(err).NotTo(HaveOccurred())
			var stored corev1.Pod
			g.Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(pod), &stored)).To(Succeed())
			g.Expect(stored.Labels[finishedLabel]).To(Equal(row.finished))
		})
	}
}

// A workload has no release, although its template has the gate label, where an operator was uninstalled and all of its marks were removed.
func TestReconcileOpensTheGateOfAPodWithoutARelease(t *testing.T) {
	stamped := map[string]string{"admission-webhook-altershield.antgroup.com/version": "v1"}
	for _, row := range []struct {
		name         string
		cached, live map[string]string
		open         bool
	}{
		{"no release", nil, nil, true},
		{"a release, whose record opens the gate", stamped, stamped, false},
		{"a first release that the cache doesn't show yet", nil, stamped, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep", UID: "d-1", Labels: row.cached}}
			present := deployment.DeepCopy()
			present.Labels = row.live
			replicaSet := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep-1", UID: "rs-1", OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(deployment, appsv1.SchemeGroupVersion.WithKind("Deployment"))}}}
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep-1-a", UID: "p-1", Labels: stamped, Annotations: map[string]string{"team": "shop"},
					OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(replicaSet, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}},
				Spec: corev1.PodSpec{SchedulingGates: []corev1.PodSchedulingGate{{Name: "example.com/quota"}, {Name: "altershield.defense.antgroup.com/verified"}}},
			}
			slim := pod.DeepCopy() // as the cache has it
			slim.Annotations, slim.Spec.SchedulingGates = nil, slim.Spec.SchedulingGates[1:]
			live := testkit.NewFake(t, present, pod)
			held := []client.Object{replicaSet}
			if row.cached != nil { // the cache holds no Deployment without a version
				held = append(held, deployment)
			}
			kube := interceptor.NewClient(fake.NewClientBuilder().WithScheme(testkit.Scheme()).WithObjects(held...).Build(), interceptor.Funcs{
				Patch: func(ctx context.Context, _ client.WithWatch, object client.Object, patch client.Patch, _ ...client.PatchOption) error {
					return live.Patch(ctx, object, patch)
				},
			})
			reconciler := &Reconciler{Kinds: workload.Registry{kind.Kind{}}, Client: kube, Live: live, Clock: clocktesting.NewFakePassiveClock(now), Agreed: atNow, Settings: settings.Reader{Client: kube}}

			g.Expect(unfinished().Create(event.CreateEvent{Object: slim})).To(BeTrue(), "its event")
			_, err := reconciler.Reconcile(t.Context(), slim)
			g.Expect(err).NotTo(HaveOccurred())
			var stored corev1.Pod
			g.Expect(live.Get(t.Context(), client.ObjectKeyFromObject(pod), &stored)).To(Succeed())
			if !row.open {
				g.Expect(stored.Spec.SchedulingGates).To(HaveLen(2))
				return
			}
			g.Expect(stored.Spec.SchedulingGates).To(Equal([]corev1.PodSchedulingGate{{Name: "example.com/quota"}}))
			g.Expect(stored.Annotations).To(HaveKeyWithValue("team", "shop"))
		})
	}
}

// A StatefulSet gives a pod the name of the one before. The cache may show that one for longer, and the label counts also on a pod that isn't ready.
func TestReconcileLeavesAPodAloneThatHasTheNameOfAFinishedOne(t *testing.T) {
	g := NewWithT(t)
	before, others := finishedPod()
	present := before.DeepCopy()
	present.UID, present.Status = "p-2", corev1.PodStatus{Phase: "Pending"}
	kube := fake.NewClientBuilder().WithScheme(testkit.Scheme()).WithObjects(append(others, present)...).Build()
	strict := interceptor.NewClient(kube, interceptor.Funcs{ // as the API server: a UID can't be changed
		Patch: func(ctx context.Context, kube client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			var stored corev1.Pod
			g.Expect(kube.Get(ctx, client.ObjectKeyFromObject(object), &stored)).To(Succeed())
			content, err := patch.Data(object)
			g.Expect(err).NotTo(HaveOccurred())
			var sent corev1.Pod
			g.Expect(json.Unmarshal(content, &sent)).To(Succeed())
			if sent.UID != "" && sent.UID != stored.UID {
				return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Pod").GroupKind(), object.GetName(), nil)
			}
			return kube.Patch(ctx, object, patch, options...)
		},
	})
	reconciler := &Reconciler{Kinds: workload.Registry{kind.Kind{}}, Client: strict, Clock: clocktesting.NewFakePassiveClock(now), Agreed: atNow, Settings: settings.Reader{Client: kube}}
	_, err := reconciler.Reconcile(t.Context(), before)
	g.Expect(err).To(MatchError(apierrors.IsInvalid, "IsInvalid"), "the pod of that name is to be read again")
	var stored corev1.Pod
	g.Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(present), &stored)).To(Succeed())
	g.Expect(stored.Labels).NotTo(HaveKey(finishedLabel))
}

func TestReconcileTellsThatAWebhookDeniesTheLabelWhateverItsCode(t *testing.T) {
	g := NewWithT(t)
	pod, others := finishedPod()
	denying := fake.NewClientBuilder().WithScheme(testkit.Scheme()).WithObjects(append(others, pod)...).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return &apierrors.StatusError{ErrStatus: metav1.Status{Code: 404, Message: `admission webhook "labels.example.com" denied the request: no such team`}}
		},
	}).Build()
	reconciler := &Reconciler{Kinds: workload.Registry{kind.Kind{}}, Client: denying, Clock: clocktesting.NewFakePassiveClock(now), Agreed: atNow, Settings: settings.Reader{Client: denying}}
	_, err := reconciler.Reconcile(t.Context(), pod)
	g.Expect(err).To(MatchError(`labelling pod default/sleep-1-a as finished: admission webhook "labels.example.com" denied the request: no such team`))
}

// finishedPod returns a pod that finished, and what it belongs to.
func finishedPod() (pod *corev1.Pod, others []client.Object) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep", UID: "d-1"}}
	replicaSet := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep-1", UID: "rs-1", OwnerReferences: []metav1.OwnerReference{
		*metav1.NewControllerRef(deployment, appsv1.SchemeGroupVersion.WithKind("Deployment"))}}}
	pod = &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep-1-a", UID: "p-1", OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(replicaSet, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}},
		Status: corev1.PodStatus{Phase: "Running", Conditions: []corev1.PodCondition{{Type: "Ready", Status: "True", LastTransitionTime: metav1.NewTime(now.Add(-time.Minute))}}},
	}
	return pod, []client.Object{namespace, deployment, replicaSet}
}

func TestReconcileLeavesAGateAloneThatItCanNotJudge(t *testing.T) {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep", UID: "d-1"}}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep-1-a", UID: "p-1"},
		Spec:       corev1.PodSpec{SchedulingGates: []corev1.PodSchedulingGate{{Name: "altershield.defense.antgroup.com/verified"}}},
	}
	controlled := pod.DeepCopy()
	controlled.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(deployment, appsv1.SchemeGroupVersion.WithKind("Deployment"))}
	away := errors.New("the API server is away")
	for _, row := range []struct {
		name      string
		pod       *corev1.Pod
		live      []client.Object
		get, list error
		err       error
	}{
		{"a pod of nobody", pod, nil, away, away, nil},
		{"one whose workload is gone", controlled, nil, nil, nil, nil},
		{"one whose workload can't be read", controlled, nil, away, nil, away},
		{"one that can't be read", controlled, []client.Object{deployment}, nil, away, away},
		{"one that is gone", controlled, []client.Object{deployment}, nil, nil, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			kube := fake.NewClientBuilder().WithScheme(testkit.Scheme()).WithObjects(row.pod.DeepCopy()).Build()
			live := interceptor.NewClient(fake.NewClientBuilder().WithScheme(testkit.Scheme()).WithObjects(row.live...).Build(), interceptor.Funcs{
				Get: func(ctx context.Context, kube client.WithWatch, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
					return cmp.Or(row.get, kube.Get(ctx, key, into, options...))
				},
				List: func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
					return cmp.Or(row.list, kube.List(ctx, list, options...))
				},
			})
			reconciler := &Reconciler{Kinds: workload.Registry{kind.Kind{}}, Client: kube, Live: live, Clock: clocktesting.NewFakePassiveClock(now), Agreed: atNow, Settings: settings.Reader{Client: kube}}
			g := NewWithT(t)
			if _, err := reconciler.Reconcile(t.Context(), row.pod); row.err == nil {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(row.err))
			}
			var stored corev1.Pod
			g.Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(row.pod), &stored)).To(Succeed())
			g.Expect(stored.Spec.SchedulingGates).To(HaveLen(1))
		})
	}
}
