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
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What no test uses either works by chance or isn't needed: a test is to be written for it, or it is to be removed.
func TestNamesOfTheReferenceAreUsedByATest(t *testing.T) {
	reference, files := text(t, "docs/reference.md"), testFiles(t)
	all := used{}
	for _, file := range files {
		all.literals += file.literals + "\n"
	}
	for heading, pattern := range map[string]string{
		"HTTP endpoints":         `/openapi/[\w/]+\w`,
		"Labels and annotations": "(?m)^\\| `([^`]+)`",
		"Conditions":             "`([A-Z]\\w+)`",
		"Events":                 "(?m)^\\| `(\\w+)`(?:, `(\\w+)`)?",
		"Settings":               "(?m)^\\| `([^`]+)`",
		"Flags":                  "(?m)^\\| `(--[^`]+)`",
		"Metrics":                "(?m)^\\| `(\\w+)",
	} {
		for _, name := range namesIn(sectionOf(t, reference, heading), pattern) {
			if name = strings.Replace(name, "…/", "altershield.defense.antgroup.com/", 1); !all.has(name) {
				t.Errorf("%s: no test uses %s", heading, name)
			}
		}
	}
	verbs := text(t, "docs/verbs.md")
	for _, verb := range namesIn(verbs, "(?m)^\\| \\[`([^`]+)`") {
		if !all.has(verb) && !all.has(strings.ReplaceAll(verb, " ", "\n")) {
			t.Errorf("no test uses the verb %s", verb)
		}
	}
	for _, row := range regexp.MustCompile("(?m)^\\| ((?:`-\\w`, )?`--[^`]+`)").FindAllStringSubmatch(verbs, -1) {
		if names := namesIn(row[1], "`(-[\\w-]+)"); !slices.ContainsFunc(names, all.has) {
			t.Errorf("no test uses the flag %s of a verb", row[1])
		}
	}
	tables, err := fields(root + "/config/crd/bases")
	if err != nil {
		t.Fatal(err)
	}
	for kind, rows := range tables {
		for _, row := range rows {
			path := strings.Split(strings.ReplaceAll(strings.Trim(row[0], "`"), "[]", ""), ".")
			if !slices.ContainsFunc(files, func(file used) bool { return file.hasField(kind, path) }) {
				t.Errorf("no test uses the field %s of a %s", row[0], kind)
			}
		}
	}
}

func TestTheReferenceHasEachEvent(t *testing.T) {
	events := namesIn(text(t, "apis/app/v1alpha1/conditions.go"), `(?m)^\tEvent\w+ += "(\w+)"$`)
	if len(events) == 0 {
		t.Fatal("the API has no Events")
	}
	for page, heading := range map[string]string{"docs/reference.md": "Events", "docs/zh/reference.md": "Event"} {
		section := sectionOf(t, text(t, page), heading)
		for _, name := range events {
			if !strings.Contains(section, "`"+name+"`") {
				t.Errorf("%s lacks the Event %s", page, name)
			}
		}
	}
}

func TestUsed(t *testing.T) {
	file := usedBy([]byte(`package a
// Comment "InAComment" .commented
var made = ChangeWorkload{Spec: Spec{AppID: "x", Window: only(len(times))}, Why: "reason PodsFailed, --stuck-after=2m", Path: "{.status.open}", JSON: "\"held\":1"}
`))
	for name, want := range map[string]bool{
		"PodsFailed": true, "Pods": false, "--stuck-after": true, "stuck-after": false, "--stuck": false, "InAComment": false, "times": false,
	} {
		if got := file.has(name); got != want {
			t.Errorf("%s: got %t, want %t", name, got, want)
		}
	}
	for path, want := range map[string]bool{
		"spec.appId": true, "spec.window": true, "status.open": true, "status.held": true, "status.reason": false, "status.commented": false, "spec.times": false, "spec.len": false,
	} {
		if got := file.hasField("ChangeWorkload", strings.Split(path, ".")); got != want {
			t.Errorf("%s: got %t, want %t", path, got, want)
		}
	}
	if file.hasField("BreakGlass", []string{"window", "open"}) != true || file.hasField("BreakGlass", []string{"other", "open"}) {
		t.Error("a field is that of another kind")
	}
}

// used is what a test file has, without its comments.
type used struct {
	// literals are the texts of its strings, one a line, and lower the same in lower case.
	literals, lower string
	// exported are its identifiers that begin with a capital letter, in lower case: the JSON name of a field differs from its Go name by case alone.
	exported map[string]bool
	// fields are the names of fields in its strings, as in a path, in JSON or in YAML, and strings that are nothing but a name.
	fields map[string]bool
}

func usedBy(source []byte) used {
	found := used{exported: map[string]bool{}, fields: map[string]bool{}}
	field := regexp.MustCompile(`\.(\w+)|(\w+)"?:|^(\w+)$`)
	var literals strings.Builder
	var scan scanner.Scanner
	scan.Init(token.NewFileSet().AddFile("", -1, len(source)), source, nil, 0)
	for {
		switch _, kind, text := scan.Scan(); {
		case kind == token.EOF:
			found.literals, found.lower = literals.String(), strings.ToLower(literals.String())
			return found
		case kind == token.IDENT && token.IsExported(text):
			found.exported[strings.ToLower(text)] = true
		case kind == token.STRING:
			value, _ := strconv.Unquote(text)
			literals.WriteString(value + "\n")
			for _, names := range field.FindAllStringSubmatch(value, -1) {
				found.fields[names[1]+names[2]+names[3]] = true
			}
		}
	}
}

// has reports whether a name is in a string, and no part of a longer one.
func (u used) has(name string) bool {
	before, after, found := strings.Cut("\n"+u.literals, name)
	for found && (isPart(before, len(before)-1) || isPart(after, 0)) {
		before, after, found = strings.Cut(after, name)
	}
	return found
}

// isPart reports whether a character may be one of a name.
func isPart(text string, at int) bool {
	const others = "-_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	return at < 0 || at == len(text) || strings.Contains(others, text[at:at+1])
}

// hasField reports whether the file uses a field of a kind. As names of fields are often the same, it has to use the kind or what the field is in, too.
func (u used) hasField(kind string, path []string) bool {
	name, in := path[len(path)-1], path[len(path)-2]
	return u.names(name) && (u.names(in) || u.namesKind(strings.ToLower(kind)))
}

func (u used) names(field string) bool { return u.exported[strings.ToLower(field)] || u.fields[field] }

// namesKind reports whether the file names a kind, one of its types, or its resource.
func (u used) namesKind(kind string) bool {
	return u.exported[kind] || u.exported[kind+"spec"] || u.exported[kind+"status"] || strings.Contains(u.lower, kind)
}

// testFiles returns what each test has, and each program in hack that runs what is shipped, but those beside this one, which only describe the reference.
func testFiles(t *testing.T) []used {
	t.Helper()
	var files []used
	eachSource(t, func(path string, source []byte) {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "hack/") {
			files = append(files, usedBy(source))
		}
	})
	return files
}

// eachSource calls a function with each file in Go but those beside this one.
func eachSource(t *testing.T, do func(path string, source []byte)) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "node_modules" || path == "bin" || path == "hack/docs" || path != "." && strings.HasPrefix(entry.Name(), ".")):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go"):
			return nil
		}
		source, err := os.ReadFile(filepath.Join(root, path))
		do(path, source)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// sectionOf returns a section of a page without its subsections.
func sectionOf(t *testing.T, page, heading string) string {
	t.Helper()
	_, after, found := strings.Cut(page, "\n## "+heading+"\n")
	section, _, _ := strings.Cut(after, "\n## ")
	if !found {
		t.Fatalf("there is no section %s", heading)
	}
	return section
}

// namesIn returns what the groups of a pattern find, or the pattern itself if it has none.
func namesIn(text, pattern string) []string {
	var names []string
	for _, found := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		names = append(names, found[min(1, len(found)-1):]...)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}

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
