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
	"encoding/json"
	"fmt"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	review "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/declared"
)

// Validator denies ControlledKinds with a path or an expression that can't be compiled. It admits what it can't check, with a warning: the
// Catalog checks it too, and the condition Ready shows the result.
type Validator struct {
	// Kinds are the built-in kinds.
	Kinds workload.Registry
	// Live reads CustomResourceDefinitions, at a limited rate.
	Live     client.Reader
	Compiler *declared.Compiler
}

// Handle admits or denies a ControlledKind that is created or updated.
func (v *Validator) Handle(ctx context.Context, request review.Request) review.Response {
	var controlled, old appv1alpha1.ControlledKind
	if err := json.Unmarshal(request.Object.Raw, &controlled); err != nil {
		return review.Errored(http.StatusBadRequest, fmt.Errorf("decoding ControlledKind %s: %w", request.Name, err))
	}
	if request.Operation == admissionv1.Update {
		if err := json.Unmarshal(request.OldObject.Raw, &old); err != nil {
			return review.Errored(http.StatusBadRequest, fmt.Errorf("decoding ControlledKind %s before its update: %w", request.Name, err))
		}
		if declaresNothing(old.Spec, controlled.Spec) {
			return review.Allowed("")
		}
	}
	problems, warnings := v.check(ctx, &controlled)
	if problems = append(problems, checkLever(&old, controlled.Spec)...); len(problems) == 0 {
		return review.Allowed("").WithWarnings(warnings...)
	}
	denial := apierrors.NewInvalid(schema.GroupKind{Group: request.Kind.Group, Kind: request.Kind.Kind}, controlled.Name, problems).Status()
	return review.Response{AdmissionResponse: admissionv1.AdmissionResponse{Result: &denial}}
}

// declaresNothing reports whether an update leaves the declaration as it is, or only ends its enforcement, which is possible even if it
// doesn't fit its CRD any more.
func declaresNothing(old, updated appv1alpha1.ControlledKindSpec) bool {
	if updated.Mode != appv1alpha1.ModeEnforce {
		old.Mode = updated.Mode
	}
	return equality.Semantic.DeepEqual(old, updated)
}

// checkLever returns the problem of other fields that hold rollouts while the present ones do: nothing would resume those rollouts.
func checkLever(old *appv1alpha1.ControlledKind, updated appv1alpha1.ControlledKindSpec) field.ErrorList {
	isSame := equality.Semantic.DeepEqual(old.Spec.Hold, updated.Hold) && equality.Semantic.DeepEqual(old.Spec.Pace, updated.Pace)
	if isSame || old.Status.Counts.Held == 0 {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("spec", "hold"), fmt.Sprintf("the present fields hold rollouts (%d), which others could not resume: "+
		"wait until status.counts.held is 0, or first set nothing but the mode Observe, which resumes them", old.Status.Counts.Held))}
}

// check returns the problems of a ControlledKind, and what to warn of if there are none.
func (v *Validator) check(ctx context.Context, controlled *appv1alpha1.ControlledKind) (problems field.ErrorList, warnings []string) {
	isBuiltIn := v.Kinds.OfControlledKind(controlled.Name) != nil
	switch {
	case isBuiltIn && !controlled.Spec.BuiltIn:
		return field.ErrorList{field.Invalid(field.NewPath("spec", "builtIn"), false,
			fmt.Sprintf("must be true: %s is built into the operator", controlled.Name))}, nil
	case isBuiltIn:
		return nil, nil
	case controlled.Spec.BuiltIn: // by a newer version of the operator, perhaps
		return nil, []string{fmt.Sprintf("ControlledKind %s has no effect: %s", controlled.Name, notSupported)}
	}
	crd, found, err := readDefinition(ctx, v.Live, controlled.Name)
	if crd != nil {
		found = declare(v.Compiler, controlled, crd)
	}
	switch {
	case len(found.invalid) > 0:
		return found.invalid, nil
	case err != nil:
		return nil, []string{unchecked(controlled, err.Error())}
	case found.problem != nil:
		return nil, []string{unchecked(controlled, found.problem.message)}
	}
	return nil, nil
}

func unchecked(controlled *appv1alpha1.ControlledKind, why string) string {
	return fmt.Sprintf("ControlledKind %s was admitted unchecked: %s; its condition Ready shows the result of the check", controlled.Name, why)
}
