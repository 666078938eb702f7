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

package lab

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Workload is a workload of any kind, with what its users do and see.
type Workload struct {
	Lab  *Lab
	Kind schema.GroupVersionKind
	client.ObjectKey
	// Patience is how long a state may take to be reached.
	Patience time.Duration
}

// Seen is a workload as it was seen, with the record of its newest release.
type Seen struct {
	*unstructured.Unstructured
	Record *appv1alpha1.ChangeWorkload
}

// Present returns the workload as it is now, without a record.
func (w *Workload) Present(ctx context.Context) (*unstructured.Unstructured, error) {
	return w.Lab.Object(ctx, w.Kind, w.Namespace, w.Name)
}

// Now returns the workload as it is now, with the record of its newest release.
func (w *Workload) Now(ctx context.Context) (Seen, error) {
	present, err := w.Present(ctx)
	if err != nil {
		return Seen{}, err
	}
	record, err := w.Lab.NewestRecord(ctx, present)
	return Seen{present, record}, err
}

// Awaits waits until something holds for the workload and the record of its newest release.
func (w *Workload) Awaits(ctx context.Context, what string, holds func(context.Context, Seen) error) error {
	return Until(ctx, w.Patience, what, func(ctx context.Context) error {
		now, err := w.Now(ctx)
		if err != nil {
			return err
		}
		return holds(ctx, now)
	})
}

// Patch changes the workload like kubectl patch --type=merge.
func (w *Workload) Patch(ctx context.Context, content string) error {
	return w.Lab.Patch(ctx, w.Kind, w.Namespace, w.Name, content)
}

// Judge sets the verdict on the first batch of the newest release as a user does by hand, once its check has ended.
func (w *Workload) Judge(ctx context.Context, verdict appv1alpha1.Verdict) error {
	return w.Awaits(ctx, "a batch whose check has ended", func(ctx context.Context, now Seen) error {
		return JudgeBatch(ctx, w.Lab.Kube, now.Record, 1, verdict, "by hand")
	})
}
