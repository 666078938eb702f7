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
	"os"
	"testing"

	. "github.com/onsi/gomega"
)

func TestMountReplacesAllFilesAtOnce(t *testing.T) {
	g := NewWithT(t)
	m := mount(t.TempDir())
	g.Expect(m.follow(map[string][]byte{"tls.crt": []byte("old"), "tls.key": []byte("old")})).To(Succeed())
	before, err := os.Readlink(m.path("..data"))
	g.Expect(err).NotTo(HaveOccurred())

	g.Expect(m.follow(map[string][]byte{"tls.crt": []byte("new"), "tls.key": []byte("new")})).To(Succeed())
	for _, name := range []string{"tls.crt", "tls.key"} {
		g.Expect(os.Readlink(m.path(name))).To(Equal("..data/"+name), "the file itself stays")
		g.Expect(os.ReadFile(m.path(name))).To(Equal([]byte("new")))
	}
	g.Expect(m.path(before)).NotTo(BeADirectory())
	g.Expect(os.ReadDir(string(m))).To(HaveLen(4), "the link, the version, and two files")
}
