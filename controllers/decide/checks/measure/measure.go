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

// Package measure has what the checks that look at metrics have in common: what they ask a source, what it answers, and how they end.
// A verdict is computed again at each look, from all that was seen since the release began, so every replica comes to the same one.
package measure

import (
	"time"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/statistics"
)

// Check is a check that looks at metrics. Each type has a package of its own beside this one.
type Check interface {
	// Source names the VerificationSource that is asked.
	Source() string
	// Queries returns the PromQL queries whose series Judge needs, in its order. The labels are those of the source.
	Queries(release *checks.Scene, labels appv1alpha1.SourceLabels) ([]string, error)
	// Judge judges a release by the answers. Before the end, a check only fails, or passes early. What can't be told fails nothing.
	Judge(release *checks.Scene, readings Readings, terms Terms) checks.Finding
	// Problems returns why the check is unusable, each with its field; none if it is usable.
	Problems() []string
	// LeastLooks returns how many looks it needs to fail, with so many seconds between two of them.
	LeastLooks(interval int32) int32
	// Spends returns which part of the false alarms of a release it may cause.
	Spends() Spending
}

// PastCheck is a check that may compare a release with the time before it.
type PastCheck interface {
	Check
	// NeedsPast reports whether it does, by the answers since the release began.
	NeedsPast(release *checks.Scene, readings Readings, warmup time.Duration) bool
	// QueriesOfOthers returns the queries of what the other pods of the namespace show, which tells a common cause.
	QueriesOfOthers(release *checks.Scene, labels appv1alpha1.SourceLabels) ([]string, error)
}

// Present is a check that can tell as well whether all is well now, whatever was before.
type Present interface {
	Check
	// JudgePresent passes what the last moment of the readings shows, or says what doesn't.
	JudgePresent(release *checks.Scene, readings Readings) checks.Finding
}

// Spending is how a check may fail a release without fault.
type Spending int

const (
	// Nothing is for one that compares with a fixed objective.
	Nothing Spending = iota
	// Evidence is for a test with e-values, which may be looked at any time.
	Evidence
	// Level is for a test with a p-value, which is looked at once.
	Level
)

// Terms are how a release is looked at.
type Terms struct {
	// Warmup is how long the metrics of a pod don't count after it finished.
	Warmup time.Duration
	// Share is the probability with which the check may fail a release without fault.
	Share float64
	// Ended reports whether this look is the last one, or is judged as if it were.
	Ended bool
	// Wait is for how long a check that can't tell is waited for with further looks although this one is judged as the last, 0 for the last one.
	Wait time.Duration
	// Again is the time until the next one.
	Again time.Duration
}

// LooksAgain reports whether a further look is waited for, as it comes in time: a step later.
func (t Terms) LooksAgain(step time.Duration) bool { return t.Ended && t.Wait > step }

// Failed returns that all new pods failed.
func Failed(release *checks.Scene, reason, message string) checks.Finding {
	failed := checks.Finding{Verdict: appv1alpha1.CheckFail, Reason: reason, Message: message}
	for i := range release.New {
		failed.Pods = append(failed.Pods, appv1alpha1.CheckedPod{Pod: release.New[i].Name, UID: release.New[i].UID, Message: message})
	}
	return failed
}

// Concluded returns what follows from what the statistics found, with its numbers once it has a verdict.
func Concluded(release *checks.Scene, found statistics.Finding, message string, numbers *appv1alpha1.CheckNumbers, terms Terms) checks.Finding {
	var concluded checks.Finding
	reason := string(found.Reason)
	switch found.Verdict {
	case statistics.Fail:
		concluded = Failed(release, reason, message)
	case statistics.Pass:
		concluded = Passed(reason, message, terms)
	default:
		concluded = Undecided(reason, message, terms)
	}
	if concluded.Final || concluded.Verdict != appv1alpha1.CheckPass {
		concluded.Numbers = numbers
	}
	return concluded
}

// Passed returns that a check is over, as nothing was found.
func Passed(reason, message string, terms Terms) checks.Finding {
	return checks.Finding{Verdict: appv1alpha1.CheckPass, Reason: reason, Message: message, Final: true, Again: terms.Again}
}

// Undecided returns that nothing was found yet, or at the end why nothing can be told.
func Undecided(reason, message string, terms Terms) checks.Finding {
	if !terms.Ended {
		return checks.Passed(terms.Again)
	}
	return checks.Finding{Verdict: appv1alpha1.CheckInconclusive, Reason: reason, Message: message}
}

// Broken returns at the end that a check could not be made, and why.
func Broken(reason, message string, terms Terms) checks.Finding {
	found := Undecided(reason, message, terms)
	found.Broken = found.Verdict == appv1alpha1.CheckInconclusive
	return found
}
