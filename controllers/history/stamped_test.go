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

package history_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/history"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/testkit/kinds"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/daemonset"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
)

// layerOf is a revision of version v1 of a workload, as its controller keeps it, with an image and a gate label.
func layerOf(kind workload.Kind, owner client.Object, number int, image, gate string) client.Object {
	labels := map[string]string{"admission-webhook-altershield.antgroup.com/version": "v1"}
	if gate != "" {
		labels["altershield.defense.antgroup.com/gate"] = gate
	}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}}
	template.Spec.Containers = []corev1.Container{{Name: "main", Image: image}}
	name := fmt.Sprintf("web-%d", number)
	meta := metav1.ObjectMeta{
		Namespace: "default", Name: name, UID: types.UID("uid-of-" + name), Labels: labels, CreationTimestamp: metav1.Unix(int64(number), 0),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, kind.GroupVersionKind())},
	}
	if workload.KeepsRevisions(kind) {
		fields, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(&template)
		fields["$patch"] = "replace"
		data, _ := json.Marshal(map[string]any{"spec": map[string]any{"template": fields}})
		meta.Labels["controller-revision-hash"] = name
		return &appsv1.ControllerRevision{ObjectMeta: meta, Revision: int64(number), Data: runtime.RawExtension{Raw: data}}
	}
	meta.Annotations = map[string]string{"deployment.kubernetes.io/revision": fmt.Sprint(number)}
	return &appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Template: template}}
}

func ownerOf(kind workload.Kind) client.Object {
	owner := kind.New()
	owner.SetNamespace("default")
	owner.SetName("web")
	owner.SetUID("uid-1")
	return owner
}

func layeredKinds(t *testing.T) map[string]workload.Kind {
	return map[string]workload.Kind{
		"Deployment": deployment.Kind{}, "StatefulSet": statefulset.Kind{}, "DaemonSet": daemonset.Kind{},
		"a declared one": kinds.Sample(t, "../..", "rollout", "rollouts"),
	}
}

func TestRevisionsTellATemplateThatOnlyGotGatesFromAChangedOne(t *testing.T) {
	for name, kind := range layeredKinds(t) {
		for _, row := range []struct {
			name, image string
			unseen      bool
		}{{"gates", "one", false}, {"another image", "two", true}} {
			t.Run(name+": "+row.name, func(t *testing.T) {
				g, owner := NewWithT(t), ownerOf(kind)
				foreign := ownerOf(kind)
				foreign.SetUID("uid-2")
				kube := testkit.NewFake(t, layerOf(kind, owner, 1, "one", ""), layerOf(kind, owner, 2, row.image, "start"), layerOf(kind, foreign, 3, "three", ""))
				var read []string
				live := interceptor.NewClient(kube, interceptor.Funcs{
					Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
						return errors.New("the cached workload is enough")
					},
					List: func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
						read = append(read, list.GetObjectKind().GroupVersionKind().Kind)
						return kube.List(ctx, list, options...)
					},
				})
				revisions, err := (&history.Keeper{Client: kube, Live: live}).Revisions(t.Context(), kind, owner, "v1")
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(revisions).To(HaveLen(2))
				g.Expect(read).To(HaveLen(1), "not even its pods")
				stamped, unseen := decide.StampedRevision(revisions, "v1")
				g.Expect(unseen).To(Equal(row.unseen))
				g.Expect(stamped.Created.Unix()).To(Equal(map[bool]int64{true: 1, false: 2}[unseen]))
			})
		}
	}
}

func TestRevisionsOfTheCacheAreEnoughWhereOneHasTheVersion(t *testing.T) {
	for name, kind := range layeredKinds(t) {
		g, owner := NewWithT(t), ownerOf(kind)
		revisions, err := (&history.Keeper{Client: testkit.NewFake(t, layerOf(kind, owner, 1, "one", ""))}).Revisions(t.Context(), kind, owner, "v1")
		g.Expect(err).NotTo(HaveOccurred(), name)
		g.Expect(revisions).To(HaveExactElements(HaveField("Template", BeNil())), name)
	}
}

func TestRevisionsFailWhereTheAPIServerDoes(t *testing.T) {
	g, kind := NewWithT(t), deployment.Kind{}
	owner := ownerOf(kind)
	kube := testkit.NewFake(t, layerOf(kind, owner, 1, "one", ""), layerOf(kind, owner, 2, "one", "start"))
	live := interceptor.NewClient(kube, interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return errors.New("connection refused")
	}})
	_, err := (&history.Keeper{Client: kube, Live: live}).Revisions(t.Context(), kind, owner, "v1")
	g.Expect(err).To(MatchError("listing the revisions of Deployment default/web: connection refused"))
}
