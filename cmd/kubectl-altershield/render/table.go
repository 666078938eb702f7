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

package render

import "strings"

// column is a column of a table.
type column struct {
	title string
	// shrinks reports whether its cells may be cut, keepsEnd whether that is on the left, and drops how early the column is left out where there
	// is no room: 0 for never.
	shrinks, keepsEnd bool
	drops             int
}

// cell is a cell of a table.
type cell struct {
	text   string
	colour colour
}

// leastWidth is the least width of a column that is cut.
const leastWidth = 12

// table returns the lines of a table, which fits the width of the style if that is possible.
func (s Style) table(columns []column, rows [][]cell) []string {
	shown := s.columnsThatFit(columns, rows)
	widths := make([]int, len(columns))
	for _, at := range shown {
		widths[at] = natural(columns, rows, at)
	}
	for s.Width > 0 && total(shown, widths) > s.Width {
		widest := widestThatShrinks(columns, shown, widths)
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	header := make([]cell, len(columns))
	for at, column := range columns {
		header[at] = cell{column.title, bold}
	}
	lines := []string{s.row(columns, shown, widths, header)}
	for _, row := range rows {
		lines = append(lines, s.row(columns, shown, widths, row))
	}
	return lines
}

// widestThatShrinks returns the widest column that may still be cut, -1 if there is none.
func widestThatShrinks(columns []column, shown, widths []int) int {
	widest := -1
	for _, at := range shown {
		if columns[at].shrinks && widths[at] > leastWidth && (widest < 0 || widths[at] > widths[widest]) {
			widest = at
		}
	}
	return widest
}

func (s Style) row(columns []column, shown, widths []int, row []cell) string {
	var line strings.Builder
	for i, at := range shown {
		text := s.cut(clean(row[at].text), widths[at])
		if columns[at].keepsEnd {
			text = s.cutLeft(clean(row[at].text), widths[at])
		}
		if i < len(shown)-1 {
			line.WriteString(s.paint(row[at].colour, text))
			line.WriteString(strings.Repeat(" ", max(0, widths[at]-Columns(text))+len(gap)))
			continue
		}
		line.WriteString(s.paint(row[at].colour, text))
	}
	return strings.TrimRight(line.String(), " ")
}

// gap stands between two columns.
const gap = "  "

// columnsThatFit leaves out columns until the others fit once cut, those that drop first first.
func (s Style) columnsThatFit(columns []column, rows [][]cell) []int {
	var shown []int
	for at := range columns {
		if hasText(rows, at) {
			shown = append(shown, at)
		}
	}
	for order := 1; s.Width > 0; order++ {
		least, last := make([]int, len(columns)), true
		for _, at := range shown {
			least[at] = natural(columns, rows, at)
			if columns[at].shrinks {
				least[at] = min(least[at], leastWidth)
			}
			last = last && columns[at].drops < order
		}
		if last || total(shown, least) <= s.Width {
			return shown
		}
		var kept []int
		for _, at := range shown {
			if columns[at].drops != order {
				kept = append(kept, at)
			}
		}
		shown = kept
	}
	return shown
}

// hasText reports whether a column has any text. Empty ones are left out.
func hasText(rows [][]cell, at int) bool {
	for _, row := range rows {
		if row[at].text != "" {
			return true
		}
	}
	return false
}

func natural(columns []column, rows [][]cell, at int) int {
	widest := Columns(columns[at].title)
	for _, row := range rows {
		widest = max(widest, Columns(clean(row[at].text)))
	}
	return widest
}

func total(shown, widths []int) int {
	sum := 0
	for _, at := range shown {
		sum += widths[at] + len(gap)
	}
	return sum - len(gap)
}
