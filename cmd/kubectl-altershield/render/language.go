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

package render

import (
	"fmt"
	"strings"
)

// Language is a language of sentences.
type Language string

const (
	// English is the default.
	English Language = "en"
	// Chinese is simplified Chinese.
	Chinese Language = "zh"
)

// LanguageOf returns the language of the first of these settings that isn't empty: the flag, ALTERSHIELD_LANG, LC_ALL and LANG.
func LanguageOf(settings ...string) Language {
	for _, setting := range settings {
		if setting == "" {
			continue
		}
		if strings.HasPrefix(strings.ToLower(setting), "zh") {
			return Chinese
		}
		return English
	}
	return English
}

// key names a sentence.
type key string

// text returns a sentence in the language of the style.
func (s Style) text(name key, values ...any) string {
	sentences := english()
	if s.Language == Chinese {
		sentences = chinese()
	}
	return fmt.Sprintf(sentences[name], values...)
}
