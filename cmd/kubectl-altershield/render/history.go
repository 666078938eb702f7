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
	"fmt"
	"strings"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

// History prints the releases of a workload.
func History(list view.ReleaseList, style Style) string {
	lines := style.notes(list.Notes)
	if len(list.Items) == 0 {
		return join(append(lines, style.text("no.record")))
	}
	columns := []column{
		{title: "REL"}, {title: "VERSION", drops: 3}, {title: "OUTCOME"}, {title: "WHEN", drops: 2}, {title: "TOOK", drops: 1}, {title: "BY", shrinks: true, keepsEnd: true, drops: 1},
		{title: "WHAT", shrinks: true},
	}
	var rows [][]cell
	kept := false
	for _, release := range list.Items {
		number := fmt.Sprint(release.Number)
		if release.Target {
			number, kept = number+" *", true
		}
		row := []cell{
			{text: number}, {text: shortVersion(release.Version)}, {style.state(release.State), markOf(release.State).colour}, {}, {text: "-"}, {text: style.author(release.By)}, {text: style.what(release)},
		}
		if style.Wide {
			row[1].text = release.Version
		}
		if release.Started != nil {
			row[3].text = style.moment(release.Started.Time)
		} else if release.Since != nil {
			row[3].text = style.moment(release.Since.Time)
		}
		if release.TookSeconds > 0 {
			row[4].text = style.age(release.TookSeconds)
		}
		rows = append(rows, row)
	}
	lines = append(lines, style.table(columns, rows)...)
	if kept {
		lines = append(lines, style.paint(faint, "* "+style.text("kept")))
	}
	return join(lines)
}

// what returns what a release changed, and what became of it.
func (s Style) what(release view.Release) string {
	release.TookSeconds, release.Kept = 0, false // they have columns and marks of their own
	parts := s.remarks(release)
	if release.State != view.Superseded {
		if why := whyShown(release); why != "" {
			parts = append(parts, why)
		}
	}
	for i, change := range release.Changes {
		if i == 2 && !s.Wide {
			parts = append(parts, s.text("more", len(release.Changes)-i))
			break
		}
		parts = append(parts, change)
	}
	if release.ReleaseReason != "" {
		parts = append(parts, s.text("said", release.ReleaseReason))
	}
	return strings.Join(parts, s.dot())
}
