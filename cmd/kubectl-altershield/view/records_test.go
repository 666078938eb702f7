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

package view

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

var began = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// stored returns the ChangeRecord of a release of the Deployment web that began some hours later.
func stored(release int64, correction int32, outcome appv1alpha1.ReleaseOutcome, hours int) StoredRecord {
	record := StoredRecord{Hash: "hash"}
	record.Namespace, record.Name = "shop", decide.ChangeRecordName(decide.RecordKey("d-1", false), release, correction)
	record.Spec = appv1alpha1.ChangeRecordSpec{
		Workload: appv1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "d-1"},
		Release:  release, Correction: correction, Outcome: outcome, Version: "v", ReleasedBy: "alice", Reason: "Because",
		StartedAt: metav1.NewTime(began.Add(time.Duration(hours) * time.Hour)), EndedAt: metav1.NewTime(began.Add(time.Duration(hours)*time.Hour + time.Minute)),
		Pods: appv1alpha1.RecordedPods{Desired: 3, Passed: 3},
	}
	return record
}

func TestExportOfTakesTheNewestRecordOfEachReleaseOfThePeriod(t *testing.T) {
	g := NewWithT(t)
	back := stored(3, 0, "Verified", 2)
	back.Spec.Rollback = &appv1alpha1.Rollback{Version: "v", Release: 2}
	elsewhere := stored(1, 0, "Unchecked", 0)
	elsewhere.Namespace = "bank"
	export := ExportOf([]StoredRecord{
		stored(4, 0, "Verified", 3), back, stored(2, 1, "Failed", 1), stored(2, 0, "Verified", 1), stored(1, 0, "Verified", -1), elsewhere,
	}, "", Period{began, began.Add(3 * time.Hour)}, false)
	var releases []string
	for _, item := range export.Items {
		releases = append(releases, item.Namespace+" "+item.Record+" "+string(item.Outcome))
	}
	key := decide.RecordKey("d-1", false)
	g.Expect(releases).To(Equal([]string{"bank " + key + "-1 Unchecked", "shop " + key + "-2-1 Failed", "shop " + key + "-3 Verified"}))
	g.Expect(export.Items[1].RolledBackBy).To(BeEquivalentTo(3))
	g.Expect(export.Items[2].RolledBackBy).To(BeZero())
	g.Expect(export.Counts).To(Equal(map[appv1alpha1.ReleaseOutcome]int{"Unchecked": 1, "Failed": 1, "Verified": 1}))
	g.Expect(export.Verified).To(BeFalse())
}

func TestExportOfKeepsCountsOfReleasesApart(t *testing.T) {
	g, observed := NewWithT(t), stored(1, 0, "Verified", 0)
	observed.Spec.Observed = true
	back := stored(2, 0, "Verified", 2)
	back.Spec.Rollback = &appv1alpha1.Rollback{Version: "v", Release: 1}
	export := ExportOf([]StoredRecord{
		observed, stored(1, 0, "Failed", 0), stored(1, 0, "Superseded", 1), back, stored(1, 0, "Unchecked", 3),
	}, "", Period{began, began.Add(time.Hour * 9)}, false)
	g.Expect(export.Counts).To(Equal(map[appv1alpha1.ReleaseOutcome]int{"Verified": 2, "Failed": 1, "Superseded": 1, "Unchecked": 1}))
	for _, item := range export.Items {
		if item.Outcome == "Superseded" {
			g.Expect(item.RolledBackBy).To(BeEquivalentTo(2), "the last one of that number before the rollback")
		} else {
			g.Expect(item.RolledBackBy).To(BeZero(), string(item.Outcome))
		}
	}
}

func TestExportOfFindsNoOtherReleaseThatWentBack(t *testing.T) {
	back := stored(2, 0, "Verified", 2)
	back.Spec.Rollback = &appv1alpha1.Rollback{Version: "w", Release: 1}
	export := ExportOf([]StoredRecord{stored(1, 0, "Verified", 0), back}, "", Period{began, began.Add(time.Hour * 9)}, false)
	NewWithT(t).Expect(export.Items[0].RolledBackBy).To(BeZero(), "the record of the one that went back is gone")
}

func TestExportOfKnowsAWorkloadByEachVersionOfItsAPI(t *testing.T) {
	g, corrected, back := NewWithT(t), stored(1, 1, "Failed", 0), stored(2, 0, "Verified", 2)
	corrected.Spec.Workload.APIVersion, back.Spec.Workload.APIVersion = "apps/v2", "apps/v2"
	back.Spec.Rollback = &appv1alpha1.Rollback{Version: "v", Release: 1}
	export := ExportOf([]StoredRecord{stored(1, 0, "Verified", 0), corrected, back}, "", Period{began, began.Add(time.Hour * 9)}, false)
	g.Expect(export.Counts).To(Equal(map[appv1alpha1.ReleaseOutcome]int{"Failed": 1, "Verified": 1}))
	g.Expect(export.Items[0].RolledBackBy).To(BeEquivalentTo(2))
}

func TestHistoryOfKeepsObservedReleasesApart(t *testing.T) {
	g, record := NewWithT(t), stored(2, 0, "Failed", 0)
	record.Spec.Observed = true
	workload := appv1alpha1.ChangeWorkload{Spec: appv1alpha1.ChangeWorkloadSpec{AppName: "web", Release: 2, WorkloadRef: &record.Spec.Workload}}
	list := HistoryOf(Facts{Reference: record.Spec.Workload, Records: []appv1alpha1.ChangeWorkload{workload}, Recorded: []StoredRecord{record}}, began)
	g.Expect(list.Items).To(HaveLen(2))
}

func TestExportOfVerifiesAlsoWhatIsOutsideThePeriod(t *testing.T) {
	g := NewWithT(t)
	first, third := stored(1, 0, "Verified", -9), stored(3, 0, "Verified", -7)
	third.Spec.Previous = &appv1alpha1.PreviousRecord{Name: decide.ChangeRecordName(decide.RecordKey("d-1", false), 2, 0), SHA256: "x"}
	period := Period{began, began.Add(time.Hour)}
	g.Expect(ExportOf([]StoredRecord{first, third}, "shop", period, false).Faults).To(BeEmpty())
	export := ExportOf([]StoredRecord{first, third}, "shop", period, true)
	g.Expect(export.Items).To(BeEmpty())
	g.Expect(export.Faults).To(Equal([]decide.ChainFault{{
		Namespace: "shop", Name: decide.ChangeRecordName(decide.RecordKey("d-1", false), 2, 0), Missing: true, By: decide.ChangeRecordName(decide.RecordKey("d-1", false), 3, 0),
	}}))
}

func TestHistoryOfKnowsReleasesByTheirChangeRecords(t *testing.T) {
	for outcome, state := range map[appv1alpha1.ReleaseOutcome]State{
		"Verified": Success, "Failed": Suspend, "RolledBack": RolledBack, "Superseded": Superseded, "Unchecked": NotChecked,
	} {
		g, record := NewWithT(t), stored(2, 0, outcome, 0)
		record.Spec.Rollback = &appv1alpha1.Rollback{Release: 1}
		list := HistoryOf(Facts{Namespace: "shop", Reference: record.Spec.Workload, Recorded: []StoredRecord{record}}, began)
		g.Expect(list.Items).To(HaveLen(1))
		release := list.Items[0]
		g.Expect(release.State).To(Equal(state))
		g.Expect(release.RollbackOf).To(BeEquivalentTo(1))
		g.Expect(release.By).To(Equal("alice"))
		g.Expect(release.Pods).To(Equal(Pods{Desired: 3, Passed: 3}))
		if outcome == "Verified" {
			g.Expect(release.TookSeconds).To(BeNumerically(">", 0))
		} else {
			g.Expect(release.TookSeconds).To(BeZero())
		}
	}
}

func TestHistoryOfTakesAChangeWorkloadBeforeAChangeRecord(t *testing.T) {
	g, record := NewWithT(t), stored(2, 0, "Failed", 0)
	workload := appv1alpha1.ChangeWorkload{Spec: appv1alpha1.ChangeWorkloadSpec{AppName: "web", Release: 2, WorkloadRef: &record.Spec.Workload}}
	list := HistoryOf(Facts{Reference: record.Spec.Workload, Records: []appv1alpha1.ChangeWorkload{workload}, Recorded: []StoredRecord{record}}, began)
	g.Expect(list.Items).To(HaveLen(1))
	g.Expect(list.Items[0].State).To(Equal(Pending))
}

func TestHistoryOfLeavesOutADeletedWorkloadOfTheSameName(t *testing.T) {
	g, record := NewWithT(t), stored(2, 0, "Failed", 0)
	facts := Facts{Reference: record.Spec.Workload, Recorded: []StoredRecord{record}}
	facts.Workload = object(t, "d-2")
	g.Expect(HistoryOf(facts, began).Items).To(BeEmpty())
	facts.Workload = object(t, "d-1")
	g.Expect(HistoryOf(facts, began).Items).To(HaveLen(1))
}

func TestSelectorOfAWorkload(t *testing.T) {
	g := NewWithT(t)
	web := appv1alpha1.ChangeWorkload{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"altershield.defense.antgroup.com/workload": "statefulsets.web"}}}
	g.Expect(SelectorOf(Facts{Records: []appv1alpha1.ChangeWorkload{web}})).To(Equal(map[string]string{"altershield.defense.antgroup.com/workload": "statefulsets.web"}))
	g.Expect(SelectorOf(Facts{Reference: appv1alpha1.WorkloadReference{Kind: "Deployment", Name: "web"}})).To(Equal(map[string]string{"app.kubernetes.io/deployment-name": "web"}))
	g.Expect(SelectorOf(Facts{Reference: appv1alpha1.WorkloadReference{Kind: "StatefulSet", Name: "web"}})).To(Equal(map[string]string{"altershield.defense.antgroup.com/workload": "statefulsets.web"}))
	g.Expect(SelectorOf(Facts{Reference: appv1alpha1.WorkloadReference{APIVersion: "apps.kruise.io/v1alpha1", Kind: "CloneSet", Name: "web"}})).
		To(Equal(map[string]string{"altershield.defense.antgroup.com/workload": "clonesets.web"}), "its records are those of a deleted one")
}

func object(t *testing.T, uid types.UID) *unstructured.Unstructured {
	t.Helper()
	workload := &unstructured.Unstructured{Object: map[string]any{}}
	workload.SetUID(uid)
	return workload
}
