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

package manifests_test

import (
	"os/exec"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/hack/manifests"
)

func TestDecodeLeavesEmptyDocumentsOut(t *testing.T) {
	g := NewWithT(t)
	objects, err := manifests.Decode(strings.NewReader("---\n# nothing\n---\nkind: A\napiVersion: v1\n---\n---\nkind: B\napiVersion: v1\n"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(objects).To(HaveLen(2))
	g.Expect(objects[0].GetKind() + objects[1].GetKind()).To(Equal("AB"))
}

func TestDecodeFailsAtADocumentThatIsNoObject(t *testing.T) {
	_, err := manifests.Decode(strings.NewReader("metadata: {name: a}\n"))
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("Kind")))
}

func TestBuildReportsWhyAKustomizationFails(t *testing.T) {
	_, err := manifests.Build(exec.CommandContext(t.Context(), "sh", "-c", "echo no such resource >&2; exit 1"), "config/default")
	NewWithT(t).Expect(err).To(MatchError("building kustomization config/default: exit status 1: no such resource"))
}
