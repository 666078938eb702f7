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
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/podhealth"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/ratio"
)

// examination makes the checks of a release at a time.
type examination struct {
	workload     *appv1alpha1.ChangeWorkload
	verification *appv1alpha1.ReleaseVerification
	seen         Verification
	// kind is that of the workload.
	kind string
	now  time.Time
}

// makeCheck makes one check, and merges what it finds with its result. Pods are added to those that failed.
func (e *examination) makeCheck(
	result *appv1alpha1.CheckResult, policy *appv1alpha1.AppliedPolicy, check *appv1alpha1.VerificationCheck,
) (again time.Duration) {
	mode, found := LowerMode(policy.Mode, check.Mode), e.find(policy, check)
	switch {
	case result.Verdict == appv1alpha1.CheckFail:
		if found.Verdict == appv1alpha1.CheckFail && result.Mode == mode {
			addPods(result, found.Pods)
		}
	case found.Verdict == appv1alpha1.CheckPass && !found.Final, found.Verdict == result.Verdict: // what was inconclusive stays so
		result.Mode = mode
	case check.Ratio != nil && result.Verdict == appv1alpha1.CheckPass && found.Verdict == appv1alpha1.CheckInconclusive: // a source is away
		result.Mode = mode
	default:
		result.Mode, result.Verdict, result.Reason, result.Since = mode, found.Verdict, found.Reason, metav1.NewTime(e.now.Truncate(time.Second))
		result.Message = Shorten(found.Message, maxCheckText)
		addPods(result, found.Pods)
	}
	return found.Again
}

// find returns what a check finds of the pods of a release.
func (e *examination) find(policy *appv1alpha1.AppliedPolicy, check *appv1alpha1.VerificationCheck) checks.Finding {
	switch {
	case e.seen.Pods == nil:
		return checks.Finding{
			Verdict: appv1alpha1.CheckSkipped, Reason: appv1alpha1.ReasonNoPods, Message: "a " + e.kind + " has no pods that keep running",
		}
	case check.Rule != nil:
		return e.seen.Rules.Judge(e.seen.Pods, check.Rule)
	case check.Ratio != nil:
		counters, asked := e.seen.Counters[CheckID{policy.Policy, check.Name}]
		terms := e.terms(policy)
		if !asked && !terms.Ended {
			return checks.Passed(0)
		}
		return ratio.Judge(e.seen.Pods, check.Ratio, counters, terms)
	default:
		return judgeHealth(check, e.seen.Pods, e.now)
	}
}

// terms returns how the checks of a policy look at the metrics of the release.
func (e *examination) terms(policy *appv1alpha1.AppliedPolicy) ratio.Terms {
	terms := ratio.Terms{Warmup: time.Duration(policy.WarmupSeconds) * time.Second, Share: budget(e.verification).CountShare()}
	if interval := intervalOf(policy); interval > 0 {
		terms.Again = e.now.Truncate(interval).Add(interval).Sub(e.now)
	}
	if wasVerified(&e.workload.Status) {
		end := watchEnd(policy, &e.workload.Status)
		terms.Ended, terms.Again = !e.now.Before(end), min(terms.Again, max(0, end.Sub(e.now)))
	}
	return terms
}

func judgeHealth(check *appv1alpha1.VerificationCheck, pods *checks.Scene, now time.Time) checks.Finding {
	var signals []appv1alpha1.PodSignal
	if check.PodHealth != nil {
		signals = check.PodHealth.Signals
	}
	return podhealth.Judge(pods, signals, now)
}
