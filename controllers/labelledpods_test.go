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
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	lamps = "lamps.example.com"
	// lampKind drops the labels of pod templates, as a CRD does that controller-gen generates without generateEmbeddedObjectMeta.
	lampKind = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lamps.example.com}
spec:
  group: example.com
  names: {kind: Lamp, listKind: LampList, plural: lamps, singular: lamp}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              replicas: {type: integer}
              template:
                type: object
                properties:
                  metadata: {type: object}
                  spec:
                    type: object
                    x-kubernetes-preserve-unknown-fields: true
                    properties: {containers: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
          status:
            type: object
            properties: {revision: {type: string}, observedGeneration: {type: integer}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: altershield-kind-lamps.example.com
  labels: {altershield.defense.antgroup.com/aggregate-to-kinds: "true"}
rules:
- {apiGroups: [example.com], resources: [lamps], verbs: [get, list, watch, patch]}
- {apiGroups: [example.com], resources: [lamps/finalizers], verbs: [update]}
---
apiVersion: app.ops.cloud.alipay.com/v1alpha1
kind: ControlledKind
metadata: {name: lamps.example.com}
spec:
  version: v1
  mode: Enforce
  release:
    templates: [spec.template]
    identity: {by: Revision, label: lamp-hash, path: status.revision}
  counts: {desired: spec.replicas}
`
)

var _ = Describe("A declared kind whose templates carry no label", slow, Serial, func() {
	It("has its pods checked by the label of its controller", func(ctx context.Context) {
		DeferCleanup(func(ctx context.Context) {
			remove(ctx, "controlledkind/"+lamps, "crd/"+lamps, "clusterrole/altershield-kind-"+lamps)
		})
		apply(ctx, lampKind)
		enforced(ctx, lamps)
		namespace := controlledNamespace(ctx)
		release := func(image, revision string) (version string) { // as its controller does
			GinkgoHelper()
			output, err := kubectlWith(ctx, fmt.Sprintf(`{"apiVersion": "example.com/v1", "kind": "Lamp", "metadata": {"namespace": %q, "name": "web"}, "spec": {
				"replicas": 2, "template": {"spec": {"containers": [{"name": "web", "image": %q}]}}}}`, namespace, image), "apply", "-f", "-")
			Expect(err).NotTo(HaveOccurred(), output)
			lamp := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Lamp"}}
			Expect(kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "web"}, lamp)).To(Succeed())
			for range 2 {
				pod := podOf(lamp)
				Expect(pod.Labels).To(BeEmpty(), "the API server drops them")
				pod.Labels = map[string]string{"lamp-hash": revision}
				Expect(kube.Create(ctx, pod)).To(Succeed())
			}
			output, err = kubectl(ctx, "-n", namespace, "patch", "lamp", "web", "--subresource=status", "--type=merge", "-p",
				fmt.Sprintf(`{"status":{"revision":%q,"observedGeneration":%d}}`, revision, lamp.GetGeneration()))
			Expect(err).NotTo(HaveOccurred(), output)
			return lamp.GetLabels()[versionLabel]
		}
		first := release("web:1", "a")
		Eventually(releases(ctx, namespace)).Should(HaveKeyWithValue("lamps.web--x--"+first, "Success"))
		Expect(workload(ctx, namespace, "lamps.web--x--"+first).Status.Counts.Passed).To(BeEquivalentTo(2))
		next := release("web:2", "b")
		Eventually(releases(ctx, namespace)).Should(HaveKeyWithValue("lamps.web--x--"+next, "Success"))
		var pods corev1.PodList
		Expect(kube.List(ctx, &pods, client.InNamespace(namespace))).To(Succeed())
		versions := map[string]int{}
		for _, pod := range pods.Items {
			versions[pod.Labels["lamp-hash"]+" "+pod.Labels[versionLabel]]++
		}
		Expect(versions).To(Equal(map[string]int{"a " + first: 2, "b " + next: 2}))
	})
})
