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
	"fmt"
	"slices"
	"strings"
	"time"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// DenialAdvice returns the warnings beside a denial: the failed pods, where to see more, and how to release a repair. It takes the
// ChangeWorkloads of the suspended Deployment, the version that it is at, and its rollbacks.
func DenialAdvice(kind string, workloads []appv1alpha1.ChangeWorkload, version string, rollbacks []appv1alpha1.Rollback, now time.Time) []string {
	var advice []string
	failed := Failed(workloads, version)
	for _, workload := range newestFirst(workloads) {
		failure := FailureOf(&workload.Status)
		switch {
		case slices.Contains(failed, workload) && failure != "":
			advice = append(advice, fmt.Sprintf("%s (see: kubectl describe changeworkload -n %s %s)",
				failure, workload.Namespace, workload.Name))
		case workload.Spec.Reversion == version:
			advice = append(advice, fmt.Sprintf("release %s is being checked; the suspension is lifted when it succeeds", version))
		}
	}
	advice = append(advice, fmt.Sprintf("to let a repair through, set the label %s=%s on the %s in the same update",
		appv1alpha1.LabelIgnoredSuspend, appv1alpha1.IgnoredSuspendTrue, kind))
	verified := slices.DeleteFunc(verifiedVersions(workloads, version), func(version string) bool {
		return RefusalOf(rollbacks, version, now) != nil
	})
	if len(verified) > 0 {
		advice = append(advice, "going back to a verified version needs no label: "+strings.Join(verified, ", "))
	}
	return advice
}
