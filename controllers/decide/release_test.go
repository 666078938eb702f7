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

package decide_test

import (
	"cmp"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

func TestReleaseOf(t *testing.T) {
	for _, row := range []struct {
		name        string
		labels      map[string]string
		annotations map[string]string
		version     string
		number      int64
	}{
		{"has the version of its label and the number of its annotation",
			map[string]string{"admission-webhook-altershield.antgroup.com/version": version},
			map[string]string{"altershield.defense.antgroup.com/release": "3"}, version, 3},
		{"is the first where releases were not counted",
			map[string]string{"admission-webhook-altershield.antgroup.com/version": version}, nil, version, 1},
		{"is the first where the count is nonsense",
			map[string]string{"admission-webhook-altershield.antgroup.com/version": version},
			map[string]string{"altershield.defense.antgroup.com/release": "-3"}, version, 1},
		{"has no version outside change control", nil, nil, "", 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			deployment := &metav1.ObjectMeta{Labels: row.labels, Annotations: row.annotations}
			NewWithT(t).Expect(decide.ReleaseOf(deployment)).To(Equal(decide.Release{Version: row.version, Number: row.number}))
		})
	}
}

func TestReleaseNumberIs0WhereThereWasNone(t *testing.T) {
	g := NewWithT(t)
	for value, number := range map[string]int64{"": 0, "abc": 0, "-1": 0, "99999999999999999999": 0, "12": 12} {
		annotations := map[string]string{"altershield.defense.antgroup.com/release": value}
		g.Expect(decide.ReleaseNumber(annotations)).To(Equal(number), value)
	}
	g.Expect(decide.ReleaseNumber(nil)).To(BeZero())
}

func TestIsSuspendedByTheLabelWhateverItsValue(t *testing.T) {
	g := NewWithT(t)
	deployment := &metav1.ObjectMeta{}
	g.Expect(decide.IsSuspended(deployment)).To(BeFalse())
	for _, value := range []string{"1795255200", ""} {
		deployment.Labels = map[string]string{"altershield.defense.antgroup.com/suspend": value}
		g.Expect(decide.IsSuspended(deployment)).To(BeTrue(), value)
	}
}

func TestIsVerified(t *testing.T) {
	remembers := func(versions ...string) workloadOption {
		return func(workload *appv1alpha1.ChangeWorkload) { workload.Status.VerifiedVersions = versions }
	}
	for _, row := range []struct {
		name      string
		workloads []appv1alpha1.ChangeWorkload
		verified  bool
	}{
		{"when its own ChangeWorkload succeeded", []appv1alpha1.ChangeWorkload{
			other(older, 1, stored("Success", "True", "AllPodsPassed")), other(version, 2)}, true},
		{"when another ChangeWorkload remembers it", []appv1alpha1.ChangeWorkload{other(version, 2, remembers(repair, older))}, true},
		{"not while it is being checked", []appv1alpha1.ChangeWorkload{other(older, 1, stored("Running", "Unknown", "Verifying"))}, false},
		{"not when its pods failed", []appv1alpha1.ChangeWorkload{other(older, 1, stored("Suspend", "False", "PodsFailed"))}, false},
		{"not when it only had no pods to check", []appv1alpha1.ChangeWorkload{other(older, 1, stored("Success", "Unknown", "NoReplicas"))}, false},
		{"not while it is released anew and not reconciled yet", []appv1alpha1.ChangeWorkload{
			other(older, 1, stored("Success", "True", "AllPodsPassed"), release(3))}, false},
		{"not by the success of another version", []appv1alpha1.ChangeWorkload{other(version, 1, stored("Success", "True", "AllPodsPassed"))}, false},
		{"not without any ChangeWorkload", nil, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(decide.IsVerified(row.workloads, older)).To(Equal(row.verified))
		})
	}
}

func TestIsInProgress(t *testing.T) {
	deleted := func(workload *appv1alpha1.ChangeWorkload) { workload.DeletionTimestamp = &metav1.Time{Time: now} }
	for _, row := range []struct {
		name     string
		workload *appv1alpha1.ChangeWorkload
		progress bool
	}{
		{"when it was not reconciled yet", newWorkload(), true},
		{"when its version is released anew and not reconciled yet", newWorkload(stored("Success", "True", "AllPodsPassed"), release(3)), true},
		{"while its pods are awaited or checked", newWorkload(stored("Running", "Unknown", "Verifying")), true},
		{"when too few pods finished in time", newWorkload(stored("TimeOutPreThreshold", "Unknown", "ThresholdTimeout")), true},
		{"not while its Deployment is paused", newWorkload(stored("Running", "Unknown", "DeploymentPaused")), false},
		{"not before its next run", newWorkload(stored("Running", "Unknown", "AwaitingRun")), false},
		{"not while its Job runs, in its own time", newWorkload(stored("Running", "Unknown", "Running")), false},
		{"not when another release took over", newWorkload(stored("Running", "Unknown", "Superseded")), false},
		{"not when it is verified", newWorkload(stored("Success", "True", "AllPodsPassed")), false},
		{"not without pods to check", newWorkload(stored("Success", "Unknown", "NoReplicas")), false},
		{"not when a pod failed", newWorkload(stored("Suspend", "False", "PodsFailed")), false},
		{"not when the server refused it", newWorkload(stored("Failed", "Unknown", "OrderRefused")), false},
		{"not when its record goes", newWorkload(deleted), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(decide.IsInProgress(row.workload)).To(Equal(row.progress))
		})
	}
}

func TestPodFinished(t *testing.T) {
	ready := func(status corev1.ConditionStatus, since time.Time) []corev1.PodCondition {
		return []corev1.PodCondition{
			{Type: "PodScheduled", Status: "True", LastTransitionTime: metav1.NewTime(now.Add(-time.Hour))},
			{Type: "Ready", Status: status, LastTransitionTime: metav1.NewTime(since)},
		}
	}
	for _, row := range []struct {
		name       string
		conditions []corev1.PodCondition
		deleted    bool
		phase      corev1.PodPhase
		minReady   int32
		finished   bool
		wait       time.Duration
	}{
		{name: "when it is ready", conditions: ready("True", now), finished: true},
		{name: "when it is ready by a clock ahead of ours", conditions: ready("True", now.Add(3*time.Second)), finished: true},
		{name: "not before it is ready", conditions: ready("False", now)},
		{name: "not while its readiness is unknown", conditions: ready("Unknown", now)},
		{name: "not while it merely runs", conditions: nil},
		{name: "not on its way out", conditions: ready("True", now), deleted: true},
		{name: "not after its eviction, whatever its conditions are", conditions: ready("True", now), phase: "Failed"},
		{name: "not after all its containers ended well", conditions: ready("True", now), phase: "Succeeded"},
		{name: "not after its eviction while minReadySeconds run", conditions: ready("True", now), phase: "Failed", minReady: 30},
		{name: "not before minReadySeconds are over, with the time left", conditions: ready("True", now.Add(-10*time.Second)),
			minReady: 30, wait: 20 * time.Second},
		{name: "when minReadySeconds are over", conditions: ready("True", now.Add(-30*time.Second)), minReady: 30, finished: true},
		{name: "not on its way out while minReadySeconds run", conditions: ready("True", now), deleted: true, minReady: 30},
		{name: "not by minReadySeconds without being ready", conditions: ready("False", now.Add(-time.Hour)), minReady: 30},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			pod := &corev1.Pod{Status: corev1.PodStatus{Phase: cmp.Or(row.phase, "Running"), Conditions: row.conditions}}
			if row.deleted {
				pod.DeletionTimestamp = &metav1.Time{Time: now}
			}
			finished, wait := decide.PodFinished(pod, decide.Rollout{MinReadySeconds: row.minReady}, now)
			g.Expect(finished).To(Equal(row.finished))
			g.Expect(wait).To(Equal(row.wait))
		})
	}
}

func TestIsFinished(t *testing.T) {
	labelled := map[string]string{"altershield.defense.antgroup.com/operate-finished": "1795255200"}
	for _, row := range []struct {
		name     string
		labels   map[string]string
		phase    corev1.PodPhase
		deleted  bool
		finished bool
	}{
		{name: "not without the Finished label", phase: "Running"},
		{name: "while it carries the Finished label and runs", labels: labelled, phase: "Running", finished: true},
		{name: "not on its way out", labels: labelled, phase: "Running", deleted: true},
		{name: "not after its eviction", labels: labelled, phase: "Failed"},
		{name: "not after all its containers ended well", labels: labelled, phase: "Succeeded"},
	} {
		t.Run(row.name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: row.labels}, Status: corev1.PodStatus{Phase: row.phase}}
			if row.deleted {
				pod.DeletionTimestamp = &metav1.Time{Time: now}
			}
			NewWithT(t).Expect(decide.IsFinished(pod)).To(Equal(row.finished))
		})
	}
}

func TestSummarizeDescribesAPodAsTheDocumentsDo(t *testing.T) {
	g := NewWithT(t)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep-5c698f4449-fsb27"},
		Status:     corev1.PodStatus{PodIP: "10.244.1.198"},
	}
	summary := appv1alpha1.PodSummary{
		App: "sleep", HostName: "sleep-5c698f4449-fsb27", IP: "10.244.1.198", Namespace: "default",
		Pod: "sleep-5c698f4449-fsb27", WorkSpace: "default",
	}
	g.Expect(decide.Summarize("sleep", pod)).To(Equal(summary))
	pod.Spec.Hostname, summary.HostName = "db", "db"
	g.Expect(decide.Summarize("sleep", pod)).To(Equal(summary), "it has the host name")
	pod.Labels = map[string]string{"altershield.defense.antgroup.com/operate-finished": "1795255200"}
	summary.FinishTimeUnix = 1795255200
	g.Expect(decide.Summarize("sleep", pod)).To(Equal(summary), "it has the time of its finish")
}

func TestStampIsInUTC(t *testing.T) {
	g := NewWithT(t)
	text, unix := decide.Stamp(now.In(time.FixedZone("CST", 8*3600)))
	g.Expect(text).To(Equal("2026-11-21 10:00:00"))
	g.Expect(unix).To(Equal(int64(1795255200)))
}
