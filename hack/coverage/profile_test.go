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
)

func TestWhatAFileImportsTellsWhetherItDecides(t *testing.T) {
	for _, row := range []struct {
		name, file, imports string
		kind                kind
	}{
		{"with nothing but types it does", "a.go", `"fmt"; appsv1 "k8s.io/api/apps/v1"`, pure},
		{"a URL is a text", "a.go", `"net/url"`, pure},
		{"a client does more", "a.go", `"sigs.k8s.io/controller-runtime/pkg/client"`, effects},
		{"the root of a module counts", "a.go", `ctrl "sigs.k8s.io/controller-runtime"`, effects},
		{"metrics are effects", "a.go", `"github.com/prometheus/client_golang/prometheus"`, effects},
		{"HTTP is an effect", "a.go", `"net/http"`, effects},
		{"a name that only begins alike is another", "a.go", `"oswald"`, pure},
		{"what is generated is neither", "zz_generated.deepcopy.go", `"fmt"`, generated},
	} {
		t.Run(row.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), row.file)
			NewWithT(t).Expect(os.WriteFile(file, []byte("package a\nimport ("+row.imports+")\n"), 0o600)).To(Succeed())
			NewWithT(t).Expect(kindOf(file)).To(Equal(row.kind))
		})
	}
	_, err := kindOf("missing.go")
	NewWithT(t).Expect(err).To(MatchError(HavePrefix("reading the imports of missing.go: ")))
}

const profile = `mode: set
example.com/a/decide.go:1.1,2.2 90 1
example.com/a/decide.go:3.1,4.2 10 0
example.com/a/client.go:1.1,2.2 4 0
example.com/b/decide.go:1.1,2.2 1 1
`

func packagesOf(t *testing.T, profile string) []pkg {
	t.Helper()
	reached, err := parseProfile(profile)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	packages, err := count(reached, func(file string) (kind, error) {
		if strings.HasSuffix(file, "decide.go") {
			return pure, nil
		}
		return effects, nil
	})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return packages
}

func TestFilesAreCountedByPackage(t *testing.T) {
	NewWithT(t).Expect(packagesOf(t, profile)).To(Equal([]pkg{
		{path: "example.com/a", pure: share{100, 90}, rest: share{4, 0}}, {path: "example.com/b", pure: share{1, 1}},
	}))
	for _, malformed := range []string{"x\n", "a.go 1 1\n", "a.go:1.1,2.2 one 1\n"} {
		_, err := parseProfile(malformed)
		NewWithT(t).Expect(err).To(MatchError(HavePrefix("the profile has the line ")))
	}
}

func TestThePackagesThatTestsReachTooLittleOfAreNamed(t *testing.T) {
	g := NewWithT(t)
	out := &strings.Builder{}
	g.Expect(report(out, packagesOf(t, profile), 90)).To(Succeed(), "the rest is only shown")
	g.Expect(out.String()).To(ContainSubstring("example.com/a  90.0%   100         0.0%  4"))
	g.Expect(report(&strings.Builder{}, packagesOf(t, profile), 90.1)).To(MatchError(
		"tests reach less than 90.1% of the pure files of example.com/a (90.0%)"))
	g.Expect(report(&strings.Builder{}, nil, 90)).To(MatchError("no package has a statement"))
}
