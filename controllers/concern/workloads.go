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

package concern

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Workloads visits every workload under change control. They are shared with the cache and must not be changed.
func Workloads(ctx context.Context, cache client.Reader, kinds workload.Registry, visit func(workload.Kind, client.Object) error) error {
	for _, kind := range kinds {
		objects, err := index.List(ctx, cache, kind)
		if err != nil {
			return fmt.Errorf("listing %ss: %w", kind.GroupVersionKind().Kind, err)
		}
		controlled := map[string]bool{}
		for _, object := range objects {
			namespace := object.GetNamespace()
			if _, known := controlled[namespace]; !known {
				if controlled[namespace], err = scope.Controlled(ctx, cache, kind, namespace); err != nil {
					return err
				}
			}
			if !controlled[namespace] || !workload.Controls(kind, object) {
				continue
			}
			if err := visit(kind, object); err != nil {
				return err
			}
		}
	}
	return nil
}
