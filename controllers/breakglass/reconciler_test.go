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
package breakglass

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	review "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

// inc7 lets two releases pass within an hour.
func inc7() *appv1alpha1.BreakGlass {
	return &appv1alpha1.BreakGlass{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "inc-7", UID: "bg-1", Generation: 1, CreationTimestamp: metav1.NewTime(testkit.Now())},
		Spec: appv1alpha1.BreakGlassSpec{
			Reason: "INC-7", Workloads: []appv1alpha1.WorkloadSelector{{Kind: "Deployment.apps", Name: "sleep"}},
			Overrides: []appv1alpha1.BreakGlassOverride{"Freeze"}, For: metav1.Duration{Duration: time.Hour}, Uses: 2, RequestedBy: "bob",
		},
	}
}

// passing returns the record of a release that passed by a BreakGlass.
func passing(by string, release int64, at time.Time) *appv1alpha1.ChangeWorkload {
	record := &appv1alpha1.ChangeWorkload{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "sleep--x--" + testkit.Version}}
	record.Spec.AppName, record.Spec.Reversion, record.Spec.Release = "sleep", testkit.Version, release
	record.Status.ObservedRelease = release
	record.Status.BreakGlass = &appv1alpha1.BreakGlassPass{Name: by, UID: "bg-1", User: "alice", Time: metav1.NewTime(at), Would: []string{"deployment sleep is frozen"}}
	return record
}

func TestReconcileKeepsTheEvidence(t *testing.T) {
	g, writes := NewWithT(t), 0
	clock := clocktesting.NewFakePassiveClock(testkit.Now())
	kube := interceptor.NewClient(testkit.NewFake(t, inc7()), interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, kube client.Client, subresource string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			writes++
			return kube.SubResource(subresource).Patch(ctx, object, patch, options...)
		},
	})
	r := &Reconciler{Client: kube, Clock: clock}
	key := client.ObjectKey{Namespace: "shop", Name: "inc-7"}
	reconcile := func(after time.Duration) (glass appv1alpha1.BreakGlass, wait time.Duration) {
		t.Helper()
		clock.SetTime(testkit.Now().Add(after))
		result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(kube.Get(t.Context(), key, &glass)).To(Succeed())
		return glass, result.RequeueAfter
	}
	usable := func(glass appv1alpha1.BreakGlass) string {
		condition := meta.FindStatusCondition(glass.Status.Conditions, "Usable")
		return string(condition.Status) + " " + condition.Reason + " " + condition.Message
	}

	glass, wait := reconcile(0)
	g.Expect(usable(glass)).To(Equal("True Open 0 of 2 releases passed; it ends at 2026-11-21T11:00:00Z"))
	g.Expect(wait).To(Equal(time.Hour))
	reconcile(time.Minute)
	g.Expect(writes).To(Equal(1), "nothing has changed")

	first := passing("inc-7", 3, testkit.Now().Add(2*time.Minute))
	g.Expect(kube.Create(t.Context(), first)).To(Succeed())
	glass, wait = reconcile(3 * time.Minute)
	g.Expect(usable(glass)).To(Equal("True Open 1 of 2 releases passed; it ends at 2026-11-21T11:00:00Z"))
	g.Expect(glass.Status.Uses).To(HaveLen(1))
	use := glass.Status.Uses[0]
	g.Expect(use.Time.Time).To(BeTemporally("==", testkit.Now().Add(2*time.Minute)))
	use.Time = metav1.Time{}
	g.Expect(use).To(Equal(appv1alpha1.BreakGlassUse{
		Kind: "Deployment", Workload: "sleep", Release: 3, Version: testkit.Version, User: "alice", Would: []string{"deployment sleep is frozen"},
	}))
	g.Expect(wait).To(Equal(57 * time.Minute))

	g.Expect(kube.Delete(t.Context(), first)).To(Succeed())
	glass, _ = reconcile(4 * time.Minute)
	g.Expect(glass.Status.Uses).To(HaveLen(1), "the evidence outlives the record")
	g.Expect(writes).To(Equal(2))

	g.Expect(kube.Create(t.Context(), passing("inc-7", 4, testkit.Now().Add(5*time.Minute)))).To(Succeed())
	glass, _ = reconcile(5 * time.Minute)
	g.Expect(usable(glass)).To(Equal("False UsedUp 2 of 2 releases passed"))
	glass, wait = reconcile(time.Hour)
	g.Expect(usable(glass)).To(Equal("False Expired it ended at 2026-11-21T11:00:00Z"))
	g.Expect(glass.Status.Uses).To(HaveLen(2))
	g.Expect(wait).To(BeZero())
	g.Expect(writes).To(Equal(4))

	g.Expect(kube.Delete(t.Context(), &glass)).To(Succeed())
	result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result).To(Equal(ctrl.Result{}))
}

func TestReconcileReturnsWhatTheAPIServerRefuses(t *testing.T) {
	for of, row := range map[string]struct {
		funcs interceptor.Funcs
		want  string
	}{
		"a list": {interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("no answer")
		}}, "listing the ChangeWorkloads in namespace shop: no answer"},
		"a write": {interceptor.Funcs{SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return errors.New("no answer")
		}}, "writing the status of BreakGlass shop/inc-7: no answer"},
	} {
		t.Run(of, func(t *testing.T) {
			r := &Reconciler{Client: interceptor.NewClient(testkit.NewFake(t, inc7()), row.funcs), Clock: clocktesting.NewFakePassiveClock(testkit.Now())}
			_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "shop", Name: "inc-7"}})
			NewWithT(t).Expect(err).To(MatchError(row.want))
		})
	}
}

func TestPassedPassesReleasesOnceTheyAreRecorded(t *testing.T) {
	g := NewWithT(t)
	before, after := &appv1alpha1.ChangeWorkload{}, passing("inc-7", 3, testkit.Now())
	g.Expect(passed().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})).To(BeTrue())
	g.Expect(passed().Update(event.UpdateEvent{ObjectOld: after, ObjectNew: after})).To(BeFalse())
	g.Expect(passed().Create(event.CreateEvent{Object: after})).To(BeTrue(), "the operator may have been away")
	g.Expect(passed().Create(event.CreateEvent{Object: before})).To(BeFalse())
	g.Expect(ofRelease(t.Context(), after)).To(Equal([]ctrl.Request{{NamespacedName: client.ObjectKey{Namespace: "shop", Name: "inc-7"}}}))
	g.Expect(ofRelease(t.Context(), before)).To(BeEmpty())
}

func TestAttributorRecordsTheUserOfTheAPIServer(t *testing.T) {
	g := NewWithT(t)
	forged, err := json.Marshal(inc7())
	g.Expect(err).NotTo(HaveOccurred())
	response := Attributor{}.Handle(t.Context(), review.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Object: runtime.RawExtension{Raw: forged}, UserInfo: authenticationv1.UserInfo{Username: "mallory"},
	}})
	g.Expect(response.Allowed).To(BeTrue())
	g.Expect(response.Patches).To(Equal([]jsonpatch.Operation{{Operation: "add", Path: "/spec/requestedBy", Value: "mallory"}}))
	response = Attributor{}.Handle(t.Context(), review.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Object: runtime.RawExtension{Raw: forged}, UserInfo: authenticationv1.UserInfo{Username: strings.Repeat("u", 300)},
	}})
	g.Expect(response.Patches[0].Value).To(Equal(strings.Repeat("u", 250)+"..."), "the API limits its length")
	response = Attributor{}.Handle(t.Context(), review.Request{AdmissionRequest: admissionv1.AdmissionRequest{Object: runtime.RawExtension{Raw: []byte("no")}}})
	g.Expect(response.Allowed).To(BeFalse())
}
