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

package uninstall

import (
	"bytes"
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/testkit/kinds"
)

const root = "../.."

// declaredWorkload returns a workload of a declared kind whose fourth release is held back by its partition.
func declaredWorkload(apiVersion, kind, name string, partition []string, annotations map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{
			"namespace": "shop", "name": name, "uid": "u-" + name, "generation": int64(1),
			"labels":      map[string]any{"admission-webhook-altershield.antgroup.com/version": "v4"},
			"annotations": map[string]any{"altershield.defense.antgroup.com/release": "4"},
		},
	}}
	for key, value := range annotations {
		_ = unstructured.SetNestedField(object.Object, value, "metadata", "annotations", "altershield.defense.antgroup.com/"+key)
	}
	_ = unstructured.SetNestedField(object.Object, int64(3), "spec", "replicas")
	_ = unstructured.SetNestedField(object.Object, int64(2147483647), partition...)
	return object
}

func TestUninstallerLetsWorkloadsOfDeclaredKindsGo(t *testing.T) {
	g := NewWithT(t)
	groups, groupsCRD := kinds.Objects(t, root, "leaderworkerset", "leaderworkersets")
	clones, clonesCRD := kinds.Objects(t, root, "cloneset", "clonesets")
	clones.Spec.Mode = "Observe"
	clones.Finalizers = []string{"altershield.defense.antgroup.com/kind"} // it leaves change control
	lws := []string{"spec", "rolloutStrategy", "rollingUpdateConfiguration", "partition"}
	stepped := declaredWorkload("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "stepped", lws, map[string]any{
		"paced": `{"release":4,"policy":"shop/web","lever":"Partition","from":{"/spec/rolloutStrategy/rollingUpdateConfiguration/partition":1}}`,
	})
	failed := declaredWorkload("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "failed", lws, map[string]any{
		"held": "4", "held-from": `{"/spec/rolloutStrategy/rollingUpdateConfiguration/partition":1}`,
	})
	set := []string{"spec", "updateStrategy", "partition"}
	cloned := declaredWorkload("apps.kruise.io/v1alpha1", "CloneSet", "cloned", set, map[string]any{
		"paced": `{"release":4,"policy":"shop/web","lever":"Partition","from":{"/spec/updateStrategy/partition":2}}`,
	})
	g.Expect(unstructured.SetNestedField(cloned.Object, true, "spec", "updateStrategy", "paused")).To(Succeed())
	var out bytes.Buffer
	u := &Uninstaller{clock: newStepping(), kinds: testkit.Kinds(), client: testkit.NewFake(t, groups, groupsCRD, clones, clonesCRD, stepped, failed, cloned), out: &out}
	g.Expect(u.learnKinds(t.Context())).To(Succeed())
	g.Expect(u.letGo(t.Context())).To(Succeed())
	left, err := u.survey(t.Context())
	g.Expect(err).NotTo(HaveOccurred())

	partition := func(object *unstructured.Unstructured, path []string) int64 {
		g.Expect(u.client.Get(t.Context(), client.ObjectKeyFromObject(object), object)).To(Succeed())
		number, _, err := unstructured.NestedInt64(object.Object, path...)
		g.Expect(err).NotTo(HaveOccurred())
		return number
	}
	g.Expect(partition(stepped, lws)).To(BeEquivalentTo(1))
	g.Expect(partition(failed, lws)).To(BeEquivalentTo(2147483647), "it stays held")
	g.Expect(partition(cloned, set)).To(BeEquivalentTo(2))
	paused, _, _ := unstructured.NestedBool(cloned.Object, "spec", "updateStrategy", "paused")
	g.Expect(paused).To(BeFalse())
	for _, object := range []*unstructured.Unstructured{stepped, cloned} {
		g.Expect(object.GetAnnotations()).NotTo(HaveKey("altershield.defense.antgroup.com/paced"))
	}
	g.Expect(out.String()).To(And(
		ContainSubstring("LeaderWorkerSet shop/stepped: its release is rolled out at once\n"),
		ContainSubstring("CloneSet shop/cloned: its release is rolled out at once\n")))
	g.Expect(left.String()).To(And(
		ContainSubstring("\nPAUSED ROLLOUTS: the operator paused 1 "),
		ContainSubstring("\n  kubectl -n shop patch leaderworkersets.leaderworkerset.x-k8s.io failed --type=json -p '[{\"op\":\"replace\",\"path\":\"/spec/rolloutStrategy/rollingUpdateConfiguration/partition\",\"value\":1}]'\n"),
		ContainSubstring("\n  kubectl annotate leaderworkersets.leaderworkerset.x-k8s.io -A --all "),
		Not(ContainSubstring("NOT LOOKED AT"))))
}

func TestUninstallerNamesDeclaredKindsThatItCanNotLookAt(t *testing.T) {
	forbidden := func(name string) error {
		return apierrors.NewForbidden(schema.GroupResource{Group: "apps.kruise.io", Resource: "clonesets"}, "", errors.New("no "+name))
	}
	for name, row := range map[string]struct {
		path    string
		denied  string
		broken  string
		fails   string
		named   string
		problem string
	}{
		"its declaration can't be compiled": {path: "spec.unheardOf", named: "spec.hold[0].path"},
		"its CRD can't be read":             {path: "spec.updateStrategy.paused", denied: "CustomResourceDefinition", named: "no CustomResourceDefinition"},
		"its workloads can't be listed":     {path: "spec.updateStrategy.paused", denied: "CloneSetList", named: "no CloneSetList"},
		"its workloads can't be converted":  {path: "spec.updateStrategy.paused", broken: "CloneSetList", named: "conversion webhook"},
		"the API server is away":            {path: "spec.updateStrategy.paused", fails: "CustomResourceDefinition", problem: "reading CustomResourceDefinition clonesets.apps.kruise.io: away"},
		"the API server goes away":          {path: "spec.updateStrategy.paused", fails: "CloneSetList", problem: "listing CloneSets: away"},
		"the API server was away":           {path: "spec.updateStrategy.paused", fails: "ControlledKindList", problem: "listing the ControlledKinds: away"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			controlled, crd := kinds.Objects(t, root, "cloneset", "clonesets")
			controlled.Spec.Hold[0].Path = row.path
			answer := func(kube client.Client, object runtime.Object) error {
				gvk, err := kube.GroupVersionKindFor(object)
				g.Expect(err).NotTo(HaveOccurred())
				switch gvk.Kind {
				case row.denied:
					return forbidden(gvk.Kind)
				case row.broken:
					return apierrors.NewInternalError(errors.New("conversion webhook failed"))
				case row.fails:
					return errors.New("away")
				}
				return nil
			}
			u := &Uninstaller{kinds: testkit.Kinds(), client: interceptor.NewClient(testkit.NewFake(t, controlled, crd), interceptor.Funcs{
				Get: func(ctx context.Context, kube client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
					if err := answer(kube, object); err != nil {
						return err
					}
					return kube.Get(ctx, key, object, options...)
				},
				List: func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
					if err := answer(kube, list); err != nil {
						return err
					}
					return kube.List(ctx, list, options...)
				},
			})}
			err := u.learnKinds(t.Context())
			if row.problem != "" {
				g.Expect(err).To(MatchError(row.problem))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			text := leftovers{unknown: u.unknown}.String()
			g.Expect(text).To(And(
				ContainSubstring("\nNOT LOOKED AT: the clonesets.apps.kruise.io"), ContainSubstring(row.named),
				ContainSubstring("\n  kubectl get clonesets.apps.kruise.io -A -o jsonpath='{range .items[*]}{.metadata.namespace}/{.metadata.name} "+
					`{.metadata.annotations.altershield\.defense\.antgroup\.com/held} {.metadata.annotations.altershield\.defense\.antgroup\.com/held-from} `+
					`{.metadata.annotations.altershield\.defense\.antgroup\.com/paced}{"\n"}{end}'`+"\n")))
		})
	}
}

func TestUninstallerLearnsNoKindsThatHoldNothing(t *testing.T) {
	g := NewWithT(t)
	observed, crd := kinds.Objects(t, root, "cloneset", "clonesets")
	observed.Spec.Mode = "Observe"
	removed, _ := kinds.Objects(t, root, "leaderworkerset", "leaderworkersets") // its CRD was removed, and with that its workloads
	u := &Uninstaller{kinds: testkit.Kinds(), client: testkit.NewFake(t, observed, crd, removed)}
	g.Expect(u.learnKinds(t.Context())).To(Succeed())
	g.Expect(u.kinds).To(Equal(testkit.Kinds()))
	g.Expect(u.unknown).To(BeEmpty())
}
