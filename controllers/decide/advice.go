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
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// DenialAdvice returns the warnings beside a denial: the failed pods, where to see more, and how to release a repair. It takes the
// ChangeWorkloads of the suspended workload, the version that it is at, and its rollbacks.
func DenialAdvice(kind string, workloads []appv1alpha1.ChangeWorkload, version string, rollbacks []appv1alpha1.Rollback, now time.Time) []string {
	var advice []string
	failed := Failed(workloads, version)
	for _, workload := range newestFirst(workloads) {
		failure := FailureOf(&workload.Status)
		switch {
		case slices.Contains(failed, workload) && failure != "":
			advice = append(advice, fmt.Sprintf("%s (see: kubectl describe changeworkload -n %s %s)",
				failure, workload.Namespace, workload.Name))
		case workload.Spec.Reversion == version:
			advice = append(advice, suspendedUntil(workload))
		}
	}
	advice = append(advice, fmt.Sprintf("to let a repair through, set the label %s=%s on the %s in the same update",
		appv1alpha1.LabelIgnoredSuspend, appv1alpha1.IgnoredSuspendTrue, kind))
	verified := slices.DeleteFunc(verifiedVersions(workloads, version), func(version string) bool {
		return RefusalOf(rollbacks, version, now) != nil
	})
	if len(verified) > 0 {
		advice = append(advice, "going back to a verified version needs no label: "+strings.Join(verified, ", "))
	}
	return advice
}

// suspendedUntil returns what ends the suspension of a workload whose present release hasn't failed.
func suspendedUntil(present *appv1alpha1.ChangeWorkload) string {
	verified := meta.FindStatusCondition(present.Status.Conditions, appv1alpha1.ConditionVerified)
	if verified != nil && slices.Contains([]string{
		appv1alpha1.ReasonNoReplicas, appv1alpha1.ReasonTemplateUnstamped, appv1alpha1.ReasonTemplateUnseen, appv1alpha1.ReasonOrderRefused,
	}, verified.Reason) {
		return fmt.Sprintf("release %s is not checked: %s; the suspension is lifted when a release succeeds", present.Spec.Reversion, verified.Message)
	}
	state := "is being checked"
	if verified != nil && isObserved(present) && verified.Status == metav1.ConditionUnknown && verified.Reason != appv1alpha1.ReasonVerifying {
		state = "isn't verified yet: " + Explanation(present.Status.Conditions, verified)
	}
	return fmt.Sprintf("release %s %s; the suspension is lifted when it succeeds", present.Spec.Reversion, state)
}

// Explanation returns the message of the condition Verified, or of the condition that it refers to.
func Explanation(conditions []metav1.Condition, verified *metav1.Condition) string {
	for _, other := range []string{
		appv1alpha1.ConditionParked, appv1alpha1.ConditionFrozen, appv1alpha1.ConditionFirstNodes, appv1alpha1.ConditionPaced,
	} {
		if other != verified.Reason {
			continue
		}
		if found := meta.FindStatusCondition(conditions, other); found != nil {
			return found.Message
		}
	}
	return verified.Message
}

// maxWarned is how many checks that only warn are named to the author of the next release.
const maxWarned = 3

// WarnedAdvice returns the warnings for the author of a release, after one that failed checks which only warn. It takes the phrase and the
// ChangeWorkloads of the workload, the release that it is at, and the version that is released. The way back to a verified version needs none: it is
// what the author does about it.
func WarnedAdvice(phrase string, workloads []appv1alpha1.ChangeWorkload, present Release, version string) (advice []string) {
	at := slices.IndexFunc(workloads, func(workload appv1alpha1.ChangeWorkload) bool {
		return Recorded(&workload) == present && isObserved(&workload)
	})
	if at < 0 || IsVerified(workloads, version) {
		return nil
	}
	last, left := &workloads[at], 0
	see := fmt.Sprintf("see: kubectl describe changeworkload -n %s %s", last.Namespace, last.Name)
	for i := range last.Status.Checks {
		result := &last.Status.Checks[i]
		switch {
		case result.Mode != appv1alpha1.CheckWarn || result.Verdict != appv1alpha1.CheckFail:
		case len(advice) == maxWarned:
			left++
		default:
			advice = append(advice, fmt.Sprintf("the last release of %s failed check %s of VerificationPolicy %s, which only warns: %s (%s)",
				phrase, result.Name, result.Policy, cmp.Or(result.Message, result.Reason), see))
		}
	}
	if left > 0 {
		advice = append(advice, fmt.Sprintf("the last release of %s failed %d more checks that only warn (%s)", phrase, left, see))
	}
	return advice
}
