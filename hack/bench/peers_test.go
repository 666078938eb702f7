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
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/traas-stack/altershield-operator/hack/lab"
)

func TestArgoRollout(t *testing.T) {
	g := NewWithT(t)
	rollout, err := argoRollouts().kind.like(lab.Deployment("peers", "app-1", 2))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(argoRollout(rollout)).To(ConsistOf(BeIdenticalTo(rollout)))
	g.Expect(rollout.GetAPIVersion() + " " + rollout.GetKind()).To(Equal("argoproj.io/v1alpha1 Rollout"))
	g.Expect(rollout.GetName()).To(Equal("app-1"))
	g.Expect(rollout.Object["spec"]).To(And(HaveKeyWithValue("replicas", int64(2)), HaveKey("selector"), HaveKey("template"),
		HaveKeyWithValue("strategy", map[string]any{"canary": map[string]any{}})))
	g.Expect(rollout.Object).NotTo(HaveKey("status"))
}

func TestKruiseRollout(t *testing.T) {
	g := NewWithT(t)
	deployment, err := kruiseRollouts().kind.like(lab.Deployment("peers", "app-1", 2))
	g.Expect(err).NotTo(HaveOccurred())
	objects := kruiseRollout(deployment)
	g.Expect(objects).To(HaveLen(2))
	g.Expect(objects[0]).To(BeIdenticalTo(deployment))
	rollout := objects[1].(*unstructured.Unstructured)
	g.Expect(rollout.GetAPIVersion() + " " + rollout.GetKind()).To(Equal("rollouts.kruise.io/v1beta1 Rollout"))
	g.Expect(rollout.Object["spec"]).To(HaveKeyWithValue("workloadRef", HaveKeyWithValue("name", "app-1")))
}

func TestFiguresOfAPeer(t *testing.T) {
	g := NewWithT(t)
	native := []sample{{times: times{rolled: 3}}}
	var names []string
	for _, figure := range (contestant{setup: setup{peer: argoRollouts()}, fleet: deploymentsIn("", 1, 1)}).figures(native, native) {
		names = append(names, figure.Name)
	}
	g.Expect(names).To(Equal([]string{"roll time", "CPU of the control plane", "roll time / native", "CPU of the manager", "peak memory of the manager", "rollouts complete"}))
}

func TestContestantsOfASetupAreInANamespaceOfTheirOwn(t *testing.T) {
	g := NewWithT(t)
	argo := argoRollouts()
	argo.program = "/tmp/argo-rollouts"
	all := contestants(deploymentsIn("", 2, 3), []setup{{batch: 1}, {batch: 10}, {peer: argo}})
	var told []string
	for _, c := range all {
		told = append(told, fmt.Sprintf("%s: %s, free %t, %s", c.name, c.fleet.namespace, c.fleet.free, c.fleet.kind.Kind))
	}
	g.Expect(told).To(Equal([]string{
		"native: native, free true, Deployment", "batches of 1: controlled, free false, Deployment", "batches of 10: controlled, free false, Deployment",
		"Argo Rollouts: argo-rollouts, free true, Rollout",
	}))
	g.Expect(all[3].fleet.patience).To(BeNumerically(">", 0))
}
