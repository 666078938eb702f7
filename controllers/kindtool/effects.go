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

package kindtool

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Effects are those of creating, updating or deleting an object of a declared kind.
type Effects struct {
	// Operation is creation, update or deletion.
	Operation  string `json:"operation"`
	ObjectKind string `json:"objectKind"`
	Name       string `json:"name"`
	// Mode is that of the ControlledKind: with Observe nothing is written, held or denied, and the effects are those of Enforce.
	Mode appv1alpha1.ControlledKindMode `json:"mode"`
	// Ignored reports whether another object controls it. Then it has no effects.
	Ignored bool `json:"ignored,omitempty"`
	// Release is whether the request is a release; empty for a deletion. Version is that of the release, Changed are the places that differ.
	Release Release  `json:"release,omitempty"`
	Version string   `json:"version,omitempty"`
	Changed []string `json:"changed,omitempty"`
	// Warnings are about the declaration.
	Warnings []string `json:"warnings,omitempty"`
	// Pods describes the pods of the release. Units are reported where there are none.
	Pods  string   `json:"pods,omitempty"`
	Units []string `json:"units,omitempty"`
	// Hold is whether a rollout can be held, HoldOperations how.
	Hold           Hold                 `json:"hold,omitempty"`
	HoldOperations []workload.Operation `json:"holdOperations,omitempty"`
	// Health is that of the object as it is in the file.
	Health       string `json:"health,omitempty"`
	HealthReason string `json:"healthReason,omitempty"`
	// Violations are the rules that deny the request.
	Violations []Violation `json:"violations,omitempty"`
}

// Release is whether a request is a release. The values are a contract.
type Release string

const (
	// Released means that it is one.
	Released Release = "Release"
	// NoContent means that the object has none of the templates and fields that are released.
	NoContent Release = "NoContent"
	// NotWhen means that spec.release.when excludes it.
	NotWhen Release = "NotWhen"
	// Unchanged means that it changes none of them.
	Unchanged Release = "Unchanged"
)

// Hold is whether a rollout can be held. The values are a contract.
type Hold string

const (
	// CanHold means that it can.
	CanHold Hold = "Possible"
	// CannotHold means that the kind has no way.
	CannotHold Hold = "NotSupported"
	// AlreadyHeld means that it is paused already.
	AlreadyHeld Hold = "AlreadyPaused"
	// HoldUnknown means that the value that holds it isn't known.
	HoldUnknown Hold = "NotPossible"
)

// Violation is a rule that denies a request.
type Violation struct {
	// Rule is the name of the rule, or the path of an immutable field.
	Rule    string `json:"rule"`
	Message string `json:"message"`
}

// Denied returns why the request would be denied, nil if it wouldn't.
func (e *Effects) Denied() error {
	if len(e.Violations) == 0 {
		return nil
	}
	messages := make([]string, len(e.Violations))
	for i, violation := range e.Violations {
		messages[i] = violation.Message
	}
	return errors.New("denied: " + strings.Join(messages, "; "))
}

// write prints the effects.
func (e *Effects) write(out io.Writer) error {
	var text strings.Builder
	line := func(format string, values ...any) { fmt.Fprintf(&text, format+"\n", values...) }
	line("%s of %s %s", e.Operation, e.ObjectKind, e.Name)
	if e.Ignored {
		line("ignored: another object controls it")
		_, err := io.WriteString(out, text.String())
		return err
	}
	if e.Mode == appv1alpha1.ModeObserve {
		line("mode: Observe: nothing is written, held or denied. With Enforce:")
	}
	if e.Release != "" {
		if err := e.writeRelease(line); err != nil {
			return err
		}
	}
	line("health: %s (%s)", e.Health, e.HealthReason)
	for _, violation := range e.Violations {
		line("rule %s: %s", violation.Rule, violation.Message)
	}
	if len(e.Violations) == 0 {
		line("rules: passed")
	}
	_, err := io.WriteString(out, text.String())
	return err
}

func (e *Effects) writeRelease(line func(string, ...any)) error {
	changed := strings.Join(e.Changed, ", ")
	switch e.Release {
	case Released:
		line("release: yes, version %s; changed: %s", e.Version, changed)
	case NoContent:
		line("release: no, the object has none of the templates and fields")
	case NotWhen:
		line("release: no, because of spec.release.when; changed: %s", changed)
	case Unchanged:
		line("release: no")
	}
	for _, warning := range e.Warnings {
		line("warning: %s", warning)
	}
	if e.Pods != "" {
		line("pods: %s", e.Pods)
	} else {
		line("pods: none; reported instead: %s", strings.Join(e.Units, ", "))
	}
	switch e.Hold {
	case CannotHold:
		line("hold: not supported; only the next release is denied")
	case AlreadyHeld:
		line("hold: already paused")
	case HoldUnknown:
		line("hold: not possible: its value depends on the object before the release")
	}
	for _, operation := range e.HoldOperations {
		value, err := json.Marshal(operation.Value)
		if err != nil {
			return fmt.Errorf("writing the value of %s: %w", operation.Path, err)
		}
		line("hold: %s %s %s", operation.Op, operation.Path, value)
	}
	return nil
}
