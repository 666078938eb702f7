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

// newestFirst orders ChangeWorkloads of one Deployment by their release.
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

// older are those of a Deployment's ChangeWorkloads whose release came before that of workload.
func older(workload *appv1alpha1.ChangeWorkload, others []appv1alpha1.ChangeWorkload) []appv1alpha1.ChangeWorkload {
	var result []appv1alpha1.ChangeWorkload
	for i := range others {
		if others[i].Spec.Release < workload.Spec.Release {
			result = append(result, others[i])
		}
	}
	return result
}

// surplus are the older ones of a Deployment's ChangeWorkloads that go once workload is verified: all but the newest keep.
// One whose pods failed outlives those that remember its version as verified, since nobody else knows better; for the same
// reason these come last.
func surplus(workload *appv1alpha1.ChangeWorkload, others []appv1alpha1.ChangeWorkload, keep int) []appv1alpha1.ChangeWorkload {
	var kept []*appv1alpha1.ChangeWorkload
	var going, failed []appv1alpha1.ChangeWorkload
	for _, candidate := range newestFirst(older(workload, others)) {
		switch {
		case candidate.DeletionTimestamp != nil: // it goes by itself, and takes nobody's place until then
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

// maxOvertaken is how many ChangeWorkloads of a Deployment stay, besides those of release-history, whose releases were overtaken
// by the next one before they were verified.
const maxOvertaken = 10

// overtaken are the older ones of a Deployment's ChangeWorkloads that go although workload is not verified yet: all but the newest
// keep. What was verified or remembers what was stays, and so does what failed where a suspension is about it or its version was
// verified before.
func overtaken(workload *appv1alpha1.ChangeWorkload, seen Observation, keep int) []appv1alpha1.ChangeWorkload {
	all := newestFirst(append(slices.Clone(seen.Others), *workload))
	var ended []appv1alpha1.ChangeWorkload
	for _, candidate := range newestFirst(older(workload, seen.Others)) {
		switch {
		case candidate.DeletionTimestamp != nil, candidate.Status.ObservedRelease != candidate.Spec.Release:
		case IsSettled(candidate), len(candidate.Status.VerifiedVersions) > 0:
		case hasFailed(candidate) && (seen.Suspended || remembers(all, candidate.Spec.Reversion)):
		default:
			ended = append(ended, *candidate)
		}
	}
	return ended[min(len(ended), keep):]
}

// forget decides what of the past goes: the records of older releases once this one is verified, and those beyond a number before;
// the batches of earlier releases of the version once this one is verified or overtaken.
func (d *Decision) forget(status *appv1alpha1.ChangeWorkloadStatus, workload *appv1alpha1.ChangeWorkload, seen Observation) {
	verified := wasVerified(status)
	switch {
	case !seen.OptedIn || !seen.Current:
	case verified:
		d.Prune = surplus(workload, seen.Others, seen.Records)
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

// Failed are those releases of a Deployment, newest first, whose failed pods have to do with its suspension: the release of
// the current version, and those since the newest release that was verified. What failed before that is history.
func Failed(workloads []appv1alpha1.ChangeWorkload, current string) []*appv1alpha1.ChangeWorkload {
	var failed []*appv1alpha1.ChangeWorkload
	history := false
	for _, workload := range newestFirst(workloads) {
		// A verified version that is released again is not verified for a while: the condition knows what was over before.
		over := history || wasLifted(&workload.Status)
		if hasFailed(workload) && (workload.Spec.Reversion == current || !over) {
			failed = append(failed, workload)
		}
		history = history || IsSettled(workload)
	}
	return failed
}

// FailedVersions are those of these ChangeWorkloads' versions whose pods failed when they were released last.
func FailedVersions(workloads []appv1alpha1.ChangeWorkload) []string {
	var versions []string
	for i := range workloads {
		if hasFailed(&workloads[i]) {
			versions = append(versions, workloads[i].Spec.Reversion)
		}
	}
	return versions
}

// NewestVerified is the newest version that a Deployment with these ChangeWorkloads may return to while it is suspended,
// empty where there is none.
func NewestVerified(workloads []appv1alpha1.ChangeWorkload) string {
	if versions := verifiedVersions(workloads, ""); len(versions) > 0 {
		return versions[0]
	}
	return ""
}

// VerifiedVersions are the ten newest versions that a Deployment with these ChangeWorkloads may return to while it is suspended.
func VerifiedVersions(workloads []appv1alpha1.ChangeWorkload) []string {
	return verifiedVersions(workloads, "")
}

// verifiedVersions are the ten newest versions that a Deployment with these ChangeWorkloads may return to while it is
// suspended, but for the current one: first those whose release was verified last, then those that are only remembered.
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
