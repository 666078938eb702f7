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
	"encoding/binary"
	"math"
	"testing"
	"time"

	"github.com/traas-stack/altershield-operator/controllers/decide/statistics"
)

// numbers reads hostile numbers from bytes: any bits, and some that are likelier to do harm.
func numbers(data []byte) (numbers []float64) {
	special := []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, 1, 1e15, 1e300, 5e-324, 0.1, 100, 2}
	for len(data) > 0 {
		kind := data[0]
		data = data[1:]
		switch {
		case int(kind) < len(special):
			numbers = append(numbers, special[kind])
		case kind < 200:
			numbers = append(numbers, float64(kind))
		case len(data) >= 8:
			numbers = append(numbers, math.Float64frombits(binary.LittleEndian.Uint64(data)))
			data = data[8:]
		}
	}
	return numbers
}

// checkFinding fails the test if a finding can't be shown, or fails pods of which nothing was seen.
func checkFinding(t *testing.T, f statistics.Finding, seen bool) {
	t.Helper()
	if f.Verdict != statistics.Pass && f.Verdict != statistics.Fail && f.Verdict != statistics.Inconclusive || f.Reason == "" {
		t.Errorf("no verdict: %+v", f)
	}
	if f.Verdict == statistics.Fail && !seen {
		t.Errorf("failed without data: %+v", f)
	}
	for _, v := range []float64{f.New, f.Old, f.Evidence, f.NewEvents, f.OldEvents, f.Superiority, f.Dispersion} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			t.Errorf("not a number: %+v", f)
		}
	}
	if math.IsNaN(f.Ratio) || math.IsNaN(f.MinimumDetectable) || f.PValue < 0 || f.PValue > 1 {
		t.Errorf("not a number: %+v", f)
	}
}

func usable(n float64) bool { return n > 0 && n <= 1e15 }

func FuzzCounts(f *testing.F) {
	f.Add([]byte{11, 10, 11, 10}, uint8(2), true)
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0, 1, 2}, uint8(1), false)
	f.Add([]byte{6, 6, 6, 6, 8, 6, 6, 8, 10, 199, 199, 199}, uint8(3), true)
	f.Fuzz(func(t *testing.T, data []byte, pods uint8, ended bool) {
		values, seen := numbers(data), false
		var looks []statistics.Look
		for len(values) >= 4 {
			look := statistics.Look{Time: time.Minute, NewPods: 1, OldPods: 1 + int(pods%8), New: []statistics.Count{{Pod: "new", Bad: values[0], Total: values[1]}}}
			seen = seen || usable(values[0]) && usable(values[1])
			for i := range look.OldPods {
				look.Old = append(look.Old, statistics.Count{Pod: string(rune('a' + i)), Bad: values[2], Total: values[3]})
			}
			looks, values = append(looks, look), values[4:]
		}
		checkFinding(t, statistics.Concurrent(looks, anyDelta(), budget, ended), seen)
		checkFinding(t, statistics.Before(looks[:len(looks)/2], looks[len(looks)/2:], anyDelta(), budget, ended), seen)
		checkFinding(t, statistics.Threshold(looks, 0.01, 3, 20, ended), seen)
	})
}

func FuzzLooks(f *testing.F) {
	f.Add([]byte{20, 40, 60, 30, 90}, []byte{12, 13, 14, 12, 20}, true, uint8(0))
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8}, []byte{8, 7, 6, 5, 4, 3, 2, 1, 0}, false, uint8(15))
	f.Fuzz(func(t *testing.T, totals, bads []byte, born bool, warmup uint8) {
		start := time.Unix(0, 0)
		series := statistics.Series{Pod: "new", New: true, Born: born, Ready: start, Total: numbers(totals), Bad: numbers(bads)}
		moments := make([]time.Time, len(series.Total))
		for i := range moments {
			moments[i] = start.Add(time.Duration(i) * 15 * time.Second)
		}
		looks := statistics.Looks(moments, []statistics.Series{series}, time.Duration(warmup)*time.Second)
		for i, look := range looks {
			for _, c := range look.New {
				if !(c.Bad >= 0 && c.Total >= 0 && c.Bad <= 1e15 && c.Total <= 1e15) {
					t.Errorf("look %d counted %+v", i, c)
				}
			}
			if len(look.New) > look.NewPods {
				t.Errorf("look %d saw %d of %d pods", i, len(look.New), look.NewPods)
			}
		}
	})
}

func FuzzGauges(f *testing.F) {
	f.Add([]byte{10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}, uint8(3), 1.2)
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, uint8(1), 1.0)
	f.Fuzz(func(t *testing.T, data []byte, news uint8, tolerance float64) {
		if !(tolerance >= 1 && tolerance < 1e6) {
			return
		}
		all := steady(numbers(data)...)
		k, seen := min(len(all), int(news%16)), false
		for _, g := range all[:k] {
			seen = seen || math.Abs(g.Values[0]) <= 1e15
		}
		checkFinding(t, statistics.Gauges(all[:k], all[k:], statistics.GaugeSettings{Tolerance: tolerance}, budget, true), seen)
	})
}

func FuzzRare(f *testing.F) {
	f.Add(1.0, 5.0, 0.0, 600.0, 0.0, 0.0, 0)
	f.Add(math.NaN(), math.Inf(1), -1.0, 1e300, 0.5, 5e-324, 3)
	f.Fuzz(func(t *testing.T, x, e, y, m, z, w float64, others int) {
		f := statistics.Rare(statistics.Lives{Events: x, Minutes: e}, statistics.Lives{Events: y, Minutes: m}, statistics.Lives{Events: z, Minutes: w}, others, 0.005)
		checkFinding(t, f, usable(x) && usable(e) && usable(m))
	})
}
