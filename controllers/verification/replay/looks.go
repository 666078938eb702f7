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

package replay

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
)

// policyUID is the UID of the policy, which may be in no cluster.
const policyUID types.UID = "replayed"

// reasonNotStored is the reason of a check that can't be replayed.
const reasonNotStored = "NotStored"

// Read reads the metrics of a release that a check asks for at a time.
type Read func(ctx context.Context, release *checks.Scene, asked decide.AskedCheck, at time.Time) (measure.Readings, error)

// Run makes the checks of a policy that look at metrics, at each of their looks until the watch ended or a time, and returns the results of
// all checks.
func (p *Past) Run(ctx context.Context, policy *appv1alpha1.VerificationPolicy, read Read, until time.Time) ([]appv1alpha1.CheckResult, error) {
	replayed := p.replayed(policy)
	begun := appv1alpha1.ReleaseVerification{Policies: []appv1alpha1.AppliedPolicy{{
		Policy: replayed.Namespace + "/" + replayed.Name, UID: policyUID, VerificationTerms: replayed.Spec.VerificationTerms,
	}}}
	var results []appv1alpha1.CheckResult
	for _, at := range decide.ReplayedLooks(p.record(begun, nil), &begun.Policies[0], p.Release.Began, earlier(until, p.Ended)) {
		record, release := p.record(begun, results), p.releaseAt(at)
		seen := decide.Verification{
			Policies: []appv1alpha1.VerificationPolicy{replayed}, Pods: &release, Readings: map[decide.CheckID]measure.Readings{},
		}
		for _, asked := range decide.ReplayedChecks(record, &release, at) {
			readings, err := read(ctx, &release, asked, at)
			if err != nil {
				return nil, err
			}
			seen.Readings[asked.CheckID] = readings
		}
		results = decide.Replay(record, seen, at)
	}
	return append(results, skipped(policy)...), nil
}

// replayed returns a policy with the checks that look at metrics, and with the watch of the release.
func (p *Past) replayed(policy *appv1alpha1.VerificationPolicy) appv1alpha1.VerificationPolicy {
	replayed := *policy.DeepCopy()
	replayed.UID = policyUID
	terms := &replayed.Spec.VerificationTerms
	terms.FailWhen = "" // it may name checks that can't be replayed
	terms.WatchSeconds = int32(p.Ended.Sub(p.Release.Began) / time.Second)
	terms.BakeSeconds = terms.WatchSeconds
	terms.Checks = slices.DeleteFunc(terms.Checks, func(check appv1alpha1.VerificationCheck) bool { return Measured(&check) == nil })
	return replayed
}

// Measured returns how a check that can be replayed looks at metrics, nil for one that can't. When a release waited for one of a phase isn't known.
func Measured(check *appv1alpha1.VerificationCheck) measure.Check {
	if decide.IsPhased(check.Phase) {
		return nil
	}
	return decide.Measured(check)
}

// record returns what the checks know of the release: that their watch ends some time after it began.
func (p *Past) record(begun appv1alpha1.ReleaseVerification, results []appv1alpha1.CheckResult) *appv1alpha1.ChangeWorkload {
	record := &appv1alpha1.ChangeWorkload{}
	record.UID = p.Record
	record.Spec.Release = p.Release.Number
	record.Spec.WorkloadRef = &appv1alpha1.WorkloadReference{Kind: p.Release.Kind}
	record.Status = appv1alpha1.ChangeWorkloadStatus{
		ObservedRelease: p.Release.Number, Status: appv1alpha1.ChangeWorkloadSuccess, EntryTimeUnix: p.Release.Began.Unix(),
		Verification: begun.DeepCopy(), Checks: results,
	}
	return record
}

// releaseAt returns the release with the pods that had finished at a time.
func (p *Past) releaseAt(at time.Time) checks.Scene {
	release := p.Release
	release.New = slices.DeleteFunc(slices.Clone(release.New), func(pod checks.Pod) bool { return pod.Since.After(at) })
	return release
}

// skipped returns the results of the checks that can't be replayed.
func skipped(policy *appv1alpha1.VerificationPolicy) (results []appv1alpha1.CheckResult) {
	for i := range policy.Spec.Checks {
		check := &policy.Spec.Checks[i]
		if Measured(check) != nil {
			continue
		}
		message := "it asks others, who answer of the present"
		switch {
		case decide.Measured(check) != nil:
			message = "when the release waited for a check of a phase is not stored"
		case check.Type == appv1alpha1.CheckPodHealth, check.Type == appv1alpha1.CheckRule:
			message = "the past status of pods is not stored"
		}
		results = append(results, appv1alpha1.CheckResult{
			Policy: policy.Name, Name: check.Name, Type: check.Type, Verdict: appv1alpha1.CheckSkipped, Reason: reasonNotStored, Message: message,
		})
	}
	return results
}
