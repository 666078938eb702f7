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

package checks_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
)

func TestIsTroubled(t *testing.T) {
	for name, row := range map[string]struct {
		pod      checks.Pod
		expected bool
	}{
		"as started":             {checks.Pod{Ready: true}, false},
		"that restarted":         {checks.Pod{Ready: true, Restarts: 1}, true},
		"that ran out of memory": {checks.Pod{Ready: true, OutOfMemory: "main"}, true},
		"that isn't ready":       {checks.Pod{Unready: time.Unix(1795250000, 0)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(row.pod.IsTroubled()).To(Equal(row.expected))
		})
	}
}

func TestPassed(t *testing.T) {
	NewWithT(t).Expect(checks.Passed(time.Minute)).To(Equal(checks.Finding{Verdict: "Pass", Reason: "CheckPassed", Again: time.Minute}))
}
