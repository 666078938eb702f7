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
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/workload/job"
)

// Fills the cache with the CronJobs under change control.
// +kubebuilder:rbac:groups=batch,resources=cronjobs,verbs=list;watch

// Cache holds CronJobs and Jobs that carry a version, and of those only what is read.
func (Kind) Cache(stamped labels.Selector) map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&batchv1.CronJob{}: {Label: stamped, Transform: scope.Transform(slim)},
		&batchv1.Job{}:     job.Cache(stamped),
	}
}

func slim(cronJob *batchv1.CronJob) *batchv1.CronJob {
	slim := &batchv1.CronJob{ObjectMeta: scope.SlimWorkloadMeta(cronJob.ObjectMeta)}
	slim.Spec.Suspend = cronJob.Spec.Suspend
	slim.Spec.ConcurrencyPolicy = cronJob.Spec.ConcurrencyPolicy
	for _, run := range cronJob.Status.Active {
		slim.Status.Active = append(slim.Status.Active, corev1.ObjectReference{Name: run.Name})
	}
	slim.Spec.JobTemplate.Spec.Parallelism = cronJob.Spec.JobTemplate.Spec.Parallelism
	slim.Spec.JobTemplate.Spec.Completions = cronJob.Spec.JobTemplate.Spec.Completions
	return slim
}
