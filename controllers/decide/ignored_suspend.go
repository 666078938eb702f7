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
	"strconv"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// IsIgnoredSuspendSpent reports whether ignored-suspend was used or removed at the release that a workload with these annotations is
// at. A label that is there nevertheless was set again, by a GitOps client for example, and counts only if the update that makes the
// next release sets it anew.
func IsIgnoredSuspendSpent(annotations map[string]string) bool {
	release := max(ReleaseNumber(annotations), 1)
	if record, found := appv1alpha1.IgnoredSuspendOf(annotations); found && record.Release == release {
		return true
	}
	return annotations[appv1alpha1.AnnotationIgnoredSuspendRemoved] == strconv.FormatInt(release, 10)
}
