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

package changeworkload_test

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/changerecord"
)

var errAway = errors.New("the API server is away")

// recording lets the reconciler write ChangeRecords, which fails as fails returns.
func (r *release) recording(fails func() error) {
	writer := interceptor.NewClient(r.kube, interceptor.Funcs{
		Create: func(ctx context.Context, kube client.WithWatch, object client.Object, options ...client.CreateOption) error {
			if err := fails(); err != nil {
				return err
			}
			return kube.Create(ctx, object, options...)
		},
	})
	r.reconciler.Verifier = nil
	r.reconciler.Records = &changerecord.Writer{Client: writer, Live: r.kube, Settings: r.reconciler.Settings, Clock: r.clock}
}

// records returns the outcomes in the ChangeRecords, and what the status notes.
func (r *release) records() (outcomes []appv1alpha1.ReleaseOutcome, noted *appv1alpha1.RecordedOutcome) {
	r.t.Helper()
	g := NewWithT(r.t)
	var list appv1alpha1.ChangeRecordList
	g.Expect(r.kube.List(r.t.Context(), &list, client.InNamespace(r.record.Namespace))).To(Succeed())
	for i := range list.Items {
		outcomes = append(outcomes, list.Items[i].Spec.Outcome)
	}
	var workload appv1alpha1.ChangeWorkload
	g.Expect(r.kube.Get(r.t.Context(), r.record, &workload)).To(Succeed())
	return outcomes, workload.Status.Recorded
}

func TestReconcileRecordsAVerifiedReleaseOnce(t *testing.T) {
	g, r := NewWithT(t), newRelease(t)
	r.recording(func() error { return nil })
	r.reconcile()
	outcomes, noted := r.records()
	g.Expect(outcomes).To(BeEmpty())
	g.Expect(noted).To(BeNil())
	r.pass()
	for range 3 {
		r.reconcile()
		outcomes, noted = r.records()
		g.Expect(outcomes).To(Equal([]appv1alpha1.ReleaseOutcome{"Verified"}))
		g.Expect(noted).To(Equal(&appv1alpha1.RecordedOutcome{Outcome: "Verified"}))
	}
}

func TestReconcileHoldsNothingBackForARecordThatCannotBeWritten(t *testing.T) {
	g, r := NewWithT(t), newRelease(t)
	fails := errAway
	r.recording(func() error { return fails })
	r.reconcile()
	r.pass()
	g.Expect(r.reconcile()).To(Equal(ctrl.Result{RequeueAfter: time.Minute}))
	g.Expect(r.state()).To(Equal("Success"))
	outcomes, noted := r.records()
	g.Expect(outcomes).To(BeEmpty())
	g.Expect(noted.Owed).To(HavePrefix("writing the ChangeRecord of release 1 of " + r.record.Namespace + "/sleep: creating ChangeRecord " + r.record.Namespace + "/"))
	g.Expect(noted.Owed).To(HaveSuffix(": the API server is away"))
	g.Expect(r.events()).To(ConsistOf("Normal ReleaseSucceeded", "Warning RecordNotWritten"))
	g.Expect(r.reconcile()).To(Equal(ctrl.Result{RequeueAfter: time.Minute}))
	g.Expect(r.events()).To(BeEmpty(), "it is told once")
	fails = nil
	r.reconcile()
	outcomes, noted = r.records()
	g.Expect(outcomes).To(Equal([]appv1alpha1.ReleaseOutcome{"Verified"}))
	g.Expect(noted).To(Equal(&appv1alpha1.RecordedOutcome{Outcome: "Verified"}))
}

// withoutStatus can't write a status.
func withoutStatus(through client.Client) client.Client {
	return interceptor.NewClient(through.(client.WithWatch), interceptor.Funcs{
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return errAway
		},
	})
}

// The operator crashes after the ChangeRecord, before the status that notes it.
func TestReconcileAfterACrashBeforeTheStatusFindsTheRecord(t *testing.T) {
	g, r := NewWithT(t), newRelease(t)
	r.recording(func() error { return nil })
	r.reconcile()
	r.pass()
	through := r.reconciler.Client
	r.reconciler.Client = withoutStatus(through)
	_, err := r.reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: r.record})
	g.Expect(err).To(MatchError(errAway))
	outcomes, noted := r.records()
	g.Expect(outcomes).To(Equal([]appv1alpha1.ReleaseOutcome{"Verified"}))
	g.Expect(noted).To(BeNil())
	r.reconciler.Client = through
	r.clock.SetTime(r.clock.Now().Add(time.Minute))
	r.reconcile()
	outcomes, noted = r.records()
	g.Expect(outcomes).To(Equal([]appv1alpha1.ReleaseOutcome{"Verified"}))
	g.Expect(noted).To(Equal(&appv1alpha1.RecordedOutcome{Outcome: "Verified"}))
}

func TestReconcileRecordsASupersededReleaseBeforeItIsRemoved(t *testing.T) {
	for name, row := range map[string]struct {
		err  error
		left []string
	}{
		"written": {nil, []string{"sleep--x--c6c45d23c098bdf181853a85b60b5d74"}},
		"denied":  {apierrors.NewForbidden(appv1alpha1.GroupVersion.WithResource("changerecords").GroupResource(), "x", errors.New("exceeded quota")), []string{"sleep--x--c6c45d23c098bdf181853a85b60b5d74"}},
		"starting": {apierrors.NewForbidden(appv1alpha1.GroupVersion.WithResource("changerecords").GroupResource(), "x", errors.New("not yet ready to handle request")),
			[]string{"sleep--x--6a8ff823a5011291b0f02a1d83c2222d", "sleep--x--c6c45d23c098bdf181853a85b60b5d74"}},
		"away": {errAway, []string{"sleep--x--6a8ff823a5011291b0f02a1d83c2222d", "sleep--x--c6c45d23c098bdf181853a85b60b5d74"}},
	} {
		t.Run(name, func(t *testing.T) {
			g, r := NewWithT(t), newRelease(t)
			older, present := r.older(), &appv1alpha1.ChangeWorkload{}
			g.Expect(r.kube.Get(t.Context(), r.record, present)).To(Succeed())
			present.Spec.Release = 2
			g.Expect(r.kube.Update(t.Context(), present)).To(Succeed())
			r.deployment.Annotations["altershield.defense.antgroup.com/release"] = "2"
			g.Expect(r.kube.Update(t.Context(), r.deployment)).To(Succeed())
			r.recording(func() error {
				var there appv1alpha1.ChangeWorkload
				if r.kube.Get(t.Context(), client.ObjectKeyFromObject(older), &there) == nil {
					return row.err
				}
				return nil
			})
			r.reconcile()
			r.pass()
			r.reconcile()
			if name == "denied" {
				g.Expect(r.events()).To(ContainElement("Warning RecordNotWritten"))
			}
			var list appv1alpha1.ChangeWorkloadList
			g.Eventually(func() (left []string) {
				g.Expect(r.kube.List(t.Context(), &list, client.InNamespace(r.record.Namespace))).To(Succeed())
				for i := range list.Items {
					left = append(left, list.Items[i].Name)
				}
				return left
			}).Should(ConsistOf(row.left))
			outcomes, _ := r.records()
			if row.err == nil {
				g.Expect(outcomes).To(ConsistOf(appv1alpha1.OutcomeSuperseded, appv1alpha1.OutcomeVerified))
			} else {
				g.Expect(outcomes).NotTo(ContainElement(appv1alpha1.OutcomeSuperseded))
			}
		})
	}
}

// older creates the record of release 1 of another version, which was superseded before it was verified, and that the operator hasn't seen since.
func (r *release) older() *appv1alpha1.ChangeWorkload {
	r.t.Helper()
	g := NewWithT(r.t)
	older := &appv1alpha1.ChangeWorkload{}
	g.Expect(r.kube.Get(r.t.Context(), r.record, older)).To(Succeed())
	older.ResourceVersion, older.UID, older.Name = "", "", "sleep--x--6a8ff823a5011291b0f02a1d83c2222d"
	older.Spec.Reversion = "6a8ff823a5011291b0f02a1d83c2222d"
	older.Labels["admission-webhook-altershield.antgroup.com/version"] = older.Spec.Reversion
	g.Expect(r.kube.Create(r.t.Context(), older)).To(Succeed())
	older.Status.Status, older.Status.ObservedRelease = "Running", 1
	g.Expect(r.kube.Status().Update(r.t.Context(), older)).To(Succeed())
	return older
}
