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

package statistics_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/traas-stack/altershield-operator/controllers/decide/statistics"
)

// findingsFile has the findings of some hundred random releases.
const findingsFile = "testdata/findings.txt"

var update = flag.Bool("update", false, "write "+findingsFile+", if findings are meant to change")

// counters generates the raw counters of a release: pods begin, restart, end and miss moments, in no order of their names.
func counters(random *rand.Rand, olds, news, moments int) (at []time.Time, series []statistics.Series) {
	start := time.Unix(1e9, 0)
	for i := range moments {
		at = append(at, start.Add(time.Duration(i)*15*time.Second))
	}
	base, worse := 0.02*random.Float64(), []float64{1, 1, 1.5, 3, 10}[random.IntN(5)]
	shockAt, shocked := random.IntN(moments), 3*random.IntN(2)
	requests := []float64{1, 30, 300}[random.IntN(3)]
	for i := range olds + news {
		s := statistics.Series{Pod: fmt.Sprintf("web-%x", uint32(i+1)*2654435761), New: i >= olds, Born: random.IntN(4) == 0, Ready: at[random.IntN(3)]}
		mean := base * requests * gamma(random, 0.3*float64(random.IntN(2)))
		if s.New {
			mean *= worse
		}
		switch random.IntN(10) {
		case 0:
			s.Gone = at[random.IntN(moments)]
		case 1:
			s.Ready = time.Time{}
		}
		hasErrors, bad, total := random.IntN(10) > 0, 0.0, 0.0
		for t := range moments {
			if random.IntN(200) == 0 {
				bad, total = 0, 0
			}
			rate := mean
			if t >= shockAt && t < shockAt+shocked {
				rate *= 30
			}
			bad, total = bad+poisson(random, rate), total+requests
			b, seen := bad, total
			if random.IntN(30) == 0 {
				seen = math.NaN()
			}
			if random.IntN(30) == 0 {
				b = math.NaN()
			}
			s.Total = append(s.Total, seen)
			if hasErrors {
				s.Bad = append(s.Bad, b)
			}
		}
		series = append(series, s)
	}
	return at, series
}

// numbersOf returns the numbers of a finding.
func numbersOf(f statistics.Finding) []float64 {
	return []float64{
		f.New, f.Old, f.Ratio, f.NewEvents, f.OldEvents, float64(f.NewPods.Seen), float64(f.NewPods.Wanted), float64(f.OldPods.Seen), float64(f.OldPods.Wanted),
		f.Evidence, f.PValue, f.Threshold, f.MinimumDetectable, f.Superiority, f.Dispersion, float64(f.Looks),
	}
}

// randomFindings returns what is found of random releases, with few pods and with many.
func randomFindings(t *testing.T) (findings []statistics.Finding) {
	random := newRandom(t, 4242)
	for i := range 120 {
		olds, news := 1+random.IntN(12), 1+random.IntN(12)
		if i%6 == 0 {
			olds, news = 80+random.IntN(40), 20+random.IntN(100)
		}
		at, series := counters(random, olds, news, 5+random.IntN(56))
		warmup, ended := time.Duration(random.IntN(3))*15*time.Second, random.IntN(4) > 0
		looks := statistics.Looks(at, series, warmup)
		findings = append(findings,
			statistics.Concurrent(looks, statistics.Defaults(), budget, ended), statistics.Concurrent(looks, anyDelta(), budget/5, ended),
			statistics.Before(looks[:len(looks)/3], looks[len(looks)/3:], anyDelta(), budget, ended),
			statistics.Threshold(looks, 0.02, 3, 20, ended))
		values := gauges{olds: olds, news: news, ratio: []float64{1, 1.2, 1.22, 1.5}[random.IntN(4)], warming: i%2 == 0}
		newValues, oldValues := values.values(random)
		settings := statistics.GaugeSettings{Tolerance: []float64{1, 1.2, 1.5}[random.IntN(3)]}
		findings = append(findings, statistics.Gauges(newValues, oldValues, settings, budget, ended))
	}
	return findings
}

// Findings stay as they are, to nine digits, however they are computed: a release that is judged again, by another version of the operator,
// has the same verdict.
func TestFindingsOfRandomReleases(t *testing.T) {
	var lines []string
	findings := randomFindings(t)
	for _, f := range findings {
		line := []string{string(f.Verdict), string(f.Reason)}
		for _, number := range numbersOf(f) {
			line = append(line, strconv.FormatFloat(number, 'g', 12, 64))
		}
		lines = append(lines, strings.Join(line, " "))
	}
	if *update {
		if err := os.WriteFile(findingsFile, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile(findingsFile)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(content)), "\n")
	if len(want) != len(lines) {
		t.Fatalf("%d findings, want %d", len(lines), len(want))
	}
	for i, f := range findings {
		if !isFinding(t, f, strings.Fields(want[i])) {
			t.Errorf("finding %d is\n%s, want\n%s", i, lines[i], want[i])
		}
	}
}

// isFinding reports whether a finding is the one of these fields, to nine digits.
func isFinding(t *testing.T, f statistics.Finding, fields []string) bool {
	t.Helper()
	same := fields[0] == string(f.Verdict) && fields[1] == string(f.Reason)
	for i, number := range numbersOf(f) {
		wanted, err := strconv.ParseFloat(fields[2+i], 64)
		if err != nil {
			t.Fatal(err)
		}
		same = same && (number == wanted || math.IsNaN(number) && math.IsNaN(wanted) || math.Abs(number-wanted) <= 1e-9*math.Abs(wanted))
	}
	return same
}
