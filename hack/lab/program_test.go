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

package lab_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/hack/lab"
)

func TestKeepLogFindsAPanicAndADataRaceInALog(t *testing.T) {
	g, log := NewWithT(t), filepath.Join(t.TempDir(), "manager.log")
	found := func(content string) []string {
		g.Expect(os.WriteFile(log, []byte(content), 0o600)).To(Succeed())
		lines, crashes, err := lab.KeepLog(log, log+".kept")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(lines).To(Equal(strings.Count(content, "\n")))
		g.Expect(os.ReadFile(log + ".kept")).To(BeEquivalentTo(content))
		return crashes
	}
	g.Expect(found("{\"level\":\"info\"}\na reconcile failed: panic-free\n")).To(BeEmpty())
	g.Expect(found("{}\nWARNING: DATA RACE\n")).To(ConsistOf("line 2 of " + log + ".kept: WARNING: DATA RACE"))
	g.Expect(found("panic: runtime error\n\ngoroutine 1\n")).To(HaveLen(1))
	g.Expect(found("{\"msg\":\"Observed a panic\"}\n")).To(HaveLen(1))
}
