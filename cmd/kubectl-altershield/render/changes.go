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

import (
	"strings"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

// Difference prints what two contents differ in.
func Difference(difference view.Difference, style Style) string {
	if difference.NotControlled {
		return join([]string{style.text("not.controlled", style.side(difference.To))})
	}
	lines := []string{style.paint(bold, style.side(difference.From)+" "+style.arrow()+" "+style.side(difference.To))}
	if isNew := difference.From == (view.Side{}); len(difference.Changes)+len(difference.Full) == 0 && !isNew {
		lines = append(lines, "  "+style.text("same"))
	}
	if len(difference.Full) > 0 {
		return join(append(lines, style.full(difference.Full)...))
	}
	for _, change := range difference.Changes {
		with := plain
		switch {
		case strings.Contains(change, ": added"):
			with = green
		case strings.Contains(change, ": removed"):
			with = red
		}
		lines = append(lines, "  "+style.paint(with, clean(change)))
	}
	return join(lines)
}

// AskSecrets asks whether to print values that may be secret.
func AskSecrets(style Style) string { return style.text("ask.secrets") }

// full returns lines that differ.
func (s Style) full(lines []string) []string {
	var painted []string
	for _, line := range lines {
		with := plain
		switch line[0] {
		case '+':
			with = green
		case '-':
			with = red
		}
		painted = append(painted, s.paint(with, clean(line)))
	}
	return painted
}

func (s Style) side(side view.Side) string {
	switch {
	case side.File != "":
		return s.text("file", clean(side.File))
	case side.Release == 0:
		return s.text("new.workload")
	}
	return s.text("release", side.Release) + " " + shortVersion(side.Version)
}
