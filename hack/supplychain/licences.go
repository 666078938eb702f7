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
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	classifier "github.com/google/licenseclassifier/v2"
	"github.com/google/licenseclassifier/v2/assets"
)

// allowed are the licences, by their SPDX identifiers, under which others' code may be in what we ship, with what they ask for.
func allowed() map[string]string {
	const notice = "its text goes with the program"
	return map[string]string{
		"Apache-2.0":   notice + ", and so does a NOTICE file",
		"BSD-2-Clause": notice,
		"BSD-3-Clause": notice,
		"ISC":          notice,
		"MIT":          notice,
		"MPL-2.0":      notice + "; whoever changes its files has to publish them",
	}
}

// unlinked are the licence files, by module, of code that is beside what is linked, and is not linked itself.
func unlinked() map[string]string {
	return map[string]string{
		// The objects of BoringCrypto, which GOEXPERIMENT=boringcrypto alone puts in.
		standardLibrary: "src/crypto/internal/boring/LICENSE",
	}
}

// notice is a file that has to go with the program.
type notice struct {
	// File is its path within the module.
	File string
	// Licences are those that were recognised in it, sorted.
	Licences []string
	Text     string
}

// licensed is a module with its licences.
type licensed struct {
	module
	Notices []notice
}

// names are the licences of a module, sorted.
func (l licensed) names() []string {
	var names []string
	for _, notice := range l.Notices {
		names = append(names, notice.Licences...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// recognise finds the licence files of modules.
func recognise(modules []module) ([]licensed, error) {
	texts, err := assets.DefaultClassifier()
	if err != nil {
		return nil, fmt.Errorf("loading the texts of known licences: %w", err)
	}
	result := make([]licensed, 0, len(modules))
	for _, each := range modules {
		notices, err := noticesOf(each, texts)
		if err != nil {
			return nil, fmt.Errorf("reading the licences of %s: %w", each.Path, err)
		}
		result = append(result, licensed{each, notices})
	}
	return result, nil
}

// noticesOf reads the licence files beside the packages that are used, and above them up to the root of the module.
func noticesOf(from module, texts *classifier.Classifier) ([]notice, error) {
	name := regexp.MustCompile(`(?i)^(unlicense|licen[cs]es?|copying|notice)([-._].*)?$`)
	var notices []notice
	for _, dir := range foldersOf(from) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			if !entry.Type().IsRegular() || !name.MatchString(entry.Name()) || filepath.Ext(entry.Name()) == ".go" {
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
			if err != nil {
				return nil, err
			}
			file, err := filepath.Rel(from.Root, filepath.Join(dir, entry.Name()))
			if err != nil {
				return nil, err
			}
			if unlinked()[from.Path] == filepath.ToSlash(file) {
				continue
			}
			notices = append(notices, notice{filepath.ToSlash(file), licencesIn(text, texts), string(text)})
		}
	}
	slices.SortFunc(notices, func(a, b notice) int { return cmp.Compare(a.File, b.File) })
	return notices, nil
}

// foldersOf are the folders of a module's packages, and those above them.
func foldersOf(from module) []string {
	folders := map[string]bool{}
	for _, dir := range from.Dirs {
		for ; strings.HasPrefix(dir, from.Root) && !folders[dir]; dir = filepath.Dir(dir) {
			folders[dir] = true
		}
	}
	list := make([]string, 0, len(folders))
	for folder := range folders {
		list = append(list, folder)
	}
	return list
}

func licencesIn(text []byte, texts *classifier.Classifier) []string {
	var names []string
	for _, match := range texts.Match(text).Matches {
		if match.MatchType == "License" {
			names = append(names, match.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// judge says in a sentence each what keeps a module from being shipped.
func judge(modules []licensed) []string {
	permitted := allowed()
	var problems []string
	for _, each := range modules {
		if len(each.names()) == 0 {
			problems = append(problems, fmt.Sprintf("%s %s has no licence that is known", each.Path, each.Version))
		}
		for _, notice := range each.Notices {
			isNotice := strings.HasPrefix(strings.ToUpper(filepath.Base(notice.File)), "NOTICE")
			if len(notice.Licences) == 0 && !isNotice {
				problems = append(problems, fmt.Sprintf("%s %s: %s is no licence that is known", each.Path, each.Version, notice.File))
			}
			for _, name := range notice.Licences {
				if _, fine := permitted[name]; !fine {
					problems = append(problems, fmt.Sprintf("%s %s: %s is the licence %s, which is not allowed", each.Path, each.Version, notice.File, name))
				}
			}
		}
	}
	return problems
}

// printLicences writes a table.
func printLicences(out io.Writer, modules []licensed) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "MODULE\tVERSION\tLICENCES")
	for _, each := range modules {
		fmt.Fprintf(table, "%s\t%s\t%s\n", each.Path, each.Version, strings.Join(each.names(), ", "))
	}
	return table.Flush()
}

// notices is what has to go with the program: each text once, under the modules that it is of.
func notices(modules []licensed) string {
	of := map[string][]string{}
	var order []string
	for _, each := range modules {
		for _, notice := range each.Notices {
			if of[notice.Text] == nil {
				order = append(order, notice.Text)
			}
			of[notice.Text] = append(of[notice.Text], fmt.Sprintf("%s %s: %s", each.Path, each.Version, notice.File))
		}
	}
	var text strings.Builder
	text.WriteString("The program contains code of the modules below. These are their licences and notices.\n")
	for _, each := range order {
		fmt.Fprintf(&text, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 100), strings.Join(of[each], "\n"), strings.TrimSpace(each))
	}
	return text.String()
}
