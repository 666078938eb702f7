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
	"cmp"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// BatchSpans returns the spans that a change of a batch's status at now adds to the trace of its release: each check of the batch once
// it is over, and the batch when it is done.
func BatchSpans(release Release, before, after *appv1alpha1.ChangePod, now time.Time) []Span {
	was, is := before.Status.Status, after.Status.Status
	if was == is {
		return nil
	}
	var spans []Span
	switch was {
	case appv1alpha1.ChangePodPreSubmitted:
		spans = append(spans, checkSpan(release, after, appv1alpha1.StagePre, before.Status.PreSubmitTimeUnix, now))
	case appv1alpha1.ChangePodPostWait, appv1alpha1.ChangePodPostSubmitted:
		// The verdict may overtake the response to our report that the batch took effect.
		if is == appv1alpha1.ChangePodExecuteDone {
			began := cmp.Or(before.Status.PostSubmitTimeUnix, before.Status.UpdateTimeUnix)
			spans = append(spans, checkSpan(release, after, appv1alpha1.StagePost, began, now))
		}
	}
	if is == appv1alpha1.ChangePodExecuteDone {
		spans = append(spans, batchSpan(release, after, now))
	}
	return spans
}

// checkSpan returns the span of one wait for a verdict.
func checkSpan(release Release, after *appv1alpha1.ChangePod, stage appv1alpha1.CheckStage, began int64, now time.Time) Span {
	verdict := verdictOf(after)
	span := Span{
		ID: release.SpanID(partCheck(after.UID, stage)), Parent: release.SpanID(string(after.UID)), Name: "check " + string(stage),
		Start: time.Unix(max(began, after.Spec.CreateTimeUnix), 0), End: now,
		Attributes: []attribute.KeyValue{attribute.String("altershield.verdict", verdict)},
	}
	if verdict == string(appv1alpha1.VerdictUnpass) {
		span.Failure = "the check failed"
	}
	return span
}

// verdictOf returns the verdict that ended the wait, or "none" if it ended without one.
func verdictOf(batch *appv1alpha1.ChangePod) string {
	failed := len(decide.Judge(batch).Failed) > 0
	switch message := appv1alpha1.ChangePodPhase(batch.Status.Message); {
	case decide.FailedAtServer(batch): // whatever follows from it
		return string(appv1alpha1.VerdictUnpass)
	case batch.Status.Status == appv1alpha1.ChangePodPostWait, message == appv1alpha1.ChangePodPostFinish && !failed:
		return string(appv1alpha1.VerdictPass)
	case message == appv1alpha1.ChangePodPostFinish, message == appv1alpha1.ChangePodPreFailed:
		return string(appv1alpha1.VerdictUnpass)
	}
	return "none"
}

func batchSpan(release Release, batch *appv1alpha1.ChangePod, now time.Time) Span {
	number, failed := decide.ChangePodNumber(batch.Name), len(decide.Judge(batch).Failed)
	name, failure := fmt.Sprintf("batch %d", number), "pods failed their check"
	if batch.Spec.Order {
		name, failure = "order", "the change order failed its check"
	}
	span := Span{
		ID: release.SpanID(string(batch.UID)), Parent: release.SpanID(partRelease), Name: name,
		Start: time.Unix(batch.Spec.CreateTimeUnix, 0), End: now,
		Attributes: []attribute.KeyValue{
			attribute.Int64("altershield.batch.number", number),
			attribute.Int("altershield.batch.pods", len(batch.Spec.PodInfos)),
			attribute.Int("altershield.batch.pods_failed", failed),
			attribute.String("altershield.batch.message", batch.Status.Message),
			attribute.String("altershield.batch.reason", reasonOf(batch.Status.Conditions, appv1alpha1.ConditionVerified)),
		},
	}
	if failed > 0 {
		span.Failure = failure
	}
	return span
}
