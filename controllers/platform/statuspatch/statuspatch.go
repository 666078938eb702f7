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

// Package statuspatch writes the status of an object of which nothing else is written.
package statuspatch

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
)

// Write writes the status of an object, which differs from before, a copy of the object as it was read, in nothing else. It writes nothing
// if the status didn't change. An object that is gone by then is no error.
func Write(ctx context.Context, to client.Client, before, object client.Object) error {
	if equality.Semantic.DeepEqual(before, object) {
		return nil
	}
	if err := to.Status().Patch(ctx, object, client.MergeFrom(before)); scope.IgnoreGone(err) != nil {
		kind, _ := to.GroupVersionKindFor(object) // the scheme has the kind: the patch has been sent
		return fmt.Errorf("writing the status of %s %s: %w", kind.Kind, client.ObjectKeyFromObject(object), err)
	}
	return nil
}
