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

package job_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/job"
)

var now = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

var stamped = map[string]string{"admission-webhook-altershield.antgroup.com/version": "v1"}

// migrate returns a Job with changes.
func migrate(changes ...func(*batchv1.Job)) *batchv1.Job {
	made := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "migrate", UID: "job-1", Labels: stamped, CreationTimestamp: metav1.NewTime(now),
	}}
	for _, change := range changes {
		change(made)
	}
	return made
}

func ofCronJob(made *batchv1.Job) {
	made.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "CronJob", Name: "backup", UID: "cron-1", Controller: ptr.To(true)}}
}

func condition(kind batchv1.JobConditionType, status corev1.ConditionStatus) func(*batchv1.Job) {
	return func(made *batchv1.Job) {
		made.Status.Conditions = []batchv1.JobCondition{{
			Type: kind, Status: status, Reason: "BackoffLimitExceeded", Message: "too often", LastTransitionTime: metav1.NewTime(now.Add(time.Minute)),
		}}
	}
}

func TestKindIsNamed(t *testing.T) {
	g := NewWithT(t)
	g.Expect(workload.ControlledKindName(job.Kind{})).To(Equal("jobs.batch"))
	g.Expect(workload.RecordName(job.Kind{}, "migrate", "v1")).To(Equal("jobs.migrate--x--v1"))
	g.Expect(workload.Phrase(job.Kind{}, "migrate")).To(Equal("job migrate"))
	g.Expect(workload.MayUndo(job.Kind{})).To(BeFalse())
	g.Expect(job.Kind{}.NewList()).To(Equal(&batchv1.JobList{}))
}

func TestKindRollout(t *testing.T) {
	for _, row := range []struct {
		name string
		spec batchv1.JobSpec
		want decide.Rollout
	}{
		{"of one pod", batchv1.JobSpec{}, decide.Rollout{Desired: 1}},
		{"of several", batchv1.JobSpec{Completions: ptr.To[int32](5), Parallelism: ptr.To[int32](2)}, decide.Rollout{Desired: 5}},
		{"of a work queue", batchv1.JobSpec{Parallelism: ptr.To[int32](3)}, decide.Rollout{Desired: 3}},
		{"that is suspended", batchv1.JobSpec{Suspend: ptr.To(true)}, decide.Rollout{Desired: 1, Paused: true}},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.want.Runs, row.want.Resume = true, "set its spec.suspend to false"
			NewWithT(t).Expect(job.Kind{}.Rollout(&batchv1.Job{Spec: row.spec})).To(Equal(row.want))
		})
	}
	NewWithT(t).Expect(job.Kind{}.Rollout(&corev1.Pod{})).To(Equal(decide.Rollout{}), "of another kind")
}

func TestKindControlsNoJobOfAController(t *testing.T) {
	g := NewWithT(t)
	g.Expect(job.Kind{}.Controls(migrate())).To(BeTrue())
	g.Expect(job.Kind{}.Controls(migrate(ofCronJob))).To(BeFalse())
	revisions, err := job.Kind{}.Revisions(t.Context(), nil, migrate(ofCronJob))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(revisions).To(BeEmpty())
}

func TestKindRevisions(t *testing.T) {
	failure := &decide.Failure{Since: now.Add(time.Minute), Message: "Job migrate failed: BackoffLimitExceeded: too often"}
	for _, row := range []struct {
		name   string
		change func(*batchv1.Job)
		run    decide.Run
	}{
		{"that runs", func(*batchv1.Job) {}, decide.Run{}},
		{"that is complete", condition("Complete", "True"), decide.Run{Complete: true, Ended: now.Add(time.Minute)}},
		{"that is not complete", condition("Complete", "False"), decide.Run{}},
		{"that failed", condition("Failed", "True"), decide.Run{Failure: failure}},
		{"that is suspended", condition("Suspended", "True"), decide.Run{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			row.run.Name, row.run.Succeeded = "Job migrate", 2
			object := migrate(row.change, func(made *batchv1.Job) { made.Status.Succeeded = 2 })
			g.Expect(job.Kind{}.Revisions(t.Context(), nil, object)).To(HaveExactElements(decide.Revision{
				Version: "v1", Number: now.Unix(), Created: now, Pods: decide.PodsOf{Owner: "job-1"}, Healthy: row.run.Complete, Run: &row.run, Failure: row.run.Failure,
			}))
			g.Expect(job.Kind{}.Run(object)).To(Equal(&row.run))
		})
	}
	NewWithT(t).Expect(job.Kind{}.Run(&corev1.Pod{})).To(BeNil())
}

func TestKindOwnerOf(t *testing.T) {
	for _, row := range []struct {
		name  string
		owner *batchv1.Job
		found bool
	}{
		{"a pod of a Job", migrate(), true},
		{"a pod of a CronJob", migrate(ofCronJob), false},
		{"a pod of a Job of the same name before", migrate(func(made *batchv1.Job) { made.UID = "job-0" }), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: "migrate-x", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(migrate(), batchv1.SchemeGroupVersion.WithKind("Job"))},
			}}
			owner, err := job.Kind{}.OwnerOf(t.Context(), testkit.NewFake(t, row.owner), pod)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(owner != nil).To(Equal(row.found))
			if row.found {
				g.Expect(owner.Object.GetName() + " " + owner.Version).To(Equal("migrate v1"))
			}
		})
	}
}

func untyped(template map[string]any) map[string]any {
	return map[string]any{"spec": map[string]any{"template": template}}
}

func TestKindContentIsTheTemplateWithoutTheLabelsOfTheJob(t *testing.T) {
	g := NewWithT(t)
	created := untyped(map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "migrate"}}, "spec": map[string]any{"nodeName": "n"}})
	stored := untyped(map[string]any{"metadata": map[string]any{"labels": map[string]any{
		"app": "migrate", "controller-uid": "job-1", "job-name": "migrate", "batch.kubernetes.io/controller-uid": "job-1", "batch.kubernetes.io/job-name": "migrate",
		"admission-webhook-altershield.antgroup.com/version": "v1",
	}}, "spec": map[string]any{"nodeName": "n"}})
	g.Expect(workload.ContentOf(job.Kind{}, stored)).To(Equal(workload.ContentOf(job.Kind{}, created)))
	g.Expect(stored["spec"].(map[string]any)["template"].(map[string]any)["metadata"].(map[string]any)["labels"]).To(HaveLen(6), "the object is not changed")
	bare := untyped(map[string]any{"spec": map[string]any{"nodeName": "n"}})
	alone := untyped(map[string]any{"metadata": map[string]any{"labels": map[string]any{"job-name": "migrate"}}, "spec": map[string]any{"nodeName": "n"}})
	g.Expect(workload.ContentOf(job.Kind{}, alone)).To(Equal(workload.ContentOf(job.Kind{}, bare)))
	g.Expect(workload.Templates(job.Kind{}, stored)).To(Equal([]string{"/spec/template"}))
}

func TestKindIsReleasedAtItsCreationAlone(t *testing.T) {
	g := NewWithT(t)
	g.Expect(workload.IsRelease(job.Kind{}, nil, untyped(nil))).To(BeTrue())
	g.Expect(workload.IsRelease(job.Kind{}, untyped(nil), untyped(map[string]any{"spec": "other"}))).To(BeFalse())
	g.Expect(workload.MayChange(job.Kind{})).To(Equal("(false)"))
	g.Expect(workload.Restore(job.Kind{}, untyped(nil), workload.Content{})).To(BeEmpty())
}

func TestKindPauseAndResume(t *testing.T) {
	g := NewWithT(t)
	g.Expect(job.Kind{}.Pause(migrate())).To(Equal([]workload.Operation{{Op: "add", Path: "/spec/suspend", Value: true}}))
	g.Expect(job.Kind{}.Resume(migrate(), "")).To(Equal([]workload.Operation{{Op: "replace", Path: "/spec/suspend", Value: false}}))
	g.Expect(job.Kind{}.Originals(migrate())).To(BeEmpty())
	for _, row := range []struct {
		object client.Object
		paused bool
	}{
		{migrate(), false},
		{migrate(func(made *batchv1.Job) { made.Spec.Suspend = ptr.To(true) }), true},
		{&unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"suspend": true}}}, true},
		{&unstructured.Unstructured{Object: map[string]any{}}, false},
		{&corev1.Pod{}, false},
	} {
		g.Expect(job.Kind{}.Paused(row.object)).To(Equal(row.paused))
	}
}

func TestCacheHoldsWhatIsRead(t *testing.T) {
	g := NewWithT(t)
	full := migrate(ofCronJob, condition("Failed", "True"), func(made *batchv1.Job) {
		made.Spec = batchv1.JobSpec{
			Parallelism: ptr.To[int32](2), Completions: ptr.To[int32](3), Suspend: ptr.To(true), BackoffLimit: ptr.To[int32](4),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{NodeName: "n"}},
		}
		made.Status.Succeeded, made.Status.Active = 1, 2
		made.Status.Conditions = append(made.Status.Conditions, batchv1.JobCondition{Type: "FailureTarget", Status: "True"})
	})
	slim, err := job.Cache(labels.Everything()).Transform(full.DeepCopy())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(slim.(*batchv1.Job).Spec).To(Equal(batchv1.JobSpec{Parallelism: ptr.To[int32](2), Completions: ptr.To[int32](3), Suspend: ptr.To(true)}))
	g.Expect(job.RevisionOf(slim.(*batchv1.Job))).To(Equal(job.RevisionOf(full)))
	g.Expect(job.Kind{}.Rollout(slim.(*batchv1.Job))).To(Equal(job.Kind{}.Rollout(full)))
	g.Expect(job.Kind{}.Controls(slim.(*batchv1.Job))).To(BeFalse())
	g.Expect(job.Cache(labels.Everything()).Transform("a tombstone")).To(Equal("a tombstone"))
	g.Expect(job.Kind{}.Cache(labels.Everything())).To(HaveLen(1))
}

func TestKindIdentify(t *testing.T) {
	g := NewWithT(t)
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(migrate(condition("Complete", "True")))
	g.Expect(err).NotTo(HaveOccurred())
	found, err := job.Kind{}.Identify(t.Context(), nil, &unstructured.Unstructured{Object: fields}, "v9", now)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found.Version).To(Equal("v9"))
	g.Expect(found.Run.Complete).To(BeTrue())
	g.Expect(found.Pods).To(Equal(decide.PodsOf{Owner: "job-1", Label: "batch.kubernetes.io/controller-uid", Value: "job-1"}))
	_, err = job.Kind{}.Identify(t.Context(), nil, &unstructured.Unstructured{Object: map[string]any{"spec": "broken"}}, "v9", now)
	g.Expect(err).To(MatchError(ContainSubstring("decoding Job")))
}

// Nothing labels the pods of a Job whose user selects them.
func TestIdentifiedFindsThePodsOfAManualSelector(t *testing.T) {
	for name, row := range map[string]struct {
		selector *metav1.LabelSelector
		want     decide.PodsOf
	}{
		"by a label of it": {&metav1.LabelSelector{MatchLabels: map[string]string{"run": "7", "app": "migrate"}},
			decide.PodsOf{Owner: "job-1", Label: "app", Value: "migrate"}},
		"by their owner where it has none": {&metav1.LabelSelector{}, decide.PodsOf{Owner: "job-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			manual := migrate(condition("Complete", "True"))
			manual.Spec.ManualSelector, manual.Spec.Selector = ptr.To(true), row.selector
			NewWithT(t).Expect(job.Identified(manual, "v9").Pods).To(Equal(row.want))
		})
	}
}
