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

package podtemplate

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/traas-stack/altershield-operator/controllers/testkit/sleep"
)

// kubectl finds the template that a rollback puts into the last applied configuration, and nothing else of it changes.
func FuzzTheConfigurationThatWasAppliedLast(f *testing.F) {
	for _, seed := range []string{
		sleep.Manifest, `{"spec":{"template":{}}}`, `{"spec":{"template":null}}`, `{"spec":{"template":[]}}`, `{"spec":[]}`, `{}`, `null`, `[]`, ``, `nonsense`,
		`{"spec":{"replicas":9007199254740993,"template":{"a":1}}}`, `{"spec":{"template":{"a":1}},"spec":{"template":{"b":2}}}`,
		"{\"spec\":{\"template\":{\"\xff\":1e400}}}", `{"spec":{"template":{"\ud800":"<>&\u2028"}}}`,
	} {
		f.Add(seed, `{"spec":{"b":"x -> y"}}`)
		f.Add(seed, `null`)
	}
	f.Fuzz(func(t *testing.T, annotation, other string) {
		var template Template
		if utiljson.Unmarshal([]byte(other), &template) != nil {
			return
		}
		annotations := map[string]string{appliedKey: annotation}
		applied := Applied(annotations)
		written, err := WithApplied(annotations, template)
		switch {
		case err != nil:
			t.Fatalf("%q can't take %s: %v", annotation, other, err)
		case (written == "") != (applied == nil || template == nil):
			t.Fatalf("%q with %s is %q", annotation, other, written)
		case written == "":
			return
		}
		again := Applied(map[string]string{appliedKey: written})
		if !strings.HasSuffix(written, "}\n") || !again.Equal(template) || len(again) != len(template) {
			t.Errorf("%s goes into %q and comes out as %v", other, annotation, again)
		}
		if one, two := rest(t, annotation), rest(t, written); one != two {
			t.Errorf("the rest was %s and is %s", one, two)
		}
	})
}

// rest returns a manifest without its pod template.
func rest(t *testing.T, manifest string) string {
	t.Helper()
	var parsed map[string]any
	if err := utiljson.Unmarshal([]byte(manifest), &parsed); err != nil {
		t.Fatal(err)
	}
	spec := maps.Clone(parsed["spec"].(map[string]any))
	delete(spec, "template")
	parsed["spec"] = spec
	written, err := json.Marshal(parsed)
	if err != nil {
		t.Fatal(err)
	}
	return string(written)
}
