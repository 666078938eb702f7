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

package changeworkload

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/cronjob"
)

// pulling returns a pod of the Job backup-1, created this long before 10:00, whose image can't be pulled.
func pulling(age time.Duration) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "backup-1-x", UID: "p-1", Labels: map[string]string{"admission-webhook-altershield.antgroup.com/version": "v2"},
		CreationTimestamp: metav1.NewTime(time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC).Add(-age)),
		OwnerReferences:   []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "backup-1", UID: "job-1", Controller: ptr.To(true)}},
	}}
	pod.Spec.RestartPolicy = "Never"
	pod.Status.Phase = "Pending"
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "backup", State: corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}}
	return pod
}

func TestReconcileFindsAStuckRun(t *testing.T) {
	ready := pulling(time.Hour)
	ready.Status = corev1.PodStatus{Phase: "Running"}
	second := pulling(time.Minute)
	second.Name, second.UID = "backup-1-y", "p-2"
	off := &appv1alpha1.OpsConfigInfo{ObjectMeta: metav1.ObjectMeta{Namespace: "altershieldoperator-system", Name: "stuck-rollback"}}
	off.Spec.Type = "isStuckRollback"
	for _, row := range []struct {
		name    string
		objects []client.Object
		after   string // the annotation stuck-after
		want    string
		again   time.Duration
		ahead   time.Duration // by how much the clock of the operator is
	}{
		{"not before its time is over", []client.Object{pulling(90 * time.Second)}, "", "Running", 30 * time.Second, 0},
		{"not before that by a clock that is ahead", []client.Object{pulling(90 * time.Second)}, "", "Running", 30 * time.Second, 2 * time.Minute},
		{"after two minutes", []client.Object{pulling(3 * time.Minute)}, "",
			"RunStuck: Job backup-1 is stuck: pod backup-1-x: container backup: ImagePullBackOff; no other run begins before it ends, " +
				"as concurrencyPolicy is Forbid: release a fix, and delete that Job", 2 * time.Minute, 0},
		{"after the time of its annotation", []client.Object{pulling(3 * time.Minute)}, "5m", "Running", 2 * time.Minute, 0},
		{"not with the annotation 0", []client.Object{pulling(3 * time.Minute)}, "0", "Running", 0, 0},
		{"not if its pods run, however long", []client.Object{ready}, "", "Running", 0, 0},
		{"later, as no pod is there yet", nil, "", "Running", 2 * time.Minute, 0},
		{"also if another pod has time", []client.Object{pulling(3 * time.Minute), second}, "", "RunStuck: Job backup-1 is stuck: pod backup-1-x: ", time.Minute, 0},
		{"not with the setting off", []client.Object{pulling(3 * time.Minute), off}, "", "Running", 0, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			g, backup := NewWithT(t), backupAt("cron-1", "2")
			backup.Annotations = map[string]string{"altershield.defense.antgroup.com/release": "2"}
			if row.after != "" {
				backup.Annotations["altershield.defense.antgroup.com/stuck-after"] = row.after
			}
			backup.Spec.ConcurrencyPolicy, backup.Status.Active = "Forbid", []corev1.ObjectReference{{Name: "backup-1"}}
			ofBackup := []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "CronJob", Name: "backup", UID: "cron-1", Controller: ptr.To(true)}}
			job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "backup-1", UID: "job-1", OwnerReferences: ofBackup,
				Labels: map[string]string{"admission-webhook-altershield.antgroup.com/version": "v2"}}}
			record := recordAt(2, "v2", "Running", "Running")
			record.Name, record.OwnerReferences = "cronjobs.backup--x--v2", ofBackup
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default", Labels: map[string]string{"admission-webhook-altershield": "enabled"}}}
			p := newPlane(t, append(row.objects, namespace, backup, job, record), nil)
			p.Kinds = workload.Registry{cronjob.Kind{}}
			p.Clock = clocktesting.NewFakePassiveClock(p.Agreed().Add(row.ahead))

			result, err := p.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(record)})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(result.RequeueAfter).To(Equal(row.again))
			g.Expect(p.api.Get(t.Context(), client.ObjectKeyFromObject(record), record)).To(Succeed())
			verified := record.Status.Conditions[0]
			g.Expect(verified.Reason + ": " + verified.Message).To(HavePrefix(row.want))
		})
	}
}

func TestReconcileChecksThePodsThatAreLeftOfARun(t *testing.T) {
	succeeded := pulling(time.Hour)
	succeeded.Status = corev1.PodStatus{Phase: "Succeeded"}
	labelled := succeeded.DeepCopy()
	labelled.Labels["altershield.defense.antgroup.com/operate-finished"] = "1795255200"
	for _, row := range []struct {
		name  string
		pod   *corev1.Pod
		ended time.Duration
		want  int
		again time.Duration
	}{
		{"not before the cache shows all", labelled, 10 * time.Second, 0, 50 * time.Second},
		{"without those that were removed", labelled, time.Hour, 1, 0},
		{"not before they have their label", succeeded, time.Hour, 0, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			g, backup := NewWithT(t), backupAt("cron-1", "2")
			backup.Annotations = map[string]string{"altershield.defense.antgroup.com/release": "2"}
			ofBackup := []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "CronJob", Name: "backup", UID: "cron-1", Controller: ptr.To(true)}}
			job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "backup-1", UID: "job-1", OwnerReferences: ofBackup,
				Labels: map[string]string{"admission-webhook-altershield.antgroup.com/version": "v2"}}}
			job.Status.Succeeded, job.Status.Conditions = 3, []batchv1.JobCondition{{
				Type: "Complete", Status: "True", LastTransitionTime: metav1.NewTime(time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC).Add(-row.ended))}}
			record := recordAt(2, "v2", "Running", "Running")
			record.Name, record.OwnerReferences, record.Spec.CountThreshold = "cronjobs.backup--x--v2", ofBackup, 500
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default", Labels: map[string]string{"admission-webhook-altershield": "enabled"}}}
			p := newPlane(t, []client.Object{row.pod.DeepCopy(), namespace, backup, job, record}, nil)
			p.Kinds = workload.Registry{cronjob.Kind{}}

			result, err := p.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(record)})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(result.RequeueAfter).To(Equal(row.again))
			var batches appv1alpha1.ChangePodList
			g.Expect(p.api.List(t.Context(), &batches)).To(Succeed())
			g.Expect(batches.Items).To(HaveLen(row.want))
		})
	}
}

func TestReleaseChangedPassesTheRunThatBlocks(t *testing.T) {
	g, changed := NewWithT(t), releaseChanged(cronjob.Kind{})
	idle, blocked := backupAt("cron-1", "2"), backupAt("cron-1", "2")
	blocked.Status.Active = []corev1.ObjectReference{{Name: "backup-1"}}
	g.Expect(changed.Update(event.UpdateEvent{ObjectOld: idle, ObjectNew: blocked})).To(BeFalse(), "another may begin")
	idle.Spec.ConcurrencyPolicy, blocked.Spec.ConcurrencyPolicy = "Forbid", "Forbid"
	g.Expect(changed.Update(event.UpdateEvent{ObjectOld: idle, ObjectNew: blocked})).To(BeTrue())
	g.Expect(changed.Update(event.UpdateEvent{ObjectOld: blocked, ObjectNew: idle})).To(BeTrue())
}
