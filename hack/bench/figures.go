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
	"strings"
	"text/tabwriter"
	"time"
)

// Figure is a measured figure.
type Figure struct {
	// Load and Setup identify the measurement.
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
func figureOf(load, setup, name, unit string, values ...float64) Figure {
	return Figure{Load: load, Setup: setup, Name: name, Unit: unit, Summary: summarize(values)}
}

// Report is the result of a run.
type Report struct {
	Began   time.Time `json:"began"`
	Took    string    `json:"took"`
	Machine Machine   `json:"machine"`
	// Commit is the measured commit.
	Commit  string   `json:"commit,omitempty"`
	Rounds  int      `json:"rounds"`
	Figures []Figure `json:"figures"`
	// Writes are the operator's writes of the last round, by load and setup, then by verb and kind.
	Writes map[string]map[string]int `json:"writes,omitempty"`
	// Reads are its reads of the same round.
	Reads map[string]map[string]int `json:"reads,omitempty"`
}

// judge adds the goals.
func judge(figures []Figure, goals []goal) []Figure {
	for i := range figures {
		figure := &figures[i]
		for _, goal := range goals {
			if goal.is(figure) {
				most, met := goal.most, figure.Median <= goal.most
				figure.Goal, figure.Met = &most, &met
			}
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
