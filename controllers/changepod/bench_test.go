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

package changepod_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientevents "k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/changepod"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
	"github.com/traas-stack/altershield-operator/controllers/verifier/altershield"
)

var apiServer testkit.APIServer

func TestMain(m *testing.M) { os.Exit(apiServer.Run(m)) }

// bench has one batch of two pods on a real API server, and its reconciler with a clock that is stepped.
type bench struct {
	t          *testing.T
	kube       client.WithWatch
	clock      *clocktesting.FakePassiveClock
	server     *testkit.Server
	recorded   *clientevents.FakeRecorder
	reconciler *changepod.Reconciler
	record     *appv1alpha1.ChangeWorkload
	batch      client.ObjectKey
	// patchFails fails the next write, readFails the next read; meanwhile is done once before the next write.
	patchFails, readFails error
	meanwhile             func()
}

func newBench(t *testing.T, order appv1alpha1.OrderState, changes ...func(*bench)) *bench {
	t.Helper()
	b := &bench{
		t: t, kube: apiServer.Client(t), clock: clocktesting.NewFakePassiveClock(testkit.Now()), server: testkit.NewServer(t),
		recorded: clientevents.NewFakeRecorder(10),
	}
	b.record = testkit.Record(t, b.kube, testkit.Namespace(t, b.kube, true), order)
	b.batch = client.ObjectKeyFromObject(testkit.Batch(t, b.kube, b.record, 1))
	b.restart()
	b.reconciler.Verifier = b.server.Client(t, b.clock)
	for _, change := range changes {
		change(b)
	}
	return b
}

// restart replaces the reconciler by a new one.
func (b *bench) restart() {
	b.t.Helper()
	metrics, err := changepod.NewMetrics(prometheus.NewRegistry())
	NewWithT(b.t).Expect(err).NotTo(HaveOccurred())
	before := b.reconciler
	b.reconciler = &changepod.Reconciler{
		Client:   interceptor.NewClient(testkit.Cached(b.t, b.kube), interceptor.Funcs{Get: b.get, SubResourcePatch: b.patch}),
		Live:     interceptor.NewClient(b.kube, interceptor.Funcs{Get: b.get}),
		Recorder: events.Recorder{Events: b.recorded}, Metrics: metrics, Clock: b.clock,
	}
	if before != nil {
		b.reconciler.Verifier, b.reconciler.FailClosed = before.Verifier, before.FailClosed
	}
}

func (b *bench) patch(ctx context.Context, kube client.Client, part string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
	if err := b.patchFails; err != nil {
		b.patchFails = nil
		return err
	}
	if meanwhile := b.meanwhile; meanwhile != nil {
		b.meanwhile = nil
		meanwhile()
	}
	return kube.SubResource(part).Patch(ctx, object, patch, options...)
}

func (b *bench) get(ctx context.Context, kube client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if err := b.readFails; err != nil {
		b.readFails = nil
		return err
	}
	return kube.Get(ctx, key, object, options...)
}

func (b *bench) read() *appv1alpha1.ChangePod {
	b.t.Helper()
	batch := &appv1alpha1.ChangePod{}
	NewWithT(b.t).Expect(b.kube.Get(b.t.Context(), b.batch, batch)).To(Succeed())
	return batch
}

// write changes the status of the batch, as others than the reconciler do.
func (b *bench) write(change func(*appv1alpha1.ChangePodStatus)) {
	b.t.Helper()
	batch := b.read()
	before := batch.DeepCopy()
	change(&batch.Status)
	NewWithT(b.t).Expect(b.kube.Status().Patch(b.t.Context(), batch, client.MergeFrom(before))).To(Succeed())
}

// hears delivers a verdict, as the router does.
func (b *bench) hears(stage appv1alpha1.CheckStage, passed bool, reason string) {
	b.t.Helper()
	delivery := verifier.Delivery{CheckID: "node-1", Stage: stage, Verdict: verifier.Verdict{Outcome: verifier.Pass}}
	if !passed {
		delivery.Verdict = verifier.Verdict{Outcome: verifier.Fail, Reason: reason}
	}
	status, applied := decide.ApplyVerdict(b.read(), delivery, b.clock.Now())
	NewWithT(b.t).Expect(applied).To(BeTrue())
	b.write(func(current *appv1alpha1.ChangePodStatus) { *current = status })
}

// keeps stores a verdict in the release that came before the id of its check.
func (b *bench) keeps(stage appv1alpha1.CheckStage, verdict appv1alpha1.Verdict) {
	b.t.Helper()
	before := b.record.DeepCopy()
	b.record.Status.EarlyVerdicts = []appv1alpha1.EarlyVerdict{{
		ChangePodID: "node-1", Stage: stage, Verdict: verdict, Message: "5xx above 1%", Time: metav1.NewMicroTime(b.clock.Now()),
	}}
	NewWithT(b.t).Expect(b.kube.Status().Patch(b.t.Context(), b.record, client.MergeFrom(before))).To(Succeed())
}

// state is the status, the message and the reason of the batch, and the verdicts of its pods.
func (b *bench) state() string {
	b.t.Helper()
	status := b.read().Status
	words := []string{string(status.Status), status.Message}
	for _, condition := range status.Conditions {
		words = append(words, condition.Reason)
	}
	var verdicts []string
	for _, result := range status.PodResults {
		verdicts = append(verdicts, string(result.Verdict))
	}
	if len(verdicts) > 0 {
		words = append(words, strings.Join(verdicts, "+"))
	}
	return strings.Join(words, " ")
}

func (b *bench) reconcile() (ctrl.Result, error) {
	return b.reconciler.Reconcile(b.t.Context(), ctrl.Request{NamespacedName: b.batch})
}

func (b *bench) events() []string {
	var seen []string
	for len(b.recorded.Events) > 0 {
		seen = append(seen, <-b.recorded.Events)
	}
	return seen
}

// step is one reconcile after something has happened.
type step struct {
	after time.Duration
	do    func(*bench)
	// calls are those of the server, state is that of the batch, wait is the time until the next reconcile.
	calls []string
	state string
	wait  time.Duration
}

func answers(call, answer string) func(*bench) {
	return func(b *bench) { b.server.Answers(call, answer) }
}

func hears(stage appv1alpha1.CheckStage, passed bool) func(*bench) {
	return func(b *bench) { b.hears(stage, passed, "5xx above 1%") }
}

func orderIs(state appv1alpha1.OrderState) func(*bench) {
	return func(b *bench) { testkit.SetOrder(b.t, b.kube, b.record, state) }
}

func unconfigured(b *bench) { b.reconciler.Verifier = nil }

func failClosed(b *bench) { b.reconciler.FailClosed = true }

func switchedOff(b *bench) { b.reconciler.Verifier = off{b.reconciler.Verifier.(*altershield.Client)} }

// off is a verifier whose checks are switched off.
type off struct{ *altershield.Client }

func (off) SwitchedOff() bool { return true }

const (
	busy    = `{"success":false,"resultCode":"104","msg":"access limit exceeded","domain":null}`
	unknown = `{"success":false,"resultCode":"102","msg":"authentication request fail","domain":null}`
	refused = `{"success":false,"resultCode":"101","msg":"illegal start notify request type","domain":null}`
	broken  = `{"success":false,"resultCode":"901","msg":"system error","domain":null}`
	tooLong = `{"success":false,"resultCode":"901","msg":"Data truncation: Data too long for column","domain":null}`
	running = `{"success":false,"resultCode":"103","msg":"node is at PRE_AOP_SUBMIT","domain":null}`
	passed  = `{"success":true,"resultCode":"000","msg":null,"domain":{"finished":true,"verdict":{"verdict":"PASS"}}}`
	failed  = `{"success":true,"resultCode":"000","msg":null,"domain":{"finished":true,"verdict":{"verdict":"FAIL"}}}`
)
