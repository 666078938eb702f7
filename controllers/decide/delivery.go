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

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Delivery is what a new ChangeRecord adds to the measures of delivery.
type Delivery struct {
	// Counts are the outcomes to count: that of the record, and that of the release before which a rollback was made after its verification.
	Counts []DeliveryCount
	// Release reports whether the record is the first one of its release. Took is how long the release took to its outcome.
	Release bool
	Took    time.Duration
	// Lead is how long the release took from its commit, nil where that isn't known, or nothing new was delivered.
	Lead *time.Duration
	// RecoveredBy is what ended a failure, empty where none ended. Recovery is how long that took.
	RecoveredBy RecoveredBy
	Recovery    time.Duration
	// Checked and Unchecked are the pods of the release that were checked, and those that weren't.
	Checked, Unchecked int32
}

// DeliveryCount is an outcome of a release to count.
type DeliveryCount struct {
	Type    appv1alpha1.ReleaseType
	Outcome appv1alpha1.ReleaseOutcome
	// Corrects is the outcome that the release was counted with before, empty where it wasn't.
	Corrects appv1alpha1.ReleaseOutcome
}

// RecoveredBy is what ended the failure of a workload.
type RecoveredBy string

const (
	// ByRollback is the verified release of a rollback.
	ByRollback RecoveredBy = "rollback"
	// ByRepair is another verified release.
	ByRepair RecoveredBy = "repair"
	// ByWithdrawal is a bad verdict that was withdrawn.
	ByWithdrawal RecoveredBy = "withdrawn"
)

// DeliveryOf returns what a new ChangeRecord adds to the measures of delivery. previous is the record that it follows, nil for the first one.
func DeliveryOf(record, previous *appv1alpha1.ChangeRecord) Delivery {
	spec := &record.Spec
	own := previous != nil && isSameRelease(spec, &previous.Spec)
	count := DeliveryCount{Type: spec.Type, Outcome: spec.Outcome}
	if own {
		count.Corrects = previous.Spec.Outcome
	}
	delivery := Delivery{Counts: []DeliveryCount{count}, Release: spec.Correction == 0, Lead: leadOf(spec, previous, own)}
	delivery.RecoveredBy, delivery.Recovery = recoveryOf(spec, previous, own)
	if !delivery.Release {
		return delivery
	}
	if left := leftVerified(spec, previous); left != nil {
		delivery.Counts = append(delivery.Counts, *left)
	}
	delivery.Took = max(spec.EndedAt.Sub(spec.StartedAt.Time), 0)
	delivery.Checked, delivery.Unchecked = podsOf(spec)
	return delivery
}

// isSameRelease reports whether two records are of one release.
func isSameRelease(a, b *appv1alpha1.ChangeRecordSpec) bool {
	return a.Release == b.Release && a.Version == b.Version && a.StartedAt.Unix() == b.StartedAt.Unix()
}

// leftVerified returns the outcome to count of the release before, if a rollback left it after its verification. Its own record stays Verified.
func leftVerified(spec *appv1alpha1.ChangeRecordSpec, previous *appv1alpha1.ChangeRecord) *DeliveryCount {
	if spec.Rollback == nil || previous == nil {
		return nil
	}
	left := &previous.Spec
	if left.Release != spec.Rollback.Release || left.Version != spec.Rollback.Version || left.Outcome != appv1alpha1.OutcomeVerified {
		return nil
	}
	return &DeliveryCount{Type: left.Type, Outcome: appv1alpha1.OutcomeRolledBack, Corrects: appv1alpha1.OutcomeVerified}
}

// leadOf returns how long a release took from its commit to its first verification. A commit time that the release before had already isn't
// that of what the release changed, and a rollback delivers nothing new.
func leadOf(spec *appv1alpha1.ChangeRecordSpec, previous *appv1alpha1.ChangeRecord, own bool) *time.Duration {
	switch {
	case spec.Outcome != appv1alpha1.OutcomeVerified, spec.Type == appv1alpha1.TypeRollback, spec.CommitTime == nil,
		spec.Correction > 1, // it was verified before
		previous != nil && !own && previous.Spec.CommitTime.Equal(spec.CommitTime),
		spec.CommitTime.After(spec.EndedAt.Time):
		return nil
	}
	lead := spec.EndedAt.Sub(spec.CommitTime.Time)
	return &lead
}

// recoveryOf returns what ended a failure, and how long it took, empty where none ended.
func recoveryOf(spec *appv1alpha1.ChangeRecordSpec, previous *appv1alpha1.ChangeRecord, own bool) (RecoveredBy, time.Duration) {
	if spec.Outcome != appv1alpha1.OutcomeVerified {
		return "", 0
	}
	var since *metav1.Time
	if previous != nil {
		since = stillFailing(&previous.Spec)
	}
	by := ByRepair
	switch {
	case own && previous.Spec.Outcome == appv1alpha1.OutcomeFailed:
		by = ByWithdrawal
	case spec.Rollback != nil:
		by = ByRollback
		if since == nil && spec.Correction == 0 {
			since = &spec.Rollback.Time
		}
	}
	if since == nil {
		return "", 0
	}
	return by, max(spec.EndedAt.Sub(since.Time), 0)
}

// podsOf returns the pods of a release that were checked, and those that weren't. Where the release wasn't checked, all others came without.
func podsOf(spec *appv1alpha1.ChangeRecordSpec) (checked, unchecked int32) {
	pods := spec.Pods
	checked, unchecked = max(pods.Passed-pods.Unchecked, 0)+pods.Failed, pods.Unchecked
	if spec.Outcome == appv1alpha1.OutcomeUnchecked {
		unchecked = max(pods.Desired-checked, unchecked)
	}
	return checked, unchecked
}

// NewPasses returns the steps that users let a release pass since an earlier status of it.
func NewPasses(before, after *appv1alpha1.ChangeWorkloadStatus) []appv1alpha1.PacePass {
	switch {
	case after.Pace == nil:
		return nil
	case before.Pace == nil:
		return after.Pace.Passes
	}
	return slices.DeleteFunc(slices.Clone(after.Pace.Passes), func(pass appv1alpha1.PacePass) bool {
		return slices.ContainsFunc(before.Pace.Passes, isSamePass(pass))
	})
}

// isSamePass returns a function that reports whether a user asked for the same as by a pass.
func isSamePass(as appv1alpha1.PacePass) func(appv1alpha1.PacePass) bool {
	return func(pass appv1alpha1.PacePass) bool { return pass.To == as.To && pass.User == as.User }
}

// ApprovalWait returns how long the step that began since an earlier status of a release had waited for approvals alone. waited reports
// whether it had.
func ApprovalWait(before, after *appv1alpha1.ChangeWorkloadStatus) (wait time.Duration, waited bool) {
	if before.Pace == nil || before.Pace.ApprovalSince == nil || after.Pace == nil || after.Pace.Step <= before.Pace.Step || after.Pace.Since == nil {
		return 0, false
	}
	return max(after.Pace.Since.Sub(before.Pace.ApprovalSince.Time), 0), true
}

// Spared returns how many pods of a release that was stopped don't get its version, given how many have it.
func Spared(status *appv1alpha1.ChangeWorkloadStatus, pods int) int {
	counts := status.Counts
	return max(int(counts.Desired)-max(pods, int(counts.Preparing+counts.Checking+counts.Passed+counts.Failed)), 0)
}

// failingSince returns when a workload began to fail that still does at the end of a release, nil where it doesn't.
func failingSince(spec *appv1alpha1.ChangeRecordSpec, previous *appv1alpha1.ChangeRecord, end Ending) *metav1.Time {
	if spec.Outcome == appv1alpha1.OutcomeVerified || spec.Outcome == appv1alpha1.OutcomeUnchecked {
		return nil
	}
	if previous != nil {
		if since := stillFailing(&previous.Spec); since != nil {
			return since
		}
	}
	switch {
	case spec.Rollback != nil:
		return &spec.Rollback.Time
	case spec.Outcome == appv1alpha1.OutcomeFailed:
		return &spec.EndedAt
	case spec.Outcome == appv1alpha1.OutcomeRolledBack:
		return &end.RolledBack.Time
	}
	return nil
}

// stillFailing returns when a workload began to fail that still did at the end of a release, nil where it didn't. Records from before
// failingSince have the end of the release alone.
func stillFailing(spec *appv1alpha1.ChangeRecordSpec) *metav1.Time {
	isBad := spec.Outcome == appv1alpha1.OutcomeFailed || spec.Outcome == appv1alpha1.OutcomeRolledBack
	if spec.FailingSince == nil && isBad {
		return &spec.EndedAt
	}
	return spec.FailingSince
}
