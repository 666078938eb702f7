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

// Outcome prints one line about a release that a user waits for.
func Outcome(outcome view.Outcome, style Style) string {
	release := outcome.Release
	line := style.moment(style.Now) + gap + release.Namespace + "/" + release.Workload + gap + style.text("release", release.Number) + gap
	line += style.paint(markOf(release.State).colour, style.state(release.State))
	if pods := style.pods(release.Pods); pods != "" {
		line += gap + pods
	}
	if word := style.ending(outcome); word != "" {
		line += gap + word
	}
	if why := clean(whyShown(release)); why != "" {
		line += ": " + why
	}
	return line + "\n"
}

// ending returns the words of an end.
func (s Style) ending(outcome view.Outcome) string {
	switch outcome.Release.State {
	case view.Success:
		return s.text("done.success")
	case view.Suspend:
		if outcome.Release.NotSuspended {
			return s.text("done.failed")
		}
		return s.text("done.suspend")
	case view.RolledBack:
		return s.text("done.rolledback")
	case view.Superseded:
		if outcome.By > 0 {
			return s.text("done.superseded", outcome.By)
		}
	case view.Failed, view.NotChecked:
		return s.text("done.unchecked")
	}
	return ""
}

// Failure prints why a command failed. The API server may say it in words of others.
func Failure(err error) string {
	lines := strings.Split("error: "+err.Error(), "\n")
	for i := range lines {
		lines[i] = clean(lines[i])
	}
	return join(lines)
}

// Timeout returns the sentence of a wait that ran out.
func Timeout(limit string, style Style) string { return style.text("timeout", limit) }

// Footer is the last line of a status that is followed.
func Footer(style Style) string {
	return style.paint(faint, style.text("now", style.moment(style.Now)))
}
