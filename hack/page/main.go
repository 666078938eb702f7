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
// Command page builds the page of kubectl altershield dashboard from its sources: esbuild bundles them, Node isn't needed. The bundle is
// committed, so that the plugin builds without it; --check tells whether it is what the sources give. It runs in the root of the repository.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

const (
	sources = "cmd/kubectl-altershield/dashboard/page"
	assets  = "cmd/kubectl-altershield/dashboard/assets"
)

func main() {
	check := flag.Bool("check", false, "Compare the committed bundle with what the sources give, and write nothing.")
	flag.Parse()
	if err := run(*check, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "page:", err)
		os.Exit(1)
	}
}

func run(check bool, out io.Writer) error {
	sentences, err := sentencesOfDoctor("cmd/kubectl-altershield/render")
	if err != nil {
		return err
	}
	generated := filepath.Join(sources, "src/text/symptoms.ts")
	if !check {
		if err := os.WriteFile(generated, sentences, 0o644); err != nil {
			return fmt.Errorf("writing the sentences of doctor: %w", err)
		}
	} else if known, err := os.ReadFile(generated); err != nil || !bytes.Equal(known, sentences) {
		return fmt.Errorf("%s isn't what package render has (%w): run make page", generated, errors.Join(err, errStale))
	}
	built, err := build(sources)
	if err != nil {
		return err
	}
	size, err := weigh(built)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "JavaScript and CSS: %d bytes compressed, of at most %d\n", size, budget)
	if check {
		return compare(assets, built)
	}
	return write(assets, built)
}

// errStale is that of a committed file that isn't what the sources give.
var errStale = errors.New("the committed file is stale")

// compare compares a folder with the files that it should have.
func compare(folder string, files map[string][]byte) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("listing the committed bundle: %w", err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if wanted := slices.Sorted(maps.Keys(files)); !slices.Equal(names, wanted) {
		return fmt.Errorf("%s has %v instead of %v: run make page: %w", folder, names, wanted, errStale)
	}
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return fmt.Errorf("reading the committed bundle: %w", err)
		}
		if !bytes.Equal(content, files[name]) {
			return fmt.Errorf("%s/%s differs from what the sources give: run make page: %w", folder, name, errStale)
		}
	}
	return nil
}

// write replaces the files of a folder.
func write(folder string, files map[string][]byte) error {
	if err := os.RemoveAll(folder); err != nil {
		return fmt.Errorf("removing the old bundle: %w", err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("creating the folder of the bundle: %w", err)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
			return fmt.Errorf("writing the bundle: %w", err)
		}
	}
	return nil
}
