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
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/expressions"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// maxPartition keeps every pod at the previous revision, also after scaling up.
const maxPartition int64 = math.MaxInt32

// holding is a workload.Pauser.
type holding struct{ fields []heldField }

// heldField is a field with its holding value.
type heldField struct {
	at    place
	value any
	// cel computes the value from the workload before the release, in place of value.
	cel *expression
}

// holdWith returns the values that are computed from the workload before the release, as JSON.
func (h holding) holdWith(old, updated map[string]any) (string, error) {
	values := map[string]any{}
	for _, field := range h.fields {
		if field.cel == nil || old == nil {
			continue
		}
		value, err := field.cel.Value(map[string]any{varObject: updated, varOld: old}, expressions.NewBudget())
		if err != nil {
			return "", fmt.Errorf("evaluating the value that holds %s: %w", field.at.pointer(), err)
		}
		values[field.at.pointer()] = value
	}
	if len(values) == 0 {
		return "", nil
	}
	return marshal(values)
}

// values returns the values that hold the rollout of a workload, in the order of the fields; complete is false if one is unknown.
func (h holding) values(object map[string]any) (values []any, complete bool) {
	text, _, _ := unstructured.NestedString(object, "metadata", "annotations", appv1alpha1.AnnotationHoldWith)
	remembered := unmarshal(text)
	complete = true
	for _, field := range h.fields {
		value := field.value
		if field.cel != nil {
			value = remembered[field.at.pointer()]
		}
		values, complete = append(values, value), complete && value != nil
	}
	return values, complete
}

// Paused reports whether every field has its holding value.
func (h holding) Paused(object client.Object) bool {
	held := raw(object)
	values, complete := h.values(held)
	for i, field := range h.fields {
		complete = complete && has(field.at.find(held), values[i])
	}
	return complete
}

// names returns the fields as users know them: spec.paused, spec.partition.
func (h holding) names() string {
	names := make([]string, len(h.fields))
	for i, field := range h.fields {
		names[i] = strings.Join(field.at, ".")
	}
	return strings.Join(names, ", ")
}

// Pause returns the operations that set the fields, none if a value is unknown.
func (h holding) Pause(object client.Object) []workload.Operation {
	held := raw(object)
	values, complete := h.values(held)
	if !complete {
		return nil
	}
	working := runtime.DeepCopyJSON(held)
	var operations []workload.Operation
	for i, field := range h.fields {
		if has(field.at.find(working), values[i]) {
			continue
		}
		operations = append(operations, set(working, field.at, values[i]))
		field.at.put(working, runtime.DeepCopyJSONValue(values[i]))
	}
	return operations
}

// Originals returns the values of the fields as JSON. For a field whose parent is missing, it has the topmost missing object as null.
// Fields that are missing alone are left out.
func (h holding) Originals(object client.Object) string {
	held := raw(object)
	originals := map[string]any{}
	for _, field := range h.fields {
		top := missing(held, field.at)
		if value := top.find(held); value != nil || len(top) < len(field.at) {
			originals[top.pointer()] = value
		}
	}
	if len(originals) == 0 {
		return ""
	}
	text, err := marshal(originals)
	if err != nil {
		return "" // can't happen: the values were decoded from JSON
	}
	return text
}

// Resume returns the operations that restore the originals and remove fields without one. A field that was changed meanwhile is kept.
func (h holding) Resume(object client.Object, originals string) []workload.Operation {
	held := raw(object)
	values, _ := h.values(held)
	before, working := unmarshal(originals), runtime.DeepCopyJSON(held)
	var operations []workload.Operation
	for i, field := range h.fields {
		if values[i] == nil || !has(field.at.find(held), values[i]) {
			continue
		}
		if original := before[field.at.pointer()]; original != nil {
			operations = append(operations, workload.Operation{Op: "replace", Path: field.at.pointer(), Value: original})
			continue
		}
		operations = append(operations, workload.Operation{Op: "remove", Path: field.at.pointer()})
		field.at.remove(working)
	}
	for _, pointer := range slices.Sorted(maps.Keys(before)) {
		if top := parsePlace(pointer); before[pointer] == nil && isHollow(top.find(working)) {
			operations = append(operations, workload.Operation{Op: "remove", Path: pointer})
		}
	}
	return operations
}

// PaceFields returns the pointers of the fields.
func (h holding) PaceFields() []string {
	var pointers []string
	for _, field := range h.fields {
		pointers = append(pointers, field.at.pointer())
	}
	return pointers
}

// has reports whether a field has a value. Objects may have additional fields, such as defaults.
func has(present, value any) bool {
	switch value := value.(type) {
	case map[string]any:
		fields, isObject := present.(map[string]any)
		for name, field := range value {
			isObject = isObject && has(fields[name], field)
		}
		return isObject
	case []any:
		elements, isList := present.([]any)
		return isList && slices.EqualFunc(elements, value, has)
	default:
		return reflect.DeepEqual(present, value)
	}
}

// isHollow reports whether a value is an object without any value below.
func isHollow(value any) bool {
	fields, isObject := value.(map[string]any)
	for _, field := range fields {
		isObject = isObject && isHollow(field)
	}
	return isObject
}

// pacing is a holding with a partition, which holds if no other field does.
type pacing struct {
	holding
	partition place
	desired   Path
	// byPartition indicates that the partition holds rollouts.
	byPartition bool
}

// Paused reports whether the rollout is held. A partition holds it as soon as no pod is left to update.
func (p pacing) Paused(object client.Object) bool {
	if !p.byPartition {
		return p.holding.Paused(object)
	}
	desired, counted := number(p.desired.find(raw(object)))
	partition, known := podsKept(p.partition.find(raw(object)), desired)
	return known && partition > 0 && (partition >= maxPartition || counted && partition >= desired)
}

// Let returns the operations that limit the pods of the present release to a number: the partition, which is never below that of the
// originals, and the end of the hold. For all pods, they restore the originals. Pods are numbered from 0, so that the partition is the same
// number whether it counts the old pods or is the lowest index.
func (p pacing) Let(object client.Object, pods int32, originals string) []workload.Operation {
	switch pods {
	case 0:
		return p.Pause(object)
	case decide.LetAll:
		return p.restore(object, originals)
	}
	desired, counted := number(p.desired.find(raw(object)))
	if !counted {
		desired = unknownDesired
	}
	own, _ := podsKept(unmarshal(originals)[p.partition.pointer()], desired)
	partition := max(desired-int64(pods), own, 0)
	working := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(raw(object))}
	var operations []workload.Operation
	if present, known := podsKept(p.partition.find(working.Object), desired); known && present != partition || !known && partition > 0 {
		operations = append(operations, set(working.Object, p.partition, partition))
		p.partition.put(working.Object, partition)
	}
	if p.byPartition {
		return operations
	}
	return append(operations, p.Resume(working, originals)...)
}

// Yield returns the operations that restore the partition, unless users end holds by it.
func (p pacing) Yield(object client.Object, originals string) []workload.Operation {
	present := p.partition.find(raw(object))
	if p.byPartition || reflect.DeepEqual(present, unmarshal(originals)[p.partition.pointer()]) {
		return nil
	}
	return holding{[]heldField{{at: p.partition, value: present}}}.Resume(object, originals)
}

// kept returns how many of the desired pods a user keeps at the previous revision, also while the operator holds or paces the rollout by another
// partition. A user who keeps all of them by it, where nothing else holds the rollout, has paused it.
func (p pacing) kept(object client.Object, desired int64) int64 {
	partition := p.partition.find(raw(object))
	isPaced := appv1alpha1.PacedOf(object.GetAnnotations(), decide.ReleaseOf(object).Number) != nil
	if isPaced || p.byPartition && p.Paused(object) {
		partition = unmarshal(appv1alpha1.OriginalsOf(object.GetAnnotations()))[p.partition.pointer()]
	}
	kept, _ := podsKept(partition, desired)
	return min(max(kept, 0), desired)
}

// Originals returns the values of the fields and of the partition as JSON.
func (p pacing) Originals(object client.Object) string { return p.with(nil).Originals(object) }

// PaceFields returns the pointers of the fields and of the partition.
func (p pacing) PaceFields() []string { return p.with(nil).PaceFields() }

// restore returns the operations that restore the originals of the fields and of the partition, whatever that is.
func (p pacing) restore(object client.Object, originals string) []workload.Operation {
	present := p.partition.find(raw(object))
	if reflect.DeepEqual(present, unmarshal(originals)[p.partition.pointer()]) {
		if p.byPartition {
			return nil
		}
		return p.Resume(object, originals)
	}
	return p.with(present).Resume(object, originals)
}

// with returns a holding of the fields, and of the partition with a value.
func (p pacing) with(value any) holding {
	partition := heldField{at: p.partition, value: value}
	if p.byPartition {
		return holding{[]heldField{partition}}
	}
	return holding{append(slices.Clip(p.fields), partition)}
}

// parking is a pacing of a kind whose deleted pods return at the previous revision.
type parking struct{ pacing }

// Park returns the operations after which deleted pods return at the previous revision.
func (p parking) Park(object client.Object) []workload.Operation {
	if present, known := number(p.partition.find(raw(object))); known && present == maxPartition {
		return nil
	}
	return []workload.Operation{set(raw(object), p.partition, maxPartition)}
}

// raw returns the fields of a workload of a declared kind, which is untyped.
func raw(object client.Object) map[string]any {
	if untyped, ok := object.(*unstructured.Unstructured); ok {
		return untyped.Object
	}
	return map[string]any{}
}

// number returns a whole number.
func number(value any) (int64, bool) {
	switch value := value.(type) {
	case int64:
		return value, true
	case float64:
		return int64(value), value == math.Trunc(value)
	default:
		return 0, false
	}
}

// podsKept returns the number of pods that a partition keeps back, of which a percentage is rounded up.
func podsKept(partition any, desired int64) (int64, bool) {
	text, isText := partition.(string)
	if !isText {
		return number(partition)
	}
	value := intstr.FromString(text)
	pods, err := intstr.GetScaledValueFromIntOrPercent(&value, int(desired), true)
	return int64(pods), err == nil
}

func marshal(values map[string]any) (string, error) {
	text, err := json.Marshal(values)
	return string(text), err
}

// unmarshal decodes a JSON object; nil for an invalid one, which the operator did not write.
func unmarshal(text string) map[string]any {
	var values map[string]any
	if err := utiljson.Unmarshal([]byte(text), &values); err != nil {
		return nil
	}
	return values
}
