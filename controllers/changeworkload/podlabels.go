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

package changeworkload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Sets the version label of pods that are told apart by a label of their controller.
// +kubebuilder:rbac:groups="",resources=pods,verbs=patch

// observeUnlabelled lists the pods of a release on the API server that lack its version label, where the operator sets it. The cache holds only pods
// that have one, so no event shows the others.
func (r *Reconciler) observeUnlabelled(ctx context.Context, record *appv1alpha1.ChangeWorkload, result *scene) error {
	kind, ok := result.kind.(workload.Labelled)
	owner, untyped := result.owner.(*unstructured.Unstructured)
	if !ok || !untyped || !kind.LabelsPods() || !result.OptedIn || decide.IsSettled(record) {
		return nil
	}
	if r.untilList(record) == 0 {
		pods, err := r.identify(ctx, kind, owner, record)
		if err != nil {
			return err
		}
		r.lists.Add(recordOf(record), lastList{r.Clock.Now(), len(pods)})
		result.unlabelled = slices.DeleteFunc(pods, func(pod corev1.Pod) bool { return pod.Labels[appv1alpha1.LabelVersion] == record.Spec.Reversion })
	}
	result.finishing = decide.Sooner(result.finishing, max(r.untilList(record), decide.LookInterval(record, r.Clock.Now())))
	return nil
}

// identify lists the pods of a release on the API server, by the label of their controller.
func (r *Reconciler) identify(
	ctx context.Context, kind workload.Identifier, owner *unstructured.Unstructured, record *appv1alpha1.ChangeWorkload,
) ([]corev1.Pod, error) {
	revision, err := kind.Identify(ctx, r.Live, owner, record.Spec.Reversion, time.Unix(record.Spec.CreateTimeUnix, 0))
	if err != nil || revision == nil {
		return nil, err
	}
	return index.LivePodsOf(ctx, r.Live, record.Namespace, revision.Pods)
}

// labelPods sets the version label of pods of a release, which then appear in the cache. One whose name another pod has by now is left alone.
func (r *Reconciler) labelPods(ctx context.Context, record *appv1alpha1.ChangeWorkload, scene *scene) error {
	var failed []error
	for i := range scene.unlabelled {
		pod := &scene.unlabelled[i]
		label := fmt.Appendf(nil, `{"metadata":{"uid":%q,"labels":{%q:%q}}}`, pod.UID, appv1alpha1.LabelVersion, record.Spec.Reversion)
		named := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
		err := r.Client.Patch(ctx, named, client.RawPatch(types.MergePatchType, label), client.DisableReadYourWritesConsistency)
		if scope.IgnoreGone(err) != nil && !scope.IsConflict(err) {
			failed = append(failed, fmt.Errorf("setting the version label of pod %s/%s: %w", pod.Namespace, pod.Name, err))
		}
	}
	return errors.Join(failed...)
}
