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
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

// awaits has a policy hold batches until a minute from now, or lets those pass that waited until now.
func awaits(told bool) func(*bench) {
	return func(b *bench) {
		b.t.Helper()
		now := b.clock.Now().UTC().Truncate(time.Second)
		result := appv1alpha1.CheckResult{
			Policy: "shop/web", Name: "smoke", Type: "Condition", Mode: "Enforce", Verdict: "Inconclusive", Reason: "ConditionUnknown", Since: metav1.NewTime(now),
		}
		if told {
			result.Verdict, result.ClearedTime = "Pass", &metav1.Time{Time: now}
		} else {
			result.HeldUntil = &metav1.Time{Time: now.Add(time.Minute)}
		}
		var terms appv1alpha1.VerificationTerms
		terms.Mode = "Enforce"
		terms.Checks = []appv1alpha1.VerificationCheck{{
			Name: "smoke", Type: "Condition", OnInconclusive: "Hold", TimeoutSeconds: 60, OnTimeout: "Pass",
			Condition: &appv1alpha1.ConditionCheck{APIVersion: "tests.example.com/v1", Kind: "SmokeTest", Name: "smoke", Type: "Passed"},
		}}
		b.record.Status.Status, b.record.Status.ObservedRelease = "Running", b.record.Spec.Release
		b.record.Status.Verification = &appv1alpha1.ReleaseVerification{Policies: []appv1alpha1.AppliedPolicy{
			{Policy: "shop/web", UID: "vp-1", Generation: 1, VerificationTerms: terms},
		}}
		b.record.Status.Checks = []appv1alpha1.CheckResult{result}
		if err := b.kube.Status().Update(b.t.Context(), b.record); err != nil {
			b.t.Fatal(err)
		}
	}
}

func TestReconcileReportsABatchOnceNoCheckHoldsIt(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, "Open")
	reconcile := func(state string, wait time.Duration) {
		t.Helper()
		result, err := b.reconcile()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(b.state()).To(Equal(state))
		g.Expect(result.RequeueAfter).To(Equal(wait))
	}
	reconcile("PreSubmitted  Verifying", 2*time.Minute)
	awaits(false)(b)
	b.hears("PRE", true, "")
	reconcile("PostWait  AwaitingCheck", time.Minute)
	g.Expect(b.server.Calls()).NotTo(ContainElement(testkit.FinishCheck))
	awaits(true)(b)
	reconcile("PostSubmitted  Verifying", 2*time.Minute)
	g.Expect(b.server.Calls()).To(ContainElement(testkit.FinishCheck))
}

func TestReconcileGivesTheServerItsTimeAfterAHoldWhoseEndCouldNotBeSaved(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, "Open", failClosed)
	_, err := b.reconcile()
	g.Expect(err).NotTo(HaveOccurred())
	awaits(false)(b)
	b.hears("PRE", true, "")
	_, err = b.reconcile()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(b.state()).To(Equal("PostWait  AwaitingCheck"))
	b.clock.SetTime(b.clock.Now().Add(time.Minute))
	awaits(true)(b)
	b.server.Answers(testkit.FinishCheck, testkit.Dropped)
	b.patchFails = errors.New("the API server is restarting")
	_, err = b.reconcile()
	g.Expect(err).To(MatchError(ContainSubstring("the API server is restarting")))
	b.server.Answers(testkit.FinishCheck, testkit.Taken)
	b.server.Calls()
	_, err = b.reconcile()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(b.server.Calls()).To(Equal([]string{testkit.PollCheck, testkit.FinishCheck}))
	g.Expect(b.state()).To(Equal("PostSubmitted  Verifying"))
}

func TestReconcileHoldsABatchWithoutAVerifier(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, "", unconfigured, awaits(false))
	_, err := b.reconcile()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(b.state()).To(Equal("PostWait  AwaitingCheck"))
	b.clock.SetTime(b.clock.Now().Add(time.Minute))
	_, err = b.reconcile()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(b.state()).To(Equal("ExecuteDone PostFinish PodsPassed pass+pass"))
}

func TestReconcileLeavesABatchUntilTheCacheShowsTheChecksOfItsRelease(t *testing.T) {
	g := NewWithT(t)
	notObserved := func(b *bench) {
		b.record.Status.ObservedRelease = 0
		g.Expect(b.kube.Status().Update(t.Context(), b.record)).To(Succeed())
	}
	b := newBench(t, "", unconfigured, notObserved)
	result, err := b.reconcile()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.RequeueAfter).To(Equal(5 * time.Second))
	g.Expect(b.state()).To(Equal(" "))
	awaits(false)(b)
	_, err = b.reconcile()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(b.state()).To(Equal("PostWait  AwaitingCheck"))
}
