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
	"encoding/json"
	"math"
	"testing"

	. "github.com/onsi/gomega"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/statistics"
)

func TestNumbersAreThoseThatATestHas(t *testing.T) {
	errors := statistics.Finding{
		Verdict: "Fail", Reason: "CheckFailed", New: 0.032, Old: 0.002, Ratio: 16, Evidence: 123456789, Threshold: 100, PValue: math.NaN(), MinimumDetectable: math.Inf(1),
		NewPods: statistics.Coverage{Seen: 7, Wanted: 8}, OldPods: statistics.Coverage{Seen: 40, Wanted: 40},
	}
	changed := func(change func(*statistics.Finding)) statistics.Finding {
		found := errors
		change(&found)
		return found
	}
	const seen = `"podsSeen":7,"podsWanted":8,"oldPodsSeen":40,"oldPodsWanted":40`
	for name, row := range map[string]struct {
		numbers *appv1alpha1.CheckNumbers
		want    string
	}{
		"counts": {checks.NumbersOfCounts(errors), `{"new":"0.032","old":"0.002","ratio":"16","evidence":"1.23457e+08","threshold":"100",` + seen + `}`},
		"counts without evidence": {checks.NumbersOfCounts(changed(func(f *statistics.Finding) { f.Evidence = 0 })),
			`{"new":"0.032","old":"0.002","ratio":"16","evidence":"0","threshold":"100",` + seen + `}`},
		"counts without old events": {checks.NumbersOfCounts(changed(func(f *statistics.Finding) { f.Old, f.Ratio = 0, math.Inf(1) })),
			`{"new":"0.032","old":"0","evidence":"1.23457e+08","threshold":"100",` + seen + `}`},
		"counts that passed": {checks.NumbersOfCounts(changed(func(f *statistics.Finding) { f.Verdict, f.Reason, f.MinimumDetectable = "Pass", "CheckPassed", 2.5 })),
			`{"new":"0.032","old":"0.002","ratio":"16","evidence":"1.23457e+08","threshold":"100","minimumDetectable":"2.5",` + seen + `}`},
		"counts of too few pods": {checks.NumbersOfCounts(changed(func(f *statistics.Finding) { f.Verdict, f.Reason, f.Ratio = "Inconclusive", "NoData", 1 })), `{` + seen + `}`},
		"counts of no new pods": {checks.NumbersOfCounts(changed(func(f *statistics.Finding) {
			f.Verdict, f.Reason, f.NewPods.Seen = "Inconclusive", "MissingOnNewPods", 0
		})), `{"podsSeen":0,"podsWanted":8,"oldPodsSeen":40,"oldPodsWanted":40}`},
		"counts without any pod": {checks.NumbersOfCounts(statistics.Finding{Verdict: "Inconclusive", Reason: "MetricMissing"}), `null`},
		"a p-value": {checks.NumbersOfLevel(changed(func(f *statistics.Finding) { f.Evidence, f.PValue, f.Threshold = 0, 0.00000123456789, 0.005 })),
			`{"new":"0.032","old":"0.002","ratio":"16","pValue":"1.23457e-06","threshold":"0.005",` + seen + `}`},
		"dominance, which has none": {checks.NumbersOfLevel(changed(func(f *statistics.Finding) { f.Evidence, f.Threshold = 0, 0.005 })),
			`{"new":"0.032","old":"0.002","ratio":"16",` + seen + `}`},
		"a limit": {checks.NumbersOfLimit(changed(func(f *statistics.Finding) { f.Threshold, f.OldPods = 0.01, statistics.Coverage{} })),
			`{"new":"0.032","threshold":"0.01","podsSeen":7,"podsWanted":8}`},
		"a limit of too few pods": {checks.NumbersOfLimit(changed(func(f *statistics.Finding) { f.Reason, f.OldPods = "NoData", statistics.Coverage{} })),
			`{"podsSeen":7,"podsWanted":8}`},
		"pods alone": {checks.NumbersSeen(errors), `{` + seen + `}`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			encoded, err := json.Marshal(row.numbers)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(encoded)).To(Equal(row.want))
		})
	}
}

// The API server rejects a status with a longer one.
func TestDecimalHasAtMost16Characters(t *testing.T) {
	for value, want := range map[float64]string{
		0: "0", 41: "41", -2.5: "-2.5", 1.0 / 3: "0.333333", 1234567: "1.23457e+06", -math.MaxFloat64: "-1.79769e+308", -math.SmallestNonzeroFloat64: "-4.94066e-324",
		math.Inf(1): "", math.Inf(-1): "",
	} {
		g := NewWithT(t)
		g.Expect(checks.Decimal(value)).To(Equal(want))
		g.Expect(len(want)).To(BeNumerically("<=", 16))
	}
	NewWithT(t).Expect(checks.Decimal(math.NaN())).To(BeEmpty())
}
