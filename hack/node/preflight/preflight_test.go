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

package preflight

import (
	"errors"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
)

// all has every capability.
const all = 0x1ffffffffff

func TestProblem(t *testing.T) {
	for name, c := range map[string]struct {
		facts Facts
		says  string
	}{
		"a fit machine":               {Facts{OS: "linux", Capabilities: all}, ""},
		"without CAP_SYS_RESOURCE":    {Facts{OS: "linux", Capabilities: all &^ (1 << 24)}, ""},
		"missing packages come later": {Facts{OS: "linux", Capabilities: all, Packages: []string{"runc"}}, ""},
		"macOS":                       {Facts{OS: "darwin"}, "require Linux, and this is darwin"},
		"another user":                {Facts{OS: "linux", UID: 1000}, "sudo"},
		"an unprivileged container":   {Facts{OS: "linux", Capabilities: 0xa80425fb}, "root lacks CAP_NET_ADMIN, CAP_SYS_ADMIN here"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			if c.says == "" {
				g.Expect(c.facts.Problem()).To(Succeed())
				return
			}
			g.Expect(c.facts.Problem()).To(MatchError(ContainSubstring(c.says)))
		})
	}
}

func TestMissingPackages(t *testing.T) {
	g := NewWithT(t)
	with := func(programs ...string) func(string) (string, error) {
		return func(program string) (string, error) {
			if slices.Contains(programs, program) {
				return program, nil
			}
			return "", errors.New("not found")
		}
	}
	g.Expect(missingPackages(with("runc", "/usr/lib/cni/ptp", "nft", "ip"))).To(BeEmpty())
	g.Expect(missingPackages(with("runc", "ip"))).To(Equal([]string{"containernetworking-plugins", "nftables"}))
}
