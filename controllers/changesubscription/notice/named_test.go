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

package notice

import (
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// batchOf returns batch 2 of the release of releaseOf, with two pods, which is done since 20 seconds after the start.
func batchOf(status, reason string, edits ...func(*appv1alpha1.ChangePod)) *appv1alpha1.ChangePod {
	made := &appv1alpha1.ChangePod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web--x--491e30c0000000000000000000000000--x--2", UID: "b-2"},
		Spec: appv1alpha1.ChangePodSpec{
			ChangeWorkloadID: "web--x--491e30c0000000000000000000000000", Release: 7, PodInfos: []appv1alpha1.PodSummary{{Pod: "web-1"}, {Pod: "web-2"}},
		},
		Status: appv1alpha1.ChangePodStatus{Status: "ExecuteDone", Conditions: []metav1.Condition{was("Verified", status, reason, 20)}},
	}
	for _, edit := range edits {
		edit(made)
	}
	return made
}

func TestOfBatchReturnsThatItsCheckHasEnded(t *testing.T) {
	unpass := func(p *appv1alpha1.ChangePod) {
		p.Status.PodResults = []appv1alpha1.PodSummary{{Pod: "web-1", Verdict: "unpass"}}
	}
	for name, row := range map[string]struct {
		batch *appv1alpha1.ChangePod
		since int
		want  string
	}{
		"passed":                 {batchOf("True", "PodsPassed"), 20, "BatchChecked 20: batch 2 passed, 2 and 0 of 2"},
		"failed":                 {batchOf("False", "PodsFailed", unpass), 20, "BatchChecked 20: batch 2 failed, 1 and 1 of 2"},
		"before":                 {batchOf("True", "PodsPassed"), 21, ""},
		"under way":              {batchOf("Unknown", "Verifying"), 0, ""},
		"not checked":            {batchOf("True", "CheckNotConfigured"), 0, ""},
		"not looked at":          {batchOf("True", "PodsPassed", func(p *appv1alpha1.ChangePod) { p.Status.Conditions = nil }), 0, ""},
		"the check of the order": {batchOf("True", "PodsPassed", func(p *appv1alpha1.ChangePod) { p.Spec.Order = true }), 0, ""},
		"of an earlier release":  {batchOf("True", "PodsPassed", func(p *appv1alpha1.ChangePod) { p.Spec.Release = 6 }), 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			text := ""
			for _, event := range OfBatch(row.batch, releaseOf("Running"), after(row.since)) {
				outcome := map[bool]string{true: "failed", false: "passed"}[event.Failed]
				text += fmt.Sprintf("%s %d: batch %d %s, %d and %d of %d", event.Name, event.At.Unix()-start().Unix(), event.Batch, outcome,
					event.Counts.Passed, event.Counts.Failed, event.Counts.Desired)
			}
			NewWithT(t).Expect(text).To(Equal(row.want))
		})
	}
}

func TestCompareTellsTheCheckOfABatchBeforeWhatBecomesOfItsRelease(t *testing.T) {
	for phase, last := range map[appv1alpha1.ChangeWorkloadPhase][]metav1.Condition{
		"Success": {was("Verified", "True", "AllPodsPassed", 20)},
		"Suspend": {was("Verified", "False", "PodsFailed", 20), was("Suspended", "True", "PodsFailed", 20)},
	} {
		release := releaseOf(phase, last...)
		release.Spec.CreateTimeUnix = after(20).Unix() // all within a second
		events := append(Of(release, nil, start()), OfBatch(batchOf("True", "PodsPassed"), release, start())...)
		slices.SortStableFunc(events, Compare)
		var names []appv1alpha1.SubscribedEvent
		for _, event := range events {
			names = append(names, event.Name)
		}
		NewWithT(t).Expect(names).To(HaveLen(3))
		NewWithT(t).Expect(names[:2]).To(Equal([]appv1alpha1.SubscribedEvent{"ReleaseStarted", "BatchChecked"}))
	}
}

func TestChecksOfBatchesDifferByBatchAndVerdict(t *testing.T) {
	ids := map[string]bool{}
	for _, batch := range []*appv1alpha1.ChangePod{
		batchOf("True", "PodsPassed"), batchOf("True", "PodsPassed", func(p *appv1alpha1.ChangePod) { p.UID = "b-3" }),
		batchOf("True", "PodsPassed", func(p *appv1alpha1.ChangePod) { p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(after(21)) }),
	} {
		for range 2 {
			ids[OfBatch(batch, releaseOf("Running"), start())[0].ID] = true
		}
	}
	NewWithT(t).Expect(ids).To(HaveLen(3))
}

func TestOfApprovalReturnsTheDecisionOfAUser(t *testing.T) {
	approval := func(edits ...func(*appv1alpha1.ChangeApproval)) *appv1alpha1.ChangeApproval {
		made := &appv1alpha1.ChangeApproval{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "bob", UID: "a-1", CreationTimestamp: metav1.NewTime(after(20))},
			Spec: appv1alpha1.ChangeApprovalSpec{
				Version: "491e30c0000000000000000000000000", Release: 7, Decision: "Approve", ApprovedBy: "bob@corp", UID: "u-1",
			},
		}
		for _, edit := range edits {
			edit(made)
		}
		return made
	}
	for name, row := range map[string]struct {
		edit  func(*appv1alpha1.ChangeApproval)
		since int
		want  []string
	}{
		"approved":           {func(*appv1alpha1.ChangeApproval) {}, 20, []string{"ApprovalGiven: Approve, bob@corp approves it"}},
		"denied":             {func(a *appv1alpha1.ChangeApproval) { a.Spec.Decision, a.Spec.Reason = "Deny", "no tests" }, 0, []string{"ApprovalDenied: Deny, bob@corp denies it: no tests"}},
		"before":             {func(*appv1alpha1.ChangeApproval) {}, 21, nil},
		"of nobody":          {func(a *appv1alpha1.ChangeApproval) { a.Spec.ApprovedBy = "" }, 0, nil},
		"of another release": {func(a *appv1alpha1.ChangeApproval) { a.Spec.Release = 8 }, 0, nil},
		"of another version": {func(a *appv1alpha1.ChangeApproval) { a.Spec.Version = "c6c45d23c098bdf181853a85b60b5d74" }, 0, nil},
		"of another object":  {func(a *appv1alpha1.ChangeApproval) { a.Spec.UID = "u-2" }, 0, nil},
	} {
		var got []string
		release := releaseOf("Running")
		for _, event := range OfApproval(approval(row.edit), BeginningsOf([]appv1alpha1.ChangeWorkload{*release}), after(row.since)) {
			got = append(got, fmt.Sprintf("%s: %s, %s", event.Name, event.Reason, event.Message))
			NewWithT(t).Expect(event.By).To(Equal("alice@corp"), "who released it")
		}
		NewWithT(t).Expect(got).To(Equal(row.want), name)
	}
	begun := BeginningsOf([]appv1alpha1.ChangeWorkload{*releaseOf("Running")})
	other := approval(func(a *appv1alpha1.ChangeApproval) { a.UID = "a-2" })
	NewWithT(t).Expect(OfApproval(approval(), begun, start())[0].ID).NotTo(Equal(OfApproval(other, begun, start())[0].ID), "of two users in a second")
}

func TestSelectsTellsWhatIsNamedOnly(t *testing.T) {
	g := NewWithT(t)
	for _, name := range []appv1alpha1.SubscribedEvent{"BatchChecked", "ApprovalGiven", "ApprovalDenied", "WorkloadDeleted"} {
		g.Expect(Selects([]appv1alpha1.SubscribedEvent{"All", "Failures"}, &Event{Name: name})).To(BeFalse(), string(name))
		g.Expect(Selects([]appv1alpha1.SubscribedEvent{"Failures", name}, &Event{Name: name})).To(BeTrue(), string(name))
	}
}

func TestOpenReturnsTheLastReleasesThatAreNotVerified(t *testing.T) {
	for name, row := range map[string]struct {
		release *appv1alpha1.ChangeWorkload
		edit    func(*appv1alpha1.ChangeWorkload)
		open    bool
	}{
		"in progress":                       {releaseOf("Running"), nil, true},
		"suspended":                         {releaseOf("Suspend"), nil, true},
		"verified":                          {releaseOf("Success"), nil, false},
		"with the status of an earlier one": {releaseOf("Success"), func(w *appv1alpha1.ChangeWorkload) { w.Status.ObservedRelease = 6 }, true},
		"from before control":               {releaseOf(""), func(w *appv1alpha1.ChangeWorkload) { w.Spec.Baseline = true }, false},
	} {
		if row.edit != nil {
			row.edit(row.release)
		}
		earlier := releaseOf("Running")
		earlier.Spec.Release, earlier.Spec.CreateTimeUnix = 6, after(-60).Unix()
		open := BeginningsOf([]appv1alpha1.ChangeWorkload{*row.release, *earlier}).Open(nil)
		if !row.open {
			NewWithT(t).Expect(open).To(BeEmpty(), name)
			continue
		}
		NewWithT(t).Expect(open).To(Equal([]appv1alpha1.ToldRelease{{
			Namespace: "shop", Workload: appv1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "u-1"},
			Release: 7, Version: "491e30c0000000000000000000000000", StartedAt: metav1.Unix(start().Unix(), 0),
		}}), name)
	}
}

func TestOpenKeepsThoseWithoutARecord(t *testing.T) {
	noted := []appv1alpha1.ToldRelease{
		{Workload: appv1alpha1.WorkloadReference{UID: "u-1"}, Release: 6}, {Workload: appv1alpha1.WorkloadReference{UID: "u-9"}, Release: 1},
	}
	open := BeginningsOf([]appv1alpha1.ChangeWorkload{*releaseOf("Success")}).Open(noted)
	NewWithT(t).Expect(open).To(Equal(noted[1:]))
}

func TestNoteOpenKeepsTheStatusSmall(t *testing.T) {
	g := NewWithT(t)
	var open []appv1alpha1.ToldRelease
	for i := range 70 {
		open = append(open, appv1alpha1.ToldRelease{
			Workload: appv1alpha1.WorkloadReference{UID: types.UID(fmt.Sprintf("u-%02d", i%7))}, Release: int64(i), StartedAt: metav1.NewTime(start().Add(time.Duration(-i/7) * time.Minute)),
		})
	}
	var status appv1alpha1.ChangeSubscriptionStatus
	NoteOpen(&status, open)
	g.Expect(status.OpenReleases).To(HaveLen(64))
	g.Expect(status.OpenReleases[0].Release).To(BeEquivalentTo(69), "the oldest go")
	g.Expect(status.OpenReleases[57].Release).To(BeEquivalentTo(0))
	deleted := OfDeleted(&status.OpenReleases[57], after(1))
	Deliver(&status, []Event{deleted})
	g.Expect(status.OpenReleases).To(HaveLen(63))
	g.Expect(deleted.IsAmong(status.OpenReleases)).To(BeFalse())
}
