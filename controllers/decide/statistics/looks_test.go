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
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/traas-stack/altershield-operator/controllers/decide/statistics"
)

func TestLooks(t *testing.T) {
	nan := math.NaN()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	moments := []time.Time{start, start.Add(15 * time.Second), start.Add(30 * time.Second), start.Add(45 * time.Second)}
	type counts [][2]float64 // of each look; a total of -1 is a look without the pod, -2 one that misses it
	none, missed := [2]float64{0, -1}, [2]float64{0, -2}
	for _, c := range []struct {
		name   string
		series statistics.Series
		warmup time.Duration
		want   counts
	}{
		{"rising", statistics.Series{Ready: start, Bad: []float64{1, 2, 2, 5}, Total: []float64{10, 20, 40, 50}}, 0, counts{{1, 10}, {0, 20}, {3, 10}}},
		{"a restart", statistics.Series{Ready: start, Bad: []float64{5, 6, 1, 2}, Total: []float64{10, 20, 3, 8}}, 0, counts{{1, 10}, {1, 3}, {1, 5}}},
		{"a restart without errors", statistics.Series{Ready: start, Bad: []float64{0, 0, 2, 2}, Total: []float64{10, 20, 3, 8}}, 0, counts{{0, 10}, {2, 3}, {0, 5}}},
		{"one of its series is gone", statistics.Series{Ready: start, Bad: []float64{40, 41, 31, 31}, Total: []float64{1000, 1010, 910, 920}}, 0, counts{{1, 10}, missed, {0, 10}}},
		{"one of its error series is gone", statistics.Series{Ready: start, Bad: []float64{40, 41, 31, 32}, Total: []float64{1000, 1010, 1020, 1030}}, 0, counts{{1, 10}, missed, {1, 10}}},
		{"one of its series is gone while it is idle", statistics.Series{Ready: start, Total: []float64{1000, 1000, 900, 900}}, 0, counts{{0, 0}, missed, {0, 0}}},
		{"a restart with more events than before", statistics.Series{Ready: start, Bad: []float64{5, 6, 1, 2}, Total: []float64{100, 110, 40, 45}}, 0, counts{{1, 10}, {1, 40}, {1, 5}}},
		{"a restart in the first look", statistics.Series{Ready: start, Bad: []float64{5, 1, 1, 2}, Total: []float64{100, 40, 45, 50}}, 0, counts{{1, 40}, {0, 5}, {1, 5}}},
		{"no error series yet", statistics.Series{Ready: start, Bad: []float64{nan, nan, 3, 3}, Total: []float64{10, 20, 30, 40}}, 0, counts{{0, 10}, {3, 10}, {0, 10}}},
		{"no error series at all", statistics.Series{Ready: start, Total: []float64{10, 20, 30, 40}}, 0, counts{{0, 10}, {0, 10}, {0, 10}}},
		{"the error series is lost for a moment", statistics.Series{Ready: start, Bad: []float64{4, 5, nan, 6}, Total: []float64{10, 20, 30, 40}}, 0, counts{{1, 10}, {0, 10}, {1, 10}}},
		{"a missed moment", statistics.Series{Ready: start, Bad: []float64{1, nan, 2, 5}, Total: []float64{10, nan, 40, 50}}, 0, counts{missed, missed, {3, 10}}},
		{"hostile totals", statistics.Series{Ready: start, Total: []float64{math.Inf(1), -1, 1e300, nan}}, 0, counts{missed, missed, missed}},
		{"warming up", statistics.Series{Ready: start, Total: []float64{10, 20, 40, 50}}, 15 * time.Second, counts{none, {0, 20}, {0, 10}}},
		{"not ready", statistics.Series{Total: []float64{10, 20, 40, 50}}, 0, counts{none, none, none}},
		{"ended", statistics.Series{Ready: start, Gone: moments[2], Total: []float64{10, 20, 40, nan}}, 0, counts{{0, 10}, {0, 20}, none}},
		{"born in the release", statistics.Series{Ready: start, Born: true, Bad: []float64{nan, 2, 2, 2}, Total: []float64{nan, 20, 30, 40}}, 0, counts{missed, {0, 10}, {0, 10}}},
		{"too short", statistics.Series{Ready: start, Total: []float64{10, 20}}, 0, counts{{0, 10}, missed, missed}},
	} {
		for _, isNew := range []bool{false, true} {
			c.series.New = isNew
			got := counts{}
			for _, look := range statistics.Looks(moments, []statistics.Series{c.series}, c.warmup) {
				pods, wanted, other := look.Old, look.OldPods, look.NewPods
				if isNew {
					pods, wanted, other = look.New, look.NewPods, look.OldPods
				}
				switch {
				case other > 0:
					t.Errorf("%s: counted in the other group", c.name)
				case len(pods) == 1 && wanted == 1:
					got = append(got, [2]float64{pods[0].Bad, pods[0].Total})
				case wanted == 1:
					got = append(got, missed)
				default:
					got = append(got, none)
				}
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s: %v, want %v", c.name, got, c.want)
			}
		}
	}
	if looks := statistics.Looks(moments[:1], nil, 0); looks != nil {
		t.Errorf("one moment makes the looks %v", looks)
	}
}

// A release of a day has long looks before the short ones at its last pods.
func TestLooksOfUnequalLength(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	moments := []time.Time{start, start.Add(24 * time.Minute), start.Add(24*time.Minute + 15*time.Second), start.Add(24*time.Minute + 30*time.Second)}
	for name, row := range map[string]struct {
		total []float64
		want  []float64 // -1 where it isn't known
	}{
		"rising":                    {[]float64{0, 9600, 9700, 9800}, []float64{9600, 100, 100}},
		"a restart":                 {[]float64{0, 9600, 400, 500}, []float64{9600, 400, 100}},
		"one of its series is gone": {[]float64{0, 9600, 401, 501}, []float64{9600, -1, 100}},
	} {
		var got []float64
		for _, look := range statistics.Looks(moments, []statistics.Series{{Ready: start, Total: row.total}}, 0) {
			if len(look.Old) == 0 {
				got = append(got, -1)
				continue
			}
			got = append(got, look.Old[0].Total)
		}
		if !reflect.DeepEqual(got, row.want) {
			t.Errorf("%s: %v, want %v", name, got, row.want)
		}
	}
}

func TestOverlap(t *testing.T) {
	nan := math.NaN()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var moments []time.Time
	for i := range 6 {
		moments = append(moments, start.Add(time.Duration(i)*15*time.Second))
	}
	pod := func(isNew bool, ready int, totals ...float64) statistics.Series {
		return statistics.Series{New: isNew, Ready: moments[ready], Total: totals}
	}
	gone, away := pod(false, 0, 1, 2, 3, 4, 5, 6), pod(false, 0, 1, 2, 3, 4, 5, 6)
	gone.Gone, away.Ready = moments[2], time.Time{}
	news := pod(true, 1, 1, 2, 3, 4, 4, 5) // counts in the looks 2, 3, and 5
	for _, c := range []struct {
		name       string
		series     []statistics.Series
		warmup     time.Duration
		news, both int
	}{
		{"no pod", nil, 0, 0, 0},
		{"no old pod", []statistics.Series{news}, 0, 3, 0},
		{"no new pod", []statistics.Series{gone}, 0, 0, 0},
		{"two new pods", []statistics.Series{news, pod(true, 0, 1, 2, 3, nan, 5, 6)}, 0, 4, 0},
		{"old pods at the same time", []statistics.Series{pod(false, 2, 1, 2, 3, 4, 5, 6), news}, 0, 3, 2},
		{"an old pod until it was gone", []statistics.Series{news, gone}, 0, 3, 1},
		{"an old pod that isn't ready", []statistics.Series{news, away}, 0, 3, 0},
		{"an old pod without events", []statistics.Series{news, pod(false, 0, 1, 1, 1, 1, 1, 1)}, 0, 3, 0},
		{"an old pod with a short series", []statistics.Series{news, pod(false, 0, 1, 2, 3, 4)}, 0, 3, 2},
		{"a warm-up", []statistics.Series{news, pod(false, 0, 1, 2, 3, 4, 5, 6)}, 30 * time.Second, 1, 1},
		{"bad events that are none", []statistics.Series{{New: true, Ready: start, Bad: []float64{0, 1e15}, Total: []float64{1, 2}}}, 0, 1, 0},
	} {
		if news, both := statistics.Overlap(moments, c.series, c.warmup); news != c.news || both != c.both {
			t.Errorf("%s: %d looks with new pods, %d with both", c.name, news, both)
		}
	}
}
