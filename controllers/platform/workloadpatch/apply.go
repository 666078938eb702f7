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

// Package workloadpatch patches the operator's labels, annotations and pause on workloads.
package workloadpatch

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Apply makes the change if the workload is still the object that was read, at the same release. Otherwise written is false, and the
// next event of the workload brings the next decision. The patch tests UID and release, not the resourceVersion, which each status
// update of a rollout changes. A patch that the API server rejects for another reason is an error; a live read distinguishes the two,
// as the responses are alike.
func Apply(ctx context.Context, writer client.Writer, live client.Reader, kind workload.Kind, object client.Object, change Change) (written bool, err error) {
	name, key := kind.GroupVersionKind().Kind, client.ObjectKeyFromObject(object)
	patch, err := json.Marshal(change.operations(object, kind))
	if err != nil {
		return false, fmt.Errorf("building the patch of %s %s: %w", name, key, err)
	}
	target := kind.New()
	target.SetNamespace(key.Namespace)
	target.SetName(key.Name)
	err = writer.Patch(ctx, target, client.RawPatch(types.JSONPatchType, patch))
	switch {
	case err == nil:
		return true, nil
	case scope.IsGone(err):
		return false, nil
	}
	refused := fmt.Errorf("patching %s %s: %w", name, key, err)
	if !apierrors.IsInvalid(err) {
		return false, refused
	}
	current := kind.New()
	if err := live.Get(ctx, key, current); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	if change.movedOn(object, current) {
		return false, nil
	}
	if change.isMadeIn(current, kind) {
		return true, nil
	}
	return false, refused
}
