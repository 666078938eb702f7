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

package mutate_test

import (
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/hack/mutate"
)

const object = `{"metadata":{"name":"a"},"spec":{"count":3,"on":true,"kind":"one","when":"2026-11-21T10:00:00Z","list":[{"name":"x"},{"name":"y"}]}}`

// document has all kinds of references to other schemas that the API server uses, and a recursive schema.
const document = `{"components":{"schemas":{
	"Thing":{"type":"object","properties":{"spec":{"default":{},"allOf":[{"$ref":"#/components/schemas/Spec"}]}}},
	"Spec":{"type":"object","properties":{
		"count":{"type":"integer","minimum":1,"maximum":500},"on":{"type":"boolean"},"kind":{"type":"string","enum":["one","two"]},
		"when":{"type":"string","format":"date-time"},"list":{"type":"array","items":{"$ref":"#/components/schemas/Item"}}}},
	"Item":{"type":"object","properties":{"name":{"type":"string","maxLength":5},"more":{"type":"array","items":{"$ref":"#/components/schemas/Item"}}}}
}}}`

func thing(t *testing.T) (*mutate.Schema, map[string]any) {
	t.Helper()
	schema, err := mutate.OfDocument([]byte(document), "Thing")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	var parsed map[string]any
	NewWithT(t).Expect(json.Unmarshal([]byte(object), &parsed)).To(Succeed())
	return schema, parsed
}

func mutator(seed uint64) mutate.Mutator {
	return mutate.Mutator{Random: rand.New(rand.NewPCG(seed, 0))}
}

// patched returns the object after a mutation, as the API server would change it.
func patched(t *testing.T, mutation mutate.Mutation) string {
	t.Helper()
	patch, err := json.Marshal(mutation.Patch)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	result, err := jsonpatch.MergePatch([]byte(object), patch)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return string(result)
}

func TestMutatorMakesEveryKindOfMutation(t *testing.T) {
	g := NewWithT(t)
	schema, parsed := thing(t)
	made := map[string]bool{}
	for seed := range uint64(20_000) {
		mutation := mutator(seed).Of(schema, parsed, "spec")
		made[mutation.String()] = true
		g.Expect(mutation.Patch).To(And(HaveLen(1), HaveKey("spec")), "nothing but the spec changes")
	}
	for _, wanted := range []string{
		"spec.count = 4", "spec.count = 2", "spec.count = 0", "spec.count = 501", "spec.count = 9223372036854775807", "spec.count = null", `spec.count = "1"`,
		"spec.on = false", `spec.on = "true"`, "spec.on = null",
		`spec.kind = "two"`, `spec.kind = ""`, "spec.kind = null", "spec.kind = 7",
		`spec.when = "yesterday"`, `spec.when = "9999-12-31T23:59:59-01:00"`,
		"spec.list = []", "spec.list = null", `spec.list = [{"name":"x"}]`, `spec.list[2] = {"name":"x"}`, `spec.list[2] = {"name":"sample"}`,
		`spec.list[1].name = "发发发发发"`, `spec.list[1].name = "xxxxxx"`, `spec.list[0].more[0] = {"name":"sample"}`,
		"spec = {}", "spec = null", `spec = "none"`,
	} {
		g.Expect(made).To(HaveKey(wanted))
	}
}

func TestMutationIsMadeByItsPatch(t *testing.T) {
	schema, parsed := thing(t)
	for _, row := range []struct{ mutation, result string }{
		{"spec = {}", `{"metadata":{"name":"a"},"spec":{}}`},
		{"spec.count = null", `{"metadata":{"name":"a"},"spec":{"on":true,"kind":"one","when":"2026-11-21T10:00:00Z","list":[{"name":"x"},{"name":"y"}]}}`},
		{`spec.list[1].name = "-"`, strings.Replace(object, `"y"`, `"-"`, 1)},
		{`spec.list = [{"name":"x"}]`, strings.Replace(object, `,{"name":"y"}`, ``, 1)},
	} {
		t.Run(row.mutation, func(t *testing.T) {
			g := NewWithT(t)
			for seed := range uint64(20_000) {
				if mutation := mutator(seed).Of(schema, parsed, "spec"); mutation.String() == row.mutation {
					g.Expect(patched(t, mutation)).To(MatchJSON(row.result))
					return
				}
			}
			t.Error("it never comes up")
		})
	}
	NewWithT(t).Expect(json.Marshal(parsed)).To(MatchJSON(object), "the object that was given stays as it is")
}

func TestMutatorMakesTheSameMutationsFromTheSameSeed(t *testing.T) {
	schema, parsed := thing(t)
	one, two := mutator(7), mutator(7)
	for range 100 {
		NewWithT(t).Expect(one.Of(schema, parsed, "spec")).To(Equal(two.Of(schema, parsed, "spec")))
	}
}

func TestMutationNamesItsField(t *testing.T) {
	for path, field := range map[string]string{"spec": "spec", "spec.count": "count", "spec.list[1]": "list", "status.podResults[0].verdict": "verdict"} {
		NewWithT(t).Expect(mutate.Mutation{Path: path}.Field()).To(Equal(field))
	}
	long := mutate.Mutation{Path: "spec.kind", Value: strings.Repeat("x", 70_000)}.String()
	NewWithT(t).Expect(long).To(HaveSuffix("xxx... (70002 bytes)"))
	NewWithT(t).Expect(len(long)).To(BeNumerically("<", 200))
}

func TestOfCRDReadsTheSchemasOfTheOperator(t *testing.T) {
	for _, plural := range []string{"changeworkloads", "changepods", "opsconfiginfoes", "controlledkinds"} {
		g := NewWithT(t)
		schema, err := mutate.OfCRD(filepath.Join("..", "..", "config", "crd", "bases", "app.ops.cloud.alipay.com_"+plural+".yaml"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(schema.Properties["status"].Properties["conditions"].Items.Properties).To(HaveKey("lastTransitionTime"))
	}
	_, err := mutate.OfCRD("mutate.go")
	NewWithT(t).Expect(err).To(MatchError(HavePrefix("decoding CustomResourceDefinition mutate.go: ")))
	_, err = mutate.OfCRD("missing")
	NewWithT(t).Expect(err).To(MatchError(HavePrefix("reading a CustomResourceDefinition: ")))
	_, err = mutate.OfDocument([]byte(document), "Nothing")
	NewWithT(t).Expect(err).To(MatchError("the OpenAPI document has no schema Nothing among its 3"))
	_, err = mutate.OfDocument([]byte("nonsense"), "Thing")
	NewWithT(t).Expect(err).To(MatchError(HavePrefix("decoding an OpenAPI document: ")))
}
