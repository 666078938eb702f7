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

package deployment_test

import (
	"math"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
)

const versionLabel = "admission-webhook-altershield.antgroup.com/version"

var now = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

func TestKindRollout(t *testing.T) {
	for _, row := range []struct {
		name   string
		spec   appsv1.DeploymentSpec
		status appsv1.DeploymentStatus
		want   decide.Rollout
	}{
		{"without a number of replicas", appsv1.DeploymentSpec{}, appsv1.DeploymentStatus{}, decide.Rollout{Desired: 1}},
		{"with all that is read", appsv1.DeploymentSpec{Replicas: ptr.To[int32](5), MinReadySeconds: 3, Paused: true, Strategy: appsv1.DeploymentStrategy{Type: "Recreate"}},
			appsv1.DeploymentStatus{}, decide.Rollout{Desired: 5, MinReadySeconds: 3, Paused: true, Recreate: true}},
		{"with new pods alone", appsv1.DeploymentSpec{}, appsv1.DeploymentStatus{Replicas: 5, UpdatedReplicas: 5}, decide.Rollout{Desired: 1}},
		{"with an old pod", appsv1.DeploymentSpec{}, appsv1.DeploymentStatus{Replicas: 6, UpdatedReplicas: 5}, decide.Rollout{Desired: 1, Rolling: true}},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.want.Resume = "run kubectl rollout resume"
			NewWithT(t).Expect(deployment.Kind{}.Rollout(&appsv1.Deployment{Spec: row.spec, Status: row.status})).To(Equal(row.want))
		})
	}
	NewWithT(t).Expect(deployment.Kind{}.Rollout(&corev1.Pod{})).To(Equal(decide.Rollout{}), "of another kind")
}

// replicaSet returns a ReplicaSet with a version, a number, and all pods ready.
func replicaSet(version, number string, desired *int32, ready int32) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "sleep-1", UID: "rs-1", CreationTimestamp: metav1.NewTime(now),
			Labels: map[string]string{versionLabel: version}, Annotations: map[string]string{"deployment.kubernetes.io/revision": number},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "sleep", UID: "d-1", Controller: ptr.To(true)}},
		},
		Spec: appsv1.ReplicaSetSpec{Replicas: desired}, Status: appsv1.ReplicaSetStatus{ReadyReplicas: ready},
	}
}

func TestKindRevision(t *testing.T) {
	for _, row := range []struct {
		name       string
		replicaSet *appsv1.ReplicaSet
		want       decide.Revision
	}{
		{"with all its pods ready", replicaSet("a", "6", ptr.To[int32](4), 4), decide.Revision{Version: "a", Number: 6, Healthy: true}},
		{"with more", replicaSet("a", "6", ptr.To[int32](4), 5), decide.Revision{Version: "a", Number: 6, Healthy: true}},
		{"with a pod that isn't ready", replicaSet("a", "6", ptr.To[int32](4), 3), decide.Revision{Version: "a", Number: 6}},
		{"scaled to nothing", replicaSet("a", "6", ptr.To[int32](0), 0), decide.Revision{Version: "a", Number: 6}},
		{"without a number of replicas", replicaSet("a", "6", nil, 1), decide.Revision{Version: "a", Number: 6, Healthy: true}},
		{"with a number that looks higher as a text", replicaSet("a", "05", nil, 0), decide.Revision{Version: "a", Number: 5}},
		{"without a number: it is the newest", replicaSet("a", "", nil, 0), decide.Revision{Version: "a", Number: math.MaxInt64}},
		{"from before change control", replicaSet("", "6", nil, 0), decide.Revision{Number: 6}},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.want.Pods.Owner, row.want.Created = "rs-1", now
			NewWithT(t).Expect(deployment.Kind{}.Revision(row.replicaSet)).To(Equal(row.want))
		})
	}
	NewWithT(t).Expect(deployment.Kind{}.Revision(&corev1.Pod{})).To(Equal(decide.Revision{}), "of another kind")
}

func TestKindRevisionWhosePodsCanNotBeCreated(t *testing.T) {
	for _, row := range []struct {
		name      string
		condition appsv1.ReplicaSetCondition
		failure   *decide.Failure
	}{
		{"for a quota", appsv1.ReplicaSetCondition{Type: "ReplicaFailure", Status: "True", Reason: "FailedCreate", Message: "exceeded quota: pods", LastTransitionTime: metav1.NewTime(now)},
			&decide.Failure{Since: now, Message: "pods can't be created: exceeded quota: pods"}},
		{"any more: they can by now", appsv1.ReplicaSetCondition{Type: "ReplicaFailure", Status: "False", Reason: "FailedCreate"}, nil},
		{"but deleted: that is no harm", appsv1.ReplicaSetCondition{Type: "ReplicaFailure", Status: "True", Reason: "FailedDelete"}, nil},
		{"by another condition", appsv1.ReplicaSetCondition{Type: "Other", Status: "True", Reason: "FailedCreate"}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			failing := replicaSet("a", "6", nil, 0)
			failing.Status.Conditions = []appsv1.ReplicaSetCondition{row.condition}
			NewWithT(t).Expect(deployment.Kind{}.Revision(failing).Failure).To(Equal(row.failure))
		})
	}
}

func TestKindPaused(t *testing.T) {
	untyped := func(paused any) client.Object {
		return &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"paused": paused}}}
	}
	for _, row := range []struct {
		name   string
		object client.Object
		paused bool
	}{
		{"a Deployment", &appsv1.Deployment{}, false},
		{"a paused Deployment", &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Paused: true}}, true},
		{"an untyped one", &unstructured.Unstructured{Object: map[string]any{}}, false},
		{"an untyped one that goes on", untyped(false), false},
		{"an untyped one that is paused", untyped(true), true},
		{"an untyped one that no API server takes", untyped("yes"), false},
		{"another kind", &corev1.Pod{}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(deployment.Kind{}.Paused(row.object)).To(Equal(row.paused))
		})
	}
	g := NewWithT(t)
	g.Expect(deployment.Kind{}.Pause(nil)).To(Equal([]workload.Operation{{Op: "add", Path: "/spec/paused", Value: true}}))
	g.Expect(deployment.Kind{}.Originals(nil)).To(BeEmpty())
	g.Expect(deployment.Kind{}.ResumeSubcommand()).To(Equal("rollout resume"))
	g.Expect(deployment.Kind{}.Resume(nil, "")).To(Equal([]workload.Operation{{Op: "remove", Path: "/spec/paused"}}))
}

func TestKindOwnerOf(t *testing.T) {
	podOf := func(kind string, uid types.UID) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "sleep-1-a", Labels: map[string]string{versionLabel: "typed by hand"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: "sleep-1", UID: uid, Controller: ptr.To(true)}},
		}}
	}
	of := func(change func(*metav1.OwnerReference)) *appsv1.ReplicaSet {
		result := replicaSet("a", "1", nil, 0)
		change(&result.OwnerReferences[0])
		return result
	}
	for _, row := range []struct {
		name   string
		object client.Object
		found  bool
	}{
		{"a pod", podOf("ReplicaSet", "rs-1"), true},
		{"a ReplicaSet", replicaSet("a", "1", nil, 0), true},
		{"a ReplicaSet, by another version of the API", of(func(owner *metav1.OwnerReference) { owner.APIVersion = "apps/v2" }), true},
		{"not a pod of another kind", podOf("StatefulSet", "rs-1"), false},
		{"not a pod of a ReplicaSet of before", podOf("ReplicaSet", "rs-0"), false},
		{"not a ReplicaSet of a Deployment of before", of(func(owner *metav1.OwnerReference) { owner.UID = "d-0" }), false},
		{"not a ReplicaSet of another group", of(func(owner *metav1.OwnerReference) { owner.APIVersion = "example.com/v1" }), false},
		{"not a ReplicaSet of a Deployment that isn't there", of(func(owner *metav1.OwnerReference) { owner.Name = "other" }), false},
		{"not a ReplicaSet that nothing controls", of(func(owner *metav1.OwnerReference) { owner.Controller = nil }), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			sleep := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep", UID: "d-1"}}
			cache := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(sleep, replicaSet("a", "1", nil, 0)).Build()
			owner, err := workload.Registry{deployment.Kind{}}.OwnerOf(t.Context(), cache, row.object)
			g.Expect(err).NotTo(HaveOccurred())
			if !row.found {
				g.Expect(owner).To(BeNil())
				return
			}
			g.Expect(owner.Kind).To(Equal(deployment.Kind{}))
			g.Expect(owner.Object.GetName()).To(Equal("sleep"))
			g.Expect(owner.Version).To(Equal("a"), "that of its ReplicaSet, whatever the pod's label")
		})
	}
}

func TestKindNamesItsTypes(t *testing.T) {
	g, kind := NewWithT(t), deployment.Kind{}
	g.Expect(kind.GroupVersionKind().String()).To(Equal("apps/v1, Kind=Deployment"))
	g.Expect(kind.Resource()).To(Equal("deployments"))
	g.Expect(kind.RecordName("sleep")).To(Equal("sleep"), "as documented")
	g.Expect(kind.TemplatePath()).To(Equal([]string{"spec", "template"}))
	g.Expect(kind.New()).To(Equal(&appsv1.Deployment{}))
	g.Expect(kind.NewList()).To(Equal(&appsv1.DeploymentList{}))
	g.Expect(kind.Layer()).To(Equal(&appsv1.ReplicaSet{}))
}

func TestKindRevisionsAreTheReplicaSetsThatItControls(t *testing.T) {
	g := NewWithT(t)
	replicaSet := func(name, version string, owner types.UID) *appsv1.ReplicaSet {
		return &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{versionLabel: version},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "sleep", UID: owner, Controller: ptr.To(true)}}}}
	}
	kube := testkit.NewFake(t, replicaSet("sleep-1", "0123", "uid-1"), replicaSet("sleep-2", "4567", "uid-1"), replicaSet("awake-1", "89ab", "uid-2"))
	revisions, err := deployment.Kind{}.Revisions(t.Context(), kube, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep", UID: "uid-1"}})
	g.Expect(err).NotTo(HaveOccurred())
	versions := []string{}
	for _, revision := range revisions {
		versions = append(versions, revision.Version)
	}
	g.Expect(versions).To(ConsistOf("0123", "4567"))
}
