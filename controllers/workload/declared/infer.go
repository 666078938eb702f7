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

package declared

import (
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Infer returns the ControlledKind that a CRD suggests, and notes on the parts to check or complete.
func Infer(definition Definition) (declared *appv1alpha1.ControlledKind, notes []string) {
	declared = &appv1alpha1.ControlledKind{
		TypeMeta:   metav1.TypeMeta{APIVersion: appv1alpha1.GroupVersion.String(), Kind: "ControlledKind"},
		ObjectMeta: metav1.ObjectMeta{Name: definition.Name()},
		Spec: appv1alpha1.ControlledKindSpec{
			Version: definition.GroupVersionKind.Version,
			Mode:    appv1alpha1.ModeObserve,
			Release: &appv1alpha1.ReleaseContent{},
			Counts:  definition.countsFound(),
		},
	}
	spec := &declared.Spec
	for _, template := range definition.templates() {
		spec.Release.Templates = append(spec.Release.Templates, template.String())
		if definition.prunesLabels(template) {
			notes = append(notes, definition.identify(spec, template))
		}
	}
	if len(spec.Release.Templates) == 0 {
		spec.Release.Fields = []string{"spec"}
		spec.Pods = &appv1alpha1.PodSource{By: appv1alpha1.PodsByNone}
		notes = append(notes, "The CRD has no pod templates: every change of the spec is a release. Restrict release.fields to the relevant fields.")
		if !definition.observesGenerations() {
			notes = append(notes, "The CRD has no status.observedGeneration: unless its conditions have their own, Ready may be that of the release before. Declare in health.current how that of the present one shows.")
		}
	} else {
		var note string
		spec.Pods, note = definition.podsFound()
		notes = append(notes, note)
		if spec.Counts == nil || spec.Counts.Desired == "" {
			notes = append(notes, "No count of the desired pods was found: the first pod that passes verifies a release. Declare counts.desired.")
		}
	}
	return declared, slices.DeleteFunc(append(notes, definition.levers(spec)...), func(note string) bool { return note == "" })
}

// identify sets release.identity if the API server drops the version label of a template, and returns a note.
func (d Definition) identify(spec *appv1alpha1.ControlledKindSpec, template Path) string {
	const revision = "status.updateRevision"
	dropped := fmt.Sprintf("The CRD drops labels in %s", template)
	if !d.observesGenerations() {
		return dropped + ", and has no status.observedGeneration, which release.identity needs to tell pods apart: add the field, or have the labels kept."
	}
	if schema, err := d.at(pathOf("status", "updateRevision")); err != nil || schema == nil || schema.Type != "string" {
		return dropped + ": set release.identity to the label by which its controller distinguishes pods of different revisions."
	}
	spec.Release.Identity = &appv1alpha1.PodIdentity{By: appv1alpha1.IdentityByRevision, Label: "controller-revision-hash", Path: revision}
	return fmt.Sprintf("%s. Check that pods have the value of %s in the label controller-revision-hash.", dropped, revision)
}

func (d Definition) has(path Path) bool {
	schema, err := d.at(path)
	return err == nil && schema != nil
}

// podsFound uses the selector of the scale subresource: it matches the pods that are counted there.
func (d Definition) podsFound() (*appv1alpha1.PodSource, string) {
	if d.Scale != nil && d.Scale.LabelSelectorPath != nil {
		if path, err := ParsePath(*d.Scale.LabelSelectorPath); err == nil && d.has(path) {
			return &appv1alpha1.PodSource{By: appv1alpha1.PodsBySelector, Path: path.String()}, ""
		}
	}
	return &appv1alpha1.PodSource{By: appv1alpha1.PodsByOwner},
		"Pods are found by their owners. If there are owners in between other than ReplicaSets, StatefulSets and Jobs, use a label."
}

func (d Definition) countsFound() *appv1alpha1.CountPaths {
	found := (&compilation{definition: d}).counts(nil)
	paths := appv1alpha1.CountPaths{
		Desired: found.desired.String(), Total: found.total.String(), Updated: found.updated.String(), Ready: found.ready.String(),
	}
	if paths == (appv1alpha1.CountPaths{}) {
		return nil
	}
	return &paths
}

// levers sets hold and pace to fields with the usual names, and returns notes.
func (d Definition) levers(spec *appv1alpha1.ControlledKindSpec) []string {
	paused := d.shallowest("paused", func(schema *apiextensionsv1.JSONSchemaProps) bool { return schema.Type == "boolean" })
	if !paused.isZero() {
		spec.Hold = []appv1alpha1.HoldField{{Path: paused.String(), Value: &apiextensionsv1.JSON{Raw: []byte("true")}}}
	}
	partition := d.shallowest("partition", func(schema *apiextensionsv1.JSONSchemaProps) bool {
		return schema.Type == "integer" || schema.XIntOrString
	})
	switch {
	case !partition.isZero() && spec.Counts != nil && spec.Counts.Desired != "":
		field := &appv1alpha1.PartitionField{Path: partition.String(), Counts: appv1alpha1.PartitionCountsFirstIndex}
		if schema, _ := d.at(partition); schema.XIntOrString { // may be a percentage, so it is no index
			field.Counts = appv1alpha1.PartitionCountsOld
		}
		spec.Pace = &appv1alpha1.PaceLevers{Partition: field}
		return []string{fmt.Sprintf("Check whether %s counts the old pods (Old) or is the first index that is updated (FirstIndex).", partition)}
	case paused.isZero():
		return []string{"No field was found that holds a rollout, such as spec.paused: the rollout of a failed release continues, and only the next one is denied."}
	default:
		return nil
	}
}

// shallowest returns the path of the topmost field in the spec with a name, outside of lists and pod templates.
func (d Definition) shallowest(name string, matches func(*apiextensionsv1.JSONSchemaProps) bool) Path {
	if d.Schema == nil {
		return Path{}
	}
	spec := d.Schema.Properties["spec"]
	templates := d.templates()
	found := search(&spec, pathOf("spec"), func(path Path, schema *apiextensionsv1.JSONSchemaProps) bool {
		return path.steps[len(path.steps)-1].name == name && matches(schema)
	})
	var best Path
	for _, path := range found {
		_, isOne := path.fields()
		inTemplate := slices.ContainsFunc(templates, func(template Path) bool { return template.leadsTo(path) })
		if isOne && !inTemplate && (best.isZero() || len(path.steps) < len(best.steps)) {
			best = path
		}
	}
	return best
}

// ClusterRole returns the permissions that the operator needs for a kind. The label grants them to the operator.
func ClusterRole(definition Definition) *rbacv1.ClusterRole {
	group := []string{definition.GroupVersionKind.Group}
	return &rbacv1.ClusterRole{
		TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "altershield-kind-" + definition.Name(), Labels: map[string]string{appv1alpha1.LabelAggregateToKinds: "true"},
		},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: group, Resources: []string{definition.Resource}, Verbs: []string{"get", "list", "watch", "patch"}},
			{APIGroups: group, Resources: []string{definition.Resource + "/finalizers"}, Verbs: []string{"update"}},
		},
	}
}
