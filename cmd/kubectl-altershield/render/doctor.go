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

// sameShown is how many findings of the same symptom are shown.
const sameShown = 5

// Diagnosis prints what doctor found: a line for each finding, and below it the command that helps.
func Diagnosis(diagnosis view.Diagnosis, style Style) string {
	widest := 0
	for _, finding := range diagnosis.Items {
		widest = max(widest, Columns(style.topic(finding.Topic)))
	}
	var lines []string
	same := 0
	for i, finding := range diagnosis.Items {
		if i == 0 || !alike(diagnosis.Items[i-1], finding) {
			same = 0
		}
		if same++; same <= sameShown {
			lines = append(lines, style.finding(finding, widest)...)
		}
		isLast := i == len(diagnosis.Items)-1 || !alike(diagnosis.Items[i+1], finding)
		if left := same - sameShown; isLast && left > 0 {
			lines = append(lines, strings.Repeat(" ", widest+2+len(gap))+style.paint(faint, style.text("more", left)))
		}
	}
	if diagnosis.Problems == 0 {
		return join(append(lines, style.paint(green, style.text("doctor.fine"))))
	}
	return join(append(lines, style.paint(red, style.text("doctor.problems", diagnosis.Problems))))
}

// alike reports whether two findings say the same about different objects.
func alike(one, other view.Finding) bool {
	return one.Topic == other.Topic && one.Symptom == other.Symptom
}

// finding returns the lines of a finding. A command isn't wrapped, so that it can be copied.
func (s Style) finding(finding view.Finding, widest int) []string {
	mark := markOfResult(finding.Result)
	lead := s.sign(mark) + " " + pad(s.topic(finding.Topic), widest) + gap
	indent := strings.Repeat(" ", Columns(lead))
	limit := 0
	if s.Width > 0 {
		limit = max(leastWidth, s.Width-Columns(lead))
	}
	values := make([]any, len(finding.Values))
	for i, value := range finding.Values {
		values[i] = clean(value)
	}
	var lines []string
	for _, line := range wrap(s.text(key("symptom."+strings.ToLower(string(finding.Symptom))), values...), limit) {
		before := indent
		if len(lines) == 0 {
			before = s.paint(mark.colour, lead)
		}
		with := plain
		if finding.Result == view.ResultProblem {
			with = mark.colour
		}
		lines = append(lines, before+s.paint(with, line))
	}
	if finding.Help != "" {
		lines = append(lines, indent+s.paint(bold, clean(finding.Help)))
	}
	return lines
}

// topic returns the words for a topic.
func (s Style) topic(topic view.Topic) string {
	return s.text(key("topic." + strings.ToLower(string(topic))))
}

func markOfResult(result view.Result) mark {
	switch result {
	case view.ResultOK:
		return mark{"✔", "+", green}
	case view.ResultProblem:
		return mark{"✖", "x", red}
	case view.ResultNote:
		return mark{"!", "!", yellow}
	}
	return mark{"○", "-", faint}
}

// Late returns the sentence of a wait for an installation that ran out.
func Late(limit string, style Style) string { return style.text("doctor.late", limit) }
