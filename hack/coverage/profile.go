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
	"cmp"
	"fmt"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// kind is what a file is.
type kind int

const (
	// effects is a file that may change or ask the world.
	effects kind = iota
	// pure is a file that can't, by what it imports.
	pure
	// generated is a file that nobody wrote.
	generated
)

// effectful are the beginnings of what a pure file doesn't import.
func effectful() []string {
	return []string{
		"sigs.k8s.io/controller-runtime", "k8s.io/client-go", "github.com/prometheus/", "go.opentelemetry.io/", "net/http", "net", "os", "context", "sync",
	}
}

// kindOf looks at what a file imports. A context is for calls that take time and a lock for what is shared, which a decision does
// without.
func kindOf(file string) (kind, error) {
	if strings.HasPrefix(path.Base(file), "zz_generated") {
		return generated, nil
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		return effects, fmt.Errorf("reading the imports of %s: %w", file, err)
	}
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return effects, fmt.Errorf("reading the imports of %s: %w", file, err)
		}
		isEffect := func(prefix string) bool {
			return imported == prefix || strings.HasPrefix(imported, strings.TrimSuffix(prefix, "/")+"/")
		}
		if slices.ContainsFunc(effectful(), isEffect) && imported != "net/url" {
			return effects, nil
		}
	}
	return pure, nil
}

// share is how many statements there are, and how many of them tests reach.
type share struct{ statements, reached int }

func (s share) percent() float64 { return 100 * float64(s.reached) / float64(s.statements) }

// String is empty where there is nothing to reach.
func (s share) String() string {
	if s.statements == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f%%", s.percent())
}

func (s *share) add(other share) {
	s.statements += other.statements
	s.reached += other.reached
}

// pkg is a package with what tests reach of it.
type pkg struct {
	path       string
	pure, rest share
}

// parseProfile reads what tests reach of each file from what go test -coverprofile writes:
//
//	mode: set
//	example.com/module/package/file.go:27.28,36.2 7 1
func parseProfile(profile string) (map[string]share, error) {
	reached := map[string]share{}
	for line := range strings.Lines(profile) {
		if strings.HasPrefix(line, "mode:") {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) != 3 {
			return nil, fmt.Errorf("the profile has the line %q", line)
		}
		file, _, found := strings.Cut(fields[0], ":")
		statements, malformed := strconv.Atoi(fields[1])
		if !found || malformed != nil {
			return nil, fmt.Errorf("the profile has the line %q", line)
		}
		block := share{statements: statements}
		if fields[2] != "0" {
			block.reached = statements
		}
		sum := reached[file]
		sum.add(block)
		reached[file] = sum
	}
	return reached, nil
}

// count puts files together to packages, in alphabetical order.
func count(reached map[string]share, kindOf func(file string) (kind, error)) ([]pkg, error) {
	packages := map[string]pkg{}
	for file, found := range reached {
		what, err := kindOf(file)
		if err != nil {
			return nil, err
		}
		sum := packages[path.Dir(file)]
		sum.path = path.Dir(file)
		switch what {
		case pure:
			sum.pure.add(found)
		case effects:
			sum.rest.add(found)
		case generated:
		}
		packages[sum.path] = sum
	}
	var sorted []pkg
	for _, found := range packages {
		if found.pure.statements+found.rest.statements > 0 {
			sorted = append(sorted, found)
		}
	}
	slices.SortFunc(sorted, func(a, b pkg) int { return cmp.Compare(a.path, b.path) })
	return sorted, nil
}
