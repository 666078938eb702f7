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

// Package job implements the kind Job. A Job is one release: its pod template can't be changed.
package job

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Writes the operator's labels and annotations on Jobs, and resumes those that it had suspended at their creation.
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=patch
// Finds out whether a write was refused because the Job has changed.
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get
// Looks whether a Job is still there before its release is recorded or checked again: the cache may lag.
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get
// Makes the Job the owner of its record, where the admission plugin OwnerReferencesPermissionEnforcement asks for this.
// +kubebuilder:rbac:groups=batch,resources=jobs/finalizers,verbs=update

// Kind is the kind Job. Jobs that have a controller, such as those of a CronJob, are left alone.
type Kind struct{ Suspension }

var (
	_ workload.Kind       = Kind{}
	_ workload.Composite  = Kind{}
	_ workload.Identifier = Kind{}
	_ workload.Once       = Kind{}
	_ workload.Pauser     = Kind{}
	_ workload.Reversible = Kind{}
	_ workload.Selective  = Kind{}
)

// GroupVersionKind returns batch/v1 Job.
func (Kind) GroupVersionKind() schema.GroupVersionKind {
	return batchv1.SchemeGroupVersion.WithKind("Job")
}

// Resource returns "jobs".
func (Kind) Resource() string { return "jobs" }

// RecordName returns the name of the Job behind "jobs.".
func (k Kind) RecordName(job string) string { return k.Resource() + "." + job }

// New returns an empty Job.
func (Kind) New() client.Object { return &batchv1.Job{} }

// NewList returns an empty list of Jobs.
func (Kind) NewList() client.ObjectList { return &batchv1.JobList{} }

// TemplatePath returns spec.template.
func (Kind) TemplatePath() []string { return []string{"spec", "template"} }

// Controls reports whether a Job has no controller.
func (Kind) Controls(job metav1.Object) bool { return metav1.GetControllerOfNoCopy(job) == nil }

// Run returns the run that a Job is.
func (Kind) Run(object client.Object) *decide.Run {
	job, ok := object.(*batchv1.Job)
	if !ok {
		return nil
	}
	return RevisionOf(job).Run
}

// Content returns the pod template, without the labels by which a Job finds its pods.
func (k Kind) Content(job map[string]any) workload.Content {
	template := workload.Template(k, job)
	metadata, _ := template["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	metadata, labels = maps.Clone(metadata), maps.Clone(labels)
	for _, key := range []string{"controller-uid", "job-name", batchv1.ControllerUidLabel, batchv1.JobNameLabel} {
		delete(labels, key)
	}
	delete(metadata, "labels")
	if len(labels) > 0 {
		metadata["labels"] = labels
	}
	delete(template, "metadata")
	if len(metadata) > 0 {
		template["metadata"] = metadata
	}
	return workload.TemplateContent(k, template)
}

// IsRelease reports whether a Job is created. Later, only queue controllers change its pod template, of a Job that has yet to start.
func (Kind) IsRelease(old, _ map[string]any) (bool, error) { return old == nil, nil }

// Templates returns the pod template.
func (k Kind) Templates(map[string]any) []string { return []string{workload.TemplatePointer(k)} }

// Restore returns nothing: there is nothing to go back to.
func (Kind) Restore(map[string]any, workload.Content) ([]workload.Operation, error) { return nil, nil }

// MayChange returns false: no update is a release.
func (Kind) MayChange() string { return "false" }

// MayUndo returns false: there is nothing to go back to.
func (Kind) MayUndo() bool { return false }

// Rollout returns how many pods a Job has, and whether it is suspended.
func (Kind) Rollout(object client.Object) decide.Rollout {
	job, ok := object.(*batchv1.Job)
	if !ok {
		return decide.Rollout{}
	}
	return decide.Rollout{
		Desired: PodsOf(&job.Spec), Runs: true,
		Paused: ptr.Deref(job.Spec.Suspend, false), Resume: "set its spec.suspend to false",
	}
}

// PodsOf returns how many pods of a Job are to succeed. A Job without completions is a work queue: each of its pods succeeds.
func PodsOf(spec *batchv1.JobSpec) int32 {
	return ptr.Deref(spec.Completions, ptr.Deref(spec.Parallelism, 1))
}

// Revisions returns the only one of a Job.
func (k Kind) Revisions(_ context.Context, _ client.Reader, object client.Object) ([]decide.Revision, error) {
	job, ok := object.(*batchv1.Job)
	if !ok || !k.Controls(job) {
		return nil, nil
	}
	return []decide.Revision{RevisionOf(job)}, nil
}

// RevisionOf returns the run that a Job is, as a revision.
func RevisionOf(job *batchv1.Job) decide.Revision {
	run := &decide.Run{Name: "Job " + job.Name, Succeeded: job.Status.Succeeded}
	for _, condition := range job.Status.Conditions {
		switch {
		case condition.Status != corev1.ConditionTrue:
		case condition.Type == batchv1.JobComplete:
			run.Complete, run.Ended = true, condition.LastTransitionTime.Time
		case condition.Type == batchv1.JobFailed:
			run.Failure = &decide.Failure{
				Since: condition.LastTransitionTime.Time, Message: run.Name + " failed: " + condition.Reason + ": " + condition.Message,
			}
		}
	}
	return decide.Revision{
		Version: job.Labels[appv1alpha1.LabelVersion],
		Number:  job.CreationTimestamp.Unix(),
		Created: job.CreationTimestamp.Time,
		Pods:    decide.PodsOf{Owner: job.UID},
		Healthy: run.Complete,
		Run:     run,
		Failure: run.Failure,
	}
}

// Identify returns the only revision of a Job.
func (k Kind) Identify(_ context.Context, _ client.Reader, object *unstructured.Unstructured, version string, _ time.Time) (*decide.Revision, error) {
	var job batchv1.Job
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &job); err != nil {
		return nil, fmt.Errorf("decoding Job %s: %w", client.ObjectKeyFromObject(object), err)
	}
	revision := Identified(&job, version)
	return &revision, nil
}

// Identified returns the run that a Job without a version label is, as a revision with a version.
func Identified(job *batchv1.Job, version string) decide.Revision {
	revision := RevisionOf(job)
	revision.Version = version
	revision.Pods.Label, revision.Pods.Value = podLabel(job)
	return revision
}

// podLabel returns a label that each pod of a Job has: where a user selects them, one of the selector, empty if that has none.
func podLabel(job *batchv1.Job) (key, value string) {
	if !ptr.Deref(job.Spec.ManualSelector, false) || job.Spec.Selector == nil {
		return batchv1.ControllerUidLabel, string(job.UID)
	}
	keys := slices.Sorted(maps.Keys(job.Spec.Selector.MatchLabels))
	if len(keys) == 0 {
		return "", ""
	}
	return keys[0], job.Spec.Selector.MatchLabels[keys[0]]
}

// OwnerOf returns the Job of a pod.
func (k Kind) OwnerOf(ctx context.Context, cache client.Reader, pod client.Object) (*workload.Owner, error) {
	job := k.New()
	if found, err := index.Controller(ctx, cache, pod, k.GroupVersionKind(), job); err != nil || !found || !k.Controls(job) {
		return nil, err
	}
	return &workload.Owner{Kind: k, Object: job, Version: job.GetLabels()[appv1alpha1.LabelVersion]}, nil
}

// Suspension pauses a Job, or the schedule of a CronJob, whose Jobs go on: both have a field spec.suspend.
type Suspension struct{}

// Paused reports whether a user or the operator has suspended a workload.
func (Suspension) Paused(object client.Object) bool {
	switch suspended := object.(type) {
	case *batchv1.Job:
		return ptr.Deref(suspended.Spec.Suspend, false)
	case *batchv1.CronJob:
		return ptr.Deref(suspended.Spec.Suspend, false)
	case *unstructured.Unstructured:
		suspend, _, _ := unstructured.NestedBool(suspended.Object, "spec", "suspend")
		return suspend
	}
	return false
}

// Pause sets spec.suspend.
func (Suspension) Pause(client.Object) []workload.Operation {
	return []workload.Operation{{Op: "add", Path: "/spec/suspend", Value: true}}
}

// StartsDormant marks that a Job that is created suspended has no pods, and such a CronJob runs no Job.
func (Suspension) StartsDormant() {}

// Originals returns nothing: only what isn't suspended is suspended.
func (Suspension) Originals(client.Object) string { return "" }

// Resume unsets spec.suspend.
func (Suspension) Resume(client.Object, string) []workload.Operation {
	return []workload.Operation{{Op: "replace", Path: "/spec/suspend", Value: false}}
}
