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

package controllers_test

import (
	"context"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// badClusters declares a kind with two paths that its CRD lacks, and an expression that can't be compiled.
const badClusters = `
apiVersion: app.ops.cloud.alipay.com/v1alpha1
kind: ControlledKind
metadata:
  name: kubernetesclusters.ecs.yun.com
spec:
  release: {fields: [spec.cluster.kubeVersion, spec.cluster.nodes]}
  pods: {by: None}
  immutable: [spec.cluster.masters]
  rules:
  - {name: small-steps, operations: [UPDATE], expression: size(object.spec, message: remove one node at a time}
`

var _ = Describe("A ControlledKind with bad paths and expressions", Ordered, func() {
	const name = "kubernetesclusters.ecs.yun.com"
	definition := filepath.Join("..", "config", "samples", "kubernetescluster", "crd.yaml")
	controlled := func(ctx context.Context) (*appv1alpha1.ControlledKind, error) {
		var found appv1alpha1.ControlledKind
		return &found, kube.Get(ctx, client.ObjectKey{Name: name}, &found)
	}
	ready := func(ctx context.Context) (string, error) {
		found, err := controlled(ctx)
		return reason(found.Status.Conditions, "Ready"), err
	}
	remove := func(ctx context.Context) {
		_, err := kubectl(ctx, "delete", "controlledkind", name, "--ignore-not-found", "--timeout=1m")
		Expect(err).NotTo(HaveOccurred())
	}

	BeforeAll(func() {
		DeferCleanup(func(ctx context.Context) {
			remove(ctx)
			_, err := kubectl(ctx, "delete", "-f", definition, "--ignore-not-found", "--timeout=1m")
			Expect(err).NotTo(HaveOccurred())
		})
	})

	It("is admitted with a warning while its CRD is missing, and repaired afterwards", func(ctx context.Context) {
		output, err := kubectlWith(ctx, badClusters, "apply", "-f", "-")
		Expect(err).NotTo(HaveOccurred(), output)
		Expect(output).To(ContainSubstring("Warning: ControlledKind kubernetesclusters.ecs.yun.com was admitted unchecked: " +
			"there is no CustomResourceDefinition kubernetesclusters.ecs.yun.com: install it; its condition Ready shows the result of the check"))
		output, err = kubectl(ctx, "apply", "-f", definition)
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(ctx, ready).Should(Equal("DeclarationInvalid"))
		output, err = kubectl(ctx, "patch", "controlledkind", name, "--type=merge", "-p",
			`{"spec":{"release":{"fields":["spec.cluster.kubeVersion"]},"immutable":null,"rules":null}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(ctx, ready).ShouldNot(Equal("DeclarationInvalid"))
	})

	It("is refused with the place of each", func(ctx context.Context) {
		remove(ctx)
		output, err := kubectlWith(ctx, badClusters, "apply", "-f", "-")
		Expect(err).To(HaveOccurred())
		Expect(output).To(And(ContainSubstring(`The ControlledKind "kubernetesclusters.ecs.yun.com" is invalid`),
			ContainSubstring("* spec.release.fields[1]: Invalid value"), ContainSubstring("* spec.immutable[0]: Invalid value"),
			ContainSubstring("* spec.rules[0].expression: Invalid value")))
		_, err = controlled(ctx)
		Expect(apierrors.IsNotFound(err)).To(BeTrue())
	})

	It("is admitted and shown as invalid if no operator was there to refuse it", func(ctx context.Context) {
		remove(ctx)
		Expect(manager.Stop(ctx)).To(Succeed())
		output, err := kubectlWith(ctx, badClusters, "apply", "-f", "-")
		Expect(manager.Start(ctx)).To(Succeed())
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(ctx, ready).Should(Equal("DeclarationInvalid"))
		found, err := controlled(ctx)
		Expect(err).NotTo(HaveOccurred())
		touched := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"team":"shop"}}}`))
		Eventually(ctx, func() error { return kube.Patch(ctx, found, touched) }).Should(Succeed())
	})
})

var _ = Describe("A KubernetesCluster", func() {
	It("is declared, checked by its nodes, denied by its rules, suspended and rolled back by the commands of docs/declaring-kinds.md", slow, func(ctx context.Context) {
		DeferCleanup(func(ctx context.Context) {
			output, err := kubectl(ctx, "delete", "--ignore-not-found", "--timeout=1m", "crd/kubernetesclusters.ecs.yun.com", "namespace/infra",
				"clusterrole/altershield-kind-kubernetesclusters.ecs.yun.com")
			Expect(err).NotTo(HaveOccurred(), output)
		})
		const page = "declaring-kinds.md"
		Expect(bash(ctx, strings.Join(blocks(page, "Put it under control"), ""))).To(ContainSubstring("kubernetesclusters.ecs.yun.com condition met"))
		released := blocks(page, "Release, failure, denial")
		Expect(released).To(HaveLen(4))
		output := bash(ctx, strings.Join(released, ""))
		Expect(output).To(And(
			ContainSubstring("denied the request: kubernetescluster dev: spec.cluster.masterList is immutable\n"),
			ContainSubstring("denied the request: kubernetescluster dev: an operation is in progress\n"),
			ContainSubstring("denied the request: kubernetescluster dev is suspended\n"),
		))
		checked := map[string]int{}
		for _, changePod := range changePods(ctx, "infra") {
			for _, unit := range changePod.Spec.PodInfos {
				checked[unit.Pod]++
			}
		}
		Expect(checked).To(And(HaveKey("10.0.0.11"), HaveKey("10.0.0.12"), HaveKey("10.0.0.13"), Not(HaveKey("10.0.0.14"))), "the scaling failed before it was complete")
		Expect(bash(ctx, strings.Join(blocks(page, "Remove it"), ""))).To(ContainSubstring("deleted"))
	})
})
