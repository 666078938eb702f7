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
	"cmp"
	"time"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// settleRequests records the authors of the requests of users, and the reason that came with one. An existing request keeps both.
func (m marks) settleRequests(old, updated marks, user string) {
	for request, about := range map[string]struct{ by, reason string }{
		appv1alpha1.AnnotationRollback: {appv1alpha1.AnnotationRollbackBy, appv1alpha1.AnnotationRollbackReason},
		appv1alpha1.AnnotationGoOn:     {appv1alpha1.AnnotationGoOnBy, appv1alpha1.AnnotationGoOnReason},
	} {
		switch asked := updated.annotations[request]; asked {
		case "":
			delete(m.annotations, about.by)
			delete(m.annotations, about.reason)
		case old.annotations[request]:
			restore(m.annotations, old.annotations, []string{about.reason})
		default:
			m.annotations[about.by] = user
			switch {
			case updated.bringsReason(old):
				m.annotations[about.reason] = asked + " " + reasonIn(updated)
				delete(m.annotations, appv1alpha1.AnnotationReason) // the same may be given again, for something else
			case updated.annotations[about.reason] == old.annotations[about.reason]: // of an earlier request, which may have been the same
				delete(m.annotations, about.reason)
			}
		}
	}
}

// settleRollback keeps the annotations that the operator writes with its own rollback. A user's release drops every request: an
// existing one was for the previous release, and kubectl rollout undo may bring back one from the annotations of an old ReplicaSet.
func (m marks) settleRollback(updated marks, by author) {
	if by.isOperator {
		restore(m.annotations, updated.annotations, []string{appv1alpha1.AnnotationRollbacks, appv1alpha1.AnnotationRollbackBy})
		return
	}
	delete(m.annotations, appv1alpha1.AnnotationRollback)
	delete(m.annotations, appv1alpha1.AnnotationRollbackBy)
	delete(m.annotations, appv1alpha1.AnnotationRollbackReason)
}

// releaser returns the user name to record as author: for the operator's own rollback, the user who requested it.
func releaser(updated marks, by author, release int64) string {
	if by.isOperator {
		if made := updated.rollbackTo(release); made != nil && made.User != "" {
			return made.User
		}
	}
	return by.user
}

// rollbackTo returns the newest rollback if it makes the given release, else nil. It ignores the version: another webhook may change
// the restored template.
func (m marks) rollbackTo(release int64) *appv1alpha1.Rollback {
	rollbacks := appv1alpha1.RollbacksOf(m.annotations)
	if len(rollbacks) == 0 || rollbacks[0].ToRelease != release {
		return nil
	}
	return &rollbacks[0]
}

// naming is the version of a release.
type naming struct {
	version string
	// unstamped reports whether its template stays without the label.
	unstamped bool
	// computed is the version of the content with which a rollback began, if it isn't the version; empty for other releases.
	computed string
}

// name returns the version of a release. A rollback of a set by the operator brings the version: with another label the template would be another
// revision, and pods that never left the earlier one would restart. It doesn't if another webhook changed the content since an earlier call of the
// webhook for this request.
func (m marks) name(by author, release int64) (naming, error) {
	version, err := m.computedVersion()
	if !by.isOperator || !workload.KeepsRevisions(m.kind) {
		return naming{version: version}, err
	}
	made := m.rollbackTo(release)
	began := version
	if record, found := appv1alpha1.ReleaseRecordOf(m.annotations); found && record.Release == release {
		began = cmp.Or(record.Computed, record.Version)
	}
	named := naming{version: version}
	if made != nil && began == version && (made.Unstamped || m.templateLabel(appv1alpha1.LabelVersion) == made.To) {
		named.version, named.unstamped = made.To, made.Unstamped
	}
	if began != named.version {
		named.computed = began
	}
	return named, err
}

// refusedVersions returns the versions that are quarantined at now.
func refusedVersions(rollbacks []appv1alpha1.Rollback, now time.Time) []string {
	var versions []string
	for i := range rollbacks {
		if decide.RefusalOf(rollbacks, rollbacks[i].Version, now) != nil {
			versions = append(versions, rollbacks[i].Version)
		}
	}
	return versions
}
