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

// Package supplychain tests the targets of the Makefile that check the modules linked into the manager.
package supplychain

import (
	"os/exec"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// Tests can't use public databases: this one has a vulnerability of os.OpenFile, and one of strings.ToUpper that was
// fixed long ago.
func TestMakeVulncheckFailsForWhatIsCalledAndNotFixed(t *testing.T) {
	g := NewWithT(t)
	database, err := filepath.Abs("testdata/vulndb")
	g.Expect(err).NotTo(HaveOccurred())
	vulncheck := func(pkg string) (string, error) {
		return runMake(t, "vulncheck", "GOVULNDB=file://"+database, "PKG=./hack/supplychain/testdata/"+pkg)
	}
	found, err := vulncheck("called")
	g.Expect(err).To(HaveOccurred())
	g.Expect(found).To(ContainSubstring("called.main calls os.OpenFile"))
	found, err = vulncheck("uncalled")
	g.Expect(err).NotTo(HaveOccurred(), found)
	g.Expect(found).To(ContainSubstring("No vulnerabilities found"))
}

func TestMakeLicensesFailsForALicenceThatIsNotAllowed(t *testing.T) {
	g := NewWithT(t)
	found, err := runMake(t, "licenses", "ALLOWED_LICENSES=Apache-2.0,BSD-2-Clause,BSD-3-Clause,MIT")
	g.Expect(err).To(HaveOccurred())
	g.Expect(found).To(ContainSubstring("Not allowed license 'ISC' found for library 'github.com/davecgh/go-spew/spew'."))
	g.Expect(found).NotTo(ContainSubstring("'MIT'"))
}

// runMake runs make in the root of the repository.
func runMake(t *testing.T, args ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "make", args...)
	command.Dir = "../.."
	output, err := command.CombinedOutput()
	return string(output), err
}
