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
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/declared"
)

// request is a request to try.
type request struct {
	kind declared.Kind
	// old is nil for a creation, updated for a deletion.
	old, updated *unstructured.Unstructured
}

func (t tool) test(args []string) error {
	var kindFile, crdFile, oldFile, newFile string
	rest, err := parse(args, map[string]*string{"kind": &kindFile, "crd": &crdFile, "old": &oldFile, "f": &newFile})
	if err != nil {
		return err
	}
	if kindFile == "" || oldFile+newFile == "" || len(rest) > 0 {
		return errors.New("expected --kind, at least one of -f and --old, and optionally --crd, and no other arguments")
	}
	var tried request
	if tried.old, err = t.object(oldFile); err != nil {
		return err
	}
	if tried.updated, err = t.object(newFile); err != nil {
		return err
	}
	tried.complete()
	named := tried.object().GroupVersionKind()
	if tried.kind, err = t.compile(kindFile, crdFile, &identity{kind: named, namespaced: tried.object().GetNamespace() != ""}); err != nil {
		return err
	}
	if known := tried.kind.GroupVersionKind(); known != named {
		return fmt.Errorf("the object is of kind %s, the declaration of kind %s", named, known)
	}
	return t.report(tried)
}

// complete sets fields that the API server sets and files rarely have.
func (r request) complete() {
	for _, object := range []*unstructured.Unstructured{r.old, r.updated} {
		if object != nil && object.GetGeneration() == 0 {
			object.SetGeneration(1)
		}
	}
	if r.old == nil || r.updated == nil {
		return
	}
	r.updated.SetUID(r.old.GetUID())
	r.updated.SetGeneration(r.old.GetGeneration())
	if !reflect.DeepEqual(r.old.Object["spec"], r.updated.Object["spec"]) {
		r.updated.SetGeneration(r.old.GetGeneration() + 1)
	}
	if status, written := r.old.Object["status"]; written && r.updated.Object["status"] == nil {
		r.updated.Object["status"] = status
	}
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

// report prints the effects of a request. It returns an error if the request is denied.
func (t tool) report(tried request) error {
	old, updated := tried.fields()
	fmt.Fprintf(t.out, "%s of %s %s\n", tried.operation(), tried.kind.GroupVersionKind().Kind, tried.object().GetName())
	if !tried.kind.Controls(tried.object()) {
		fmt.Fprintln(t.out, "ignored: another object controls it")
		return nil
	}
	if tried.kind.Mode() == appv1alpha1.ModeObserve {
		fmt.Fprintln(t.out, "mode: Observe: nothing is written, held or denied. With Enforce:")
	}
	admitted := tried.object()
	if tried.updated != nil {
		var err error
		if admitted, err = t.reportRelease(tried, old, updated); err != nil {
			return err
		}
	}
	health, why := tried.kind.Health(admitted)
	fmt.Fprintf(t.out, "health: %s (%s)\n", health, why)
	violations := tried.kind.Violations(tried.admission(), old, updated)
	var messages []string
	for _, violation := range violations {
		fmt.Fprintf(t.out, "rule %s: %s\n", violation.Rule, violation.Message)
		messages = append(messages, violation.Message)
	}
	if len(messages) > 0 {
		return fmt.Errorf("denied: %s", strings.Join(messages, "; "))
	}
	fmt.Fprintln(t.out, "rules: passed")
	return nil
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
	return &admissionv1.AdmissionRequest{
		Operation: operations[r.operation()], Name: r.object().GetName(), Namespace: r.object().GetNamespace(),
		Kind:     metav1.GroupVersionKind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind},
		Resource: metav1.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: r.kind.Resource()},
	}
}

// reportRelease prints the release, and returns the object as it would be admitted.
func (t tool) reportRelease(tried request, old, updated map[string]any) (*unstructured.Unstructured, error) {
	released, err := tried.kind.IsRelease(old, updated)
	if err != nil {
		return nil, err
	}
	content := tried.kind.Content(updated)
	version, err := content.Version()
	if err != nil {
		return nil, err
	}
	switch changed := changes(tried.kind.Content(old), content); {
	case len(content) == 0:
		fmt.Fprintln(t.out, "release: no, the object has none of the templates and fields")
	case !released && len(changed) > 0:
		fmt.Fprintf(t.out, "release: no, because of spec.release.when; changed: %s\n", strings.Join(changed, ", "))
	case !released:
		fmt.Fprintln(t.out, "release: no")
	default:
		fmt.Fprintf(t.out, "release: yes, version %s; changed: %s\n", version, strings.Join(changed, ", "))
	}
	for _, template := range tried.kind.Unstampable() {
		fmt.Fprintf(t.out, "warning: the CRD drops the version label of %s: set release.identity\n", template)
	}
	admitted := tried.updated.DeepCopy()
	if released {
		if admitted, err = t.admit(tried, version); err != nil {
			return nil, err
		}
	}
	if lister, ok := tried.kind.(workload.Lister); ok {
		var names []string
		for _, unit := range lister.Units(admitted) {
			names = append(names, unit.Pod)
		}
		fmt.Fprintf(t.out, "pods: none; reported instead: %s\n", strings.Join(names, ", "))
	} else {
		fmt.Fprintf(t.out, "pods: %s\n", tried.kind.DescribePods(admitted))
	}
	return admitted, t.reportHold(tried, admitted)
}

// admit returns the object of a release with the labels and annotations of the webhooks.
func (t tool) admit(tried request, version string) (*unstructured.Unstructured, error) {
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
	record, err := json.Marshal(appv1alpha1.ReleaseRecord{User: "kind test", Time: metav1.NewTime(t.now()), Version: version, Release: release})
	if err != nil {
		return nil, fmt.Errorf("writing the record of the release: %w", err)
	}
	annotations[appv1alpha1.AnnotationRelease] = strconv.FormatInt(release, 10)
	annotations[appv1alpha1.AnnotationReleasedBy] = string(record)
	old, updated := tried.fields()
	values, err := tried.kind.HoldWith(old, updated)
	if err != nil {
		fmt.Fprintf(t.out, "warning: %v\n", err)
	}
	if values != "" {
		annotations[appv1alpha1.AnnotationHoldWith] = values
	}
	object.SetAnnotations(annotations)
	return object, nil
}

func (t tool) reportHold(tried request, object *unstructured.Unstructured) error {
	pauser, canPause := tried.kind.(workload.Pauser)
	if !canPause {
		fmt.Fprintln(t.out, "hold: not supported; only the next release is denied")
		return nil
	}
	operations := pauser.Pause(object)
	switch {
	case pauser.Paused(object):
		fmt.Fprintln(t.out, "hold: already paused")
	case len(operations) == 0:
		fmt.Fprintln(t.out, "hold: not possible: its value depends on the object before the release")
	}
	for _, operation := range operations {
		value, err := json.Marshal(operation.Value)
		if err != nil {
			return fmt.Errorf("writing the value of %s: %w", operation.Path, err)
		}
		fmt.Fprintf(t.out, "hold: %s %s %s\n", operation.Op, operation.Path, value)
	}
	return nil
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
