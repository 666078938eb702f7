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
	"os"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// spent returns the processor time of this process.
func spent(g Gomega) time.Duration {
	var usage syscall.Rusage
	g.Expect(syscall.Getrusage(syscall.RUSAGE_SELF, &usage)).To(Succeed())
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func TestUsageHasTheProcessorTime(t *testing.T) {
	g := NewWithT(t)
	before := spent(g)
	for before < 200*time.Millisecond {
		before = spent(g)
	}
	usage, err := readUsage(os.Getpid())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(usage.CPU).To(And(BeNumerically(">=", before-20*time.Millisecond), BeNumerically("<=", spent(g))), "both times are cut to ticks")
}

func TestUsageOfWhatIsNoProcessIsAnError(t *testing.T) {
	_, err := readUsage(1 << 30)
	NewWithT(t).Expect(err).To(MatchError(os.ErrNotExist))
}

func TestUsageOfAProcess(t *testing.T) {
	g := NewWithT(t)
	usage, err := start(t, t.TempDir(), "wait").Usage()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(usage.Memory).To(BeNumerically(">", 0))
	g.Expect(usage.Peak).To(BeNumerically(">=", usage.Memory))
}
