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
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Past is the known history of a workload.
type Past struct {
	// Release is the one that the workload is at.
	Release Release
	// Workloads are its ChangeWorkloads.
	Workloads []appv1alpha1.ChangeWorkload
	// Rollbacks are those that its annotations record.
	Rollbacks []appv1alpha1.Rollback
	// Kept are the last verified releases of the versions whose templates are kept, newest first.
	Kept []Release
}

// VerifiedTargets returns the versions that the workload may go back to, newest first: the verified ones except its present version,
// those whose last release failed, and those that are refused at now.
func (p Past) VerifiedTargets(now time.Time) []string {
	var targets []string
	for _, version := range append(p.verified(), verifiedVersions(p.Workloads, p.Release.Version)...) {
		usable := version != p.Release.Version && !p.failed(version) && RefusalOf(p.Rollbacks, version, now) == nil
		if usable && !slices.Contains(targets, version) {
			targets = append(targets, version)
		}
	}
	return targets
}

// verified returns the versions of the kept releases and of those that have a record, newest first. The template of a verified one isn't kept
// where the setting is off, or a quota denies it.
func (p Past) verified() []string {
	releases := slices.Clone(p.Kept)
	for i := range p.Workloads {
		if record := &p.Workloads[i]; IsSettled(record) {
			releases = append(releases, Recorded(record))
		}
	}
	slices.SortStableFunc(releases, func(a, b Release) int { return cmp.Compare(b.Number, a.Number) })
	versions := make([]string, len(releases))
	for i := range releases {
		versions[i] = releases[i].Version
	}
	return versions
}

// failed reports whether the last release of a version failed.
func (p Past) failed(version string) bool {
	return slices.Contains(FailedVersions(p.Workloads), version)
}

// IsBad reports whether a version is known and not verified, or refused at now.
func (p Past) IsBad(version string, now time.Time) bool {
	known := slices.ContainsFunc(p.Workloads, func(workload appv1alpha1.ChangeWorkload) bool { return workload.Spec.Reversion == version })
	return known && !IsVerified(p.Workloads, version) || RefusalOf(p.Rollbacks, version, now) != nil
}

// mayHaveRun reports whether pods of a version may have been ready: then they were checked, unless it is from before change control.
func (p Past) mayHaveRun(version string) bool {
	return version == "" || IsVerified(p.Workloads, version) || p.failed(version)
}

// isPartial reports whether a version was superseded before its steps let it go to all pods, or while it waited for the end of a freeze or for its first
// nodes. Its first pods may be ready, but it was never to run on all.
func (p Past) isPartial(version string) bool {
	if IsVerified(p.Workloads, version) {
		return false
	}
	return slices.ContainsFunc(p.Workloads, func(workload appv1alpha1.ChangeWorkload) bool {
		if workload.Spec.Reversion != version || !isObserved(&workload) {
			return false
		}
		return isLetPartly(&workload.Status) ||
			waitedUntilSuperseded(&workload.Status, appv1alpha1.ConditionFrozen) ||
			waitedUntilSuperseded(&workload.Status, appv1alpha1.ConditionFirstNodes)
	})
}

// isLetPartly reports whether a release was superseded before its steps let it go to all pods. Once the workload leaves change control after that, its
// status shows that reason instead; of a release that was present then, the target is all pods.
func isLetPartly(status *appv1alpha1.ChangeWorkloadStatus) bool {
	if status.Pace == nil || status.Pace.Target >= status.Pace.Desired {
		return false
	}
	paced := meta.FindStatusCondition(status.Conditions, appv1alpha1.ConditionPaced)
	return waitedUntilSuperseded(status, appv1alpha1.ConditionPaced) || paced != nil && paced.Reason == appv1alpha1.ReasonNotControlled
}

// waitedUntilSuperseded reports whether a release waited for something until the next one. Its status may not show the end yet.
func waitedUntilSuperseded(status *appv1alpha1.ChangeWorkloadStatus, kind string) bool {
	waits := metav1.ConditionTrue
	if kind == appv1alpha1.ConditionFirstNodes {
		waits = metav1.ConditionUnknown
	}
	condition := meta.FindStatusCondition(status.Conditions, kind)
	return condition != nil && (condition.Status == waits || condition.Reason == appv1alpha1.ReasonSuperseded)
}

// HealthyOlder returns the newest healthy revision that is older than that of the release. It takes one whose version failed its check
// only where there is no other, and never one whose version is refused, which nobody let go to all pods, or which is only presumed to be healthy although
// its version has never run. It returns nil where there is none, and where the release has no revision of its own.
func (p Past) HealthyOlder(revisions []Revision, now time.Time) *Revision {
	current, unseen := StampedRevision(revisions, p.Release.Version)
	if current == nil || unseen {
		return nil
	}
	var newest, newestFailed *Revision
	for i := range revisions {
		candidate := &revisions[i]
		if !precedes(candidate, current) || !candidate.Healthy || RefusalOf(p.Rollbacks, candidate.Version, now) != nil {
			continue
		}
		if candidate.Presumed && !p.mayHaveRun(candidate.Version) || p.isPartial(candidate.Version) {
			continue
		}
		if p.failed(candidate.Version) {
			newestFailed = newerOf(newestFailed, candidate)
		} else {
			newest = newerOf(newest, candidate)
		}
	}
	if newest == nil {
		return newestFailed
	}
	return newest
}

// precedes reports whether a revision is of another version, and from before the current one. Runs are numbered by the second in which they were
// created: one within the same second is from before.
func precedes(candidate, current *Revision) bool {
	return candidate.Version != current.Version &&
		(candidate.Number < current.Number || candidate.Number == current.Number && candidate.Run != nil)
}

// IdentifyByTemplate gives revisions the versions of their templates, and returns the newest one with a version; nil if there is none.
func IdentifyByTemplate(revisions []Revision, version string) (newest *Revision, err error) {
	for i := range revisions {
		revision := &revisions[i]
		if revision.Version, err = revision.Template.Version(); err != nil {
			return nil, err
		}
		if revision.Version == version {
			newest = newerOf(newest, revision)
		}
	}
	return newest, nil
}

func newerOf(known, candidate *Revision) *Revision {
	if known == nil || candidate.Number > known.Number {
		return candidate
	}
	return known
}

// StampedRevision returns the revision of the template that was stamped with a version: the newest one whose template has it, as releases of one
// version differ in the gates of their pods. Where none has it, which another build of the operator may have computed, it is the template of the
// oldest one that carries it. A template that was changed without the webhooks still carries the version of the previous one, but its pods are not
// those of the release; unseen reports whether the newest revision has such a template. Without the templates, which the cache doesn't hold, it may be
// true by mistake: see history.Keeper.Revisions.
func StampedRevision(revisions []Revision, version string) (stamped *Revision, unseen bool) {
	var oldest, newest *Revision
	for i := range revisions {
		candidate := &revisions[i]
		if candidate.Version != version {
			continue
		}
		newest = newerOf(newest, candidate)
		if oldest == nil || isOlder(candidate, oldest) {
			oldest = candidate
		}
	}
	if newest == oldest || oldest.Template == nil {
		return oldest, newest != oldest
	}
	var likeOldest *Revision
	for i := range revisions {
		candidate := &revisions[i]
		if candidate.Version != version {
			continue
		}
		if computed, err := candidate.Template.Version(); err == nil && computed == version {
			stamped = newerOf(stamped, candidate)
		}
		if oldest.Template.Equal(candidate.Template) {
			likeOldest = newerOf(likeOldest, candidate)
		}
	}
	stamped = cmp.Or(stamped, likeOldest)
	return stamped, newest != stamped
}

// isOlder reports whether a is older than b. Their numbers decide where they were created within the same second.
func isOlder(a, b *Revision) bool {
	if !a.Created.Equal(b.Created) {
		return a.Created.Before(b.Created)
	}
	return a.Number < b.Number
}
