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
	"encoding/json"
	"strings"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
	"github.com/traas-stack/altershield-operator/controllers/kindtool"
)

// KindTrial prints what a request would do under a ControlledKind.
func KindTrial(trial view.KindTrial, style Style) string {
	of := map[view.Verdict]mark{view.Denied: markOf(view.Suspend), view.Admitted: markOf(view.Success)}[trial.Verdict]
	if of.sign == "" {
		of = markOf(view.NotChecked)
	}
	head := style.paint(of.colour, style.sign(of)) + " " + style.operation(trial)
	if trial.Verdict == view.Denied {
		head += gap + style.paint(of.colour, style.text("kind.denied"))
	}
	lines := []string{head}
	if trial.Ignored {
		return join(append(lines, "  "+style.text("kind.ignored")))
	}
	if trial.Mode == appv1alpha1.ModeObserve {
		lines = append(lines, style.paragraph("kind.mode", style.text("kind.observed"), plain)...)
	}
	if trial.Release != "" {
		lines = append(lines, style.kindRelease(trial)...)
	}
	lines = append(lines, style.paragraph("kind.health", trial.Health+" ("+trial.HealthReason+")", plain)...)
	for _, violation := range trial.Violations {
		lines = append(lines, style.paragraph("kind.rule", violation.Rule+": "+violation.Message, red)...)
	}
	if len(trial.Violations) == 0 {
		lines = append(lines, style.paragraph("kind.rules", style.text("kind.rules.passed"), plain)...)
	}
	return join(lines)
}

func (s Style) operation(trial view.KindTrial) string {
	kind, name := clean(trial.ObjectKind), clean(trial.Name)
	switch trial.Operation {
	case "creation":
		return s.text("kind.creation", kind, name)
	case "deletion":
		return s.text("kind.deletion", kind, name)
	}
	return s.text("kind.update", kind, name)
}

// kindRelease returns whether the request is a release, of which pods, and how it is held.
func (s Style) kindRelease(trial view.KindTrial) []string {
	released, changed := s.text("kind.unchanged"), strings.Join(trial.Changed, ", ")
	switch trial.Release {
	case kindtool.Released:
		released = s.text("kind.released", trial.Version, changed)
	case kindtool.NoContent:
		released = s.text("kind.no.content")
	case kindtool.NotWhen:
		released = s.text("kind.not.when", changed)
	}
	lines := s.paragraph("kind.release", released, plain)
	for _, warning := range trial.Warnings {
		lines = append(lines, s.paragraph("warning", warning, yellow)...)
	}
	pods := trial.Pods
	if pods == "" {
		pods = s.text("kind.units", strings.Join(trial.Units, ", "))
	}
	lines = append(lines, s.paragraph("kind.pods", pods, plain)...)
	return append(lines, s.paragraph("kind.hold", s.hold(trial), plain)...)
}

func (s Style) hold(trial view.KindTrial) string {
	switch trial.Hold {
	case kindtool.CannotHold:
		return s.text("kind.cannot.hold")
	case kindtool.AlreadyHeld:
		return s.text("kind.already.held")
	case kindtool.HoldUnknown:
		return s.text("kind.hold.unknown")
	}
	var operations []string
	for _, operation := range trial.HoldOperations {
		text := operation.Op + " " + operation.Path
		if value, err := json.Marshal(operation.Value); err == nil && operation.Value != nil {
			text += " " + string(value)
		}
		operations = append(operations, text)
	}
	return strings.Join(operations, ", ")
}
