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
	"cmp"
	"fmt"
	"slices"
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

func TestSampleChoosesByTheNamesAlone(t *testing.T) {
	g := NewWithT(t)
	of := func(from, to int) (pods []checks.Pod) {
		for i := from; i < to; i++ {
			pods = append(pods, checks.Pod{Name: fmt.Sprintf("web-%03d", 7*i%300)})
		}
		return pods
	}
	chosen := checks.Sample(of(0, 250), 100)
	g.Expect(chosen).To(HaveLen(100))
	g.Expect(slices.IsSortedFunc(chosen, func(a, b checks.Pod) int { return cmp.Compare(a.Name, b.Name) })).To(BeTrue())
	reversed := of(0, 250)
	slices.Reverse(reversed)
	g.Expect(checks.Sample(reversed, 100)).To(Equal(chosen))
	few, low := 0, 0
	for _, pod := range checks.Sample(of(0, 251), 100) {
		if !slices.ContainsFunc(chosen, func(other checks.Pod) bool { return other.Name == pod.Name }) {
			few++
		}
		if pod.Name < "web-150" {
			low++
		}
	}
	g.Expect(few).To(BeNumerically("<=", 1), "a further pod changes the choice of few others")
	g.Expect(low).To(BeNumerically("~", 50, 20), "names of all ranges are chosen")
	g.Expect(checks.Sample(of(0, 3), 100)).To(HaveLen(3))
	g.Expect(checks.Sample(nil, 100)).To(BeEmpty())
}

func TestPassed(t *testing.T) {
	NewWithT(t).Expect(checks.Passed(time.Minute)).To(Equal(checks.Finding{Verdict: "Pass", Reason: "CheckPassed", Again: time.Minute}))
}
