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

// Package oneline makes texts of others fit for the status of an object.
package oneline

import (
	"strings"
	"unicode"
)

// Of returns a text in one line of printable characters, of which it has at most the given number.
func Of(text string, most int) string {
	text = strings.TrimSpace(strings.Map(func(letter rune) rune {
		if !unicode.IsPrint(letter) {
			return ' '
		}
		return letter
	}, strings.ToValidUTF8(text, " ")))
	letters := []rune(text)
	if len(letters) <= most {
		return text
	}
	const ending = "..."
	return string(letters[:most-len(ending)]) + ending
}
