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

package expressions

import (
	"testing"

	"github.com/google/cel-go/cel"
	. "github.com/onsi/gomega"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

func newEnv(t *testing.T) *cel.Env {
	t.Helper()
	pod := Object("test.Pod", map[string]*apiservercel.DeclType{"name": apiservercel.StringType})
	env, err := Env(30, []cel.EnvOption{cel.Variable("object", cel.DynType), cel.Variable("pod", pod.CelType())}, pod)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return env
}

func TestCompileReturnsThePlaceOfAMistake(t *testing.T) {
	for text, problem := range map[string]string{
		"object.":                  "line 1, column 8: ",
		"pod.name == 'a' &&\n nme": "line 2, column 2: undeclared reference to 'nme'",
		"pod.nme == 'a'":           "line 1, column 4: undefined field 'nme'",
		"pod.name":                 "the result has type string, not bool; compare it with a value",
	} {
		t.Run(text, func(t *testing.T) {
			_, err := Compile(newEnv(t), text, cel.BoolType)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(problem)))
		})
	}
}

func TestReadsReturnsEachPathOnce(t *testing.T) {
	for text, paths := range map[string][][]string{
		"object.a.b == 1 && object.a.b == 2 && object.c == pod.name": {{"a", "b"}, {"c"}},
		"object['a'].b[0] == 1":                        {{"a", "b"}},
		"object[pod.name] == 1":                        {nil},
		"object.?a.orValue(1) == 1 && has(object.b.c)": {{"a"}, {"b", "c"}},
		"pod.name == 'object'":                         nil,
	} {
		t.Run(text, func(t *testing.T) {
			compiled, err := Compile(newEnv(t), text, nil)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			NewWithT(t).Expect(compiled.Reads("object")).To(Equal(paths))
		})
	}
}

func TestValueReturnsJSON(t *testing.T) {
	g := NewWithT(t)
	compiled, err := Compile(newEnv(t), "{'a': dyn([dyn(1), dyn(2.5), dyn(true), dyn(null)]), 'b': dyn(timestamp('2026-01-02T03:04:05Z')), 'c': object.name}", nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(compiled.Value(map[string]any{"object": map[string]any{"name": "web"}}, NewBudget())).To(Equal(map[string]any{
		"a": []any{int64(1), 2.5, true, nil}, "b": "2026-01-02T03:04:05Z", "c": "web",
	}))
	for text, problem := range map[string]string{
		"duration('1s')": "a value of type google.protobuf.Duration has no JSON form",
		"[b'a']":         "a value of type bytes has no JSON form",
		"{1: 2}":         "a field name has type int, not string",
		"{'a': b'a'}":    "a value of type bytes has no JSON form",
		"object.missing": "no such key: missing",
	} {
		compiled, err := Compile(newEnv(t), text, nil)
		g.Expect(err).NotTo(HaveOccurred())
		_, err = compiled.Value(map[string]any{"object": map[string]any{}}, NewBudget())
		g.Expect(err).To(MatchError(problem))
	}
}

func TestHoldsLimitsTheCost(t *testing.T) {
	g := NewWithT(t)
	long := make([]any, 2000)
	for i := range long {
		long[i] = int64(i)
	}
	variables := map[string]any{"object": map[string]any{"list": long}}
	dear, err := Compile(newEnv(t), "object.list.all(a, object.list.all(b, a + b >= 0))", cel.BoolType)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = dear.Holds(variables, NewBudget())
	g.Expect(err).To(MatchError(ContainSubstring("operation cancelled: actual cost limit exceeded")))

	cheap, err := Compile(newEnv(t), "object.list.all(a, a >= 0)", cel.BoolType)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(cheap.Holds(variables, NewBudget())).To(BeTrue())
	allowed := &Budget{left: 1000}
	_, err = cheap.Holds(variables, allowed)
	g.Expect(err).To(MatchError("the expressions exceed the cost limit together"))
	g.Expect(allowed.left).To(BeZero())
}
