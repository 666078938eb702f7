//go:build e2e

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

package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

const versionLabel = "admission-webhook-altershield.antgroup.com/version"

// set is a Deployment, StatefulSet, DaemonSet or LeaderWorkerSet. Several pass through a release side by side, which takes no longer than one of
// them.
type set struct {
	client.Object
	// noun is the kind in lower case, part of the label app of the pods: sets of different kinds may have the same name.
	noun string
	// rolling and held are its update strategy in mid-rollout, and while the operator holds it.
	rolling, held string
}

// create creates sets and waits until they are verified.
func create(ctx context.Context, sets []set) {
	GinkgoHelper()
	kubectl(ctx, "wait", "--for=condition=Ready", "controlledkind/statefulsets.apps", "controlledkind/daemonsets.apps", "--timeout=1m")
	for _, s := range sets {
		Expect(kube.Create(ctx, s.Object)).To(Succeed())
	}
	for _, s := range sets {
		succeeds(ctx, s.GetNamespace(), s.record(ctx))
	}
}

// statefulSet returns a StatefulSet of three real containers that are replaced one by one, five seconds apart.
func statefulSet(namespace, name string, policy appsv1.PodManagementPolicyType) set {
	like := slowly(namespace, "statefulset-"+name)
	return set{&appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: appsv1.StatefulSetSpec{
			Replicas: like.Spec.Replicas, MinReadySeconds: like.Spec.MinReadySeconds, PodManagementPolicy: policy,
			Selector: like.Spec.Selector, Template: like.Spec.Template,
		},
	}, "statefulset", `{"rollingUpdate":{"partition":0},"type":"RollingUpdate"}`, `{"rollingUpdate":{"partition":2147483647},"type":"RollingUpdate"}`}
}

// daemonSet returns a DaemonSet with a pod on each of the two nodes. It starts a new pod before it deletes the old one, so that a rollout
// that is held after the first pod leaves an old one.
func daemonSet(namespace, name string) set {
	like := slowly(namespace, "daemonset-"+name)
	return set{&appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: appsv1.DaemonSetSpec{
			MinReadySeconds: like.Spec.MinReadySeconds,
			Selector:        like.Spec.Selector, Template: like.Spec.Template,
			UpdateStrategy: appsv1.DaemonSetUpdateStrategy{RollingUpdate: &appsv1.RollingUpdateDaemonSet{
				MaxSurge: ptr.To(intstr.FromInt32(1)), MaxUnavailable: ptr.To(intstr.FromInt32(0)),
			}},
		},
	}, "daemonset", `{"rollingUpdate":{"maxSurge":1,"maxUnavailable":0},"type":"RollingUpdate"}`,
		`{"rollingUpdate":{"maxSurge":1,"maxUnavailable":0},"type":"OnDelete"}`}
}

// String names the set as the operator does.
func (s set) String() string { return s.noun + " " + s.GetName() }

// version returns the version of the present release.
func (s set) version(ctx context.Context) string {
	GinkgoHelper()
	Expect(kube.Get(ctx, client.ObjectKeyFromObject(s), s.Object)).To(Succeed())
	return s.GetLabels()[versionLabel]
}

// record returns the name of the ChangeWorkload of the present release.
func (s set) record(ctx context.Context) string {
	GinkgoHelper()
	name := s.GetName()
	if s.noun != "deployment" {
		name = s.noun + "s." + name
	}
	return name + "--x--" + s.version(ctx)
}

// patch applies a strategic merge patch, or a merge patch to a kind that has no other.
func (s set) patch(ctx context.Context, patch string) error {
	args := []string{"patch", s.noun, s.GetName(), "-n", s.GetNamespace(), "-p", patch}
	if s.noun == groups {
		args = append(args, "--type=merge")
	}
	_, err := run(ctx, "kubectl", args...)
	return err
}

// strategy returns the update strategy as JSON, followed by true if the rollout is paused.
func (s set) strategy(ctx context.Context) string {
	GinkgoHelper()
	return kubectl(ctx, "get", s.noun, s.GetName(), "-n", s.GetNamespace(), "-o", "jsonpath={.spec.strategy}{.spec.updateStrategy}{.spec.paused}")
}

// isObserved reports whether the controller of the set has seen its present spec.
func (s set) isObserved(ctx context.Context) bool {
	GinkgoHelper()
	Expect(kube.Get(ctx, client.ObjectKeyFromObject(s), s.Object)).To(Succeed())
	observed, _ := s.number("status", "observedGeneration")
	return observed == s.GetGeneration()
}

// number returns a number of the set, and whether it has it.
func (s set) number(path ...string) (value int64, has bool) {
	GinkgoHelper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s.Object)
	Expect(err).NotTo(HaveOccurred())
	value, has, err = unstructured.NestedInt64(content, path...)
	Expect(err).NotTo(HaveOccurred())
	return value, has
}

// inNamespace returns commands of a page for the namespace default, or shop, in another one.
func inNamespace(commands, namespace string) string {
	return strings.NewReplacer("-n default ", "-n "+namespace+" ", "-n shop ", "-n "+namespace+" ").Replace(commands)
}

// permitDeletions permits the operator to delete pods. It stays, as each of its permissions must be used.
func permitDeletions(ctx context.Context) {
	GinkgoHelper()
	kubectl(ctx, "apply", "-f", "config/components/pod-deletion/role.yaml")
}

// pods returns the versions of the pods by name and UID; settled reports whether all of them are ready and none is being replaced.
func (s set) pods(ctx context.Context) (versions map[string]string, settled bool) {
	GinkgoHelper()
	var list corev1.PodList
	Expect(kube.List(ctx, &list, client.InNamespace(s.GetNamespace()), client.MatchingLabels{"app": s.noun + "-" + s.GetName()})).To(Succeed())
	versions, settled = map[string]string{}, len(list.Items) == s.size() && s.isObserved(ctx)
	for _, pod := range list.Items {
		versions[pod.Name+" "+string(pod.UID)] = pod.Labels[versionLabel]
		settled = settled && pod.DeletionTimestamp == nil && readiness(&pod) == corev1.ConditionTrue
	}
	return versions, settled
}

// size returns the number of pods: a DaemonSet has one on each of the two nodes.
func (s set) size() int {
	if replicas, has := s.number("spec", "replicas"); has {
		return int(replicas)
	}
	return 2
}

// template returns a patch of the pod template's annotation note, and of a label of the set.
func template(note, label string) string {
	return fmt.Sprintf(`{"metadata":{"labels":{%s}},"spec":{"template":{"metadata":{"annotations":{"note":%q}}}}}`, label, note)
}

// fail releases each set and sets the verdict about its first pod to unpass, while the others are still old.
func fail(ctx context.Context, sets []set) {
	GinkgoHelper()
	for _, s := range sets {
		Expect(s.patch(ctx, template("bad", ""))).To(Succeed())
	}
	left := slices.Clone(sets)
	Eventually(ctx, func(ctx context.Context) []set {
		left = slices.DeleteFunc(left, func(s set) bool { return unpass(ctx, s.GetNamespace(), s.record(ctx)+"--x--1") })
		return left
	}).Should(BeEmpty())
}

// unpass fails the pods of a batch by hand, and reports whether it is there and was checked.
func unpass(ctx context.Context, namespace, name string) bool {
	GinkgoHelper()
	var batch appv1alpha1.ChangePod
	err := kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &batch)
	Expect(client.IgnoreNotFound(err)).NotTo(HaveOccurred())
	if batch.Status.Status != appv1alpha1.ChangePodExecuteDone {
		return false
	}
	verdict := fmt.Sprintf(`{"status":{"message":"PostFinish","podResults":[{"pod":%q,"verdict":"unpass","message":"find error"}]}}`, batch.Spec.PodInfos[0].Pod)
	Expect(kube.Status().Patch(ctx, &batch, client.RawPatch("application/merge-patch+json", []byte(verdict)))).To(Succeed())
	return true
}

// holds waits until the failed release of each set is held and its pods have settled, and returns these.
func holds(ctx context.Context, sets []set) []map[string]string {
	GinkgoHelper()
	for _, s := range sets {
		Eventually(ctx, outcome(s.GetNamespace(), s.record(ctx))).Should(Equal("Suspend, PodsFailed"), s.String())
		Eventually(ctx, s.strategy).Should(Equal(s.held), s.String())
		settles(ctx, s)
	}
	return podsOf(ctx, sets)
}

// settles waits until all pods of a set are ready and none is being replaced.
func settles(ctx context.Context, s set) {
	GinkgoHelper()
	Eventually(ctx, func(ctx context.Context) (settled bool) {
		_, settled = s.pods(ctx)
		return settled
	}).Should(BeTrue(), s.String())
}

// podsOf returns the versions of the pods of each set by name and UID.
func podsOf(ctx context.Context, sets []set) []map[string]string {
	GinkgoHelper()
	found := make([]map[string]string, len(sets))
	for i, s := range sets {
		found[i], _ = s.pods(ctx)
	}
	return found
}

// versionsOf returns the versions of the present releases.
func versionsOf(ctx context.Context, sets []set) []string {
	GinkgoHelper()
	found := make([]string, len(sets))
	for i, s := range sets {
		found[i] = s.version(ctx)
	}
	return found
}
