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

package changesubscription

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

// isWorkload reports whether an object is neither one of the operator nor a Secret.
func isWorkload(object client.Object) bool {
	switch object.(type) {
	case *appv1alpha1.ChangeSubscription, *appv1alpha1.ChangeWorkload, *corev1.Secret, *corev1.Namespace:
		return false
	}
	return true
}

// reader reads workloads from the API server, and counts that.
type reader struct {
	client.Reader
	reads int
	// read reads instead, if it isn't nil.
	read func(object *metav1.PartialObjectMetadata) error
}

func (r *reader) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	r.reads++
	if r.read != nil {
		return r.read(object.(*metav1.PartialObjectMetadata))
	}
	return r.Reader.Get(ctx, key, object, options...)
}

func TestReconcileLosesNothingWhileALeaderHasNoCacheOfAKind(t *testing.T) {
	for _, row := range []struct {
		name string
		kind string
		read func(*metav1.PartialObjectMetadata) error
	}{
		{"that it knows", "Deployment", nil},
		{"that it doesn't know yet", "Gadget", func(object *metav1.PartialObjectMetadata) error {
			if named := object.GroupVersionKind().String(); named != "apps/v1, Kind=Gadget" {
				return errors.New(named)
			}
			object.Labels = map[string]string{"tier": "front"}
			return nil
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			robot := newRobot(t)
			kube := testkit.NewFake(t, robot.secret(), deployment("web", "front"), robot.subscription(front))
			b := newBench(t, kube)
			b.Workloads = &reader{Reader: kube, read: row.read}
			b.reconcile()
			robot.status = 503
			release := b.release("web")
			release.Spec.WorkloadRef.Kind = row.kind
			g.Expect(kube.Update(t.Context(), release)).To(Succeed())
			b.reconcile()
			b.step(1500) // longer than what happened is looked for
			b.Reconciler = b.restarted()
			b.Client, b.Workloads = caching(kube, isWorkload), &reader{Reader: kube, read: row.read}
			b.reconcile()
			robot.status = 200
			b.step(600)
			b.reconcile()
			g.Expect(robot.bodies).To(ConsistOf(ContainSubstring("shop/web: release 2 has started")))
		})
	}
}

func TestReconcileTellsReleasesOfAnObservedKindWhereASelectorIsSet(t *testing.T) {
	g := NewWithT(t)
	robot := newRobot(t)
	kube := testkit.NewFake(t, robot.secret(), deployment("web", "front"), deployment("db", "back"), robot.subscription(front))
	b := newBench(t, kube)
	live := &reader{Reader: kube}
	b.Client, b.Workloads = caching(kube, func(object client.Object) bool { // its cache has untyped objects
		_, untyped := object.(*unstructured.Unstructured)
		return isWorkload(object) && !untyped
	}), live
	b.reconcile()
	b.release("web")
	b.release("db")
	b.reconcile()
	g.Expect(robot.bodies).To(ConsistOf(ContainSubstring("shop/web: release 2 has started")))
	g.Expect(live.reads).To(BeZero())
}

func TestReconcileReadsAWorkloadThatNoCacheHasOnceInTenMinutes(t *testing.T) {
	g := NewWithT(t)
	robot := newRobot(t)
	kube := testkit.NewFake(t, robot.secret(), deployment("web", "front"), robot.subscription(front))
	b := newBench(t, kube)
	live := &reader{Reader: kube}
	b.Client, b.Workloads = caching(kube, isWorkload), live
	b.reconcile()
	release := b.release("web")
	b.release("gone")
	b.reconcile()
	b.turn(release, "Suspend", "Suspended", "True", "PodsFailed")
	b.step(1)
	b.reconcile()
	g.Expect(live.reads).To(Equal(2))
	g.Expect(robot.bodies).To(HaveExactElements(ContainSubstring("shop/web: release 2 has started"), ContainSubstring("shop/web: release 2 failed and is suspended")))
	b.step(600)
	b.reconcile()
	g.Expect(live.reads).To(Equal(4))
	g.Expect(b.read.known).To(HaveLen(2))
}

func TestReconcileTellsTheOthersWhereAWorkloadCanNotBeRead(t *testing.T) {
	gadgets := schema.GroupResource{Group: "example.com", Resource: "gadgets"}
	for name, err := range map[string]error{
		"as its kind is gone":                  &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "example.com", Kind: "Gadget"}},
		"as the operator lost its permissions": apierrors.NewForbidden(gadgets, "web", errors.New(`User "operator" cannot get resource "gadgets"`)),
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			robot := newRobot(t)
			kube := testkit.NewFake(t, robot.secret(), deployment("web", "front"), robot.subscription(front))
			b := newBench(t, kube)
			b.Workloads = &reader{Reader: kube, read: func(*metav1.PartialObjectMetadata) error { return err }}
			b.reconcile()
			b.release("web")
			gadget := b.release("gadget")
			gadget.Spec.WorkloadRef.Kind = "Gadget"
			g.Expect(kube.Update(t.Context(), gadget)).To(Succeed())
			b.reconcile()
			g.Expect(robot.bodies).To(ConsistOf(ContainSubstring("shop/web: release 2 has started")))
		})
	}
}

func TestReconcileMovesOnOnlyOnceItKnowsWhatIsSelected(t *testing.T) {
	g := NewWithT(t)
	robot := newRobot(t)
	kube := testkit.NewFake(t, robot.secret(), deployment("web", "front"), robot.subscription(front))
	b := newBench(t, kube)
	b.reconcile()
	b.release("web")
	b.step(1500)
	b.Client = caching(kube, isWorkload)
	b.Workloads = &reader{Reader: kube, read: func(*metav1.PartialObjectMetadata) error { return errors.New("the API server is down") }}
	until := b.object().Status.ToldUntil
	_, err := b.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: system, Name: "shop"}})
	g.Expect(err).To(MatchError("reading Deployment shop/web for spec.selector: the API server is down"))
	g.Expect(b.object().Status.ToldUntil).To(Equal(until))
	b.Workloads = kube
	b.reconcile()
	g.Expect(robot.bodies).To(ConsistOf(ContainSubstring("shop/web: release 2 has started")))
}
