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
	"maps"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// gatesByPolicy reports whether the API server can add gates itself.
func gatesByPolicy() bool {
	GinkgoHelper()
	_, err := kube.RESTMapper().RESTMapping(schema.GroupKind{Group: admissionregistrationv1.GroupName, Kind: "MutatingAdmissionPolicy"}, "v1")
	if !meta.IsNoMatchError(err) {
		Expect(err).NotTo(HaveOccurred())
	}
	return err == nil
}

// needsGatePolicy skips specs of gates that the API server adds where it can't.
func needsGatePolicy() {
	GinkgoHelper()
	if !gatesByPolicy() {
		Skip("the API server serves no MutatingAdmissionPolicies: Kubernetes does from 1.36 on")
	}
}

// withoutGatePolicy leaves it to the webhook to add gates, until the end of the spec.
func withoutGatePolicy(ctx context.Context) {
	GinkgoHelper()
	if !gatesByPolicy() {
		return
	}
	binding := &admissionregistrationv1.MutatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "altershieldoperator-gates"}}
	restored(ctx, binding)
	Expect(kube.Delete(ctx, binding)).To(Succeed())
}

// restored creates a cluster-scoped object again after the spec, as it is now.
func restored(ctx context.Context, object client.Object) {
	GinkgoHelper()
	Expect(kube.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
	object.SetResourceVersion("")
	DeferCleanup(func(ctx context.Context) { Expect(kube.Create(ctx, object)).To(Succeed()) })
}

const (
	opensStart      = `{"spec":{"schedulingGates":[{"$patch":"delete","name":"altershield.defense.antgroup.com/verified"}]}}`
	opensReady      = `{"status":{"conditions":[{"type":"altershield.defense.antgroup.com/verified","status":"True"}]}}`
	onlyTheOperator = "only the operator opens the gate of pod %s: annotate its workload with altershield.defense.antgroup.com/go-on=<release>:all; " +
		"without the operator, first delete the ValidatingAdmissionPolicyBinding altershieldoperator-gate-opening"
)

var masters = []string{"system:masters"}

// newPod returns a pod of an unverified version whose gate label has this value. A ConfigMap stands in for its controller.
func newPod(namespace, gate string) *corev1.Pod {
	pod := sleepPod(namespace)
	pod.Labels = map[string]string{gateLabel: gate, versionLabel: unverifiedVersion}
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "controller", UID: "6f1", Controller: ptr.To(true)}}
	return pod
}

// ordinal makes a pod one of a StatefulSet of 20 pods.
func ordinal(index string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Labels[versionLabel], pod.Labels["apps.kubernetes.io/pod-index"] = numberedVersion, index
	}
}

// gatesOf returns the gates that a pod would have.
func gatesOf(ctx context.Context, pod *corev1.Pod) func() string {
	return func() string {
		created, gates := pod.DeepCopy(), ""
		if err := kube.Create(ctx, created, client.DryRunAll); err != nil {
			return err.Error()
		}
		for _, gate := range created.Spec.SchedulingGates {
			gates += " start: " + gate.Name
		}
		for _, gate := range created.Spec.ReadinessGates {
			gates += " ready: " + string(gate.ConditionType)
		}
		if gates == "" {
			return ""
		}
		return gates[1:]
	}
}

// gatedSet returns a ReplicaSet with pods of an unverified version, with their gate.
func gatedSet(namespace, gate string) *appsv1.ReplicaSet {
	selector := map[string]string{"app": gate}
	of := sleepPod(namespace)
	of.Labels = map[string]string{gateLabel: gate, versionLabel: unverifiedVersion}
	maps.Copy(of.Labels, selector)
	if gate == "start" {
		of.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: podGate}}
	} else {
		of.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: podGate}}
	}
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: gate},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: selector},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: of.Labels}, Spec: of.Spec},
		},
	}
}

// readyIn returns how many pods of a namespace are ready.
func readyIn(ctx context.Context, namespace string) func() int {
	return func() int {
		var pods corev1.PodList
		Expect(kube.List(ctx, &pods, client.InNamespace(namespace))).To(Succeed())
		count := 0
		for _, pod := range pods.Items {
			if slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
				return condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
			}) {
				count++
			}
		}
		return count
	}
}

// waiting returns the pods of a gatedSet whose gate is closed.
func waiting(ctx context.Context, namespace, gate string) func() []corev1.Pod {
	return func() []corev1.Pod { return waitingIn(ctx, namespace, gate, client.MatchingLabels{"app": gate}) }
}

// waitingIn returns the pods of a namespace that wait at a gate.
func waitingIn(ctx context.Context, namespace, gate string, options ...client.ListOption) (closed []corev1.Pod) {
	var pods corev1.PodList
	Expect(kube.List(ctx, &pods, append(options, client.InNamespace(namespace), client.MatchingLabels{gateLabel: gate})...)).To(Succeed())
	for _, pod := range pods.Items {
		isOpen := len(pod.Spec.SchedulingGates) == 0
		if gate == "ready" {
			isOpen = len(pod.Spec.ReadinessGates) == 0
			for _, condition := range pod.Status.Conditions {
				isOpen = isOpen || condition.Type == podGate && condition.Status == corev1.ConditionTrue
			}
		}
		if !isOpen {
			closed = append(closed, pod)
		}
	}
	return closed
}
