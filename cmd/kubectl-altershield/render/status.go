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
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

// Status prints the tree of a workload. It is folded to the height of the style.
func Status(status view.Status, style Style) string {
	lines := style.notes(status.Notes)
	if status.Workload.NotControlled && status.Present != nil {
		lines = append(lines, style.paint(yellow, "! "+style.text("uncontrolled")))
	}
	lines = append(lines, style.headline(status.Workload, status.Present, status.From)...)
	lines = append(lines, style.next(status.Next)...)
	root := cmp.Or(status.Workload.Kind, "") + " " + status.Workload.Name
	lines = append(lines, style.cutLine(root+"  "+style.workload(status.Workload)))
	var nodes []node
	if status.Present != nil {
		nodes = append(nodes, style.present(status))
	}
	for _, release := range status.Earlier {
		nodes = append(nodes, style.earlier(release))
	}
	room := 0
	if style.Height > 0 {
		room = max(1, style.Height-len(lines))
	}
	return join(append(lines, style.tree(style.fold(nodes, room))...))
}

// headline returns what is the matter with a workload.
func (s Style) headline(workload view.Workload, present *view.Release, from string) []string {
	name := workload.Namespace + "/" + workload.Name
	if present == nil {
		line := s.cutLine(name + gap + s.text("no.record"))
		if rest, isWhole := strings.CutPrefix(line, name); isWhole {
			line = s.paint(bold, name) + rest
		} else {
			line = s.paint(bold, line)
		}
		lines := []string{line}
		if workload.Known && workload.Version == "" {
			lines = append(lines, s.paragraph("why", s.text("unstamped"), plain)...)
		}
		return lines
	}
	state := s.state(present.State)
	if since := s.sinceOf(*present); since != "" {
		state = s.text("since", state, since)
	}
	version := shortVersion(present.Version)
	if from != "" && from != present.Version {
		version = shortVersion(from) + " " + s.arrow() + " " + version
	}
	parts := []string{s.text("release", present.Number), version}
	if present.By != "" {
		parts = append(parts, s.text("by", clean(present.By)))
	}
	if present.Started != nil {
		parts = append(parts, s.moment(present.Started.Time))
	}
	plainLine := name + gap + state + gap + strings.Join(parts, gap)
	line := s.paint(bold, name) + gap + s.paint(markOf(present.State).colour, state) + gap + strings.Join(parts, gap)
	if s.Width > 0 && Columns(plainLine) > s.Width {
		line = s.paint(bold, s.cut(name, s.Width)) + gap + s.paint(markOf(present.State).colour, state) + "\n  " + s.cut(strings.Join(parts, gap), s.Width-2)
	}
	return append(strings.Split(line, "\n"), s.paragraph("why", whyShown(*present), plain)...)
}

// paragraph returns a labelled text, wrapped to the width. It is empty without a text.
func (s Style) paragraph(label key, text string, with colour) []string {
	return s.labelled(s.text(label), text, with)
}

// labelWidth is the width of the labels of paragraphs.
const labelWidth = 8

func (s Style) labelled(label, text string, with colour) []string {
	if text == "" {
		return nil
	}
	lead := "  " + pad(label, labelWidth) + gap
	limit := 0
	if s.Width > 0 {
		limit = max(leastWidth, s.Width-Columns(lead))
	}
	var lines []string
	for i, line := range wrap(clean(text), limit) {
		if i == 0 {
			lines = append(lines, lead+s.paint(with, line))
		} else {
			lines = append(lines, strings.Repeat(" ", Columns(lead))+s.paint(with, line))
		}
	}
	return lines
}

// next returns the command of the best way on.
func (s Style) next(way *view.Way) []string {
	if way == nil {
		return nil
	}
	return s.paragraph("next", way.Command+s.target(*way), plain)
}

func (s Style) target(way view.Way) string {
	switch {
	case way.Release > 0:
		return "  (" + s.text("to.release", way.Release) + ")"
	case way.To != "":
		return "  (" + s.text("to.version", shortVersion(way.To)) + ")"
	}
	return ""
}

func (s Style) cutLine(line string) string { return s.cut(line, s.Width) }

func (s Style) workload(workload view.Workload) string {
	if !workload.Known {
		return s.text("unknown.workload")
	}
	parts := []string{s.text("wanted", workload.Wanted), s.text("ready", workload.Ready)}
	if workload.Updated > 0 || workload.Wanted > 0 {
		parts = append(parts, s.text("old", workload.Old), s.text("new", max(0, workload.Updated-workload.Gated)))
	}
	if workload.Gated > 0 {
		parts = append(parts, s.text("gated", workload.Gated))
	}
	if workload.Suspended {
		parts = append(parts, s.text("suspended"))
	}
	if workload.Held {
		parts = append(parts, s.text("held"))
	}
	switch {
	case workload.Paused && workload.PauseReason != "":
		parts = append(parts, s.text("paused.user.why", clean(workload.PauseReason)))
	case workload.Paused:
		parts = append(parts, s.text("paused.user"))
	}
	if workload.RequestReason != "" {
		parts = append(parts, s.text("said", clean(workload.RequestReason)))
	}
	return strings.Join(parts, s.dot())
}

// present returns the branch of the present release.
func (s Style) present(status view.Status) node {
	release := *status.Present
	branch := node{
		label: s.text("release", release.Number) + gap + shortVersion(release.Version), text: s.strip(release.Pods), colour: markOf(release.State).colour,
	}
	if release.State != view.Suspend {
		branch.colour = plain
	}
	if release.Step != "" {
		branch.text += gap + s.text("step", release.Step)
	}
	for _, batches := range status.Batches {
		branch.below = append(branch.below, s.batches(batches))
	}
	if status.NotRunning != nil {
		branch.below = append(branch.below, s.notRunning(*status.NotRunning))
	}
	if len(status.Batches) == 0 && len(status.FailedPods) > 0 {
		branch.below = append(branch.below, s.failedPods(status.FailedPods, release.Pods.Failed))
	}
	for _, check := range status.Checks {
		branch.below = append(branch.below, s.check(check))
	}
	if release.ReleaseReason != "" {
		branch.below = append(branch.below, node{label: s.text("reason"), text: release.ReleaseReason})
	}
	if len(release.Changes) > 0 {
		branch.below = append(branch.below, s.changes(release.Changes))
	}
	return branch
}

const (
	// maxCells is how many pods a strip shows by one sign each; more share the signs.
	maxCells = 40
	// narrow is the width below which there are no signs, so that the counts fit.
	narrow = 80
)

// strip returns one sign for each pod, and the counts. Above maxCells pods each sign stands for several.
func (s Style) strip(pods view.Pods) string {
	parts := []struct {
		count int32
		sign  string
		name  key
	}{
		{pods.Passed, s.sign(markOf(view.Success)), "passed"}, {pods.Failed, s.sign(markOf(view.Suspend)), "failed"},
		{pods.Checking, s.sign(markOf(view.Running)), "checking"}, {pods.Waiting, ":", "waiting"}, {pods.Left(), ".", "left"},
	}
	all := int32(0)
	for _, part := range parts {
		all += part.count
	}
	if all == 0 {
		return ""
	}
	cells, limit := "", maxCells
	if s.Width > 0 {
		limit = min(maxCells, s.Width/4)
	}
	var words []string
	for _, part := range parts {
		if part.count == 0 {
			continue
		}
		signs := int(part.count)
		if int(all) > limit {
			signs = max(1, int(int64(part.count)*int64(limit)/int64(all)))
		}
		cells += strings.Repeat(part.sign, signs)
		words = append(words, s.text(part.name, part.count))
	}
	counts := strings.Join(words, s.dot())
	if s.Width > 0 && s.Width < narrow {
		return counts
	}
	return cells + gap + counts
}

func (s Style) batches(batches view.Batches) node {
	branch := node{label: s.text("batches", batches.Numbers)}
	name, of := key("batch.passed"), view.Success
	var parts []string
	switch batches.Outcome {
	case view.BatchFailed:
		name, of = "batch.failed", view.Suspend
		parts = []string{strings.Join(batches.Pods, ", "), batches.Message}
	case view.BatchChecking:
		name, of = "batch.checking", view.Running
		parts = []string{batches.Stage, batches.Reason, s.dueIn(batches)}
	case view.BatchNotChecked:
		name, of = "batch.unchecked", view.NotChecked
		parts = []string{batches.Reason}
	}
	branch.colour = markOf(of).colour
	text := []string{s.sign(markOf(of)) + " " + s.text(name)}
	for _, part := range append(parts, s.times(batches)) {
		if part != "" {
			text = append(text, part)
		}
	}
	branch.text = strings.Join(text, gap)
	return branch
}

func (s Style) dueIn(batches view.Batches) string {
	if batches.Due == nil {
		return ""
	}
	if left := int64(batches.Due.Sub(s.Now).Seconds()); left > 0 {
		return s.text("due", s.age(left))
	}
	return s.text("overdue")
}

func (s Style) times(batches view.Batches) string {
	var parts []string
	if batches.PreSeconds > 0 {
		parts = append(parts, "PRE "+s.age(batches.PreSeconds))
	}
	if batches.PostSeconds > 0 {
		parts = append(parts, "POST "+s.age(batches.PostSeconds))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(append(parts, "("+s.text("median")+")"), " ")
}

func (s Style) failedPods(pods []view.FailedPod, all int32) node {
	return s.byMessage(node{label: s.text("pods.failed"), text: fmt.Sprint(all), colour: red}, pods)
}

// markOfVerdict returns the mark of what a check says.
func markOfVerdict(verdict string) mark {
	switch verdict {
	case "Pass":
		return markOf(view.Success)
	case "Fail":
		return markOf(view.Suspend)
	case "Inconclusive", "Skipped":
		return markOf(view.NotChecked)
	}
	return markOf(view.Running)
}

func (s Style) check(check view.Check) node {
	of := markOfVerdict(check.Verdict)
	text := s.sign(of) + " " + check.Verdict + gap + check.Policy
	if check.Mode != "Enforce" {
		text += " (" + check.Mode + ")"
	}
	parts := []string{check.Message}
	if check.Verdict == "Inconclusive" || check.Verdict == "Skipped" {
		parts = []string{check.Reason, check.Message}
	}
	if said := strings.Join(slices.DeleteFunc(parts, isEmpty), ": "); said != "" {
		text += gap + said
	}
	return node{label: s.text("check", check.Name), text: text, colour: of.colour}
}

func (s Style) changes(changes []string) node {
	branch := node{label: s.text("changes"), text: changes[0]}
	if len(changes) > 1 {
		branch.text = fmt.Sprint(len(changes))
		for _, change := range changes {
			branch.below = append(branch.below, node{text: change})
		}
	}
	return branch
}

func (s Style) earlier(release view.Release) node {
	text := s.state(release.State)
	if release.State == view.Success && release.Since != nil {
		text += " " + s.moment(release.Since.Time)
	}
	parts := append([]string{text}, s.remarks(release)...)
	if release.State == view.RolledBack || release.State == view.Suspend {
		parts = append(parts, whyShown(release))
	}
	if release.ReleaseReason != "" {
		parts = append(parts, s.text("said", release.ReleaseReason))
	}
	return node{
		label: s.text("release", release.Number) + gap + shortVersion(release.Version), text: strings.Join(parts, s.dot()), colour: markOf(release.State).colour,
	}
}

// remarks returns what is special about a release.
func (s Style) remarks(release view.Release) []string {
	var parts []string
	if release.TookSeconds > 0 {
		parts = append(parts, s.text("took", s.age(release.TookSeconds)))
	}
	if release.RollbackOf > 0 {
		parts = append(parts, s.text("rollback.of", release.RollbackOf))
	}
	if release.Repair {
		parts = append(parts, s.text("repair"))
	}
	if release.Observed {
		parts = append(parts, s.text("observed"))
	}
	if release.RefusedUntil != nil && release.RefusedUntil.After(s.Now) {
		parts = append(parts, s.text("refused", s.moment(release.RefusedUntil.Time)))
	}
	if release.Kept {
		parts = append(parts, s.text("template.kept"))
	}
	return parts
}
