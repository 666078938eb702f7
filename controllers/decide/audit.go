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
	"fmt"
	"strings"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// maxChanges is how many lines of changes a ChangeWorkload holds.
const maxChanges = 32

// ReleaseRecordOf reads from the annotations of a Deployment who made a release; what they say of another release is no
// answer.
func ReleaseRecordOf(annotations map[string]string, release Release) (record appv1alpha1.ReleaseRecord, found bool) {
	record, found = appv1alpha1.ReleaseRecordOf(annotations)
	if (Release{Version: record.Version, Number: record.Release}) != release {
		return appv1alpha1.ReleaseRecord{}, false
	}
	return record, found
}

// IgnoredSuspendOf reads from the annotations of a Deployment who used the label ignored-suspend to let a release in; what
// they say of another release is no answer.
func IgnoredSuspendOf(annotations map[string]string, release Release) (record appv1alpha1.IgnoredSuspend, found bool) {
	record, found = appv1alpha1.IgnoredSuspendOf(annotations)
	if (Release{Version: record.Version, Number: record.Release}) != release {
		return appv1alpha1.IgnoredSuspend{}, false
	}
	return record, found
}

// DescribeRelease puts into the spec of a ChangeWorkload how its release came about, as the annotations of the Deployment
// tell it, in place of what the spec said of an earlier release.
func DescribeRelease(spec *appv1alpha1.ChangeWorkloadSpec, annotations map[string]string, release Release) {
	record, _ := ReleaseRecordOf(annotations, release)
	_, ignored := IgnoredSuspendOf(annotations, release)
	spec.ReleasedBy = record.User
	spec.Changes = record.Changes[:min(len(record.Changes), maxChanges)]
	spec.IgnoredSuspend = ignored
	spec.Rollback = RollbackTo(appv1alpha1.RollbacksOf(annotations), release.Number)
}

// ReleaseNote tells in an Event how a release came about, as the annotations of its Deployment do.
func ReleaseNote(annotations map[string]string, release Release) string {
	note := fmt.Sprintf("release %d, version %s", release.Number, release.Version)
	if rollback := RollbackTo(appv1alpha1.RollbacksOf(annotations), release.Number); rollback != nil {
		return fmt.Sprintf("%s, a rollback of release %d by %s", note, rollback.Release, cmp.Or(rollback.User, "the operator"))
	}
	record, found := ReleaseRecordOf(annotations, release)
	if !found {
		return note
	}
	changes := strings.Join(record.Changes, "; ")
	if changes == "" && release.Number == 1 {
		changes = "created"
	}
	note += ", by " + record.User
	if changes != "" {
		note += ": " + changes
	}
	return note
}
