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

package kindtool

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/config/crd"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/declared"
)

// user is the name of the user who makes the request.
const user = "kind test"

// Request has the files of a request to try. Kind has the ControlledKind, CRD its definition, which may be empty. Old is empty for a creation,
// New for a deletion.
type Request struct {
	Kind, CRD, Old, New string
}

func (r Request) complete() bool { return r.Kind != "" && r.Old+r.New != "" }

// request is a request to try.
type request struct {
	kind declared.Kind
	// old is nil for a creation, updated for a deletion.
	old, updated *unstructured.Unstructured
}

// Try returns the effects of a request.
func (t Tool) Try(files Request) (Effects, error) {
	var tried request
	var err error
	if tried.old, err = t.object(files.Old); err != nil {
		return Effects{}, err
	}
	if tried.updated, err = t.object(files.New); err != nil {
		return Effects{}, err
	}
	named := tried.object().GroupVersionKind()
	compiled, definition, err := t.compile(files.Kind, files.CRD, &identity{kind: named, namespaced: tried.object().GetNamespace() != ""})
	if err != nil {
		return Effects{}, err
	}
	if err := tried.complete(definition.Schema); err != nil {
		return Effects{}, fmt.Errorf("%s: %w", files.CRD, err)
	}
	tried.kind = compiled
	if known := tried.kind.GroupVersionKind(); known != named {
		return Effects{}, fmt.Errorf("the object is of kind %s, the declaration of kind %s", named, known)
	}
	return t.effects(tried)
}

// complete sets fields that the API server sets and files rarely have: those for which a CRD has defaults, nil without one.
func (r request) complete(schema *apiextensionsv1.JSONSchemaProps) error {
	var defaults *structuralschema.Structural
	if schema != nil {
		var err error
		if _, defaults, err = crd.Schema(schema); err != nil {
			return err
		}
	}
	for _, object := range []*unstructured.Unstructured{r.old, r.updated} {
		if object == nil {
			continue
		}
		defaulting.Default(object.Object, defaults)
		if object.GetGeneration() == 0 {
			object.SetGeneration(1)
		}
	}
	if r.old == nil || r.updated == nil {
		return nil
	}
	r.updated.SetUID(r.old.GetUID())
	r.updated.SetGeneration(r.old.GetGeneration())
	if !reflect.DeepEqual(r.old.Object["spec"], r.updated.Object["spec"]) {
		r.updated.SetGeneration(r.old.GetGeneration() + 1)
	}
	if status, written := r.old.Object["status"]; written && r.updated.Object["status"] == nil {
		r.updated.Object["status"] = status
	}
	return nil
}

// object returns the object of the request.
func (r request) object() *unstructured.Unstructured {
	if r.updated != nil {
		return r.updated
	}
	return r.old
}

func (r request) fields() (old, updated map[string]any) {
	if r.old != nil {
		old = r.old.Object
	}
	if r.updated != nil {
		updated = r.updated.Object
	}
	return old, updated
}

// effects returns what a request does.
func (t Tool) effects(tried request) (Effects, error) {
	old, updated := tried.fields()
	effects := Effects{
		Operation: tried.operation(), ObjectKind: tried.kind.GroupVersionKind().Kind, Name: tried.object().GetName(), Mode: tried.kind.Mode(),
		Ignored: !tried.kind.Controls(cmp.Or(tried.old, tried.updated)), // as the webhooks decide: an update may set or end it
	}
	if effects.Ignored {
		return effects, nil
	}
	admitted := tried.object()
	if tried.updated != nil {
		var err error
		if admitted, err = t.addRelease(&effects, tried, old, updated); err != nil {
			return Effects{}, err
		}
	}
	health, why := tried.kind.Health(admitted)
	effects.Health, effects.HealthReason = string(health), why
	for _, violation := range tried.kind.Violations(tried.admission(), old, updated) {
		effects.Violations = append(effects.Violations, Violation(violation))
	}
	return effects, nil
}

func (r request) operation() string {
	switch {
	case r.old == nil:
		return "creation"
	case r.updated == nil:
		return "deletion"
	default:
		return "update"
	}
}

func (r request) admission() *admissionv1.AdmissionRequest {
	operations := map[string]admissionv1.Operation{"creation": admissionv1.Create, "update": admissionv1.Update, "deletion": admissionv1.Delete}
	kind := r.kind.GroupVersionKind()
	asked := metav1.GroupVersionKind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind}
	resource := metav1.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: r.kind.Resource()}
	return &admissionv1.AdmissionRequest{
		Operation: operations[r.operation()], Name: r.object().GetName(), Namespace: r.object().GetNamespace(),
		Kind: asked, Resource: resource, RequestKind: &asked, RequestResource: &resource,
		UserInfo: authenticationv1.UserInfo{Username: user, Groups: []string{"system:authenticated"}}, DryRun: new(false),
	}
}

// addRelease adds the release, and returns the object as it would be admitted.
func (t Tool) addRelease(effects *Effects, tried request, old, updated map[string]any) (*unstructured.Unstructured, error) {
	released, err := tried.kind.IsRelease(old, updated)
	if err != nil {
		return nil, err
	}
	content := tried.kind.Content(updated)
	version, err := content.Version()
	if err != nil {
		return nil, err
	}
	changed := changes(tried.kind.Content(old), content)
	switch {
	case len(content) == 0:
		effects.Release = NoContent
	case !released && len(changed) > 0:
		effects.Release, effects.Changed = NotWhen, changed
	case !released:
		effects.Release = Unchanged
	default:
		effects.Release, effects.Version, effects.Changed = Released, version, changed
	}
	for _, template := range tried.kind.Unstampable() {
		effects.Warnings = append(effects.Warnings, fmt.Sprintf("the CRD drops the version label of %s: set release.identity", template))
	}
	admitted := tried.updated.DeepCopy()
	if released {
		if admitted, err = t.admit(effects, tried, version); err != nil {
			return nil, err
		}
	}
	addPods(effects, tried, admitted, released)
	addHold(effects, tried, admitted)
	return admitted, nil
}

// addPods adds the pods or the units that the admitted object selects.
func addPods(effects *Effects, tried request, admitted *unstructured.Unstructured, released bool) {
	if lister, ok := tried.kind.(workload.Lister); ok {
		for _, unit := range lister.Units(admitted) {
			effects.Units = append(effects.Units, unit.Pod)
		}
		return
	}
	effects.Pods = tried.kind.DescribePods(admitted)
	labelled, ok := tried.kind.(workload.Labelled)
	if ok && released && !labelled.LabelsPods() && len(tried.kind.Templates(admitted.Object)) == 0 {
		effects.Warnings = append(effects.Warnings,
			"the object has no pod template, so that its pods get no version label and are not found: add one, or set release.identity")
	}
}

// admit returns the object of a release with the labels and annotations of the webhooks.
func (t Tool) admit(effects *Effects, tried request, version string) (*unstructured.Unstructured, error) {
	object := tried.updated.DeepCopy()
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[appv1alpha1.LabelVersion] = version
	object.SetLabels(labels)
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	release := decide.NextRelease(annotations)
	record, err := json.Marshal(appv1alpha1.ReleaseRecord{User: user, Time: metav1.NewTime(t.Now()), Version: version, Release: release})
	if err != nil {
		return nil, fmt.Errorf("writing the record of the release: %w", err)
	}
	annotations[appv1alpha1.AnnotationRelease] = strconv.FormatInt(release, 10)
	annotations[appv1alpha1.AnnotationReleasedBy] = string(record)
	old, updated := tried.fields()
	values, err := tried.kind.HoldWith(old, updated)
	if err != nil {
		effects.Warnings = append(effects.Warnings, err.Error())
	}
	if values != "" {
		annotations[appv1alpha1.AnnotationHoldWith] = values
	}
	object.SetAnnotations(annotations)
	return object, nil
}

func addHold(effects *Effects, tried request, object *unstructured.Unstructured) {
	pauser, canPause := tried.kind.(workload.Pauser)
	if !canPause {
		effects.Hold = CannotHold
		return
	}
	effects.HoldOperations = pauser.Pause(object)
	switch {
	case pauser.Paused(object):
		effects.Hold = AlreadyHeld
	case len(effects.HoldOperations) == 0:
		effects.Hold = HoldUnknown
	default:
		effects.Hold = CanHold
	}
}

// changes returns the places at which two contents differ.
func changes(old, updated workload.Content) []string {
	var changed []string
	for _, pointer := range slices.Sorted(maps.Keys(updated)) {
		if before, known := old[pointer]; !known || !(workload.Content{"": before}).Equal(workload.Content{"": updated[pointer]}) {
			changed = append(changed, pointer)
		}
	}
	for _, pointer := range slices.Sorted(maps.Keys(old)) {
		if _, known := updated[pointer]; !known {
			changed = append(changed, pointer)
		}
	}
	return changed
}
