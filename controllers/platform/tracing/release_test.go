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

// admitted returns the Deployment's record of its current release.
func admitted(record string) map[string]string {
	return map[string]string{"altershield.defense.antgroup.com/released-by": record}
}

const byJane = `{"user":"jane","time":"2026-11-21T10:00:00Z","version":"` + version + `","release":3}`

func TestStatusSpansReachFromTheAdmissionToTheFirstOutcome(t *testing.T) {
	running := workload("Running", condition("Verified", "Unknown", "Verifying"))
	suspend := workload("Suspend", condition("Suspended", "False", "BlockingDisabled"))
	success := workload("Success", condition("Verified", "True", "AllPodsPassed"))
	noPods := workload("Success", condition("Verified", "Unknown", "NoReplicas"))
	rolledBack := condition("RolledBack", "True", "PodsNotRunning")
	moved := condition("Verified", "Unknown", "Superseded")
	const pods = " altershield.pods.desired=5 altershield.pods.passed=4 altershield.pods.failed=1"
	for _, row := range []struct {
		name          string
		before, after *appv1alpha1.ChangeWorkload
		spans         []string
	}{
		{"it is seen for the first time", workload(""), running, nil},
		{"it makes progress", running, running, nil},
		{"pods are late", running, workload("TimeOutPreThreshold"), nil},
		{"every pod passes", running, success,
			[]string{"release default/sleep 10:00:00 10:05:00.25 altershield.release.outcome=Success" + pods}},
		{"there are no pods to check", running, noPods, nil},
		{"every pod passes of those that there are at last", noPods, success,
			[]string{"release default/sleep 10:00:00 10:05:00.25 altershield.release.outcome=Success" + pods}},
		{"a pod fails", running, suspend,
			[]string{"release default/sleep 10:00:00 10:05:00.25 altershield.release.outcome=Suspend" + pods + " ERROR Suspend"}},
		{"the server refuses its order", running, workload("Failed"),
			[]string{"release default/sleep 10:00:00 10:05:00.25 altershield.release.outcome=Failed" + pods + " ERROR Failed"}},
		{"it is rolled back", running, workload("Running", moved, rolledBack),
			[]string{"release default/sleep 10:00:00 10:05:00.25 altershield.release.outcome=RolledBack" + pods + " ERROR RolledBack"}},
		{"another release takes over", running, workload("Running", moved),
			[]string{"release default/sleep 10:00:00 10:05:00.25 altershield.release.outcome=Superseded" + pods}},
		{"it stays superseded", workload("Running", moved), workload("TimeOutPreThreshold", moved), nil},
		{"it is rolled back after it was suspended", suspend, workload("Suspend", rolledBack), nil},
		{"a pod fails after all have passed", success, suspend, nil},
		{"a failed pod passes after all", suspend, success, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			spans := tracing.StatusSpans(row.before, row.after, admitted(byJane), nil, at("10:05:00.25"))
			NewWithT(t).Expect(told(spans)).To(Equal(row.spans))
		})
	}
}

// checked sets the verdicts of the checks of a release.
func checked(results ...appv1alpha1.CheckResult) func(*appv1alpha1.ChangeWorkload) {
	return func(workload *appv1alpha1.ChangeWorkload) { workload.Status.Checks = results }
}

func TestStatusSpansHaveEachVerdictOfACheckOnce(t *testing.T) {
	result := func(name, verdict, reason string) appv1alpha1.CheckResult {
		return appv1alpha1.CheckResult{
			Policy: "shop/web", Name: name, Type: "Ratio", Mode: "Enforce", Verdict: appv1alpha1.CheckVerdict(verdict), Reason: reason, Message: "not traced",
		}
	}
	const span = "check errors 10:00:01 10:05:00 altershield.check.policy=shop/web altershield.check.type=Ratio altershield.check.mode=Enforce altershield.check.reason="
	passed := workload("Running", checked(result("errors", "Pass", "PassedEarly"), result("late", "Pending", "")))
	for _, row := range []struct {
		name          string
		before, after *appv1alpha1.ChangeWorkload
		spans         []string
	}{
		{"a check is decided", workload("Running"), passed, []string{span + "PassedEarly altershield.verdict=Pass"}},
		{"it stays so", passed, passed, nil},
		{"it fails later", passed, workload("Running", checked(result("errors", "Fail", "CheckFailed"))),
			[]string{span + "CheckFailed altershield.verdict=Fail ERROR the check failed"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			spans := tracing.StatusSpans(row.before, row.after, nil, nil, at("10:05:00"))
			NewWithT(t).Expect(told(spans)).To(Equal(row.spans))
		})
	}
	early := tracing.StatusSpans(workload("Running"), passed, nil, nil, at("10:05:00"))
	late := tracing.StatusSpans(passed, workload("Running", checked(result("errors", "Fail", "CheckFailed"))), nil, nil, at("10:05:00"))
	NewWithT(t).Expect(early[0].ID).NotTo(Equal(late[0].ID))
	NewWithT(t).Expect(late[0].Parent).To(Equal(release().SpanID("release")))
}

func TestStatusSpansOfAVersionThatIsReleasedAgain(t *testing.T) {
	g := NewWithT(t)
	again := func(workload *appv1alpha1.ChangeWorkload) { workload.Spec.Release = 5 }
	before := workload("Success", again)
	g.Expect(tracing.StatusSpans(before, workload("Running", again, func(w *appv1alpha1.ChangeWorkload) { w.Status.ObservedRelease = 5 }),
		nil, nil, at("10:05:00"))).To(BeEmpty())
	after := workload("Success", again, func(w *appv1alpha1.ChangeWorkload) { w.Status.ObservedRelease = 5 })
	spans := tracing.StatusSpans(before, after, nil, nil, at("10:05:00"))
	g.Expect(spans).To(HaveLen(1))
	g.Expect(spans[0].ID).NotTo(Equal(release().SpanID("release")))
	g.Expect(tracing.ReleaseOf(after).TraceID()).NotTo(Equal(release().TraceID()))
}

func TestStatusSpansBeginAtTheAdmissionWhereItIsKnown(t *testing.T) {
	for name, row := range map[string]struct{ record, start string }{
		"it has a time":                {byJane, "10:00:00"},
		"it has no record":             {"", "10:00:01"},
		"it speaks of a later release": {`{"user":"jane","time":"2026-11-21T10:00:00Z","release":4}`, "10:00:01"},
		"its time is after the record": {`{"user":"jane","time":"2026-11-21T10:00:02Z","release":3}`, "10:00:01"},
		"its record has no time":       {`{"user":"jane","release":3}`, "10:00:01"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			spans := tracing.StatusSpans(workload("Running"), workload("Success"), admitted(row.record), nil, at("10:05:00"))
			g.Expect(spans).To(HaveLen(1))
			g.Expect(spans[0].Start).To(BeTemporally("==", at(row.start)))
		})
	}
}

func TestStatusSpansBeginASuspensionWithItsVerdict(t *testing.T) {
	g := NewWithT(t)
	suspended := condition("Suspended", "True", "PodsFailed")
	batches := []appv1alpha1.ChangePod{
		*batch("", done("PostFinish", "PodsPassed"), verdictAt("10:00:04.5")),
		*batch("", done("PostFinish", "PodsFailed"), failed, verdictAt("10:00:03.25")),
	}
	before, after := workload("Running"), workload("Suspend", suspended)
	spans := tracing.StatusSpans(before, after, nil, batches, at("10:00:03.255"))
	g.Expect(told(spans)).To(HaveExactElements("suspend 10:00:03.25 10:00:03.255", HavePrefix("release default/sleep 10:00:01 10:00:03.255 ")))
	g.Expect(spans[0].Parent).To(Equal(spans[1].ID))
	g.Expect(spans[1].Parent.IsValid()).To(BeFalse())

	byHand := tracing.StatusSpans(workload("Success"), after, nil, nil, at("11:00:00"))
	g.Expect(told(byHand)).To(HaveExactElements("suspend 11:00:00 11:00:00"))
	g.Expect(tracing.StatusSpans(after, after, nil, batches, at("11:00:00"))).To(BeEmpty(), "it is suspended already")
}

func TestStatusSpansLinkARollbackToTheReleaseThatItLeaves(t *testing.T) {
	g := NewWithT(t)
	back := func(workload *appv1alpha1.ChangeWorkload) { workload.Spec.Rollback = &appv1alpha1.Rollback{Release: 2} }
	spans := tracing.StatusSpans(workload("Running", back), workload("Success", back), nil, nil, at("10:05:00"))
	g.Expect(spans).To(HaveLen(1))
	g.Expect(spans[0].Link.Number).To(BeEquivalentTo(2))
	g.Expect(spans[0].Link.Workload).To(BeEquivalentTo(deployment))
}

func TestSupersededSpansEndTheReleaseBefore(t *testing.T) {
	g := NewWithT(t)
	spans := tracing.SupersededSpans(workload("Running"), at("10:02:00"))
	g.Expect(told(spans)).To(HaveExactElements(HavePrefix("release default/sleep 10:00:01 10:02:00 altershield.release.outcome=Superseded ")))
	g.Expect(spans[0].ID).To(Equal(release().SpanID("release")))
	g.Expect(tracing.SupersededSpans(workload("Success"), at("10:02:00"))).To(BeEmpty(), "it has its span")
}

func TestRecordSpanBeginsAtTheAdmission(t *testing.T) {
	g := NewWithT(t)
	spans := tracing.RecordSpan(release(), admitted(byJane), at("10:00:01.5"))
	g.Expect(told(spans)).To(HaveExactElements("record 10:00:00 10:00:01.5"))
	g.Expect(spans[0].Parent).To(Equal(release().SpanID("release")))
	g.Expect(tracing.RecordSpan(release(), admitted(`{"user":"jane","time":"2026-11-21T10:00:00Z","release":2}`), at("10:00:01"))).To(BeEmpty())
}

func TestRollbackSpanBelongsToTheReleaseThatIsLeft(t *testing.T) {
	g := NewWithT(t)
	span := tracing.RollbackSpan(release(), &appv1alpha1.Rollback{
		Version: version, Release: 3, To: "6a8ff823a5011291b0f02a1d83c2222d", ToRelease: 4, Reason: "PodsNotRunning", User: "jane", Message: "secret",
	}, at("10:02:00"), at("10:02:00.1"))
	g.Expect(told([]tracing.Span{span})).To(HaveExactElements("roll back 10:02:00 10:02:00.1 altershield.rollback.reason=PodsNotRunning " +
		"altershield.rollback.to_version=6a8ff823a5011291b0f02a1d83c2222d altershield.rollback.to_release=4"))
	g.Expect(span.Parent).To(Equal(release().SpanID("release")))
	g.Expect(span.Link.Number).To(BeEquivalentTo(4))
}
