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

package webhooks

import (
	"cmp"
	"context"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// decodeBoth returns the objects of a request: old is nil for a creation, updated for a deletion.
func decodeBoth(request admission.Request) (old, updated *unstructured.Unstructured, err error) {
	if request.Operation != admissionv1.Create {
		if old, err = decode(request.OldObject); err != nil {
			return nil, nil, err
		}
	}
	if request.Operation != admissionv1.Delete {
		updated, err = decode(request.Object)
	}
	return old, updated, err
}

// controls reports whether the object of a request is under change control. Before an update it may not have been.
func (v *validator) controls(old, updated *unstructured.Unstructured) bool {
	if old != nil {
		return workload.Controls(v.kind, old)
	}
	return workload.Controls(v.kind, updated)
}

// violations returns the messages of the rules of the kind that a request breaks.
func (v *validator) violations(request admission.Request, old, updated *unstructured.Unstructured) []string {
	ruled, ok := v.kind.(workload.Ruled)
	if !ok {
		return nil
	}
	var messages []string
	for _, violation := range ruled.Violations(&request.AdmissionRequest, fieldsOf(old), fieldsOf(updated)) {
		messages = append(messages, violation.Message)
	}
	return messages
}

// countViolation counts and logs a request that breaks a rule, but for a creation: the cache can't confirm it.
func (v *validator) countViolation(ctx context.Context, request admission.Request, old, updated *unstructured.Unstructured) {
	if old == nil {
		return
	}
	asked := cmp.Or(updated, old)
	v.accounts.take(ctx, decisionRuleBroken, request, v.accounts.known(ctx, request, old.GetUID()), decide.ReleaseOf(asked))
}

func fieldsOf(object *unstructured.Unstructured) map[string]any {
	if object == nil {
		return nil
	}
	return object.Object
}
