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

package main

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

func TestViewOfACommitIsTheOutcomeOfItsOperation(t *testing.T) {
	of := func(sync, compared, phase, tried, message string) (outcome, error) {
		v := view{}
		v.Sync.Status, v.Sync.Revision, v.Health.Status = sync, compared, "Degraded"
		v.OperationState.Phase, v.OperationState.Message, v.OperationState.SyncResult.Revision = phase, message, tried
		return v.of("new")
	}
	g := NewWithT(t)
	g.Expect(of("Synced", "new", "Succeeded", "new", "all done")).To(Equal(outcome{ok: true, says: "Synced, Degraded; Succeeded: all done"}))
	g.Expect(of("OutOfSync", "new", "Failed", "new", "denied the\nrequest")).To(Equal(outcome{says: "OutOfSync, Degraded; Failed: denied the request"}))
	g.Expect(of("OutOfSync", "new", "Running", "new", "denied. Retrying attempt #3")).To(Equal(outcome{says: "OutOfSync, Degraded; Running: denied. Retrying attempt #3"}))
	for name, args := range map[string][5]string{
		"compared with another commit": {"Synced", "old", "Succeeded", "new", ""},
		"applied another commit":       {"Synced", "new", "Succeeded", "old", ""},
		"not compared again":           {"OutOfSync", "new", "Succeeded", "new", ""},
		"running":                      {"OutOfSync", "new", "Running", "new", ""},
		"failed to apply another one":  {"OutOfSync", "new", "Failed", "old", ""},
	} {
		_, err := of(args[0], args[1], args[2], args[3], args[4])
		g.Expect(err).To(MatchError(ContainSubstring("the commit that Argo CD tried last is "+args[3])), name)
	}
}

func TestViewSaysItsConditions(t *testing.T) {
	v := view{}
	v.Conditions = []struct{ Type, Message string }{{"ComparisonError", "denied"}}
	NewWithT(t).Expect(v.says()).To(HaveSuffix("; ComparisonError: denied"))
}

func TestDocumentedChecksAreTheConfigMapOfThePage(t *testing.T) {
	g := NewWithT(t)
	page := filepath.Join(t.TempDir(), "page.md")
	g.Expect(os.WriteFile(page, []byte("```yaml\nother: 1\n```\n```yaml\nmetadata:\n  name: argocd-cm\n```\n"), 0o600)).To(Succeed())
	g.Expect(documentedChecks(page)).To(BeEquivalentTo("metadata:\n  name: argocd-cm\n"))
	g.Expect(os.WriteFile(page, []byte("nothing"), 0o600)).To(Succeed())
	_, err := documentedChecks(page)
	g.Expect(err).To(MatchError(ContainSubstring("has no ConfigMap argocd-cm")))
}
