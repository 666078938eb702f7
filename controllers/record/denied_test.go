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

package record

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientevents "k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/settings"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/daemonset"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
)

// newDenied has objects in a namespace under change control, in which no ChangeWorkload can be created because of refusal.
func newDenied(t *testing.T, kind workload.Kind, refusal error, objects ...client.Object) (*Reconciler, client.WithWatch) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default", Labels: map[string]string{"admission-webhook-altershield": "enabled"}}}
	kube := testkit.NewFake(t, append(objects, namespace)...)
	denying := interceptor.NewClient(kube, interceptor.Funcs{
		Create: func(ctx context.Context, kube client.WithWatch, object client.Object, options ...client.CreateOption) error {
			if _, ok := object.(*appv1alpha1.ChangeWorkload); ok {
				return refusal
			}
			return kube.Create(ctx, object, options...)
		},
	})
	return &Reconciler{
		Kind: kind, Kinds: testkit.Kinds(), Client: denying, Live: kube, Recorder: events.Recorder{Events: clientevents.NewFakeRecorder(10)},
		Clock: clocktesting.NewFakePassiveClock(testkit.Now()), Agreed: testkit.Now, Settings: settings.Reader{Client: kube, Namespace: "altershieldoperator-system"},
	}, kube
}

// admitted is what the webhook notes of release 2.
func admitted() string {
	return `{"user":"alice","time":"` + testkit.Now().Format(time.RFC3339) + `","version":"` + version + `","release":2}`
}

// pacedByGates is a Deployment whose release 2 is rolled out in steps.
func pacedByGates() *appsv1.Deployment {
	owner := sleepAt("2", map[string]string{"paced": `{"release":2,"policy":"default/web","lever":"Gates","traffic":"With"}`, "released-by": admitted()})
	owner.Generation = 7
	return owner
}

// gated returns a ReplicaSet of release 2 and its pod, which is behind its gate.
func gated(owner *appsv1.Deployment, name string) (*appsv1.ReplicaSet, *corev1.Pod) {
	stamp := map[string]string{"admission-webhook-altershield.antgroup.com/version": version, "pod-template-hash": name, "altershield.defense.antgroup.com/gate": "start"}
	replicaSet := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep-" + name, UID: types.UID("rs-" + name), Labels: stamp, OwnerReferences: []metav1.OwnerReference{
		*metav1.NewControllerRef(owner, appsv1.SchemeGroupVersion.WithKind("Deployment"))}}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep-" + name + "-a", UID: types.UID("pod-" + name), Labels: stamp, OwnerReferences: []metav1.OwnerReference{
		*metav1.NewControllerRef(replicaSet, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}}}
	pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "altershield.defense.antgroup.com/verified"}}
	return replicaSet, pod
}

// A ValidatingAdmissionPolicy denies with the reason Invalid unless it has another one.
func TestReconcileLetsAReleaseGoWhoseRecordIsInvalid(t *testing.T) {
	g := NewWithT(t)
	set := pacedSet()
	set.Annotations["altershield.defense.antgroup.com/released-by"] = admitted()
	r, kube := newDenied(t, daemonset.Kind{}, apierrors.NewInvalid(schema.GroupKind{Kind: "ChangeWorkload"}, "sleep", nil), set)
	_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(set)})
	g.Expect(err).To(MatchError(apierrors.IsInvalid, "IsInvalid"))
	g.Expect(err).NotTo(MatchError(reconcile.TerminalError(nil)), "the policy may be changed, for which there is no event")
	g.Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(set), set)).To(Succeed())
	g.Expect(set.Spec.UpdateStrategy.Type).To(BeEquivalentTo("RollingUpdate"))
}

// A webhook chooses the code of its denial.
func TestReconcileLetsAReleaseGoWhoseRecordIsDeniedAsAConflict(t *testing.T) {
	g := NewWithT(t)
	set := pacedSet()
	r, kube := newDenied(t, daemonset.Kind{}, &apierrors.StatusError{ErrStatus: metav1.Status{
		Code: 409, Message: `admission webhook "lock.example.com" denied the request: it is locked`,
	}}, set)
	_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(set)})
	g.Expect(err).To(MatchError(HaveSuffix("denied the request: it is locked")))
	g.Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(set), set)).To(Succeed())
	g.Expect(set.Spec.UpdateStrategy.Type).To(BeEquivalentTo("RollingUpdate"))
}

// So an API server answers for some seconds after its start.
func TestReconcileKeepsTheStepsOfAReleaseThatCannotBeRecordedYet(t *testing.T) {
	g := NewWithT(t)
	set := pacedSet()
	starting := apierrors.NewForbidden(schema.GroupResource{Resource: "changeworkloads"}, "sleep", errors.New("not yet ready to handle request"))
	r, kube := newDenied(t, daemonset.Kind{}, starting, set)
	_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(set)})
	g.Expect(err).To(MatchError(apierrors.IsForbidden, "IsForbidden"), "it is tried again")
	g.Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(set), set)).To(Succeed())
	g.Expect(set.Spec.UpdateStrategy.Type).To(BeEquivalentTo("OnDelete"))
}

func TestReconcileOpensTheGatesOfPodsThatAnUnrecordedReleaseGetsLater(t *testing.T) {
	g := NewWithT(t)
	owner := pacedByGates()
	r, kube := newDenied(t, deployment.Kind{}, apierrors.NewForbidden(schema.GroupResource{Resource: "changeworkloads"}, "quota", nil), owner)
	_, err := r.Reconcile(t.Context(), ofSleep)
	g.Expect(err).To(MatchError(apierrors.IsForbidden, "IsForbidden"))
	g.Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(owner), owner)).To(Succeed())
	g.Expect(owner.Annotations).NotTo(HaveKey("altershield.defense.antgroup.com/paced"))

	replicaSet, pod := gated(owner, "1")
	g.Expect(kube.Create(t.Context(), replicaSet)).To(Succeed())
	g.Expect(kube.Create(t.Context(), pod)).To(Succeed())
	r.Clock = clocktesting.NewFakePassiveClock(testkit.Now().Add(time.Minute)) // it is ahead of the API server's
	_, err = r.Reconcile(t.Context(), ofSleep)
	g.Expect(err).To(MatchError(apierrors.IsForbidden, "IsForbidden"), "it is tried again")
	g.Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(pod), pod)).To(Succeed())
	g.Expect(pod.Spec.SchedulingGates).To(BeEmpty())
	g.Expect(pod.Annotations).To(HaveKeyWithValue("altershield.defense.antgroup.com/gate-opened", "1795255200"))
}

func TestReconcileOpensEachGateOfAReleaseThatLeavesItsSteps(t *testing.T) {
	g := NewWithT(t)
	owner := pacedByGates()
	objects := []client.Object{owner}
	for _, name := range []string{"1", "2"} { // the template of the second one was changed without the webhooks
		replicaSet, pod := gated(owner, name)
		objects = append(objects, replicaSet, pod)
	}
	r, kube := newDenied(t, deployment.Kind{}, apierrors.NewForbidden(schema.GroupResource{Resource: "changeworkloads"}, "quota", nil), objects...)
	r.Live = interceptor.NewClient(kube, interceptor.Funcs{
		List: func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if asked := (&client.ListOptions{}).ApplyOptions(options); asked.Raw != nil && asked.Raw.ResourceVersion == "0" {
				return nil // the cache of this API server doesn't have the pods yet
			}
			return kube.List(ctx, list, options...)
		},
	})
	_, err := r.Reconcile(t.Context(), ofSleep)
	g.Expect(err).To(MatchError(apierrors.IsForbidden, "IsForbidden"))
	var pods corev1.PodList
	g.Expect(kube.List(t.Context(), &pods)).To(Succeed())
	g.Expect(pods.Items).To(HaveEach(HaveField("Spec.SchedulingGates", BeEmpty())), "no other attempt follows where the namespace was opted out")
}

func TestRemoveLeftoverTellsThatAWebhookKeepsItWhateverItsCode(t *testing.T) {
	resource := schema.GroupResource{Resource: "changeworkloads"}
	for name, row := range map[string]struct {
		answer error
		denied bool
	}{
		"it is gone":               {apierrors.NewNotFound(resource, "sleep"), false},
		"another has its name":     {apierrors.NewConflict(resource, "sleep", nil), false},
		"a webhook denies as gone": {testkit.Denied(404), true},
		"a webhook denies as busy": {testkit.Denied(409), true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r := &Reconciler{Client: interceptor.NewClient(testkit.NewFake(t), interceptor.Funcs{
				Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
					return row.answer
				},
			})}
			err := r.removeLeftover(t.Context(), &appv1alpha1.ChangeWorkload{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep"}})
			if !row.denied {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError("removing ChangeWorkload default/sleep, which another workload left: " +
				`admission webhook "guard.example.com" denied the request: no`))
		})
	}
}
