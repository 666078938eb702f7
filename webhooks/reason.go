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
	"strings"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// takeReason removes the reason of a user with a release, and returns it if it is that of the release: it came with the update, or with the request for
// the rollback that the operator makes. One from before a pause of a user stays, as the pause does.
func (m marks) takeReason(old, updated marks, by author, release int64) string {
	isBrought := updated.bringsReason(old)
	if !m.paused {
		delete(m.annotations, appv1alpha1.AnnotationPauseReason)
	}
	if isBrought || !m.paused {
		delete(m.annotations, appv1alpha1.AnnotationReason)
	}
	switch made := updated.rollbackTo(release); {
	case by.isOperator:
		delete(m.annotations, appv1alpha1.AnnotationRollbackReason)
		if made == nil || made.User == "" || !old.hasRequestOfUser() {
			return ""
		}
		return appv1alpha1.ReasonOfRequest(old.annotations, appv1alpha1.AnnotationRollback, appv1alpha1.AnnotationRollbackReason)
	case updated.isStampedAfter(old): // by an earlier call of the webhook for this request
		record, _ := appv1alpha1.ReleaseRecordOf(updated.annotations)
		return decide.Shorten(record.Reason, appv1alpha1.MaxRecordedText)
	case updated.isBroughtBack(old) || !isBrought:
		return ""
	}
	return reasonIn(updated)
}

// bringsReason reports whether a reason came with an update.
func (m marks) bringsReason(old marks) bool {
	reason := m.annotations[appv1alpha1.AnnotationReason]
	return reason != "" && reason != old.annotations[appv1alpha1.AnnotationReason]
}

// hasRequestOfUser reports whether a user has requested a rollback by the annotation, with which the reason came. The router has none, and that of a
// ReleasePolicy isn't the user's.
func (m marks) hasRequestOfUser() bool {
	return m.annotations[appv1alpha1.AnnotationRollback] != "" &&
		!strings.HasPrefix(m.annotations[appv1alpha1.AnnotationRollbackBy], appv1alpha1.RollbackByPolicy)
}

// isBroughtBack reports whether an update has the annotations of an earlier release, as kubectl rollout undo takes them from an old ReplicaSet.
func (m marks) isBroughtBack(old marks) bool {
	release := m.annotations[appv1alpha1.AnnotationRelease]
	return release != "" && release != old.annotations[appv1alpha1.AnnotationRelease]
}

// reasonIn returns the reason in the annotations of a workload.
func reasonIn(m marks) string {
	return decide.Shorten(m.annotations[appv1alpha1.AnnotationReason], appv1alpha1.MaxRecordedText)
}
