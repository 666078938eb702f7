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

package events_test

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
)

func TestEvent(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC))
	made := appv1alpha1.Rollback{Version: "b", Release: 2, To: "a", Message: "bob asked for it"}
	refused := made
	refused.RefusedUntil = &at
	workload := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep", UID: "d-1"}}
	released := &appv1alpha1.ChangeWorkload{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep--x--b"},
		Spec:       appv1alpha1.ChangeWorkloadSpec{AppName: "sleep", Reversion: "b", Release: 2},
		Status: appv1alpha1.ChangeWorkloadStatus{
			Counts:               appv1alpha1.PodCounts{Desired: 5, Passed: 4},
			DefenseCheckFailPods: []appv1alpha1.PodSummary{{Pod: "sleep-1", Message: "find error"}},
			Conditions:           []metav1.Condition{{Type: "Ordered", Message: "connection refused"}},
		},
	}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep", UID: "s-1"}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep-1"}}
	subscription := &appv1alpha1.ChangeSubscription{ObjectMeta: metav1.ObjectMeta{Namespace: "altershieldoperator-system", Name: "shop"}}
	setting := &appv1alpha1.OpsConfigInfo{ObjectMeta: metav1.ObjectMeta{Namespace: "altershieldoperator-system", Name: "blocking"}}
	reference := &corev1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "default", Name: "sleep", UID: "d-1"}
	ofVersion := &corev1.ObjectReference{APIVersion: "app.ops.cloud.alipay.com/v1alpha1", Kind: "ChangeWorkload", Namespace: "default", Name: "sleep--x--b"}
	broken := errors.New("broken")
	held := appv1alpha1.CheckResult{Policy: "shop/web", Name: "smoke", Verdict: "Inconclusive", Message: "Passed is Unknown", HeldUntil: &at}
	failedHold := held
	failedHold.Verdict = "Fail"
	heldBefore, failedAfter := held, failedHold
	heldBefore.Phase, failedAfter.Phase = "Before", "After"
	for _, row := range []struct {
		event                      events.Event
		regarding, related         runtime.Object
		kind, reason, action, note string
	}{
		{events.ReleaseRecorded(workload, decide.Release{Version: "b", Number: 2}), workload, nil,
			"Normal", "ReleaseRecorded", "Record", "release 2, version b"},
		{events.ReleaseNotRecorded(workload, "b", broken), workload, nil, "Warning", "ReleaseNotRecorded", "Record",
			"release b is not checked: the operator did not set its label admission-webhook-altershield.antgroup.com/version; " +
				"the next change of the pod template is checked again: broken"},
		{events.SuspensionIgnored(workload, appv1alpha1.IgnoredSuspend{User: "alice", Version: "b", Time: metav1.NewMicroTime(at.Time)}), workload, nil,
			"Warning", "SuspensionIgnored", "Record", "alice used ignored-suspend to let release b through at 2026-11-21T10:00:00Z"},
		{events.IgnoredSuspendRemoved(workload), workload, nil, "Normal", "IgnoredSuspendRemoved", "Record",
			"removed the label altershield.defense.antgroup.com/ignored-suspend: the Deployment is not suspended. " +
				"The operator removes it once per release: delete it from the manifest that sets it"},
		{events.ReleaseFrozen(workload, released, "ChangeFreeze ops/friday is on"), workload, released, "Warning", "ReleaseFrozen", "Verify",
			"release b: it waits: ChangeFreeze ops/friday is on"},
		{events.ReleaseThawed(workload, released, "the freeze has ended"), workload, released, "Normal", "ReleaseThawed", "Verify",
			"release b: the freeze has ended"},
		{events.FreezeLeft(workload, decide.Release{Version: "b", Number: 2}, "it left change control"), workload, nil,
			"Warning", "ReleaseThawed", "Record", "release 2, version b, goes on: it left change control"},
		{events.BreakGlassUsed(workload, released, &appv1alpha1.BreakGlassPass{User: "alice", Name: "inc-7", Would: []string{"it is frozen", "it is suspended"}}),
			workload, released, "Warning", "BreakGlassUsed", "Verify", "release b: alice used BreakGlass inc-7 to let it through, although it is frozen; it is suspended"},
		{events.StepBegun(workload, released, "step 2 of 3: 5 of 20 pods"), workload, released, "Normal", "StepBegun", "Verify", "release b: step 2 of 3: 5 of 20 pods"},
		{events.StepLate(workload, released, "step 2 of 3: 4 of 5 pods passed"), workload, released, "Warning", "StepDeadline", "Verify",
			"release b: step 2 of 3: 4 of 5 pods passed"},
		{events.NotificationsDropped(subscription, 2, "the receiver failed for 1h0m0s"), subscription, nil, "Warning", "NotificationsDropped", "Notify",
			"2 of its events could not be delivered: the receiver failed for 1h0m0s"},
		{events.WorkloadNotWritten(workload, released, broken), workload, released, "Warning", "WorkloadNotWritten", "Verify",
			"release b: it can't be suspended, held or let go on: broken"},
		{events.RecordNotWritten(workload, released, broken), workload, released, "Warning", "RecordNotWritten", "Keep", "release b: broken"},
		{events.CheckFailed(workload, released, &failedHold), workload, released, "Warning", "CheckFailed", "Verify",
			"release b: check smoke of VerificationPolicy shop/web failed, which only warns: Passed is Unknown"},
		{events.CheckHolds(workload, released, &held), workload, released, "Warning", "CheckHolds", "Verify",
			"release b: its pods wait for check smoke of VerificationPolicy shop/web until 2026-11-21T10:00:00Z: Passed is Unknown"},
		{events.HoldTimedOut(workload, released, &held), workload, released, "Warning", "HoldTimeout", "Verify",
			"release b: check smoke of VerificationPolicy shop/web holds its pods no longer, its pods pass: Passed is Unknown"},
		{events.HoldTimedOut(workload, released, &failedHold), workload, released, "Warning", "HoldTimeout", "Verify",
			"release b: check smoke of VerificationPolicy shop/web holds its pods no longer, the check fails its pods: Passed is Unknown"},
		{events.CheckHolds(workload, released, &heldBefore), workload, released, "Warning", "CheckHolds", "Verify",
			"release b: its first pod waits for check smoke of VerificationPolicy shop/web until 2026-11-21T10:00:00Z: Passed is Unknown"},
		{events.CheckHolds(workload, released, &failedAfter), workload, released, "Warning", "CheckHolds", "Verify",
			"release b: all pods passed, it waits for check smoke of VerificationPolicy shop/web until 2026-11-21T10:00:00Z: Passed is Unknown"},
		{events.HoldTimedOut(workload, released, &heldBefore), workload, released, "Warning", "HoldTimeout", "Verify",
			"release b: check smoke of VerificationPolicy shop/web holds it no longer, it goes on: Passed is Unknown"},
		{events.HoldTimedOut(workload, released, &failedAfter), workload, released, "Warning", "HoldTimeout", "Verify",
			"release b: check smoke of VerificationPolicy shop/web holds it no longer, it fails: Passed is Unknown"},
		{events.ApprovalAwaited(workload, released, "step 2 of 3 needs 1 approval"), workload, released, "Normal", "ApprovalAwaited", "Verify",
			"release b: step 2 of 3 needs 1 approval"},
		{events.StepsEnded(workload, released, &metav1.Condition{Reason: "AllSteps", Message: "all 3 steps are done"}), workload, released,
			"Normal", "StepsEnded", "Verify", "release b: all 3 steps are done"},
		{events.StepsEnded(workload, released, &metav1.Condition{Reason: "PolicyRemoved", Message: "the policy is gone"}), workload, released,
			"Warning", "StepsEnded", "Verify", "release b: the policy is gone"},
		{events.HoldLeft(workload, decide.Release{Version: "b", Number: 2}, "it left change control"), workload, nil,
			"Warning", "RolloutResumed", "Record", "release 2, version b, goes on: it left change control"},
		{events.StepsLeft(workload, decide.Release{Version: "b", Number: 2}, "it can't be recorded"), workload, nil,
			"Warning", "StepsEnded", "Record", "release 2, version b, goes on to all pods: it can't be recorded"},
		{events.ReleaseSucceeded(workload, released, 0), workload, released, "Normal", "ReleaseSucceeded", "Verify",
			"release b is verified: 4 of 5 pods passed"},
		{events.ReleaseSucceeded(workload, released, 3), workload, released, "Normal", "ReleaseSucceeded", "Verify",
			"release b is verified: 4 of 5 pods passed, 3 of them unchecked"},
		{events.ReleaseSuspended(workload, released), workload, released, "Warning", "ReleaseSuspended", "Verify",
			"release b: pod sleep-1 failed its check: find error"},
		{events.PodsFailed(workload, released), workload, released, "Warning", "PodsFailed", "Verify",
			"release b: pod sleep-1 failed its check: find error"},
		{events.RolloutHeld(workload, released, "a pod failed"), workload, released, "Warning", "RolloutHeld", "Verify",
			"release b: the rollout is paused because a pod failed; pods that are not replaced yet keep the previous version"},
		{events.FirstNodesEnded(workload, released, []metav1.Condition{{Type: "FirstNodes", Status: "True", Reason: "AllPodsPassed", Message: "a"}}), workload, released,
			"Normal", "FirstNodesPassed", "Verify", "release b: a"},
		{events.FirstNodesEnded(workload, released, []metav1.Condition{{Type: "FirstNodes", Status: "False", Reason: "DeadlineExceeded", Message: "a"}}), workload, released,
			"Warning", "FirstNodesSkipped", "Verify", "release b: a"},
		{events.FirstNodesEnded(workload, released, []metav1.Condition{{Type: "FirstNodes", Status: "False", Reason: "PodsFailed", Message: "a"}}), workload, released,
			"Normal", "RolloutResumed", "Verify", "release b: the rollout continues: the release has no failed pods any more"},
		{events.FirstNodesSkipped(workload, decide.Release{Version: "b", Number: 2}, "it can't be recorded"), workload, nil,
			"Warning", "FirstNodesSkipped", "Record", "release 2, version b, goes on to all nodes: it can't be recorded"},
		{events.RolloutResumed(workload, released), workload, released, "Normal", "RolloutResumed", "Verify",
			"release b: the rollout continues: the release has no failed pods any more"},
		{events.RolloutResumedByUser(workload, released, "a pod failed"), workload, released, "Warning", "RolloutResumed", "Verify",
			"release b: a user resumed the rollout although a pod failed; it is not paused again"},
		{events.RolloutResumedByOptOut(workload, released), workload, released, "Warning", "RolloutResumed", "Verify",
			"release b: the rollout continues: the namespace was opted out of change control"},
		{events.OrderRefused(workload, released), workload, released, "Warning", "OrderRefused", "Verify", "release b: connection refused"},
		{events.ServerUnavailable(workload, released), workload, released, "Warning", "ServerUnavailable", "Verify", "release b: connection refused"},
		{events.HistoryNotKept(workload, released, broken), workload, released, "Warning", "HistoryNotKept", "Keep", "release b: broken"},
		{events.BatchNotChecked(released, "sleep--x--b--x--1", "connection refused"), released, nil, "Warning", "BatchNotChecked", "Verify",
			"sleep--x--b--x--1: connection refused"},
		{events.ReleaseRolledBack(workload, made), workload, nil, "Warning", "ReleaseRolledBack", "RollBack",
			"release 2, version b, goes back to version a: bob asked for it"},
		{events.ReleaseRolledBack(workload, refused), workload, nil, "Warning", "ReleaseRolledBack", "RollBack",
			"release 2, version b, goes back to version a: bob asked for it; the version is refused until 2026-11-21T10:00:00Z"},
		{events.ReleaseNotRolledBack(workload, decide.Release{Version: "b", Number: 2}, broken, "bob asked for it"), workload, nil,
			"Warning", "ReleaseNotRolledBack", "RollBack", "release 2, version b, was not rolled back: broken (cause of the rollback: bob asked for it)"},
		{events.StuckAfterUnusable(workload, broken, 2*time.Minute), workload, nil, "Warning", "StuckAfterUnusable", "RollBack",
			"broken; the setting stuck-rollback applies: 2m0s"},
		{events.ReleaseRefused(deployment.Kind{}, workload, "b", "refused"), reference, ofVersion,
			"Warning", "ReleaseRefused", "Admit", "refused"},
		{events.ScheduleHeld(workload, released, "a pod failed"), workload, released, "Warning", "RolloutHeld", "Verify",
			"release b: the schedule is suspended because a pod failed; no further Job begins"},
		{events.TrialStarted(workload, released, "Job backup-trial-2 runs"), workload, released, "Normal", "TrialStarted", "Verify",
			"release b: Job backup-trial-2 runs"},
		{events.TrialDenied(workload, released, "broken"), workload, released, "Warning", "TrialDenied", "Verify",
			"release b: broken; the release is checked at the next run"},
		{events.RecordNameTaken(workload, released, &metav1.OwnerReference{Kind: "StatefulSet", Name: "sleep"}), workload, nil,
			"Warning", "ReleaseNotRecorded", "Record",
			"release b is not checked: its record sleep--x--b belongs to statefulset sleep, which has the same name and pod template: rename one of them"},
		{events.IgnoredSuspendRemoved(set), set, nil, "Normal", "IgnoredSuspendRemoved", "Record",
			"removed the label altershield.defense.antgroup.com/ignored-suspend: the StatefulSet is not suspended. " +
				"The operator removes it once per release: delete it from the manifest that sets it"},
		{events.RolloutResumedByMode(set, released), set, released, "Warning", "RolloutResumed", "Verify",
			"release b: the rollout continues: the mode of its kind is no longer Enforce"},
		{events.ReleaseParked(set, decide.Release{Version: "b", Number: 2}, appv1alpha1.Park{Message: "bob asked for it"}), set, nil,
			"Warning", "ReleaseParked", "RollBack",
			"release 2, version b, is parked: its rollout is held and its pods come back with the template from before: bob asked for it"},
		{events.ReleaseNotParked(set, decide.Release{Version: "b", Number: 2}, broken, "bob asked for it"), set, nil,
			"Warning", "ReleaseNotParked", "RollBack", "release 2, version b, was not parked: broken (cause of the park: bob asked for it)"},
		{events.PodDeleted(set, pod, "it is not ready"), set, pod, "Normal", "PodDeleted", "RollBack", "deleted pod sleep-1: it is not ready"},
		{events.PodNotDeleted(set, decide.Release{Version: "b", Number: 2}, broken), set, nil,
			"Warning", "PodNotDeleted", "RollBack", "release 2, version b: broken"},
		{events.ConfigRestored(setting), setting, nil, "Normal", "ConfigRestored", "Configure", "created with the default"},
		{events.ConfigIgnored(setting, "no effect"), setting, nil, "Warning", "ConfigIgnored", "Configure", "no effect"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			NewWithT(t).Expect(row.event).To(Equal(events.Event{
				Regarding: row.regarding, Related: row.related, Type: row.kind, Reason: row.reason, Action: row.action, Note: row.note,
			}))
		})
	}
}
