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

package view

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// context is how many equal lines stand around a difference.
const context = 3

// FullChangesOf returns the lines of two contents in YAML that differ, after "+ " and "- ", and those around them, after two spaces. They have
// values that may be secret.
func FullChangesOf(from, to Content) ([]string, error) {
	before, err := linesOf(from)
	if err != nil {
		return nil, err
	}
	after, err := linesOf(to)
	if err != nil {
		return nil, err
	}
	return around(compared(before, after)), nil
}

// linesOf returns a content in YAML, with bare pod templates.
func linesOf(content Content) ([]string, error) {
	shown := map[string]any{}
	for pointer, value := range content {
		shown[pointer] = bare(value)
	}
	text, err := yaml.Marshal(shown)
	if err != nil {
		return nil, fmt.Errorf("encoding the content: %w", err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n"), nil
}

// compared returns the lines of two texts. Those at their starts and ends that are equal need no table of lengths.
func compared(before, after []string) []string {
	start, end := 0, 0
	for start < min(len(before), len(after)) && before[start] == after[start] {
		start++
	}
	for end < min(len(before), len(after))-start && before[len(before)-1-end] == after[len(after)-1-end] {
		end++
	}
	lines := make([]string, 0, len(before)+len(after))
	for _, line := range before[:start] {
		lines = append(lines, "  "+line)
	}
	lines = append(lines, differing(before[start:len(before)-end], after[start:len(after)-end])...)
	for _, line := range before[len(before)-end:] {
		lines = append(lines, "  "+line)
	}
	return lines
}

// differing returns the lines of two texts by a longest common subsequence of them.
func differing(before, after []string) []string {
	lengths := make([][]int, len(before)+1) // of the common subsequence of what follows
	for i := range lengths {
		lengths[i] = make([]int, len(after)+1)
	}
	for i, line := range slices.Backward(before) {
		for j, other := range slices.Backward(after) {
			lengths[i][j] = max(lengths[i+1][j], lengths[i][j+1])
			if line == other {
				lengths[i][j] = lengths[i+1][j+1] + 1
			}
		}
	}
	var lines []string
	i, j := 0, 0
	for i < len(before) || j < len(after) {
		switch {
		case i < len(before) && j < len(after) && before[i] == after[j]:
			lines = append(lines, "  "+before[i])
			i, j = i+1, j+1
		case j == len(after) || i < len(before) && lengths[i+1][j] >= lengths[i][j+1]:
			lines = append(lines, "- "+before[i])
			i++
		default:
			lines = append(lines, "+ "+after[j])
			j++
		}
	}
	return lines
}

// around returns the lines that differ and those around them. "..." stands for what is left out in between.
func around(lines []string) []string {
	differs := func(line string) bool { return !strings.HasPrefix(line, "  ") }
	var shown []string
	last := -1
	for i, line := range lines {
		if !slices.ContainsFunc(lines[max(0, i-context):min(len(lines), i+context+1)], differs) {
			continue
		}
		if last >= 0 && i > last+1 {
			shown = append(shown, "...")
		}
		shown, last = append(shown, line), i
	}
	return shown
}
