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

package lifecycle

import (
	"fmt"
	"slices"
	"strings"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// DenialAdvice says beside a denial what failed, how to see more and how to get a repair in, given the ChangeWorkloads
// of the suspended Deployment and the version it is at.
func DenialAdvice(workloads []appv1alpha1.ChangeWorkload, version string) []string {
	var advice, verified []string
	for _, workload := range newestFirst(workloads) {
		switch {
		case len(workload.Status.DefenseCheckFailPods) > 0:
			advice = append(advice, fmt.Sprintf("%s (see: kubectl describe changeworkload -n %s %s)",
				Failures(workload.Status.DefenseCheckFailPods), workload.Namespace, workload.Name))
		case workload.Spec.Reversion == version:
			advice = append(advice, fmt.Sprintf("release %s is being checked; the suspension is lifted when it succeeds", version))
		}
		for _, candidate := range append([]string{workload.Spec.Reversion}, workload.Status.VerifiedVersions...) {
			if candidate != version && IsVerified(workloads, candidate) && !slices.Contains(verified, candidate) {
				verified = append(verified, candidate)
			}
		}
	}
	advice = append(advice, fmt.Sprintf("to let a repair through, set the label %s=%s on the Deployment in the same update",
		appv1alpha1.LabelIgnoredSuspend, appv1alpha1.IgnoredSuspendTrue))
	if len(verified) > 0 {
		advice = append(advice, "going back to a verified version needs no label: "+strings.Join(verified, ", "))
	}
	return advice
}
