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
package changefreeze

import (
	"context"
	"testing"
	"time"
	_ "time/tzdata"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/freeze"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
)

const system = "altershieldoperator-system"

// bench is a ChangeFreeze at an API server, with its reconciler.
type bench struct {
	*testing.T
	kube       client.WithWatch
	clock      *clocktesting.FakePassiveClock
	reconciler *Reconciler
	key        client.ObjectKey
	// writes counts those of the status.
	writes int
}

func newBench(t *testing.T, object *appv1alpha1.ChangeFreeze, others ...client.Object) *bench {
	t.Helper()
	b := &bench{T: t, clock: clocktesting.NewFakePassiveClock(testkit.Now()), key: client.ObjectKeyFromObject(object)}
	b.kube = interceptor.NewClient(testkit.NewFake(t, append(others, object)...), interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, kube client.Client, subresource string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			b.writes++
			return kube.SubResource(subresource).Patch(ctx, object, patch, options...)
		},
	})
	b.reconciler = &Reconciler{Client: b.kube, Clock: b.clock, Namespace: system}
	return b
}

// at reconciles at a time, and returns the ChangeFreeze and when to look again.
func (b *bench) at(now time.Time) (*appv1alpha1.ChangeFreeze, time.Duration) {
	b.Helper()
	b.clock.SetTime(now)
	result, err := b.reconciler.Reconcile(b.Context(), ctrl.Request{NamespacedName: b.key})
	g := NewWithT(b)
	g.Expect(err).NotTo(HaveOccurred())
	var object appv1alpha1.ChangeFreeze
	g.Expect(b.kube.Get(b.Context(), b.key, &object)).To(Succeed())
	return &object, result.RequeueAfter
}

func newFreeze(change func(*appv1alpha1.ChangeFreeze)) *appv1alpha1.ChangeFreeze {
	object := &appv1alpha1.ChangeFreeze{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "friday", Generation: 3, CreationTimestamp: metav1.NewTime(testkit.Now())},
		Spec:       appv1alpha1.ChangeFreezeSpec{Action: "Park", Running: "Finish", Thaw: appv1alpha1.FreezeThaw{Concurrent: 5}},
	}
	change(object)
	return object
}

func described(object *appv1alpha1.ChangeFreeze, kind string) string {
	condition := meta.FindStatusCondition(object.Status.Conditions, kind)
	return string(condition.Status) + " " + condition.Reason + " " + condition.Message
}

func utc(t *testing.T, text string) time.Time {
	t.Helper()
	parsed, err := time.Parse(time.RFC3339, text)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return parsed
}

// The clocks of Europe/Berlin go back on Sunday, 25 October 2026, and those of Asia/Shanghai never do.
func TestReconcileStepsThroughWindowsOverAChangeOfTheClocks(t *testing.T) {
	friday := func(zone string) *appv1alpha1.ChangeFreeze {
		return newFreeze(func(object *appv1alpha1.ChangeFreeze) {
			object.Spec.Windows = []appv1alpha1.FreezeWindow{{Days: []appv1alpha1.Weekday{"Fri"}, From: "16:00", To: "24:00", TimeZone: zone}}
		})
	}
	for zone, turns := range map[string][]string{
		"Asia/Shanghai": {"2026-10-16T08:00:00Z", "2026-10-16T16:00:00Z", "2026-10-23T08:00:00Z", "2026-10-23T16:00:00Z", "2026-10-30T08:00:00Z", "2026-10-30T16:00:00Z", "2026-11-06T08:00:00Z"},
		"Europe/Berlin": {"2026-10-16T14:00:00Z", "2026-10-16T22:00:00Z", "2026-10-23T14:00:00Z", "2026-10-23T22:00:00Z", "2026-10-30T15:00:00Z", "2026-10-30T23:00:00Z", "2026-11-06T15:00:00Z"},
	} {
		t.Run(zone, func(t *testing.T) {
			g, b := NewWithT(t), newBench(t, friday(zone))
			sleep := deployment.Kind{}.New()
			sleep.SetNamespace("shop")
			admission := freeze.Reader{Namespaces: b.kube, Freezes: b.kube, Namespace: system}
			now, active := utc(t, "2026-10-15T00:00:00Z"), false
			for i, turn := range turns {
				next := utc(t, turn)
				object, wait := b.at(now)
				g.Expect(now.Add(wait)).To(BeTemporally("==", next), "it looks again when the freeze begins or ends")
				g.Expect(b.writes).To(Equal(i + 1))
				g.Expect(object.Status.Active).To(Equal(active))
				for _, moment := range []time.Time{now, next.Add(-time.Second)} {
					found, err := admission.Of(t.Context(), deployment.Kind{}, sleep, moment)
					g.Expect(err).NotTo(HaveOccurred())
					g.Expect(freeze.Release{}.InForce(found) != nil).To(Equal(active), "admission decides alike at %s", moment)
				}
				if active {
					g.Expect(object.Status.Until.Time).To(BeTemporally("==", next))
					g.Expect(described(object, "Active")).To(Equal("True FreezeActive releases are frozen until " + turn))
				} else {
					g.Expect(object.Status.Until).To(BeNil())
					g.Expect(object.Status.Next.Time).To(BeTemporally("==", next))
					g.Expect(described(object, "Active")).To(Equal("False FreezeAhead it begins at " + turn))
				}
				b.at(next.Add(-time.Second))
				g.Expect(b.writes).To(Equal(i+1), "nothing has changed")
				now, active = next, !active
			}
		})
	}
}

func TestReconcileShowsHowAnIncidentLockExpires(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, newFreeze(func(object *appv1alpha1.ChangeFreeze) {
		object.Spec.Expires = &metav1.Duration{Duration: 8 * time.Hour}
	}))
	object, wait := b.at(testkit.Now().Add(time.Hour))
	g.Expect(wait).To(Equal(7 * time.Hour))
	g.Expect(object.Status.ObservedGeneration).To(BeEquivalentTo(3))
	g.Expect(described(object, "Ready")).To(Equal("True Valid the freeze is in effect at its times"))
	g.Expect(described(object, "Active")).To(Equal("True FreezeActive releases are frozen until 2026-11-21T18:00:00Z"))
	object, wait = b.at(testkit.Now().Add(8 * time.Hour))
	g.Expect(wait).To(BeZero())
	g.Expect(object.Status.Active).To(BeFalse())
	g.Expect(object.Status.Until).To(BeNil())
	g.Expect(object.Status.Next).To(BeNil())
	g.Expect(described(object, "Active")).To(Equal("False FreezeOver it doesn't begin again"))
	g.Expect(b.writes).To(Equal(2))
}

func TestReconcileShowsAnUnusableFreeze(t *testing.T) {
	for name, row := range map[string]struct {
		change  func(*appv1alpha1.ChangeFreeze)
		message string
	}{
		"an unknown zone": {func(object *appv1alpha1.ChangeFreeze) {
			object.Spec.Windows = []appv1alpha1.FreezeWindow{{From: "16:00", To: "18:00", TimeZone: "Asia/Sanghai"}}
		}, `spec.windows[0].timeZone: Invalid value: "Asia/Sanghai": must be a name of the IANA time zone database such as Asia/Shanghai or UTC`},
		"an end that no status can have": {func(object *appv1alpha1.ChangeFreeze) {
			object.Spec.Dates = []appv1alpha1.FreezeDates{{From: "2026-01-01T00:00", To: "9999-12-31T23:59", TimeZone: "America/New_York"}}
		}, `spec.dates[0].to: Invalid value: "9999-12-31T23:59": must be before the year 10000 in UTC too, such as 9999-12-31T00:00`},
		"namespaces selected elsewhere": {func(object *appv1alpha1.ChangeFreeze) {
			object.Spec.Expires, object.Spec.Namespaces = &metav1.Duration{Duration: time.Hour}, &metav1.LabelSelector{}
		}, "spec.namespaces: Forbidden: only a ChangeFreeze in namespace altershieldoperator-system selects namespaces; without the field it freezes its own namespace, shop"},
	} {
		t.Run(name, func(t *testing.T) {
			g, b := NewWithT(t), newBench(t, newFreeze(row.change))
			object, wait := b.at(testkit.Now())
			g.Expect(wait).To(BeZero())
			g.Expect(object.Status.Active).To(BeFalse())
			g.Expect(described(object, "Ready")).To(Equal("False Invalid " + row.message))
			g.Expect(described(object, "Active")).To(Equal("False Invalid the spec is unusable: see the condition Ready"))
			b.at(testkit.Now().Add(time.Hour))
			g.Expect(b.writes).To(Equal(1))
		})
	}
}

// frozen returns a release that waits for the end of a freeze.
func frozen(namespace, name, by string, change func(*appv1alpha1.ChangeWorkload)) *appv1alpha1.ChangeWorkload {
	record := &appv1alpha1.ChangeWorkload{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, OwnerReferences: []metav1.OwnerReference{{Kind: "Deployment", Name: name, UID: "d-1", Controller: ptr.To(true)}},
	}}
	record.Spec.Release, record.Status.ObservedRelease = 2, 2
	record.Status.Frozen = &appv1alpha1.FrozenRelease{By: by}
	record.Status.Conditions = []metav1.Condition{{Type: "Frozen", Status: "True", Reason: "ChangeFreeze"}}
	change(record)
	return record
}

func TestReconcileCountsTheParkedReleases(t *testing.T) {
	as := func(*appv1alpha1.ChangeWorkload) {}
	locked := func(namespace string, namespaces *metav1.LabelSelector) *appv1alpha1.ChangeFreeze {
		return newFreeze(func(object *appv1alpha1.ChangeFreeze) {
			object.Namespace, object.Spec.Expires, object.Spec.Namespaces = namespace, &metav1.Duration{Duration: time.Hour}, namespaces
		})
	}
	records := []client.Object{
		frozen("shop", "a", "shop/friday", as), frozen("shop", "b", "shop/friday", as),
		frozen("shop", "of-another-freeze", "shop/lock", as), frozen("shop", "of-the-operators-freeze", system+"/friday", as),
		frozen("bank", "of-the-operators-freeze", system+"/friday", as),
		frozen("shop", "thawed", "shop/friday", func(record *appv1alpha1.ChangeWorkload) { record.Status.Conditions[0].Status = "False" }),
		frozen("shop", "superseded", "shop/friday", func(record *appv1alpha1.ChangeWorkload) { record.Spec.Release = 3 }),
	}
	for name, freeze := range map[string]*appv1alpha1.ChangeFreeze{
		"of its namespace": locked("shop", nil), "of the namespaces that it selects": locked(system, &metav1.LabelSelector{}),
	} {
		t.Run(name, func(t *testing.T) {
			g, b := NewWithT(t), newBench(t, freeze, records...)
			object, _ := b.at(testkit.Now())
			g.Expect(object.Status.Parked).To(BeEquivalentTo(2))
			g.Expect(b.kube.Delete(t.Context(), records[0])).To(Succeed())
			g.Expect(b.kube.Delete(t.Context(), records[4])).To(Succeed())
			object, _ = b.at(testkit.Now())
			g.Expect(object.Status.Parked).To(BeEquivalentTo(1))
			g.Expect(b.writes).To(Equal(2))
		})
	}
}

func TestReconcileLeavesADeletedFreeze(t *testing.T) {
	b := newBench(t, newFreeze(func(object *appv1alpha1.ChangeFreeze) { object.Spec.Expires = &metav1.Duration{Duration: time.Hour} }))
	result, err := b.reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "shop", Name: "gone"}})
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result).To(Equal(ctrl.Result{}))
}

func TestFreezeChangedPassesReleasesThatAreParkedOrGoOn(t *testing.T) {
	as := func(*appv1alpha1.ChangeWorkload) {}
	parked, going := frozen("shop", "a", "shop/friday", as), frozen("shop", "a", "shop/friday", func(record *appv1alpha1.ChangeWorkload) { record.Status.Conditions[0].Status = "False" })
	g := NewWithT(t)
	g.Expect(freezeChanged().Update(event.UpdateEvent{ObjectOld: going, ObjectNew: parked})).To(BeTrue())
	g.Expect(freezeChanged().Update(event.UpdateEvent{ObjectOld: parked, ObjectNew: going})).To(BeTrue())
	g.Expect(freezeChanged().Update(event.UpdateEvent{ObjectOld: parked, ObjectNew: parked})).To(BeFalse())
	g.Expect(freezeChanged().Delete(event.DeleteEvent{Object: parked})).To(BeTrue(), "one less is parked")
	g.Expect(ofRelease(t.Context(), parked)).To(Equal([]ctrl.Request{{NamespacedName: client.ObjectKey{Namespace: "shop", Name: "friday"}}}))
	g.Expect(ofRelease(t.Context(), &appv1alpha1.ChangeWorkload{})).To(BeEmpty())
}
