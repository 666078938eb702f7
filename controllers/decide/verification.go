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
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/podhealth"
)

// Verification is what is known for the checks of a release by VerificationPolicies.
type Verification struct {
	// Policies are those that concern the workload now.
	Policies []appv1alpha1.VerificationPolicy
	// OldPods is what the pods that don't run the release have been through.
	OldPods appv1alpha1.OldPods
	// Pods has the pods, nil where the workload has none that keep running.
	Pods *podhealth.Scene
}

// maxCheckText is the most bytes of a message of a check.
const maxCheckText = 256

// beginVerification returns how a new release is checked, nil where no policy concerns its workload.
func beginVerification(seen Observation) *appv1alpha1.ReleaseVerification {
	var begun appv1alpha1.ReleaseVerification
	checks := 0
	for i := range seen.Verification.Policies {
		policy := &seen.Verification.Policies[i]
		checks += len(policy.Spec.Checks)
		if checks > appv1alpha1.MaxCheckResults || len(begun.Policies) == appv1alpha1.MaxAppliedPolicies {
			break
		}
		begun.Policies = append(begun.Policies, appv1alpha1.AppliedPolicy{
			Policy: policy.Namespace + "/" + policy.Name, UID: policy.UID, Generation: policy.Generation,
			VerificationTerms: *policy.Spec.VerificationTerms.DeepCopy(),
		})
	}
	if len(begun.Policies) == 0 {
		return nil
	}
	begun.OldPods = seen.Verification.OldPods
	return &begun
}

// verify makes the checks of a release, and returns the time until it has to be checked again, 0 where only an event can change a result.
// What failed stands.
func verify(
	status *appv1alpha1.ChangeWorkloadStatus, workload *appv1alpha1.ChangeWorkload, seen Observation, now time.Time,
) (again time.Duration) {
	if status.Verification == nil || !seen.Current || !seen.OptedIn {
		return 0
	}
	watched := WatchedPolicies(workload, now)
	loosen(status.Verification, seen.Verification.Policies)
	known := status.Checks
	status.Checks = nil
	for i := range status.Verification.Policies {
		policy := &status.Verification.Policies[i]
		for j := range policy.Checks {
			check := &policy.Checks[j]
			result := storedResult(known, policy, check, now)
			if slices.Contains(watched, policy.UID) {
				again = Sooner(again, makeCheck(&result, policy, check, seen, now))
			}
			status.Checks = append(status.Checks, result)
		}
	}
	for _, result := range known { // of a policy that was deleted since
		if result.Verdict == appv1alpha1.CheckFail && len(status.Checks) < appv1alpha1.MaxCheckResults &&
			!slices.ContainsFunc(status.Checks, func(other appv1alpha1.CheckResult) bool { return isSameCheck(&result, &other) }) {
			status.Checks = append(status.Checks, result)
		}
	}
	return again
}

// WatchedPolicies returns the UIDs of the policies whose checks of a release go on: until it is verified, and for as long as the policy
// watches it afterwards.
func WatchedPolicies(workload *appv1alpha1.ChangeWorkload, now time.Time) []types.UID {
	verification := workload.Status.Verification
	if verification == nil || workload.Status.ObservedRelease != workload.Spec.Release {
		return nil
	}
	if !wasVerified(&workload.Status) {
		return policiesOf(verification)
	}
	var watched []types.UID
	for i := range verification.Policies {
		end := time.Unix(workload.Status.EntryTimeUnix+int64(verification.Policies[i].WatchSeconds), 0)
		if now.Before(end) {
			watched = append(watched, verification.Policies[i].UID)
		}
	}
	return watched
}

func policiesOf(verification *appv1alpha1.ReleaseVerification) []types.UID {
	var all []types.UID
	for i := range verification.Policies {
		all = append(all, verification.Policies[i].UID)
	}
	return all
}

// loosen drops the policies that don't concern the workload any more, and lowers the modes that were lowered. Nothing becomes stricter for
// a release that has begun.
func loosen(verification *appv1alpha1.ReleaseVerification, now []appv1alpha1.VerificationPolicy) {
	verification.Policies = slices.DeleteFunc(verification.Policies, func(applied appv1alpha1.AppliedPolicy) bool {
		return presentPolicy(now, applied.UID) == nil
	})
	for i := range verification.Policies {
		applied := &verification.Policies[i]
		present := presentPolicy(now, applied.UID)
		applied.Mode = lowerMode(applied.Mode, present.Spec.Mode)
		for j := range applied.Checks {
			check := &applied.Checks[j]
			if k := slices.IndexFunc(present.Spec.Checks, func(other appv1alpha1.VerificationCheck) bool { return other.Name == check.Name }); k >= 0 {
				check.Mode = lowerMode(check.Mode, present.Spec.Checks[k].Mode)
			}
		}
	}
}

func presentPolicy(policies []appv1alpha1.VerificationPolicy, uid types.UID) *appv1alpha1.VerificationPolicy {
	for i := range policies {
		if policies[i].UID == uid {
			return &policies[i]
		}
	}
	return nil
}

// lowerMode returns the lower one of two modes, of which an empty one is no limit.
func lowerMode(a, b appv1alpha1.CheckMode) appv1alpha1.CheckMode {
	order := []appv1alpha1.CheckMode{appv1alpha1.CheckObserve, appv1alpha1.CheckWarn, appv1alpha1.CheckEnforce}
	if a == "" || b != "" && slices.Index(order, b) < slices.Index(order, a) {
		return b
	}
	return a
}

// makeCheck makes one check, and merges what it finds with its result. Pods are added to those that failed.
func makeCheck(
	result *appv1alpha1.CheckResult, policy *appv1alpha1.AppliedPolicy, check *appv1alpha1.VerificationCheck, seen Observation, now time.Time,
) (again time.Duration) {
	mode, found := lowerMode(policy.Mode, check.Mode), find(check, seen.Verification.Pods, now)
	if seen.Verification.Pods == nil {
		found = podhealth.Finding{
			Verdict: appv1alpha1.CheckSkipped, Reason: appv1alpha1.ReasonNoPods, Message: "a " + seen.Kind + " has no pods that keep running",
		}
	}
	switch {
	case result.Verdict == appv1alpha1.CheckFail:
		if found.Verdict == appv1alpha1.CheckFail && result.Mode == mode {
			addPods(result, found.Pods)
		}
	case found.Verdict == appv1alpha1.CheckPass, found.Verdict == result.Verdict: // what was inconclusive stays so
		result.Mode = mode
	default:
		result.Mode, result.Verdict, result.Reason, result.Since = mode, found.Verdict, found.Reason, metav1.NewTime(now.Truncate(time.Second))
		result.Message = Shorten(found.Message, maxCheckText)
		addPods(result, found.Pods)
	}
	return found.Again
}

// find returns what a check finds of pods.
func find(check *appv1alpha1.VerificationCheck, pods *podhealth.Scene, now time.Time) podhealth.Finding {
	if pods == nil {
		return podhealth.Finding{}
	}
	var signals []appv1alpha1.PodSignal
	if check.PodHealth != nil {
		signals = check.PodHealth.Signals
	}
	return podhealth.Judge(pods, signals, now)
}

// MayFail reports whether a check of a release would fail further pods if nothing excuses it: then it is worth looking for a common cause.
func MayFail(workload *appv1alpha1.ChangeWorkload, pods *podhealth.Scene, now time.Time) bool {
	watched := WatchedPolicies(workload, now)
	if len(watched) == 0 || !slices.ContainsFunc(pods.New, func(pod podhealth.Pod) bool { return pod.IsTroubled() }) {
		return false
	}
	for i := range workload.Status.Verification.Policies {
		policy := &workload.Status.Verification.Policies[i]
		if !slices.Contains(watched, policy.UID) {
			continue
		}
		for j := range policy.Checks {
			known := storedResult(workload.Status.Checks, policy, &policy.Checks[j], now)
			if slices.ContainsFunc(find(&policy.Checks[j], pods, now).Pods, func(pod appv1alpha1.CheckedPod) bool { return !hasPod(&known, pod.UID) }) {
				return true
			}
		}
	}
	return false
}
