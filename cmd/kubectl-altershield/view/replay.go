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

package view

import (
	"time"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/verification/replay"
)

// Replay is what the checks of a policy would have said about a past release.
type Replay struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	Namespace  string `json:"namespace"`
	Workload   string `json:"workload"`
	// Object is the workload as an argument of kubectl.
	Object string `json:"object"`
	Policy string `json:"policy"`
	// Release is the number of the release, absent for a past without a record.
	Release int64 `json:"release,omitempty"`
	NewPods int   `json:"newPods"`
	// Began is when the release began, Until the time of the last look.
	Began time.Time `json:"began"`
	Until time.Time `json:"until"`
	// Failed reports whether a check would have failed.
	Failed bool           `json:"failed"`
	Checks []replay.Check `json:"checks"`
}

// ReplayOf returns what is shown of the report about a workload.
func ReplayOf(report replay.Report, reference appv1alpha1.WorkloadReference) Replay {
	shown := Replay{
		Kind: "Replay", APIVersion: APIVersion, Namespace: report.Namespace, Workload: report.Name, Object: Argument(reference), Policy: report.Policy,
		Release: report.Release, NewPods: report.NewPods, Began: report.Began, Until: report.Until, Failed: report.Failed, Checks: report.Checks,
	}
	if shown.Checks == nil {
		shown.Checks = []replay.Check{}
	}
	return shown
}

// FailedChecks returns the names of the checks that would have failed.
func (r Replay) FailedChecks() []string {
	var names []string
	for _, check := range r.Checks {
		if check.Verdict == appv1alpha1.CheckFail {
			names = append(names, check.Name)
		}
	}
	return names
}
