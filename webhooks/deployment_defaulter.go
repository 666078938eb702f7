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
	"context"
	"fmt"
	"net/http"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/traas-stack/altershield-operator/controllers/lifecycle"
)

// deploymentDefaulter stamps releases: it sets the version of a new or changed pod template, counts the release, records
// who made it, consumes ignored-suspend, notes who asks for a rollback and keeps everybody else's hands off the operator's
// keys. It reads nothing but the request and changes nothing but its answer, so a dry run is safe.
type deploymentDefaulter struct {
	// operator is the user name of the operator itself, which may write its own keys.
	operator string
	clock    clock.PassiveClock
	metrics  *Metrics
}

var _ admission.Handler = &deploymentDefaulter{}

// Handle answers one admission review.
func (d *deploymentDefaulter) Handle(ctx context.Context, request admission.Request) admission.Response {
	updated, err := decode(request.Object)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	before, user, now := newMarks(updated), request.UserInfo.Username, d.clock.Now()
	var old, after marks
	var warnings []string
	switch request.Operation {
	case admissionv1.Create:
		after, err = stampNew(before, user, now)
	case admissionv1.Update:
		oldObject, malformed := decode(request.OldObject)
		if malformed != nil {
			return admission.Errored(http.StatusBadRequest, malformed)
		}
		old = newMarks(oldObject)
		by := author{user: user, isOperator: user == d.operator}
		if by.isOperator && before.template.Equal(old.template) {
			return admission.Allowed("")
		}
		after, err = stampUpdate(old, before, by, now)
		warnings = keptKeys(old, before, after)
	default:
		return admission.Allowed("")
	}
	if err != nil {
		return admission.Errored(http.StatusUnprocessableEntity,
			fmt.Errorf("deployment %s: its release version can't be computed: %w", request.Name, err))
	}
	if lifecycle.ReleaseNumber(after.annotations) != lifecycle.ReleaseNumber(old.annotations) {
		d.metrics.tell(ctx, decisionStamped, request, after.release())
	}
	return admission.Patched("", patch(before, after)...).WithWarnings(warnings...)
}

// keptKeys warns a user whose update, which is no release, would have changed or removed keys of the operator. What the
// webhook itself changes is not kept: rollback-by comes and goes with the user's own request.
func keptKeys(old, updated, stamped marks) []string {
	if !updated.template.Equal(old.template) {
		return nil
	}
	var kept []string
	for _, key := range ownedLabels() {
		if old.labels[key] != updated.labels[key] {
			kept = append(kept, key)
		}
	}
	for _, key := range ownedAnnotations() {
		if old.annotations[key] != updated.annotations[key] && old.annotations[key] == stamped.annotations[key] {
			kept = append(kept, key)
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return []string{"kept as they were, since only the operator writes them: " + strings.Join(kept, ", ")}
}

// decode keeps every field of the object, known to our types or not.
func decode(raw runtime.RawExtension) (*unstructured.Unstructured, error) {
	object := map[string]any{}
	if err := json.Unmarshal(raw.Raw, &object); err != nil { // whole numbers stay whole, however large
		return nil, fmt.Errorf("decoding the Deployment of the admission review: %w", err)
	}
	return &unstructured.Unstructured{Object: object}, nil
}
