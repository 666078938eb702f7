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
	"cmp"
	"slices"
	"time"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// StoredRecord is a ChangeRecord and its hash, of what the API server stores.
type StoredRecord struct {
	appv1alpha1.ChangeRecord
	Hash string
}

// Export is what ChangeRecords tell of a period.
type Export struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	// Namespace is empty for all namespaces.
	Namespace string    `json:"namespace,omitempty"`
	From      time.Time `json:"from"`
	To        time.Time `json:"to"`
	// Counts counts the releases by outcome.
	Counts map[appv1alpha1.ReleaseOutcome]int `json:"counts"`
	Items  []ExportedRelease                  `json:"items"`
	// Verified reports whether the chains of the records were verified; Faults are the records that are missing or were edited.
	Verified bool                `json:"verified"`
	Faults   []decide.ChainFault `json:"faults"`
}

// ExportedRelease is a release by its newest ChangeRecord.
type ExportedRelease struct {
	Namespace string `json:"namespace"`
	// Record is the name of the ChangeRecord.
	Record string `json:"changeRecord"`
	// SHA256 is its hash.
	SHA256                       string `json:"sha256"`
	appv1alpha1.ChangeRecordSpec `json:",inline"`
	// RolledBackBy is the number of the release that went back from this one; 0 if none did.
	RolledBackBy int64 `json:"rolledBackBy,omitempty"`
}

// Period is the time of an export: releases that began at From or later, and before To.
type Period struct{ From, To time.Time }

// ExportOf returns the releases of a period, by namespace, workload and number. verify verifies the chains of all records, also those outside
// the period.
func ExportOf(records []StoredRecord, namespace string, period Period, verify bool) Export {
	export := Export{
		Kind: "ReleaseExport", APIVersion: APIVersion, Namespace: namespace, From: period.From, To: period.To,
		Counts: map[appv1alpha1.ReleaseOutcome]int{}, Items: []ExportedRelease{}, Verified: verify, Faults: []decide.ChainFault{},
	}
	if verify {
		export.Faults = append(export.Faults, decide.VerifyRecords(linksOf(records))...)
	}
	releases := newestOf(records)
	rollbacks := rollbacksAmong(releases)
	for _, record := range releases {
		started := record.Spec.StartedAt.Time
		if started.Before(period.From) || !started.Before(period.To) {
			continue
		}
		export.Counts[record.Spec.Outcome]++
		export.Items = append(export.Items, ExportedRelease{
			Namespace: record.Namespace, Record: record.Name, SHA256: record.Hash, ChangeRecordSpec: record.Spec, RolledBackBy: rollbacks[record],
		})
	}
	return export
}

// releaseKey has the number of a release. A later release has the same one if the count has begun anew in between.
type releaseKey struct {
	namespace, workload string
	number              int64
}

func releaseKeyOf(record *StoredRecord, number int64, observed bool) releaseKey {
	return releaseKey{record.Namespace, decide.RecordKey(record.Spec.Workload.UID, observed), number}
}

// rollbacksAmong returns the number of the release that went back from each of some releases, which are in the order of newestOf: the last one
// that a rollback can have left.
func rollbacksAmong(releases []*StoredRecord) map[*StoredRecord]int64 {
	byNumber := map[releaseKey][]*StoredRecord{}
	for _, record := range releases {
		key := releaseKeyOf(record, record.Spec.Release, record.Spec.Observed)
		byNumber[key] = append(byNumber[key], record)
	}
	rollbacks := map[*StoredRecord]int64{}
	for _, record := range releases {
		back := record.Spec.Rollback
		if back == nil {
			continue
		}
		for _, left := range slices.Backward(byNumber[releaseKeyOf(record, back.Release, false)]) {
			if left.Spec.Version == back.Version && !left.Spec.StartedAt.After(record.Spec.StartedAt.Time) {
				rollbacks[left] = record.Spec.Release
				break
			}
		}
	}
	return rollbacks
}

// newestOf returns the newest record of each release, by namespace, workload and number.
func newestOf(records []StoredRecord) []*StoredRecord {
	type began struct {
		releaseKey
		at int64
	}
	byRelease := map[began]*StoredRecord{}
	for i := range records {
		record := &records[i]
		key := began{releaseKeyOf(record, record.Spec.Release, record.Spec.Observed), record.Spec.StartedAt.Unix()}
		if known := byRelease[key]; known == nil || known.Spec.Correction < record.Spec.Correction {
			byRelease[key] = record
		}
	}
	newest := make([]*StoredRecord, 0, len(byRelease))
	for _, record := range byRelease {
		newest = append(newest, record)
	}
	slices.SortFunc(newest, func(a, b *StoredRecord) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Spec.Workload.Kind, b.Spec.Workload.Kind),
			cmp.Compare(a.Spec.Workload.Name, b.Spec.Workload.Name), cmp.Compare(a.Spec.Workload.UID, b.Spec.Workload.UID),
			cmp.Compare(a.Spec.Release, b.Spec.Release), a.Spec.StartedAt.Compare(b.Spec.StartedAt.Time))
	})
	return newest
}

func linksOf(records []StoredRecord) []decide.RecordLink {
	links := make([]decide.RecordLink, len(records))
	for i := range records {
		links[i] = decide.RecordLink{Namespace: records[i].Namespace, Name: records[i].Name, Hash: records[i].Hash, Previous: records[i].Spec.Previous}
	}
	return links
}

// SelectorOf returns the labels by which the records of a workload are found, also where it has none yet.
func SelectorOf(facts Facts) map[string]string {
	if len(facts.Records) > 0 {
		return Selector(&facts.Records[0])
	}
	if facts.Reference.Kind == "Deployment" {
		return map[string]string{appv1alpha1.LabelDeploymentName: decide.LabelValue(facts.Reference.Name)}
	}
	return map[string]string{appv1alpha1.LabelWorkload: decide.LabelValue(ResourceOf(facts) + "." + facts.Reference.Name)}
}

// addRecorded adds the releases of a workload to a history that ChangeRecords alone know.
func addRecorded(list []Release, facts Facts) []Release {
	for _, record := range newestOf(facts.Recorded) {
		spec := &record.Spec
		if hasRelease(list, spec.Release, spec.Observed) || facts.Workload != nil && spec.Workload.UID != facts.Workload.GetUID() {
			continue
		}
		release := Release{
			Namespace: record.Namespace, Kind: spec.Workload.Kind, APIVersion: spec.Workload.APIVersion, Workload: spec.Workload.Name,
			Number: spec.Release, Version: spec.Version, State: recordedState(spec.Outcome), Reason: spec.Reason, Why: spec.Message, By: spec.ReleasedBy,
			ReleaseReason: spec.ReleaseReason, Started: spec.StartedAt.DeepCopy(), Since: spec.EndedAt.DeepCopy(), Changes: spec.Changes, Observed: spec.Observed, Repair: spec.IgnoredSuspend,
			Pods: Pods{Desired: spec.Pods.Desired, Passed: spec.Pods.Passed, Failed: spec.Pods.Failed},
			Kept: slices.Contains(versionsOf(facts.Kept), spec.Version),
		}
		if spec.Rollback != nil {
			release.RollbackOf = spec.Rollback.Release
		}
		if spec.Outcome == appv1alpha1.OutcomeVerified {
			release.TookSeconds = max(0, int64(spec.EndedAt.Sub(spec.StartedAt.Time)/time.Second))
		}
		list = append(list, release)
	}
	return list
}

// recordedState returns the state of a release that has ended with an outcome.
func recordedState(outcome appv1alpha1.ReleaseOutcome) State {
	switch outcome {
	case appv1alpha1.OutcomeVerified:
		return Success
	case appv1alpha1.OutcomeFailed:
		return Suspend
	case appv1alpha1.OutcomeRolledBack:
		return RolledBack
	case appv1alpha1.OutcomeSuperseded:
		return Superseded
	}
	return NotChecked
}
