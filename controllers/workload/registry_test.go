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

package workload_test

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/testkit/kinds"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/daemonset"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
)

func TestRegistryOf(t *testing.T) {
	kinds := workload.Registry{deployment.Kind{}}
	for _, row := range []struct {
		apiVersion, kind string
		want             workload.Kind
	}{
		{"apps/v1", "Deployment", deployment.Kind{}},
		{"apps/v2", "Deployment", deployment.Kind{}},
		{"apps/v1", "StatefulSet", nil},
		{"example.com/v1", "Deployment", nil},
		{"", "", nil},
	} {
		found := kinds.Of(&metav1.OwnerReference{APIVersion: row.apiVersion, Kind: row.kind})
		if row.want == nil {
			NewWithT(t).Expect(found).To(BeNil(), row.apiVersion+" "+row.kind)
			continue
		}
		NewWithT(t).Expect(found).To(Equal(row.want), row.apiVersion+" "+row.kind)
	}
}

func TestRegistryNumberedBy(t *testing.T) {
	kinds := workload.Registry{daemonset.Kind{}, statefulset.Kind{}}
	for kind, numbers := range map[string]bool{"StatefulSet": true, "DaemonSet": false, "ReplicaSet": false, "": false} {
		pod := &corev1.Pod{}
		if kind != "" {
			pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: "web", Controller: ptr.To(true)}}
		}
		owner := kinds.NumberedBy(pod)
		NewWithT(t).Expect(owner != nil).To(Equal(numbers), kind)
		if numbers {
			NewWithT(t).Expect(owner.Name).To(Equal("web"))
		}
	}
}

func TestRegistryNamed(t *testing.T) {
	g, kinds := NewWithT(t), workload.Registry{deployment.Kind{}, statefulset.Kind{}}
	for _, name := range []string{"StatefulSet", "statefulset", "STATEFULSETS", "statefulsets", "statefulsets.apps"} {
		g.Expect(kinds.Named(name)).To(Equal(statefulset.Kind{}), name)
	}
	g.Expect(kinds.Named("deployments")).To(Equal(deployment.Kind{}))
	for _, name := range []string{"", "sts", "Pod", "statefulsets.apps.kruise.io"} {
		g.Expect(kinds.Named(name)).To(BeNil(), name)
	}
}

func TestPhrase(t *testing.T) {
	g := NewWithT(t)
	g.Expect(workload.Phrase(deployment.Kind{}, "sleep")).To(Equal("deployment sleep"))
	g.Expect(workload.RevisionNoun(deployment.Kind{})).To(Equal("ReplicaSet"))
	g.Expect(workload.RevisionNoun(statefulset.Kind{})).To(Equal("revision"))
	g.Expect(workload.Phrase(statefulset.Kind{}, "default/web")).To(Equal("statefulset default/web"))
}

func TestKeepsRevisions(t *testing.T) {
	g := NewWithT(t)
	g.Expect(workload.KeepsRevisions(deployment.Kind{})).To(BeFalse())
	g.Expect(workload.KeepsRevisions(bare{statefulset.Kind{}})).To(BeFalse())
	g.Expect(workload.KeepsRevisions(statefulset.Kind{})).To(BeTrue())
	g.Expect(workload.KeepsRevisions(daemonset.Kind{})).To(BeTrue())
	g.Expect(workload.HasData(deployment.Kind{}, &appsv1.Deployment{})).To(BeFalse())
}

func TestResumeCommand(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "shop", Name: "web"}
	held := appsv1.StatefulSetUpdateStrategy{Type: "RollingUpdate", RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: ptr.To[int32](2147483647)}}
	routed := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": "shop", "name": "web", "annotations": map[string]any{
			"altershield.defense.antgroup.com/hold-with": `{"/spec/traffic":[{"revisionName":"web-00001"}]}`,
		}},
		"spec": map[string]any{"traffic": []any{map[string]any{"revisionName": "web-00001"}}},
	}}
	for _, row := range []struct {
		kind      workload.Kind
		object    client.Object
		originals string
		want      string
	}{
		{kinds.Sample(t, "../..", "knative-service", "knativeservices"), routed, `{"/spec/traffic":[{"tag":"it's"}]}`,
			`kubectl -n shop patch services.serving.knative.dev web --type=json -p '[{"op":"replace","path":"/spec/traffic","value":[{"tag":"it\u0027s"}]}]'`},
		{deployment.Kind{}, &appsv1.Deployment{ObjectMeta: meta}, "", "kubectl -n shop rollout resume deployment/web"},
		{statefulset.Kind{}, &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{UpdateStrategy: held}}, `{"partition":2}`,
			`kubectl -n shop patch statefulset web --type=json -p '[{"op":"replace","path":"/spec/updateStrategy/rollingUpdate/partition","value":2}]'`},
		{daemonset.Kind{}, &appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: "OnDelete"}}}, "",
			`kubectl -n shop patch daemonset web --type=json -p '[{"op":"replace","path":"/spec/updateStrategy/type","value":"RollingUpdate"}]'`},
		{statefulset.Kind{}, &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: "OnDelete"}}}, "", ""},
	} {
		NewWithT(t).Expect(workload.ResumeCommand(row.kind, row.object, row.originals)).To(Equal(row.want))
	}
}

// bare is a kind without any of the optional interfaces.
type bare struct{ workload.Kind }

func TestResumeCommandNeedsAPauser(t *testing.T) {
	_, err := workload.ResumeCommand(bare{deployment.Kind{}}, &appsv1.Deployment{}, "")
	NewWithT(t).Expect(err).To(MatchError("rollouts of kind Deployment can't be paused"))
}

func TestRegistryLayersAreOneOfEachType(t *testing.T) {
	kinds := workload.Registry{deployment.Kind{}, bare{deployment.Kind{}}, statefulset.Kind{}, daemonset.Kind{}}
	NewWithT(t).Expect(kinds.Layers()).To(Equal([]client.Object{&appsv1.ReplicaSet{}, &appsv1.ControllerRevision{}}))
}

func TestRegistryObjectsAreOneOfEachKind(t *testing.T) {
	NewWithT(t).Expect(workload.Registry{deployment.Kind{}}.Objects()).To(Equal([]client.Object{&appsv1.Deployment{}}))
}

func TestRegistryOwnerOf(t *testing.T) {
	g, kinds := NewWithT(t), workload.Registry{deployment.Kind{}}
	controller := func(kind, name, uid string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: name, UID: types.UID(uid), Controller: ptr.To(true)}}
	}
	stamped := map[string]string{"admission-webhook-altershield.antgroup.com/version": "0123"}
	part := metav1.ObjectMeta{Namespace: "default", Name: "part", UID: "uid-4", Labels: stamped, OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "example.com/v1", Kind: "Whole", Name: "whole", UID: "uid-5", Controller: ptr.To(true)}}}
	adopted := *part.DeepCopy()
	adopted.Name, adopted.UID, adopted.Annotations = "adopted", "uid-6", map[string]string{"altershield.defense.antgroup.com/release": "2"}
	kube := testkit.NewFake(t,
		&appsv1.Deployment{ObjectMeta: part}, &appsv1.Deployment{ObjectMeta: adopted},
		&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "part-1", UID: "uid-7", Labels: stamped, OwnerReferences: controller("Deployment", "part", "uid-4")}},
		&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "adopted-1", UID: "uid-8", Labels: stamped, OwnerReferences: controller("Deployment", "adopted", "uid-6")}},
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep", UID: "uid-1", Labels: stamped}},
		&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep-1", UID: "uid-2", Labels: stamped, OwnerReferences: controller("Deployment", "sleep", "uid-1")}})
	for name, row := range map[string]struct {
		owners []metav1.OwnerReference
		want   string
	}{
		"a pod of a Deployment":  {controller("ReplicaSet", "sleep-1", "uid-2"), "sleep"},
		"a pod of a StatefulSet": {controller("StatefulSet", "web", "uid-3"), ""},
		"a pod of nothing":       {nil, ""},
		"a pod of a part of another workload, to which its controller copied the version": {controller("ReplicaSet", "part-1", "uid-7"), ""},
		"a pod of a Deployment that another workload adopted":                             {controller("ReplicaSet", "adopted-1", "uid-8"), "adopted"},
	} {
		found, err := kinds.OwnerOf(t.Context(), kube, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "pod", Labels: stamped, OwnerReferences: row.owners}})
		g.Expect(err).NotTo(HaveOccurred(), name)
		owner := ""
		if found != nil {
			owner = found.Object.GetName()
		}
		g.Expect(owner).To(Equal(row.want), name)
	}
}

func TestTemplateIsWhereTheKindKeepsIt(t *testing.T) {
	g := NewWithT(t)
	object := map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"nodeName": "node-1"}}}}
	g.Expect(workload.Template(deployment.Kind{}, object)).To(HaveKeyWithValue("spec", map[string]any{"nodeName": "node-1"}))
	g.Expect(workload.TemplatePointer(deployment.Kind{})).To(Equal("/spec/template"))
}
