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

package cronjob

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/job"
)

// scheduled is the content of a CronJob: its pod template, and when it runs.
type scheduled struct{ workload.Kind }

// Fields returns the fields that schedule the Jobs.
func (scheduled) Fields() [][]string {
	return [][]string{{"spec", "schedule"}, {"spec", "timeZone"}, {"spec", "concurrencyPolicy"}}
}

// Content returns the pod template of a CronJob, and when it runs.
func (k Kind) Content(cronJob map[string]any) workload.Content {
	return workload.ContentOf(scheduled{k}, cronJob)
}

// IsRelease reports whether an update changes the content.
func (k Kind) IsRelease(old, updated map[string]any) (bool, error) {
	return workload.IsRelease(scheduled{k}, old, updated)
}

// jobTemplate is the JSON pointer of the template of the Jobs.
const jobTemplate = "/spec/jobTemplate"

// Templates returns the pod template, and that of the Jobs if it has labels. A Job without labels gets those of its pod template.
func (k Kind) Templates(cronJob map[string]any) []string {
	pointers := []string{workload.TemplatePointer(k)}
	if labels, _, _ := unstructured.NestedMap(cronJob, "spec", "jobTemplate", "metadata", "labels"); len(labels) > 0 {
		pointers = append(pointers, jobTemplate)
	}
	return pointers
}

// Restore returns the operations that restore a kept content.
func (k Kind) Restore(cronJob map[string]any, kept workload.Content) ([]workload.Operation, error) {
	return workload.Restore(scheduled{k}, cronJob, kept)
}

// MayChange compares the fields of the content, and the labels of the Jobs: the first one brings the version.
func (k Kind) MayChange() string {
	const labels = ".spec.jobTemplate.?metadata.?labels"
	return workload.MayChange(scheduled{k}) + " || object" + labels + " != oldObject" + labels
}

// Confirms that the Job of a release is stuck before it is rolled back: the cache may be behind.
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=list

// History returns the Jobs by which releases were judged. They have no schedule, so that only a kept release can be gone back to.
func (k Kind) History(ctx context.Context, live client.Reader, cronJob client.Object) ([]decide.Revision, error) {
	runs, err := runsIn(ctx, live, cronJob, job.RevisionOf, client.HasLabels{appv1alpha1.LabelVersion})
	if err != nil {
		return nil, err
	}
	return runsOf(cronJob, runs), nil
}

// runsIn lists the Jobs that a CronJob controls, as revisions.
func runsIn(
	ctx context.Context, live client.Reader, cronJob client.Object, revisionOf func(*batchv1.Job) decide.Revision, options ...client.ListOption,
) ([]decide.Revision, error) {
	var list batchv1.JobList
	if err := live.List(ctx, &list, append(options, client.InNamespace(cronJob.GetNamespace()))...); err != nil {
		return nil, fmt.Errorf("listing the Jobs of CronJob %s/%s: %w", cronJob.GetNamespace(), cronJob.GetName(), err)
	}
	var runs []decide.Revision
	for i := range list.Items {
		if metav1.IsControlledBy(&list.Items[i], cronJob) {
			runs = append(runs, revisionOf(&list.Items[i]))
		}
	}
	return runs, nil
}

// Orphans returns none: a CronJob adopts no Jobs.
func (Kind) Orphans(context.Context, client.Reader, client.Object, string) ([]decide.Revision, error) {
	return nil, nil
}

// Finds the Jobs of an observed release, which have no version label.
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=list

// Identify returns the Job by which a release is judged that began at a time.
func (Kind) Identify(
	ctx context.Context, live client.Reader, cronJob *unstructured.Unstructured, version string, since time.Time,
) (*decide.Revision, error) {
	runs, err := runsIn(ctx, live, cronJob, func(run *batchv1.Job) decide.Revision { return job.Identified(run, version) })
	if err != nil {
		return nil, err
	}
	if runs = decide.RunsOf(runs, decide.Release{Version: version}, since); len(runs) == 0 {
		return nil, nil
	}
	return &runs[0], nil
}
