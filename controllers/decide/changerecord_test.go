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
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// ended returns the ChangeWorkload of release 3 with a status of the release.
func ended(status appv1alpha1.ChangeWorkloadPhase, reason string) *appv1alpha1.ChangeWorkload {
	return &appv1alpha1.ChangeWorkload{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web--x--6a8ff823a5011291b0f02a1d83c2222d", UID: "w-1", Labels: map[string]string{"app.kubernetes.io/deployment-name": "web"},
		},
		Spec: appv1alpha1.ChangeWorkloadSpec{
			AppName: "web", Reversion: "6a8ff823a5011291b0f02a1d83c2222d", Release: 3, ReleasedBy: "alice", CreateTimeUnix: 1_800_000_000,
			WorkloadRef: &appv1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "d-1"},
			Changes:     []string{"image of container web: nginx:1 -> nginx:2"},
		},
		Status: appv1alpha1.ChangeWorkloadStatus{
			Status: status, ObservedRelease: 3, FirstChangePod: 4, LastChangePod: 6,
			Conditions: []metav1.Condition{{Type: "Verified", Reason: reason, Message: "2 pods failed"}},
		},
	}
}

var rolledBack = &appv1alpha1.Rollback{Reason: "PodsNotRunning", Message: "web-1 can't pull its image"}

func TestPlanRecordOfOutcomes(t *testing.T) {
	superseded := Ending{Superseded: true}
	for name, row := range map[string]struct {
		status appv1alpha1.ChangeWorkloadPhase
		reason string
		end    Ending
		want   appv1alpha1.ReleaseOutcome
	}{
		"none while it goes on":              {"Running", "Verifying", Ending{}, ""},
		"none without pods to check":         {"Success", "NoReplicas", Ending{}, ""},
		"none while it left change control":  {"Running", "NamespaceOptedOut", Ending{}, ""},
		"Verified":                           {"Success", "AllPodsPassed", Ending{}, "Verified"},
		"Verified, and superseded":           {"Success", "AllPodsPassed", superseded, "Verified"},
		"Failed":                             {"Suspend", "PodsFailed", Ending{}, "Failed"},
		"Failed, and rolled back":            {"Suspend", "PodsFailed", Ending{true, rolledBack}, "Failed"},
		"Unchecked by a refused order":       {"Failed", "OrderRefused", Ending{}, "Unchecked"},
		"Unchecked without a stamp":          {"Success", "TemplateUnstamped", Ending{}, "Unchecked"},
		"Unchecked after change control":     {"Running", "NamespaceOptedOut", superseded, "Unchecked"},
		"Unchecked of a kind not enforced":   {"Running", "KindNotEnforced", superseded, "Unchecked"},
		"RolledBack":                         {"Running", "Verifying", Ending{true, rolledBack}, "RolledBack"},
		"none before the rollback is seen":   {"Running", "Verifying", Ending{false, rolledBack}, ""},
		"Superseded":                         {"Running", "Superseded", superseded, "Superseded"},
		"Superseded although cached earlier": {"Running", "Verifying", superseded, "Superseded"},
		"Superseded without pods to check":   {"Success", "NoReplicas", superseded, "Superseded"},
	} {
		t.Run(name, func(t *testing.T) {
			workload := ended("Running", "Verifying")
			next := ended(row.status, row.reason).Status
			plan := PlanRecord(workload, &next, row.end)
			if row.want == "" {
				NewWithT(t).Expect(plan).To(BeNil())
				return
			}
			NewWithT(t).Expect(plan).To(Equal(&RecordPlan{Outcome: row.want}))
		})
	}
}

func TestPlanRecordOfWhatIsKnown(t *testing.T) {
	observed := ended("Running", "Superseded")
	observed.Spec.Observed = true
	for name, row := range map[string]struct {
		workload *appv1alpha1.ChangeWorkload
		known    *appv1alpha1.RecordedOutcome
		next     appv1alpha1.ChangeWorkloadStatus
		end      Ending
		want     *RecordPlan
	}{
		"none of a release that had its outcome before": {ended("Success", "AllPodsPassed"), nil, ended("Success", "AllPodsPassed").Status, Ending{}, nil},
		"the late failure of such a release":            {ended("Success", "AllPodsPassed"), nil, ended("Suspend", "PodsFailed").Status, Ending{}, &RecordPlan{"Failed", 0}},
		"none of one that was superseded before":        {ended("Running", "Superseded"), nil, ended("Running", "Superseded").Status, Ending{Superseded: true}, nil},
		"the late failure of such a one":                {ended("Running", "Superseded"), nil, ended("Suspend", "PodsFailed").Status, Ending{Superseded: true}, &RecordPlan{"Failed", 0}},
		"what is owed of a superseded one":              {ended("Running", "Superseded"), &appv1alpha1.RecordedOutcome{Outcome: "Superseded", Owed: "quota"}, ended("Running", "Superseded").Status, Ending{Superseded: true}, &RecordPlan{"Superseded", 0}},
		"an observed one that only seemed superseded":   {observed, nil, ended("Running", "Superseded").Status, Ending{Superseded: true}, &RecordPlan{"Superseded", 0}},
		"none that is recorded":                         {ended("Running", ""), &appv1alpha1.RecordedOutcome{Outcome: "Verified"}, ended("Success", "AllPodsPassed").Status, Ending{}, nil},
		"a late failure":                                {ended("Running", ""), &appv1alpha1.RecordedOutcome{Outcome: "Verified"}, ended("Suspend", "PodsFailed").Status, Ending{}, &RecordPlan{"Failed", 1}},
		"a withdrawn verdict":                           {ended("Running", ""), &appv1alpha1.RecordedOutcome{Outcome: "Failed", Corrections: 1}, ended("Success", "AllPodsPassed").Status, Ending{}, &RecordPlan{"Verified", 2}},
		"the ninth correction":                          {ended("Running", ""), &appv1alpha1.RecordedOutcome{Outcome: "Failed", Corrections: 8}, ended("Success", "AllPodsPassed").Status, Ending{}, &RecordPlan{"Verified", 9}},
		"no tenth correction":                           {ended("Running", ""), &appv1alpha1.RecordedOutcome{Outcome: "Failed", Corrections: 9}, ended("Success", "AllPodsPassed").Status, Ending{}, nil},
		"none when a superseded one leaves control":     {ended("Running", ""), &appv1alpha1.RecordedOutcome{Outcome: "Superseded"}, ended("Running", "NamespaceOptedOut").Status, Ending{Superseded: true}, nil},
		"none when it comes back":                       {ended("Running", ""), &appv1alpha1.RecordedOutcome{Outcome: "Unchecked"}, ended("Running", "Superseded").Status, Ending{Superseded: true}, nil},
		"none when the failed pods are forgotten":       {ended("Running", ""), &appv1alpha1.RecordedOutcome{Outcome: "Failed"}, ended("Running", "Superseded").Status, Ending{Superseded: true}, nil},
		"none for the rollback of a failed one":         {ended("Running", ""), &appv1alpha1.RecordedOutcome{Outcome: "Failed"}, ended("Running", "Superseded").Status, Ending{true, rolledBack}, nil},
		"the rollback of a superseded one":              {ended("Running", ""), &appv1alpha1.RecordedOutcome{Outcome: "Superseded"}, ended("Running", "Superseded").Status, Ending{true, rolledBack}, &RecordPlan{"RolledBack", 1}},
		"a late failure of a superseded one":            {ended("Running", ""), &appv1alpha1.RecordedOutcome{Outcome: "Superseded"}, ended("Suspend", "PodsFailed").Status, Ending{Superseded: true}, &RecordPlan{"Failed", 1}},
		"what is owed":                                  {ended("Running", ""), &appv1alpha1.RecordedOutcome{Outcome: "Failed", Corrections: 1, Owed: "quota"}, ended("Suspend", "PodsFailed").Status, Ending{}, &RecordPlan{"Failed", 1}},
		"what is owed by now":                           {ended("Running", ""), &appv1alpha1.RecordedOutcome{Outcome: "Failed", Owed: "quota"}, ended("Success", "AllPodsPassed").Status, Ending{}, &RecordPlan{"Verified", 0}},
	} {
		t.Run(name, func(t *testing.T) {
			row.next.Recorded = row.known
			NewWithT(t).Expect(PlanRecord(row.workload, &row.next, row.end)).To(Equal(row.want))
		})
	}
	baseline := ended("Running", "")
	baseline.Spec.Baseline = true
	NewWithT(t).Expect(PlanRecord(baseline, &ended("Success", "Baseline").Status, Ending{Superseded: true})).To(BeNil(), "a baseline is no release")

	again := ended("Success", "AllPodsPassed")
	again.Status.Recorded = &appv1alpha1.RecordedOutcome{Outcome: "Verified"}
	again.Spec.Release = 5
	NewWithT(t).Expect(PlanRecord(again, &again.Status, Ending{Superseded: true})).To(Equal(&RecordPlan{Outcome: "Superseded"}),
		"the status is that of release 3")
}

func TestRecordPlanFollowsWhatIsThere(t *testing.T) {
	there := &appv1alpha1.ChangeRecord{Spec: appv1alpha1.ChangeRecordSpec{Outcome: "Verified", Correction: 2}}
	g, plan := NewWithT(t), &RecordPlan{Outcome: "Failed"}
	g.Expect(plan.After(there)).To(BeTrue())
	g.Expect(plan).To(Equal(&RecordPlan{"Failed", 3}))
	g.Expect((&RecordPlan{Outcome: "Verified"}).After(there)).To(BeFalse(), "it stems from before a crash")
	there.Spec.Correction = 9
	g.Expect((&RecordPlan{Outcome: "Failed"}).After(there)).To(BeFalse())
}

func TestNewChangeRecordTellsWhatHappened(t *testing.T) {
	g, now := NewWithT(t), time.Unix(1_800_000_300, 700).UTC()
	workload := ended("Suspend", "PodsFailed")
	status := &workload.Status
	status.Counts = appv1alpha1.PodCounts{Desired: 8, Passed: 1, Failed: 6}
	for i := range 6 {
		status.DefenseCheckFailPods = append(status.DefenseCheckFailPods, appv1alpha1.PodSummary{Pod: fmt.Sprintf("web-%d", i), Message: strings.Repeat("m", 300)})
	}
	status.Order = &appv1alpha1.ChangeOrder{BizExecOrderID: "default/shop/web/0123456789/3", Release: 3}
	status.BreakGlass = &appv1alpha1.BreakGlassPass{Name: "incident-7", UID: "b", User: "alice", Would: []string{"frozen"}}
	status.Pace = &appv1alpha1.ReleasePace{Passes: []appv1alpha1.PacePass{{To: "2", User: "bob", Reason: "the night is quiet"}}}
	batch := appv1alpha1.ChangePod{Spec: appv1alpha1.ChangePodSpec{CreateTimeUnix: 100}}
	batch.Status.Status, batch.Status.UpdateTimeUnix = "ExecuteDone", 142
	order := *batch.DeepCopy()
	order.Spec.Order, order.Status.UpdateTimeUnix = true, 900
	unfinished := appv1alpha1.ChangePod{Spec: appv1alpha1.ChangePodSpec{CreateTimeUnix: 100}}
	approval := appv1alpha1.ChangeApproval{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now)}, Spec: appv1alpha1.ChangeApprovalSpec{ApprovedBy: "carol", Reason: "CHG-1"}}
	denial := *approval.DeepCopy()
	denial.Spec.ApprovedBy, denial.Spec.Decision, denial.CreationTimestamp = "bob", "Deny", metav1.NewTime(now.Add(-time.Minute))
	committed := metav1.NewTime(time.Unix(1_799_990_000, 0))
	workload.Spec.CommitTime, workload.Spec.ReleaseReason = &committed, "CHG-4711"
	failing := metav1.NewTime(time.Unix(1_800_000_300, 0).UTC())
	previous := &appv1alpha1.ChangeRecord{ObjectMeta: metav1.ObjectMeta{Name: "60c5c0e29ee40c2a-2"}, Spec: appv1alpha1.ChangeRecordSpec{
		Release: 2, Version: "c6c45d23c098bdf181853a85b60b5d74", Outcome: "Verified",
	}}
	record := NewChangeRecord(workload, status, RecordPlan{Outcome: "Failed"}, RecordFacts{
		Batches: []appv1alpha1.ChangePod{batch, order, unfinished}, Unchecked: 1, Approvals: []appv1alpha1.ChangeApproval{approval, denial},
		Images: []appv1alpha1.RecordedImage{{Container: "web", Image: "nginx:2"}}, Previous: previous, PreviousHash: strings.Repeat("a", 64),
	}, now)
	long := strings.Repeat("m", 253) + "..."
	key := RecordKey("d-1", false)
	g.Expect(record).To(Equal(&appv1alpha1.ChangeRecord{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: key + "-3", Labels: map[string]string{
			"app.kubernetes.io/deployment-name": "web", "altershield.defense.antgroup.com/record-of": key,
		}},
		Spec: appv1alpha1.ChangeRecordSpec{
			Workload: appv1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "d-1"},
			Release:  3, Version: "6a8ff823a5011291b0f02a1d83c2222d", FromVersion: "c6c45d23c098bdf181853a85b60b5d74", Type: "Release", ReleasedBy: "alice", ReleaseReason: "CHG-4711",
			StartedAt: metav1.NewTime(time.Unix(1_800_000_000, 0)), EndedAt: metav1.NewTime(time.Unix(1_800_000_300, 0).UTC()),
			CommitTime: &committed, FailingSince: &failing, Outcome: "Failed", Reason: "PodsFailed", Message: "2 pods failed", Changes: []string{"image of container web: nginx:1 -> nginx:2"},
			Images: []appv1alpha1.RecordedImage{{Container: "web", Image: "nginx:2"}},
			Pods:   appv1alpha1.RecordedPods{Desired: 8, Passed: 1, Failed: 6, Unchecked: 1},
			FailedPods: []appv1alpha1.RecordedPod{
				{Name: "web-0", Message: long}, {Name: "web-1", Message: long}, {Name: "web-2", Message: long}, {Name: "web-3", Message: long}, {Name: "web-4", Message: long},
			},
			Batches: 3, LongestBatchSeconds: 42,
			Approvals: []appv1alpha1.RecordedApproval{
				{User: "bob", Decision: "Deny", Reason: "CHG-1", Time: metav1.NewTime(now.Add(-time.Minute))},
				{User: "carol", Decision: "Approve", Reason: "CHG-1", Time: metav1.NewTime(now)},
			},
			BreakGlass: &appv1alpha1.RecordedBypass{Name: "incident-7", User: "alice"},
			Passes:     []appv1alpha1.PacePass{{To: "2", User: "bob", Reason: "the night is quiet"}}, OrderID: "default/shop/web/0123456789/3",
			TraceID:  "4efa71b16fa4940aa807248b92c4c323",
			Previous: &appv1alpha1.PreviousRecord{Name: "60c5c0e29ee40c2a-2", SHA256: strings.Repeat("a", 64)},
		},
	}))
}

func TestNewChangeRecordTellsWhyTheReleaseWasMade(t *testing.T) {
	record := func(release int64, outcome, kind string) *appv1alpha1.ChangeRecord {
		return &appv1alpha1.ChangeRecord{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Spec: appv1alpha1.ChangeRecordSpec{
			Release: release, Version: "before", FromVersion: "long before", Outcome: appv1alpha1.ReleaseOutcome(outcome), Type: appv1alpha1.ReleaseType(kind),
		}}
	}
	failing := record(2, "Superseded", "Repair")
	failing.Spec.FailingSince = &metav1.Time{Time: time.Unix(1_799_999_000, 0)}
	first := record(3, "Verified", "Repair")
	first.Spec.Version, first.Spec.StartedAt = "6a8ff823a5011291b0f02a1d83c2222d", metav1.NewTime(time.Unix(1_800_000_000, 0))
	for name, row := range map[string]struct {
		ignored    bool
		rollback   *appv1alpha1.Rollback
		previous   *appv1alpha1.ChangeRecord
		kind, from string
	}{
		"the first one":                                {false, nil, nil, "Release", ""},
		"after a verified one":                         {false, nil, record(2, "Verified", "Release"), "Release", "before"},
		"after one that was overtaken":                 {false, nil, record(2, "Superseded", "Repair"), "Release", "before"},
		"after one that was overtaken while it failed": {false, nil, failing, "Repair", "before"},
		"after a failed one":                           {false, nil, record(2, "Failed", "Release"), "Repair", "before"},
		"after one that was rolled back":               {false, nil, record(2, "RolledBack", "Release"), "Repair", "before"},
		"through a suspension":                         {true, nil, nil, "Repair", ""},
		"a rollback":                                   {false, &appv1alpha1.Rollback{Version: "left"}, record(2, "Failed", "Release"), "Rollback", "left"},
		"a correction":                                 {false, nil, first, "Repair", "long before"},
		"the count began anew":                         {false, nil, record(3, "Verified", "Repair"), "Release", "before"},
	} {
		t.Run(name, func(t *testing.T) {
			g, workload := NewWithT(t), ended("Success", "AllPodsPassed")
			workload.Spec.IgnoredSuspend, workload.Spec.Rollback = row.ignored, row.rollback
			spec := NewChangeRecord(workload, &workload.Status, RecordPlan{Outcome: "Verified"}, RecordFacts{Previous: row.previous}, time.Now()).Spec
			g.Expect(string(spec.Type)).To(Equal(row.kind))
			g.Expect(spec.FromVersion).To(Equal(row.from))
		})
	}
}

func TestNewChangeRecordTellsSinceWhenTheWorkloadFails(t *testing.T) {
	at := func(seconds int64) *metav1.Time { return &metav1.Time{Time: time.Unix(1_800_000_000+seconds, 0)} }
	before := func(outcome appv1alpha1.ReleaseOutcome, since *metav1.Time) *appv1alpha1.ChangeRecord {
		return &appv1alpha1.ChangeRecord{Spec: appv1alpha1.ChangeRecordSpec{Release: 2, Outcome: outcome, EndedAt: *at(-100), FailingSince: since}}
	}
	undone := &appv1alpha1.Rollback{Reason: "Requested", Time: *at(20)}
	for name, row := range map[string]struct {
		outcome  appv1alpha1.ReleaseOutcome
		previous *appv1alpha1.ChangeRecord
		made     *appv1alpha1.Rollback
		want     *metav1.Time
	}{
		"from its bad verdict":                             {"Failed", nil, nil, at(60)},
		"from its rollback":                                {"RolledBack", before("Verified", nil), nil, at(20)},
		"from the failure before":                          {"Failed", before("Failed", at(-500)), nil, at(-500)},
		"from that before a release that was overtaken":    {"Superseded", before("Superseded", at(-500)), nil, at(-500)},
		"from the end of one that an older operator wrote": {"Superseded", before("RolledBack", nil), nil, at(-100)},
		"from the rollback of a verified one":              {"Superseded", before("Verified", nil), undone, at(20)},
		"not once it is verified":                          {"Verified", before("Failed", at(-500)), nil, nil},
		"not where it isn't checked":                       {"Unchecked", before("Failed", at(-500)), nil, nil},
		"not after a verified one":                         {"Superseded", before("Verified", nil), nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g, workload := NewWithT(t), ended("Suspend", "PodsFailed")
			workload.Spec.Rollback = row.made
			workload.Status.Conditions[0].LastTransitionTime = *at(60)
			facts := RecordFacts{Previous: row.previous, End: Ending{Superseded: true, RolledBack: undone}}
			since := NewChangeRecord(workload, &workload.Status, RecordPlan{Outcome: row.outcome}, facts, at(90).Time).Spec.FailingSince
			g.Expect(since.Equal(row.want)).To(BeTrue(), "%v", since)
		})
	}
}

func TestNewChangeRecordOfAReleaseWithoutAStatus(t *testing.T) {
	g, workload := NewWithT(t), ended("Success", "AllPodsPassed")
	workload.Spec.Release, workload.Spec.WorkloadRef, workload.Labels = 5, nil, nil
	workload.OwnerReferences = []metav1.OwnerReference{{UID: "d-1", Controller: ptr.To(true)}}
	workload.Status.Counts.Passed = 7
	record := NewChangeRecord(workload, &workload.Status, RecordPlan{Outcome: "RolledBack"}, RecordFacts{End: Ending{true, rolledBack}}, time.Now())
	g.Expect(record.Name).To(Equal(RecordKey("d-1", false) + "-5"))
	g.Expect(record.Spec.Workload).To(Equal(appv1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "d-1"}))
	g.Expect(record.Spec.Pods).To(BeZero())
	g.Expect(record.Spec.Batches).To(BeZero())
	g.Expect(record.Spec.Reason + ": " + record.Spec.Message).To(Equal("PodsNotRunning: web-1 can't pull its image"))
	record = NewChangeRecord(workload, &workload.Status, RecordPlan{Outcome: "Superseded"}, RecordFacts{}, time.Now())
	g.Expect(record.Spec.Reason + ": " + record.Spec.Message).To(Equal("Superseded: the Deployment has moved on to another release"))
}

func TestNewChangeRecordEndsWithTheVerdict(t *testing.T) {
	now := time.Unix(1_800_000_300, 0)
	for name, row := range map[string]struct {
		outcome appv1alpha1.ReleaseOutcome
		verdict time.Duration
		want    time.Duration
	}{
		"Verified":               {"Verified", -time.Minute, -time.Minute},
		"Failed":                 {"Failed", -time.Minute, -time.Minute},
		"Superseded":             {"Superseded", -time.Minute, 0},
		"a clock that went back": {"Failed", time.Minute, 0},
	} {
		workload := ended("Suspend", "PodsFailed")
		workload.Status.Conditions[0].LastTransitionTime = metav1.NewTime(now.Add(row.verdict))
		record := NewChangeRecord(workload, &workload.Status, RecordPlan{Outcome: row.outcome}, RecordFacts{}, now)
		NewWithT(t).Expect(record.Spec.EndedAt.Time).To(BeTemporally("==", now.Add(row.want)), name)
	}
}

func TestApprovalsOfLeavesOutThoseOfAnotherWorkloadWithTheSameTemplate(t *testing.T) {
	workload := ended("Success", "AllPodsPassed")
	var approvals []appv1alpha1.ChangeApproval
	for _, spec := range []appv1alpha1.ChangeApprovalSpec{
		{ApprovedBy: "bob", UID: "d-1", Release: 3, Version: "6a8ff823a5011291b0f02a1d83c2222d"},
		{ApprovedBy: "carol", UID: "d-2", Release: 3, Version: "6a8ff823a5011291b0f02a1d83c2222d"},
		{ApprovedBy: "dave", UID: "d-1", Release: 2, Version: "6a8ff823a5011291b0f02a1d83c2222d"},
		{ApprovedBy: "erin", UID: "d-1", Release: 3, Version: "c6c45d23c098bdf181853a85b60b5d74"},
	} {
		approvals = append(approvals, appv1alpha1.ChangeApproval{Spec: spec})
	}
	found := ApprovalsOf(workload, approvals)
	NewWithT(t).Expect(found).To(HaveLen(1))
	NewWithT(t).Expect(found[0].Spec.ApprovedBy).To(Equal("bob"))
}

func TestNewChangeRecordStaysSmall(t *testing.T) {
	g, workload := NewWithT(t), ended("Suspend", "PodsFailed")
	workload.Spec.ReleasedBy = strings.Repeat("a", 1000)
	workload.Status.Conditions[0].Message = strings.Repeat("é", 1000)
	var approvals []appv1alpha1.ChangeApproval
	for range 40 {
		approvals = append(approvals, appv1alpha1.ChangeApproval{Spec: appv1alpha1.ChangeApprovalSpec{ApprovedBy: strings.Repeat("b", 300)}})
		workload.Spec.Changes = append(workload.Spec.Changes, strings.Repeat("c", 1000))
	}
	workload.Spec.Changes = workload.Spec.Changes[:32]
	spec := NewChangeRecord(workload, &workload.Status, RecordPlan{Outcome: "Failed"}, RecordFacts{Approvals: approvals}, time.Now()).Spec
	g.Expect(spec.Approvals).To(HaveLen(10))
	g.Expect(len(spec.ReleasedBy)).To(BeNumerically("<=", 256))
	g.Expect(len(spec.Message)).To(BeNumerically("<=", 256))
	encoded, err := json.Marshal(spec)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(encoded)).To(BeNumerically("<", 16<<10), "at worst")
}

func TestImagesOfAPod(t *testing.T) {
	pod := &corev1.Pod{
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx:2"}, {Name: "log", Image: "fluentd"}, {Name: "odd", Image: "odd"}}},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
			{Name: "log", ImageID: "sha256:0123"}, {Name: "web", ImageID: "docker.io/library/nginx@sha256:9f86"}, {Name: "odd", ImageID: "odd@" + strings.Repeat("x", 137)},
		}},
	}
	NewWithT(t).Expect(ImagesOf(pod)).To(Equal([]appv1alpha1.RecordedImage{
		{Container: "web", Image: "nginx:2", Digest: "sha256:9f86"}, {Container: "log", Image: "fluentd"}, {Container: "odd", Image: "odd"},
	}))
	many := &corev1.Pod{Spec: corev1.PodSpec{Containers: make([]corev1.Container, 11)}}
	NewWithT(t).Expect(ImagesOf(many)).To(HaveLen(10))
}

func TestPodOfARelease(t *testing.T) {
	g, status := NewWithT(t), &appv1alpha1.ChangeWorkloadStatus{}
	g.Expect(PodOf(status)).To(BeNil())
	status.DefenseCheckFailPods = []appv1alpha1.PodSummary{{Pod: "failed"}}
	g.Expect(PodOf(status).Pod).To(Equal("failed"))
	status.DefenseCheckPassPods = []appv1alpha1.PodSummary{{Pod: "passed"}}
	g.Expect(PodOf(status).Pod).To(Equal("passed"))
}

func TestNoteRecordWritesTheStatusOnce(t *testing.T) {
	g, now := NewWithT(t), time.Unix(1_800_000_000, 0)
	decision := &Decision{}
	decision.NoteRecord(nil, now)
	g.Expect(decision.WriteStatus).To(BeFalse())
	decision.NoteRecord(&appv1alpha1.RecordedOutcome{Outcome: "Verified"}, now)
	g.Expect(decision.WriteStatus).To(BeTrue())
	g.Expect(decision.Status.UpdateTimeUnix).To(BeEquivalentTo(1_800_000_000))
	decision.WriteStatus = false
	decision.NoteRecord(&appv1alpha1.RecordedOutcome{Outcome: "Verified"}, now)
	g.Expect(decision.WriteStatus).To(BeFalse())
	decision.NoteRecord(&appv1alpha1.RecordedOutcome{}, now)
	g.Expect(decision.WriteStatus).To(BeTrue())
	g.Expect(decision.Status.Recorded).To(BeNil())
}

// chain returns the records of releases of a workload, each with the hash of the one before. Of each third release a further record corrects it.
func chain(t *testing.T, workload string, releases int) []RecordLink {
	t.Helper()
	var links []RecordLink
	add := func(name string) {
		link := RecordLink{Namespace: "shop", Name: name}
		spec := map[string]any{"release": name}
		if len(links) > 0 {
			last := links[len(links)-1]
			link.Previous = &appv1alpha1.PreviousRecord{Name: last.Name, SHA256: last.Hash}
			spec["previous"] = map[string]any{"name": last.Name, "sha256": last.Hash}
		}
		var err error
		link.Hash, err = RecordHash("shop", name, spec)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		links = append(links, link)
	}
	for release := range releases {
		add(fmt.Sprintf("%s-%d", workload, release+1))
		if release%3 == 2 {
			add(fmt.Sprintf("%s-%d-1", workload, release+1))
		}
	}
	return links
}

const webKey, apiKey = "60c5c0e29ee40c2a", "0123456789abcdef"

func TestVerifyRecordsNamesEachThatIsMissingOrWasEdited(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		links := chain(t, webKey, 12)
		others := chain(t, apiKey, 3)
		at := 1 + random.IntN(len(links)-2) // neither the oldest nor the newest
		name, by := links[at].Name, links[at+1].Name
		shuffled := func(links ...RecordLink) []RecordLink {
			all := append(links, others...)
			random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			return all
		}
		g := NewWithT(t)
		g.Expect(VerifyRecords(shuffled(links...))).To(BeEmpty())
		edited := append([]RecordLink{}, links...)
		edited[at].Hash = strings.Repeat("e", 64)
		g.Expect(VerifyRecords(shuffled(edited...))).To(Equal([]ChainFault{{Namespace: "shop", Name: name, By: by}}))
		removed := append(append([]RecordLink{}, links[:at]...), links[at+1:]...)
		g.Expect(VerifyRecords(shuffled(removed...))).To(Equal([]ChainFault{{Namespace: "shop", Name: name, Missing: true, By: by}}))
		g.Expect(VerifyRecords(shuffled(links[at:]...))).To(BeEmpty(), "the oldest ones go by age and number")
	}
}

func TestVerifyRecordsWithoutTheOldestThatALateCorrectionFollows(t *testing.T) {
	g := NewWithT(t)
	now := time.Unix(1_800_000_000, 0)
	first, second, third := webKey+"-1", webKey+"-2", webKey+"-3"
	late := first + "-1" // written after the record of the second release
	expired := ExpiredRecords([]StoredRecord{{first, now.Add(-3 * time.Hour)}, {second, now.Add(-2 * time.Hour)}, {late, now}}, 100, time.Hour, now)
	g.Expect(expired).To(Equal([]string{first}))
	after := func(name, previous string) RecordLink {
		return RecordLink{Namespace: "shop", Name: name, Hash: "of " + name, Previous: &appv1alpha1.PreviousRecord{Name: previous, SHA256: "of " + previous}}
	}
	g.Expect(VerifyRecords([]RecordLink{after(late, first), after(second, first), after(third, second)})).To(BeEmpty(), "the first one is too old")
	g.Expect(VerifyRecords([]RecordLink{after(late, first), after(third, second)})).To(Equal([]ChainFault{
		{Namespace: "shop", Name: second, Missing: true, By: third},
	}))
}

func TestVerifyRecordsKeepsNamespacesApart(t *testing.T) {
	g, links := NewWithT(t), chain(t, webKey, 3)
	elsewhere := chain(t, webKey, 3)
	for i := range elsewhere {
		elsewhere[i].Namespace = "bank"
	}
	faults := VerifyRecords(append(append([]RecordLink{}, links[0], links[2]), append(elsewhere[:1], elsewhere[2:]...)...))
	g.Expect(faults).To(Equal([]ChainFault{
		{Namespace: "bank", Name: webKey + "-2", Missing: true, By: webKey + "-3"},
		{Namespace: "shop", Name: webKey + "-2", Missing: true, By: webKey + "-3"},
	}))
}

func TestRecordHashDependsOnContentsAlone(t *testing.T) {
	g := NewWithT(t)
	hash, err := RecordHash("shop", "a-1", map[string]any{"b": int64(1), "a": "<x> & é"})
	g.Expect(err).NotTo(HaveOccurred())
	// printf '%s' '{"name":"a-1","namespace":"shop","spec":{"a":"<x> & é","b":1}}' | sha256sum
	g.Expect(hash).To(Equal("e6bbb6544ab6f7a3c5b4e7bc43d3edc16be82db7683c59f647c8fb70a57ca3d2"))
	for _, other := range []struct {
		namespace, name string
		spec            any
	}{{"shop2", "a-1", map[string]any{"a": "<x> & é", "b": int64(1)}}, {"shop", "a-2", map[string]any{"a": "<x> & é", "b": int64(1)}}, {"shop", "a-1", map[string]any{"a": "<x> & é", "b": int64(2)}}} {
		g.Expect(RecordHash(other.namespace, other.name, other.spec)).NotTo(Equal(hash))
	}
	_, err = RecordHash("shop", "a-1", func() {})
	g.Expect(err).To(MatchError(ContainSubstring("encoding ChangeRecord shop/a-1: json: unsupported type")))
}

func TestPlaceOfReadsWhatChangeRecordNameWrites(t *testing.T) {
	g := NewWithT(t)
	for _, want := range []RecordPlace{{RecordKey("d-1", false), 1, 0}, {RecordKey("d-1", true), 9223372036854775807, 9}} {
		place, ok := PlaceOf(ChangeRecordName(want.Key, want.Release, want.Correction))
		g.Expect(ok).To(BeTrue())
		g.Expect(place).To(Equal(want))
	}
	for _, name := range []string{"", "by-hand", webKey, webKey + "-0", webKey + "-x", webKey + "-1-0", webKey + "-1-x", webKey + "-1-2-3", "short-1"} {
		_, ok := PlaceOf(name)
		g.Expect(ok).To(BeFalse(), name)
	}
}

func TestNeighboursOfARelease(t *testing.T) {
	names := []string{webKey + "-10", webKey + "-2", webKey + "-9-1", webKey + "-9", webKey + "-10-1", webKey + "-11", "by-hand"}
	for release, want := range map[int64][2]string{
		1: {"", ""}, 2: {webKey + "-2", ""}, 5: {"", webKey + "-2"}, 9: {webKey + "-9-1", webKey + "-2"}, 10: {webKey + "-10-1", webKey + "-9-1"}, 12: {"", webKey + "-11"},
	} {
		own, before := Neighbours(names, release)
		NewWithT(t).Expect([2]string{own, before}).To(Equal(want), "release %d", release)
	}
}

func TestExpiredRecordsAreTheOldestWithoutAGap(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	random := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		var records []StoredRecord
		for _, link := range chain(t, webKey, random.IntN(20)) {
			records = append(records, StoredRecord{link.Name, now.Add(-time.Duration(random.IntN(100)) * time.Hour)})
		}
		keep, age := random.IntN(8), time.Duration(random.IntN(100))*time.Hour
		random.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
		expired := ExpiredRecords(records, keep, age, now)
		gone, g := map[string]bool{}, NewWithT(t)
		for _, name := range expired {
			gone[name] = true
		}
		left := map[int64]bool{}
		for _, record := range records {
			place, _ := PlaceOf(record.Name)
			if gone[record.Name] {
				continue
			}
			left[place.Release] = true
			for _, other := range records {
				older, _ := PlaceOf(other.Name)
				g.Expect(older.Compare(place) > 0 && gone[other.Name]).To(BeFalse(), "%s is gone before the older %s", other.Name, record.Name)
			}
		}
		if keep > 0 {
			g.Expect(len(left)).To(BeNumerically("<=", keep))
		}
	}
}

func TestExpiredRecordsByAgeAndNumber(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	at := func(name string, hours int) StoredRecord {
		return StoredRecord{name, now.Add(-time.Duration(hours) * time.Hour)}
	}
	records := []StoredRecord{at(webKey+"-9", 30), at(webKey+"-10", 20), at(webKey+"-10-1", 5), at(webKey+"-11", 10), at("by-hand", 100)}
	for name, row := range map[string]struct {
		keep, hours int
		want        []string
	}{
		"none":                       {3, 30, nil},
		"none without a limit":       {0, 30, nil},
		"those that are too many":    {2, 30, []string{webKey + "-9"}},
		"one with its corrections":   {1, 30, []string{webKey + "-9", webKey + "-10", webKey + "-10-1"}},
		"those that are too old":     {3, 29, []string{webKey + "-9"}},
		"those before a younger one": {3, 19, []string{webKey + "-9", webKey + "-10"}},
		"all":                        {3, 1, []string{webKey + "-9", webKey + "-10", webKey + "-10-1", webKey + "-11"}},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(ExpiredRecords(records, row.keep, time.Duration(row.hours)*time.Hour, now)).To(Equal(row.want))
		})
	}
}
