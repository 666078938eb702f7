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

// Command docs writes the generated tables of pages: flags, which it reads from its standard input as the manager prints them,
// settings, metrics, and the fields of the CRDs. With --schema it also writes the JSON schema of exports, with --verbs the pages about the verbs
// of the plugin.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/command"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/help"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/render"
)

// A table is a list of rows. The first cell of a row names it, the last describes it.
type table [][]string

func main() {
	const crds = "config/crd/bases"
	schema := flag.String("schema", "", "`file` for the JSON schema of exports")
	verbs := flag.String("verbs", "", "`folder` for the pages about the verbs of the plugin")
	flag.Parse()
	err := run(os.Stdin, crds, flag.Args())
	if err == nil && *schema != "" {
		err = writeExportSchema(crds, *schema)
	}
	if err == nil && *verbs != "" {
		err = writeVerbs(*verbs)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "docs: %v\n", err)
		os.Exit(1)
	}
}

func run(usage io.Reader, crds string, pages []string) error {
	text, err := io.ReadAll(usage)
	if err != nil {
		return fmt.Errorf("reading the manager's flags: %w", err)
	}
	tables, err := fields(crds)
	if err != nil {
		return err
	}
	if tables["metrics"], err = metrics(); err != nil {
		return err
	}
	tables["settings"] = settingsTable()
	if tables["flags"] = flags(string(text)); len(tables["flags"]) == 0 {
		return fmt.Errorf("the manager printed no flags: %s", text)
	}
	for _, page := range pages {
		before, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		after, err := fill(string(before), tables)
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.ToSlash(page), err)
		}
		if err := os.WriteFile(page, []byte(after), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// block is a table of a page: its name, whether its descriptions are written by hand, its two lines of header, and its rows.
var block = regexp.MustCompile(`(<!-- generated: (\w+)(; described by hand)? -->\n\|.*\|\n\|[-|]+\|\n)((?:\|.*\|\n)*)`)

// fill replaces the rows of a page. Descriptions written by hand stay with their row; a new row gets the description of the code.
func fill(page string, tables map[string]table) (string, error) {
	missing := map[string]bool{}
	for name := range tables {
		missing[name] = true
	}
	var unknown []string
	page = block.ReplaceAllStringFunc(page, func(found string) string {
		parts := block.FindStringSubmatch(found)
		header, name, byHand, rows := parts[1], parts[2], parts[3] != "", parts[4]
		if tables[name] == nil {
			unknown = append(unknown, name)
		}
		delete(missing, name)
		described := map[string]string{}
		if byHand {
			described = descriptions(rows)
		}
		var text strings.Builder
		text.WriteString(header)
		for _, row := range tables[name] {
			text.WriteString(line(row, described))
		}
		return text.String()
	})
	for name := range missing {
		unknown = append(unknown, name)
	}
	if len(unknown) > 0 {
		return "", fmt.Errorf("the page must have each of the generated tables once, and no others: see %s", strings.Join(unknown, ", "))
	}
	return page, nil
}

func line(row []string, described map[string]string) string {
	escape := strings.NewReplacer("|", `\|`, "<", "&lt;")
	cells := make([]string, len(row))
	for i, cell := range row {
		cells[i] = escape.Replace(cell)
	}
	if text, found := described[cells[0]]; found {
		cells[len(cells)-1] = text
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

// descriptions returns the last cells of rows by the first.
func descriptions(rows string) map[string]string {
	result := map[string]string{}
	for row := range strings.Lines(rows) {
		cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(row, "| "), " |\n"), " | ")
		result[cells[0]] = cells[len(cells)-1]
	}
	return result
}

// writeVerbs writes the pages about the verbs of the plugin, of which --help has the same texts.
func writeVerbs(folder string) error {
	for name, language := range map[string]render.Language{"verbs.md": render.English, "zh/verbs.md": render.Chinese} {
		page := help.Page(command.Tree(), language)
		if err := os.WriteFile(filepath.Join(folder, name), []byte(page), 0o644); err != nil {
			return err
		}
	}
	return nil
}
