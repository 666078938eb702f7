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
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
	"github.com/package-url/packageurl-go"
)

// program is what the bill of materials says of the program itself.
type program struct {
	// Version and Commit are those that were stamped into it.
	Version, Commit string
	// Hash is its SHA-256 hash in hexadecimal digits.
	Hash string
	// Licences are those of its own code.
	Licences []string
	// Date is when its source code was committed; zero if that is not known.
	Date time.Time
}

// newBOM is the bill of materials of a program, the same each time.
func newBOM(of program, made build, modules []licensed) *cyclonedx.BOM {
	main := cyclonedx.Component{
		BOMRef: purl(made.Module, of.Version), Type: cyclonedx.ComponentTypeApplication,
		Name: made.Module, Version: of.Version, PackageURL: purl(made.Module, of.Version), Licenses: licencesOf(of.Licences),
		Hashes:     &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: of.Hash}},
		Properties: &[]cyclonedx.Property{{Name: "commit", Value: of.Commit}},
	}
	for _, setting := range []string{"CGO_ENABLED", "GOARCH", "GOOS"} {
		*main.Properties = append(*main.Properties, cyclonedx.Property{Name: setting, Value: made.Settings[setting]})
	}
	bom := cyclonedx.NewBOM()
	// The same program has the same number, another one a different number.
	bom.SerialNumber = uuid.NewSHA1(uuid.NameSpaceURL, []byte(main.PackageURL+"#"+of.Hash)).URN()
	bom.Metadata = &cyclonedx.Metadata{Component: &main}
	if !of.Date.IsZero() {
		bom.Metadata.Timestamp = of.Date.UTC().Format(time.RFC3339)
	}
	refs := map[string]string{}
	for _, each := range modules {
		refs[each.Path] = purl(each.Path, each.Version)
	}
	components := make([]cyclonedx.Component, 0, len(modules))
	uses := cyclonedx.Dependency{Ref: main.BOMRef, Dependencies: &[]string{}}
	dependencies := []cyclonedx.Dependency{uses}
	for _, each := range modules {
		components = append(components, component(each))
		*uses.Dependencies = append(*uses.Dependencies, refs[each.Path])
		imports := []string{}
		for _, imported := range each.Imports {
			imports = append(imports, refs[imported])
		}
		dependencies = append(dependencies, cyclonedx.Dependency{Ref: refs[each.Path], Dependencies: &imports})
	}
	bom.Components, bom.Dependencies = &components, &dependencies
	return bom
}

func component(of licensed) cyclonedx.Component {
	made := cyclonedx.Component{
		BOMRef: purl(of.Path, of.Version), Type: cyclonedx.ComponentTypeLibrary, Scope: cyclonedx.ScopeRequired,
		Name: of.Path, Version: of.Version, PackageURL: purl(of.Path, of.Version), Licenses: licencesOf(of.names()),
	}
	if of.Sum != "" {
		// It is a hash of the module's file names and hashes, so it is none of those that CycloneDX knows.
		made.Properties = &[]cyclonedx.Property{{Name: "go.sum", Value: of.Sum}}
	}
	return made
}

func licencesOf(names []string) *cyclonedx.Licenses {
	var list cyclonedx.Licenses
	for _, name := range names {
		list = append(list, cyclonedx.LicenseChoice{License: &cyclonedx.License{ID: name}})
	}
	if len(list) == 0 {
		return nil
	}
	return &list
}

// purl is the package URL of a module.
func purl(module, version string) string {
	namespace := strings.TrimSuffix(strings.TrimSuffix(module, path.Base(module)), "/")
	return packageurl.NewPackageURL(packageurl.TypeGolang, namespace, path.Base(module), version, nil, "").ToString()
}

// writeBOM writes a bill of materials as JSON.
func writeBOM(out io.Writer, bom *cyclonedx.BOM) error {
	encoder := cyclonedx.NewBOMEncoder(out, cyclonedx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false)
	if err := encoder.EncodeVersion(bom, cyclonedx.SpecVersion1_6); err != nil {
		return fmt.Errorf("writing the bill of materials: %w", err)
	}
	return nil
}
