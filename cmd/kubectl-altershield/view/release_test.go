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

package view_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

func TestStateOfARelease(t *testing.T) {
	notObserved := func(record *appv1alpha1.ChangeWorkload) { record.Status.ObservedRelease = 1 }
	for _, row := range []struct {
		name    string
		options []recordOption
		state   view.State
		reason  string
		why     string
	}{
		{"verified", nil, "Success", "AllPodsPassed", "all 4 pods passed"},
		{"not looked at yet", []recordOption{notObserved}, "Pending", "", ""},
		{"without conditions", []recordOption{func(record *appv1alpha1.ChangeWorkload) { record.Status.Conditions = nil }}, "Pending", "", ""},
		{"suspended", []recordOption{suspended}, "Suspend", "PodsFailed", "pod web-5 failed its check: 5xx above 1%"},
		{"rolled back", []recordOption{suspended, has("RolledBack", "True", "PodsFailed", "it went back")}, "RolledBack", "PodsFailed", "it went back"},
		{"running", []recordOption{is("Running", "Unknown", "Verifying", "waiting for pods")}, "Running", "Verifying", "waiting for pods"},
		{"late", []recordOption{is("TimeOutPreThreshold", "Unknown", "ThresholdTimeout", "late")}, "Running", "ThresholdTimeout", "late"},
		{"superseded", []recordOption{is("Running", "Unknown", "Superseded", "moved on")}, "Superseded", "Superseded", "moved on"},
		{"parked", []recordOption{is("Running", "Unknown", "Parked", "see Parked"), has("Parked", "True", "Requested", "bob asked")}, "Waiting", "Parked", "bob asked"},
		{"frozen", []recordOption{is("Running", "Unknown", "Frozen", "see Frozen"), has("Frozen", "True", "ChangeFreeze", "until Monday")}, "Waiting", "Frozen", "until Monday"},
		{"paused", []recordOption{is("Running", "Unknown", "StatefulSetPaused", "is paused")}, "Waiting", "StatefulSetPaused", "is paused"},
		{"in steps", []recordOption{is("Running", "Unknown", "Paced", "see Paced"), has("Paced", "True", "StepRunning", "step 1")}, "Running", "Paced", "step 1"},
		{"awaiting approval", []recordOption{is("Running", "Unknown", "Paced", "see Paced"), has("Paced", "True", "AwaitingApproval", "1 of 2")}, "Waiting", "Paced", "1 of 2"},
		{"on its first nodes", []recordOption{is("Running", "Unknown", "FirstNodes", "see it")}, "Running", "FirstNodes", "see it"},
		{"awaiting a run", []recordOption{is("Running", "Unknown", "AwaitingRun", "next run")}, "Waiting", "AwaitingRun", "next run"},
		{"a failed run", []recordOption{is("Running", "Unknown", "RunFailed", "exit 1")}, "Failed", "RunFailed", "exit 1"},
		{"a refused Job", []recordOption{is("Running", "Unknown", "Refused", "failed before")}, "Suspend", "Refused", "failed before"},
		{"a refused order", []recordOption{is("Failed", "Unknown", "OrderRefused", "no")}, "Failed", "OrderRefused", "no"},
		{"without replicas", []recordOption{is("Success", "Unknown", "NoReplicas", "none")}, "NotChecked", "NoReplicas", "none"},
		{"opted out", []recordOption{is("Running", "Unknown", "NamespaceOptedOut", "out")}, "NotChecked", "NamespaceOptedOut", "out"},
		{"unseen", []recordOption{is("Running", "Unknown", "TemplateUnseen", "unseen")}, "NotChecked", "TemplateUnseen", "unseen"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			shown := view.HistoryOf(facts(nil, record(7, "49", row.options...)), now).Items[0]
			g.Expect(shown.State).To(Equal(row.state))
			g.Expect(shown.Reason).To(Equal(row.reason))
			g.Expect(shown.Why).To(Equal(row.why))
		})
	}
}

func TestAFailedReleaseThatSuspendsNothingSaysSo(t *testing.T) {
	const said = "5xx above 1%; further releases are not denied"
	for reason, not := range map[string]bool{"BlockingDisabled": true, "Observing": true, "Lifted": false} {
		g := NewWithT(t)
		shown := view.HistoryOf(facts(nil, record(7, "49", is("Suspend", "False", "PodsFailed", "5xx above 1%"), has("Suspended", "False", reason, "further releases are not denied"))), now).Items[0]
		g.Expect(shown.NotSuspended).To(Equal(not), reason)
		if not {
			g.Expect(shown.Why).To(Equal(said))
		} else {
			g.Expect(shown.Why).NotTo(Equal(said))
		}
	}
}

func TestStateIsFinalUnlessTheReleaseGoesOnOrWaits(t *testing.T) {
	g := NewWithT(t)
	for _, state := range []view.State{"Pending", "Running", "Waiting"} {
		g.Expect(state.IsFinal()).To(BeFalse(), string(state))
	}
	for _, state := range []view.State{"Success", "Suspend", "RolledBack", "Superseded", "Failed", "NotChecked"} {
		g.Expect(state.IsFinal()).To(BeTrue(), string(state))
	}
}

func TestReleaseHasTheFieldsOfItsRecord(t *testing.T) {
	g := NewWithT(t)
	back := rollback(6, 7, "ac")
	shown := view.HistoryOf(facts(nil, record(7, "49", func(record *appv1alpha1.ChangeWorkload) {
		record.Spec.Rollback, record.Spec.IgnoredSuspend = &back, true
		record.Status.Pace = &appv1alpha1.ReleasePace{Progress: "2/3"}
	})), now).Items[0]
	g.Expect(shown.Namespace).To(Equal("shop"))
	g.Expect(shown.Kind).To(Equal("Deployment"))
	g.Expect(shown.Workload).To(Equal("web"))
	g.Expect(shown.Version).To(Equal("49000000000000000000000000000000"))
	g.Expect(shown.By).To(Equal("alice@corp"))
	g.Expect(shown.TookSeconds).To(BeEquivalentTo(250))
	g.Expect(shown.Started.Time).To(BeTemporally("==", time.Date(2026, 11, 22, 15, 41, 59, 0, time.UTC)))
	g.Expect(shown.RollbackOf).To(BeEquivalentTo(6))
	g.Expect(shown.Repair).To(BeTrue())
	g.Expect(shown.Step).To(Equal("2/3"))
	g.Expect(shown.Pods).To(Equal(view.Pods{Desired: 4, Passed: 4}))
}

func TestReleaseOfARecordFromBeforeThereWereKindsIsOfADeployment(t *testing.T) {
	g := NewWithT(t)
	old := record(7, "49", func(record *appv1alpha1.ChangeWorkload) { record.Spec.WorkloadRef = nil })
	g.Expect(old.Workload()).To(Equal(appv1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}))
}
