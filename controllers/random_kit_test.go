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
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/hack/mutate"
)

// mutationTarget is a part of the objects of a kind that changes at random.
type mutationTarget struct {
	kind   schema.GroupVersionKind
	schema *mutate.Schema
	below  []string
	// everywhere reports whether objects in other namespaces count too.
	everywhere bool
	// isNamespace reports whether it is the namespace itself.
	isNamespace bool
}

// pick returns one of the existing objects; nil if there is none.
func (m mutationTarget) pick(ctx context.Context, random *rand.Rand, namespace string) *unstructured.Unstructured {
	GinkgoHelper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(m.kind)
	options := &client.ListOptions{}
	if !m.everywhere && !m.isNamespace {
		options.Namespace = namespace
	}
	Expect(kube.List(ctx, list, options)).To(Succeed())
	if m.isNamespace {
		list.Items = slices.DeleteFunc(list.Items, func(item unstructured.Unstructured) bool { return item.GetName() != namespace })
	}
	if len(list.Items) == 0 {
		return nil
	}
	slices.SortFunc(list.Items, func(a, b unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	return &list.Items[random.IntN(len(list.Items))]
}

// apply makes a change as a cluster admin.
func (m mutationTarget) apply(ctx context.Context, object *unstructured.Unstructured, mutation mutate.Mutation) error {
	GinkgoHelper()
	patch, err := json.Marshal(mutation.Patch)
	Expect(err).NotTo(HaveOccurred())
	asked := client.RawPatch(types.MergePatchType, patch)
	if m.below[0] == "status" {
		return kube.Status().Patch(ctx, object.DeepCopy(), asked)
	}
	return kube.Patch(ctx, object.DeepCopy(), asked)
}

// isCreatable reports whether users may create such objects: not those of Kubernetes' controllers, and not a status.
func (m mutationTarget) isCreatable() bool {
	return m.below[0] != "status" && !slices.Contains([]string{"ReplicaSet", "Pod", "Namespace"}, m.kind.Kind)
}

// another returns a copy under another name that can be created.
func another(original *unstructured.Unstructured, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"spec": original.DeepCopy().Object["spec"]}}
	object.SetGroupVersionKind(original.GroupVersionKind())
	object.SetNamespace(original.GetNamespace())
	object.SetName(name)
	object.SetLabels(original.GetLabels())
	object.SetAnnotations(original.GetAnnotations())
	object.SetOwnerReferences(original.GetOwnerReferences())
	return object
}

// mutated returns an object of the same name with a mutation.
func mutated(object *unstructured.Unstructured, mutation mutate.Mutation) *unstructured.Unstructured {
	GinkgoHelper()
	before, err := json.Marshal(object)
	Expect(err).NotTo(HaveOccurred())
	patch, err := json.Marshal(mutation.Patch)
	Expect(err).NotTo(HaveOccurred())
	after, err := jsonpatch.MergePatch(before, patch)
	Expect(err).NotTo(HaveOccurred())
	result := &unstructured.Unstructured{}
	Expect(json.Unmarshal(after, result)).To(Succeed())
	if _, isObject := result.Object["metadata"].(map[string]any); !isObject {
		delete(result.Object, "metadata")
	}
	result.SetNamespace(object.GetNamespace())
	result.SetName(object.GetName())
	return result
}

// isInWords reports whether an error is a refusal that contains one of the words.
func isInWords(err error, words ...string) bool {
	if apierrors.IsInternalError(err) && strings.Contains(err.Error(), "Internal error occurred: parsing time") {
		return true // the API server's own: it can't read a year of five digits that it made of a Deployment's time with an offset
	}
	refused := apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) || apierrors.IsConflict(err) ||
		apierrors.IsRequestEntityTooLargeError(err)
	return refused && slices.ContainsFunc(words, func(word string) bool { return strings.Contains(err.Error(), word) })
}

// mutationTargets returns all objects that the operator reads, with the schemas of the custom resources and of the API server.
func mutationTargets(ctx context.Context) []mutationTarget {
	GinkgoHelper()
	apps := schema.GroupVersion{Group: "apps", Version: "v1"}
	own := schema.GroupVersion{Group: "app.ops.cloud.alipay.com", Version: "v1alpha1"}
	core := schema.GroupVersion{Version: "v1"}
	deployment := publishedSchema("apis/apps/v1", "io.k8s.api.apps.v1.Deployment")
	// A random number of replicas may be two thousand million, beyond the capacity of the machine.
	deployment.Properties["spec"].Properties["replicas"] = &mutate.Schema{Enum: []any{0, 1, 3, 5, -1, int64(1) << 31, "2", 1.5}}
	targets := []mutationTarget{
		{kind: apps.WithKind("Deployment"), schema: deployment, below: []string{"spec"}},
		{kind: apps.WithKind("Deployment"), schema: deployment, below: []string{"spec", "template", "spec"}},
		{kind: apps.WithKind("Deployment"), schema: operatorKeys(), below: []string{"metadata"}},
		{kind: apps.WithKind("Deployment"), schema: operatorKeys(), below: []string{"metadata"}},
		{kind: apps.WithKind("ReplicaSet"), schema: operatorKeys(), below: []string{"metadata"}},
		{kind: core.WithKind("Pod"), schema: operatorKeys(), below: []string{"metadata"}},
		{kind: core.WithKind("Namespace"), schema: optInLabel(), below: []string{"metadata", "labels"}, isNamespace: true},
	}
	for kind, plural := range map[string]string{"ChangeWorkload": "changeworkloads", "ChangePod": "changepods", "OpsConfigInfo": "opsconfiginfoes"} {
		of, err := mutate.OfCRD(filepath.Join("..", "config", "crd", "bases", "app.ops.cloud.alipay.com_"+plural+".yaml"))
		Expect(err).NotTo(HaveOccurred())
		for _, part := range []string{"spec", "status"} {
			targets = append(targets, mutationTarget{kind: own.WithKind(kind), schema: of, below: []string{part}, everywhere: kind == "OpsConfigInfo"})
		}
		if kind != "OpsConfigInfo" {
			targets = append(targets, mutationTarget{kind: own.WithKind(kind), schema: operatorKeys(), below: []string{"metadata"}})
		}
	}
	// Maps have no order, but the same seed must choose the same.
	slices.SortStableFunc(targets, func(a, b mutationTarget) int { return strings.Compare(a.kind.Kind, b.kind.Kind) })
	return targets
}

func publishedSchema(path, name string) *mutate.Schema {
	GinkgoHelper()
	asked, err := discovery.NewDiscoveryClientForConfig(plane.Config())
	Expect(err).NotTo(HaveOccurred())
	paths, err := asked.OpenAPIV3().Paths()
	Expect(err).NotTo(HaveOccurred())
	document, err := paths[path].Schema("application/json")
	Expect(err).NotTo(HaveOccurred())
	found, err := mutate.OfDocument(document, name)
	Expect(err).NotTo(HaveOccurred())
	return found
}

// operatorKeys returns the labels and annotations that the operator reads, with meaningful values.
func operatorKeys() *mutate.Schema {
	const defense = "altershield.defense.antgroup.com/"
	text := func(examples ...any) *mutate.Schema { return &mutate.Schema{Type: "string", Examples: examples} }
	rollback := `{"version":"c6c45d23c098bdf181853a85b60b5d74","release":1,"to":"x","toRelease":2,"reason":"Requested","time":"2026-11-21T10:00:00Z"`
	return &mutate.Schema{Properties: map[string]*mutate.Schema{"metadata": {Properties: map[string]*mutate.Schema{
		"labels": {Properties: map[string]*mutate.Schema{
			versionLabel:                        text("c6c45d23c098bdf181853a85b60b5d74", "6a8ff823a5011291b0f02a1d83c2222d", "C6C45D23C098BDF181853A85B60B5D74"),
			defense + "defense-status":          text("processed", "Processed"),
			defense + "operate-finished":        text("1795255200", "9223372036854775807"),
			defense + "suspend":                 text("1795255200", "9223372036854775807"),
			defense + "ignored-suspend":         text("true", "TRUE"),
			"app.kubernetes.io/deployment-name": text("sleep", "other"),
		}},
		"annotations": {Properties: map[string]*mutate.Schema{
			defense + "release":                 text("1", "2", "9223372036854775807", "9223372036854775806", "-9223372036854775808"),
			defense + "held":                    text("1", "1-overridden", "2"),
			defense + "ignored-suspend-by":      text(`{"user":"a","time":"9999-12-31T23:59:59.999999-01:00","version":"x","release":1}`),
			defense + "ignored-suspend-removed": text("1", "9223372036854775807"),
			defense + "released-by": text(`{"user":"a","version":"c6c45d23c098bdf181853a85b60b5d74","release":2,"ended":{"hold":true,"ignoredSuspend":true,"rollback":"true"}}`,
				`{"user":"a","version":"c6c45d23c098bdf181853a85b60b5d74","release":1,"changes":["`+strings.Repeat("x", 9000)+`"]}`),
			defense + "rollback":    text("true", "c6c45d23c098bdf181853a85b60b5d74"),
			defense + "rollback-by": text("alice"),
			defense + "rollbacks": text("["+rollback+"}]", "["+rollback+`,"refusedUntil":"9999-12-31T23:59:59-01:00"}]`,
				"["+strings.Replace(rollback, "2026-11-21T10:00:00Z", "9999-12-31T23:59:59-01:00", 1)+"}]"),
			"deployment.kubernetes.io/revision": text("9223372036854775807", "-1"),
		}},
	}}}}
}

func optInLabel() *mutate.Schema {
	return &mutate.Schema{Properties: map[string]*mutate.Schema{"metadata": {Properties: map[string]*mutate.Schema{
		"labels": {Properties: map[string]*mutate.Schema{
			"admission-webhook-altershield": {Type: "string", Enum: []any{"enabled", "disabled"}, Examples: []any{"enabled"}},
		}},
	}}}}
}
