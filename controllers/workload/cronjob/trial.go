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
	"fmt"
	"maps"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/workload/job"
)

// instantiate marks Jobs that don't come from the schedule, as kubectl create job --from=cronjob does.
const instantiate, manual = "cronjob.kubernetes.io/instantiate", "manual"

// Finds out whether the Job of a trial is of a deleted CronJob of the same name.
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get

// Trial returns the Job that kubectl create job --from=cronjob would create, named by the release.
func (k Kind) Trial(cronJob *unstructured.Unstructured, release int64) (*unstructured.Unstructured, error) {
	template, _, err := unstructured.NestedMap(cronJob.Object, "spec", "jobTemplate")
	if err != nil || template["spec"] == nil {
		return nil, fmt.Errorf("reading spec.jobTemplate of CronJob %s/%s: %w", cronJob.GetNamespace(), cronJob.GetName(), err)
	}
	run := &unstructured.Unstructured{Object: map[string]any{"spec": template["spec"]}}
	labels, _, _ := unstructured.NestedStringMap(template, "metadata", "labels")
	annotations, _, _ := unstructured.NestedStringMap(template, "metadata", "annotations")
	annotations = maps.Clone(annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[instantiate] = manual
	run.SetGroupVersionKind(job.Kind{}.GroupVersionKind())
	run.SetNamespace(cronJob.GetNamespace())
	run.SetName(trialName(cronJob.GetName(), release))
	run.SetLabels(labels)
	run.SetAnnotations(annotations)
	run.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "CronJob", Name: cronJob.GetName(), UID: cronJob.GetUID(), Controller: ptr.To(true),
	}})
	return run, nil
}

// trialName returns the name of the Job of a trial.
func trialName(cronJob string, release int64) string {
	return decide.ShortName(fmt.Sprintf("%s-trial-%d", cronJob, release), validation.DNS1123LabelMaxLength)
}
