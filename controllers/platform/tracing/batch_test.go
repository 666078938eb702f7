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

package tracing_test

import (
	"testing"

	. "github.com/onsi/gomega"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/tracing"
)

func TestBatchSpansAreOneForTheBatchAndOneForEachWait(t *testing.T) {
	preSubmitted := batch("PreSubmitted", func(b *appv1alpha1.ChangePod) { b.Status.PreSubmitTimeUnix = at("10:00:03").Unix() })
	postWait := batch("PostWait", func(b *appv1alpha1.ChangePod) { b.Status.UpdateTimeUnix = at("10:00:05").Unix() })
	postSubmitted := batch("PostSubmitted", func(b *appv1alpha1.ChangePod) { b.Status.PostSubmitTimeUnix = at("10:00:06").Unix() })
	// The check could not be made, and the failure policy is fail.
	failedUnchecked := batch("", done("PostTimeout", "PodsFailed"), failed)
	const (
		of     = "batch 2 10:00:02 10:00:09.5 altershield.batch.number=2 altershield.batch.pods=2 altershield.batch.pods_failed="
		passed = of + "0 altershield.batch.message="
		bad    = of + "1 altershield.batch.message="
	)
	for _, row := range []struct {
		name          string
		before, after *appv1alpha1.ChangePod
		spans         []string
	}{
		{"its check begins", batch(""), preSubmitted, nil},
		{"the server isn't there", batch("PreWait"), batch("PreWait"), nil},
		{"without a verifier", batch(""), batch("", done("PreFailed", "CheckNotConfigured")), []string{
			passed + "PreFailed altershield.batch.reason=CheckNotConfigured"}},
		{"PRE passes", preSubmitted, batch("PostWait"), []string{
			"check PRE 10:00:03 10:00:09.5 altershield.verdict=pass"}},
		{"PRE fails", preSubmitted, batch("", done("PreFailed", "PodsFailed"), failed), []string{
			"check PRE 10:00:03 10:00:09.5 altershield.verdict=unpass ERROR the check failed",
			bad + "PreFailed altershield.batch.reason=PodsFailed ERROR pods failed their check"}},
		{"PRE fails, which a check judges", preSubmitted, batch("PostWait", atServer), []string{
			"check PRE 10:00:03 10:00:09.5 altershield.verdict=unpass ERROR the check failed"}},
		{"POST fails, which a check judges", postSubmitted, batch("", done("PostFinish", "PodsPassed"), atServer), []string{
			"check POST 10:00:06 10:00:09.5 altershield.verdict=unpass ERROR the check failed",
			passed + "PostFinish altershield.batch.reason=PodsPassed"}},
		{"PRE gives no verdict", preSubmitted, batch("", done("PreTimeout", "CheckTimeout")), []string{
			"check PRE 10:00:03 10:00:09.5 altershield.verdict=none",
			passed + "PreTimeout altershield.batch.reason=CheckTimeout"}},
		{"POST begins", postWait, postSubmitted, nil},
		{"POST passes", postSubmitted, batch("", done("PostFinish", "PodsPassed")), []string{
			"check POST 10:00:06 10:00:09.5 altershield.verdict=pass",
			passed + "PostFinish altershield.batch.reason=PodsPassed"}},
		{"POST passes before its begin was saved", postWait, batch("", done("PostFinish", "PodsPassed")), []string{
			"check POST 10:00:05 10:00:09.5 altershield.verdict=pass",
			passed + "PostFinish altershield.batch.reason=PodsPassed"}},
		{"POST fails", postSubmitted, batch("", done("PostFinish", "PodsFailed"), failed), []string{
			"check POST 10:00:06 10:00:09.5 altershield.verdict=unpass ERROR the check failed",
			bad + "PostFinish altershield.batch.reason=PodsFailed ERROR pods failed their check"}},
		{"POST gives no verdict, which counts as failed", postSubmitted, failedUnchecked, []string{
			"check POST 10:00:06 10:00:09.5 altershield.verdict=none",
			bad + "PostTimeout altershield.batch.reason=PodsFailed ERROR pods failed their check"}},
		{"a verdict comes late", failedUnchecked, batch("", done("PostFinish", "PodsPassed")), nil},
		{"a hand took away when it was submitted", batch("PreSubmitted"), batch("PostWait"), []string{
			"check PRE 10:00:02 10:00:09.5 altershield.verdict=pass"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(told(tracing.BatchSpans(release(), row.before, row.after, at("10:00:09.5")))).To(Equal(row.spans))
		})
	}
}

func TestBatchSpansNameTheCheckOfAnOrder(t *testing.T) {
	ofOrder := func(b *appv1alpha1.ChangePod) { b.Spec.Order, b.Spec.PodInfos = true, nil }
	for name, row := range map[string]struct {
		change func(*appv1alpha1.ChangePod)
		span   string
	}{
		"passed": {func(*appv1alpha1.ChangePod) {}, "order 10:00:02 10:00:09.5 altershield.batch.number=2 altershield.batch.pods=0 " +
			"altershield.batch.pods_failed=0 altershield.batch.message=PostFinish altershield.batch.reason=PodsPassed"},
		"failed": {failed, "order 10:00:02 10:00:09.5 altershield.batch.number=2 altershield.batch.pods=0 " +
			"altershield.batch.pods_failed=1 altershield.batch.message=PostFinish altershield.batch.reason=PodsPassed ERROR the change order failed its check"},
	} {
		t.Run(name, func(t *testing.T) {
			spans := tracing.BatchSpans(release(), batch("PostSubmitted", ofOrder), batch("", done("PostFinish", "PodsPassed"), ofOrder, row.change), at("10:00:09.5"))
			NewWithT(t).Expect(told(spans)).To(ContainElement(row.span))
		})
	}
}

func TestBatchSpansAreChildrenOfTheBatchAndItsRelease(t *testing.T) {
	g := NewWithT(t)
	pre := tracing.BatchSpans(release(), batch("PreSubmitted"), batch("PostWait"), at("10:00:03"))
	rest := tracing.BatchSpans(release(), batch("PostSubmitted"), batch("", done("PostFinish", "PodsPassed")), at("10:00:04"))
	g.Expect(pre).To(HaveLen(1))
	g.Expect(rest).To(HaveLen(2))
	post, whole := rest[0], rest[1]
	g.Expect(pre[0].Parent).To(Equal(whole.ID))
	g.Expect(post.Parent).To(Equal(whole.ID))
	g.Expect(pre[0].ID).NotTo(Equal(post.ID))
	g.Expect(whole.Parent).To(Equal(release().SpanID("release")))
}
