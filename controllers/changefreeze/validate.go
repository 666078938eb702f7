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
)

// Validator denies ChangeFreezes with unusable fields.
type Validator struct {
	Clock clock.PassiveClock
	// Namespace is the namespace of the operator.
	Namespace string
}

// Handle admits or denies a ChangeFreeze that is created or updated.
func (v *Validator) Handle(_ context.Context, request review.Request) review.Response {
	var object appv1alpha1.ChangeFreeze
	if err := json.Unmarshal(request.Object.Raw, &object); err != nil {
		return review.Errored(http.StatusBadRequest, fmt.Errorf("decoding ChangeFreeze %s: %w", request.Name, err))
	}
	object.Namespace = request.Namespace
	times, problems := freeze.Check(&object, v.Namespace)
	if len(problems) > 0 {
		denial := apierrors.NewInvalid(schema.GroupKind{Group: request.Kind.Group, Kind: request.Kind.Kind}, object.Name, problems).Status()
		return review.Response{AdmissionResponse: admissionv1.AdmissionResponse{Result: &denial}}
	}
	if state := times.At(v.Clock.Now()); !state.Active && state.Next.IsZero() {
		return review.Allowed("").WithWarnings(fmt.Sprintf("ChangeFreeze %s never begins: its times are over", object.Name))
	}
	return review.Allowed("")
}
