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

package workload_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The linter keeps the types of a kind in the kind's package (.golangci.yml), but it can't check strings.
func TestKindIsAllThatKnowsItsPause(t *testing.T) {
	root, own := filepath.Join("..", ".."), filepath.Join("..", "..", "controllers", "workload")
	pause, seen := regexp.MustCompile(`spec[./]paused|"paused"`), 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (path == own || entry.Name() == "hack" || strings.HasPrefix(entry.Name(), ".") && path != root):
			return filepath.SkipDir
		case entry.IsDir(), !strings.HasSuffix(path, ".go"), strings.HasSuffix(path, "_test.go"):
			return nil
		}
		source, err := os.ReadFile(path)
		seen++
		if pause.Match(source) {
			t.Errorf("%s names the field that pauses a Deployment: ask the workload.Pauser", path)
		}
		return err
	})
	if err != nil || seen < 100 {
		t.Fatalf("%d files: %v", seen, err)
	}
}
