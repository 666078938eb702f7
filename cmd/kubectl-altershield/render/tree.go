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

// node is a line of a tree and what hangs below it.
type node struct {
	label, text string
	colour      colour
	below       []node
	// folded is the number of lines that the node stands for; 0 for an ordinary one.
	folded int
}

// tree returns the lines of a tree whose labels have the same width.
func (s Style) tree(nodes []node) []string {
	widest := 0
	measure(nodes, 1, &widest)
	return s.branch(nodes, "", widest)
}

const indent = 3

func measure(nodes []node, depth int, widest *int) {
	for _, node := range nodes {
		if node.text != "" {
			*widest = max(*widest, depth*indent+Columns(clean(node.label)))
		}
		measure(node.below, depth+1, widest)
	}
}

func (s Style) branch(nodes []node, before string, widest int) []string {
	var lines []string
	for i, node := range nodes {
		joint, stem := "├─ ", "│  "
		if i == len(nodes)-1 {
			joint, stem = "└─ ", "   "
		}
		if s.ASCII {
			joint = strings.NewReplacer("├─", "|-", "└─", "`-").Replace(joint)
			stem = strings.Replace(stem, "│", "|", 1)
		}
		lead := pad(before+joint+clean(node.label), widest) + gap
		text := clean(node.text)
		if s.Width > 0 {
			text = s.cut(text, max(leastWidth, s.Width-Columns(lead)))
		}
		lines = append(lines, strings.TrimRight(lead+s.paint(node.colour, text), " "))
		lines = append(lines, s.branch(node.below, before+stem, widest)...)
	}
	return lines
}

// fold replaces the last nodes of the longest branch by their number until a tree has at most limit lines. A limit of 0 is none.
func (s Style) fold(nodes []node, limit int) []node {
	for limit > 0 && count(nodes) > limit {
		longest := &nodes
		findLongest(&nodes, &longest)
		branch := *longest
		if len(branch) < 3 {
			return nodes
		}
		kept, hidden := len(branch)-2, count(branch[len(branch)-2:])
		if folded := branch[len(branch)-1].folded; folded > 0 {
			hidden += folded - 1
		}
		*longest = append(branch[:kept:kept], node{text: s.text("more", hidden), colour: faint, folded: hidden})
	}
	return nodes
}

func findLongest(nodes *[]node, longest **[]node) {
	if len(*nodes) > len(**longest) {
		*longest = nodes
	}
	for i := range *nodes {
		findLongest(&(*nodes)[i].below, longest)
	}
}

func count(nodes []node) int {
	lines := len(nodes)
	for _, node := range nodes {
		lines += count(node.below)
	}
	return lines
}
