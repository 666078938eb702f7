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

package changepod

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientevents "k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

// rules is a verifier inside the operator: it needs no change order, and is polled for each verdict.
type rules struct {
	calls []string
	post  verifier.Verdict
	err   error
}

func (r *rules) Name() string { return "Rules" }

func (r *rules) Begin(_ context.Context, batch verifier.Batch) (string, error) {
	r.calls = append(r.calls, fmt.Sprintf("begin %s of %d", batch.Release.Name, batch.Total))
	return "check-1", nil
}

func (r *rules) Finish(_ context.Context, _ verifier.Batch, checkID string) error {
	r.calls = append(r.calls, "finish "+checkID)
	return nil
}

func (r *rules) Ask(_ context.Context, _ verifier.Batch, checkID string, stage appv1alpha1.CheckStage) (verifier.Verdict, error) {
	r.calls = append(r.calls, fmt.Sprintf("ask %s %s", stage, checkID))
	if stage == appv1alpha1.StagePre {
		return verifier.Verdict{Outcome: verifier.Pass}, nil
	}
	return r.post, r.err
}

// newAsked returns the ChangePod of a release, and a reconciler that asks a verifier about it.
func newAsked(t *testing.T, asked verifier.Verifier, spec appv1alpha1.ChangePodSpec) (*Reconciler, *appv1alpha1.ChangePod, *clocktesting.FakePassiveClock) {
	t.Helper()
	record := &appv1alpha1.ChangeWorkload{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web--x--1", UID: "1"}}
	record.Spec.AppName, record.Spec.Release, record.Spec.CountThreshold = "web", 1, 1
	record.Status.ObservedRelease = 1
	batch := &appv1alpha1.ChangePod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web--x--1--x--1", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "app.ops.cloud.alipay.com/v1alpha1", Kind: "ChangeWorkload", Name: "web--x--1", UID: "1", Controller: ptr.To(true)},
	}}}
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC))
	batch.Spec, batch.Spec.ChangeWorkloadID, batch.Spec.Release, batch.Spec.CreateTimeUnix = spec, "web--x--1", 1, clock.Now().Unix()
	kube := testkit.NewFake(t, record, batch)
	recorder := events.Recorder{Events: clientevents.NewFakeRecorder(10)}
	return &Reconciler{Client: kube, Live: kube, Clock: clock, Verifier: asked, Recorder: recorder}, batch, clock
}

func TestReconcileAsksAVerifierThatSendsNoVerdicts(t *testing.T) {
	g := NewWithT(t)
	asked := &rules{}
	reconciler, batch, _ := newAsked(t, asked, appv1alpha1.ChangePodSpec{PodInfos: []appv1alpha1.PodSummary{{Pod: "web-a"}}})
	kube := reconciler.Client
	for number, step := range []struct {
		post  verifier.Verdict
		err   error
		calls []string
		state string
		wait  time.Duration
	}{
		{calls: []string{"begin web of 1"}, state: "PreSubmitted ", wait: 120 * time.Second},
		{calls: []string{"ask PRE check-1"}, state: "PostWait ", wait: 120 * time.Second},
		{calls: []string{"finish check-1"}, state: "PostSubmitted ", wait: 120 * time.Second},
		{post: verifier.Verdict{Again: 15 * time.Second}, calls: []string{"ask POST check-1"}, state: "PostSubmitted ", wait: 15 * time.Second},
		{err: errors.New("no such series"), calls: []string{"ask POST check-1"}, state: "PostSubmitted ", wait: 200 * time.Millisecond},
		{post: verifier.Verdict{Outcome: verifier.Fail, Reason: "it restarts"}, calls: []string{"ask POST check-1"}, state: "ExecuteDone PostFinish"},
	} {
		asked.post, asked.err, asked.calls = step.post, step.err, nil
		result, err := reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(batch)})
		g.Expect(err).NotTo(HaveOccurred(), "step %d", number+1)
		g.Expect(asked.calls).To(Equal(step.calls), "step %d", number+1)
		g.Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(batch), batch)).To(Succeed())
		g.Expect(string(batch.Status.Status)+" "+batch.Status.Message).To(Equal(step.state), "step %d", number+1)
		g.Expect(result).To(Equal(ctrl.Result{RequeueAfter: step.wait}), "step %d", number+1)
	}
	g.Expect(batch.Status.PodResults).To(Equal([]appv1alpha1.PodSummary{{Pod: "web-a", Verdict: "unpass", Message: "it restarts"}}))
}

// orders also checks releases as a whole.
type orders struct{ rules }

func (o *orders) OrderID(verifier.Release) string { return "o-1" }

func (o *orders) Open(context.Context, verifier.Release) (string, error) { return "", nil }

func (o *orders) Close(context.Context, verifier.Release, appv1alpha1.OrderState) error { return nil }

func (o *orders) BeginOrder(_ context.Context, release verifier.Release) (string, error) {
	o.calls = append(o.calls, "begin order "+release.Order)
	return "check-1", nil
}

func TestReconcileChecksAnOrderBeforeTheFirstStepAndAfterTheLast(t *testing.T) {
	g := NewWithT(t)
	asked := &orders{rules{post: verifier.Verdict{Outcome: verifier.Pass}}}
	reconciler, check, clock := newAsked(t, asked, appv1alpha1.ChangePodSpec{Order: true, PodInfos: []appv1alpha1.PodSummary{}})
	kube := reconciler.Client
	record := &appv1alpha1.ChangeWorkload{}
	g.Expect(kube.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web--x--1"}, record)).To(Succeed())
	record.Status.ObservedRelease, record.Status.Order = 1, &appv1alpha1.ChangeOrder{BizExecOrderID: "o-1", Release: 1, State: "Open"}
	g.Expect(kube.Status().Update(t.Context(), record)).To(Succeed())
	reconcile := func(calls []string, state string, wait time.Duration) {
		t.Helper()
		asked.calls = nil
		result, err := reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(check)})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(asked.calls).To(Equal(calls))
		g.Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(check), check)).To(Succeed())
		g.Expect(string(check.Status.Status) + " " + check.Status.Message).To(Equal(state))
		g.Expect(result).To(Equal(ctrl.Result{RequeueAfter: wait}))
	}
	reconcile([]string{"begin order o-1"}, "PreSubmitted ", 120*time.Second)
	reconcile([]string{"ask PRE check-1"}, "PostWait ", 0)
	clock.SetTime(clock.Now().Add(24 * time.Hour))
	reconcile(nil, "PostWait ", 0)

	record.Status.Conditions = []metav1.Condition{{Type: "Verified", Status: "Unknown", Reason: "AwaitingOrder", LastTransitionTime: metav1.NewTime(clock.Now())}}
	g.Expect(kube.Status().Update(t.Context(), record)).To(Succeed())
	reconcile(nil, "PostWait ", 120*time.Second)
	reconcile([]string{"finish check-1"}, "PostSubmitted ", 120*time.Second)
	reconcile([]string{"ask POST check-1"}, "ExecuteDone PostFinish", 0)
	g.Expect(check.Status.PodResults).To(HaveExactElements(appv1alpha1.PodSummary{Namespace: "shop", Pod: "change order", Verdict: "pass"}))
}
