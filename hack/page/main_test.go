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
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// copyOf copies the sources, the bundle and the sentences of the repository, and goes there.
func copyOf(t *testing.T) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, folder := range []string{sources, assets, "cmd/kubectl-altershield/render"} {
		if err := os.CopyFS(folder, os.DirFS(filepath.Join(root, folder))); err != nil {
			t.Fatal(err)
		}
	}
}

func replace(t *testing.T, path, old, by string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(text, []byte(old)) {
		t.Fatalf("%s doesn't have %q: %v", path, old, err)
	}
	if err := os.WriteFile(path, bytes.Replace(text, []byte(old), []byte(by), 1), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestCheckPassesWhatIsCommitted(t *testing.T) {
	copyOf(t)
	var out bytes.Buffer
	if err := run(true, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out.String(), "JavaScript and CSS: ") {
		t.Errorf("the check prints %q", out.String())
	}
}

func TestCheckFindsWhatIsStale(t *testing.T) {
	for name, change := range map[string]func(t *testing.T){
		"a changed source": func(t *testing.T) { replace(t, sources+"/src/text/en.ts", "Needs somebody", "Needs nobody") },
		"a changed style":  func(t *testing.T) { replace(t, sources+"/src/css/base.css", "#f6f7f9", "#f6f7f8") },
		"a changed index":  func(t *testing.T) { replace(t, sources+"/index.html", "color-scheme", "colour-scheme") },
		"a changed bundle": func(t *testing.T) { replace(t, assets+"/index.html", "AlterShield", "Altered") },
		"a changed sentence": func(t *testing.T) {
			replace(t, "cmd/kubectl-altershield/render/english.go", "batches are not shown", "no batches are shown")
		},
		"a changed licence": func(t *testing.T) { replace(t, sources+"/vendor/preact/LICENSE", "MIT", "BSD") },
		"a file too many": func(t *testing.T) {
			if err := os.WriteFile(assets+"/old.js", nil, 0o644); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			copyOf(t)
			change(t)
			if err := run(true, &bytes.Buffer{}); !errors.Is(err, errStale) {
				t.Fatalf("the check says %v, want that a file is stale", err)
			}
			if err := run(false, &bytes.Buffer{}); err != nil {
				t.Fatal(err)
			}
			if err := run(true, &bytes.Buffer{}); err != nil {
				t.Errorf("after make page the check says %v", err)
			}
		})
	}
}

func TestBuildTellsWhereASourceIsBroken(t *testing.T) {
	copyOf(t)
	replace(t, sources+"/src/route.ts", "export function parse(", "export function parse((")
	if err := run(false, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "src/route.ts:") {
		t.Errorf("the build says %v, want the place in src/route.ts", err)
	}
}

func TestWeighRefusesWhatIsAboveTheBudget(t *testing.T) {
	noise := make([]byte, budget+1_000)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	if _, err := weigh(map[string][]byte{"app.js": noise}); err == nil {
		t.Error("a bundle above the budget passes")
	}
	if size, err := weigh(map[string][]byte{"picture.svg": noise}); err != nil || size != 0 {
		t.Errorf("a picture weighs %d: %v", size, err)
	}
}

func TestSentencesOfAFileWithoutAny(t *testing.T) {
	file := filepath.Join(t.TempDir(), "english.go")
	if err := os.WriteFile(file, []byte("package render"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := sentencesOf(file); err == nil {
		t.Error("a file without sentences passes")
	}
}
