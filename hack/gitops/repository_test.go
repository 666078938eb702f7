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
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestRepositoryRevertsCommits(t *testing.T) {
	g := NewWithT(t)
	r := &repository{name: "web", folder: t.TempDir()}
	g.Expect(r.run(t.Context(), "init", "--quiet", "--initial-branch=main")).To(Succeed())
	heads := map[string]bool{}
	for _, next := range []version{{[]byte("one"), "first"}, {[]byte("two"), "second"}, {[]byte("three"), "third"}} {
		g.Expect(r.bring(t.Context(), next)).To(Succeed())
		g.Expect(os.ReadFile(filepath.Join(r.folder, "workload.yaml"))).To(Equal(next.workload))
		heads[r.head] = true
	}
	g.Expect(r.back(t.Context(), 2)).To(Equal("git revert HEAD~2..HEAD"))
	heads[r.head] = true
	g.Expect(heads).To(HaveLen(4))
	g.Expect(r.head).To(HaveLen(40))
	g.Expect(os.ReadFile(filepath.Join(r.folder, "workload.yaml"))).To(BeEquivalentTo("one"))
	g.Expect(os.ReadFile(filepath.Join(r.folder, "config.yaml"))).To(BeEquivalentTo(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web"},"data":{"note":"first"}}`))
}

// kustomizationOf returns one with this status.
func kustomizationOf(t *testing.T, status string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	content, err := yaml.YAMLToJSON([]byte("{apiVersion: v1, kind: Kustomization, status: " + status + "}"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(object.UnmarshalJSON(content)).To(Succeed())
	return object
}

func TestOfKustomizationIsWhatItShowsOfTheNewestCommit(t *testing.T) {
	g := NewWithT(t)
	const status = "{lastAttemptedRevision: 'main@sha1:REVISION', conditions: [{type: Other, status: 'True'}, {type: Ready, status: 'STATUS', reason: R, message: 'SAYS'}]}"
	of := func(revision, ready, says string) (outcome, error) {
		return ofKustomization(kustomizationOf(t, strings.NewReplacer("REVISION", revision, "STATUS", ready, "SAYS", says).Replace(status)), "new")
	}
	g.Expect(of("new", "True", "Applied revision: main@sha1:new")).To(Equal(outcome{ok: true, says: "Ready=True R: Applied revision: main@sha1:new"}))
	g.Expect(of("new", "False", "denied")).To(Equal(outcome{says: "Ready=False R: denied"}))
	g.Expect(of("new", "Unknown", "Reconciliation in progress")).To(Equal(outcome{says: "Ready=Unknown R: Reconciliation in progress"}))
	_, err := of("old", "False", "denied")
	g.Expect(err).To(MatchError("the commit that Flux tried last is main@sha1:old, and it shows Ready=False R: denied"))
	_, err = of("new", "True", "Applied revision: main@sha1:old")
	g.Expect(err).To(MatchError("the commit that Flux tried last is main@sha1:new, and it shows Ready=True R: Applied revision: main@sha1:old"))
	_, err = ofKustomization(kustomizationOf(t, "{}"), "new")
	g.Expect(err).To(HaveOccurred())
}

func TestReconciliationsAreThoseOfTheNewestVersion(t *testing.T) {
	g := NewWithT(t)
	g.Expect(reconciliations(kustomizationOf(t, "{history: [{totalReconciliations: 3}, {totalReconciliations: 9}]}"))).To(BeEquivalentTo(3))
	g.Expect(reconciliations(kustomizationOf(t, "{}"))).To(BeZero())
}
