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
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestEachAttackHasATestThatIsThere(t *testing.T) {
	tests := map[string]bool{}
	eachSource(t, func(path string, source []byte) {
		if strings.HasSuffix(path, "_test.go") {
			for _, name := range testsIn(string(source)) {
				tests[name] = true
			}
		}
	})
	for _, page := range []string{"docs/security.md", "docs/zh/security.md"} {
		attacks := attacksOf(text(t, page))
		if len(attacks) < 40 {
			t.Errorf("%s has %d attacks: has the form of the tables changed?", page, len(attacks))
		}
		for attack, named := range attacks {
			if len(named) == 0 {
				t.Errorf("%s names no test for: %s", page, attack)
			}
			for _, name := range named {
				if !tests[name] {
					t.Errorf("%s: there is no test %q, for: %s", page, name, attack)
				}
			}
		}
	}
}

func TestAttacksOf(t *testing.T) {
	got := attacksOf("# Page\n\n| Asset | Harm |\n|---|---|\n| `a` | b |\n\n| Attack | Answer | Test |\n|---|---|---|\n| one | `flag` | `TestOne`, `holds: \"a\"` |\n| two | none | later |\n")
	if len(got) != 2 || !slices.Equal(got["one"], []string{"TestOne", `holds: "a"`}) || got["two"] != nil {
		t.Errorf("got %q", got)
	}
	source := "package a\nfunc TestOne(t *testing.T) {}\nfunc TestMain(m *testing.M) {}\nfunc help(t *testing.T) { It(\"no\") }\n\tIt(\"holds: \\\"a\\\"\", slow, f)\n\tEntry(\"b\", 1)\n"
	if got := testsIn(source); !slices.Equal(got, []string{"TestOne", `holds: "a"`, "b"}) {
		t.Errorf("got %q", got)
	}
}

// attacksOf returns the tests that a page names for each attack.
func attacksOf(page string) map[string][]string {
	attacks := map[string][]string{}
	row := regexp.MustCompile(`(?m)^\| ([^|]+) \| [^|]+ \| ([^|]+) \|$`)
	for _, found := range row.FindAllStringSubmatch(page, -1) {
		if found[2] == "Test" || found[2] == "测试" {
			continue
		}
		attacks[found[1]] = namesIn(found[2], "`([^`]+)`")
	}
	return attacks
}

// testsIn returns the tests of a file: its functions, and the texts of its specs.
func testsIn(source string) []string {
	var names []string
	for _, found := range regexp.MustCompile(`(?m)^func (Test\w+)\(t |^\t+(?:It|Entry|DescribeTable|Context)\("((?:[^"\\]|\\.)*)"`).FindAllStringSubmatch(source, -1) {
		names = append(names, found[1]+strings.ReplaceAll(found[2], `\"`, `"`))
	}
	return names
}
