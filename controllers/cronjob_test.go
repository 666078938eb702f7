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

package controllers_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// backup returns a CronJob that runs when a spec wants it to: once a year, on a leap day.
func backup(namespace string) *batchv1.CronJob {
	return &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "backup"},
		Spec: batchv1.CronJobSpec{Schedule: "0 0 29 2 *", JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{
			Completions: ptr.To[int32](2), Parallelism: ptr.To[int32](2), Template: task("1"),
		}}},
	}
}

// task returns the pod template of a Job.
func task(release string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "backup", "test": release}},
		Spec:       corev1.PodSpec{RestartPolicy: "Never", Containers: []corev1.Container{{Name: "backup", Image: "busybox"}}},
	}
}

// releaseBackup changes the pod template of the CronJob backup, and its metadata.
func releaseBackup(ctx context.Context, namespace, value, metadata string) (string, error) {
	return kubectl(ctx, "-n", namespace, "patch", "cronjob", "backup", "--type", "merge", "-p",
		fmt.Sprintf(`{"metadata":{%s},"spec":{"jobTemplate":{"spec":{"template":{"metadata":{"labels":{"test":%q}}}}}}}`, metadata, value))
}

// run starts a Job of the CronJob backup, as its schedule does: the CronJob controls it.
func run(ctx context.Context, namespace, name string) {
	GinkgoHelper()
	var cronJob batchv1.CronJob
	Expect(kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "backup"}, &cronJob)).To(Succeed())
	Expect(kube.Create(ctx, &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Labels: cronJob.Spec.JobTemplate.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(&cronJob, batchv1.SchemeGroupVersion.WithKind("CronJob"))},
		},
		Spec: cronJob.Spec.JobTemplate.Spec,
	})).To(Succeed())
}

// cronJobState returns whether the CronJob backup is suspended by its schedule and by its label, for Eventually.
func cronJobState(ctx context.Context, namespace string) func() string {
	return func() string {
		var cronJob batchv1.CronJob
		if err := kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "backup"}, &cronJob); err != nil {
			return err.Error()
		}
		_, suspended := cronJob.Labels["altershield.defense.antgroup.com/suspend"]
		return fmt.Sprintf("spec.suspend %t, label %t", ptr.Deref(cronJob.Spec.Suspend, false), suspended)
	}
}

// recordOf returns the status and the reason of the release that a workload is at, for Eventually.
func recordOf(ctx context.Context, object client.Object, prefix string) func() string {
	return func() string {
		if err := kube.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err.Error()
		}
		name := prefix + "--x--" + object.GetLabels()["admission-webhook-altershield.antgroup.com/version"]
		var record appv1alpha1.ChangeWorkload
		if err := kube.Get(ctx, client.ObjectKey{Namespace: object.GetNamespace(), Name: name}, &record); err != nil {
			return err.Error()
		}
		return fmt.Sprintf("%s %s", record.Status.Status, reason(record.Status.Conditions, "Verified"))
	}
}

var _ = Describe("A CronJob", func() {
	It("is checked by the first Job of each release, and held once one failed, until it is repaired", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		cronJob := backup(namespace)
		Expect(kube.Create(ctx, cronJob)).To(Succeed())
		Eventually(recordOf(ctx, cronJob, "cronjobs.backup")).Should(Equal("Running AwaitingRun"))
		Consistently(func() int { return len(changePods(ctx, namespace)) }).Should(BeZero())
		run(ctx, namespace, "backup-1")
		Eventually(recordOf(ctx, cronJob, "cronjobs.backup")).Should(Equal("Success AllPodsPassed"))
		Expect(podsPerBatch(ctx, namespace)).To(Equal([]int{2}), "all pods in one batch")

		By("changing the schedule")
		Expect(kubectl(ctx, "-n", namespace, "patch", "cronjob", "backup", "--type", "merge", "-p", `{"spec":{"schedule":"0 1 29 2 *"}}`)).NotTo(BeEmpty())
		Eventually(recordOf(ctx, cronJob, "cronjobs.backup")).Should(Equal("Running AwaitingRun"))
		run(ctx, namespace, "backup-2")
		Eventually(recordOf(ctx, cronJob, "cronjobs.backup")).Should(Equal("Success AllPodsPassed"))
		verified := cronJob.Labels["admission-webhook-altershield.antgroup.com/version"]

		By("failing the check of a release")
		output, err := releaseBackup(ctx, namespace, "2", "")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(recordOf(ctx, cronJob, "cronjobs.backup")).Should(Equal("Running AwaitingRun"))
		run(ctx, namespace, "backup-3")
		Eventually(recordOf(ctx, cronJob, "cronjobs.backup")).Should(Equal("Success AllPodsPassed"))
		fail(ctx, namespace, "cronjobs.backup--x--"+cronJob.Labels["admission-webhook-altershield.antgroup.com/version"]+"--x--1")
		Eventually(cronJobState(ctx, namespace)).Should(Equal("spec.suspend true, label true"))
		output, err = releaseBackup(ctx, namespace, "3", "")
		Expect(err).To(HaveOccurred())
		Expect(output).To(ContainSubstring("cronjob backup is suspended"))

		By("repairing it")
		output, err = releaseBackup(ctx, namespace, "4", `"labels":{"altershield.defense.antgroup.com/ignored-suspend":"true"}`)
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(cronJobState(ctx, namespace)).Should(Equal("spec.suspend false, label true"))
		run(ctx, namespace, "backup-4")
		Eventually(cronJobState(ctx, namespace)).Should(Equal("spec.suspend false, label false"))
		Eventually(recordOf(ctx, cronJob, "cronjobs.backup")).Should(Equal("Success AllPodsPassed")) // the label goes before the status is written

		By("going back to the release before, with its schedule")
		Expect(kubectl(ctx, "-n", namespace, "patch", "cronjob", "backup", "--type", "merge", "-p", `{"spec":{"schedule":"0 2 29 2 *"}}`)).NotTo(BeEmpty())
		Expect(kubectl(ctx, "-n", namespace, "annotate", "cronjob", "backup", "altershield.defense.antgroup.com/rollback="+verified)).NotTo(BeEmpty())
		Eventually(func() string {
			Expect(kube.Get(ctx, client.ObjectKeyFromObject(cronJob), cronJob)).To(Succeed())
			return cronJob.Spec.Schedule + " " + cronJob.Spec.JobTemplate.Spec.Template.Labels["test"]
		}).Should(Equal("0 1 29 2 * 1"))
		Expect(cronJob.Labels).To(HaveKeyWithValue("admission-webhook-altershield.antgroup.com/version", verified))
	})

	It("goes back from a release whose Job is stuck, and shows that this Job blocks the next one", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		cronJob := backup(namespace)
		cronJob.Spec.ConcurrencyPolicy = "Forbid"
		cronJob.Annotations = map[string]string{"altershield.defense.antgroup.com/stuck-after": "2s"}
		Expect(kube.Create(ctx, cronJob)).To(Succeed())
		run(ctx, namespace, "backup-1")
		Eventually(recordOf(ctx, cronJob, "cronjobs.backup")).Should(Equal("Success AllPodsPassed"))
		verified := cronJob.Labels["admission-webhook-altershield.antgroup.com/version"]

		output, err := kubectl(ctx, "-n", namespace, "patch", "cronjob", "backup", "--type", "merge", "-p",
			`{"spec":{"jobTemplate":{"spec":{"template":{"spec":{"containers":[{"name":"backup","image":"busybox:missing"}]}}}}}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		run(ctx, namespace, "backup-2")
		var stuck batchv1.Job
		Expect(kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "backup-2"}, &stuck)).To(Succeed())
		output, err = kubectl(ctx, "-n", namespace, "patch", "cronjob", "backup", "--subresource=status", "--type", "merge", "-p",
			fmt.Sprintf(`{"status":{"active":[{"apiVersion":"batch/v1","kind":"Job","namespace":%q,"name":"backup-2","uid":%q}]}}`, namespace, stuck.UID))
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(recordOf(ctx, cronJob, "cronjobs.backup")).Should(Equal("Running RunBlocked"))
		Expect(cronJob.Labels).To(HaveKeyWithValue("admission-webhook-altershield.antgroup.com/version", verified), "it went back")

		By("deleting the Job that blocks")
		Expect(kubectl(ctx, "-n", namespace, "delete", "job", "backup-2")).NotTo(BeEmpty())
		Eventually(recordOf(ctx, cronJob, "cronjobs.backup")).Should(Equal("Running AwaitingRun"))
		run(ctx, namespace, "backup-3")
		Eventually(recordOf(ctx, cronJob, "cronjobs.backup")).Should(Equal("Success AllPodsPassed"))
	})

	It("is tried by one Job at once, while its schedule is suspended", func(ctx context.Context) {
		output, err := kubectl(ctx, "apply", "-f", "../config/components/job-creation/role.yaml")
		Expect(err).NotTo(HaveOccurred(), output)
		namespace := controlledNamespace(ctx)
		cronJob := backup(namespace)
		cronJob.Annotations = map[string]string{"altershield.defense.antgroup.com/trial": "true"}
		cronJob.Spec.JobTemplate.Labels = map[string]string{"team": "storage"}
		cronJob.Spec.JobTemplate.Spec.Template.Labels["local.altershield.io/crash"] = "now"
		Expect(kube.Create(ctx, cronJob)).To(Succeed())
		Eventually(cronJobState(ctx, namespace)).Should(Equal("spec.suspend true, label false"))
		var trial batchv1.Job
		Expect(kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "backup-trial-1"}, &trial)).To(Succeed())
		Expect(trial.Labels).To(HaveKeyWithValue("team", "storage"))
		Expect(trial.Annotations).To(HaveKeyWithValue("cronjob.kubernetes.io/instantiate", "manual"))
		Eventually(func() int32 {
			Expect(kube.Get(ctx, client.ObjectKeyFromObject(&trial), &trial)).To(Succeed())
			return trial.Status.Active
		}).Should(BeEquivalentTo(2))
		Consistently(cronJobState(ctx, namespace)).Should(Equal("spec.suspend true, label false"))

		By("letting its pods succeed")
		output, err = kubectl(ctx, "-n", namespace, "label", "pods", "-l", "app=backup", "local.altershield.io/crash-")
		Expect(err).NotTo(HaveOccurred(), output)
		Expect(strings.Count(output, "unlabeled")).To(Equal(2), output)
		Eventually(recordOf(ctx, cronJob, "cronjobs.backup")).Should(Equal("Success AllPodsPassed"))
		Eventually(cronJobState(ctx, namespace)).Should(Equal("spec.suspend false, label false"))
		var jobs batchv1.JobList
		Expect(kube.List(ctx, &jobs, client.InNamespace(namespace))).To(Succeed())
		Expect(jobs.Items).To(HaveLen(1))
	})
})

var _ = Describe("A Job", func() {
	It("is suspended at its creation where its pod template failed before", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		migrate := func(name string, labels map[string]string) *batchv1.Job {
			return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}, Spec: batchv1.JobSpec{Template: task("1")}}
		}
		first := migrate("migrate-1", nil)
		Expect(kube.Create(ctx, first)).To(Succeed())
		Eventually(recordOf(ctx, first, "jobs.migrate-1")).Should(Equal("Success AllPodsPassed"))
		fail(ctx, namespace, "jobs.migrate-1--x--"+first.Labels["admission-webhook-altershield.antgroup.com/version"]+"--x--1")
		Eventually(recordOf(ctx, first, "jobs.migrate-1")).Should(Equal("Suspend PodsFailed"))

		second := migrate("migrate-2", nil)
		Eventually(func() *bool {
			asked := second.DeepCopy()
			Expect(kube.Create(ctx, asked, client.DryRunAll)).To(Succeed())
			return asked.Spec.Suspend
		}).Should(HaveValue(BeTrue()), "the webhook reads of the failure in its cache")
		Expect(kube.Create(ctx, second)).To(Succeed())
		Expect(second.Spec.Suspend).To(HaveValue(BeTrue()))
		Eventually(recordOf(ctx, second, "jobs.migrate-2")).Should(Equal("Running Refused"))
		Consistently(func() bool {
			Expect(kube.Get(ctx, client.ObjectKeyFromObject(second), second)).To(Succeed())
			return *second.Spec.Suspend
		}).Should(BeTrue())

		third := migrate("migrate-3", map[string]string{"altershield.defense.antgroup.com/ignored-suspend": "true"})
		Expect(kube.Create(ctx, third)).To(Succeed())
		Expect(third.Spec.Suspend).To(HaveValue(BeFalse()))
		Eventually(recordOf(ctx, third, "jobs.migrate-3")).Should(Equal("Success AllPodsPassed"))

		By("resuming it by hand")
		Expect(kubectl(ctx, "-n", namespace, "patch", "job", "migrate-2", "--type", "merge", "-p", `{"spec":{"suspend":false}}`)).NotTo(BeEmpty())
		Eventually(recordOf(ctx, second, "jobs.migrate-2")).Should(Equal("Success AllPodsPassed"))
	})
})
