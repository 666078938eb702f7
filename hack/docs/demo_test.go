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
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestDemoImage(t *testing.T) {
	image := text(t, "docs/demo.svg")
	if len(image) > 60_000 {
		t.Errorf("docs/demo.svg has %d bytes, more than 60000: record fewer scenes", len(image))
	}
	for _, fault := range imageFaults(image, text(t, "README.md")+text(t, "docs/walkthrough.md")) {
		t.Errorf("docs/demo.svg: %s", fault)
	}
	for _, readme := range []string{"README.md", "README_CN.md"} {
		if !strings.Contains(text(t, readme), "](docs/demo.svg)") {
			t.Errorf("%s does not show docs/demo.svg", readme)
		}
	}
}

func TestImageFaults(t *testing.T) {
	const page = "# Page\n\n```sh\nPOD=$(kubectl get pods)    # one\nkubectl patch pod $POD --type=merge \\\n  -p '{\"a\":\"'$POD'\"}'\n```\n"
	draw := func(rows ...string) string {
		var symbols, uses strings.Builder
		for i, row := range rows {
			fmt.Fprintf(&symbols, `<symbol id="%d">`, i)
			for at, word := range strings.Split(row, " ") {
				if word != "" {
					fmt.Fprintf(&symbols, `<text x="%d.5">%s</text>`, at, word)
				}
			}
			symbols.WriteString("</symbol>")
			fmt.Fprintf(&uses, `<use xlink:href="#%d" y="%d"/>`, i, i)
		}
		return `<svg xmlns="http://www.w3.org/2000/svg"><defs>` + symbols.String() + `</defs><svg x="100">` + uses.String() + `</svg></svg>`
	}
	cases := map[string]struct {
		image string
		want  []string
	}{
		"the same":          {draw("$ kubectl patch pod a --type=merge", `    -p '{"a":"a"}'`, "pod patched"), nil},
		"another command":   {draw("$ kubectl get nodes"), []string{"no page has the command: kubectl get nodes"}},
		"a longer command":  {draw("$ kubectl patch pod a --type=merge", `    -p '{"a":"a"}'`, "    --force"), []string{`no page has the command: kubectl patch pod a --type=merge -p '{"a":"a"}' --force`}},
		"a shorter command": {draw("$ kubectl patch pod a"), []string{"no page has the command: kubectl patch pod a"}},
		"no command":        {draw("pod patched"), []string{"there is no command in it"}},
		"a script":          {draw("$ kubectl patch pod a --type=merge", `    -p '{"a":"a"}'<script/>`), []string{"images in a README must not have: <script"}},
		"a font": {draw("$ kubectl patch pod a --type=merge", `    -p '{"a":"a"}'<style>@font-face{src:url(https://a)}</style>`),
			[]string{"images in a README must not have: @font-face", "images in a README must not have: url("}},
		"not XML":     {"<svg><text></svg>", []string{"XML syntax error on line 1: element <text> closed by </svg>"}},
		"text behind": {draw() + "<svg/>", []string{"something follows the image"}},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			if got := imageFaults(test.image, page); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// imageFaults compares the commands in a recorded terminal with those of pages, and looks for elements that GitHub doesn't show.
func imageFaults(image, pages string) []string {
	var faults []string
	for _, found := range regexp.MustCompile(`<script|<foreignObject|@import|@font-face|url\(|href="[^#]`).FindAllString(image, -1) {
		faults = append(faults, "images in a README must not have: "+found)
	}
	var root element
	decoder := xml.NewDecoder(strings.NewReader(image))
	if err := decoder.Decode(&root); err != nil {
		return append(faults, err.Error())
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return append(faults, "something follows the image")
	}
	symbols := make(map[string]string)
	root.addSymbols(symbols)
	shown := root.commands(symbols)
	if len(shown) == 0 {
		faults = append(faults, "there is no command in it")
	}
	known := documented(pages)
	for _, command := range shown {
		if !known.MatchString(bare(command)) {
			faults = append(faults, "no page has the command: "+command)
		}
	}
	return faults
}

// documented returns an expression for the commands in the code blocks of pages. A variable stands for any text.
func documented(pages string) *regexp.Regexp {
	var commands []string
	_, blocks := split(pages)
	for _, block := range blocks {
		code, isShell := strings.CutPrefix(block, "sh\n")
		if !isShell {
			continue
		}
		for line := range strings.Lines(strings.ReplaceAll(code, "\\\n", "")) {
			commands = append(commands, regexp.QuoteMeta(bare(line)))
		}
	}
	return regexp.MustCompile("^(" + regexp.MustCompile(`\\\$[A-Z]+`).ReplaceAllString(strings.Join(commands, "|"), ".+") + ")$")
}

// bare removes whitespace, quotes and backslashes from a command.
func bare(command string) string {
	return regexp.MustCompile(`[\s'"\\]`).ReplaceAllString(command, "")
}

// element is a part of an image by svg-term: a symbol for each row of text, and an svg for each frame, which uses them.
type element struct {
	XMLName  xml.Name
	ID       string    `xml:"id,attr"`
	Href     string    `xml:"href,attr"`
	X        string    `xml:"x,attr"`
	Text     string    `xml:",chardata"`
	Children []element `xml:",any"`
}

// addSymbols adds the rows of text to found.
func (e element) addSymbols(found map[string]string) {
	if e.XMLName.Local == "symbol" {
		var words []string
		for i, word := range e.Children {
			if at, _ := strconv.ParseFloat(word.X, 64); i == 0 && at >= 1 {
				words = append(words, "")
			}
			words = append(words, word.Text)
		}
		found["#"+e.ID] = strings.Join(words, " ")
	}
	for _, child := range e.Children {
		child.addSymbols(found)
	}
}

// commands returns the commands of all frames. An indented row continues the previous one.
func (e element) commands(symbols map[string]string) []string {
	var found []string
	open := false
	for _, child := range e.Children {
		row, isRow := symbols[child.Href]
		begins := strings.HasPrefix(row, "$ ")
		open = begins || open && strings.HasPrefix(row, " ")
		switch {
		case !isRow:
			found = append(found, child.commands(symbols)...)
		case begins:
			found = append(found, strings.TrimPrefix(row, "$ "))
		case open:
			found[len(found)-1] += row
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}
