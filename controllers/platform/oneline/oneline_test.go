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

package oneline_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/controllers/platform/oneline"
)

func TestOfReturnsOneShortPrintableLine(t *testing.T) {
	for text, expected := range map[string]string{
		" fine\n":                  "fine",
		"two\nlines\tand \x1b[31m": "two lines and  [31m",
		"not \xff UTF-8":           "not   UTF-8",
		"错误":                       "错误",
		strings.Repeat("é", 256):   strings.Repeat("é", 256),
		strings.Repeat("é", 257):   strings.Repeat("é", 253) + "...",
	} {
		NewWithT(t).Expect(oneline.Of(text, 256)).To(Equal(expected))
	}
}
