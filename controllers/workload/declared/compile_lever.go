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
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

func partitionOf(spec *appv1alpha1.ControlledKindSpec) *appv1alpha1.PartitionField {
	if spec.Pace == nil {
		return nil
	}
	return spec.Pace.Partition
}

// lever compiles the fields that hold and limit a rollout.
func (c *compilation) lever(spec *appv1alpha1.ControlledKindSpec, desired Path) pacing {
	var result pacing
	for i := range spec.Hold {
		if held, ok := c.held(c.spec.Child("hold").Index(i), &spec.Hold[i]); ok {
			result.fields = append(result.fields, held)
		}
	}
	partition := partitionOf(spec)
	if partition == nil {
		return result
	}
	at := c.spec.Child("pace", "partition")
	path := c.write(at.Child("path"), partition.Path, false)
	if path.isZero() {
		return result
	}
	isNumber := c.mustBe(at.Child("path"), path, partition.Path, "integer", "number")
	if writesMax := len(spec.Hold) == 0 || partition.Park; isNumber && writesMax {
		if err := c.definition.denies(path, maxPartition); err != nil {
			c.invalid(at.Child("path"), partition.Path, "the CRD doesn't admit %d, which keeps all pods back: %v", maxPartition, err)
		}
	}
	if desired.isZero() {
		c.problems = append(c.problems, field.Required(c.spec.Child("counts", "desired"), "required by the partition"))
	}
	fields, _ := path.fields()
	result.partition, result.desired = fields, desired
	if len(spec.Hold) == 0 {
		result.fields, result.byPartition = []heldField{{at: fields, value: maxPartition}}, true
	}
	return result
}

func (c *compilation) held(at *field.Path, declared *appv1alpha1.HoldField) (heldField, bool) {
	path := c.write(at.Child("path"), declared.Path, false)
	if (declared.Value == nil) == (declared.CEL == "") {
		c.invalid(at, declared.Path, "exactly one of value and cel is required")
		return heldField{}, false
	}
	if path.isZero() {
		return heldField{}, false
	}
	fields, _ := path.fields()
	held := heldField{at: fields, cel: c.expression(at.Child("cel"), c.compiler.hold, declared.CEL, false)}
	if declared.Value == nil {
		return held, held.cel != nil
	}
	if err := utiljson.Unmarshal(declared.Value.Raw, &held.value); err != nil || held.value == nil {
		c.invalid(at.Child("value"), string(declared.Value.Raw), "must not be null")
		return heldField{}, false
	}
	if _, isText := held.value.(string); isAnnotation(path) && !isText {
		c.invalid(at.Child("value"), string(declared.Value.Raw), "must be a string, as the value of an annotation")
	}
	if c.mustBe(at.Child("value"), path, string(declared.Value.Raw), typesOf(held.value)...) {
		if err := c.definition.denies(path, held.value); err != nil {
			c.invalid(at.Child("value"), string(declared.Value.Raw), "the CRD doesn't admit it: %v", err)
		}
	}
	return held, true
}
