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
	"iter"
	"slices"
	"time"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/plugin"
	"github.com/traas-stack/altershield-operator/controllers/decide/statistics"
)

// CheckID identifies a check of a release.
type CheckID struct{ Policy, Name string }

// AskedCheck is a check that looks at metrics now.
type AskedCheck struct {
	CheckID
	measure.Check
	// Schedule is when it looks.
	Schedule
	// Waits reports whether it isn't its turn: it asks nothing now, and what it saw last stands.
	Waits bool
	// Ended reports whether no look follows.
	Ended bool
	// Warmup is how long the metrics of a pod don't count after it finished.
	Warmup time.Duration
	// Present reports whether only the last moments count: before the first pod, and of a Query after the last one.
	Present bool
}

// AskedChecks returns the checks of a release with these pods that look at metrics now. They share nothing with the record.
func AskedChecks(workload *appv1alpha1.ChangeWorkload, pods *checks.Scene, now time.Time) []AskedCheck {
	return askedChecks(workload, pods, turnsOf(workload.Status.Verification), now)
}

func askedChecks(workload *appv1alpha1.ChangeWorkload, pods *checks.Scene, turns turns, now time.Time) (asked []AskedCheck) {
	for policy, check := range looking(workload, pods, now) {
		if measured := Measured(check); measured != nil {
			schedule := turns.scheduleOf(policy, check, workload)
			asked = append(asked, AskedCheck{
				CheckID: CheckID{policy.Policy, check.Name}, Check: measured, Schedule: schedule, Waits: !schedule.IsTurn(now),
				Ended: isLast(workload, policy, check, schedule, now), Warmup: time.Duration(policy.WarmupSeconds) * time.Second,
				Present: check.Phase == appv1alpha1.PhaseBefore || check.Phase == appv1alpha1.PhaseAfter && check.Type == appv1alpha1.CheckQuery,
			})
		}
	}
	return asked
}

// Questions returns what the checks of a release with these pods ask others now. A question is the same until the next look. It shares nothing
// with the record.
func Questions(workload *appv1alpha1.ChangeWorkload, pods *checks.Scene, now time.Time) (questions []plugin.Question) {
	began := time.Unix(workload.Spec.CreateTimeUnix, 0)
	for policy, check := range looking(workload, pods, now) {
		if check.HTTP == nil && check.Condition == nil && check.Job == nil {
			continue
		}
		schedule := scheduleOf(policy, workload)
		last := isLast(workload, policy, check, schedule, now)
		at, interval := schedule.Last(now), schedule.Interval
		look := int64(at.Sub(schedule.Last(began)) / interval)
		if last {
			look++ // else it could be the look before, which didn't see all pods
		}
		question := plugin.Question{
			ID:     fmt.Sprintf("%s/%d/%s/%s/%d", workload.UID, workload.Spec.Release, policy.UID, check.Name, look),
			Policy: policy.Policy, Check: check.Name, Phase: phaseShown(check), Mode: LowerMode(policy.Mode, check.Mode), Look: look, Last: last, At: at, Until: at.Add(interval),
			HTTP: check.HTTP, Condition: check.Condition, Job: check.Job, Run: runOf(workload, pods, policy, check),
		}
		if isAsynchronous(check) {
			question.ID = fmt.Sprintf("%s/%d/%s/%s", workload.UID, workload.Spec.Release, policy.UID, check.Name)
			question.Verdict = awaited(workload, policy, check)
		}
		questions = append(questions, question)
	}
	return questions
}

// runOf identifies the Job of a check, which has the same name whenever it is asked about.
func runOf(workload *appv1alpha1.ChangeWorkload, pods *checks.Scene, policy *appv1alpha1.AppliedPolicy, check *appv1alpha1.VerificationCheck) plugin.Run {
	if check.Job == nil {
		return plugin.Run{}
	}
	run := plugin.Run{
		Name: checkJobName(pods.Name, workload, policy.UID, check.Name), Record: workload.Name, UID: workload.UID,
		Release: BatchOfLabel(workload.UID, workload.Spec.Release), Labels: map[string]string{}, Waits: check.TimeoutSeconds,
	}
	for _, key := range []string{appv1alpha1.LabelDeploymentName, appv1alpha1.LabelWorkload} {
		if name, found := workload.Labels[key]; found {
			run.Labels[key] = name
		}
	}
	return run
}

// isLast reports whether no look of a check follows one at a time. A check of a phase has no last look: it ends with its verdict.
func isLast(
	workload *appv1alpha1.ChangeWorkload, policy *appv1alpha1.AppliedPolicy, check *appv1alpha1.VerificationCheck, schedule Schedule, now time.Time,
) bool {
	return !IsPhased(check.Phase) && termsOf(policy, workload, schedule, now).Ended
}

// isOver reports whether a check looks no more: it failed, or it has its only verdict. One for which pods wait, or waited for too long, has none, nor has
// one that let them pass as its plug-in could not be asked, or that could not tell before the end of a bake for which pods wait then.
func isOver(
	workload *appv1alpha1.ChangeWorkload, policy *appv1alpha1.AppliedPolicy, check *appv1alpha1.VerificationCheck, result *appv1alpha1.CheckResult,
) bool {
	if IsPhased(check.Phase) {
		return result.Verdict != appv1alpha1.CheckPending
	}
	cantTell, wasCleared := result.Verdict == appv1alpha1.CheckInconclusive, result.ClearedTime != nil
	if cantTell && !wasCleared && holds(policy, check) && isVerifying(&workload.Status) {
		return false
	}
	decidesOnce := check.Job != nil || isAsynchronous(check) && (!cantTell || !wasCleared)
	return result.Verdict == appv1alpha1.CheckFail || decidesOnce && result.Verdict != appv1alpha1.CheckPending && result.HeldUntil == nil
}

// looking returns copies of the checks of a release with these pods that look now, but none of a release that is suspended, and without finished
// pods only those of a phase.
func looking(
	workload *appv1alpha1.ChangeWorkload, pods *checks.Scene, now time.Time,
) iter.Seq2[*appv1alpha1.AppliedPolicy, *appv1alpha1.VerificationCheck] {
	return func(yield func(*appv1alpha1.AppliedPolicy, *appv1alpha1.VerificationCheck) bool) {
		watched := WatchedPolicies(workload, now)
		if len(watched) == 0 || workload.Status.Status == appv1alpha1.ChangeWorkloadSuspend {
			return
		}
		for i := range workload.Status.Verification.Policies {
			policy := &workload.Status.Verification.Policies[i]
			for j := range policy.Checks {
				check := &policy.Checks[j]
				result := storedResult(workload.Status.Checks, policy, check, now)
				isTime := len(pods.New) > 0
				if IsPhased(check.Phase) {
					isTime = looksNow(workload, policy, check)
				}
				if isTime && hasLooks(check.Type) && slices.Contains(watched, policy.UID) && !isOver(workload, policy, check, &result) && !yield(policy, check.DeepCopy()) {
					return
				}
			}
		}
	}
}

// termsOf returns how a check with a schedule looks at a release.
func termsOf(policy *appv1alpha1.AppliedPolicy, workload *appv1alpha1.ChangeWorkload, schedule Schedule, now time.Time) measure.Terms {
	terms := measure.Terms{Warmup: time.Duration(policy.WarmupSeconds) * time.Second, Again: untilNextLook(policy, schedule, now)}
	if wasVerified(&workload.Status) {
		end := schedule.end(watchEnd(policy, &workload.Status))
		terms.Ended, terms.Again = !now.Before(end), min(terms.Again, max(0, end.Sub(now)))
	}
	return terms
}

// retryFor is for how long the last look is made again if there is no answer, and at least once: its verdict stands, and one query may fail at
// any time. It is longer than a source that was away isn't asked.
const retryFor = time.Minute

// withoutAnswer returns how a release that was verified is looked at where there was no answer, for a reason. A leader that comes later than the last
// look has the full time for it. A source that wasn't asked, unsent, can yet be once its pause is over.
func (e *examination) withoutAnswer(
	terms measure.Terms, reason string, unsent bool, policy *appv1alpha1.AppliedPolicy, schedule Schedule,
) measure.Terms {
	status := &e.workload.Status
	passes := slices.Contains([]string{
		appv1alpha1.ReasonSourceUnavailable, appv1alpha1.ReasonSourceThrottled, appv1alpha1.ReasonPartialAnswer, appv1alpha1.ReasonQueryFailed,
		plugin.ReasonReadFailed,
	}, reason)
	end := laterOf(schedule.end(watchEnd(policy, status)), e.seen.Since).Add(max(retryFor, schedule.Period()))
	if unsent {
		end = end.Add(appv1alpha1.MaxRetryAfter)
	}
	if left := end.Sub(e.now); terms.Ended && wasVerified(status) && passes && left > 0 {
		terms.Ended, terms.Again = false, Sooner(untilNextLook(policy, schedule, e.now), left)
	}
	return terms
}

// untilNextLook returns the time until the next look of a check, 0 for a policy that never looks.
func untilNextLook(policy *appv1alpha1.AppliedPolicy, schedule Schedule, now time.Time) time.Duration {
	if policy.IntervalSeconds == 0 {
		return 0
	}
	return schedule.Last(now).Add(schedule.Period()).Sub(now)
}

// budget divides the false alarms of a release among the tests of all policies.
func budget(verification *appv1alpha1.ReleaseVerification) statistics.Budget {
	budget := statistics.Budget{Total: statistics.DefaultBudget}
	for i := range verification.Policies {
		for j := range verification.Policies[i].Checks {
			check := Measured(&verification.Policies[i].Checks[j])
			if check == nil {
				continue
			}
			switch check.Spends() {
			case measure.Evidence:
				budget.Counts++
			case measure.Level:
				budget.Levels++
			}
		}
	}
	return budget
}

// shareOf returns the part of the budget that a check has.
func shareOf(check measure.Check, of statistics.Budget) float64 {
	if check.Spends() == measure.Level {
		return of.LevelShare()
	}
	return of.CountShare()
}

// watchEnd returns when a policy stops watching a release that was verified. One with an enforced check has looked for bakeSeconds before, unless
// it passed early: then it has yet to see the pods that came later.
func watchEnd(policy *appv1alpha1.AppliedPolicy, status *appv1alpha1.ChangeWorkloadStatus) time.Time {
	seconds := policy.WatchSeconds
	if looks(policy) && (!bakesBatches(*policy) || passedEarly(policy, status)) {
		seconds = max(seconds, policy.BakeSeconds)
	}
	return time.Unix(status.EntryTimeUnix+int64(seconds), 0)
}

// LookSeconds returns for how many seconds a policy with these terms looks at the last pods of a release, unless its checks pass early: the bake and
// the watch follow each other only if pods wait for the bake.
func LookSeconds(terms *appv1alpha1.VerificationTerms) int32 {
	if bakesBatches(appv1alpha1.AppliedPolicy{VerificationTerms: *terms}) {
		return terms.BakeSeconds + terms.WatchSeconds
	}
	return max(terms.BakeSeconds, terms.WatchSeconds)
}

// looks reports whether a policy has checks that look at metrics, or at what others say, as pods come.
func looks(policy *appv1alpha1.AppliedPolicy) bool {
	for i := range policy.Checks {
		if check := &policy.Checks[i]; hasLooks(check.Type) && !IsPhased(check.Phase) {
			return true
		}
	}
	return false
}

// hasPendingLook reports whether a check of a policy has yet to make its last look, or has its only verdict to come.
func hasPendingLook(policy *appv1alpha1.AppliedPolicy, results []appv1alpha1.CheckResult) bool {
	for i := range results {
		result := &results[i]
		looks := hasLooks(result.Type) || IsPhased(result.Phase)
		if result.Policy == policy.Policy && looks && result.Verdict == appv1alpha1.CheckPending {
			return true
		}
	}
	return false
}
