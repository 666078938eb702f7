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
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

// to subscribes to events.
func to(events ...appv1alpha1.SubscribedEvent) func(*appv1alpha1.ChangeSubscription) {
	return func(s *appv1alpha1.ChangeSubscription) { s.Spec.Events = events }
}

func TestReconcileTellsOfBatchesAndApprovalsWhereTheyAreNamed(t *testing.T) {
	for name, row := range map[string]struct {
		events []appv1alpha1.SubscribedEvent
		told   []any
	}{
		"all":       {[]appv1alpha1.SubscribedEvent{"All"}, []any{ContainSubstring("has started")}},
		"batches":   {[]appv1alpha1.SubscribedEvent{"BatchChecked"}, []any{ContainSubstring("shop/web: release 2 passed in batch 1")}},
		"denials":   {[]appv1alpha1.SubscribedEvent{"ApprovalDenied"}, []any{ContainSubstring("shop/web: release 2 is denied by an approver")}},
		"approvals": {[]appv1alpha1.SubscribedEvent{"ApprovalGiven"}, []any{ContainSubstring("shop/web: release 2 got an approval")}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			robot := newRobot(t)
			b := newBench(t, testkit.NewFake(t, append(namespaces(), robot.secret(), robot.subscription(ofShop, to(row.events...)))...))
			b.reconcile()
			elsewhere := b.release("web").DeepCopy()
			elsewhere.Namespace, elsewhere.ResourceVersion, elsewhere.Spec.WorkloadRef.UID = "bank", "", "u-bank"
			g.Expect(b.kube.Create(t.Context(), elsewhere)).To(Succeed())
			for _, namespace := range []string{"shop", "bank"} {
				g.Expect(b.kube.Create(t.Context(), &appv1alpha1.ChangePod{
					ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web--x--1", UID: types.UID("b-" + namespace)},
					Spec:       appv1alpha1.ChangePodSpec{ChangeWorkloadID: "web", Release: 2, PodInfos: []appv1alpha1.PodSummary{{Pod: "web-1"}}},
					Status: appv1alpha1.ChangePodStatus{Status: "ExecuteDone", Message: "PostFinish", Conditions: []metav1.Condition{{
						Type: "Verified", Status: "True", Reason: "PodsPassed", Message: "no pod failed", LastTransitionTime: metav1.NewTime(b.clock.Now()),
					}}},
				})).To(Succeed())
			}
			for user, decision := range map[string]appv1alpha1.ApprovalDecision{"bob": "Approve", "carol": "Deny"} {
				g.Expect(b.kube.Create(t.Context(), &appv1alpha1.ChangeApproval{
					ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: user, UID: types.UID(user), CreationTimestamp: metav1.NewTime(b.clock.Now())},
					Spec:       appv1alpha1.ChangeApprovalSpec{Version: version, Release: 2, Decision: decision, ApprovedBy: user, UID: "u-web"},
				})).To(Succeed())
			}
			for range 2 {
				b.reconcile()
				b.step(60)
			}
			g.Expect(robot.bodies).To(ConsistOf(row.told...))
		})
	}
}

// front selects the Deployments of the label tier=front.
func front(s *appv1alpha1.ChangeSubscription) {
	s.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "front"}}
}

// deployment is a Deployment of the namespace shop.
func deployment(name, tier string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: name, UID: types.UID("u-" + name), Labels: map[string]string{"tier": tier},
	}}
}

func TestReconcileTellsThatAWorkloadIsDeletedBeforeItsReleaseIsVerified(t *testing.T) {
	g := NewWithT(t)
	robot := newRobot(t)
	var workloads []client.Object
	for name, tier := range map[string]string{"web": "front", "db": "back", "cart": "front", "done": "front", "kept": "front"} {
		workloads = append(workloads, deployment(name, tier))
	}
	b := newBench(t, testkit.NewFake(t, append(append(namespaces(), workloads...), robot.secret(), robot.subscription(ofShop, front, to("WorkloadDeleted")))...))
	records := map[string]*appv1alpha1.ChangeWorkload{}
	for _, name := range []string{"web", "db", "cart", "done", "kept"} {
		records[name] = b.release(name)
	}
	b.turn(records["done"], "Success", "Verified", "True", "AllPodsPassed")
	b.reconcile()
	g.Expect(b.object().Status.OpenReleases).To(HaveLen(3), "web, cart and kept")
	b.step(3600) // later than what the records would show
	for _, workload := range workloads {
		if workload.GetName() != "kept" {
			g.Expect(b.kube.Delete(t.Context(), workload)).To(Succeed())
		}
	}
	b.Reconciler = b.restarted()
	for name, record := range records { // that of web goes later, when its order is closed
		if name != "web" {
			g.Expect(b.kube.Delete(t.Context(), record)).To(Succeed())
		}
	}
	robot.status = 503
	b.reconcile()
	b.step(60)
	robot.status = 200
	b.Reconciler = b.restarted()
	b.reconcile()
	g.Expect(robot.bodies).To(ConsistOf(ContainSubstring("shop/web: release 2 ended, as its workload was deleted"), ContainSubstring("shop/cart: release 2 ended")))
	b.step(60)
	b.reconcile()
	g.Expect(b.kube.Delete(t.Context(), records["web"])).To(Succeed())
	b.step(60)
	b.reconcile()
	g.Expect(robot.bodies).To(HaveLen(2), "once")
	g.Expect(b.object().Status.OpenReleases).To(HaveLen(1), "kept, whose record may be created anew")
}

// A cluster may have thousands of open releases, of which a cache shows that their workloads are there.
func TestReconcileReadsFewWorkloadsFromTheAPIServer(t *testing.T) {
	elsewhere := func(s *appv1alpha1.ChangeSubscription) {
		s.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "none"}}
	}
	for name, row := range map[string]struct {
		edit func(*appv1alpha1.ChangeSubscription)
		open int
	}{
		"none of namespaces that aren't selected":       {elsewhere, 0},
		"none that the cache of an observed kind shows": {func(*appv1alpha1.ChangeSubscription) {}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			robot := newRobot(t)
			all := testkit.NewFake(t, append(namespaces(), robot.secret(), deployment("web", "front"), robot.subscription(to("WorkloadDeleted"), row.edit))...)
			b := newBench(t, interceptor.NewClient(all, interceptor.Funcs{
				Get: func(ctx context.Context, kube client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
					if _, typed := object.(*appsv1.Deployment); typed {
						return apierrors.NewNotFound(appsv1.Resource("deployments"), key.Name)
					}
					return kube.Get(ctx, key, object, options...)
				},
			}))
			b.Live = interceptor.NewClient(all, interceptor.Funcs{
				Get: func(ctx context.Context, kube client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
					if key.Name == "web" {
						t.Errorf("%T %s is read", object, key)
					}
					return kube.Get(ctx, key, object, options...)
				},
			})
			b.release("web")
			b.reconcile()
			b.reconcile()
			g.Expect(b.object().Status.OpenReleases).To(HaveLen(row.open))
		})
	}
}

func TestReconcileTellsNoDeletionOfAWorkloadThatLeavesTheCache(t *testing.T) {
	g := NewWithT(t)
	robot := newRobot(t)
	b := newBench(t, testkit.NewFake(t, robot.secret(), deployment("web", "front"), robot.subscription(to("WorkloadDeleted"))))
	b.Live = testkit.NewFake(t, robot.secret(), deployment("web", "front"))
	b.release("web")
	b.reconcile()
	g.Expect(b.kube.Delete(t.Context(), deployment("web", "front"))).To(Succeed())
	b.reconcile()
	g.Expect(robot.bodies).To(BeEmpty())
	b.Live = b.kube
	b.reconcile()
	g.Expect(robot.bodies).To(ConsistOf(ContainSubstring("shop/web: release 2 ended, as its workload was deleted")))
}

func TestReconcileForgetsOpenReleasesOfWhichItTellsNothing(t *testing.T) {
	g := NewWithT(t)
	robot := newRobot(t)
	b := newBench(t, testkit.NewFake(t, robot.secret(), deployment("web", "front"), robot.subscription(to("WorkloadDeleted", "Failures"))))
	web := b.release("web")
	b.reconcile()
	g.Expect(b.object().Status.OpenReleases).To(HaveLen(1))
	object := b.object()
	object.Spec.Events, object.Generation = []appv1alpha1.SubscribedEvent{"All"}, 2
	g.Expect(b.kube.Update(t.Context(), object)).To(Succeed())
	b.step(int(time.Hour.Seconds()))
	b.reconcile()
	g.Expect(b.object().Status.OpenReleases).To(BeEmpty())
	g.Expect(b.kube.Delete(t.Context(), web)).To(Succeed())
	g.Expect(b.kube.Delete(t.Context(), &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}})).To(Succeed())
	b.reconcile()
	g.Expect(robot.bodies).NotTo(ContainElement(ContainSubstring("deleted")))
}
