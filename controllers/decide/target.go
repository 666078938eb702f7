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
	"math"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// RevisionAnnotation numbers the ReplicaSets of a Deployment; the deployment controller writes it.
const RevisionAnnotation = "deployment.kubernetes.io/revision"

// Past is what is known of the past of a Deployment.
type Past struct {
	// Release is the one that the Deployment is at.
	Release Release
	// Workloads are its ChangeWorkloads.
	Workloads []appv1alpha1.ChangeWorkload
	// Rollbacks are those that its annotations record.
	Rollbacks []appv1alpha1.Rollback
	// Kept are the verified versions whose templates are kept, newest first.
	Kept []string
}

// VerifiedTargets are the versions that the Deployment may go back to, newest first: those that were verified, but for the
// one that it is at, those that failed when they were released last, and those that are refused at now.
func (p Past) VerifiedTargets(now time.Time) []string {
	var targets []string
	for _, version := range slices.Concat(p.Kept, verifiedVersions(p.Workloads, p.Release.Version)) {
		usable := version != p.Release.Version && !p.failed(version) && RefusalOf(p.Rollbacks, version, now) == nil
		if usable && !slices.Contains(targets, version) {
			targets = append(targets, version)
		}
	}
	return targets
}

// failed says that a version failed when it was released last.
func (p Past) failed(version string) bool {
	return slices.Contains(FailedVersions(p.Workloads), version)
}

// HealthyOlder is the newest ReplicaSet, of those that the Deployment controls, that is older than the one of its release
// and still runs all the pods that it is to run. One whose version failed its check is taken only where there is no other:
// it runs at least. One whose version is refused is never taken. It is nil where there is none, and where the release has no
// ReplicaSet of its own.
func (p Past) HealthyOlder(replicaSets []appsv1.ReplicaSet, now time.Time) *appsv1.ReplicaSet {
	current, unseen := StampedReplicaSet(replicaSets, p.Release.Version)
	if current == nil || unseen {
		return nil
	}
	var newest, newestFailed *appsv1.ReplicaSet
	for i := range replicaSets {
		candidate := &replicaSets[i]
		version := candidate.Labels[appv1alpha1.LabelVersion] // none of before the Deployment came under change control
		if revisionOf(candidate) >= revisionOf(current) || !IsHealthy(candidate) || RefusalOf(p.Rollbacks, version, now) != nil {
			continue
		}
		if p.failed(version) {
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

func newerOf(known, candidate *appsv1.ReplicaSet) *appsv1.ReplicaSet {
	if known == nil || revisionOf(candidate) > revisionOf(known) {
		return candidate
	}
	return known
}

// IsHealthy says that a ReplicaSet has pods, and all of them ready.
func IsHealthy(replicaSet *appsv1.ReplicaSet) bool {
	desired := ptr.Deref(replicaSet.Spec.Replicas, 1)
	return desired > 0 && replicaSet.Status.ReadyReplicas >= desired
}

// StampedReplicaSet is the ReplicaSet of the template that was stamped with a version: the oldest that carries it. A
// template that was changed while no webhook looked still carries the version of the one before, and its pods must not
// be taken for those of the release; unseen says that there is one.
func StampedReplicaSet(replicaSets []appsv1.ReplicaSet, version string) (oldest *appsv1.ReplicaSet, unseen bool) {
	for i := range replicaSets {
		candidate := &replicaSets[i]
		if candidate.Labels[appv1alpha1.LabelVersion] != version {
			continue
		}
		unseen = oldest != nil
		if oldest == nil || isOlder(candidate, oldest) {
			oldest = candidate
		}
	}
	return oldest, unseen
}

// isOlder goes by the revision where two ReplicaSets were created within the same second.
func isOlder(a, b *appsv1.ReplicaSet) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return revisionOf(a) < revisionOf(b)
}

func revisionOf(replicaSet *appsv1.ReplicaSet) int64 {
	revision, err := strconv.ParseInt(replicaSet.Annotations[RevisionAnnotation], 10, 64)
	if err != nil {
		return math.MaxInt64 // not numbered yet: the newest
	}
	return revision
}
