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

// Package cronjob implements the kind CronJob. A release of it takes effect at the next run: it is checked by the first Job that begins after it.
package cronjob

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/job"
)

// Writes the operator's labels and annotations on CronJobs, and suspends the schedule of a failed release, or during its trial.
// +kubebuilder:rbac:groups=batch,resources=cronjobs,verbs=patch
// Sets a CronJob back to an earlier release.
// +kubebuilder:rbac:groups=batch,resources=cronjobs,verbs=patch
// Finds out whether a write was refused because the CronJob has moved on.
// +kubebuilder:rbac:groups=batch,resources=cronjobs,verbs=get
// Reads a CronJob whole, to keep its release, to roll it back, or to try it: the cache holds no templates.
// +kubebuilder:rbac:groups=batch,resources=cronjobs,verbs=get
// Looks whether a CronJob is still there before its release is recorded or checked again: the cache may lag.
// +kubebuilder:rbac:groups=batch,resources=cronjobs,verbs=get
// Reads which release a rollback on request is to leave.
// +kubebuilder:rbac:groups=batch,resources=cronjobs,verbs=get
// Makes the CronJob the owner of its record and of its kept releases, where the admission plugin OwnerReferencesPermissionEnforcement
// asks for this.
// +kubebuilder:rbac:groups=batch,resources=cronjobs/finalizers,verbs=update

// Kind is the kind CronJob. Its revisions are Jobs.
type Kind struct{ job.Suspension }

var (
	_ workload.Kind       = Kind{}
	_ workload.Composite  = Kind{}
	_ workload.Identifier = Kind{}
	_ workload.Layered    = Kind{}
	_ workload.Pauser     = Kind{}
	_ workload.Restorer   = Kind{}
	_ workload.Trier      = Kind{}
)

// GroupVersionKind returns batch/v1 CronJob.
func (Kind) GroupVersionKind() schema.GroupVersionKind {
	return batchv1.SchemeGroupVersion.WithKind("CronJob")
}

// Resource returns "cronjobs".
func (Kind) Resource() string { return "cronjobs" }

// RecordName returns the name of the CronJob behind "cronjobs.".
func (k Kind) RecordName(cronJob string) string { return k.Resource() + "." + cronJob }

// New returns an empty CronJob.
func (Kind) New() client.Object { return &batchv1.CronJob{} }

// NewList returns an empty list of CronJobs.
func (Kind) NewList() client.ObjectList { return &batchv1.CronJobList{} }

// TemplatePath returns spec.jobTemplate.spec.template.
func (Kind) TemplatePath() []string { return []string{"spec", "jobTemplate", "spec", "template"} }

// Layer returns an empty Job.
func (Kind) Layer() client.Object { return &batchv1.Job{} }

// Rollout returns how many pods a Job of a CronJob has, whether the schedule is suspended, and which Job keeps the next one from beginning.
func (Kind) Rollout(object client.Object) decide.Rollout {
	cronJob, ok := object.(*batchv1.CronJob)
	if !ok {
		return decide.Rollout{}
	}
	rollout := decide.Rollout{
		Desired: job.PodsOf(&cronJob.Spec.JobTemplate.Spec), Runs: true, Recurs: true,
		Paused: ptr.Deref(cronJob.Spec.Suspend, false), Resume: "set its spec.suspend to false",
	}
	if active := cronJob.Status.Active; len(active) > 0 && cronJob.Spec.ConcurrencyPolicy == batchv1.ForbidConcurrent {
		rollout.Blocker = "Job " + active[0].Name
	}
	return rollout
}

// Revision returns a Job as a revision.
func (Kind) Revision(object client.Object) decide.Revision {
	run, ok := object.(*batchv1.Job)
	if !ok {
		return decide.Revision{}
	}
	return job.RevisionOf(run)
}

// Revisions returns one Job of each version: that by which the release is judged, and those of earlier releases.
func (k Kind) Revisions(ctx context.Context, cache client.Reader, cronJob client.Object) ([]decide.Revision, error) {
	var list batchv1.JobList
	if err := index.Owned(ctx, cache, &list, cronJob.GetNamespace(), cronJob.GetUID()); err != nil {
		return nil, err
	}
	runs := make([]decide.Revision, 0, len(list.Items))
	for i := range list.Items {
		runs = append(runs, job.RevisionOf(&list.Items[i]))
	}
	return runsOf(cronJob, runs), nil
}

// runsOf returns the run of each version. A release began before its trial, whatever the clock of the webhook says that recorded its time.
func runsOf(cronJob client.Object, runs []decide.Revision) []decide.Revision {
	release, since := decide.ReleaseOf(cronJob), time.Time{}
	if record, found := appv1alpha1.ReleaseRecordOf(cronJob.GetAnnotations()); found && record.Release == release.Number {
		since = record.Time.Time
	}
	trial := "Job " + trialName(cronJob.GetName(), release.Number)
	for i := range runs {
		if run := &runs[i]; run.Run.Name == trial && run.Version == release.Version && run.Created.Before(since) {
			since = run.Created
		}
	}
	return decide.RunsOf(runs, release, since)
}

// OwnerOf returns the CronJob of a Job or of a pod of a Job.
func (k Kind) OwnerOf(ctx context.Context, cache client.Reader, object client.Object) (*workload.Owner, error) {
	if pod, isPod := object.(*corev1.Pod); isPod {
		run := &batchv1.Job{}
		found, err := index.Controller(ctx, cache, pod, job.Kind{}.GroupVersionKind(), run)
		if err != nil || !found {
			return nil, err
		}
		object = run
	}
	return index.OwnerOf(ctx, cache, k, object)
}
