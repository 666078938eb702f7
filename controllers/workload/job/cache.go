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

package job

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
)

// Fills the cache with the Jobs under change control, and with those of CronJobs under change control.
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=list;watch

// Cache holds Jobs that carry a version.
func (Kind) Cache(stamped labels.Selector) map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{&batchv1.Job{}: Cache(stamped)}
}

// Cache holds Jobs that carry a version, and of those only what is read. It is the same for the Jobs of CronJobs.
func Cache(stamped labels.Selector) cache.ByObject {
	return cache.ByObject{Label: stamped, Transform: scope.Transform(slim)}
}

func slim(job *batchv1.Job) *batchv1.Job {
	slim := &batchv1.Job{ObjectMeta: scope.SlimWorkloadMeta(job.ObjectMeta)}
	slim.Spec.Parallelism = job.Spec.Parallelism
	slim.Spec.Completions = job.Spec.Completions
	slim.Spec.Suspend = job.Spec.Suspend
	slim.Status.Succeeded = job.Status.Succeeded
	for _, condition := range job.Status.Conditions {
		if condition.Status == corev1.ConditionTrue && (condition.Type == batchv1.JobComplete || condition.Type == batchv1.JobFailed) {
			slim.Status.Conditions = append(slim.Status.Conditions, condition)
		}
	}
	return slim
}
