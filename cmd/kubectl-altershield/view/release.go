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

// Package view turns the objects of the API server into what the plugin shows: pure functions, without I/O and without a clock.
package view

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// APIVersion is the version of everything that is printed as JSON or YAML.
const APIVersion = "cli.altershield/v1"

// State is the state of a release. The values are a contract.
type State string

const (
	// Pending means that the operator has not looked at the release yet.
	Pending State = "Pending"
	// Running means that pods are awaited or checked.
	Running State = "Running"
	// Waiting means that the release waits for a user, a freeze or the next run: nothing goes on by itself right now.
	Waiting State = "Waiting"
	// Success means that every desired pod passed.
	Success State = "Success"
	// Suspend means that a pod failed.
	Suspend State = "Suspend"
	// RolledBack means that the workload went back from the release. In a list of workloads: the present release is that rollback.
	RolledBack State = "RolledBack"
	// Superseded means that another release began before this one was verified.
	Superseded State = "Superseded"
	// Failed means that AlterShield Server refused the release, or that its Job failed, so that there is nothing to check.
	Failed State = "Failed"
	// NotChecked means that the release is not checked.
	NotChecked State = "NotChecked"
)

// IsFinal reports whether a release stays in a state until a user acts.
func (s State) IsFinal() bool { return s != Pending && s != Running && s != Waiting }

// Release is one release of a workload.
type Release struct {
	Namespace  string `json:"namespace"`
	Kind       string `json:"kind"`
	APIVersion string `json:"workloadAPIVersion,omitempty"`
	Workload   string `json:"workload"`
	// Record is the name of the ChangeWorkload.
	Record  string `json:"changeWorkload"`
	Number  int64  `json:"release"`
	Version string `json:"version"`
	State   State  `json:"state"`
	// Reason is that of the condition Verified, or of the rollback.
	Reason string `json:"reason,omitempty"`
	// Why is a sentence about the state.
	Why string `json:"why,omitempty"`
	// By is the author.
	By string `json:"by,omitempty"`
	// ReleaseReason is why the release was made, as its author says.
	ReleaseReason string `json:"releaseReason,omitempty"`
	// Started is when the release was recorded, Since when it entered its state.
	Started *metav1.Time `json:"started,omitempty"`
	Since   *metav1.Time `json:"since,omitempty"`
	// TookSeconds is the time until it was verified.
	TookSeconds int64 `json:"tookSeconds,omitempty"`
	Pods        Pods  `json:"pods"`
	// Changes are the changes of the content; values that may be secret are not shown.
	Changes []string `json:"changes,omitempty"`
	// Kept reports whether the content is kept.
	Kept bool `json:"kept,omitempty"`
	// Target reports whether a rollback can lead to it. Only a history shows that.
	Target bool `json:"target,omitempty"`
	// Current reports whether the workload is at this release.
	Current bool `json:"current,omitempty"`
	// Observed reports whether the kind was only observed.
	Observed bool `json:"observed,omitempty"`
	// Repair reports whether the label ignored-suspend let the release through.
	Repair bool `json:"repair,omitempty"`
	// RollbackOf is the release that this one is the rollback of; 0 if it is none.
	RollbackOf int64 `json:"rollbackOf,omitempty"`
	// NotSuspended reports whether the release failed and its workload isn't suspended: the setting blocking is off, its kind is only observed, or
	// it is a Job.
	NotSuspended bool `json:"notSuspended,omitempty"`
	// RefusedUntil is the end of the quarantine of the version.
	RefusedUntil *metav1.Time `json:"refusedUntil,omitempty"`
	// Step is the step of a release that is rolled out in steps, such as 2/3.
	Step string `json:"step,omitempty"`
}

// Pods counts the pods of a release.
type Pods struct {
	Desired  int32 `json:"desired"`
	Waiting  int32 `json:"waiting"`
	Checking int32 `json:"checking"`
	Passed   int32 `json:"passed"`
	Failed   int32 `json:"failed"`
}

// Left returns how many desired pods don't run the release yet, as far as the counts show.
func (p Pods) Left() int32 { return max(0, p.Desired-p.Waiting-p.Checking-p.Passed-p.Failed) }

// releaseOf returns the release of a record.
func releaseOf(record *appv1alpha1.ChangeWorkload) Release {
	reference := record.Workload()
	release := Release{
		Namespace: record.Namespace, Kind: reference.Kind, APIVersion: reference.APIVersion, Workload: reference.Name,
		Record: record.Name, Number: record.Spec.Release, Version: record.Spec.Reversion,
		By: record.Spec.ReleasedBy, ReleaseReason: record.Spec.ReleaseReason, Changes: record.Spec.Changes, Observed: record.Spec.Observed, Repair: record.Spec.IgnoredSuspend,
		Started: unixTime(record.Spec.CreateTimeUnix), Since: unixTime(record.Status.EntryTimeUnix),
	}
	if record.Spec.Rollback != nil {
		release.RollbackOf = record.Spec.Rollback.Release
	}
	release.State, release.Reason, release.Why = stateOf(record)
	release.Why = together(release.Why, record.Status.DefenseCheckFailPods)
	if suspends := meta.FindStatusCondition(record.Status.Conditions, appv1alpha1.ConditionSuspended); release.State == Suspend && suspends != nil &&
		suspends.Status == metav1.ConditionFalse && suspends.Reason != appv1alpha1.ReasonLifted {
		release.NotSuspended, release.Why = true, release.Why+"; "+suspends.Message
	}
	if release.State == Suspend && isJob(reference) && release.Reason != appv1alpha1.ReasonRefused { // only Jobs like it are suspended
		release.NotSuspended = true
	}
	if isParked(record) && release.State == Suspend {
		release.Why += "; " + meta.FindStatusCondition(record.Status.Conditions, appv1alpha1.ConditionParked).Message
	}
	if record.Status.ObservedRelease != record.Spec.Release {
		release.Since = release.Started // the status is that of an earlier release of the version
		return release
	}
	counts := record.Status.Counts
	release.Pods = Pods{Desired: counts.Desired, Waiting: counts.Preparing, Checking: counts.Checking, Passed: counts.Passed, Failed: counts.Failed}
	if record.Status.Pace != nil {
		release.Step = record.Status.Pace.Progress
	}
	if decide.IsSettled(record) && record.Status.EntryTimeUnix > record.Spec.CreateTimeUnix {
		release.TookSeconds = record.Status.EntryTimeUnix - record.Spec.CreateTimeUnix
	}
	return release
}

func isParked(record *appv1alpha1.ChangeWorkload) bool {
	return meta.IsStatusConditionTrue(record.Status.Conditions, appv1alpha1.ConditionParked)
}

// stateOf returns the state of a release, its reason and a sentence.
func stateOf(record *appv1alpha1.ChangeWorkload) (state State, reason, why string) {
	if record.Status.ObservedRelease != record.Spec.Release {
		return Pending, "", ""
	}
	conditions := record.Status.Conditions
	if back := meta.FindStatusCondition(conditions, appv1alpha1.ConditionRolledBack); back != nil && back.Status == metav1.ConditionTrue {
		return RolledBack, back.Reason, back.Message
	}
	verified := meta.FindStatusCondition(conditions, appv1alpha1.ConditionVerified)
	if verified == nil {
		return Pending, "", ""
	}
	return stateByReason(record, verified), verified.Reason, decide.Explanation(conditions, verified)
}

func stateByReason(record *appv1alpha1.ChangeWorkload, verified *metav1.Condition) State {
	switch {
	case record.Status.Status == appv1alpha1.ChangeWorkloadSuspend, verified.Reason == appv1alpha1.ReasonRefused:
		return Suspend
	case verified.Status == metav1.ConditionTrue:
		return Success
	case verified.Reason == appv1alpha1.ReasonSuperseded:
		return Superseded
	case verified.Reason == appv1alpha1.ReasonOrderRefused, verified.Reason == appv1alpha1.ReasonRunFailed:
		return Failed
	case slices.Contains(unchecked(), verified.Reason):
		return NotChecked
	case slices.Contains(waiting(), verified.Reason), strings.HasSuffix(verified.Reason, appv1alpha1.ReasonPaused("")):
		return Waiting
	case verified.Reason == appv1alpha1.ReasonPaced && !decide.IsInProgress(record):
		return Waiting
	}
	return Running
}

// unchecked returns the reasons for which a release isn't checked.
func unchecked() []string {
	return []string{
		appv1alpha1.ReasonNamespaceOptedOut, appv1alpha1.ReasonKindNotEnforced, appv1alpha1.ReasonKindNotObserved,
		appv1alpha1.ReasonTemplateUnseen, appv1alpha1.ReasonTemplateUnstamped, appv1alpha1.ReasonNoReplicas,
	}
}

// waiting returns the reasons for which a release waits.
func waiting() []string {
	return []string{appv1alpha1.ReasonParked, appv1alpha1.ReasonFrozen, appv1alpha1.ReasonAwaitingRun, appv1alpha1.ReasonRunBlocked}
}

func unixTime(seconds int64) *metav1.Time {
	if seconds == 0 {
		return nil
	}
	at := metav1.NewTime(time.Unix(seconds, 0).UTC())
	return &at
}
