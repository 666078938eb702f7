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

// maxChanges is the most lines of changes in a ChangeWorkload.
const maxChanges = 32

// ReleaseRecordOf returns the record of a release from the annotations of its workload. A record of another release is not found.
func ReleaseRecordOf(annotations map[string]string, release Release) (record appv1alpha1.ReleaseRecord, found bool) {
	record, found = appv1alpha1.ReleaseRecordOf(annotations)
	if (Release{Version: record.Version, Number: record.Release}) != release {
		return appv1alpha1.ReleaseRecord{}, false
	}
	return record, found
}

// IgnoredSuspendOf returns the record of a release that used the label ignored-suspend, from the annotations of its workload. A
// record of another release is not found.
func IgnoredSuspendOf(annotations map[string]string, release Release) (record appv1alpha1.IgnoredSuspend, found bool) {
	record, found = appv1alpha1.IgnoredSuspendOf(annotations)
	if (Release{Version: record.Version, Number: record.Release}) != release {
		return appv1alpha1.IgnoredSuspend{}, false
	}
	return record, found
}

// DescribeRelease sets the author and its reason, the changes, the rollback and the commit time of a release in the spec of its ChangeWorkload, from the annotations
// of the workload. It overwrites those of an earlier release.
func DescribeRelease(spec *appv1alpha1.ChangeWorkloadSpec, annotations map[string]string, release Release) {
	record, _ := ReleaseRecordOf(annotations, release)
	_, ignored := IgnoredSuspendOf(annotations, release)
	spec.ReleasedBy, spec.ReleaseReason = record.User, Shorten(record.Reason, appv1alpha1.MaxRecordedText)
	spec.Changes = record.Changes[:min(len(record.Changes), maxChanges)]
	spec.IgnoredSuspend = ignored
	spec.Rollback = RollbackTo(appv1alpha1.RollbacksOf(annotations), release.Number)
	spec.CommitTime = appv1alpha1.CommitTimeOf(annotations)
}

// ReleaseNote describes a release, with its author and changes, from the annotations of its workload.
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
