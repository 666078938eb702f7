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

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

// Events prints Events in the order of their times.
func Events(list view.EventList, style Style) string {
	lines := style.notes(list.Notes)
	if len(list.Items) == 0 {
		return join(append(lines, style.text("no.events")))
	}
	return join(append(lines, style.events(list)...))
}

// MoreEvents prints Events that follow others, without a header.
func MoreEvents(list view.EventList, style Style) string { return join(style.events(list)[1:]) }

// events returns a table of Events.
func (s Style) events(list view.EventList) []string {
	columns := []column{{title: "LAST SEEN"}, {title: "TYPE", drops: 1}, {title: "REASON"}, {title: "OBJECT", shrinks: true, drops: 2}, {title: "MESSAGE", shrinks: true}}
	var rows [][]cell
	for _, event := range list.Items {
		with := plain
		if event.Type == "Warning" {
			with = yellow
		}
		seen := s.since(event.Time.Time)
		if event.Count > 1 {
			seen = fmt.Sprintf("%s (x%d)", seen, event.Count)
		}
		rows = append(rows, []cell{{text: seen}, {event.Type, with}, {event.Reason, with}, {text: event.Object}, {text: event.Message}})
	}
	return s.table(columns, rows)
}
