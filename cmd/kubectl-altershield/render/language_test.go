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
	"regexp"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
)

// verbs are the placeholders of a sentence.
var verbs = regexp.MustCompile(`%[a-z]`)

func TestLanguagesHaveTheSameSentencesWithTheSamePlaceholders(t *testing.T) {
	g := NewWithT(t)
	en, zh := english(), chinese()
	for name, sentence := range en {
		translated, found := zh[name]
		g.Expect(found).To(BeTrue(), "Chinese lacks %s", name)
		g.Expect(translated).NotTo(BeEmpty())
		g.Expect(verbs.FindAllString(translated, -1)).To(Equal(verbs.FindAllString(sentence, -1)), string(name))
	}
	for name := range zh {
		g.Expect(en).To(HaveKey(name), "English lacks it")
	}
}

func TestSentencesAreUsed(t *testing.T) {
	g := NewWithT(t)
	used := usedKeys(t)
	for name := range english() {
		g.Expect(slices.Contains(used, string(name))).To(BeTrue(), "nothing uses %s", name)
	}
	for _, name := range used {
		g.Expect(english()).To(HaveKey(key(name)))
	}
}
