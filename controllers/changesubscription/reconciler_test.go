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
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/source"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

func TestReconcileSelectsByNamespaceAndWorkload(t *testing.T) {
	g := NewWithT(t)
	robot := newRobot(t)
	deployment := func(name string, labels map[string]string) *appsv1.Deployment {
		return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: labels}}
	}
	b := newBench(t, testkit.NewFake(t, robot.secret(), deployment("web", map[string]string{"tier": "front"}), deployment("cart", nil),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"team": "shop"}}},
		robot.subscription(func(s *appv1alpha1.ChangeSubscription) {
			s.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "shop"}}
			s.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "front"}}
		})))
	b.reconcile()
	b.release("web")
	b.release("cart")
	b.release("gone")
	gadget := b.release("gadget")
	gadget.Spec.WorkloadRef.Kind = "Gadget"
	g.Expect(b.kube.Update(t.Context(), gadget)).To(Succeed())
	b.reconcile()
	g.Expect(robot.bodies).To(ConsistOf(ContainSubstring("shop/web")))
	object := b.object()
	object.Spec.NamespaceSelector.MatchLabels["team"] = "pay"
	g.Expect(b.kube.Update(t.Context(), object)).To(Succeed())
	b.turn(b.release("web-2"), "Suspend", "Suspended", "True", "PodsFailed")
	b.reconcile()
	g.Expect(robot.bodies).To(HaveLen(1))
}

func TestReconcileTellsNothingOfASuspendedTime(t *testing.T) {
	g := NewWithT(t)
	robot := newRobot(t)
	writes := 0
	kube := interceptor.NewClient(testkit.NewFake(t, robot.secret(), robot.subscription(func(s *appv1alpha1.ChangeSubscription) { s.Spec.Suspend = true })), interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, kube client.Client, of string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			writes++
			return kube.SubResource(of).Patch(ctx, object, patch, options...)
		},
	})
	b := newBench(t, kube)
	g.Expect(b.reconcile()).To(BeZero())
	b.release("web")
	b.step(10)
	b.reconcile()
	g.Expect(writes).To(Equal(1))
	g.Expect(b.ready()).To(Equal("False Suspended: spec.suspend is set"))
	object := b.object()
	object.Spec.Suspend, object.Generation = false, 2
	g.Expect(b.kube.Update(t.Context(), object)).To(Succeed())
	b.reconcile()
	g.Expect(b.ready()).To(Equal("True Ready: no message fails"))
	g.Expect(robot.bodies).To(BeEmpty())
	b.release("cart")
	b.reconcile()
	g.Expect(robot.bodies).To(ConsistOf(ContainSubstring("shop/cart")))
}

func TestReconcileTellsNothingOfTheTimeOfAnUnusableSelector(t *testing.T) {
	g := NewWithT(t)
	robot := newRobot(t)
	b := newBench(t, testkit.NewFake(t, robot.secret(), robot.subscription(func(s *appv1alpha1.ChangeSubscription) {
		s.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
	})))
	b.reconcile()
	g.Expect(b.ready()).To(HavePrefix("False Invalid: spec.selector: "))
	g.Expect(b.object().Status.ToldUntil).NotTo(BeNil())
	b.release("web")
	b.step(7200)
	b.reconcile()
	object := b.object()
	object.Spec.Selector, object.Generation = nil, 2
	g.Expect(b.kube.Update(t.Context(), object)).To(Succeed())
	b.reconcile()
	g.Expect(b.ready()).To(Equal("True Ready: no message fails"))
	g.Expect(robot.bodies).To(BeEmpty())
	b.release("cart")
	b.reconcile()
	g.Expect(robot.bodies).To(ConsistOf(ContainSubstring("shop/cart")))
}

func TestReconcileShowsWhatIsWrongWithASubscription(t *testing.T) {
	robot := newRobot(t)
	secret := func(edit func(map[string][]byte)) *corev1.Secret {
		made := robot.secret()
		edit(made.Data)
		return made
	}
	address := "False BadSecret: spec.sink.secretRef: Secret robot: the key url must be an address with https and a host, and without user info and fragment"
	for name, row := range map[string]struct {
		edit   func(*appv1alpha1.ChangeSubscription)
		secret *corev1.Secret
		ready  string
		wait   int
	}{
		"no Secret":    {func(s *appv1alpha1.ChangeSubscription) { s.Spec.Sink.SecretRef.Name = "gone" }, robot.secret(), "False BadSecret: spec.sink.secretRef: Secret gone: there is no such Secret in the namespace of the operator", 60},
		"http":         {nil, secret(func(d map[string][]byte) { d["url"] = []byte("http://a") }), address, 60},
		"user info":    {nil, secret(func(d map[string][]byte) { d["url"] = []byte("https://a:b@c") }), address, 60},
		"a semicolon":  {nil, secret(func(d map[string][]byte) { d["url"] = []byte("https://a?key=b;c") }), "False BadSecret: spec.sink.secretRef: Secret robot: the key url has a query with a semicolon, or with a % that escapes nothing", 60},
		"no address":   {nil, secret(func(d map[string][]byte) { delete(d, "url") }), address, 60},
		"a weak key":   {func(s *appv1alpha1.ChangeSubscription) { s.Spec.Sink.Type = "Plain" }, robot.secret(), "False BadSecret: spec.sink.secretRef: Secret robot: the key secret has less than 24 bytes", 60},
		"no authority": {func(s *appv1alpha1.ChangeSubscription) { s.Spec.Sink.CABundle = "a" }, robot.secret(), "False Invalid: spec.sink.caBundle: there is no certificate in PEM", 60},
		"a bad selector": {func(s *appv1alpha1.ChangeSubscription) {
			s.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
		}, robot.secret(), `False Invalid: spec.selector: "Near" is not a valid label selector operator`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			object := robot.subscription()
			if row.edit != nil {
				row.edit(object)
			}
			b := newBench(t, testkit.NewFake(t, object, row.secret))
			NewWithT(t).Expect(b.reconcile()).To(Equal(row.wait))
			NewWithT(t).Expect(b.ready()).To(Equal(row.ready))
		})
	}
}

func TestReconcileShowsThatTheOperatorMayNotReadTheSecret(t *testing.T) {
	robot := newRobot(t)
	kube := interceptor.NewClient(testkit.NewFake(t, robot.secret(), robot.subscription()), interceptor.Funcs{
		Get: func(ctx context.Context, kube client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if _, isSecret := object.(*corev1.Secret); isSecret {
				return apierrors.NewForbidden(corev1.Resource("secrets"), key.Name, errors.New("no"))
			}
			return kube.Get(ctx, key, object, options...)
		},
	})
	b := newBench(t, kube)
	NewWithT(t).Expect(b.reconcile()).To(Equal(60))
	NewWithT(t).Expect(b.ready()).To(Equal(`False BadSecret: spec.sink.secretRef: Secret robot: secrets "robot" is forbidden: no`))
}

func TestReconcileConnectsToNoLoopbackAddress(t *testing.T) {
	robot := newRobot(t)
	b := newBench(t, testkit.NewFake(t, robot.secret(), robot.subscription()))
	b.Guard = source.Guard{}
	b.release("web")
	b.reconcile()
	NewWithT(t).Expect(b.ready()).To(Equal("False AddressRefused: the host in the key url of the Secret has a loopback address, to which the operator doesn't connect: see --source-allow-cidr"))
	NewWithT(t).Expect(robot.requests).To(BeEmpty())
}

func TestReconcileNeverShowsTheAddress(t *testing.T) {
	robot := newRobot(t)
	b := newBench(t, testkit.NewFake(t, robot.secret(), robot.subscription()))
	b.release("web")
	robot.Close()
	b.reconcile()
	NewWithT(t).Expect(b.ready()).To(Equal("False ReceiverUnavailable: dial: connect: connection refused"))
}

func TestReconcileLeavesSubscriptionsOfOtherNamespacesAlone(t *testing.T) {
	g := NewWithT(t)
	robot := newRobot(t)
	b := newBench(t, testkit.NewFake(t, robot.secret(), robot.subscription()))
	b.Namespace = "elsewhere"
	b.release("web")
	b.reconcile()
	g.Expect(b.ready()).To(Equal("False OtherNamespace: subscriptions have an effect in namespace elsewhere only"))
	g.Expect(robot.requests).To(BeEmpty())
}

func TestReconcileEndsTheMetricsOfARemovedSubscription(t *testing.T) {
	g := NewWithT(t)
	robot := newRobot(t)
	b := newBench(t, testkit.NewFake(t, robot.secret(), robot.subscription()))
	b.release("web")
	b.reconcile()
	g.Expect(testutil.CollectAndCount(b.Metrics.pending)).To(Equal(1))
	g.Expect(b.kube.Delete(t.Context(), b.object())).To(Succeed())
	b.reconcile()
	g.Expect(testutil.CollectAndCount(b.Metrics.pending)).To(BeZero())
	g.Expect(b.lines.known).To(BeEmpty())
}

func TestReconcileKeepsTheMetricsWhileOneOfTheSameNameIsRemovedElsewhere(t *testing.T) {
	g := NewWithT(t)
	robot := newRobot(t)
	b := newBench(t, testkit.NewFake(t, robot.secret(), robot.subscription()))
	b.release("web")
	b.reconcile()
	_, err := b.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "shop", Name: "shop"}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(testutil.CollectAndCount(b.Metrics.pending)).To(Equal(1))
}

func TestReconcileUsesACorrectedSecret(t *testing.T) {
	g := NewWithT(t)
	robot, other := newRobot(t), newRobot(t)
	b := newBench(t, testkit.NewFake(t, robot.secret(), robot.subscription(func(s *appv1alpha1.ChangeSubscription) {
		s.Spec.Sink.CABundle += other.authority()
	})))
	b.release("web")
	b.reconcile()
	secret := other.secret()
	g.Expect(b.kube.Update(t.Context(), secret)).To(Succeed())
	b.release("cart")
	b.reconcile()
	g.Expect(robot.bodies).To(HaveLen(1))
	g.Expect(other.bodies).To(HaveLen(1))
}

func TestReconcileTellsFreezesOfTheSelectedNamespaces(t *testing.T) {
	g := NewWithT(t)
	robot := newRobot(t)
	lock := func(namespace string, edits ...func(*appv1alpha1.ChangeFreeze)) client.Object {
		made := &appv1alpha1.ChangeFreeze{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "lock-" + namespace, UID: types.UID(namespace), CreationTimestamp: metav1.NewTime(testkit.Now()),
		}}
		made.Spec.Expires, made.Spec.Reason = &metav1.Duration{Duration: time.Hour}, "INC-7"
		for _, edit := range edits {
			edit(made)
		}
		return made
	}
	everywhere := func(f *appv1alpha1.ChangeFreeze) { f.Spec.Namespaces = &metav1.LabelSelector{} }
	b := newBench(t, testkit.NewFake(t, robot.secret(), robot.subscription(func(s *appv1alpha1.ChangeSubscription) {
		s.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "shop"}}
	}),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"team": "shop"}}}, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "bank"}},
		lock("shop"), lock("bank"), lock(system, everywhere), lock("kiosk", everywhere)))
	b.reconcile()
	g.Expect(robot.bodies).To(ConsistOf(
		ContainSubstring("shop/lock-shop: the freeze has begun"), ContainSubstring(system+"/lock-"+system+": the freeze has begun")), "one of kiosk is unusable")
	b.step(3600)
	b.reconcile()
	g.Expect(robot.bodies).To(HaveLen(4))
	g.Expect(robot.bodies[2:]).To(HaveEach(ContainSubstring("the freeze has ended")))
	b.reconcile()
	g.Expect(robot.bodies).To(HaveLen(4), "once")
}

func TestReconcileTellsAFreezeOfThePlatformToThoseThatItConcerns(t *testing.T) {
	for frozen, want := range map[string]int{"shop": 1, "bank": 0} {
		g := NewWithT(t)
		robot := newRobot(t)
		lock := &appv1alpha1.ChangeFreeze{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "lock", UID: "f-1", CreationTimestamp: metav1.NewTime(testkit.Now())}}
		lock.Spec.Expires, lock.Spec.Namespaces = &metav1.Duration{Duration: time.Hour}, &metav1.LabelSelector{MatchLabels: map[string]string{"team": frozen}}
		b := newBench(t, testkit.NewFake(t, robot.secret(), lock, robot.subscription(func(s *appv1alpha1.ChangeSubscription) {
			s.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "shop"}}
		}),
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"team": "shop"}}},
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "bank", Labels: map[string]string{"team": "bank"}}}))
		b.reconcile()
		g.Expect(robot.bodies).To(HaveLen(want), frozen)
	}
}

func TestReconcileTellsTheEndOfAFreezeThatIsUnlocked(t *testing.T) {
	g := NewWithT(t)
	robot := newRobot(t)
	lock := &appv1alpha1.ChangeFreeze{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "lock", UID: "f-1", CreationTimestamp: metav1.NewTime(testkit.Now())}}
	lock.Spec.Expires, lock.Spec.Reason = &metav1.Duration{Duration: time.Hour}, "INC-7"
	b := newBench(t, testkit.NewFake(t, robot.secret(), lock, robot.subscription()))
	b.reconcile()
	g.Expect(robot.bodies).To(ConsistOf(ContainSubstring("shop/lock: the freeze has begun")))
	g.Expect(b.kube.Delete(t.Context(), lock)).To(Succeed())
	b.step(60)
	b.reconcile()
	g.Expect(robot.bodies).To(HaveLen(2))
	g.Expect(robot.bodies[1]).To(And(ContainSubstring("shop/lock: the freeze has ended"), ContainSubstring(`INC\\-7`)))
	b.step(60)
	b.reconcile()
	g.Expect(robot.bodies).To(HaveLen(2), "once")
}

// Its end is known for two weeks at most, and moves each day.
func TestReconcileTellsTheEndOfAFreezeWithoutAGapWhenItIsRemoved(t *testing.T) {
	for name, remove := range map[string]func(*bench, *appv1alpha1.ChangeFreeze) error{
		"deleted": func(b *bench, always *appv1alpha1.ChangeFreeze) error { return b.kube.Delete(b.t.Context(), always) },
		"edited": func(b *bench, always *appv1alpha1.ChangeFreeze) error {
			always.Spec.Windows[0].Days, always.Generation = []appv1alpha1.Weekday{"Mon"}, 3
			return b.kube.Update(b.t.Context(), always)
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			robot := newRobot(t)
			always := &appv1alpha1.ChangeFreeze{ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: "always", UID: "f-1", Generation: 1, CreationTimestamp: metav1.NewTime(testkit.Now()),
			}}
			always.Spec.Windows = []appv1alpha1.FreezeWindow{{From: "00:00", To: "24:00", TimeZone: "UTC"}}
			b := newBench(t, testkit.NewFake(t, robot.secret(), always, robot.subscription()))
			for day := range 40 {
				b.reconcile()
				if day == 20 {
					always.Spec.Reason, always.Generation = "INC-7", 2
					g.Expect(b.kube.Update(t.Context(), always)).To(Succeed())
					b.reconcile()
				}
				b.step(24 * 3600)
			}
			g.Expect(robot.bodies).To(ConsistOf(ContainSubstring("shop/always: the freeze has begun")), "an edit of its reason doesn't prolong it")
			g.Expect(remove(b, always)).To(Succeed())
			b.reconcile()
			g.Expect(robot.bodies[1:]).To(ConsistOf(And(
				ContainSubstring("shop/always: the freeze has ended"), ContainSubstring("**Time** "+markdownOf(b.clock.Now())))))
			g.Expect(b.object().Status.ToldFreezes).To(BeEmpty())
		})
	}
}

// markdownOf returns a time as a message in Markdown has it, in JSON.
func markdownOf(at time.Time) string {
	return strings.ReplaceAll(at.UTC().Format(time.RFC3339), "-", `\\-`)
}

// lockEverywhere is an incident lock of the platform.
func lockEverywhere() *appv1alpha1.ChangeFreeze {
	made := &appv1alpha1.ChangeFreeze{ObjectMeta: metav1.ObjectMeta{
		Namespace: system, Name: "lock", UID: "f-1", Generation: 1, CreationTimestamp: metav1.NewTime(testkit.Now()),
	}}
	made.Spec.Expires, made.Spec.Namespaces = &metav1.Duration{Duration: time.Hour}, &metav1.LabelSelector{}
	return made
}

// ofShop selects the namespaces of the team shop.
func ofShop(s *appv1alpha1.ChangeSubscription) {
	s.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "shop"}}
}

// namespaces are shop, of the team of this name, and bank.
func namespaces() []client.Object {
	return []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"team": "shop"}}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "bank", Labels: map[string]string{"team": "bank"}}},
	}
}

func TestReconcileTellsTheEndOfAFreezeByAnyEdit(t *testing.T) {
	for name, edit := range map[string]func(*appv1alpha1.ChangeFreeze){
		"that selects other namespaces": func(f *appv1alpha1.ChangeFreeze) { f.Spec.Namespaces.MatchLabels = map[string]string{"team": "bank"} },
		"that makes it unusable":        func(f *appv1alpha1.ChangeFreeze) { f.Spec.Dates = []appv1alpha1.FreezeDates{{TimeZone: "Moon/Base"}} },
		"that ends it":                  func(f *appv1alpha1.ChangeFreeze) { f.Spec.Expires.Duration = time.Minute },
	} {
		for _, events := range [][]appv1alpha1.SubscribedEvent{{"All"}, {"FreezeEnded"}} {
			t.Run(name+" "+string(events[0]), func(t *testing.T) {
				g := NewWithT(t)
				robot := newRobot(t)
				lock := lockEverywhere()
				b := newBench(t, testkit.NewFake(t, append(namespaces(), robot.secret(), lock, robot.subscription(ofShop, func(s *appv1alpha1.ChangeSubscription) { s.Spec.Events = events }))...))
				b.reconcile()
				begun := len(robot.bodies)
				b.step(1800)
				edit(lock)
				lock.Generation = 2
				g.Expect(b.kube.Update(t.Context(), lock)).To(Succeed())
				b.reconcile()
				g.Expect(robot.bodies[begun:]).To(ConsistOf(ContainSubstring(system + "/lock: the freeze has ended")))
				for range 4 {
					b.step(900)
					b.reconcile()
				}
				g.Expect(robot.bodies).To(HaveLen(begun+1), "once")
				g.Expect(b.object().Status.ToldFreezes).To(BeEmpty())
			})
		}
	}
}

func TestReconcileTellsTheEndsOfFreezesToASubscriptionToThemAlone(t *testing.T) {
	g := NewWithT(t)
	robot := newRobot(t)
	lock := lockEverywhere()
	b := newBench(t, testkit.NewFake(t, append(namespaces(), robot.secret(), lock, robot.subscription(ofShop, func(s *appv1alpha1.ChangeSubscription) {
		s.Spec.Events = []appv1alpha1.SubscribedEvent{"FreezeEnded"}
	}))...))
	b.reconcile()
	b.step(1800)
	lock.Spec.Expires.Duration, lock.Generation = 2*time.Hour, 2
	g.Expect(b.kube.Update(t.Context(), lock)).To(Succeed())
	b.reconcile()
	g.Expect(robot.bodies).To(BeEmpty(), "its beginning and that it is prolonged")
	b.step(2400)
	b.reconcile()
	g.Expect(robot.bodies).To(BeEmpty(), "at the end from before")
	b.Reconciler = b.restarted()
	g.Expect(b.kube.Delete(t.Context(), lock)).To(Succeed())
	b.reconcile()
	g.Expect(robot.bodies).To(ConsistOf(ContainSubstring(system + "/lock: the freeze has ended")))
	b.step(60)
	b.reconcile()
	g.Expect(robot.bodies).To(HaveLen(1), "once")
}

func TestReconcileNotesFreezesForThoseWhoHearOfThemOnly(t *testing.T) {
	for _, row := range []struct {
		events []appv1alpha1.SubscribedEvent
		noted  int
	}{{[]appv1alpha1.SubscribedEvent{"FreezeStarted"}, 1}, {[]appv1alpha1.SubscribedEvent{"Failures"}, 0}} {
		g := NewWithT(t)
		robot := newRobot(t)
		b := newBench(t, testkit.NewFake(t, robot.secret(), lockEverywhere(), robot.subscription(func(s *appv1alpha1.ChangeSubscription) { s.Spec.Events = row.events })))
		b.reconcile()
		g.Expect(b.object().Status.ToldFreezes).To(HaveLen(row.noted), "%v", row.events)
		b.step(3600)
		b.reconcile()
		g.Expect(b.object().Status.ToldFreezes).To(BeEmpty(), "%v", row.events)
		g.Expect(robot.bodies).To(HaveLen(row.noted), "%v", row.events)
	}
}

func TestReconcileTellsAFreezeThatConcernsItByAnEdit(t *testing.T) {
	g := NewWithT(t)
	robot := newRobot(t)
	lock := lockEverywhere()
	lock.Spec.Expires.Duration, lock.Spec.Namespaces.MatchLabels = 24*time.Hour, map[string]string{"team": "bank"}
	b := newBench(t, testkit.NewFake(t, append(namespaces(), robot.secret(), lock, robot.subscription(ofShop))...))
	look := func(told int) {
		t.Helper()
		b.step(1800)
		b.reconcile()
		g.Expect(robot.bodies).To(HaveLen(told))
	}
	freezes := func(team string) {
		lock.Spec.Namespaces.MatchLabels["team"] = team
		lock.Generation++
		g.Expect(b.kube.Update(t.Context(), lock)).To(Succeed())
	}
	b.reconcile()
	look(0)
	freezes("shop")
	robot.status = http.StatusServiceUnavailable
	look(0)
	b.Reconciler, robot.status = b.restarted(), http.StatusOK
	look(1)
	g.Expect(robot.bodies[0]).To(ContainSubstring(system + "/lock: the freeze has begun"))
	look(1)
	freezes("bank")
	look(2)
	g.Expect(robot.bodies[1]).To(ContainSubstring(system + "/lock: the freeze has ended"))
	freezes("shop")
	look(3)
	g.Expect(robot.bodies[2]).To(ContainSubstring(system+"/lock: the freeze has begun"), "again")
	g.Expect(b.kube.Delete(t.Context(), lock)).To(Succeed())
	look(4)
	g.Expect(robot.bodies[3]).To(ContainSubstring(system + "/lock: the freeze has ended"))
	look(4)
}

func TestReconcileTellsAFreezeThatIsTurnedOffAndOnAgainSoonAfterItsBeginning(t *testing.T) {
	g := NewWithT(t)
	robot := newRobot(t)
	lock := lockEverywhere()
	b := newBench(t, testkit.NewFake(t, append(namespaces(), robot.secret(), lock, robot.subscription(ofShop))...))
	look := func() {
		for range 2 {
			b.step(60)
			b.reconcile()
		}
	}
	look()
	for range 2 {
		for _, expires := range []time.Duration{time.Minute, time.Hour} {
			lock.Spec.Expires.Duration, lock.Generation = expires, lock.Generation+1
			g.Expect(b.kube.Update(t.Context(), lock)).To(Succeed())
			look()
		}
	}
	g.Expect(b.kube.Delete(t.Context(), lock)).To(Succeed())
	look()
	begun, ended := ContainSubstring("lock: the freeze has begun"), ContainSubstring("lock: the freeze has ended")
	g.Expect(robot.bodies).To(HaveExactElements(begun, ended, begun, ended, begun, ended))
}

func TestReconcileTellsOfAFreezeFromBeforeTheSubscriptionOnlyWhatFollows(t *testing.T) {
	for name, events := range map[string][]appv1alpha1.SubscribedEvent{"a new subscription": {"All"}, "one that is edited": {"Failures"}} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			robot := newRobot(t)
			lock := lockEverywhere()
			lock.Spec.Expires.Duration, lock.CreationTimestamp = 24*time.Hour, metav1.NewTime(testkit.Now().Add(-time.Hour))
			b := newBench(t, testkit.NewFake(t, append(namespaces(), robot.secret(), lock, robot.subscription(ofShop, func(s *appv1alpha1.ChangeSubscription) {
				s.Spec.Events = events
			}))...))
			b.reconcile()
			object := b.object()
			object.Spec.Events, object.Generation = []appv1alpha1.SubscribedEvent{"All"}, 2
			g.Expect(b.kube.Update(t.Context(), object)).To(Succeed())
			b.reconcile()
			b.step(1800)
			b.Reconciler = b.restarted()
			lock.Spec.Reason, lock.Generation = "INC-7", 2
			g.Expect(b.kube.Update(t.Context(), lock)).To(Succeed())
			b.reconcile()
			g.Expect(robot.bodies).To(BeEmpty(), "it is on")
			g.Expect(b.kube.Delete(t.Context(), lock)).To(Succeed())
			b.reconcile()
			g.Expect(robot.bodies).To(ConsistOf(ContainSubstring(system + "/lock: the freeze has ended")))
		})
	}
}

func TestReconcileTellsEachOfManyFreezesOnce(t *testing.T) {
	g := NewWithT(t)
	robot := newRobot(t)
	b := newBench(t, testkit.NewFake(t, robot.secret(), robot.subscription()))
	for i := range 70 {
		lock := lockEverywhere()
		lock.Name, lock.UID, lock.Spec.Expires.Duration = fmt.Sprint("lock-", i), types.UID(fmt.Sprint("f-", i)), 24*time.Hour
		g.Expect(b.kube.Create(t.Context(), lock)).To(Succeed())
	}
	b.reconcile()
	for range 3 {
		b.step(1800)
		b.reconcile()
	}
	g.Expect(robot.bodies).To(ConsistOf(ContainSubstring("70 events")), "although the status can't note them all")
}

func TestReconcileTellsNoEndOfAFreezeThatAnEditedSubscriptionDoesNotSelect(t *testing.T) {
	for name, edit := range map[string]func(*appv1alpha1.ChangeSubscription){
		"by its namespaces": func(s *appv1alpha1.ChangeSubscription) {
			s.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "kiosk"}}
		},
		"by its events": func(s *appv1alpha1.ChangeSubscription) { s.Spec.Events = []appv1alpha1.SubscribedEvent{"Failures"} },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			robot := newRobot(t)
			b := newBench(t, testkit.NewFake(t, append(namespaces(), robot.secret(), lockEverywhere(), robot.subscription(ofShop))...))
			b.reconcile()
			g.Expect(robot.bodies).To(HaveLen(1))
			object := b.object()
			edit(object)
			object.Generation = 2
			g.Expect(b.kube.Update(t.Context(), object)).To(Succeed())
			for range 2 {
				b.step(1200)
				b.reconcile()
			}
			g.Expect(robot.bodies).To(HaveLen(1), "it is on")
			g.Expect(b.object().Status.ToldFreezes).To(BeEmpty())
		})
	}
}

// requests notes what a handler requests.
type requests struct {
	workqueue.TypedRateLimitingInterface[ctrl.Request]
	names []string
}

func (r *requests) AddAfter(request ctrl.Request, _ time.Duration) {
	r.names = append(r.names, request.Name)
}

func TestSubscriptionsLookAgainWhenAReleaseComesChangesOrGoes(t *testing.T) {
	robot := newRobot(t)
	b := newBench(t, testkit.NewFake(t, robot.subscription()))
	release, all := &appv1alpha1.ChangeWorkload{}, b.ofReleases()
	for name, happens := range map[string]func(*requests){
		"comes": func(q *requests) { all.Create(t.Context(), event.CreateEvent{Object: release}, q) },
		"changes": func(q *requests) {
			all.Update(t.Context(), event.UpdateEvent{ObjectOld: release, ObjectNew: release}, q)
		},
		"goes": func(q *requests) { all.Delete(t.Context(), event.DeleteEvent{Object: release}, q) },
	} {
		q := &requests{}
		happens(q)
		NewWithT(t).Expect(q.names).To(Equal([]string{"shop"}), name)
	}
}
