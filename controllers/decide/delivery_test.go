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
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// minuteOf returns a time by minutes.
func minuteOf(minutes int64) metav1.Time {
	return metav1.NewTime(time.Unix(1_800_000_000+60*minutes, 0))
}

// recordOf returns the record of a release that began at minute 10 and ended at minute 15.
func recordOf(release int64, kind appv1alpha1.ReleaseType, outcome appv1alpha1.ReleaseOutcome, options ...func(*appv1alpha1.ChangeRecordSpec)) *appv1alpha1.ChangeRecord {
	record := &appv1alpha1.ChangeRecord{Spec: appv1alpha1.ChangeRecordSpec{
		Release: release, Version: "v" + string('0'+rune(release)), Type: kind, Outcome: outcome, StartedAt: minuteOf(10), EndedAt: minuteOf(15),
	}}
	for _, option := range options {
		option(&record.Spec)
	}
	return record
}

func committedAt(minutes int64) func(*appv1alpha1.ChangeRecordSpec) {
	return func(spec *appv1alpha1.ChangeRecordSpec) { spec.CommitTime = ptr.To(minuteOf(minutes)) }
}

func failingFrom(minutes int64) func(*appv1alpha1.ChangeRecordSpec) {
	return func(spec *appv1alpha1.ChangeRecordSpec) { spec.FailingSince = ptr.To(minuteOf(minutes)) }
}

func correctionOf(number int32) func(*appv1alpha1.ChangeRecordSpec) {
	return func(spec *appv1alpha1.ChangeRecordSpec) { spec.Correction = number }
}

func backFrom(release int64) func(*appv1alpha1.ChangeRecordSpec) {
	return func(spec *appv1alpha1.ChangeRecordSpec) {
		spec.Rollback = &appv1alpha1.Rollback{Release: release, Version: "v" + string('0'+rune(release)), Time: minuteOf(9)}
	}
}

func TestDeliveryOfARecord(t *testing.T) {
	const took = 5 * time.Minute
	counts := func(counts ...DeliveryCount) []DeliveryCount { return counts }
	for name, row := range map[string]struct {
		record, previous *appv1alpha1.ChangeRecord
		want             Delivery
	}{
		"the first release": {recordOf(1, "Release", "Verified"), nil, Delivery{Counts: counts(DeliveryCount{"Release", "Verified", ""}), Release: true, Took: took}},
		"a failed release": {recordOf(2, "Release", "Failed", failingFrom(15)), recordOf(1, "Release", "Verified"),
			Delivery{Counts: counts(DeliveryCount{"Release", "Failed", ""}), Release: true, Took: took}},
		"one that was rolled back": {recordOf(2, "Release", "RolledBack"), nil, Delivery{Counts: counts(DeliveryCount{"Release", "RolledBack", ""}), Release: true, Took: took}},
		"a superseded one":         {recordOf(2, "Release", "Superseded"), nil, Delivery{Counts: counts(DeliveryCount{"Release", "Superseded", ""}), Release: true, Took: took}},
		"an unchecked one":         {recordOf(2, "Release", "Unchecked"), nil, Delivery{Counts: counts(DeliveryCount{"Release", "Unchecked", ""}), Release: true, Took: took}},
		"a clock that went back": {recordOf(2, "Release", "Verified", func(spec *appv1alpha1.ChangeRecordSpec) { spec.EndedAt = minuteOf(5) }), nil,
			Delivery{Counts: counts(DeliveryCount{"Release", "Verified", ""}), Release: true}},

		"a verified repair": {recordOf(3, "Repair", "Verified"), recordOf(2, "Release", "Failed", failingFrom(3)),
			Delivery{Counts: counts(DeliveryCount{"Repair", "Verified", ""}), Release: true, Took: took, RecoveredBy: "repair", Recovery: 12 * time.Minute}},
		"a repair of what failed two releases ago": {recordOf(3, "Repair", "Verified"), recordOf(2, "Repair", "Superseded", failingFrom(1)),
			Delivery{Counts: counts(DeliveryCount{"Repair", "Verified", ""}), Release: true, Took: took, RecoveredBy: "repair", Recovery: 14 * time.Minute}},
		"a repair of nothing": {recordOf(3, "Repair", "Verified"), recordOf(2, "Release", "Verified"), Delivery{Counts: counts(DeliveryCount{"Repair", "Verified", ""}), Release: true, Took: took}},
		"a repair that fails": {recordOf(3, "Repair", "Failed", failingFrom(3)), recordOf(2, "Release", "Failed", failingFrom(3)),
			Delivery{Counts: counts(DeliveryCount{"Repair", "Failed", ""}), Release: true, Took: took}},
		"a verified rollback": {recordOf(3, "Rollback", "Verified", backFrom(2)), recordOf(2, "Release", "Failed", failingFrom(3)),
			Delivery{Counts: counts(DeliveryCount{"Rollback", "Verified", ""}), Release: true, Took: took, RecoveredBy: "rollback", Recovery: 12 * time.Minute}},
		"a rollback whose release has no record yet": {recordOf(3, "Rollback", "Verified", backFrom(2)), nil,
			Delivery{Counts: counts(DeliveryCount{"Rollback", "Verified", ""}), Release: true, Took: took, RecoveredBy: "rollback", Recovery: 6 * time.Minute}},
		"a rollback of a verified release": {recordOf(3, "Rollback", "Verified", backFrom(2)), recordOf(2, "Release", "Verified"),
			Delivery{Counts: counts(DeliveryCount{"Rollback", "Verified", ""}, DeliveryCount{"Release", "RolledBack", "Verified"}), Release: true, Took: took, RecoveredBy: "rollback", Recovery: 6 * time.Minute}},
		"a rollback of another release than the one before": {recordOf(3, "Rollback", "Superseded", backFrom(1)), recordOf(2, "Release", "Verified"),
			Delivery{Counts: counts(DeliveryCount{"Rollback", "Superseded", ""}), Release: true, Took: took}},

		"a late bad verdict": {recordOf(2, "Release", "Failed", correctionOf(1)), recordOf(2, "Release", "Verified"), Delivery{Counts: counts(DeliveryCount{"Release", "Failed", "Verified"})}},
		"a withdrawn verdict": {recordOf(2, "Release", "Verified", correctionOf(1)), recordOf(2, "Release", "Failed", failingFrom(12)),
			Delivery{Counts: counts(DeliveryCount{"Release", "Verified", "Failed"}), RecoveredBy: "withdrawn", Recovery: 3 * time.Minute}},
		"a withdrawn verdict on a rollback": {recordOf(2, "Rollback", "Verified", correctionOf(1), backFrom(1)), recordOf(2, "Rollback", "Failed", failingFrom(12)),
			Delivery{Counts: counts(DeliveryCount{"Rollback", "Verified", "Failed"}), RecoveredBy: "withdrawn", Recovery: 3 * time.Minute}},
		"a correction after the count began anew":  {recordOf(2, "Release", "Failed", correctionOf(1)), recordOf(5, "Release", "Verified"), Delivery{Counts: counts(DeliveryCount{"Release", "Failed", ""})}},
		"a correction whose record is there again": {recordOf(2, "Rollback", "Verified", correctionOf(1), backFrom(1)), nil, Delivery{Counts: counts(DeliveryCount{"Rollback", "Verified", ""})}},

		"a commit": {recordOf(2, "Release", "Verified", committedAt(5)), recordOf(1, "Release", "Verified", committedAt(2)),
			Delivery{Counts: counts(DeliveryCount{"Release", "Verified", ""}), Release: true, Took: took, Lead: ptr.To(10 * time.Minute)}},
		"the first commit": {recordOf(1, "Release", "Verified", committedAt(5)), nil,
			Delivery{Counts: counts(DeliveryCount{"Release", "Verified", ""}), Release: true, Took: took, Lead: ptr.To(10 * time.Minute)}},
		"the commit of the release before": {recordOf(2, "Release", "Verified", committedAt(5)), recordOf(1, "Release", "Verified", committedAt(5)),
			Delivery{Counts: counts(DeliveryCount{"Release", "Verified", ""}), Release: true, Took: took}},
		"a commit in the future": {recordOf(1, "Release", "Verified", committedAt(16)), nil, Delivery{Counts: counts(DeliveryCount{"Release", "Verified", ""}), Release: true, Took: took}},
		"a commit that failed":   {recordOf(1, "Release", "Failed", committedAt(5)), nil, Delivery{Counts: counts(DeliveryCount{"Release", "Failed", ""}), Release: true, Took: took}},
		"a commit that a rollback left": {recordOf(3, "Rollback", "Verified", committedAt(5), backFrom(2)), recordOf(2, "Release", "Failed", failingFrom(12)),
			Delivery{Counts: counts(DeliveryCount{"Rollback", "Verified", ""}), Release: true, Took: took, RecoveredBy: "rollback", Recovery: 3 * time.Minute}},
		"a commit whose bad verdict was withdrawn": {recordOf(2, "Release", "Verified", committedAt(5), correctionOf(1)), recordOf(2, "Release", "Failed", committedAt(5), failingFrom(12)),
			Delivery{Counts: counts(DeliveryCount{"Release", "Verified", "Failed"}), Lead: ptr.To(10 * time.Minute), RecoveredBy: "withdrawn", Recovery: 3 * time.Minute}},
		"a commit that was verified before": {recordOf(2, "Release", "Verified", committedAt(5), correctionOf(2)), recordOf(2, "Release", "Failed", committedAt(5), correctionOf(1), failingFrom(12)),
			Delivery{Counts: counts(DeliveryCount{"Release", "Verified", "Failed"}), RecoveredBy: "withdrawn", Recovery: 3 * time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(DeliveryOf(row.record, row.previous)).To(Equal(row.want))
		})
	}
}

func TestDeliveryCountsPods(t *testing.T) {
	for name, row := range map[string]struct {
		outcome            appv1alpha1.ReleaseOutcome
		pods               appv1alpha1.RecordedPods
		checked, unchecked int32
	}{
		"all checked":             {"Verified", appv1alpha1.RecordedPods{Desired: 8, Passed: 8}, 8, 0},
		"some passed unchecked":   {"Verified", appv1alpha1.RecordedPods{Desired: 8, Passed: 8, Unchecked: 3}, 5, 3},
		"some failed":             {"Failed", appv1alpha1.RecordedPods{Desired: 8, Passed: 2, Failed: 1, Unchecked: 1}, 2, 1},
		"a release not checked":   {"Unchecked", appv1alpha1.RecordedPods{Desired: 8}, 0, 8},
		"one that left midway":    {"Unchecked", appv1alpha1.RecordedPods{Desired: 8, Passed: 3}, 3, 5},
		"fewer are desired since": {"Unchecked", appv1alpha1.RecordedPods{Desired: 2, Passed: 3, Unchecked: 1}, 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			g, record := NewWithT(t), recordOf(1, "Release", row.outcome)
			record.Spec.Pods = row.pods
			delivery := DeliveryOf(record, nil)
			g.Expect([]int32{delivery.Checked, delivery.Unchecked}).To(Equal([]int32{row.checked, row.unchecked}))
			record.Spec.Correction = 1
			g.Expect(DeliveryOf(record, nil)).To(HaveField("Checked", BeZero()), "they were counted")
		})
	}
}

func TestNewPassesOfARelease(t *testing.T) {
	with := func(steps ...string) *appv1alpha1.ChangeWorkloadStatus {
		pace := &appv1alpha1.ReleasePace{}
		for _, step := range steps {
			pace.Passes = append(pace.Passes, appv1alpha1.PacePass{To: step})
		}
		return &appv1alpha1.ChangeWorkloadStatus{Pace: pace}
	}
	none := &appv1alpha1.ChangeWorkloadStatus{}
	g := NewWithT(t)
	g.Expect(NewPasses(none, none)).To(BeEmpty())
	g.Expect(NewPasses(none, with("1"))).To(Equal([]appv1alpha1.PacePass{{To: "1"}}))
	g.Expect(NewPasses(with("1"), with("1"))).To(BeEmpty())
	g.Expect(NewPasses(with("1"), with("1", "all"))).To(Equal([]appv1alpha1.PacePass{{To: "all"}}))
	g.Expect(NewPasses(with("1"), none)).To(BeEmpty())
	g.Expect(NewPasses(with("1", "2"), with("1"))).To(BeEmpty())
}

func TestApprovalWaitOfAStep(t *testing.T) {
	with := func(step int32, since, waits *metav1.Time) *appv1alpha1.ChangeWorkloadStatus {
		return &appv1alpha1.ChangeWorkloadStatus{Pace: &appv1alpha1.ReleasePace{Step: step, Since: since, ApprovalSince: waits}}
	}
	five, ten := ptr.To(minuteOf(5)), ptr.To(minuteOf(10))
	none := &appv1alpha1.ChangeWorkloadStatus{}
	for name, row := range map[string]struct {
		before, after *appv1alpha1.ChangeWorkloadStatus
		wait          time.Duration
		waited        bool
	}{
		"of a release without steps":       {none, none, 0, false},
		"of the first step":                {with(0, nil, five), with(1, ten, nil), 5 * time.Minute, true},
		"of a step that still waits":       {with(1, five, five), with(1, five, five), 0, false},
		"of a step that had its approvals": {with(1, five, nil), with(2, ten, nil), 0, false},
		"of a pace that ended":             {with(1, five, five), none, 0, false},
		"with a clock that went back":      {with(1, five, ten), with(2, five, nil), 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			wait, waited := ApprovalWait(row.before, row.after)
			NewWithT(t).Expect([]any{wait, waited}).To(Equal([]any{row.wait, row.waited}))
		})
	}
}

func TestSparedPods(t *testing.T) {
	g, status := NewWithT(t), &appv1alpha1.ChangeWorkloadStatus{Counts: appv1alpha1.PodCounts{Desired: 10, Preparing: 1, Checking: 1, Passed: 1, Failed: 1}}
	g.Expect(Spared(status, 6)).To(Equal(4), "two of six have not finished")
	g.Expect(Spared(status, 0)).To(Equal(6), "units of a declared kind aren't pods")
	g.Expect(Spared(status, 13)).To(BeZero())
}
