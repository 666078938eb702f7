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

package workload

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// alwaysAdmitted is the ControlledKind of the kind whose webhooks are installed with the operator, so that it is under change control
// without a ControlledKind, too.
const alwaysAdmitted = "deployments.apps"

// ControlledKindName returns the name of the ControlledKind of a kind, such as statefulsets.apps.
func ControlledKindName(kind Kind) string {
	return kind.Resource() + "." + kind.GroupVersionKind().Group
}

// AlwaysAdmitted reports whether the webhooks of a kind are installed with the operator, in webhook configurations of their own.
func AlwaysAdmitted(kind Kind) bool { return ControlledKindName(kind) == alwaysAdmitted }

// OfControlledKind returns the kind of a ControlledKind with this name; nil if it isn't one of the registry.
func (r Registry) OfControlledKind(name string) Kind {
	for _, kind := range r {
		if ControlledKindName(kind) == name {
			return kind
		}
	}
	return nil
}

// Mode returns the mode of a kind, empty where it is neither enforced nor observed. Without a ControlledKind, Deployments alone are enforced.
func Mode(ctx context.Context, reader client.Reader, kind Kind) (appv1alpha1.ControlledKindMode, error) {
	var controlled appv1alpha1.ControlledKind
	err := reader.Get(ctx, client.ObjectKey{Name: ControlledKindName(kind)}, &controlled,
		client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	if apierrors.IsNotFound(err) && AlwaysAdmitted(kind) {
		return appv1alpha1.ModeEnforce, nil
	}
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("reading ControlledKind %s: %w", ControlledKindName(kind), err)
	}
	return ModeOf(&controlled), nil
}

// ModeOf returns the mode of a ControlledKind, empty once it is deleted.
func ModeOf(controlled *appv1alpha1.ControlledKind) appv1alpha1.ControlledKindMode {
	if controlled.DeletionTimestamp != nil {
		return ""
	}
	return controlled.Spec.Mode
}

// Enforced reports whether the mode of a kind is Enforce.
func Enforced(ctx context.Context, reader client.Reader, kind Kind) (bool, error) {
	mode, err := Mode(ctx, reader, kind)
	return mode == appv1alpha1.ModeEnforce, err
}

// IsEnforced reports whether the mode of a ControlledKind is Enforce, until it is deleted.
func IsEnforced(controlled *appv1alpha1.ControlledKind) bool {
	return ModeOf(controlled) == appv1alpha1.ModeEnforce
}

// IsObserved reports whether the mode of a ControlledKind is Observe, until it is deleted.
func IsObserved(controlled *appv1alpha1.ControlledKind) bool {
	return ModeOf(controlled) == appv1alpha1.ModeObserve
}
