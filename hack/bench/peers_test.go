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

package main

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/traas-stack/altershield-operator/hack/lab"
)

func TestArgoRollout(t *testing.T) {
	g := NewWithT(t)
	objects, err := argoRollout(lab.Deployment("peers", "app-1", 2))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(objects).To(HaveLen(1))
	rollout := objects[0].(*unstructured.Unstructured)
	g.Expect(rollout.GetAPIVersion() + " " + rollout.GetKind()).To(Equal("argoproj.io/v1alpha1 Rollout"))
	g.Expect(rollout.GetName()).To(Equal("app-1"))
	g.Expect(rollout.Object["spec"]).To(And(HaveKeyWithValue("replicas", int64(2)), HaveKey("selector"), HaveKey("template"),
		HaveKeyWithValue("strategy", map[string]any{"canary": map[string]any{}})))
	g.Expect(rollout.Object).NotTo(HaveKey("status"))
}

func TestKruiseRollout(t *testing.T) {
	g := NewWithT(t)
	deployment := lab.Deployment("peers", "app-1", 2)
	objects, err := kruiseRollout(deployment)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(objects).To(HaveLen(2))
	g.Expect(objects[0]).To(BeIdenticalTo(deployment))
	rollout := objects[1].(*unstructured.Unstructured)
	g.Expect(rollout.GetAPIVersion() + " " + rollout.GetKind()).To(Equal("rollouts.kruise.io/v1beta1 Rollout"))
	g.Expect(rollout.Object["spec"]).To(HaveKeyWithValue("workloadRef", HaveKeyWithValue("name", "app-1")))
}

func TestProgressSawRollout(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(rollout *unstructured.Unstructured)
		rolled bool
	}{
		{"it is complete", func(*unstructured.Unstructured) {}, true},
		{"it has another template", set("before", "spec", "template", "metadata", "annotations", "note"), false},
		{"its change was not seen yet", set("2", "status", "observedGeneration"), false},
		{"it goes on", set("Progressing", "status", "phase"), false},
		{"it has old pods", set(int64(3), "status", "replicas"), false},
		{"it lacks new pods", set(int64(1), "status", "updatedReplicas"), false},
		{"a pod is not available", set(int64(1), "status", "availableReplicas"), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			rollout := &unstructured.Unstructured{Object: map[string]any{
				"metadata": map[string]any{"name": "app-1", "generation": int64(3)},
				"spec": map[string]any{"replicas": int64(2), "template": map[string]any{
					"metadata": map[string]any{"annotations": map[string]any{"note": "round-1"}}}},
				"status": map[string]any{"observedGeneration": "3", "phase": "Healthy",
					"replicas": int64(2), "updatedReplicas": int64(2), "availableReplicas": int64(2)},
			}}
			row.change(rollout)
			seen := newProgress("round-1", 1)
			seen.sawRollout(rollout)
			NewWithT(t).Expect(seen.isRolled()).To(Equal(row.rolled))
		})
	}
}

// set changes a field of a Rollout.
func set(value any, path ...string) func(*unstructured.Unstructured) {
	return func(rollout *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(rollout.Object, value, path...)
	}
}

func TestFiguresOfAPeer(t *testing.T) {
	g := NewWithT(t)
	one := []sample{{times: times{rolled: 3, verified: 0}}}
	var names []string
	for _, figure := range figuresOf("100x10", setup{peer: argoRollouts()}, fleet{deployments: 1, replicas: 1}, one, one) {
		g.Expect(figure.Setup).To(Equal("Argo Rollouts"))
		names = append(names, figure.Name)
	}
	g.Expect(names).To(Equal([]string{"roll time", "CPU of the control plane", "roll time / native", "CPU of the manager", "peak memory of the manager", "rollouts complete"}))
}
