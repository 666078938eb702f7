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

package config

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

const recordedSpec = `workload: {apiVersion: apps/v1, kind: Deployment, name: web, uid: 5a2c}
  release: 3
  version: 6a8ff823a5011291b0f02a1d83c2222d
  fromVersion: c6c45d23c098bdf181853a85b60b5d74
  type: Release
  releasedBy: alice
  startedAt: "2026-11-21T10:00:00Z"
  endedAt: "2026-11-21T10:05:00Z"
  outcome: Verified
  pods: {desired: 3, passed: 3, failed: 0}
  traceId: 0af7651916cd43dd8448eb211c80319c
  previous: {name: 8f1e-2, sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}
`

func TestChangeRecordsCannotBeChanged(t *testing.T) {
	judge := judgeOf(t, "app.ops.cloud.alipay.com_changerecords.yaml")
	const denied = "a ChangeRecord can't be changed: what a later verdict corrects is in a further record of the release"
	for name, row := range map[string]struct{ from, to, message string }{
		"the same again":    {"alice", "alice", ""},
		"another author":    {"releasedBy: alice", "releasedBy: mallory", denied},
		"another outcome":   {"outcome: Verified", "outcome: Failed", denied},
		"another time":      {"T10:05:00Z", "T10:06:00Z", denied},
		"fewer failed pods": {"failed: 0", "failed: 1", denied},
		"another link":      {"9f86d0", "9f86d1", denied},
		"no author":         {"  releasedBy: alice\n", "", denied},
		"no link":           {`  previous: {name: 8f1e-2, sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}` + "\n", "", denied},
	} {
		t.Run(name, func(t *testing.T) {
			message := judge.update(t, "spec:\n  "+recordedSpec, "spec:\n  "+strings.Replace(recordedSpec, row.from, row.to, 1))
			if row.message == "" {
				NewWithT(t).Expect(message).To(BeEmpty())
				return
			}
			NewWithT(t).Expect(message).To(ContainSubstring(row.message))
		})
	}
}

func TestChangeRecordsAreComplete(t *testing.T) {
	judge := judgeOf(t, "app.ops.cloud.alipay.com_changerecords.yaml")
	for name, row := range map[string]struct{ from, to, message string }{
		"whole":                      {"", "", ""},
		"the first of a workload":    {"  previous: {name", "  x: {name", ""},
		"a correction":               {"release: 3", "release: 3\n  correction: 9", ""},
		"too many corrections":       {"release: 3", "release: 3\n  correction: 10", "spec.correction in body should be less than or equal to 9"},
		"an outcome of its own":      {"outcome: Verified", "outcome: Fine", `spec.outcome: Unsupported value: "Fine"`},
		"a type of its own":          {"type: Release", "type: Hotfix", `spec.type: Unsupported value: "Hotfix": supported values: "Release", "Repair", "Rollback"`},
		"no outcome":                 {"  outcome: Verified\n", "", "spec.outcome: Required value"},
		"no numbers of pods":         {"  pods: {desired: 3, passed: 3, failed: 0}\n", "", "spec.pods: Required value"},
		"a version of its own":       {"version: 6a8ff", "version: v6a8f", "spec.version in body should match"},
		"a hash that is none":        {"9f86d081", "xf86d081", "spec.previous.sha256 in body should match"},
		"a time that Go can't read":  {"T10:05:00Z", "t10:05:00Z", "spec.endedAt in body should match"},
		"a message that is too long": {"outcome: Verified", "outcome: Verified\n  message: " + strings.Repeat("m", 257), "spec.message: Too long"},
	} {
		t.Run(name, func(t *testing.T) {
			_, message := judge.apply(t, "spec:\n  "+strings.Replace(recordedSpec, row.from, row.to, 1))
			if row.message == "" {
				NewWithT(t).Expect(message).To(BeEmpty())
				return
			}
			NewWithT(t).Expect(message).To(ContainSubstring(row.message))
		})
	}
}
