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

package process

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestUsageIsReadWhereTheNameOfAProgramHoldsASpace(t *testing.T) {
	g := NewWithT(t)
	stat := "123 (a b) S 1 123 123 0 -1 4194560 1 2 3 4 250 50 7 8 20 0 12 0 100 1 2"
	usage, err := parseUsage(stat, "Name:\ta b\nVmHWM:\t   70000 kB\nVmRSS:\t   60000 kB\n")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(usage).To(Equal(Usage{CPU: 3 * time.Second, Memory: 60000 * 1024, Peak: 70000 * 1024}))
}

func TestUsageOfWhatIsNoProcessIsAnError(t *testing.T) {
	g := NewWithT(t)
	_, err := parseUsage("", "")
	g.Expect(err).To(MatchError(ContainSubstring("stat has 0 fields")))
}

func TestUsageOfAProcess(t *testing.T) {
	g := NewWithT(t)
	usage, err := start(t, t.TempDir(), "wait").Usage()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(usage.Memory).To(BeNumerically(">", 0))
	g.Expect(usage.Peak).To(BeNumerically(">=", usage.Memory))
}
