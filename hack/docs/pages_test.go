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
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// english lists the pages without a translation: generated pages, measurements, and pages for contributors.
var english = []string{"architecture.md", "performance.md", "permissions.md", "reliability.md"}

func TestReadmeIsShort(t *testing.T) {
	for _, name := range []string{"README.md", "README_CN.md"} {
		if lines := strings.Count(text(t, name), "\n"); lines > 150 {
			t.Errorf("%s has %d lines, more than 150: move the details to docs/", name, lines)
		}
	}
}

func TestPagesAreTranslated(t *testing.T) {
	pairs := map[string]string{"README.md": "README_CN.md"}
	for _, page := range pages(t) {
		if dir, name := filepath.Split(page); dir == "docs/" && !slices.Contains(english, name) {
			pairs[page] = "docs/zh/" + name
		}
	}
	for original, translation := range pairs {
		t.Run(translation, func(t *testing.T) {
			for _, fault := range lacks(text(t, original), text(t, translation)) {
				t.Errorf("%s: %s", original, fault)
			}
		})
	}
}

func TestLinksLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, page := range pages(t) {
		prose, _ := split(text(t, page))
		for _, found := range link.FindAllStringSubmatch(prose, -1) {
			if strings.Contains(found[1], "://") {
				continue
			}
			path, anchor, _ := strings.Cut(found[1], "#")
			target := page
			if path != "" {
				target = filepath.Join(filepath.Dir(page), path)
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s links to %s: %v", page, found[1], err)
			} else if anchor != "" && !slices.Contains(anchors(text(t, target)), anchor) {
				t.Errorf("%s links to %s: %s has no such heading", page, found[1], target)
			}
		}
	}
}

// helm uninstall keeps the CRDs.
func TestTheLastCommandOfHelmsUserDeletesEachCRD(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "config", "crd", "bases", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal("there are no CRDs: ", err)
	}
	var want []string
	for _, file := range files {
		group, plural, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".yaml"), "_")
		want = append(want, plural+"."+group)
	}
	command := regexp.MustCompile(`kubectl delete crd((?:[^\n]*\\\n)*[^\n]*)`)
	for _, page := range []string{"docs/install.md", "docs/zh/install.md", "config/chart/templates/NOTES.txt"} {
		found := command.FindStringSubmatch(text(t, page))
		if found == nil {
			t.Errorf("%s deletes no CRDs", page)
			continue
		}
		got := slices.DeleteFunc(strings.Fields(found[1]), func(word string) bool { return word == `\` })
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s deletes the CRDs %q, want %q", page, got, want)
		}
	}
}

func TestAlertOnBreakGlassesNamesWhatEachOverridePasses(t *testing.T) {
	for page, words := range map[string][]string{
		"config/prometheus/rules.yaml": {"freeze", "suspension", "quarantine", "approvals", "steps themselves"},
		"docs/operate.md":              {"freeze", "suspension", "quarantine", "approvals", "steps themselves"},
		"docs/zh/operate.md":           {"冻结", "暂停", "隔离", "批准", "步骤本身"},
	} {
		_, after, _ := strings.Cut(text(t, page), " AlterShieldBreakGlassUsed\n")
		section, _, found := strings.Cut(after, " AlterShieldNotificationsFail\n")
		if !found {
			t.Errorf("%s: the alert isn't there", page)
		}
		for _, word := range words {
			if !strings.Contains(section, word) {
				t.Errorf("%s: a release passes %s as well", page, word)
			}
		}
	}
}

func TestLacks(t *testing.T) {
	const page = "# Page\n\n## Get `a`\n\nText.\n\n```sh\nkubectl get a    # all\n```\n"
	cases := map[string]struct {
		translation string
		want        []string
	}{
		"the same":           {"# 页\n\n## 取得 `a`\n\n```sh\nkubectl get a    # 全部\n```\n", nil},
		"a heading is gone":  {"# 页\n\n`a`\n\n```sh\nkubectl get a\n```\n", []string{"headings differ from number 2 on: ## Get `a`"}},
		"a command is gone":  {"# 页\n\n## 取得 `a`\n", []string{"code blocks differ from number 1 on: sh\nkubectl get a\n"}},
		"a command is other": {"# 页\n\n## `a`\n\n```sh\nkubectl get b\n```\n", []string{"code blocks differ from number 1 on: sh\nkubectl get a\n"}},
		"a name is gone":     {"# 页\n\n## 取得\n\n```sh\nkubectl get a\n```\n", []string{"the translation lacks `a`"}},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			if got := lacks(page, test.translation); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// lacks compares the levels of headings, the code blocks without their comments, and the names in backquotes.
func lacks(original, translation string) []string {
	var faults []string
	prose, blocks := split(original)
	translated, translatedBlocks := split(translation)
	heading := regexp.MustCompile(`(?m)^(#+) .*$`)
	level := func(heading string) string { return heading[:strings.Index(heading, " ")] }
	headings := heading.FindAllString(prose, -1)
	if n := differ(headings, heading.FindAllString(translated, -1), level); n >= 0 {
		faults = append(faults, fmt.Sprintf("headings differ from number %d on: %s", n+1, at(headings, n)))
	}
	if n := differ(blocks, translatedBlocks, func(block string) string { return block }); n >= 0 {
		faults = append(faults, fmt.Sprintf("code blocks differ from number %d on: %s", n+1, at(blocks, n)))
	}
	name := regexp.MustCompile("`[^`\n]+`")
	names := name.FindAllString(translated, -1)
	for _, found := range name.FindAllString(prose, -1) {
		if !slices.Contains(names, found) {
			faults = append(faults, "the translation lacks "+found)
			names = append(names, found)
		}
	}
	return faults
}

// differ returns the first index at which two lists differ by their keys, -1 if they don't.
func differ(a, b []string, key func(string) string) int {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || key(a[i]) != key(b[i]) {
			return i
		}
	}
	return -1
}

func at(list []string, n int) string {
	if n < len(list) {
		return list[n]
	}
	return "the translation has more"
}

// split returns a page without its code blocks, and the blocks without comments. Diagrams are translated, so only their kind is returned.
func split(page string) (prose string, blocks []string) {
	comment := regexp.MustCompile(`(?m)(^|\s+)# .*$`)
	fenced := regexp.MustCompile("(?ms)^ *```(\\w*)\n(.*?)^ *```$")
	prose = fenced.ReplaceAllStringFunc(page, func(block string) string {
		parts := fenced.FindStringSubmatch(block)
		code := comment.ReplaceAllString(parts[2], "")
		if parts[1] == "mermaid" {
			code = ""
		}
		blocks = append(blocks, parts[1]+"\n"+code)
		return ""
	})
	return prose, blocks
}

// anchors returns GitHub's anchors of the headings of a page.
func anchors(page string) []string {
	prose, _ := split(page)
	var result []string
	for _, found := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(prose, -1) {
		result = append(result, strings.Map(func(letter rune) rune {
			switch {
			case letter == ' ':
				return '-'
			case unicode.IsLetter(letter), unicode.IsNumber(letter), letter == '-', letter == '_':
				return unicode.ToLower(letter)
			default:
				return -1
			}
		}, found[1]))
	}
	return result
}

// pages returns the paths of all pages in the repository.
func pages(t *testing.T) []string {
	t.Helper()
	result := []string{"README.md", "README_CN.md", "CONTRIBUTING.md"}
	err := fs.WalkDir(os.DirFS(root), "docs", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			result = append(result, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func text(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
