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

package plugin

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/plugin"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
)

// Reads whether the script of a check has ended.
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get
// Finds the Jobs that checks of earlier releases left.
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=list
// Reads with which exit code the script of a check has ended, or why it can't run.
// +kubebuilder:rbac:groups="",resources=pods,verbs=list

// run runs a script: the first look at a release creates the Job, and the others read it. A Job that was deleted before it was read is created
// again.
func (a *Asker) run(ctx context.Context, release *checks.Scene, asked *plugin.Question) (plugin.Answer, error) {
	var job batchv1.Job
	key := types.NamespacedName{Namespace: release.Namespace, Name: asked.Run.Name}
	what := fmt.Sprintf("Job %s in namespace %s", key.Name, key.Namespace)
	err := a.Live.Get(ctx, key, &job)
	switch {
	case apierrors.IsNotFound(err) && asked.Last:
		return plugin.Answer{Verdict: appv1alpha1.CheckInconclusive, Reason: plugin.ReasonNotAsked, Message: "the check ended before " + what + " was created"}, nil
	case apierrors.IsNotFound(err):
		return a.create(ctx, release, asked)
	case err != nil:
		return a.refused(ctx, "reading "+what, err)
	}
	if owner := metav1.GetControllerOfNoCopy(&job); owner == nil || owner.UID != asked.Run.UID {
		return plugin.Broken(plugin.ReasonJobDenied, what+" was not created by the operator: delete it"), nil
	}
	var pods corev1.PodList
	if err := a.Live.List(ctx, &pods, client.InNamespace(job.Namespace), client.MatchingLabels{batchv1.JobNameLabel: job.Name}); err != nil {
		return a.refused(ctx, "listing the pods of "+what, err)
	}
	return plugin.OfJob(&job, pods.Items, asked.Until), nil
}

// create creates the Job of a check, in place of those of earlier releases.
func (a *Asker) create(ctx context.Context, release *checks.Scene, asked *plugin.Question) (plugin.Answer, error) {
	job := plugin.Job(release, asked)
	what := fmt.Sprintf("Job %s in namespace %s", job.Name, job.Namespace)
	if err := a.removeEarlier(ctx, job); err != nil {
		return a.refused(ctx, "deleting the Jobs of earlier releases before "+what, err)
	}
	if err := a.Jobs.Create(ctx, job); err != nil && !apierrors.IsAlreadyExists(err) { // then the next look reads it
		return a.refused(ctx, "creating "+what, err)
	}
	return plugin.OfJob(job, nil, asked.Until), nil
}

// removeEarlier deletes the Jobs that checks of other releases of the workload left, but none of a later release: the question about this one may be
// out of date.
func (a *Asker) removeEarlier(ctx context.Context, job *batchv1.Job) error {
	var earlier metav1.PartialObjectMetadataList
	earlier.SetGroupVersionKind(batchv1.SchemeGroupVersion.WithKind("JobList"))
	of := client.MatchingLabels{}
	for _, key := range []string{appv1alpha1.LabelDeploymentName, appv1alpha1.LabelWorkload} {
		if name, found := job.Labels[key]; found {
			of[key] = name
		}
	}
	if len(of) == 0 { // or they would be those of all workloads
		return nil
	}
	if err := a.Live.List(ctx, &earlier, client.InNamespace(job.Namespace), of, client.HasLabels{appv1alpha1.LabelCheckOf}); err != nil {
		return fmt.Errorf("listing them: %w", err)
	}
	for i := range earlier.Items {
		old := &earlier.Items[i]
		release, other := job.Labels[appv1alpha1.LabelCheckOf], old.Labels[appv1alpha1.LabelCheckOf]
		if other == release || numberOf(other) > numberOf(release) {
			continue
		}
		err := a.Jobs.Delete(ctx, old, client.PropagationPolicy(metav1.DeletePropagationBackground), client.Preconditions{UID: &old.UID})
		if scope.IgnoreGone(err) != nil {
			return fmt.Errorf("deleting Job %s: %w", old.Name, err)
		}
	}
	return nil
}

// numberOf returns the number of the release in a value of LabelCheckOf, 0 if there is none.
func numberOf(checkOf string) int64 {
	number, err := strconv.ParseInt(checkOf[strings.LastIndex(checkOf, ".")+1:], 10, 64)
	if err != nil {
		return 0
	}
	return number
}

// refused returns the answer to a question that the API server didn't let the operator ask.
func (a *Asker) refused(ctx context.Context, doing string, err error) (plugin.Answer, error) {
	switch {
	case ctx.Err() != nil:
		return plugin.Answer{}, fmt.Errorf("%s: %w", doing, err)
	case scope.LacksPermission(err):
		return plugin.Broken(appv1alpha1.ReasonPermissionMissing, scope.JobCreation), nil
	case scope.IsDenied(err):
		return plugin.Broken(plugin.ReasonJobDenied, fmt.Sprintf("%s: %v", doing, err)), nil
	default:
		return plugin.Broken(plugin.ReasonReadFailed, fmt.Sprintf("%s: %v", doing, err)), nil
	}
}
