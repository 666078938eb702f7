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

package view

import "github.com/traas-stack/altershield-operator/controllers/kindtool"

// InferredKind is what a CRD suggests.
type InferredKind struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	// Notes are what wasn't found in the CRD.
	Notes          []string       `json:"notes,omitempty"`
	ControlledKind map[string]any `json:"controlledKind"`
	// ClusterRole has the permissions that the operator needs.
	ClusterRole map[string]any `json:"clusterRole"`
	name        string
}

// InferredKindOf returns what is shown of an inferred kind.
func InferredKindOf(inferred kindtool.Inferred) (InferredKind, error) {
	kind, err := kindtool.FieldsOf(inferred.ControlledKind)
	if err != nil {
		return InferredKind{}, err
	}
	role, err := kindtool.FieldsOf(inferred.ClusterRole)
	if err != nil {
		return InferredKind{}, err
	}
	return InferredKind{Kind: "InferredKind", APIVersion: APIVersion, Notes: inferred.Notes, ControlledKind: kind, ClusterRole: role, name: inferred.ControlledKind.Name}, nil
}

// Names returns the object as an argument of kubectl.
func (k InferredKind) Names() []string { return []string{"controlledkind/" + k.name} }

// KindTrial is what a request would do under a ControlledKind.
type KindTrial struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	// Verdict is Denied, Admitted for a release, NoRelease, or NotControlled where another object controls it.
	Verdict Verdict `json:"verdict"`
	kindtool.Effects
}

// KindTrialOf returns what is shown of the effects of a request.
func KindTrialOf(effects kindtool.Effects) KindTrial {
	trial := KindTrial{Kind: "KindTrial", APIVersion: APIVersion, Verdict: NoRelease, Effects: effects}
	switch {
	case effects.Ignored:
		trial.Verdict = NotControlled
	case len(effects.Violations) > 0:
		trial.Verdict = Denied
	case effects.Release == kindtool.Released:
		trial.Verdict = Admitted
	}
	return trial
}
