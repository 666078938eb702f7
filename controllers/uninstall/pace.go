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

package uninstall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/platform/podgate"
	"github.com/traas-stack/altershield-operator/controllers/platform/workloadpatch"
)

// endPaces restores what the operator changed to roll out releases in steps, and opens the gates of their pods: without the operator, nothing
// else would. Rollouts that are held stay so.
func (u *Uninstaller) endPaces(ctx context.Context) error {
	var denied error
	err := u.await(ctx, gatesTimeout, func(ctx context.Context) (bool, error) {
		unpaced, err := u.unpace(ctx)
		if err != nil {
			return false, err
		}
		var open bool
		open, denied, err = u.openGates(ctx)
		return unpaced && open, err
	})
	return errors.Join(err, denied)
}

// unpace ends the paces of all releases, and reports whether it could: a workload that is changed meanwhile is left for the next attempt.
func (u *Uninstaller) unpace(ctx context.Context) (unpaced bool, err error) {
	unpaced = true
	for _, kind := range u.kinds {
		found, err := index.List(ctx, u.client, kind)
		if err != nil {
			return false, fmt.Errorf("listing %ss: %w", kind.GroupVersionKind().Kind, err)
		}
		for _, object := range found {
			if appv1alpha1.PacedOf(object.GetAnnotations(), decide.ReleaseOf(object).Number) == nil {
				continue
			}
			written, err := workloadpatch.Apply(ctx, u.client, u.client, kind, object, workloadpatch.Change{Unpace: true})
			if err != nil {
				return false, err
			}
			if unpaced = unpaced && written; written {
				fmt.Fprintf(u.out, "%s %s: its release is rolled out at once\n", kind.GroupVersionKind().Kind, client.ObjectKeyFromObject(object))
			}
		}
	}
	return unpaced, nil
}

// openGates opens the gates of all pods, and reports whether none was closed. For a moment the API server still denies that, and adds gates to new
// pods, until it notices that the policies are gone: denied is its answer.
func (u *Uninstaller) openGates(ctx context.Context) (open bool, denied, err error) {
	var pods corev1.PodList
	if err := u.client.List(ctx, &pods, client.HasLabels{appv1alpha1.LabelGate}); err != nil {
		return false, nil, fmt.Errorf("listing the pods with gates: %w", err)
	}
	closed := slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool {
		return pod.DeletionTimestamp != nil || decide.Gated(&pod) == decide.GateOpen
	})
	var failed []error
	for i := range closed {
		err := podgate.Open(ctx, u.client, &closed[i], "the operator was removed", time.Now())
		if apierrors.IsForbidden(err) {
			denied = err
			continue
		}
		failed = append(failed, err)
	}
	return len(closed) == 0, denied, errors.Join(failed...)
}
