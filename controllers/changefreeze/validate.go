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

package changefreeze

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	review "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/freeze"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Validator denies ChangeFreezes with unusable fields.
type Validator struct {
	Clock clock.PassiveClock
	// Kinds are the kinds under change control.
	Kinds workload.Kinds
	// Namespace is the namespace of the operator.
	Namespace string
}

// Handle admits or denies a ChangeFreeze that is created or updated.
func (v *Validator) Handle(_ context.Context, request review.Request) review.Response {
	var object appv1alpha1.ChangeFreeze
	if err := json.Unmarshal(request.Object.Raw, &object); err != nil {
		return review.Errored(http.StatusBadRequest, fmt.Errorf("decoding ChangeFreeze %s: %w", request.Name, err))
	}
	if !object.DeletionTimestamp.IsZero() {
		return review.Allowed("") // an invalid one must be able to lose its finalizers
	}
	object.Namespace = request.Namespace
	times, problems := freeze.Check(&object, v.Namespace)
	if len(problems) > 0 {
		denial := apierrors.NewInvalid(schema.GroupKind{Group: request.Kind.Group, Kind: request.Kind.Kind}, object.Name, problems).Status()
		return review.Response{AdmissionResponse: admissionv1.AdmissionResponse{Result: &denial}}
	}
	warnings := v.scopeAdvice(&object)
	if state := times.At(v.Clock.Now()); !state.Active && state.Next.IsZero() {
		warnings = append(warnings, fmt.Sprintf("ChangeFreeze %s never begins: its times are over", object.Name))
	}
	return review.Allowed("").WithWarnings(warnings...)
}

// scopeAdvice returns warnings of a freeze that may freeze less than it seems to.
func (v *Validator) scopeAdvice(object *appv1alpha1.ChangeFreeze) (warnings []string) {
	if object.Namespace == v.Namespace && object.Spec.Namespaces == nil {
		warnings = append(warnings, fmt.Sprintf(
			"ChangeFreeze %s freezes only namespace %s: to freeze others, set spec.namespaces", object.Name, v.Namespace))
	}
	for i := range object.Spec.Workloads {
		if kind := object.Spec.Workloads[i].Kind; v.Kinds.Snapshot().ByGroupKind(schema.ParseGroupKind(kind)) == nil {
			warnings = append(warnings, fmt.Sprintf("ChangeFreeze %s freezes no %s: the kind isn't under change control", object.Name, kind))
		}
	}
	return warnings
}
