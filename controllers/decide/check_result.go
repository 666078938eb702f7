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
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/rule"
)

// storedResult returns the known result of a check, or that of one that has begun.
func storedResult(
	known []appv1alpha1.CheckResult, policy *appv1alpha1.AppliedPolicy, check *appv1alpha1.VerificationCheck, now time.Time,
) appv1alpha1.CheckResult {
	result := appv1alpha1.CheckResult{
		Policy: policy.Policy, Name: check.Name, Type: check.Type, Mode: LowerMode(policy.Mode, check.Mode), Verdict: appv1alpha1.CheckPending,
		Since: metav1.NewTime(now.Truncate(time.Second)),
	}
	result.Phase = phaseShown(check)
	if i := slices.IndexFunc(known, func(other appv1alpha1.CheckResult) bool { return isSameCheck(&result, &other) }); i >= 0 {
		return *known[i].DeepCopy()
	}
	return result
}

func isSameCheck(a, b *appv1alpha1.CheckResult) bool { return a.Policy == b.Policy && a.Name == b.Name }

// enforce has the failures of a policy's checks count if its failWhen agrees and the mode wasn't lowered since. What counted before still does.
// The results are in the order of the checks.
func enforce(policy *appv1alpha1.AppliedPolicy, results []appv1alpha1.CheckResult, rules *rule.Compiler) {
	isNew := func(result appv1alpha1.CheckResult) bool {
		return result.Verdict == appv1alpha1.CheckFail && !result.Enforced
	}
	counts := slices.ContainsFunc(results, isNew) && failsPods(policy.FailWhen, results, rules)
	for i := range results {
		result := &results[i]
		mode := LowerMode(result.Mode, LowerMode(policy.Mode, policy.Checks[i].Mode))
		enforced := result.Verdict == appv1alpha1.CheckFail && mode == appv1alpha1.CheckEnforce
		result.Enforced = result.Enforced || enforced && counts
	}
}

// failsPods reports whether a failWhen has failures count, whatever verdict the pending checks will have: what counts is never taken back. One that
// can't be evaluated excuses nothing.
func failsPods(failWhen string, results []appv1alpha1.CheckResult, rules *rule.Compiler) bool {
	if failWhen == "" {
		return true
	}
	verdicts := make(map[string]string, len(results))
	for i := range results {
		verdicts[results[i].Name] = string(results[i].Verdict)
	}
	return rules.FailsAnyhow(failWhen, verdicts)
}

// tell has a result say what was found. The numbers change only with the text: while a check goes on, a result isn't written for them alone.
func tell(result *appv1alpha1.CheckResult, found *checks.Finding) {
	message := Shorten(found.Message, maxCheckText)
	if result.Reason == found.Reason && result.Message == message {
		return
	}
	result.Reason, result.Message, result.Numbers = found.Reason, message, found.Numbers
}

func addPods(result *appv1alpha1.CheckResult, pods []appv1alpha1.CheckedPod) {
	for _, pod := range pods {
		if len(result.Pods) < appv1alpha1.MaxCheckedPods && !hasPod(result.Pods, pod.UID) {
			pod.Message = Shorten(pod.Message, maxCheckText)
			result.Pods = append(result.Pods, pod)
		}
	}
}

func hasPod(pods []appv1alpha1.CheckedPod, uid types.UID) bool {
	return slices.ContainsFunc(pods, func(pod appv1alpha1.CheckedPod) bool { return pod.UID == uid })
}

// concludeChecks ends the checks of a release that found nothing once it is verified, except those with a last look, and sums up all.
func concludeChecks(status *appv1alpha1.ChangeWorkloadStatus, now time.Time) {
	if status.Verification == nil || len(status.Checks) == 0 && status.Verification.Progress == "" { // as none was ever made
		return
	}
	if !isVerifying(status) {
		endHolds(status.Checks)
	}
	for i := range status.Checks {
		result := &status.Checks[i]
		if result.Verdict == appv1alpha1.CheckPending && !hasLooks(result.Type) && !IsPhased(result.Phase) && wasVerified(status) {
			result.Verdict, result.Reason, result.Since = appv1alpha1.CheckPass, appv1alpha1.ReasonCheckPassed, metav1.NewTime(now.Truncate(time.Second))
		}
	}
	sumUp(status)
}

// sumUp sets the progress of the checks of a release, and which of them would have failed it.
func sumUp(status *appv1alpha1.ChangeWorkloadStatus) {
	passed, failed, held, left := 0, "", "", ""
	var wouldFail []string
	for i := range status.Checks {
		result := &status.Checks[i]
		switch result.Verdict {
		case appv1alpha1.CheckPass:
			passed++
		case appv1alpha1.CheckFail:
			if failed == "" {
				failed = ", " + result.Name + " Fail"
			}
			if result.Mode != appv1alpha1.CheckEnforce {
				wouldFail = append(wouldFail, result.Name)
			}
		}
		if held == "" && isHolding(result) {
			held = ", " + result.Name + " holds"
		}
	}
	if n := len(status.Verification.LeftOut); n > 0 {
		left = fmt.Sprintf(", policies left out: %d", n)
	}
	status.Verification.Progress = fmt.Sprintf("%d/%d%s", passed, len(status.Checks), cmp.Or(failed, held, left))
	status.Verification.WouldFail = strings.Join(wouldFail, ",")
}

// unpassed returns the pods that failed enforced checks and whose batches don't show it yet. They count at once, and once if they failed several.
func unpassed(status *appv1alpha1.ChangeWorkloadStatus, checked iter.Seq[*appv1alpha1.ChangePod]) []appv1alpha1.CheckedPod {
	var pods []appv1alpha1.CheckedPod
	for i := range status.Checks {
		result := &status.Checks[i]
		if !result.Enforced {
			continue
		}
		for _, pod := range result.Pods {
			known := hasPod(pods, pod.UID)
			for batch := range checked {
				known = known || showsFailure(batch, result, pod)
			}
			if !known {
				pods = append(pods, pod)
			}
		}
	}
	return pods
}

// showsFailure reports whether the status of a batch has the failed check of a pod. One that has no room for a further check fails no pod by it: it
// would do so each time.
func showsFailure(batch *appv1alpha1.ChangePod, failed *appv1alpha1.CheckResult, pod appv1alpha1.CheckedPod) bool {
	at := slices.IndexFunc(batch.Status.Checks, func(shown appv1alpha1.CheckResult) bool { return isSameCheck(failed, &shown) })
	if at < 0 {
		return len(batch.Status.Checks) >= appv1alpha1.MaxBatchChecks && inBatch(batch, pod)
	}
	return hasPod(batch.Status.Checks[at].Pods, pod.UID)
}

// HasVerdict reports whether a release had the verdict of a check before.
func HasVerdict(before, after *appv1alpha1.ChangeWorkload, result *appv1alpha1.CheckResult) bool {
	return hadResult(before, after, result, func(known *appv1alpha1.CheckResult) bool { return known.Verdict == result.Verdict })
}

// hadResult reports whether a release had such a result of a check before.
func hadResult(before, after *appv1alpha1.ChangeWorkload, result *appv1alpha1.CheckResult, is func(*appv1alpha1.CheckResult) bool) bool {
	return before.Status.ObservedRelease == after.Status.ObservedRelease &&
		slices.ContainsFunc(before.Status.Checks, func(known appv1alpha1.CheckResult) bool { return isSameCheck(&known, result) && is(&known) })
}

// DecidedAfter returns how long it took until a check had the verdict that it has since this change of its release: from when it was asked first, with a
// phase, else from when the release was recorded.
func DecidedAfter(before, after *appv1alpha1.ChangeWorkload, result *appv1alpha1.CheckResult) time.Duration {
	began := phaseBegan(after, result.Phase)
	if IsPhased(result.Phase) && result.Mode == appv1alpha1.CheckEnforce {
		began = heldSince(before, result)
	}
	return max(0, result.Since.Sub(began))
}

// heldSince returns since when a release was held for an enforced check of a phase, the time of its verdict for one that was decided as soon as it was
// asked.
func heldSince(before *appv1alpha1.ChangeWorkload, result *appv1alpha1.CheckResult) time.Time {
	if before.Status.Verification == nil {
		return result.Since.Time
	}
	for i := range before.Status.Verification.Policies {
		policy := &before.Status.Verification.Policies[i]
		for j := range policy.Checks {
			check := &policy.Checks[j]
			known := storedResult(before.Status.Checks, policy, check, result.Since.Time)
			if isSameCheck(&known, result) && known.HeldUntil != nil {
				return known.HeldUntil.Add(-time.Duration(check.TimeoutSeconds) * time.Second)
			}
		}
	}
	return result.Since.Time
}
