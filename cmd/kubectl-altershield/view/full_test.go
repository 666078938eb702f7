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

package view_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

func TestFullChangesShowTheLinesThatDifferAndThoseAround(t *testing.T) {
	g := NewWithT(t)
	content := func(changes ...string) view.Content {
		list := map[string]any{}
		for i := range 20 {
			list[fmt.Sprintf("key%02d", i)] = "same"
		}
		for _, change := range changes {
			key, value, _ := strings.Cut(change, "=")
			if list[key] = value; value == "" {
				delete(list, key)
			}
		}
		return view.Content{"/spec/template": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"admission-webhook-altershield.antgroup.com/version": "c0", "altershield.defense.antgroup.com/gate": "start"}},
			"spec":     list,
		}}
	}
	lines, err := view.FullChangesOf(content("key05=secret"), content("key05=other", "key15="))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(lines).To(Equal([]string{
		"      key02: same", "      key03: same", "      key04: same", "-     key05: secret", "+     key05: other", "      key06: same", "      key07: same", "      key08: same",
		"...", "      key12: same", "      key13: same", "      key14: same", "-     key15: same", "      key16: same", "      key17: same", "      key18: same",
	}))
	lines, err = view.FullChangesOf(content(), content())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(lines).To(BeEmpty())
	lines, err = view.FullChangesOf(view.Content{"/spec/a": "x"}, view.Content{"/spec/a": "x", "/spec/b": "y"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(lines).To(Equal([]string{"  /spec/a: x", "+ /spec/b: \"y\""}))
	for _, contents := range [][2]view.Content{{{"/a": func() {}}, nil}, {nil, {"/a": func() {}}}} {
		_, err := view.FullChangesOf(contents[0], contents[1])
		g.Expect(err).To(MatchError(ContainSubstring("encoding the content")))
	}
}

func TestFullChangesOfLongContentsTakeLittleMemory(t *testing.T) {
	g := NewWithT(t)
	content := func(change string) view.Content {
		list := make([]any, 3000)
		for i := range list {
			list[i] = fmt.Sprint("line", i%7)
		}
		list[1500] = change
		return view.Content{"/spec/list": list}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	lines, err := view.FullChangesOf(content("a"), content("b"))
	runtime.ReadMemStats(&after)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(lines).To(Equal([]string{"  - line6", "  - line0", "  - line1", "- - a", "+ - b", "  - line3", "  - line4", "  - line5"}))
	g.Expect(after.TotalAlloc-before.TotalAlloc).To(BeNumerically("<", 50<<20), "a table of all lines takes 72 MB")
}
