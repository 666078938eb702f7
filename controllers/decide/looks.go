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
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/statistics"
)

// CheckID identifies a check of a release.
type CheckID struct{ Policy, Name string }

// AskedCheck is a check that looks at metrics now.
type AskedCheck struct {
	CheckID
	Ratio *appv1alpha1.RatioCheck
	// Interval is the time between two looks.
	Interval time.Duration
}

// AskedChecks returns the checks of a release with these pods that look at metrics now. What failed isn't looked at again, nor is a release
// without finished pods, or one that is suspended.
func AskedChecks(workload *appv1alpha1.ChangeWorkload, pods *checks.Scene, now time.Time) (asked []AskedCheck) {
	watched := WatchedPolicies(workload, now)
	if len(watched) == 0 || len(pods.New) == 0 || workload.Status.Status == appv1alpha1.ChangeWorkloadSuspend {
		return nil
	}
	for i := range workload.Status.Verification.Policies {
		policy := &workload.Status.Verification.Policies[i]
		for j := range policy.Checks {
			check := &policy.Checks[j]
			known := storedResult(workload.Status.Checks, policy, check, now)
			if check.Ratio == nil || known.Verdict == appv1alpha1.CheckFail || !slices.Contains(watched, policy.UID) {
				continue
			}
			asked = append(asked, AskedCheck{CheckID{policy.Policy, check.Name}, check.Ratio, intervalOf(policy)})
		}
	}
	return asked
}

func intervalOf(policy *appv1alpha1.AppliedPolicy) time.Duration {
	return time.Duration(policy.IntervalSeconds) * time.Second
}

// budget divides the false alarms of a release among all comparisons of all policies.
func budget(verification *appv1alpha1.ReleaseVerification) statistics.Budget {
	budget := statistics.Budget{Total: statistics.DefaultBudget}
	for i := range verification.Policies {
		for j := range verification.Policies[i].Checks {
			if check := verification.Policies[i].Checks[j].Ratio; check != nil && check.Comparison != nil {
				budget.Counts++
			}
		}
	}
	return budget
}

// watchEnd returns when a policy stops watching a release that was verified. One that enforces has looked at metrics for bakeSeconds before.
func watchEnd(policy *appv1alpha1.AppliedPolicy, status *appv1alpha1.ChangeWorkloadStatus) time.Time {
	seconds := policy.WatchSeconds
	if looks(policy) && policy.Mode != appv1alpha1.CheckEnforce {
		seconds = max(seconds, policy.BakeSeconds)
	}
	return time.Unix(status.EntryTimeUnix+int64(seconds), 0)
}

// looks reports whether a policy looks at metrics.
func looks(policy *appv1alpha1.AppliedPolicy) bool {
	for i := range policy.Checks {
		if policy.Checks[i].Ratio != nil {
			return true
		}
	}
	return false
}

// hasPendingLook reports whether a check of a policy that looks at metrics has no verdict.
func hasPendingLook(policy *appv1alpha1.AppliedPolicy, results []appv1alpha1.CheckResult) bool {
	for i := range results {
		if results[i].Policy == policy.Policy && results[i].Type == appv1alpha1.CheckRatio && results[i].Verdict == appv1alpha1.CheckPending {
			return true
		}
	}
	return false
}
