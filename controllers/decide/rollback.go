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
	"slices"
	"time"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// maxRollbacks is the most rollbacks that the annotation of a workload holds.
const maxRollbacks = 10

// RememberRollback prepends a rollback to those that are known. It keeps the last one of each version.
func RememberRollback(known []appv1alpha1.Rollback, made appv1alpha1.Rollback) []appv1alpha1.Rollback {
	others := slices.DeleteFunc(slices.Clone(known), func(rollback appv1alpha1.Rollback) bool { return rollback.Version == made.Version })
	others = append([]appv1alpha1.Rollback{made}, others...)
	return others[:min(len(others), maxRollbacks)]
}

// RefusalOf returns the rollback because of which a version is refused at now, nil where it is not refused.
func RefusalOf(rollbacks []appv1alpha1.Rollback, version string, now time.Time) *appv1alpha1.Rollback {
	rollback := rollbackOf(rollbacks, version)
	if rollback == nil || rollback.RefusedUntil == nil || !now.Before(rollback.RefusedUntil.Time) {
		return nil
	}
	return rollback
}

// RollbackFrom returns the rollback that ended a release, nil where none did.
func RollbackFrom(rollbacks []appv1alpha1.Rollback, release Release) *appv1alpha1.Rollback {
	rollback := rollbackOf(rollbacks, release.Version)
	if rollback == nil || rollback.Release != release.Number || !rollback.IsSound() {
		return nil
	}
	return rollback
}

// RollbackTo returns the rollback that made a release, nil where none did. It ignores the version: another webhook may change the
// template that a workload goes back to.
func RollbackTo(rollbacks []appv1alpha1.Rollback, release int64) *appv1alpha1.Rollback {
	for i := range rollbacks {
		if rollbacks[i].ToRelease == release && rollbacks[i].IsSound() {
			return &rollbacks[i]
		}
	}
	return nil
}

func rollbackOf(rollbacks []appv1alpha1.Rollback, version string) *appv1alpha1.Rollback {
	at := slices.IndexFunc(rollbacks, func(rollback appv1alpha1.Rollback) bool { return rollback.Version == version })
	if at < 0 {
		return nil
	}
	return &rollbacks[at]
}
