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

	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/plugin"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/rule"
)

// Verification is what is known for the checks of a release by VerificationPolicies.
type Verification struct {
	// Policies are those that concern the workload now.
	Policies []appv1alpha1.VerificationPolicy
	// OldPods is what the pods that don't run the release have been through.
	OldPods appv1alpha1.OldPods
	// Pods has the pods, nil where the workload has none that keep running.
	Pods *checks.Scene
	// Rules compiles the rules of the policies.
	Rules *rule.Compiler
	// Readings are the answers that the checks of AskedChecks asked for.
	Readings map[CheckID]measure.Readings
	// Answers are those to Questions.
	Answers map[CheckID]plugin.Answer
	// Awaited are the checks whose look is under way, or that have yet to look in their turn: neither Readings nor Answers have it yet.
	Awaited map[CheckID]bool
	// Since is since when this process leads and reaches the API server: before, nobody was asked.
	Since time.Time
	// Replayed reports whether a past release is looked at, for which no check waits for its turn.
	Replayed bool
}

// maxCheckText is the most bytes of a message of a check.
const maxCheckText = 256

// beginVerification returns how a new release is checked, nil where no policy concerns its workload.
func beginVerification(seen Observation) *appv1alpha1.ReleaseVerification {
	var begun appv1alpha1.ReleaseVerification
	checks := 0
	for i := range seen.Verification.Policies {
		policy := &seen.Verification.Policies[i]
		name := policy.Namespace + "/" + policy.Name
		if checks+len(policy.Spec.Checks) > appv1alpha1.MaxCheckResults || len(begun.Policies) == appv1alpha1.MaxAppliedPolicies {
			if len(begun.LeftOut) < appv1alpha1.MaxLeftOut {
				begun.LeftOut = append(begun.LeftOut, name)
			}
			continue
		}
		checks += len(policy.Spec.Checks)
		begun.Policies = append(begun.Policies, appv1alpha1.AppliedPolicy{
			Policy: name, UID: policy.UID, Generation: policy.Generation, VerificationTerms: *policy.Spec.VerificationTerms.DeepCopy(),
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
	if status.Verification == nil {
		return 0
	}
	if !seen.Current || !seen.OptedIn {
		endHolds(status.Checks)
		return 0
	}
	watched, begun := WatchedPolicies(workload, now), isObserved(workload)
	if begun && len(watched) == 0 { // then the present policies were not looked for
		return 0
	}
	loosen(status.Verification, seen.Verification.Policies)
	known, of := status.Checks, examination{
		workload: workload, verification: status.Verification, seen: seen.Verification, kind: seen.Kind, pace: &seen.Pace, bakes: bakesOf(status, seen.Batches),
		checked: seen.checked(), server: seen.Verifier, now: now,
	}
	if !seen.Verification.Replayed {
		of.turns = turnsOf(status.Verification)
	}
	status.Checks = nil
	for i := range status.Verification.Policies {
		policy, first := &status.Verification.Policies[i], len(status.Checks)
		for j := range policy.Checks {
			check := &policy.Checks[j]
			result := storedResult(known, policy, check, now)
			if slices.Contains(watched, policy.UID) {
				again = Sooner(again, of.makeCheck(&result, policy, check))
			}
			status.Checks = append(status.Checks, result)
		}
		enforce(policy, status.Checks[first:], seen.Verification.Rules)
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
// watches it afterwards. The last look at metrics is after that.
func WatchedPolicies(workload *appv1alpha1.ChangeWorkload, now time.Time) []types.UID {
	verification := workload.Status.Verification
	if verification == nil || !isObserved(workload) {
		return nil
	}
	if !wasVerified(&workload.Status) {
		return policiesOf(verification)
	}
	var watched []types.UID
	for i := range verification.Policies {
		policy := &verification.Policies[i]
		if now.Before(watchEnd(policy, &workload.Status)) || hasPendingLook(policy, workload.Status.Checks) {
			watched = append(watched, policy.UID)
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
// a release that has begun, but that verdicts of AlterShield Server count by themselves once no policy judges them.
func loosen(verification *appv1alpha1.ReleaseVerification, now []appv1alpha1.VerificationPolicy) {
	verification.Policies = slices.DeleteFunc(verification.Policies, func(applied appv1alpha1.AppliedPolicy) bool {
		return presentPolicy(now, applied.UID) == nil
	})
	for i := range verification.Policies {
		applied := &verification.Policies[i]
		present := presentPolicy(now, applied.UID)
		applied.Mode = LowerMode(applied.Mode, present.Spec.Mode)
		for j := range applied.Checks {
			check := &applied.Checks[j]
			if k := slices.IndexFunc(present.Spec.Checks, func(other appv1alpha1.VerificationCheck) bool { return other.Name == check.Name }); k >= 0 {
				check.Mode = LowerMode(check.Mode, present.Spec.Checks[k].Mode)
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

// LowerMode returns the lower one of two modes, of which an empty one is no limit.
func LowerMode(a, b appv1alpha1.CheckMode) appv1alpha1.CheckMode {
	order := []appv1alpha1.CheckMode{appv1alpha1.CheckObserve, appv1alpha1.CheckWarn, appv1alpha1.CheckEnforce}
	if a == "" || b != "" && slices.Index(order, b) < slices.Index(order, a) {
		return b
	}
	return a
}

// HasRules reports whether a check of a release is a rule, which judges by the old pods as well.
func HasRules(verification *appv1alpha1.ReleaseVerification, policies []appv1alpha1.VerificationPolicy) bool {
	isRule := func(check appv1alpha1.VerificationCheck) bool { return check.Type == appv1alpha1.CheckRule }
	return verification != nil && slices.ContainsFunc(verification.Policies, func(applied appv1alpha1.AppliedPolicy) bool {
		return slices.ContainsFunc(applied.Checks, isRule)
	}) || slices.ContainsFunc(policies, func(policy appv1alpha1.VerificationPolicy) bool {
		return slices.ContainsFunc(policy.Spec.Checks, isRule)
	})
}

// MayFail reports whether a check of the health of pods would fail further ones if nothing excuses it: then it is worth looking for a common cause.
func MayFail(workload *appv1alpha1.ChangeWorkload, pods *checks.Scene, now time.Time) bool {
	watched := WatchedPolicies(workload, now)
	if len(watched) == 0 || !slices.ContainsFunc(pods.New, func(pod checks.Pod) bool { return pod.IsTroubled() }) {
		return false
	}
	for i := range workload.Status.Verification.Policies {
		policy := &workload.Status.Verification.Policies[i]
		if !slices.Contains(watched, policy.UID) {
			continue
		}
		for j := range policy.Checks {
			check := &policy.Checks[j]
			if check.Type != appv1alpha1.CheckPodHealth {
				continue
			}
			known := storedResult(workload.Status.Checks, policy, check, now)
			isFull := len(known.Pods) == appv1alpha1.MaxCheckedPods // no further pod would be added
			if !isFull && slices.ContainsFunc(judgeHealth(check, pods, now).Pods, func(pod appv1alpha1.CheckedPod) bool { return !hasPod(known.Pods, pod.UID) }) {
				return true
			}
		}
	}
	return false
}
