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
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

// judged has a check of a VerificationPolicy judge the verdicts of the server on the batch.
func judged(b *bench) {
	b.t.Helper()
	g, batch := NewWithT(b.t), b.read()
	g.Expect(b.kube.Delete(b.t.Context(), batch)).To(Succeed())
	batch.ObjectMeta = metav1.ObjectMeta{Namespace: batch.Namespace, Name: batch.Name, OwnerReferences: batch.OwnerReferences}
	batch.Spec.ServerCheck = true
	for i := range batch.Spec.PodInfos {
		batch.Spec.PodInfos[i].UID = types.UID("uid-of-" + batch.Spec.PodInfos[i].Pod)
	}
	g.Expect(b.kube.Create(b.t.Context(), batch)).To(Succeed())
	b.record.Status.ObservedRelease = b.record.Spec.Release
	b.record.Status.Verification = &appv1alpha1.ReleaseVerification{Policies: []appv1alpha1.AppliedPolicy{{
		Policy: "system/server", UID: "vp-1", Generation: 1, VerificationTerms: appv1alpha1.VerificationTerms{
			Mode: "Observe", Checks: []appv1alpha1.VerificationCheck{{Name: "server", Type: "Server"}},
		},
	}}}
	b.decided()
}

// decided writes the status of the release.
func (b *bench) decided() {
	b.t.Helper()
	NewWithT(b.t).Expect(b.kube.Status().Update(b.t.Context(), b.record)).To(Succeed())
}

// serverResults are the verdicts of the server, in the order of the pods.
func (b *bench) serverResults() (verdicts []string) {
	b.t.Helper()
	for _, result := range b.read().Status.ServerResults {
		verdicts = append(verdicts, string(result.Verdict))
	}
	return verdicts
}

// policyDeleted has the release lose the policy.
func policyDeleted(b *bench) {
	b.record.Status.Verification.Policies = nil
	b.decided()
}

// enforced has the check fail both pods.
func enforced(b *bench) {
	b.record.Status.Checks = []appv1alpha1.CheckResult{{
		Policy: "system/server", Name: "server", Type: "Server", Mode: "Enforce", Verdict: "Fail", Enforced: true, Reason: "CheckFailed", Since: metav1.NewTime(testkit.Now()),
		Pods: []appv1alpha1.CheckedPod{{Pod: "sleep-1", UID: "uid-of-sleep-1", Message: "5xx above 1%"}, {Pod: "sleep-2", UID: "uid-of-sleep-2", Message: "5xx above 1%"}},
	}}
	b.decided()
}

func TestReconcileLeavesVerdictsOfTheServerToAPolicy(t *testing.T) {
	goesOn := step{do: hears("PRE", false), calls: []string{testkit.FinishCheck}, state: "PostSubmitted  Verifying", wait: 120 * time.Second}
	fails := step{do: hears("POST", false), state: "ExecuteDone PostFinish PodsPassed pass+pass"}
	for name, row := range map[string]struct {
		with   []func(*bench)
		steps  []step
		server []string
		event  string
	}{
		"it passes":                 {nil, []step{submitted, reported, verified}, []string{"pass", "pass"}, ""},
		"it fails before the batch": {nil, []step{submitted, goesOn, verified}, []string{"unpass", "unpass"}, ""},
		"it fails after the batch":  {nil, []step{submitted, reported, fails}, []string{"unpass", "unpass"}, ""},
		"it fails, and then the policy is deleted": {nil, []step{submitted, reported, fails,
			{do: policyDeleted, state: "ExecuteDone PostFinish PodsFailed unpass+unpass"}}, nil, ""},
		"it fails before the batch, and then the policy is deleted": {nil, []step{submitted, goesOn,
			{do: policyDeleted, state: "PostSubmitted  PodsFailed unpass+unpass", wait: 120 * time.Second}}, nil, ""},
		"it fails after the policy was deleted": {nil, []step{submitted, {do: func(b *bench) { policyDeleted(b); b.hears("PRE", true, "") },
			calls: []string{testkit.FinishCheck}, state: "PostSubmitted  Verifying", wait: 120 * time.Second},
			{do: hears("POST", false), state: "ExecuteDone PostFinish PodsFailed unpass+unpass"}}, nil, ""},
		"it fails, which is enforced": {nil, []step{submitted, reported, fails,
			{do: enforced, state: "ExecuteDone PostFinish PodsFailed unpass+unpass"}}, []string{"unpass", "unpass"}, ""},
		"it fails, which was enforced, withdrawn, and then the policy is deleted": {nil, []step{submitted, reported, fails,
			{do: enforced, state: "ExecuteDone PostFinish PodsFailed unpass+unpass"},
			{do: func(b *bench) {
				b.write(func(status *appv1alpha1.ChangePodStatus) {
					status.PodResults[0].Verdict, status.PodResults[1].Verdict = "pass", "pass"
				})
				policyDeleted(b)
			}, state: "ExecuteDone PostFinish PodsPassed pass+pass"}}, nil, ""},
		"it gives no verdict, and the policy of the operator is fail": {[]func(*bench){failClosed}, []step{submitted, reported,
			{after: 120 * time.Second, calls: []string{testkit.PollCheck}, state: "ExecuteDone PostTimeout CheckTimeout"}}, nil, "Warning BatchNotChecked"},
		"it gives none and has no policy any more, and that of the operator is fail": {[]func(*bench){failClosed}, []step{submitted, reported,
			{after: 120 * time.Second, do: policyDeleted, calls: []string{testkit.PollCheck}, state: "ExecuteDone PostTimeout PodsFailed unpass+unpass"}}, nil,
			"Warning BatchNotChecked"},
		"a verdict came early": {nil, []step{submitted, {do: func(b *bench) { b.keeps("PRE", "unpass") }, state: "PostWait  Verifying"}}, []string{"unpass", "unpass"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := newBench(t, "Open", append([]func(*bench){judged}, row.with...)...)
			for i, step := range row.steps {
				b.clock.SetTime(b.clock.Now().Add(step.after))
				if step.do != nil {
					step.do(b)
				}
				result, err := b.reconcile()
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(b.state()).To(Equal(step.state), "step %d", i)
				g.Expect(b.server.Calls()).To(Equal(step.calls), "step %d", i)
				g.Expect(result.RequeueAfter).To(Equal(step.wait), "step %d", i)
			}
			g.Expect(b.serverResults()).To(Equal(row.server))
			if row.event != "" {
				g.Expect(b.events()).To(HaveExactElements(HavePrefix(row.event)))
			} else {
				g.Expect(b.events()).To(BeEmpty())
			}
		})
	}
}
