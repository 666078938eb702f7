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

package history_test

import (
	"encoding/json"
	"testing"

	"github.com/traas-stack/altershield-operator/controllers/history"
	"github.com/traas-stack/altershield-operator/controllers/platform/podtemplate"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
)

// A kept template that was changed by hand is left out, or read as it is. It never breaks the others or the next rollback.
func FuzzAKeptTemplate(f *testing.F) {
	for _, seed := range []string{
		sleep, `{"spec":{"template":{"spec":{}}}}`, `{"spec":{"template":{}}}`, `{"spec":{"template":null}}`, `{"spec":[]}`, `{}`, `null`,
		`{"spec":{"template":{"a":1}},"lastApplied":{"template":{"b":2}}}`, `{"spec":{"template":{"a":1}},"lastApplied":[]}`,
		`{"spec":{"template":{"a":1}},"lastApplied":{"template":"x"}}`, `{"spec":{"template":{"metadata":{"labels":[]}}}}`,
	} {
		f.Add(seed, int64(1))
	}
	f.Fuzz(func(t *testing.T, data string, number int64) {
		if !json.Valid([]byte(data)) {
			return // the API server accepts nothing else
		}
		const version, other = "c6c45d23c098bdf181853a85b60b5d74", "6a8ff823a5011291b0f02a1d83c2222d"
		c := newCluster(t, 7, newRevision(version, number, holding(data)), newRevision(other, 3))
		kept, err := c.keeper().List(t.Context(), deployment.Kind{}, slim())
		if err != nil {
			t.Fatalf("%s keeps the templates from being listed: %v", data, err)
		}
		byVersion := map[string]history.Revision{}
		for _, revision := range kept {
			byVersion[revision.Version] = revision
		}
		if _, found := byVersion[other]; !found {
			t.Errorf("%s takes another template with it", data)
		}
		var object map[string]any
		if json.Unmarshal([]byte(data), &object) != nil {
			object = nil
		}
		revision, found := byVersion[version]
		switch {
		case found != (len(podtemplate.Of(object)) > 0):
			t.Errorf("%s is listed: %t", data, found)
		case found && (revision.Release != number || len(revision.Content) == 0):
			t.Errorf("%s is kept as %+v", data, revision)
		case found:
			// Requesting it is harmless, whether it has a version or not.
			if version, err := workload.VersionOf(deployment.Kind{}, revision.Content); err == nil && len(version) != 32 {
				t.Errorf("%s has the version %q", data, version)
			}
		}
	})
}
