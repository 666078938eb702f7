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

package tracing

import (
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// Span is a span of a release. It holds only names, versions, numbers and reasons, never texts of users or pod templates.
type Span struct {
	ID trace.SpanID
	// Parent is zero for the root span, the release.
	Parent trace.SpanID
	Name   string
	// Start is in whole seconds if it comes from an API object: up to a second early, never late.
	Start, End time.Time
	Attributes []attribute.KeyValue
	// Failure is the description of an error; empty if there is none.
	Failure string
	// Link is a release with a related trace; its number is 0 if there is none.
	Link Release
}

// The outcomes of a release, besides the states Success, Suspend and Failed.
const (
	outcomeRolledBack = "RolledBack"
	outcomeSuperseded = "Superseded"
)

// Outcome returns the outcome of a release; empty while it is in progress.
func Outcome(workload *appv1alpha1.ChangeWorkload) string {
	status, phase := &workload.Status, decide.Standing(&workload.Status)
	verified := meta.FindStatusCondition(status.Conditions, appv1alpha1.ConditionVerified)
	switch {
	case status.ObservedRelease != workload.Spec.Release:
		return ""
	case meta.IsStatusConditionTrue(status.Conditions, appv1alpha1.ConditionRolledBack):
		return outcomeRolledBack
	case phase == appv1alpha1.ChangeWorkloadSuccess, phase == appv1alpha1.ChangeWorkloadSuspend, phase == appv1alpha1.ChangeWorkloadFailed:
		return string(phase)
	case verified != nil && verified.Reason == appv1alpha1.ReasonSuperseded:
		return outcomeSuperseded
	}
	return ""
}

// StatusSpans returns the spans that a change of a ChangeWorkload's status at now adds to the trace of its release: the release at its
// first outcome, a suspension, and the checks of VerificationPolicies that were decided. It takes the annotations of the workload and the batches of the release.
func StatusSpans(before, after *appv1alpha1.ChangeWorkload, annotations map[string]string, batches []appv1alpha1.ChangePod, now time.Time) []Span {
	spans := decidedSpans(before, after, now)
	if isSuspended(after) && !isSuspended(before) {
		spans = append(spans, suspension(after, batches, now))
	}
	if outcome := Outcome(after); outcome != "" && Outcome(before) == "" {
		spans = append(spans, root(after, outcome, admittedAt(after, annotations), now))
	}
	return spans
}

// decidedSpans returns a span for each check of a VerificationPolicy that has a new verdict, since the release was recorded.
func decidedSpans(before, after *appv1alpha1.ChangeWorkload, now time.Time) []Span {
	var spans []Span
	release := ReleaseOf(after)
	for i := range after.Status.Checks {
		result := &after.Status.Checks[i]
		if result.Verdict == appv1alpha1.CheckPending || decide.HasVerdict(before, after, result) {
			continue
		}
		span := Span{
			ID: release.SpanID(partDecided(result)), Parent: release.SpanID(partRelease), Name: "check " + result.Name,
			Start: recordedAt(after), End: now,
			Attributes: []attribute.KeyValue{
				attribute.String("altershield.check.policy", result.Policy),
				attribute.String("altershield.check.type", string(result.Type)),
				attribute.String("altershield.check.mode", string(result.Mode)),
				attribute.String("altershield.check.reason", result.Reason),
				attribute.String("altershield.verdict", string(result.Verdict)),
			},
		}
		if result.Verdict == appv1alpha1.CheckFail {
			span.Failure = "the check failed"
		}
		spans = append(spans, span)
	}
	return spans
}

func isSuspended(workload *appv1alpha1.ChangeWorkload) bool {
	return workload.Status.ObservedRelease == workload.Spec.Release &&
		meta.IsStatusConditionTrue(workload.Status.Conditions, appv1alpha1.ConditionSuspended)
}

// SupersededSpans returns the spans for a ChangeWorkload that is about to record another release of its version.
func SupersededSpans(before *appv1alpha1.ChangeWorkload, now time.Time) []Span {
	if Outcome(before) != "" {
		return nil
	}
	return []Span{root(before, outcomeSuperseded, recordedAt(before), now)}
}

func root(workload *appv1alpha1.ChangeWorkload, outcome string, start, now time.Time) Span {
	release, counts := ReleaseOf(workload), workload.Status.Counts
	span := Span{
		ID:    release.SpanID(partRelease),
		Name:  fmt.Sprintf("release %s/%s", release.Namespace, release.Name),
		Start: start,
		End:   now,
		Attributes: []attribute.KeyValue{
			attribute.String("altershield.release.outcome", outcome),
			attribute.Int("altershield.pods.desired", int(counts.Desired)),
			attribute.Int("altershield.pods.passed", int(counts.Passed)),
			attribute.Int("altershield.pods.failed", int(counts.Failed)),
		},
	}
	switch outcome {
	case outcomeRolledBack, string(appv1alpha1.ChangeWorkloadSuspend), string(appv1alpha1.ChangeWorkloadFailed):
		span.Failure = outcome
	}
	if rollback := workload.Spec.Rollback; rollback != nil {
		span.Link = release
		span.Link.Number = rollback.Release
	}
	return span
}

// admittedAt returns when the release was admitted, or recorded if the workload doesn't have that time. Its annotation is of the
// current release only, and any editor can write it while no webhook is called.
func admittedAt(workload *appv1alpha1.ChangeWorkload, annotations map[string]string) time.Time {
	recorded := recordedAt(workload)
	record, found := appv1alpha1.ReleaseRecordOf(annotations)
	if !found || record.Release != workload.Spec.Release || record.Time.IsZero() || record.Time.After(recorded) {
		return recorded
	}
	return record.Time.Time
}

func recordedAt(workload *appv1alpha1.ChangeWorkload) time.Time {
	return time.Unix(workload.Spec.CreateTimeUnix, 0)
}

// RecordSpan returns the span from the admission of a release to its record; none if the time of admission is unknown.
func RecordSpan(release Release, annotations map[string]string, now time.Time) []Span {
	record, found := appv1alpha1.ReleaseRecordOf(annotations)
	if !found || record.Release != release.Number || record.Time.IsZero() {
		return nil
	}
	return []Span{{ID: release.SpanID(partRecord), Parent: release.SpanID(partRelease), Name: "record", Start: record.Time.Time, End: now}}
}

// suspension returns the span of a suspension, which begins when the failing verdict arrived. A verdict set by hand has no time.
func suspension(workload *appv1alpha1.ChangeWorkload, batches []appv1alpha1.ChangePod, now time.Time) Span {
	release, start := ReleaseOf(workload), decide.FailureArrived(&workload.Status, batches)
	if start.IsZero() {
		start = now
	}
	return Span{
		ID: release.SpanID(fmt.Sprintf("%s/%d", partSuspend, now.Unix())), Parent: release.SpanID(partRelease),
		Name: "suspend", Start: start, End: now,
	}
}

// RollbackSpan returns the span of a rollback, which belongs to the release that the workload left.
func RollbackSpan(left Release, made *appv1alpha1.Rollback, start, end time.Time) Span {
	to := left
	to.Version, to.Number = made.To, made.ToRelease
	return Span{
		ID: left.SpanID(partBack), Parent: left.SpanID(partRelease), Name: "roll back", Start: start, End: end, Link: to,
		Attributes: []attribute.KeyValue{
			attribute.String("altershield.rollback.reason", string(made.Reason)),
			attribute.String("altershield.rollback.to_version", made.To),
			attribute.Int64("altershield.rollback.to_release", made.ToRelease),
		},
	}
}

// reasonOf returns the reason of a condition; empty if there is no such condition.
func reasonOf(conditions []metav1.Condition, kind string) string {
	if condition := meta.FindStatusCondition(conditions, kind); condition != nil {
		return condition.Reason
	}
	return ""
}
