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

// Package render prints the models of package view: pure functions of the model, the size and colours of the terminal, the language and the
// present time.
package render

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Columns returns how many columns of a terminal a text takes: characters of East Asian scripts take two, combining ones none. It doesn't
// know escape sequences.
func Columns(text string) int {
	columns := 0
	for _, char := range text {
		columns += columnsOf(char)
	}
	return columns
}

func columnsOf(char rune) int {
	switch {
	case unicode.In(char, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case isWide(char):
		return 2
	}
	return 1
}

func isWide(char rune) bool {
	kind := width.LookupRune(char).Kind()
	return kind == width.EastAsianWide || kind == width.EastAsianFullwidth
}

// cut returns a text of at most limit columns. A limit of 0 is none.
func (s Style) cut(text string, limit int) string {
	if limit <= 0 || Columns(text) <= limit {
		return text
	}
	ending := s.ellipsis()
	room := limit - Columns(ending)
	if room < 0 {
		return ""
	}
	var kept strings.Builder
	taken := 0
	for _, char := range text {
		if taken += columnsOf(char); taken > room {
			break
		}
		kept.WriteRune(char)
	}
	return kept.String() + ending
}

// cutLeft returns the end of a text, of at most limit columns.
func (s Style) cutLeft(text string, limit int) string {
	if Columns(text) <= limit {
		return text
	}
	taken := Columns(s.ellipsis())
	chars := []rune(text)
	at := len(chars)
	for ; at > 0 && taken+columnsOf(chars[at-1]) <= limit; at-- {
		taken += columnsOf(chars[at-1])
	}
	return s.ellipsis() + string(chars[at:])
}

func (s Style) ellipsis() string {
	if s.ASCII {
		return "..."
	}
	return "…"
}

// pad returns a text of at least so many columns.
func pad(text string, columns int) string {
	return text + strings.Repeat(" ", max(0, columns-Columns(text)))
}

// clean returns a text without control characters: what a check or an image is called must not steer the terminal.
func clean(text string) string {
	return strings.Map(func(char rune) rune {
		switch {
		case char == '\n' || char == '\t' || char == '\r':
			return ' '
		case unicode.IsControl(char) || unicode.In(char, unicode.Cf, unicode.Zl, unicode.Zp):
			return -1
		}
		return char
	}, text)
}

// wrap splits a text into lines of at most limit columns, at spaces where there are any. A limit of 0 is none.
func wrap(text string, limit int) []string {
	if limit <= 0 || Columns(text) <= limit {
		return []string{text}
	}
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		for Columns(word) > limit { // a word of a script without spaces, or a long name
			head, rest := split(word, limit)
			if line != "" {
				lines, line = append(lines, line), ""
			}
			lines, word = append(lines, head), rest
		}
		switch {
		case line == "":
			line = word
		case Columns(line)+1+Columns(word) <= limit:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// split splits a text after at most so many columns, and after at least one character.
func split(text string, columns int) (head, rest string) {
	taken := 0
	for at, char := range text {
		if taken += columnsOf(char); taken > columns && at > 0 {
			return text[:at], text[at:]
		}
	}
	return text, ""
}
