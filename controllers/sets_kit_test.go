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
	"fmt"
	"runtime"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// webSet is a StatefulSet, DaemonSet, Deployment or LeaderWorkerSet named web.
type webSet struct {
	namespace, kind, noun string
	// spec is its spec in JSON without the selector and the template.
	spec string
}

func statefulSet(namespace, management string, replicas int) webSet {
	return webSet{namespace, "StatefulSet", "statefulset", fmt.Sprintf(`"podManagementPolicy": %q, "replicas": %d,`, management, replicas)}
}

func daemonSet(namespace string) webSet { return webSet{namespace, "DaemonSet", "daemonset", ""} }

// groupSet returns a LeaderWorkerSet of groups of a leader and a worker.
func groupSet(namespace string, replicas int) webSet {
	return webSet{namespace, "LeaderWorkerSet", "leaderworkerset", fmt.Sprintf(`"replicas": %d,`, replicas)}
}

// group returns the API group of its kind.
func (s webSet) group() string {
	if s.kind == "LeaderWorkerSet" {
		return "leaderworkerset.x-k8s.io"
	}
	return "apps"
}

// manifest returns the set as in Git, with an image, and further metadata of the set and of its pods in JSON.
func (s webSet) manifest(image, metadata, ofPods string) string {
	if s.kind == "LeaderWorkerSet" {
		template := fmt.Sprintf(`{"metadata": {"labels": {"app": "web"}%s}, "spec": {"terminationGracePeriodSeconds": 0,
			"containers": [{"name": "web", "image": %q}]}}`, ofPods, image)
		return fmt.Sprintf(`{"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": %q, "metadata": {"namespace": %q, "name": "web"%s}, "spec": {%s
			"leaderWorkerTemplate": {"size": 2, "leaderTemplate": %s, "workerTemplate": %s}}}`, s.kind, s.namespace, metadata, s.spec, template, template)
	}
	return fmt.Sprintf(`{"apiVersion": "apps/v1", "kind": %q, "metadata": {"namespace": %q, "name": "web"%s}, "spec": {%s
		"selector": {"matchLabels": {"app": "web"}},
		"template": {"metadata": {"labels": {"app": "web"}%s}, "spec": {"terminationGracePeriodSeconds": 0,
			"containers": [{"name": "web", "image": %q}]}}}}`, s.kind, s.namespace, metadata, s.spec, ofPods, image)
}

// create creates the set with the image web:1, and changes.
func (s webSet) create(ctx context.Context, changes ...func(*unstructured.Unstructured)) {
	GinkgoHelper()
	enforced(ctx, s.noun+"s."+s.group())
	object := &unstructured.Unstructured{}
	Expect(json.Unmarshal([]byte(s.manifest("web:1", "", "")), &object.Object)).To(Succeed())
	for _, change := range changes {
		change(object)
	}
	Expect(kube.Create(ctx, object)).To(Succeed())
}

// enforced waits until releases of a kind are under change control.
func enforced(ctx context.Context, kind string) {
	GinkgoHelper()
	Eventually(func() string {
		var controlled appv1alpha1.ControlledKind
		if err := kube.Get(ctx, client.ObjectKey{Name: kind}, &controlled); err != nil {
			return err.Error()
		}
		return string(controlled.Spec.Mode) + " " + reason(controlled.Status.Conditions, "Ready")
	}).Should(Equal("Enforce Ready"))
}

func (s webSet) get(ctx context.Context) *unstructured.Unstructured {
	GinkgoHelper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: s.group(), Version: "v1", Kind: s.kind})
	Expect(kube.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: "web"}, object)).To(Succeed())
	return object
}

func (s webSet) labels(ctx context.Context) func() map[string]string {
	return func() map[string]string { return s.get(ctx).GetLabels() }
}

func (s webSet) annotations(ctx context.Context) func() map[string]string {
	return func() map[string]string { return s.get(ctx).GetAnnotations() }
}

func (s webSet) version(ctx context.Context) func() string {
	return func() string { return s.get(ctx).GetLabels()[versionLabel] }
}

// record returns the name of the ChangeWorkload of the present version.
func (s webSet) record(ctx context.Context) string {
	GinkgoHelper()
	if s.kind == "Deployment" {
		return "web--x--" + s.version(ctx)()
	}
	return s.noun + "s.web--x--" + s.version(ctx)()
}

// template returns the pod template as the API server stores it.
func (s webSet) template(ctx context.Context) string { return s.show(ctx, "{.spec.template}") }

func (s webSet) show(ctx context.Context, path string) string {
	GinkgoHelper()
	output, err := kubectl(ctx, "-n", s.namespace, "get", s.noun, "web", "-o", "jsonpath="+path)
	Expect(err).NotTo(HaveOccurred(), output)
	return output
}

// held reports whether the operator holds the rollout of a release.
func (s webSet) held(ctx context.Context, release string) func() bool {
	stopped := "OnDelete"
	if s.kind == "StatefulSet" {
		stopped = "2147483647"
	}
	return func() bool {
		object := s.get(ctx)
		observed, _, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
		return s.strategy(ctx) == stopped && object.GetAnnotations()["altershield.defense.antgroup.com/held"] == release &&
			observed == object.GetGeneration()
	}
}

// strategy returns the field that holds a rollout.
func (s webSet) strategy(ctx context.Context) string {
	GinkgoHelper()
	switch s.kind {
	case "StatefulSet":
		return s.show(ctx, "{.spec.updateStrategy.rollingUpdate.partition}")
	case "LeaderWorkerSet":
		return s.show(ctx, "{.spec.rolloutStrategy.rollingUpdateConfiguration.partition}")
	}
	return s.show(ctx, "{.spec.updateStrategy.type}")
}

// change patches the set as a user would.
func (s webSet) change(ctx context.Context, patch string) (string, error) {
	return kubectl(ctx, "-n", s.namespace, "patch", s.noun, "web", "--type=merge", "-p", patch)
}

func (s webSet) mustChange(ctx context.Context, patch string) {
	GinkgoHelper()
	output, err := s.change(ctx, patch)
	Expect(err).NotTo(HaveOccurred(), output)
}

// verified waits until the present release is at Success with every pod passed, and returns its version.
func (s webSet) verified(ctx context.Context) string {
	GinkgoHelper()
	name, number := s.record(ctx), s.annotations(ctx)()["altershield.defense.antgroup.com/release"]
	Eventually(func() string {
		var object appv1alpha1.ChangeWorkload
		if err := kube.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, &object); err != nil {
			return err.Error()
		}
		return fmt.Sprintf("release %d: %s %s", object.Status.ObservedRelease, object.Status.Status, reason(object.Status.Conditions, "Verified"))
	}).Should(Equal("release " + number + ": Success AllPodsPassed"))
	return s.version(ctx)()
}

// failThird fails the third pod of the second release, and waits until this is held.
func (s webSet) failThird(ctx context.Context) {
	GinkgoHelper()
	third := s.record(ctx) + "--x--3"
	Eventually(func() []string { return names(ctx, s.namespace) }).Should(ContainElement(third))
	fail(ctx, s.namespace, third)
	Eventually(s.labels(ctx)).Should(HaveKey("altershield.defense.antgroup.com/suspend"))
	Eventually(s.held(ctx, "2")).Should(BeTrue())
	Eventually(func() bool {
		seen := s.get(ctx)
		observed, _, err := unstructured.NestedInt64(seen.Object, "status", "observedGeneration")
		Expect(err).NotTo(HaveOccurred())
		return observed >= seen.GetGeneration()
	}).Should(BeTrue(), "the controller of the set has seen the hold")
}

// permitDeletions lets the operator delete pods during a spec.
func permitDeletions(ctx context.Context) {
	GinkgoHelper()
	const role = "../config/components/pod-deletion/role.yaml"
	output, err := kubectl(ctx, "apply", "-f", role)
	Expect(err).NotTo(HaveOccurred(), output)
	DeferCleanup(func(ctx context.Context) {
		output, err := kubectl(ctx, "delete", "-f", role)
		Expect(err).NotTo(HaveOccurred(), output)
	})
}

// addNodes adds nodes for the pods of a DaemonSet during a spec. Others don't tolerate them.
func addNodes(ctx context.Context, count int) {
	GinkgoHelper()
	capacity := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100"), corev1.ResourcePods: resource.MustParse("100")}
	for i := range count {
		name := fmt.Sprintf("daemon-%d", i+1)
		node := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
				"daemons": "true", corev1.LabelHostname: name, corev1.LabelArchStable: runtime.GOARCH,
			}},
			Spec:   corev1.NodeSpec{Taints: []corev1.Taint{{Key: "daemons", Effect: corev1.TaintEffectNoSchedule}}},
			Status: corev1.NodeStatus{Capacity: capacity, Allocatable: capacity},
		}
		Expect(kube.Create(ctx, node)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(kube.Delete(ctx, node))).To(Succeed()) })
	}
	Eventually(func() int {
		var nodes corev1.NodeList
		if err := kube.List(ctx, &nodes, client.HasLabels{"daemons"}); err != nil {
			return -1
		}
		ready := slices.DeleteFunc(nodes.Items, func(node corev1.Node) bool {
			return len(node.Spec.Taints) > 1 || !slices.ContainsFunc(node.Status.Conditions, func(condition corev1.NodeCondition) bool {
				return condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue
			})
		})
		return len(ready)
	}).Should(Equal(count))
}

// onAddedNodes lets pods run on the added nodes alone.
func onAddedNodes(object *unstructured.Unstructured) {
	GinkgoHelper()
	pods, found, err := unstructured.NestedMap(object.Object, "spec", "template", "spec")
	Expect(err).NotTo(HaveOccurred())
	Expect(found).To(BeTrue())
	pods["nodeSelector"] = map[string]any{"daemons": "true"}
	pods["tolerations"] = []any{map[string]any{"key": "daemons", "operator": "Exists"}}
	Expect(unstructured.SetNestedMap(object.Object, pods, "spec", "template", "spec")).To(Succeed())
}
