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
	"testing"

	. "github.com/onsi/gomega"
)

func TestDistrustNamesTheConfigurationsWithoutTheAuthority(t *testing.T) {
	for name, c := range map[string]struct {
		bundles   map[string][][]byte
		authority string
		message   string
	}{
		"all trust it":                {map[string][][]byte{"a": {[]byte("new"), []byte("new")}, "b": {[]byte("new")}}, "new", ""},
		"also the one before":         {map[string][][]byte{"a": {[]byte("old\nnew\n")}}, "new\n", ""},
		"one webhook trusts another":  {map[string][][]byte{"a": {[]byte("new"), []byte("old")}, "b": {[]byte("new")}}, "new", "1 of 2 webhook configurations don't trust the authority: [a]"},
		"one has no bundle":           {map[string][][]byte{"a": {nil}}, "new", "1 of 1 webhook configurations don't trust the authority: [a]"},
		"there are no configurations": {nil, "new", "0 of 0 webhook configurations don't trust the authority: []"},
		"the Secret has no authority": {map[string][][]byte{"a": {[]byte("old")}}, "", "0 of 1 webhook configurations don't trust the authority: []"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			err := distrust(c.bundles, []byte(c.authority))
			if c.message == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(c.message))
		})
	}
}

func TestUnharmedAttempts(t *testing.T) {
	g := NewWithT(t)
	g.Expect(attempts{passed: 3}.unharmed()).To(Succeed())
	g.Expect(attempts{}.unharmed()).To(MatchError(ContainSubstring("0 passed")), "nothing was tried")
	g.Expect(attempts{passed: 3, refused: map[string]int{"x509: unknown": 1}}.unharmed()).To(MatchError(ContainSubstring("x509: unknown:1")))
}
