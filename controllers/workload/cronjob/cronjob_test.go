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

package cronjob_test

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/cronjob"
)

const versionLabel = "admission-webhook-altershield.antgroup.com/version"

var now = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// backup returns a CronJob at release 3, version v2, which began an hour ago.
func backup() *batchv1.CronJob {
	return &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "backup", UID: "cron-1", Labels: map[string]string{versionLabel: "v2"},
		Annotations: map[string]string{
			"altershield.defense.antgroup.com/release":     "3",
			"altershield.defense.antgroup.com/released-by": `{"user":"alice","time":"2026-11-21T09:00:00Z","version":"v2","release":3}`,
		},
	}}
}

// job returns a Job of the CronJob backup that was created some time ago.
func job(name, version string, age time.Duration, conditions ...batchv1.JobConditionType) *batchv1.Job {
	made := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(now.Add(-age)), Labels: map[string]string{versionLabel: version},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "CronJob", Name: "backup", UID: "cron-1", Controller: ptr.To(true)}},
	}}
	for _, condition := range conditions {
		made.Status.Conditions = append(made.Status.Conditions, batchv1.JobCondition{Type: condition, Status: "True"})
	}
	return made
}

func TestKindIsNamed(t *testing.T) {
	g := NewWithT(t)
	g.Expect(workload.ControlledKindName(cronjob.Kind{})).To(Equal("cronjobs.batch"))
	g.Expect(workload.RecordName(cronjob.Kind{}, "backup", "v1")).To(Equal("cronjobs.backup--x--v1"))
	g.Expect(workload.Phrase(cronjob.Kind{}, "backup")).To(Equal("cronjob backup"))
	g.Expect(workload.RevisionNoun(cronjob.Kind{})).To(Equal("Job"))
	g.Expect(workload.KeepsRevisions(cronjob.Kind{})).To(BeFalse())
	g.Expect(workload.MayUndo(cronjob.Kind{})).To(BeTrue())
	g.Expect(cronjob.Kind{}.NewList()).To(Equal(&batchv1.CronJobList{}))
}

func TestKindRollout(t *testing.T) {
	g, cronJob := NewWithT(t), backup()
	g.Expect(cronjob.Kind{}.Rollout(cronJob)).To(Equal(decide.Rollout{Desired: 1, Runs: true, Recurs: true, Resume: "set its spec.suspend to false"}))
	cronJob.Spec.Suspend, cronJob.Spec.JobTemplate.Spec.Completions = ptr.To(true), ptr.To[int32](4)
	g.Expect(cronjob.Kind{}.Rollout(cronJob)).To(Equal(decide.Rollout{Desired: 4, Runs: true, Recurs: true, Paused: true, Resume: "set its spec.suspend to false"}))
	cronJob.Status.Active = []corev1.ObjectReference{{Name: "backup-1", UID: "1"}}
	g.Expect(cronjob.Kind{}.Rollout(cronJob).Blocker).To(BeEmpty(), "further Jobs may begin")
	cronJob.Spec.ConcurrencyPolicy = "Forbid"
	g.Expect(cronjob.Kind{}.Rollout(cronJob).Blocker).To(Equal("Job backup-1"))
	g.Expect(cronjob.Kind{}.Rollout(&corev1.Pod{})).To(Equal(decide.Rollout{}), "of another kind")
}

func TestKindRevisionsAreJobs(t *testing.T) {
	g := NewWithT(t)
	stranger := job("stranger", "v2", time.Minute)
	stranger.OwnerReferences[0].UID = "cron-0"
	kube := testkit.NewFake(t, backup(), job("old", "v2", 2*time.Hour), job("first", "v2", 30*time.Minute), job("second", "v2", 10*time.Minute),
		job("before", "v1", 90*time.Minute, "Complete"), job("running", "v1", 70*time.Minute), stranger)
	for name, list := range map[string]func() ([]decide.Revision, error){
		"in the cache":      func() ([]decide.Revision, error) { return cronjob.Kind{}.Revisions(t.Context(), kube, backup()) },
		"on the API server": func() ([]decide.Revision, error) { return cronjob.Kind{}.History(t.Context(), kube, backup()) },
	} {
		revisions, err := list()
		g.Expect(err).NotTo(HaveOccurred(), name)
		g.Expect(revisions).To(ConsistOf(
			And(HaveField("Version", "v2"), HaveField("Pods", decide.PodsOf{Owner: "first"}), HaveField("Healthy", false), HaveField("Run.Name", "Job first")),
			And(HaveField("Version", "v1"), HaveField("Pods", decide.PodsOf{Owner: "before"}), HaveField("Healthy", true), HaveField("Template", BeNil())),
		), name)
	}
	g.Expect(cronjob.Kind{}.Revision(job("first", "v2", 0, "Complete")).Healthy).To(BeTrue())
	g.Expect(cronjob.Kind{}.Revision(&corev1.Pod{})).To(Equal(decide.Revision{}))
	g.Expect(cronjob.Kind{}.Orphans(t.Context(), kube, backup(), "v2")).To(BeEmpty())
}

// The clock of the webhook may be ahead of that of the API server, which tells when a Job was created.
func TestKindRevisionsHaveTheTrialWhateverItsTime(t *testing.T) {
	for _, row := range []struct {
		name string
		jobs []client.Object
		want []string
	}{
		{"which counts", []client.Object{job("backup-trial-3", "v2", time.Hour+2*time.Second)}, []string{"Job backup-trial-3"}},
		{"and the first run after it if that failed", []client.Object{
			job("backup-trial-3", "v2", time.Hour+90*time.Second, "Failed"), job("backup-1", "v2", time.Hour+30*time.Second),
		}, []string{"Job backup-1"}},
		{"but no run before it", []client.Object{
			job("backup-1", "v2", time.Hour+3*time.Second, "Complete"), job("backup-trial-3", "v2", time.Hour+2*time.Second),
		}, []string{"Job backup-trial-3"}},
		{"nor that of an earlier release of the version", []client.Object{job("backup-trial-2", "v2", time.Hour+2*time.Second)}, nil},
		{"nor one of another version", []client.Object{job("backup-trial-3", "v3", 2*time.Hour), job("backup-1", "v2", time.Hour+2*time.Second)}, []string{"Job backup-trial-3"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g, kube := NewWithT(t), testkit.NewFake(t, append(row.jobs, backup())...)
			cached, err := cronjob.Kind{}.Revisions(t.Context(), kube, backup())
			g.Expect(err).NotTo(HaveOccurred())
			live, err := cronjob.Kind{}.History(t.Context(), kube, backup())
			g.Expect(err).NotTo(HaveOccurred())
			for _, revisions := range [][]decide.Revision{cached, live} {
				var runs []string
				for _, revision := range revisions {
					runs = append(runs, revision.Run.Name)
				}
				g.Expect(runs).To(Equal(row.want))
			}
		})
	}
}

func TestKindOwnerOf(t *testing.T) {
	g, run := NewWithT(t), job("first", "v2", time.Minute)
	kube := testkit.NewFake(t, backup(), run)
	pod := func(uid types.UID) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "first-x",
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "first", UID: uid, Controller: ptr.To(true)}}}}
	}
	for _, object := range []client.Object{run, pod("first")} {
		owner, err := cronjob.Kind{}.OwnerOf(t.Context(), kube, object)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(owner.Object.GetName() + " " + owner.Version).To(Equal("backup v2"))
	}
	g.Expect(cronjob.Kind{}.OwnerOf(t.Context(), kube, pod("other"))).To(BeNil())
}

const manifest = `
metadata: {namespace: default, name: backup, uid: cron-1}
spec:
  schedule: "@daily"
  timeZone: Europe/Berlin
  concurrencyPolicy: Forbid
  suspend: false
  jobTemplate:
    metadata: {labels: {team: storage}, annotations: {note: mine}}
    spec:
      completions: 2
      template:
        metadata: {labels: {app: backup, admission-webhook-altershield.antgroup.com/version: v2}}
        spec: {restartPolicy: Never}
`

func objectOf(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: object}
}

// with returns the manifest with another value at a path.
func with(t *testing.T, value any, path ...string) map[string]any {
	t.Helper()
	object := objectOf(t, manifest).Object
	if err := unstructured.SetNestedField(object, value, path...); err != nil {
		t.Fatal(err)
	}
	return object
}

func TestKindContentIsTheTemplateAndWhenItRuns(t *testing.T) {
	g, object := NewWithT(t), objectOf(t, manifest).Object
	g.Expect(workload.ContentOf(cronjob.Kind{}, object)).To(Equal(workload.Content{
		"/spec/jobTemplate/spec/template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "backup"}}, "spec": map[string]any{"restartPolicy": "Never"}},
		"/spec/schedule":                  "@daily", "/spec/timeZone": "Europe/Berlin", "/spec/concurrencyPolicy": "Forbid",
	}))
	for _, row := range []struct {
		updated map[string]any
		release bool
	}{
		{with(t, "@hourly", "spec", "schedule"), true},
		{with(t, "UTC", "spec", "timeZone"), true},
		{with(t, "Replace", "spec", "concurrencyPolicy"), true},
		{with(t, "OnFailure", "spec", "jobTemplate", "spec", "template", "spec", "restartPolicy"), true},
		{with(t, true, "spec", "suspend"), false},
		{with(t, "compute", "spec", "jobTemplate", "metadata", "labels", "team"), false},
		{with(t, "v3", "spec", "jobTemplate", "spec", "template", "metadata", "labels", versionLabel), false},
	} {
		g.Expect(workload.IsRelease(cronjob.Kind{}, object, row.updated)).To(Equal(row.release), "%v", row.updated)
	}
	g.Expect(workload.IsRelease(cronjob.Kind{}, nil, object)).To(BeTrue())
}

func TestKindTemplatesAreThoseOfPodsAndOfLabelledJobs(t *testing.T) {
	g := NewWithT(t)
	g.Expect(workload.Templates(cronjob.Kind{}, objectOf(t, manifest).Object)).To(Equal([]string{"/spec/jobTemplate/spec/template", "/spec/jobTemplate"}))
	unlabelled := with(t, map[string]any{}, "spec", "jobTemplate", "metadata")
	g.Expect(workload.Templates(cronjob.Kind{}, unlabelled)).To(Equal([]string{"/spec/jobTemplate/spec/template"}), "Jobs get the labels of their pods")
	g.Expect(workload.MayChange(cronjob.Kind{})).To(And(ContainSubstring("object.?spec.?timeZone != oldObject.?spec.?timeZone"),
		ContainSubstring("object.spec.jobTemplate.?metadata.?labels != oldObject.spec.jobTemplate.?metadata.?labels")))
}

func TestKindRestore(t *testing.T) {
	g, object := NewWithT(t), objectOf(t, manifest).Object
	kept := workload.ContentOf(cronjob.Kind{}, with(t, "@hourly", "spec", "schedule"))
	delete(kept, "/spec/timeZone")
	g.Expect(workload.Restore(cronjob.Kind{}, object, kept)).To(Equal([]workload.Operation{
		{Op: "remove", Path: "/spec/timeZone"}, {Op: "replace", Path: "/spec/schedule", Value: "@hourly"},
	}))
}

func TestKindPauseAndResume(t *testing.T) {
	g := NewWithT(t)
	g.Expect(cronjob.Kind{}.Pause(backup())).To(Equal([]workload.Operation{{Op: "add", Path: "/spec/suspend", Value: true}}))
	g.Expect(cronjob.Kind{}.Resume(backup(), "")).To(Equal([]workload.Operation{{Op: "replace", Path: "/spec/suspend", Value: false}}))
	g.Expect(cronjob.Kind{}.Originals(backup())).To(BeEmpty())
	suspended := backup()
	suspended.Spec.Suspend = ptr.To(true)
	for _, row := range []struct {
		object client.Object
		paused bool
	}{
		{backup(), false}, {suspended, true}, {objectOf(t, manifest), false},
		{&unstructured.Unstructured{Object: with(t, true, "spec", "suspend")}, true}, {&corev1.Pod{}, false},
	} {
		g.Expect(cronjob.Kind{}.Paused(row.object)).To(Equal(row.paused))
	}
}

func TestKindTrialIsTheJobThatKubectlWouldCreate(t *testing.T) {
	g, cronJob := NewWithT(t), objectOf(t, manifest)
	trial, err := cronjob.Kind{}.Trial(cronJob, 3)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(trial.Object).To(Equal(objectOf(t, `
apiVersion: batch/v1
kind: Job
metadata:
  namespace: default
  name: backup-trial-3
  labels: {team: storage}
  annotations: {note: mine, cronjob.kubernetes.io/instantiate: manual}
  ownerReferences: [{apiVersion: batch/v1, kind: CronJob, name: backup, uid: cron-1, controller: true}]
spec:
  completions: 2
  template:
    metadata: {labels: {app: backup, admission-webhook-altershield.antgroup.com/version: v2}}
    spec: {restartPolicy: Never}
`).Object))
	g.Expect(cronJob).To(Equal(objectOf(t, manifest)), "the CronJob is not changed")
	cronJob.SetName("a-name-of-a-cronjob-that-has-all-of-its-fifty-two-ch")
	long, err := cronjob.Kind{}.Trial(cronJob, 123456)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(long.GetName())).To(BeNumerically("<=", 63))
	_, err = cronjob.Kind{}.Trial(&unstructured.Unstructured{Object: map[string]any{}}, 1)
	g.Expect(err).To(MatchError(ContainSubstring("spec.jobTemplate")))
}

func TestCacheHoldsWhatIsRead(t *testing.T) {
	g, full := NewWithT(t), backup()
	full.Spec = batchv1.CronJobSpec{Schedule: "@daily", Suspend: ptr.To(true), ConcurrencyPolicy: "Forbid"}
	full.Status.Active = []corev1.ObjectReference{{Name: "backup-1", UID: "1"}}
	full.Spec.JobTemplate.Spec = batchv1.JobSpec{Completions: ptr.To[int32](3), Parallelism: ptr.To[int32](2), BackoffLimit: ptr.To[int32](1)}
	options := cronjob.Kind{}.Cache(labels.Everything())
	g.Expect(options).To(HaveLen(2))
	for object, byObject := range options {
		if _, ok := object.(*batchv1.CronJob); !ok {
			continue
		}
		slim, err := byObject.Transform(full.DeepCopy())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(slim.(*batchv1.CronJob).Spec.Schedule).To(BeEmpty())
		g.Expect(cronjob.Kind{}.Rollout(slim.(*batchv1.CronJob))).To(Equal(cronjob.Kind{}.Rollout(full)))
		g.Expect(slim.(*batchv1.CronJob).Annotations).To(Equal(full.Annotations))
		g.Expect(byObject.Transform("a tombstone")).To(Equal("a tombstone"))
	}
}

func TestKindIdentify(t *testing.T) {
	g := NewWithT(t)
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(backup())
	g.Expect(err).NotTo(HaveOccurred())
	observed := &unstructured.Unstructured{Object: fields}
	stranger := job("stranger", "", time.Minute)
	stranger.OwnerReferences[0].UID = "cron-0"
	live := testkit.NewFake(t, job("before", "", 2*time.Hour, "Complete"), job("failed", "", 40*time.Minute, "Failed"), job("first", "", 30*time.Minute), stranger)
	found, err := cronjob.Kind{}.Identify(t.Context(), live, observed, "v2", now.Add(-time.Hour))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found.Version).To(Equal("v2"))
	g.Expect(found.Run.Name).To(Equal("Job first"))
	g.Expect(found.Pods).To(Equal(decide.PodsOf{Owner: "first", Label: "batch.kubernetes.io/controller-uid", Value: "first"}))
	g.Expect(cronjob.Kind{}.Identify(t.Context(), live, observed, "v2", now)).To(BeNil(), "it waits for its first Job")

	away := interceptor.NewClient(live, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("away")
		},
	})
	_, err = cronjob.Kind{}.Identify(t.Context(), away, observed, "v2", now)
	g.Expect(err).To(MatchError("listing the Jobs of CronJob default/backup: away"))
	_, err = cronjob.Kind{}.History(t.Context(), away, backup())
	g.Expect(err).To(MatchError("listing the Jobs of CronJob default/backup: away"))
}
