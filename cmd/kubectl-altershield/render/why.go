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

// Why prints why a workload is as it is, or what would become of an update.
func Why(why view.Why, style Style) string {
	lines := style.notes(why.Notes)
	if why.Trial != nil {
		lines = append(lines, style.trial(why.Workload.Namespace+"/"+why.Workload.Name, *why.Trial)...)
		if why.Trial.Verdict == view.Denied && why.Present != nil {
			lines = append(lines, style.headline(why.Workload, why.Present, "")...)
		}
	} else {
		lines = append(lines, style.headline(why.Workload, why.Present, "")...)
		if why.Present != nil && whyShown(*why.Present) == "" && why.NotRunning == nil {
			lines = append(lines, style.paragraph("why", style.holdsBack(why.Workload), plain)...)
		}
	}
	if why.NotRunning != nil {
		for _, group := range groupsOf(why.NotRunning.Pods) {
			lines = append(lines, style.labelled("", style.text("not.running", group.names(style), group.message), yellow)...)
		}
		if reason := why.NotRunning.NotCreated; reason != "" {
			lines = append(lines, style.labelled("", style.text("not.created", reason), yellow)...)
		}
		lines = append(lines, style.labelled("", style.rollsBack(*why.NotRunning), plain)...)
	}
	lines = append(lines, style.failures(why)...)
	for _, freeze := range why.Freezes {
		lines = append(lines, style.labelled("", style.stops(freeze), yellow)...)
	}
	for _, release := range why.Refused {
		text := style.text("release", release.Number) + gap + shortVersion(release.Version) + gap + style.text("refused", style.moment(release.RefusedUntil.Time))
		lines = append(lines, style.labelled("", text+gap+whyShown(release), yellow)...)
	}
	return join(append(lines, style.ways(why.Ways)...))
}

// holdsBack returns that nothing holds the present release back, although the next one may be denied.
func (s Style) holdsBack(workload view.Workload) string {
	if workload.Suspended {
		return s.text("nothing") + "; " + s.text("suspended")
	}
	return s.text("nothing")
}

// stops returns what a freeze makes of a further release.
func (s Style) stops(freeze view.Freeze) string {
	text := s.text(key("freeze."+strings.ToLower(freeze.Action)), freeze.Namespace+"/"+clean(freeze.Name))
	if freeze.Until != nil {
		text += " " + s.text("until", s.moment(freeze.Until.Time))
	}
	if freeze.Reason != "" {
		text += ": " + clean(freeze.Reason)
	}
	return text
}

// failures returns the pods that failed and that the sentence about the release doesn't name, each message once.
func (s Style) failures(why view.Why) []string {
	var others []view.FailedPod
	for _, pod := range why.Failures {
		isSaid := why.Present != nil && (strings.Contains(whyShown(*why.Present), pod.Pod) || pod.Message != "" && strings.Contains(whyShown(*why.Present), pod.Message))
		if !isSaid {
			others = append(others, pod)
		}
	}
	var lines []string
	for _, group := range groupsOf(others) {
		lines = append(lines, s.labelled("", s.text("pod", group.names(s), group.message), red)...)
	}
	if len(others) > 0 && why.MoreFailures > 0 {
		lines = append(lines, s.labelled("", s.text("more", why.MoreFailures), red)...)
	}
	return lines
}

// trial returns what would become of an update. The sentence of the API server isn't wrapped, so that it can be searched for.
func (s Style) trial(name string, trial view.Trial) []string {
	var lines []string
	switch trial.Verdict {
	case view.Denied:
		lines = append(lines, s.paint(red, s.sign(markOf(view.Suspend))+" "+s.text("denied", name, clean(trial.Sentence))))
	case view.Admitted:
		lines = append(lines, s.paint(green, s.sign(markOf(view.Success))+" "+s.text("admitted", name, trial.Release, shortVersion(trial.Version))))
	case view.NoRelease:
		lines = append(lines, s.sign(markOf(view.NotChecked))+" "+s.text("no.release", name))
	default:
		lines = append(lines, s.sign(markOf(view.NotChecked))+" "+s.text("not.controlled", name))
	}
	if len(trial.Frozen) > 0 {
		lines = append(lines, s.labelled("", s.text("frozen", strings.Join(trial.Frozen, ", ")), yellow)...)
	}
	if trial.Paced != "" {
		lines = append(lines, s.labelled("", s.text("paced", trial.Paced), plain)...)
	}
	for _, warning := range trial.Warnings {
		lines = append(lines, s.paragraph("warning", warning, yellow)...)
	}
	for i, change := range trial.Changes {
		label := ""
		if i == 0 {
			label = s.text("yours")
		}
		lines = append(lines, s.labelled(label, change, plain)...)
	}
	return lines
}

// ways returns what can be done, and whether the user may do it.
func (s Style) ways(ways []view.Way) []string {
	var lines []string
	for i, way := range ways {
		label := ""
		if i == 0 {
			label = s.text("ways")
		}
		text, with := s.text(key("way."+string(way.Name)))+s.target(way), plain
		if way.May != nil {
			if *way.May {
				text += " (" + s.text("may") + ")"
			} else {
				text, with = text+" ("+s.text("may.not", way.Needs)+")", faint
			}
		}
		lines = append(lines, s.labelled(label, text+": "+way.Command, with)...)
	}
	return lines
}
