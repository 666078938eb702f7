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

package changeworkload

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
)

// passedSet is the StatefulSet web of 3 pods, whose pods of these ordinals run its second release and passed, with its surroundings.
func passedSet(ordinals []string, change func(*appsv1.StatefulSet)) []client.Object {
	set := gatedSet(partitionOf(0), func(set *appsv1.StatefulSet) {
		set.Annotations = map[string]string{"altershield.defense.antgroup.com/release": "2"}
		set.Spec.Replicas = ptr.To[int32](3)
	}, change)
	record, batch := recordAt(2, version, "Running", "Verifying"), passedBatch(1)
	labels := map[string]string{"altershield.defense.antgroup.com/workload": "statefulsets.web", "admission-webhook-altershield.antgroup.com/version": version}
	record.Name, record.Labels, record.Spec.AppName = "statefulsets.web--x--"+version, labels, "web"
	batch.Name, batch.Labels, batch.Spec.ChangeWorkloadID = record.Name+"--x--1", labels, record.Name
	record.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "web", UID: "s-1", Controller: ptr.To(true)}}
	revision := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-b", OwnerReferences: record.OwnerReferences,
			Labels: map[string]string{"admission-webhook-altershield.antgroup.com/version": version}},
		Revision: 2, Data: runtime.RawExtension{Raw: []byte(`{"spec":{"template":{}}}`)},
	}
	objects := append(sleepOf(0), testkit.ControlledKind("statefulsets.apps", "Enforce"), set, revision, record, batch)
	objects[0].SetLabels(map[string]string{"admission-webhook-altershield": "enabled"})
	batch.Spec.PodInfos = nil
	for _, ordinal := range ordinals {
		pod := setPod(ordinal)
		pod.Labels["altershield.defense.antgroup.com/operate-finished"] = "1795250000"
		objects = append(objects, pod)
		batch.Spec.PodInfos = append(batch.Spec.PodInfos, appv1alpha1.PodSummary{App: "web", Namespace: "default", Pod: pod.Name, UID: types.UID("uid-" + pod.Name)})
	}
	return objects
}

// The controller of a StatefulSet with OrderedReady removes its pods one by one, and replaces none meanwhile.
func TestReconcileAwaitsThePodsThatStayAsAStatefulSetIsScaledDown(t *testing.T) {
	for _, row := range []struct {
		name     string
		ordinals []string
		change   func(*appsv1.StatefulSet)
		status   string
	}{
		{"while those that leave passed", []string{"9", "8", "7", "6", "5", "4"}, func(*appsv1.StatefulSet) {}, "Running"},
		{"while one that stays hasn't passed", []string{"3", "2", "1"}, func(*appsv1.StatefulSet) {}, "Running"},
		{"until they passed", []string{"3", "2", "1", "0"}, func(*appsv1.StatefulSet) {}, "Success"},
		{"whose ordinals begin later", []string{"8", "7", "6"}, func(set *appsv1.StatefulSet) { set.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 5} }, "Running"},
		{"below a user's partition none is awaited", []string{"9", "8", "2"}, partitionOf(2), "Success"},
		{"nor does one below it count", []string{"1"}, partitionOf(2), "Running"},
		{"whose pods a user deletes", []string{"9", "8", "7"}, func(set *appsv1.StatefulSet) {
			set.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: "OnDelete"}
		}, "Running"},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := newPlane(t, passedSet(row.ordinals, row.change), nil)
			p.Kinds = workload.Registry{statefulset.Kind{}}
			p.reconcileOf("statefulsets.web")
			NewWithT(t).Expect(p.statuses()).To(Equal(map[string]string{version: row.status}))
		})
	}
}
