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

package decide

import (
	"fmt"
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

// HasServerCheck reports whether checks of a release decide what follows from the verdicts of AlterShield Server. Without one, these count at once.
func HasServerCheck(verification *appv1alpha1.ReleaseVerification) bool {
	return verification != nil && slices.ContainsFunc(verification.Policies, func(applied appv1alpha1.AppliedPolicy) bool {
		return slices.ContainsFunc(applied.Checks, func(check appv1alpha1.VerificationCheck) bool { return check.Type == appv1alpha1.CheckServer })
	})
}

// IsUnjudged reports whether no check decides any more what follows from the verdicts of AlterShield Server on a batch: its policy is gone.
func IsUnjudged(workload *appv1alpha1.ChangeWorkload, changePod *appv1alpha1.ChangePod) bool {
	return changePod.Spec.ServerCheck && workload.Status.ObservedRelease == changePod.Spec.Release && !HasServerCheck(workload.Status.Verification)
}

// FailedAtServer reports whether AlterShield Server failed pods of a batch, and checks decide what follows.
func FailedAtServer(changePod *appv1alpha1.ChangePod) bool {
	return slices.ContainsFunc(changePod.Status.ServerResults, isUnpassed)
}

func isUnpassed(result appv1alpha1.PodSummary) bool {
	return result.Verdict == appv1alpha1.VerdictUnpass
}

// checked returns the check of the order of a release, and its batches.
func (o *Observation) checked() iter.Seq[*appv1alpha1.ChangePod] {
	return func(yield func(*appv1alpha1.ChangePod) bool) {
		if o.OrderCheck != nil && !yield(o.OrderCheck) {
			return
		}
		for i := range o.Batches {
			if !yield(&o.Batches[i]) {
				return
			}
		}
	}
}

// judgeServer judges what AlterShield Server said of the order of a release, and of its batches. It passes at the end of the release.
func (e *examination) judgeServer(check *appv1alpha1.VerificationCheck) checks.Finding {
	if !e.server.Configured {
		return checks.Finding{
			Verdict: appv1alpha1.CheckSkipped, Reason: appv1alpha1.ReasonCheckNotConfigured, Message: "no AlterShield Server is configured",
		}
	}
	failed, found := []appv1alpha1.CheckedPod(nil), checks.Passed(0)
	for batch := range e.checked {
		for _, result := range batch.Status.ServerResults {
			if isUnpassed(result) {
				failed = append(failed, appv1alpha1.CheckedPod{Pod: result.Pod, UID: result.UID, Message: result.Message})
			}
		}
		unchecked := judgeUnchecked(check, batch, e.server)
		switch {
		case found.Verdict == appv1alpha1.CheckPass:
			found = unchecked
		case unchecked.Verdict == appv1alpha1.CheckFail:
			unchecked.Pods = append(found.Pods, unchecked.Pods...)
			found = unchecked
		}
	}
	if len(failed) == 0 {
		return found
	}
	return checks.Finding{
		Verdict: appv1alpha1.CheckFail, Reason: appv1alpha1.ReasonCheckFailed, Message: describeFailed(e.server.Name, failed),
		Pods: append(failed, found.Pods...),
	}
}

// judgeUnchecked judges a batch that is done without a verdict of the verifier. If the check could not be made, its policy decides or, without
// its word, that of the operator; checks that are switched off fail nothing, unless they must have passed.
func judgeUnchecked(check *appv1alpha1.VerificationCheck, batch *appv1alpha1.ChangePod, server verifier.State) checks.Finding {
	verified := meta.FindStatusCondition(batch.Status.Conditions, appv1alpha1.ConditionVerified)
	if verified == nil || batch.Status.Status != appv1alpha1.ChangePodExecuteDone || len(batch.Status.ServerResults) > 0 {
		return checks.Passed(0)
	}
	found := checks.Finding{Verdict: appv1alpha1.CheckInconclusive, Reason: verified.Reason, Message: verified.Message}
	fails := false
	switch verified.Reason {
	case appv1alpha1.ReasonPodsPassed, appv1alpha1.ReasonPodsFailed, appv1alpha1.ReasonUnknownPods, appv1alpha1.ReasonReleaseEnded:
		return checks.Passed(0) // nothing is left to be told, or not by the verifier
	case appv1alpha1.ReasonCheckWithdrawn: // by a user, who has the last word
	case appv1alpha1.ReasonCheckSwitchedOff, appv1alpha1.ReasonCheckNotConfigured:
		fails = check.OnInconclusive == appv1alpha1.InconclusiveFail
	default:
		fails = check.OnError == appv1alpha1.FallbackFail || check.OnError == "" && server.FailClosed
	}
	if fails {
		found.Verdict = appv1alpha1.CheckFail
		for _, pod := range CheckedBy(batch) {
			found.Pods = append(found.Pods, appv1alpha1.CheckedPod{Pod: pod.Pod, UID: pod.UID, Message: "not checked: " + verified.Message})
		}
	}
	return found
}

// describeFailed describes what a verifier failed, with its first message.
func describeFailed(name string, failed []appv1alpha1.CheckedPod) string {
	what := "pod " + failed[0].Pod
	switch {
	case failed[0].Pod == changeOrder:
		what = "the " + changeOrder
	case len(failed) > 1:
		what = fmt.Sprintf("%d pods", len(failed))
	}
	if failed[0].Message == "" {
		return name + " failed " + what
	}
	return name + " failed " + what + ": " + failed[0].Message
}

// takeServerResults has the verdicts of AlterShield Server count by themselves, once no check decides any more what follows from them. A pod that
// a check failed is left as it is: a user may have set its verdict since.
func (a *advance) takeServerResults() {
	if !a.facts.Unjudged || len(a.status.ServerResults) == 0 {
		return
	}
	shown := func(result appv1alpha1.PodSummary) bool {
		return slices.ContainsFunc(a.status.Checks, func(check appv1alpha1.CheckResult) bool {
			return check.Type == appv1alpha1.CheckServer && hasPod(check.Pods, result.UID)
		})
	}
	for _, result := range a.status.ServerResults {
		if isUnpassed(result) && !shown(result) {
			a.status.PodResults = withUnpassed(a.status.PodResults, result)
		}
	}
	a.status.ServerResults = nil
}

// withUnpassed returns results in which a pod failed.
func withUnpassed(results []appv1alpha1.PodSummary, failed appv1alpha1.PodSummary) []appv1alpha1.PodSummary {
	at := slices.IndexFunc(results, func(result appv1alpha1.PodSummary) bool {
		return result.Pod == failed.Pod && isSame(result.UID, failed.UID)
	})
	if at < 0 {
		return append(results, failed)
	}
	results[at].Verdict, results[at].Message = failed.Verdict, failed.Message
	return results
}

// failedByServer reports whether a release failed by the verdict of AlterShield Server on a batch, which a check enforces.
func failedByServer(status *appv1alpha1.ChangeWorkloadStatus, batch *appv1alpha1.ChangePod) bool {
	return FailedAtServer(batch) && slices.ContainsFunc(status.Checks, func(result appv1alpha1.CheckResult) bool {
		return result.Type == appv1alpha1.CheckServer && result.Enforced &&
			slices.ContainsFunc(result.Pods, func(pod appv1alpha1.CheckedPod) bool { return inBatch(batch, pod) })
	})
}
