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

package controlledkind

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// introduce creates the ControlledKind of each built-in kind once: one that a user deletes stays deleted. The names of those that were
// created are kept on the mutating webhook configuration of the kinds; without it, none is created.
func (r *Reconciler) introduce(ctx context.Context) error {
	var configuration admissionregistrationv1.MutatingWebhookConfiguration
	if found, err := read(ctx, r.Client, kindsMutating, &configuration); err != nil || !found || len(r.unknown(&configuration)) == 0 {
		return err
	}
	if found, err := read(ctx, r.Live, kindsMutating, &configuration); err != nil || !found {
		return err
	}
	kinds := r.unknown(&configuration)
	if len(kinds) == 0 {
		return nil
	}
	var record appv1alpha1.ChangeWorkloadList
	if err := r.Live.List(ctx, &record, client.Limit(1)); err != nil {
		return fmt.Errorf("looking for releases of an earlier installation: %w", err)
	}
	names := introduced(&configuration)
	for _, kind := range kinds {
		name := workload.ControlledKindName(kind)
		if err := r.create(ctx, name, firstMode(kind, len(record.Items) == 0)); err != nil {
			return err
		}
		names = append(names, name)
	}
	metav1.SetMetaDataAnnotation(&configuration.ObjectMeta, appv1alpha1.AnnotationBuiltInKinds, strings.Join(names, ","))
	if err := r.Client.Update(ctx, &configuration); err != nil {
		return fmt.Errorf("remembering in MutatingWebhookConfiguration %s which ControlledKinds were created: %w", kindsMutating, err)
	}
	return nil
}

// firstMode returns the mode in which a built-in kind begins. Releases that a new version of the operator could control are left alone
// until a user asks for it.
func firstMode(kind workload.Kind, isNew bool) appv1alpha1.ControlledKindMode {
	if isNew || workload.AlwaysAdmitted(kind) {
		return appv1alpha1.ModeEnforce
	}
	return appv1alpha1.ModeObserve
}

func (r *Reconciler) create(ctx context.Context, name string, mode appv1alpha1.ControlledKindMode) error {
	created := &appv1alpha1.ControlledKind{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       appv1alpha1.ControlledKindSpec{BuiltIn: true, Mode: mode},
	}
	err := r.Client.Create(ctx, created)
	if apierrors.IsAlreadyExists(err) { // by a user, or by a process that ended before it remembered this
		return nil
	}
	if err != nil {
		return fmt.Errorf("creating ControlledKind %s: %w", name, err)
	}
	ctrl.LoggerFrom(ctx).Info("Created the ControlledKind of a built-in kind", "controlledKind", name, "mode", mode)
	return nil
}

// introduced returns the names of the ControlledKinds that were created.
func introduced(configuration *admissionregistrationv1.MutatingWebhookConfiguration) []string {
	return strings.FieldsFunc(configuration.Annotations[appv1alpha1.AnnotationBuiltInKinds], func(r rune) bool { return r == ',' })
}

// unknown returns the built-in kinds whose ControlledKinds were never created.
func (r *Reconciler) unknown(configuration *admissionregistrationv1.MutatingWebhookConfiguration) []workload.Kind {
	known := introduced(configuration)
	return slices.DeleteFunc(slices.Clone(r.Kinds), func(kind workload.Kind) bool {
		return slices.Contains(known, workload.ControlledKindName(kind))
	})
}

// read reads a webhook configuration, and reports whether it exists.
func read(ctx context.Context, reader client.Reader, name string, object client.Object) (bool, error) {
	err := reader.Get(ctx, client.ObjectKey{Name: name}, object)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading webhook configuration %s: %w", name, err)
	}
	return true, nil
}
