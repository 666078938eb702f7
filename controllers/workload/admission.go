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
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// Preparer is a Pauser whose pause depends on the workload before the release.
type Preparer interface {
	// HoldWith returns what Pause needs to know of it, empty for nothing. It is stored in AnnotationHoldWith. old is nil for a creation.
	HoldWith(old, updated map[string]any) (string, error)
}

// Selective is a Kind of which not every object is under change control.
type Selective interface {
	// Controls reports whether an object is, rather than a part of the object that controls it.
	Controls(object metav1.Object) bool
}

// NotOwned is a CEL condition for webhooks and policies, over object and oldObject. It is false for an object that another one controls; of an update,
// for one that it controlled before.
const NotOwned = "!(oldObject != null ? oldObject : object).metadata.?ownerReferences.orValue([]).exists(owner, owner.?controller.orValue(false))"

// LeavesOwned reports whether a kind is Selective and leaves alone every object that another one controls.
func LeavesOwned(kind Kind) bool {
	selective, ok := kind.(Selective)
	return ok && !selective.Controls(&metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Controller: ptr.To(true)}}})
}

// Ruled is a Kind with rules for requests.
type Ruled interface {
	// Violations returns the rules that a request breaks. old is nil for a creation, updated for a deletion.
	Violations(request *admissionv1.AdmissionRequest, old, updated map[string]any) []Violation
	// Operations returns the operations that rules apply to.
	Operations() []appv1alpha1.RuleOperation
	// MayBreak returns a CEL condition for webhooks, over object and oldObject. If it is false, an update breaks no rule.
	MayBreak() string
}

// Violation is a rule that a request breaks.
type Violation struct {
	// Rule is the name of the rule, or the path of an immutable field.
	Rule string
	// Message is the reason of the denial.
	Message string
}

// HoldWith returns what the pause of a release needs to know of the workload before it, empty for nothing.
func HoldWith(kind Kind, old, updated map[string]any) (string, error) {
	preparer, ok := kind.(Preparer)
	if !ok {
		return "", nil
	}
	return preparer.HoldWith(old, updated)
}

// Controls reports whether an object of a kind is under change control, rather than a part of the object that controls it. One of a kind that isn't
// Selective stays under change control if it had a release of its own before. The version label doesn't tell: its controller may have copied that.
func Controls(kind Kind, object metav1.Object) bool {
	if selective, ok := kind.(Selective); ok {
		return selective.Controls(object)
	}
	return metav1.GetControllerOfNoCopy(object) == nil || decide.ReleaseNumber(object.GetAnnotations()) > 0
}
