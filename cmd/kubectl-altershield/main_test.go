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
	"go/build"
	"testing"

	. "github.com/onsi/gomega"
)

// Without it no calendar of a freeze can be read where the system has no time zones, as on Windows.
func TestProgramsThatReadCalendarsBringTheTimeZones(t *testing.T) {
	for name, dir := range map[string]string{"the plugin": ".", "the manager": "../.."} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			program, err := build.ImportDir(dir, 0)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(program.Imports).To(ContainElement("time/tzdata"))
		})
	}
}
