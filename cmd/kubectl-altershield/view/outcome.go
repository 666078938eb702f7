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

package view

import (
	"slices"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// Outcome is how far the release is that a user waits for.
type Outcome struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	// Release is what is known of it.
	Release Release `json:"release"`
	// By is the release that took its place; 0 if none did.
	By int64 `json:"by,omitempty"`
	// Done reports whether it has ended.
	Done bool `json:"done"`
}

// Awaited returns the release of a workload to wait for: the one made last. Where the operator went back by itself, it is the release that it
// went back from: a pipeline that made a bad release must not see the success of its rollback.
func Awaited(facts Facts) decide.Release {
	present, stamped, newest := decide.Release{}, decide.Release{}, PresentOf(facts.Records)
	if newest != nil {
		present = decide.Recorded(newest)
	}
	if facts.Workload != nil {
		stamped = decide.ReleaseOf(facts.Workload)
	}
	// What is only observed since has the version of its last release that was not.
	isPast := newest != nil && newest.Spec.Observed && presentRecord(facts) != nil
	if stamped.Version != "" && !isPast {
		present = stamped
	}
	if back := decide.RollbackTo(rollbacksOf(facts), present.Number); back != nil && back.IsAutomatic() {
		return decide.Release{Version: back.Version, Number: back.Release}
	}
	return present
}

// IsRollbackAsked reports whether a user asked for a rollback that the operator neither made nor refused yet.
func IsRollbackAsked(facts Facts) bool {
	return facts.Workload != nil && facts.Workload.GetAnnotations()[appv1alpha1.AnnotationRollback] != ""
}

// MayLag reports whether a workload may have a release that isn't recorded yet, and that nothing but its record tells of: its kind is only
// observed, or may be, and it has no record of that, or has changed since the newest one. That change may be no release, such as another number
// of replicas.
func MayLag(facts Facts) bool {
	if facts.Workload == nil {
		return false
	}
	if record := PresentOf(facts.Records); record != nil {
		return record.Spec.Observed && facts.Workload.GetGeneration() > record.Spec.Release || !record.Spec.Observed && facts.Observed
	}
	return facts.Observed || decide.ReleaseOf(facts.Workload).Version == ""
}

// IsGone reports whether a workload was deleted since it was read, also if there is another one of its name.
func IsGone(before, fresh Facts) bool {
	if fresh.Workload == nil {
		return !slices.ContainsFunc(fresh.Notes, func(note Note) bool { return note.Lacks == LacksWorkload })
	}
	return before.Workload != nil && before.Workload.GetUID() != fresh.Workload.GetUID()
}

// RecordOf returns the record of a release, of which a user may name the number alone, nil if there is none. Observed releases are counted
// separately: if two have the number, the newer one is meant.
func RecordOf(facts Facts, named decide.Release) *appv1alpha1.ChangeWorkload {
	isAnother := func(record appv1alpha1.ChangeWorkload) bool {
		return record.Spec.Release != named.Number || named.Version != "" && record.Spec.Reversion != named.Version
	}
	return PresentOf(slices.DeleteFunc(slices.Clone(facts.Records), isAnother))
}

// rollbackFrom returns the rollback that ended a release, nil where none did. It outlasts the record of the release, of which a user may name the
// number alone.
func rollbackFrom(facts Facts, release decide.Release) *appv1alpha1.Rollback {
	rollbacks := rollbacksOf(facts)
	if release.Version != "" {
		return decide.RollbackFrom(rollbacks, release)
	}
	for i := range rollbacks {
		if rollbacks[i].Release == release.Number && rollbacks[i].IsSound() {
			return &rollbacks[i]
		}
	}
	return nil
}

// OutcomeOf returns how far a release of a workload is.
func OutcomeOf(facts Facts, awaited decide.Release) Outcome {
	record := RecordOf(facts, awaited)
	if record != nil {
		awaited = decide.Recorded(record)
	}
	outcome := Outcome{Kind: "ReleaseOutcome", APIVersion: APIVersion, Release: Release{
		Namespace: facts.Namespace, Kind: facts.Reference.Kind, APIVersion: facts.Reference.APIVersion, Workload: facts.Reference.Name,
		Number: awaited.Number, Version: awaited.Version, State: Pending,
	}}
	present := decide.Release{}
	if facts.Workload != nil {
		present = decide.ReleaseOf(facts.Workload)
	}
	if record != nil {
		outcome.Release = releaseOf(record)
	}
	back := rollbackFrom(facts, awaited)
	switch {
	case (facts.Workload != nil || facts.Uncontrolled) && awaited.Number == 0:
		outcome.Release.State, outcome.Release.Reason = NotChecked, "NotControlled"
	case back != nil:
		outcome.Release.State, outcome.Release.Reason, outcome.By = RolledBack, string(back.Reason), back.ToRelease
		outcome.Release.Version = back.Version
		if back.Message != "" {
			outcome.Release.Why = back.Message
		}
	case awaited.Version != "" && present.Number > awaited.Number && !outcome.Release.State.IsFinal():
		outcome.Release.State, outcome.Release.Reason = Superseded, appv1alpha1.ReasonSuperseded
	}
	if outcome.By == 0 && awaited.Number > 0 && present.Number > awaited.Number {
		outcome.By = present.Number
	}
	outcome.Done = outcome.Release.State.IsFinal()
	return outcome
}

// IsForgotten reports whether nothing tells how a release ended that a user named by its number: it has no record, neither has the workload a
// rollback from it, and is at a later one.
func IsForgotten(facts Facts, outcome Outcome) bool {
	return outcome.Release.Number > 0 && outcome.Release.Version == "" && Awaited(facts).Number > outcome.Release.Number
}
