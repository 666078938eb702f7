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

package report

import (
	"io"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestShareString(t *testing.T) {
	for of, expected := range map[share]string{
		{0, 120}:   "0.0% (0 of 120) | 0.0% to 3.0%",
		{5, 10}:    "50.0% (5 of 10) | 18.7% to 81.3%", // R: binom.test(5, 10)
		{114, 120}: "95.0% (114 of 120) | 89.4% to 98.1%",
		{15, 15}:   "100.0% (15 of 15) | 78.2% to 100.0%",
		{0, 0}:     "- | -",
	} {
		NewWithT(t).Expect(of.String()).To(Equal(expected))
	}
}

func TestReport(t *testing.T) {
	g := NewWithT(t)
	said := func(class Class, decided time.Duration, checks ...Check) Release {
		return Release{class, checks, decided}
	}
	pass := func(name string) Check { return Check{Name: name} }
	fail := func(name string, after time.Duration) Check { return Check{name, true, after} }
	busy := Class{Name: "good", Busy: true}
	little := Class{Name: "little traffic"}
	silent := Class{Name: "no traffic", Silent: true}
	faulty := Class{Name: "errors", Fault: "errors", Recall: 0.95, Delay: 90 * time.Second}
	hard := Class{Name: "few errors", Fault: "errors"}
	all := []Release{
		said(busy, time.Minute, pass("errors"), pass("latency")), said(busy, 2*time.Minute, pass("errors"), pass("latency")),
		said(little, 10*time.Minute, pass("errors"), pass("latency")),
		said(silent, 10*time.Minute, pass("errors"), pass("latency")),
		said(faulty, 0, fail("errors", 75*time.Second), pass("latency")), said(faulty, 0, pass("errors"), fail("latency", 10*time.Second)),
		said(hard, 0, pass("errors")),
	}
	written := func(releases []Release, within time.Duration) (string, bool) {
		var out strings.Builder
		met := (&Report{releases, "until a good release with traffic was decided", within}).Write(&out)
		return out.String(), met
	}
	text, met := written(all, 2*time.Minute)
	g.Expect(met).To(BeFalse())
	g.Expect(text).To(Equal(`| | value | 95% interval | target |
|---|---|---|---|
| precision | 100.0% (1 of 1) | 2.5% to 100.0% | |
| recall, all faults | 33.3% (1 of 3) | 0.8% to 90.6% | |
| disturbance: good releases that failed | 0.0% (0 of 4) | 0.0% to 60.2% | <= 1% |
| a check without a fault failed a bad release | 50.0% (1 of 2) | 1.3% to 98.7% | <= 1% **missed** |
| a release without data failed | 0.0% (0 of 1) | 0.0% to 97.5% | 0 |
| until a good release with traffic was decided, median | 2m0s | | <= 2m0s |
| the same with at least 3 expected errors a pod and look | 2m0s | | |

| good releases | failed | 95% interval | target | decided, median |
|---|---|---|---|---|
| good | 0.0% (0 of 2) | 0.0% to 84.2% | <= 1% | 2m0s |
| little traffic | 0.0% (0 of 1) | 0.0% to 97.5% | <= 1% | 10m0s |
| no traffic | 0.0% (0 of 1) | 0.0% to 97.5% | <= 1% | 10m0s |

| bad releases | found | 95% interval | target | delay, median | from | to | target |
|---|---|---|---|---|---|---|---|
| errors | 50.0% (1 of 2) | 1.3% to 98.7% | >= 95% | 1m15s | 1m15s | 1m15s | <= 1m30s |
| few errors | 0.0% (0 of 1) | 0.0% to 97.5% |  | - | - | - |  |
`))
	met = (&Report{all[:5], "", 2 * time.Minute}).Write(io.Discard)
	g.Expect(met).To(BeTrue())
	for name, last := range map[string]Release{
		"too late":        said(faulty, 0, fail("errors", 9*time.Minute), pass("latency")),
		"nothing to tell": said(silent, 0, fail("errors", 9*time.Minute), pass("latency")),
		"too late for releases with little traffic": said(little, 10*time.Minute, pass("errors"), pass("latency")),
	} {
		_, met = written(append(all[:5:5], last, last), 2*time.Minute)
		g.Expect(met).To(BeFalse(), name)
	}
	_, met = written(append(all[:5:5], all[2], all[2]), 0)
	g.Expect(met).To(BeTrue(), "no target of good releases")
}
