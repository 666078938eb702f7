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
	"encoding/json"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
)

func TestInfer(t *testing.T) {
	const byOwner = "Pods are found by their owners. If there are owners in between other than ReplicaSets, StatefulSets and Jobs, use a label."
	const noCount = "No count of the desired pods was found: the first pod that passes verifies a release. Declare counts.desired."
	const noLever = "No field was found that holds a rollout, such as spec.paused: the rollout of a failed release continues, and only the next one is denied."
	for plural, row := range map[string]struct {
		spec  string
		notes []string
	}{
		"clonesets": {`{"version": "v1alpha1", "mode": "Observe", "release": {"templates": ["spec.template"]}, "pods": {"by": "Selector", "path": "status.labelSelector"},
			"counts": {"desired": "spec.replicas", "total": "status.replicas", "updated": "status.updatedReplicas", "ready": "status.readyReplicas"},
			"hold": [{"path": "spec.updateStrategy.paused", "value": true}],
			"pace": {"partition": {"path": "spec.updateStrategy.partition", "counts": "Old"}}}`,
			[]string{"Check whether spec.updateStrategy.partition counts the old pods (Old) or is the first index that is updated (FirstIndex)."}},
		"leaderworkersets": {`{"version": "v1", "mode": "Observe", "pods": {"by": "Selector", "path": "status.hpaPodSelector"},
			"release": {"templates": ["spec.leaderWorkerTemplate.leaderTemplate", "spec.leaderWorkerTemplate.workerTemplate"]},
			"counts": {"desired": "spec.replicas", "total": "status.replicas", "updated": "status.updatedReplicas", "ready": "status.readyReplicas"},
			"pace": {"partition": {"path": "spec.rolloutStrategy.rollingUpdateConfiguration.partition", "counts": "FirstIndex"}}}`,
			[]string{"Check whether spec.rolloutStrategy.rollingUpdateConfiguration.partition counts the old pods (Old) or is the first index that is updated (FirstIndex)."}},
		"knativeservices": {`{"version": "v1", "mode": "Observe", "release": {"templates": ["spec.template"]}, "pods": {"by": "Owner"}}`, []string{byOwner, noCount, noLever}},
		"kubernetesclusters": {`{"version": "v1", "mode": "Observe", "release": {"fields": ["spec"]}, "pods": {"by": "None"}}`,
			[]string{"The CRD has no pod templates: every change of the spec is a release. Restrict release.fields to the relevant fields.",
				"The CRD has no status.observedGeneration: unless its conditions have their own, Ready may be that of the release before. Declare in health.current how that of the present one shows.", noLever}},
		"machinedeployments": {`{"version": "v1beta2", "mode": "Observe", "release": {"fields": ["spec"]}, "pods": {"by": "None"},
			"counts": {"desired": "spec.replicas", "total": "status.replicas", "ready": "status.readyReplicas"}, "hold": [{"path": "spec.paused", "value": true}]}`,
			[]string{"The CRD has no pod templates: every change of the spec is a release. Restrict release.fields to the relevant fields."}},
		"rollouts": {`{"version": "v1alpha1", "mode": "Observe", "release": {"templates": ["spec.template"]}, "pods": {"by": "Selector", "path": "status.selector"},
			"counts": {"desired": "spec.replicas", "total": "status.HPAReplicas", "updated": "status.updatedReplicas", "ready": "status.readyReplicas"},
			"hold": [{"path": "spec.paused", "value": true}]}`, nil},
	} {
		t.Run(plural, func(t *testing.T) {
			g, definition := NewWithT(t), definitionOf(t, plural)
			declared, notes := Infer(definition)
			text, err := json.Marshal(declared.Spec)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(text).To(MatchJSON(row.spec))
			g.Expect(slices.Equal(notes, row.notes)).To(BeTrue(), "%q", notes)
			_, problems := compiler(t).Compile(declared, definition)
			g.Expect(problems).To(BeEmpty())
		})
	}
}

func TestInferWhereLabelsAreDropped(t *testing.T) {
	g, definition := NewWithT(t), definitionOf(t, "rollouts")
	spec := definition.Schema.Properties["spec"]
	delete(spec.Properties["template"].Properties, "metadata")
	declared, notes := Infer(definition)
	g.Expect(declared.Spec.Release.Identity).To(BeNil())
	g.Expect(notes).To(Equal([]string{"The CRD drops labels in spec.template: set release.identity to the label by which its controller distinguishes pods of different revisions."}))
	status := definition.Schema.Properties["status"]
	status.Properties["updateRevision"] = spec.Properties["paused"]
	declared, _ = Infer(definition)
	g.Expect(declared.Spec.Release.Identity).To(BeNil(), "it is no value of a label")
	status.Properties["updateRevision"] = status.Properties["currentPodHash"]
	declared, notes = Infer(definition)
	g.Expect(declared.Spec.Release.Identity.Path).To(Equal("status.updateRevision"))
	g.Expect(notes).To(Equal([]string{"The CRD drops labels in spec.template. Check that pods have the value of status.updateRevision in the label controller-revision-hash."}))
}

func TestInferWithoutASchema(t *testing.T) {
	definition := definitionOf(t, "rollouts")
	definition.Schema = nil
	declared, notes := Infer(definition)
	NewWithT(t).Expect(declared.Spec.Release.Fields).To(Equal([]string{"spec"}))
	NewWithT(t).Expect(notes).To(HaveLen(2))
}

func TestClusterRole(t *testing.T) {
	g, role := NewWithT(t), ClusterRole(definitionOf(t, "rollouts"))
	g.Expect(role.Name).To(Equal("altershield-kind-rollouts.argoproj.io"))
	g.Expect(role.Labels).To(Equal(map[string]string{"altershield.defense.antgroup.com/aggregate-to-kinds": "true"}))
	g.Expect(role.Rules).To(HaveLen(2))
	g.Expect(role.Rules[0].Verbs).To(ConsistOf("get", "list", "watch", "patch"))
	g.Expect(role.Rules[1].Resources).To(ConsistOf("rollouts/finalizers"))
}
