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

package webhooks

import (
	"time"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// longestRequest is how long after its first call the webhook is called again for a request. The clocks of replicas may differ.
const longestRequest = 30 * time.Second

// ended returns what a stamped release ended; nil if nothing.
func ended(updated, stamped marks) *appv1alpha1.Ended {
	end := appv1alpha1.Ended{
		Hold:           updated.paused && !stamped.paused,
		IgnoredSuspend: updated.ignoresSuspension() && !stamped.ignoresSuspension(),
	}
	if _, stays := stamped.annotations[appv1alpha1.AnnotationRollback]; !stays {
		end.Rollback = updated.annotations[appv1alpha1.AnnotationRollback]
	}
	if _, stays := stamped.annotations[appv1alpha1.AnnotationReason]; !stays {
		end.Reason = updated.annotations[appv1alpha1.AnnotationReason]
	}
	if _, stays := stamped.annotations[appv1alpha1.AnnotationPauseReason]; !stays {
		end.PauseReason = updated.annotations[appv1alpha1.AnnotationPauseReason]
	}
	if end == (appv1alpha1.Ended{}) {
		return nil
	}
	return &end
}

// isStampedAfter reports whether an earlier call of the webhook for this request stamped the release that follows old.
func (m marks) isStampedAfter(old marks) bool {
	record, found := appv1alpha1.ReleaseRecordOf(m.annotations)
	return found && record.Release == decide.NextRelease(old.annotations)
}

// mayBeStampedBy reports whether an earlier call of the webhook for the creation of a workload may have stamped it: the record is of its user, and of
// just now. An export has that of another creation.
func (m marks) mayBeStampedBy(user string, now time.Time) bool {
	record, found := appv1alpha1.ReleaseRecordOf(m.annotations)
	return found && record.User == user && now.Sub(record.Time.Time).Abs() <= longestRequest
}

// isAdjustedAfter reports whether an earlier call of the webhook for this request, which was no release then, changed the mark of the present paced
// one, and whether the request ended a pause: the release rests instead, without the mark of its freeze. Forging these gives a user only what
// such a request does.
func (m marks) isAdjustedAfter(old marks) (adjusted, resumed bool) {
	release := old.release().Number
	before, after := appv1alpha1.PacedOf(old.annotations, release), appv1alpha1.PacedOf(m.annotations, release)
	if before == nil || after == nil {
		return false, false
	}
	thawed := old.isParked() && appv1alpha1.FrozenOf(m.annotations, release) == nil
	resumed = old.paused && m.paused && (thawed || after.Rests && !before.Rests)
	return resumed || string(after.From) != string(before.From), resumed
}

// beforeFirstCall returns the marks as they were before an earlier call of the webhook for this request. Another webhook may have
// reverted the template since, so that nothing ends. Forging the record gives a user only keys that the user may set anyway.
func (m marks) beforeFirstCall(old marks) marks {
	record, _ := appv1alpha1.ReleaseRecordOf(m.annotations)
	started := decide.StartsHeld(m.annotations, decide.NextRelease(old.annotations)) && m.annotations[appv1alpha1.AnnotationHeld] != ""
	if record.Ended == nil && !started || !m.isStampedAfter(old) {
		return m
	}
	given := m.clone()
	given.paused = m.paused && !started
	if record.Ended == nil {
		return given
	}
	given.paused = given.paused || record.Ended.Hold
	if record.Ended.IgnoredSuspend {
		given.labels[appv1alpha1.LabelIgnoredSuspend] = appv1alpha1.IgnoredSuspendTrue
	}
	if record.Ended.Rollback != "" {
		given.annotations[appv1alpha1.AnnotationRollback] = record.Ended.Rollback
		restore(given.annotations, old.annotations, []string{appv1alpha1.AnnotationRollbackReason})
	}
	if record.Ended.Reason != "" {
		given.annotations[appv1alpha1.AnnotationReason] = record.Ended.Reason
	}
	if record.Ended.PauseReason != "" {
		given.annotations[appv1alpha1.AnnotationPauseReason] = record.Ended.PauseReason
	}
	return given
}
