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

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/platform/podgate"
	"github.com/traas-stack/altershield-operator/controllers/platform/workloadpatch"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// letGo restores what the operator changed to roll out releases in steps, or to park them, and opens the gates of their pods: without the
// operator, nothing else would. Rollouts of releases that failed stay held. For a moment the API server adds gates to new pods although the policies
// are gone, so also to those of a rollout that has just been resumed: the end is when no gate is closed a while after that.
func (u *Uninstaller) letGo(ctx context.Context) error {
	var denied error
	err := u.await(ctx, freeTimeout, func(ctx context.Context) (bool, error) {
		begun := u.clock.Now()
		free, refused, err := u.free(ctx)
		if err != nil {
			return false, err
		}
		open, closed, err := u.openGates(ctx)
		denied = errors.Join(refused, closed)
		return free && open && !begun.Before(u.quiet), err
	})
	return errors.Join(err, denied)
}

// free ends the paces of all releases and the waits of parked ones, and reports whether it could: a workload that is changed meanwhile is left
// for the next attempt. So is one that can't be changed, as while the API server calls the webhooks that are gone: denied is the error.
func (u *Uninstaller) free(ctx context.Context) (free bool, denied, err error) {
	free = true
	for _, kind := range u.kinds {
		found, err := index.List(ctx, u.client, kind)
		if err != nil {
			return false, nil, fmt.Errorf("listing %ss: %w", kind.GroupVersionKind().Kind, err)
		}
		for _, object := range found {
			change := freeing(kind, object)
			if change.IsEmpty() {
				continue
			}
			written, err := workloadpatch.Apply(ctx, u.client, u.client, kind, object, change)
			if err != nil { // it must not keep others held
				free, denied = false, err
				continue
			}
			if free = free && written; written {
				u.wrote()
				fmt.Fprintf(u.out, "%s %s: %s\n", kind.GroupVersionKind().Kind, client.ObjectKeyFromObject(object), freed(object))
			}
		}
	}
	return free, denied, nil
}

// freed describes what follows from the end of the pace of a release.
func freed(object client.Object) string {
	if workloadpatch.IsHeld(object) {
		return "its steps have ended; its rollout stays paused"
	}
	return "its release is rolled out at once"
}

// freeing returns the change that ends the pace of the present release of a workload, and its wait for the end of a freeze. A release that
// failed stays held, also one that a freeze holds: that protects the users of the workload.
func freeing(kind workload.Kind, object client.Object) workloadpatch.Change {
	release := decide.ReleaseOf(object).Number
	failed := has(object.GetLabels(), appv1alpha1.LabelSuspend) || has(object.GetAnnotations(), appv1alpha1.AnnotationParked) ||
		has(object.GetAnnotations(), appv1alpha1.AnnotationRefused)
	if appv1alpha1.FrozenOf(object.GetAnnotations(), release) != nil && !failed {
		return workloadpatch.LetGo(kind, object)
	}
	return workloadpatch.Change{Unpace: appv1alpha1.PacedOf(object.GetAnnotations(), release) != nil}
}

// openGates opens the gates of all pods, and reports whether none was closed. For a moment the API server still denies that, until it notices that
// the policies are gone; a pod may also change meanwhile. Denied is the answer, and the next attempt may pass.
func (u *Uninstaller) openGates(ctx context.Context) (open bool, denied, err error) {
	var pods corev1.PodList
	if err := u.client.List(ctx, &pods, client.HasLabels{appv1alpha1.LabelGate}); err != nil {
		return false, nil, fmt.Errorf("listing the pods with gates: %w", err)
	}
	closed := slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool {
		return pod.DeletionTimestamp != nil || decide.Gated(&pod) == decide.GateOpen
	})
	for i := range closed {
		u.wrote()
		if err := podgate.Open(ctx, u.client, &closed[i], "the operator was removed", u.clock.Now()); err != nil { // it must not keep others closed
			denied = err
		}
	}
	return len(closed) == 0, denied, nil
}
