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

// List prints the present releases of workloads.
func List(list view.ReleaseList, style Style, namespace string) string {
	lines := style.notes(list.Notes)
	if len(list.Items) > 0 {
		lines = append(lines, style.listTable(list.Items, namespace == "")...)
	}
	for _, line := range wrap(style.summary(list, namespace), style.Width) {
		lines = append(lines, style.paint(faint, line))
	}
	return join(lines)
}

func (s Style) listTable(releases []view.Release, allNamespaces bool) []string {
	columns := []column{
		{title: "NAMESPACE", shrinks: true}, {title: "KIND", drops: 4}, {title: "NAME", shrinks: true}, {title: "REL", drops: 5}, {title: "STATUS"},
		{title: "PODS", drops: 3}, {title: "SINCE", drops: 2}, {title: "BY", shrinks: true, keepsEnd: true, drops: 1}, {title: "VERSION", drops: 1}, {title: "STEP", drops: 1},
		{title: "WHY", shrinks: true},
	}
	var rows [][]cell
	for _, release := range releases {
		row := []cell{
			{text: release.Namespace}, {text: release.Kind}, {text: release.Workload}, {text: fmt.Sprint(release.Number)},
			{s.state(release.State), markOf(release.State).colour}, {text: s.pods(release.Pods)}, {text: s.sinceOf(release)}, {text: s.author(release.By)},
			{text: shortVersion(release.Version)}, {text: release.Step}, {text: whyShown(release)},
		}
		if !allNamespaces {
			row[0].text = ""
		}
		if !s.Wide {
			row[8].text, row[9].text = "", ""
		}
		rows = append(rows, row)
	}
	return s.table(columns, rows)
}

// whyShown returns the reason and the sentence of a release. What only says that it was verified, or goes on, is left out.
func whyShown(release view.Release) string {
	switch {
	case release.State == view.Success || release.State == view.Running && release.Reason == "Verifying":
		return ""
	case release.State == view.RolledBack && release.Why != "":
		return release.Reason + ": " + release.Why
	case release.Why != "":
		return release.Why
	}
	return release.Reason
}

// maxAuthor is the widest author in a table that isn't wide.
const maxAuthor = 40

// author returns a user, a service account as sa:namespace/name: its end tells it from others.
func (s Style) author(user string) string {
	if s.Wide {
		return user
	}
	if account, found := strings.CutPrefix(user, "system:serviceaccount:"); found {
		user = "sa:" + strings.Replace(account, ":", "/", 1)
	}
	return s.cutLeft(clean(user), maxAuthor)
}

func (s Style) sinceOf(release view.Release) string {
	if release.Since == nil {
		return ""
	}
	return s.since(release.Since.Time)
}

// pods returns the counts of pods, such as 4✔ 2✖ of 20.
func (s Style) pods(pods view.Pods) string {
	if pods == (view.Pods{}) {
		return ""
	}
	var parts []string
	for _, part := range []struct {
		count int32
		mark  mark
	}{{pods.Passed, markOf(view.Success)}, {pods.Failed, markOf(view.Suspend)}, {pods.Checking + pods.Waiting, markOf(view.Running)}} {
		if part.count > 0 {
			parts = append(parts, fmt.Sprintf("%d%s", part.count, s.sign(part.mark)))
		}
	}
	if len(parts) == 0 {
		parts = []string{"0"}
	}
	return strings.Join(append(parts, s.text("of", pods.Desired)), " ")
}

// summary counts the workloads by state.
func (s Style) summary(list view.ReleaseList, namespace string) string {
	var parts []string
	for _, state := range []view.State{
		view.Suspend, view.Failed, view.Waiting, view.Running, view.Pending, view.RolledBack, view.NotChecked, view.Superseded, view.Success,
	} {
		count := list.Counts[state]
		switch {
		case count == 0:
		case state == view.Success && list.Hidden == count:
			parts = append(parts, s.text("hidden", count))
		default:
			parts = append(parts, s.text("count", count, state))
		}
	}
	if len(parts) > 0 {
		return strings.Join(parts, s.dot())
	}
	switch {
	case list.Narrowed && namespace != "":
		return s.text("none.such.in", namespace)
	case list.Narrowed:
		return s.text("none.such")
	case namespace != "":
		return s.text("none.in", namespace)
	}
	return s.text("none")
}

// notes returns what the view lacks.
func (s Style) notes(notes []view.Note) []string {
	var lines []string
	for _, note := range notes {
		where := s.text("lack.all")
		if note.Namespace != "" {
			where = s.text("lack.in", note.Namespace)
		}
		lines = append(lines, s.paint(yellow, "! "+s.text("lack", note.Verb, note.Resource, where, s.text(key("lack."+string(note.Lacks))))))
	}
	return lines
}

func join(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}
