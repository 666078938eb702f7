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
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/traas-stack/altershield-operator/hack/lab"
)

func TestSizesOfARolloutByQuarters(t *testing.T) {
	of := func(name string, size, ready int32) appsv1.ReplicaSet {
		return appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1.ReplicaSetSpec{Replicas: &size}, Status: appsv1.ReplicaSetStatus{ReadyReplicas: ready},
		}
	}
	for _, row := range []struct {
		name    string
		desired int32
		sets    []appsv1.ReplicaSet
		want    map[string]int32
	}{
		{"the first", 10, nil, map[string]int32{"new": 10}},
		{"the next begins", 10, []appsv1.ReplicaSet{of("old", 10, 10)}, map[string]int32{"new": 3, "old": 8}},
		{"no pod is ready yet", 10, []appsv1.ReplicaSet{of("old", 8, 8), of("new", 5, 0)}, map[string]int32{"new": 5, "old": 8}},
		{"some are", 10, []appsv1.ReplicaSet{of("old", 8, 8), of("new", 5, 4)}, map[string]int32{"new": 5, "old": 4}},
		{"it ends", 10, []appsv1.ReplicaSet{of("old", 1, 1), of("new", 10, 9)}, map[string]int32{"new": 10, "old": 0}},
		{"several old ones", 4, []appsv1.ReplicaSet{of("older", 2, 2), of("old", 2, 2), of("new", 1, 1)}, map[string]int32{"new": 1, "older": 2, "old": 0}},
		{"fewer are desired", 2, []appsv1.ReplicaSet{of("new", 10, 10)}, map[string]int32{"new": 2}},
		{"none", 0, []appsv1.ReplicaSet{of("old", 3, 3)}, map[string]int32{"new": 0, "old": 0}},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(sizes(row.desired, "new", row.sets)).To(Equal(row.want))
		})
	}
}

func TestReplicaSetOfAGadget(t *testing.T) {
	g := NewWithT(t)
	gadget := lab.Deployment("shop", "cart", 2)
	first := replicaSetOf(gadget, gadgets())
	g.Expect(first.Spec.Selector.MatchLabels).To(Equal(map[string]string{"app": "cart", "pod-template-hash": "none"}))
	g.Expect(first.Spec.Template.Labels).To(Equal(first.Spec.Selector.MatchLabels))
	g.Expect(first.OwnerReferences[0].Kind).To(Equal("Gadget"))
	gadget.Spec.Template.Annotations = map[string]string{"note": "v2"}
	second := replicaSetOf(gadget, gadgets())
	g.Expect([]string{first.Name, second.Name}).To(Equal([]string{"cart-none", "cart-v2"}))
	g.Expect(second.Spec.Selector.MatchLabels).To(HaveKeyWithValue("pod-template-hash", "v2"))
}

func TestDeclaredFiguresCompareTheWritesOfTheKinds(t *testing.T) {
	write := func(namespace, resource string) auditv1.Event {
		return auditv1.Event{Verb: "patch", ObjectRef: &auditv1.ObjectReference{Namespace: namespace, Resource: resource}}
	}
	all := []contestant{
		{name: "Deployments", setup: setup{batch: 10}, fleet: deploymentsIn("deployments", 2, 4)},
		{name: "declared kind", setup: setup{batch: 10}, fleet: deploymentsIn("gadgets", 2, 4)},
	}
	figures := append(
		all[0].figures([]sample{{requests: []auditv1.Event{write("deployments", "changepods"), write("deployments", "events"), write("gadgets", "changepods")}}}, nil),
		all[1].figures([]sample{{requests: []auditv1.Event{write("gadgets", "changepods"), write("", "controlledkinds")}}}, nil)...,
	)
	NewWithT(t).Expect(declaredFigures(figures, all)).To(Equal([]Figure{figureOf("declared kind", "writes per pod / Deployments", "", 2)}))
}

func TestDeclaredRestFigures(t *testing.T) {
	g := NewWithT(t)
	found := map[string]float64{}
	for _, figure := range declaredRestFigures([]float64{10 << 20, 12 << 20, 11 << 20, 10 << 20, 13 << 20, 15 << 20}, 2048, 1024, 250*time.Millisecond) {
		found[figure.Setup+": "+figure.Name] = figure.Median
	}
	g.Expect(found).To(Equal(map[string]float64{
		"declared kind: heap per object in the cache": 1, "declared kind: end of the ControlledKind": 250, "declared kind: heap left after the end": 1,
		"declared kind: heap per workload without pods, with its record": 3, "Deployments: heap per workload without pods, with its record": 2,
	}))
}

func TestPaddedHasAVersionThatItsPodsLack(t *testing.T) {
	g := NewWithT(t)
	deployment := padded("others", "app-1")
	g.Expect(deployment.Labels).To(HaveKey("admission-webhook-altershield.antgroup.com/version"))
	g.Expect(deployment.Spec.Selector.MatchLabels).To(Equal(map[string]string{"app": "app-1"}))
	g.Expect(deployment.Spec.Template.Labels).To(Equal(map[string]string{"app": "app-1"}))
}
