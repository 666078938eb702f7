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

// Package plugin judges a release by what others say of it: a plug-in, which is asked by HTTP, a condition of an object, or a script in a Job.
package plugin

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
	"github.com/traas-stack/altershield-operator/controllers/platform/oneline"
)

// Reasons of a check that has no verdict, besides those of sources. What others give as a reason begins the message: they could invent any.
const (
	// ReasonNotAsked means that the check ended before it was made: no pod of the release finished, or it is suspended.
	ReasonNotAsked = "NotAsked"
	// ReasonUndecided means that the plug-in can't tell.
	ReasonUndecided = "Undecided"
	// ReasonBadAnswer means that the plug-in answers something else.
	ReasonBadAnswer = "BadAnswer"
	// ReasonNoVerdict means that no verdict was reported in the ChangeVerdict.
	ReasonNoVerdict = "NoVerdict"
	// ReasonNotCreated means that the ChangeVerdict can't be created.
	ReasonNotCreated = "NotCreated"
	// ReasonConditionUnknown means that the condition is missing, Unknown, or older than the spec of the object.
	ReasonConditionUnknown = "ConditionUnknown"
	// ReasonObjectMissing means that there is no such object.
	ReasonObjectMissing = "ObjectMissing"
	// ReasonReadFailed means that the object can't be read.
	ReasonReadFailed = "ReadFailed"
	// ReasonJobRunning means that the script hasn't ended.
	ReasonJobRunning = "JobRunning"
	// ReasonJobTimedOut means that the script didn't end in its time.
	ReasonJobTimedOut = "JobTimedOut"
	// ReasonJobDenied means that the API server doesn't accept the Job.
	ReasonJobDenied = "JobDenied"
	// ReasonJobNotStarted means that the script can't run, such as for its image, or a quota.
	ReasonJobNotStarted = "JobNotStarted"
	// ReasonJobInterrupted means that the script ended for a reason that isn't its own, such as an eviction, or a lack of memory.
	ReasonJobInterrupted = "JobInterrupted"
)

// maxText is the most characters that are taken from a text of others.
const maxText = 256

// Question is what a check asks at one look.
type Question struct {
	// ID is the same for all tries to ask it: for all of a release, if the answer is awaited in a ChangeVerdict. It has no full stop, which
	// separates it in what is signed.
	ID string
	// Policy is the VerificationPolicy, as <namespace>/<name>, and Check is the name of the check in it.
	Policy, Check string
	// Phase is that of the check, empty for During.
	Phase appv1alpha1.CheckPhase
	Mode  appv1alpha1.CheckMode
	// Look counts the intervals since the release began. Last reports whether no look follows.
	Look int64
	Last bool
	// At is when the question is asked, Until is when the look is over.
	At, Until time.Time
	// HTTP, Condition or Job is who is asked.
	HTTP      *appv1alpha1.HTTPCheck
	Condition *appv1alpha1.ConditionCheck
	Job       *appv1alpha1.JobCheck
	// Verdict is where the answer is awaited, nil for one that is given at once. It has a UID once it exists.
	Verdict *appv1alpha1.ChangeVerdict
	// Run identifies the Job.
	Run Run
}

// Run identifies the Job of a check of a release.
type Run struct {
	// Name is that of the Job.
	Name string
	// Record and UID are those of the ChangeWorkload, which owns the Job.
	Record string
	UID    types.UID
	// Release is the value of LabelCheckOf.
	Release string
	// Labels are those of the record that name the workload.
	Labels map[string]string
	// Waits is for how many seconds pods, or the release, may wait for what the Job says.
	Waits int32
}

// Answer is what others say of a release. The zero value is that of a question that was never asked.
type Answer struct {
	// Verdict is Pass, Fail, or Inconclusive.
	Verdict         appv1alpha1.CheckVerdict
	Reason, Message string
	// Broken reports whether the answer is Inconclusive as there was none.
	Broken bool
	// Unsent reports whether the plug-in wasn't asked, as it wants a pause, or by its limits.
	Unsent bool
	// Final reports whether no other answer follows.
	Final bool
	// Pods are those that failed; none if all did.
	Pods []appv1alpha1.CheckedPod
}

// Broken returns that there is no answer, and why.
func Broken(reason, message string) Answer {
	return Answer{Verdict: appv1alpha1.CheckInconclusive, Reason: reason, Message: message, Broken: true}
}

// Judge judges a release by an answer. A Fail counts at once, and a Pass at the end: until then, the next answer may be another one, unless this
// one is final.
func Judge(release *checks.Scene, answer Answer, terms measure.Terms) checks.Finding {
	if answer.Final {
		terms.Ended, terms.Again = true, 0
	}
	switch {
	case answer.Verdict == appv1alpha1.CheckFail:
		found := measure.Failed(release, answer.Reason, answer.Message)
		if len(answer.Pods) > 0 {
			found.Pods = answer.Pods
		}
		return found
	case answer.Verdict == appv1alpha1.CheckPass && terms.Ended:
		return measure.Passed(answer.Reason, answer.Message, terms)
	case answer.Verdict == appv1alpha1.CheckPass:
		return checks.Passed(terms.Again)
	case answer.Broken:
		return measure.Broken(answer.Reason, answer.Message, terms)
	case answer.Verdict == "":
		return measure.Undecided(ReasonNotAsked, "no pod of the release finished, or it is suspended", terms)
	default:
		return measure.Undecided(answer.Reason, answer.Message, terms)
	}
}

// said returns what others said: their reason, and their message.
func said(reason, message string) string {
	if reason == "" || message == "" {
		return oneline.Of(reason+message, maxText)
	}
	return oneline.Of(reason+": "+message, maxText)
}
