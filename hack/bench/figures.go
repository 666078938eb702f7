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

package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Figure is a measured figure.
type Figure struct {
	// Load and Setup identify the measurement. The load is set by judge.
	Load  string `json:"load"`
	Setup string `json:"setup"`
	// Name is what was measured, Unit its unit; ratios and counts have none.
	Name string `json:"name"`
	Unit string `json:"unit,omitempty"`
	Summary
	// Goal is the upper limit, nil if there is none; Met reports whether the median is within it.
	Goal *float64 `json:"goal,omitempty"`
	Met  *bool    `json:"met,omitempty"`
}

// figureOf returns the figure of some measurements.
func figureOf(setup, name, unit string, values ...float64) Figure {
	return Figure{Setup: setup, Name: name, Unit: unit, Summary: summarize(values)}
}

// median returns the median of the figure with a name.
func median(figures []Figure, setup, name string) float64 {
	i := slices.IndexFunc(figures, func(f Figure) bool { return f.Setup == setup && f.Name == name })
	return figures[i].Median
}

// Report is the result of a run.
type Report struct {
	Began   time.Time `json:"began"`
	Took    string    `json:"took"`
	Machine string    `json:"machine"`
	// Load is the load average of the last minute at the start.
	Load float64 `json:"loadAverage"`
	// Commit is the measured commit.
	Commit  string   `json:"commit,omitempty"`
	Rounds  int      `json:"rounds"`
	Figures []Figure `json:"figures"`
	// Writes are the operator's writes of the last round, by load and setup, then by verb and kind.
	Writes map[string]map[string]int `json:"writes,omitempty"`
	// Reads are its reads of the same round.
	Reads map[string]map[string]int `json:"reads,omitempty"`
}

// judge adds the load and the goals.
func judge(load string, figures []Figure) []Figure {
	for i := range figures {
		figure := &figures[i]
		figure.Load = load
		if most, has := goals()[goal{load, figure.Setup, figure.Name}]; has {
			met := figure.Median <= most
			figure.Goal, figure.Met = &most, &met
		}
	}
	return figures
}

// printTable prints the figures by load.
func printTable(out io.Writer, figures []Figure) error {
	rows := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	load := ""
	for _, figure := range figures {
		if figure.Load != load {
			load = figure.Load
			fmt.Fprintf(rows, "\n%s\tsetup\tmedian\tspread\tgoal\t\n", strings.ToUpper(load))
		}
		goal, met := "", ""
		if figure.Goal != nil {
			goal = "≤ " + number(*figure.Goal)
			met = map[bool]string{true: "met", false: "not met"}[*figure.Met]
		}
		spread := ""
		if figure.Count > 1 {
			spread = number(figure.Low) + " .. " + number(figure.High)
		}
		fmt.Fprintf(rows, "%s\t%s\t%s\t%s\t%s\t%s\n", figure.Name, figure.Setup,
			strings.TrimSpace(number(figure.Median)+" "+figure.Unit), spread, goal, met)
	}
	return rows.Flush()
}

// number formats a value with three significant digits, and all digits before the point.
func number(value float64) string {
	switch {
	case value >= 100 || value <= -100:
		return fmt.Sprintf("%.0f", value)
	case value >= 10 || value <= -10:
		return fmt.Sprintf("%.1f", value)
	}
	return fmt.Sprintf("%.2f", value)
}

// Summary summarizes a set of measurements.
type Summary struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	// Count is the number of measurements.
	Count int `json:"count"`
}

// summarize returns the median, minimum and maximum of measurements, zero if there are none.
func summarize(values []float64) Summary {
	if len(values) == 0 {
		return Summary{}
	}
	return Summary{Median: percentile(values, 50), Low: slices.Min(values), High: slices.Max(values), Count: len(values)}
}

// percentile interpolates between the two nearest values; it is zero if there are none.
func percentile(values []float64, percent float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := percent / 100 * float64(len(sorted)-1)
	low := int(math.Floor(rank))
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (sorted[high]-sorted[low])*(rank-float64(low))
}

// ratio returns the ratio of the medians. Low and High are of the ratios of rounds with the same number: these ran
// one after the other, on a machine whose speed changes over time.
func ratio(ours, base []float64) Summary {
	var each []float64
	for i := range min(len(ours), len(base)) {
		if base[i] != 0 {
			each = append(each, ours[i]/base[i])
		}
	}
	result := summarize(each)
	if middle := percentile(base, 50); middle != 0 {
		result.Median = percentile(ours, 50) / middle
	}
	return result
}

// turn returns the i-th of a number of things in a round, from the last one on in every second round, so that drift over time affects all alike.
func turn(i, count, round int) int {
	if round%2 == 1 {
		return count - 1 - i
	}
	return i
}

// thisMachine describes this machine, and returns the load average of the last minute; only Linux shows both.
func thisMachine() (description string, load float64) {
	if content, err := os.ReadFile("/proc/loadavg"); err == nil {
		_, _ = fmt.Sscan(string(content), &load)
	}
	model := "processor"
	if content, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if found := regexp.MustCompile(`(?m)^model name\s*: (.*)$`).FindSubmatch(content); found != nil {
			model = string(found[1])
		}
	}
	return fmt.Sprintf("%d x %s, %s/%s, %s", runtime.NumCPU(), model, runtime.GOOS, runtime.GOARCH, runtime.Version()), load
}
