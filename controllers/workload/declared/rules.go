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

package declared

import (
	"fmt"
	"reflect"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/expressions"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

type rule struct {
	name, message string
	operations    []appv1alpha1.RuleOperation
	expression    *expression
}

// ruling checks requests for workloads.
type ruling struct {
	immutable []Path
	rules     []rule
}

// Violations returns the rules that a request breaks, including those that can't be evaluated. old is nil for a creation, updated for a
// deletion.
func (r ruling) Violations(request *admissionv1.AdmissionRequest, old, updated map[string]any) []workload.Violation {
	var found []workload.Violation
	if old != nil && updated != nil {
		for _, path := range r.immutable {
			if !reflect.DeepEqual(path.find(old), path.find(updated)) {
				found = append(found, workload.Violation{Rule: path.String(), Message: immutableMessage(path)})
			}
		}
	}
	variables := map[string]any{varObject: nilOr(updated), varOldObject: nilOr(old)}
	allowed := expressions.NewBudget()
	for _, rule := range r.rules {
		if !slices.Contains(rule.operations, appv1alpha1.RuleOperation(request.Operation)) {
			continue
		}
		if variables[varRequest] == nil {
			variables[varRequest] = requestOf(request)
		}
		switch holds, err := rule.expression.Holds(variables, allowed); {
		case err != nil:
			found = append(found, workload.Violation{Rule: rule.name, Message: fmt.Sprintf("rule %s failed to evaluate: %v", rule.name, err)})
		case !holds:
			found = append(found, workload.Violation{Rule: rule.name, Message: rule.message})
		}
	}
	return found
}

func immutableMessage(path Path) string { return path.String() + " is immutable" }

// nilOr returns nil for a missing object, which is null in CEL rather than an empty map.
func nilOr(object map[string]any) any {
	if object == nil {
		return nil
	}
	return object
}

// requestOf returns the variable request, without the objects, which are variables of their own.
func requestOf(request *admissionv1.AdmissionRequest) any {
	bare := *request
	bare.Object, bare.OldObject = runtime.RawExtension{}, runtime.RawExtension{}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&bare)
	if err != nil {
		return nil // can't happen: it was decoded from JSON
	}
	return fields
}
