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
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/licenseclassifier/v2/assets"
	. "github.com/onsi/gomega"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// built is a program of this module, small and yet made of many modules.
func built(t *testing.T) string {
	binary := filepath.Join(t.TempDir(), "program")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", binary, "../permissions")
	output, err := build.CombinedOutput()
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), string(output))
	return binary
}

func TestAProgramIsMadeOfTheModulesThatAreLinkedIntoIt(t *testing.T) {
	g := NewWithT(t)
	made, err := readBuild(t.Context(), built(t))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(made.Module).To(Equal("github.com/traas-stack/altershield-operator"))
	g.Expect(made.Settings).To(HaveKeyWithValue("GOOS", runtime.GOOS))
	modules := map[string]module{}
	for _, each := range made.Modules {
		modules[each.Path] = each
	}
	g.Expect(modules).NotTo(HaveKey(made.Module))
	g.Expect(modules).NotTo(HaveKey("github.com/onsi/gomega"), "tests alone use it")
	g.Expect(modules["stdlib"].Version).To(Equal(strings.TrimPrefix(runtime.Version(), "go")))
	g.Expect(filepath.Join(modules["stdlib"].Root, "LICENSE")).To(BeAnExistingFile())
	api := modules["k8s.io/api"]
	g.Expect(api.Sum).To(HavePrefix("h1:"))
	g.Expect(api.Root).To(HaveSuffix("k8s.io/api@" + api.Version))
	g.Expect(api.Dirs).To(ContainElement(filepath.Join(api.Root, "rbac", "v1")))
	g.Expect(api.Imports).To(ContainElements("k8s.io/apimachinery", "stdlib"))
	g.Expect(api.Imports).NotTo(ContainElement("k8s.io/api"))
}

func TestAProgramThatWasBuiltFromAnotherGoModIsRefused(t *testing.T) {
	used := listed{ImportPath: "example.com/a/b", Dir: "/mod/a/b", Module: &struct{ Path, Dir string }{"example.com/a", "/mod/a"}}
	standard := listed{ImportPath: "os", Dir: "/go/src/os", Standard: true}
	a, b := &debug.Module{Path: "example.com/a", Version: "v1.0.0"}, &debug.Module{Path: "example.com/b", Version: "v1.0.0"}
	for name, test := range map[string]struct {
		linked   []*debug.Module
		packages []listed
		want     string
	}{
		"without a module": {nil, []listed{standard, used}, "go.mod needs example.com/a for example.com/a/b"},
		"with one more":    {[]*debug.Module{a, b}, []listed{standard, used}, "the program was built with example.com/b"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := modulesOf(&debug.BuildInfo{Deps: test.linked}, test.packages)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(test.want)))
		})
	}
}

func TestAModuleThatIsReplacedCountsAsTheOneInItsPlace(t *testing.T) {
	g := NewWithT(t)
	modules, err := modulesOf(&debug.BuildInfo{GoVersion: "go1.26.0", Deps: []*debug.Module{{
		Path: "example.com/a", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/fork", Version: "v1.2.3", Sum: "h1:x"},
	}}}, []listed{
		{ImportPath: "example.com/a/b", Dir: "/mod/a/b", Module: &struct{ Path, Dir string }{"example.com/a", "/mod/a"}, Imports: []string{"os"}},
		{ImportPath: "os", Dir: "/go/src/os", Standard: true},
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(modules).To(Equal([]module{
		{Path: "example.com/fork", Version: "v1.2.3", Sum: "h1:x", Root: "/mod/a", Dirs: []string{"/mod/a/b"}, Imports: []string{"stdlib"}},
		{Path: "stdlib", Version: "1.26.0", Root: "/go", Dirs: []string{"/go/src/os"}},
	}))
}

// textOf is the text of a licence.
func textOf(t *testing.T, file string) string {
	text, err := assets.ReadLicenseFile("License/" + file)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return string(text)
}

func TestLicencesAreRecognisedBesideAndAboveThePackagesThatAreLinked(t *testing.T) {
	g := NewWithT(t)
	root := filepath.Join(t.TempDir(), "module")
	for file, text := range map[string]string{
		"../LICENSE":         textOf(t, "GPL-2.0/license.txt"),
		"LICENSE":            "Copyright 2026 Somebody\n\n" + textOf(t, "MIT/pristine.txt") + "\n" + textOf(t, "BSD-3-Clause/pristine.txt"),
		"NOTICE":             "Made by somebody.",
		"license.go":         "package module",
		"deep/COPYING.md":    textOf(t, "MPL-2.0/license.txt"),
		"deep/down/README":   "text",
		"unlinked/LICENCE":   textOf(t, "GPL-2.0/license.txt"),
		"deep/down/LICENSES": "Do as you like, on Sundays.",
	} {
		path := filepath.Join(root, file)
		g.Expect(os.MkdirAll(filepath.Dir(path), 0o755)).To(Succeed())
		g.Expect(os.WriteFile(path, []byte(text), 0o600)).To(Succeed())
	}
	found, err := recognise([]module{{Path: "example.com/module", Version: "v1.0.0", Root: root, Dirs: []string{filepath.Join(root, "deep", "down"), root}}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found).To(HaveLen(1))
	files := map[string][]string{}
	for _, notice := range found[0].Notices {
		files[notice.File] = notice.Licences
	}
	g.Expect(files).To(Equal(map[string][]string{
		"LICENSE": {"BSD-3-Clause", "MIT"}, "NOTICE": nil, "deep/COPYING.md": {"MPL-2.0"}, "deep/down/LICENSES": nil,
	}))
	g.Expect(found[0].names()).To(Equal([]string{"BSD-3-Clause", "MIT", "MPL-2.0"}))
	g.Expect(judge(found)).To(Equal([]string{"example.com/module v1.0.0: deep/down/LICENSES is no licence that is known"}))
}

func TestOnlyLicencesOnTheListMayBeShipped(t *testing.T) {
	for name, test := range map[string]struct {
		notices []notice
		want    []string
	}{
		"one on the list":    {[]notice{{"LICENSE", []string{"Apache-2.0"}, ""}, {"NOTICE.txt", nil, ""}}, nil},
		"one that asks more": {[]notice{{"LICENSE", []string{"MPL-2.0"}, ""}}, nil},
		"one that is not":    {[]notice{{"LICENSE", []string{"AGPL-3.0", "MIT"}, ""}}, []string{"a v1: LICENSE is the licence AGPL-3.0, which is not allowed"}},
		"none":               {nil, []string{"a v1 has no licence that is known"}},
		"a notice alone":     {[]notice{{"NOTICE", nil, ""}}, []string{"a v1 has no licence that is known"}},
		"one that nobody knows": {[]notice{{"COPYING", nil, ""}}, []string{
			"a v1 has no licence that is known", "a v1: COPYING is no licence that is known"}},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(judge([]licensed{{module{Path: "a", Version: "v1"}, test.notices}})).To(Equal(test.want))
		})
	}
}

func TestEachTextGoesWithTheProgramOnce(t *testing.T) {
	g := NewWithT(t)
	text := notices([]licensed{
		{module{Path: "a", Version: "v1"}, []notice{{"LICENSE", nil, "free\n"}}},
		{module{Path: "b", Version: "v2"}, []notice{{"NOTICE", nil, "by b"}, {"x/LICENSE", nil, "free\n"}}},
	})
	g.Expect(strings.Count(text, "free")).To(Equal(1))
	g.Expect(text).To(ContainSubstring("\na v1: LICENSE\nb v2: x/LICENSE\n\nfree\n"))
	g.Expect(text).To(ContainSubstring("\nb v2: NOTICE\n\nby b\n"))
}

func TestTheBillOfMaterialsNamesEverything(t *testing.T) {
	g := NewWithT(t)
	made := build{Module: "github.com/traas-stack/altershield-operator", Settings: map[string]string{"GOOS": "linux", "GOARCH": "arm64", "CGO_ENABLED": "0"}}
	modules := []licensed{
		{module{Path: "example.com/Upper/b", Version: "v1.0.0+incompatible", Sum: "h1:abc=", Imports: []string{"stdlib"}}, []notice{{"LICENSE", []string{"MIT"}, ""}}},
		{module{Path: "stdlib", Version: "1.26.8"}, nil},
	}
	of := program{Version: "v1.2.3", Commit: "0123abc", Hash: strings.Repeat("ab", 32), Licences: []string{"Apache-2.0"}, Date: time.Unix(1700000000, 0).In(time.FixedZone("", 3600))}
	bom := encoded(t, newBOM(of, made, modules))
	g.Expect(bom).To(Equal(encoded(t, newBOM(of, made, modules))), "the same each time")
	g.Expect(validate(t, bom)).To(Succeed())

	var read cyclonedx.BOM
	g.Expect(json.Unmarshal(bom, &read)).To(Succeed())
	main := read.Metadata.Component
	g.Expect(read.Metadata.Timestamp).To(Equal("2023-11-14T22:13:20Z"))
	g.Expect(main.PackageURL).To(Equal("pkg:golang/github.com/traas-stack/altershield-operator@v1.2.3"))
	g.Expect(*main.Properties).To(ContainElements(
		cyclonedx.Property{Name: "commit", Value: "0123abc"}, cyclonedx.Property{Name: "GOARCH", Value: "arm64"}))
	components := *read.Components
	g.Expect(components).To(HaveLen(2))
	g.Expect(components[0].PackageURL).To(Equal("pkg:golang/example.com/Upper/b@v1.0.0%2Bincompatible"))
	g.Expect(*components[0].Licenses).To(Equal(cyclonedx.Licenses{{License: &cyclonedx.License{ID: "MIT"}}}))
	g.Expect(*components[0].Properties).To(Equal([]cyclonedx.Property{{Name: "go.sum", Value: "h1:abc="}}))
	g.Expect(components[1].PackageURL).To(Equal("pkg:golang/stdlib@1.26.8"))
	g.Expect(*read.Dependencies).To(HaveLen(3))
	g.Expect(*(*read.Dependencies)[0].Dependencies).To(HaveLen(2))
	g.Expect(*(*read.Dependencies)[1].Dependencies).To(Equal([]string{"pkg:golang/stdlib@1.26.8"}))

	of.Hash = strings.Repeat("cd", 32)
	g.Expect(newBOM(of, made, modules).SerialNumber).NotTo(Equal(read.SerialNumber), "another program")
	of.Date = time.Time{}
	g.Expect(newBOM(of, made, modules).Metadata.Timestamp).To(BeEmpty())
	of.Licences = []string{"not an SPDX identifier"}
	g.Expect(validate(t, encoded(t, newBOM(of, made, modules)))).NotTo(Succeed())
}

func encoded(t *testing.T, bom *cyclonedx.BOM) []byte {
	var text bytes.Buffer
	NewWithT(t).Expect(writeBOM(&text, bom)).To(Succeed())
	return text.Bytes()
}

// validate checks a document against the schema of CycloneDX 1.6.
func validate(t *testing.T, document []byte) error {
	g := NewWithT(t)
	output, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go").Output()
	g.Expect(err).NotTo(HaveOccurred())
	compiler := jsonschema.NewCompiler()
	const base = "http://cyclonedx.org/schema/"
	for name, file := range map[string]string{
		"bom-1.6.schema.json": "bom-1.6.schema.json", "spdx.schema.json": "spdx.schema.json", "jsf-0.82.schema.json": "jsf-0.82.schemax.json",
	} {
		content, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(output)), "schema", file))
		g.Expect(err).NotTo(HaveOccurred())
		schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(compiler.AddResource(base+name, schema)).To(Succeed())
	}
	schema, err := compiler.Compile(base + "bom-1.6.schema.json")
	g.Expect(err).NotTo(HaveOccurred())
	read, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	g.Expect(err).NotTo(HaveOccurred())
	return schema.Validate(read)
}

func TestBothCommandsWorkOnAProgram(t *testing.T) {
	g := NewWithT(t)
	binary, dir := built(t), t.TempDir()
	t.Chdir("../..")
	var table bytes.Buffer
	g.Expect(run(t.Context(), []string{"licenses", "--binary", binary, "--out", filepath.Join(dir, "licences")}, &table)).To(Succeed())
	g.Expect(table.String()).To(MatchRegexp(`(?m)^k8s\.io/api +v\S+ +Apache-2\.0$`))
	g.Expect(table.String()).To(MatchRegexp(`(?m)^stdlib +\S+ +BSD-3-Clause$`))
	g.Expect(os.ReadFile(filepath.Join(dir, "licences"))).To(ContainSubstring("Apache License"))

	bom := func(file string) []byte {
		g.Expect(run(t.Context(), []string{"sbom", "--binary", binary, "--out", filepath.Join(dir, file), "--version", "v1.0.0", "--date", "1700000000"}, &table)).To(Succeed())
		content, err := os.ReadFile(filepath.Join(dir, file))
		g.Expect(err).NotTo(HaveOccurred())
		return content
	}
	once := bom("once")
	g.Expect(bom("again")).To(Equal(once))
	g.Expect(validate(t, once)).To(Succeed())
	var read cyclonedx.BOM
	g.Expect(json.Unmarshal(once, &read)).To(Succeed())
	g.Expect(*read.Metadata.Component.Licenses).To(Equal(cyclonedx.Licenses{{License: &cyclonedx.License{ID: "Apache-2.0"}}}))
}

func TestWrongCommandsSayWhatIsWrong(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"none":         {nil, "say what to do: licenses or sbom"},
		"unknown":      {[]string{"sell"}, `unknown command "sell"`},
		"no program":   {[]string{"sbom", "--binary", "main.go"}, "reading what main.go is built from"},
		"not a number": {[]string{"sbom", "--date", "today"}, "it must be a number of seconds"},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(run(t.Context(), test.args, &bytes.Buffer{})).To(MatchError(ContainSubstring(test.want)))
		})
	}
}
