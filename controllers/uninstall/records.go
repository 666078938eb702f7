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
	"strings"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
)

// releaseTimeout bounds the wait for the API server to delete records without finalizers. Each of its attempts takes up to a minute, and it waits
// twice as long after each that fails: where its storage takes 82 s to be ready, as on a busy disk, the next attempt comes after 164 s.
const releaseTimeout = 6 * time.Minute

// removeRecords removes the CustomResourceDefinitions with all their objects. Those of the ControlledKinds and ChangeFreezes come last: without
// them the operator would end its holds as long as it finds a record, and a failed or parked release would continue.
func (u *Uninstaller) removeRecords(ctx context.Context) error {
	// Without the CRD of its parameters, the API server would refuse the pods that it matches.
	if err := u.removeKinds(ctx, "admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding", "MutatingAdmissionPolicy"); err != nil {
		return err
	}
	runs, err := u.operatorRuns(ctx)
	if err != nil {
		return err
	}
	if err := u.removeDefinitions(ctx, runs, "records", "changeworkloads", "changepods", "opsconfiginfoes", "releasepolicies", "releasegates", "changeapprovals", "changeverdicts", "changerecords", "verificationpolicies", "verificationsources", "changesubscriptions"); err != nil {
		return err
	}
	return u.removeDefinitions(ctx, runs, "ControlledKinds", "controlledkinds", "changefreezes", "breakglasses")
}

// removeDefinitions removes the operator's CustomResourceDefinitions of some resources. A running operator gets time to close the orders
// of its releases at AlterShield Server. After that, or without a running one, the orders stay open there.
func (u *Uninstaller) removeDefinitions(ctx context.Context, runs bool, what string, resources ...string) error {
	kind := schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
	definitions, err := u.remove(ctx, kind, func(name string) bool { // the group may have kinds of others
		resource, group, _ := strings.Cut(name, ".")
		return group == appv1alpha1.GroupVersion.Group && slices.Contains(resources, resource)
	})
	if err != nil || len(definitions) == 0 {
		return err
	}
	if runs {
		fmt.Fprintf(u.out, "waiting up to %s for the operator to release its %s\n", u.Patience, what)
		switch err := u.await(ctx, u.Patience, func(ctx context.Context) (bool, error) { return u.allGone(ctx, definitions) }); {
		case err == nil:
			return nil
		case !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil:
			return err
		}
		fmt.Fprintln(u.out, "the operator didn't release them in time")
	}
	err = u.await(ctx, releaseTimeout, func(ctx context.Context) (bool, error) {
		if _, err := u.removeFinalizers(ctx); err != nil {
			return false, err
		}
		return u.allGone(ctx, definitions)
	})
	if err != nil {
		return fmt.Errorf("waiting for the deletion of the CRDs (run it again; if they stay, look for other finalizers: kubectl get changeworkloads,changepods -A -o yaml): %w%s",
			err, u.remaining(ctx, definitions))
	}
	return nil
}

// remaining returns which of the CustomResourceDefinitions are still there, with what the API server says about their deletion.
func (u *Uninstaller) remaining(ctx context.Context, definitions []*metav1.PartialObjectMetadata) string {
	var text strings.Builder
	for _, definition := range definitions {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := u.client.Get(ctx, client.ObjectKeyFromObject(definition), &crd); err != nil {
			continue // gone, or the reason of the wait itself
		}
		text.WriteString("; " + crd.Name)
		if condition := apihelpers.FindCRDCondition(&crd, apiextensionsv1.Terminating); condition != nil {
			text.WriteString(": " + condition.Message)
		}
	}
	return text.String()
}

// removeFinalizers removes the operator's finalizers from its records and ControlledKinds, and reports whether none is left.
func (u *Uninstaller) removeFinalizers(ctx context.Context) (bool, error) {
	released, err := u.removeFinalizer(ctx, "ChangeWorkload", appv1alpha1.FinalizerOrder, "its order at AlterShield Server, if any, stays open")
	if err != nil {
		return false, err
	}
	ended, err := u.removeFinalizer(ctx, "ControlledKind", appv1alpha1.FinalizerKind,
		"its rollouts that the operator still holds or paces, if any, stay so: see the annotations "+appv1alpha1.AnnotationHeld+" and "+appv1alpha1.AnnotationPaced)
	return released && ended, err
}

// removeFinalizer removes a finalizer from the objects of a kind of the operator, and reports whether none is left.
func (u *Uninstaller) removeFinalizer(ctx context.Context, kind, finalizer, consequence string) (bool, error) {
	found, err := u.list(ctx, appv1alpha1.GroupVersion.WithKind(kind))
	if err != nil {
		return false, err
	}
	done := true
	for _, object := range found {
		before := object.DeepCopy()
		if !controllerutil.RemoveFinalizer(object, finalizer) {
			continue
		}
		name := object.Name
		if object.Namespace != "" {
			name = object.Namespace + "/" + name
		}
		err := u.client.Patch(ctx, object, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		switch {
		case scope.IsConflict(err) || scope.IsGone(err):
			done = false // changed or deleted meanwhile: the next call finds out
			continue
		case err != nil:
			return false, fmt.Errorf("removing the finalizer of %s %s: %w", kind, name, err)
		}
		fmt.Fprintf(u.out, "%s %s: removed its finalizer; %s\n", kind, name, consequence)
	}
	return done, nil
}

func (u *Uninstaller) allGone(ctx context.Context, objects []*metav1.PartialObjectMetadata) (bool, error) {
	for _, object := range objects {
		err := u.client.Get(ctx, client.ObjectKeyFromObject(object), object.DeepCopy())
		if err == nil {
			return false, nil
		}
		if !apierrors.IsNotFound(err) {
			return false, fmt.Errorf("reading %s %s: %w", object.Kind, object.Name, err)
		}
	}
	return true, nil
}
