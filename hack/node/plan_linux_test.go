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
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

func TestNodesHaveAddressesOfTheirOwn(t *testing.T) {
	g := NewWithT(t)
	all := netip.MustParsePrefix(podRange)
	used := map[string]bool{hostAddress: true}
	for _, node := range (plan{options: options{Nodes: maxNodes}, Cgroup: "/group"}).nodes() {
		pods := netip.MustParsePrefix(node.PodRange)
		g.Expect(pods.Overlaps(all)).To(BeTrue())
		g.Expect(pods.Bits()).To(BeNumerically(">", all.Bits()))
		g.Expect(netip.MustParseAddr(node.Address).IsValid()).To(BeTrue())
		for _, own := range []string{node.Name, node.Address, node.PodRange, node.Cgroup} {
			g.Expect(used).NotTo(HaveKey(own))
			used[own] = true
		}
	}
	g.Expect(used).To(HaveLen(1 + 4*maxNodes))
}

func TestKeepLogsReplacesThoseOfTheFailureBefore(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	kept := filepath.Join(dir, "kept")
	for _, run := range []string{"first", "second"} {
		g.Expect(os.MkdirAll(filepath.Join(dir, run, "logs"), 0o700)).To(Succeed())
		g.Expect(os.WriteFile(filepath.Join(dir, run, "logs", run+".log"), nil, 0o600)).To(Succeed())
		g.Expect(keepLogs(filepath.Join(dir, run), kept)).To(Succeed())
	}
	g.Expect(filepath.Join(kept, "logs", "second.log")).To(BeAnExistingFile())
	g.Expect(filepath.Join(kept, "logs", "first.log")).NotTo(BeAnExistingFile())
}
