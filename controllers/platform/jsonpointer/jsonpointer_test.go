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
package jsonpointer_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/controllers/platform/jsonpointer"
)

func TestFind(t *testing.T) {
	object := map[string]any{"spec": map[string]any{"a/b~c": []any{"zero", map[string]any{"x": int64(1)}}}}
	for pointer, want := range map[string]any{
		"/spec/a~1b~0c/0":   "zero",
		"/spec/a~1b~0c/1/x": int64(1),
		"/spec/a~1b~0c/2":   nil,
		"/spec/a~1b~0c/-":   nil,
		"/spec/a~1b~0c/0/x": nil,
		"/status":           nil,
	} {
		g := NewWithT(t)
		keys := jsonpointer.Keys(pointer)
		if want == nil {
			g.Expect(jsonpointer.Find(object, keys...)).To(BeNil(), pointer)
		} else {
			g.Expect(jsonpointer.Find(object, keys...)).To(Equal(want), pointer)
		}
		g.Expect(jsonpointer.Of(keys...)).To(Equal(pointer))
	}
}
