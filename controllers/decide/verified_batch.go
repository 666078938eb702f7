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
	"iter"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

// bakedUntil returns until when VerificationPolicies check the pods of a batch before it passes, zero where none does.
func bakedUntil(workload *appv1alpha1.ChangeWorkload, changePod *appv1alpha1.ChangePod) time.Time {
	if !delaysBatches(&workload.Status) || changePod.Spec.Order || workload.Status.ObservedRelease != changePod.Spec.Release {
		return time.Time{}
	}
	return bakeEnd(&workload.Status, changePod)
}

// delaysBatches reports whether policies look at a batch before it passes.
func delaysBatches(status *appv1alpha1.ChangeWorkloadStatus) bool {
	return mayHold(status.Verification) || status.Verification != nil && slices.ContainsFunc(status.Verification.Policies, bakesBatches)
}

// bakesBatches reports whether a policy has an enforced check that looks at a batch for a time. One of AlterShield Server has its own time.
func bakesBatches(policy appv1alpha1.AppliedPolicy) bool {
	for range enforcedChecks(&policy) {
		return policy.BakeSeconds > 0
	}
	return false
}

// enforcedChecks returns the enforced checks of a policy whose time is that of the policy: those that look at pods as they come.
func enforcedChecks(policy *appv1alpha1.AppliedPolicy) iter.Seq[*appv1alpha1.VerificationCheck] {
	return func(yield func(*appv1alpha1.VerificationCheck) bool) {
		for i := range policy.Checks {
			check := &policy.Checks[i]
			bakes := isEnforced(policy, check) && check.Type != appv1alpha1.CheckServer && !IsPhased(check.Phase)
			if bakes && !yield(check) {
				return
			}
		}
	}
}

// bakeEnd returns when the bake of a batch ends.
func bakeEnd(status *appv1alpha1.ChangeWorkloadStatus, batch *appv1alpha1.ChangePod) time.Time {
	return time.Unix(batch.Spec.CreateTimeUnix+int64(bakeOf(status)), 0)
}

// bakeOf returns for how many seconds policies with an enforced check look at a batch before it passes. One that passed early knows enough.
func bakeOf(status *appv1alpha1.ChangeWorkloadStatus) (seconds int32) {
	if status.Verification == nil {
		return 0
	}
	for i := range status.Verification.Policies {
		if policy := &status.Verification.Policies[i]; bakesBatches(*policy) && !passedEarly(policy, status) {
			seconds = max(seconds, policy.BakeSeconds)
		}
	}
	return seconds
}

// passedEarly reports whether all enforced checks of a policy passed before the release was verified. Those that hold pods look at each batch.
func passedEarly(policy *appv1alpha1.AppliedPolicy, status *appv1alpha1.ChangeWorkloadStatus) bool {
	if !bakesBatches(*policy) {
		return false
	}
	for check := range enforcedChecks(policy) {
		result := storedResult(status.Checks, policy, check, time.Time{})
		inTime := wasVerified(status) && result.Since.Unix() >= status.EntryTimeUnix
		if result.Verdict != appv1alpha1.CheckPass || inTime || holds(policy, check) {
			return false
		}
	}
	return true
}

// ChecksFailed returns the enforced checks that pods of a batch failed, with these pods, and that its status doesn't show yet.
func ChecksFailed(workload *appv1alpha1.ChangeWorkload, changePod *appv1alpha1.ChangePod) []appv1alpha1.CheckResult {
	if workload.Status.ObservedRelease != changePod.Spec.Release {
		return nil
	}
	var failed []appv1alpha1.CheckResult
	for i := range workload.Status.Checks {
		result := &workload.Status.Checks[i]
		if !result.Enforced {
			continue
		}
		own := *result.DeepCopy()
		own.Pods = slices.DeleteFunc(own.Pods, func(pod appv1alpha1.CheckedPod) bool {
			return !inBatch(changePod, pod) || showsFailure(changePod, result, pod)
		})
		if len(own.Pods) > 0 {
			failed = append(failed, own)
		}
	}
	return failed
}

func inBatch(changePod *appv1alpha1.ChangePod, pod appv1alpha1.CheckedPod) bool {
	return slices.ContainsFunc(CheckedBy(changePod), func(summary appv1alpha1.PodSummary) bool {
		return summary.Pod == pod.Pod && summary.UID == pod.UID
	})
}

// fail fails pods of a batch by the checks of VerificationPolicies, as a verdict of a verifier does.
func (a *advance) fail() {
	for _, failed := range a.facts.Failed {
		for _, pod := range failed.Pods {
			a.status.PodResults = withFailed(a.status.PodResults, a.batch, pod, failed.Policy+" "+failed.Name)
		}
		a.show(failed)
	}
	if len(a.facts.Failed) > 0 {
		arrived := metav1.NewMicroTime(a.now)
		a.status.VerdictTime = &arrived
	}
}

// show adds a failed check to the status, if that has room for it.
func (a *advance) show(failed appv1alpha1.CheckResult) {
	switch at := slices.IndexFunc(a.status.Checks, func(shown appv1alpha1.CheckResult) bool { return isSameCheck(&shown, &failed) }); {
	case at >= 0:
		addPods(&a.status.Checks[at], failed.Pods)
	case len(a.status.Checks) < appv1alpha1.MaxBatchChecks:
		a.status.Checks = append(a.status.Checks, failed)
	}
}

// withFailed returns results in which a pod failed a check.
func withFailed(
	results []appv1alpha1.PodSummary, batch *appv1alpha1.ChangePod, pod appv1alpha1.CheckedPod, by string,
) []appv1alpha1.PodSummary {
	own := CheckedBy(batch)
	failed := own[slices.IndexFunc(own, func(summary appv1alpha1.PodSummary) bool { return summary.UID == pod.UID })]
	failed.Verdict, failed.Message = appv1alpha1.VerdictUnpass, shortText(pod.Message+" (VerificationPolicy "+by+")")
	return withUnpassed(results, failed)
}

// bakes reports whether VerificationPolicies check the batch before it may pass.
func (f CheckFacts) bakes(now time.Time) bool { return now.Before(f.BakedUntil) }

// awaits returns the first check for which the batch waits after its bake, nil if there is none. At the end of its hold the pods pass, or it
// fails them, or the hold begins anew as nobody attended it.
func (f CheckFacts) awaits(now time.Time) *AwaitedCheck {
	at := slices.IndexFunc(f.Awaited, func(check AwaitedCheck) bool {
		return check.Until.IsZero() || check.Fails || now.Before(check.Until) || endedUnattended(check.Until, f.Since, now)
	})
	if at < 0 {
		return nil
	}
	return &f.Awaited[at]
}

// bake has a batch wait, before the check after it, until its pods have been checked for long enough.
func (a *advance) bake() {
	if a.status.Status != appv1alpha1.ChangePodPostWait {
		enter(&a.status, appv1alpha1.ChangePodPostWait, a.now)
	}
	a.status.Deadline = &metav1.Time{Time: a.facts.BakedUntil}
	explain(&a.status, appv1alpha1.ReasonBaking,
		"the pods are checked by VerificationPolicies until "+a.facts.BakedUntil.UTC().Format(time.RFC3339), a.now)
}

// awaitCheck has a batch wait after its bake until a check can tell. Nothing is written before the check was made at the end of the bake.
func (a *advance) awaitCheck(check *AwaitedCheck) {
	if check.Until.IsZero() {
		return
	}
	if a.status.Status != appv1alpha1.ChangePodPostWait {
		enter(&a.status, appv1alpha1.ChangePodPostWait, a.now)
	}
	a.status.Deadline = &metav1.Time{Time: check.Until}
	explain(&a.status, appv1alpha1.ReasonAwaitingCheck, shortText(check.Message), a.now)
}

// endBake gives the verifier its full time to accept the check after the batch, once: the deadline was that of the bake, or of the hold of a check.
func (a *advance) endBake() {
	if wasHeld(a.batch) {
		a.status.Deadline = afterSeconds(a.now, a.status.PostTimeoutThreshold)
		explain(&a.status, appv1alpha1.ReasonVerifying, "", a.now)
	}
}

// wasHeld reports whether the deadline of a batch is that of its bake, or of the hold of a check, and none of the verifier.
func wasHeld(batch *appv1alpha1.ChangePod) bool {
	return hasReason(batch.Status.Conditions, appv1alpha1.ReasonBaking, appv1alpha1.ReasonAwaitingCheck)
}

// baked ends the check of a batch that is checked by VerificationPolicies alone.
func (a *advance) baked() {
	a.status.PodResults = resultsOf(a.batch, a.status.PodResults, verifier.Verdict{Outcome: verifier.Pass})
	enter(&a.status, appv1alpha1.ChangePodPostFinish, a.now)
}
