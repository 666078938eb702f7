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
	"slices"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// newestFirst returns the ChangeWorkloads of one workload in descending order of their releases.
func newestFirst(workloads []appv1alpha1.ChangeWorkload) []*appv1alpha1.ChangeWorkload {
	ordered := make([]*appv1alpha1.ChangeWorkload, len(workloads))
	for i := range workloads {
		ordered[i] = &workloads[i]
	}
	slices.SortFunc(ordered, func(a, b *appv1alpha1.ChangeWorkload) int {
		return cmp.Compare(b.Spec.Release, a.Spec.Release)
	})
	return ordered
}

// older returns those of a workload's ChangeWorkloads whose release is earlier than that of workload.
func older(workload *appv1alpha1.ChangeWorkload, others []appv1alpha1.ChangeWorkload) []appv1alpha1.ChangeWorkload {
	var result []appv1alpha1.ChangeWorkload
	for i := range others {
		if others[i].Spec.Release < workload.Spec.Release {
			result = append(result, others[i])
		}
	}
	return result
}

// surplus returns the older ChangeWorkloads of a workload to remove once workload is verified: all but the newest keep, those that were
// only observed before the others. A failed one stays as long as another one remembers its version as verified, since only its own record has
// the failure; therefore failed ones come last.
func surplus(workload *appv1alpha1.ChangeWorkload, seen Observation, keep int) []appv1alpha1.ChangeWorkload {
	var kept []*appv1alpha1.ChangeWorkload
	var going, failed []appv1alpha1.ChangeWorkload
	for _, candidate := range append(newestFirst(older(workload, seen.Others)), newestFirst(seen.Observations)...) {
		switch {
		case candidate.DeletionTimestamp != nil: // it is being removed, and does not count
		case len(kept) < keep:
			kept = append(kept, candidate)
		case !hasFailed(candidate):
			going = append(going, *candidate)
		case remembers(kept, candidate.Spec.Reversion):
			kept = append(kept, candidate)
		default:
			failed = append(failed, *candidate)
		}
	}
	return append(going, failed...)
}

// maxOvertaken is how many ChangeWorkloads of a workload are kept, besides those of release-history, whose releases were superseded
// before they were verified.
const maxOvertaken = 10

// overtaken returns the older ChangeWorkloads of a workload to remove although workload is not verified yet: all but the newest keep.
// It spares those that were verified or remember verified versions, and failed ones while the workload is suspended or another one
// remembers their version as verified.
func overtaken(workload *appv1alpha1.ChangeWorkload, seen Observation, keep int) []appv1alpha1.ChangeWorkload {
	all := newestFirst(append(slices.Clone(seen.Others), *workload))
	var ended []appv1alpha1.ChangeWorkload
	for _, candidate := range newestFirst(older(workload, seen.Others)) {
		switch {
		case candidate.DeletionTimestamp != nil, !isObserved(candidate):
		case IsSettled(candidate), len(candidate.Status.VerifiedVersions) > 0:
		case hasFailed(candidate) && (seen.Suspended || remembers(all, candidate.Spec.Reversion)):
		default:
			ended = append(ended, *candidate)
		}
	}
	return ended[min(len(ended), keep):]
}

// forget decides which records to remove: those of older releases once this one is verified, or once there are too many of them, and
// the batches of earlier releases of the version once this one is verified or superseded.
func (d *Decision) forget(status *appv1alpha1.ChangeWorkloadStatus, workload *appv1alpha1.ChangeWorkload, seen Observation) {
	verified := wasVerified(status)
	switch {
	case !seen.OptedIn || !seen.Current:
	case verified:
		d.Prune = surplus(workload, seen, seen.Records)
	default:
		d.Prune = overtaken(workload, seen, seen.Records+maxOvertaken)
	}
	d.Clear = seen.OptedIn && seen.Earlier && (verified || !seen.Current)
}

func remembers(workloads []*appv1alpha1.ChangeWorkload, version string) bool {
	return slices.ContainsFunc(workloads, func(workload *appv1alpha1.ChangeWorkload) bool {
		return slices.Contains(workload.Status.VerifiedVersions, version)
	})
}

// hasFailed reports whether pods of a release failed.
func hasFailed(workload *appv1alpha1.ChangeWorkload) bool {
	return workload.Status.Status == appv1alpha1.ChangeWorkloadSuspend
}

// Failed returns the releases of a workload whose failed pods explain its suspension, newest first: that of the current version, and
// those after the newest verified release.
func Failed(workloads []appv1alpha1.ChangeWorkload, current string) []*appv1alpha1.ChangeWorkload {
	var failed []*appv1alpha1.ChangeWorkload
	history := false
	for _, workload := range newestFirst(workloads) {
		// A verified version that is released again is not verified at first: the condition shows that its suspension is over.
		over := history || wasLifted(&workload.Status)
		if hasFailed(workload) && (workload.Spec.Reversion == current || !over) {
			failed = append(failed, workload)
		}
		history = history || IsSettled(workload)
	}
	return failed
}

// FailedVersions returns the versions of these ChangeWorkloads whose pods failed in their last release.
func FailedVersions(workloads []appv1alpha1.ChangeWorkload) []string {
	var versions []string
	for i := range workloads {
		if hasFailed(&workloads[i]) {
			versions = append(versions, workloads[i].Spec.Reversion)
		}
	}
	return versions
}

// NewestVerified returns the newest version that a workload with these ChangeWorkloads may return to while it is suspended, empty
// where there is none.
func NewestVerified(workloads []appv1alpha1.ChangeWorkload) string {
	if versions := verifiedVersions(workloads, ""); len(versions) > 0 {
		return versions[0]
	}
	return ""
}

// VerifiedVersions returns the ten newest versions that a workload with these ChangeWorkloads may return to while it is suspended.
func VerifiedVersions(workloads []appv1alpha1.ChangeWorkload) []string {
	return verifiedVersions(workloads, "")
}

// verifiedVersions returns the ten newest versions, other than the current one, that a workload with these ChangeWorkloads may return
// to while it is suspended: first those of verified releases, then those that are only remembered.
func verifiedVersions(workloads []appv1alpha1.ChangeWorkload, current string) []string {
	var settled, remembered []string
	for _, workload := range newestFirst(workloads) {
		if IsSettled(workload) {
			settled = append(settled, workload.Spec.Reversion)
		}
		for _, version := range workload.Status.VerifiedVersions {
			if IsVerified(workloads, version) {
				remembered = append(remembered, version)
			}
		}
	}
	return distinct(append(settled, remembered...), []string{current})
}

// isObserved reports whether the status of a record is that of its release.
func isObserved(workload *appv1alpha1.ChangeWorkload) bool {
	return workload.Status.ObservedRelease == workload.Spec.Release
}
