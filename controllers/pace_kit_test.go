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
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/testkit/witness"
)

// threeSteps are steps of 1 pod, a quarter of them after one approval, and all after two.
const threeSteps = `[{"replicas":1},{"percent":25,"approvals":1},{"percent":100,"approvals":2}]`

// pacedNamespace creates an opted-in namespace whose releases are rolled out in steps, as JSON, with further fields of the policy.
func pacedNamespace(ctx context.Context, steps, fields string) string {
	GinkgoHelper()
	namespace := controlledNamespace(ctx)
	pace(ctx, namespace, steps, fields)
	return namespace
}

// pace has the releases in a namespace rolled out in steps, as JSON, with further fields of the policy.
func pace(ctx context.Context, namespace, steps, fields string) {
	GinkgoHelper()
	manifest := fmt.Sprintf(`{"apiVersion": "app.ops.cloud.alipay.com/v1alpha1", "kind": "ReleasePolicy",
		"metadata": {"namespace": %q, "name": "careful"}, "spec": {"steps": %s%s}}`, namespace, steps, fields)
	output, err := kubectlWith(ctx, manifest, "apply", "-f", "-")
	Expect(err).NotTo(HaveOccurred(), output)
	Eventually(func() string {
		output, _ := kubectl(ctx, "-n", namespace, "get", "releasepolicy,releasegate", "-o",
			`jsonpath={range .items[*]}{.metadata.name} {.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}`)
		return output
	}).Should(Equal("careful True\naltershield \n"))
}

// present returns the ChangeWorkload of the present version; an empty one before there is one.
func (s webSet) present(ctx context.Context) *appv1alpha1.ChangeWorkload {
	var object appv1alpha1.ChangeWorkload
	if kube.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: s.record(ctx)}, &object) != nil {
		return &appv1alpha1.ChangeWorkload{}
	}
	return &object
}

// step returns the step that the present release is at, and why it waits.
func (s webSet) step(ctx context.Context) func() string {
	return func() string { return step(s.present(ctx)) }
}

// step returns the step that a release is at, and why it waits.
func step(record *appv1alpha1.ChangeWorkload) string {
	if record.Status.Pace == nil {
		return record.Name + " isn't paced"
	}
	paced := meta.FindStatusCondition(record.Status.Conditions, "Paced")
	return fmt.Sprintf("%s %s %s", record.Status.Pace.Progress, paced.Status, paced.Reason)
}

// strategy returns the fields of a Deployment that the operator writes to pace a release.
func strategy(deployment *appsv1.Deployment) string {
	rolling := deployment.Spec.Strategy.RollingUpdate
	limits := fmt.Sprintf("maxUnavailable %s, maxSurge %s", rolling.MaxUnavailable, rolling.MaxSurge)
	if deployment.Spec.Paused {
		return "paused, " + limits
	}
	return limits
}

// approve approves the present release as a user who may.
func (s webSet) approve(ctx context.Context, user string) (string, error) {
	GinkgoHelper()
	return s.decideAs(ctx, user, "Approve", s.release(ctx), s.version(ctx)())
}

func (s webSet) release(ctx context.Context) int64 {
	GinkgoHelper()
	release, err := strconv.ParseInt(s.annotations(ctx)()["altershield.defense.antgroup.com/release"], 10, 64)
	Expect(err).NotTo(HaveOccurred())
	return release
}

func (s webSet) decideAs(ctx context.Context, user, decision string, release int64, version string) (string, error) {
	manifest := fmt.Sprintf(`{"apiVersion": "app.ops.cloud.alipay.com/v1alpha1", "kind": "ChangeApproval",
		"metadata": {"namespace": %q, "generateName": "web-"},
		"spec": {"workload": {"kind": "%s.%s", "name": "web"}, "version": %q, "release": %d, "decision": %q, "reason": "CHG-4711"}}`,
		s.namespace, s.kind, s.group(), version, release, decision)
	return kubectlWith(ctx, manifest, "create", "--as", user, "--as-group", "system:masters", "-f", "-")
}

func (s webSet) mustApprove(ctx context.Context, user string) {
	GinkgoHelper()
	output, err := s.approve(ctx, user)
	Expect(err).NotTo(HaveOccurred(), output)
}

// goOn lets the present release go on.
func (s webSet) goOn(ctx context.Context, to string) (string, error) {
	GinkgoHelper()
	return kubectl(ctx, "-n", s.namespace, "annotate", "--overwrite", s.noun, "web",
		fmt.Sprintf("altershield.defense.antgroup.com/go-on=%d:%s", s.release(ctx), to))
}

// running returns how many pods of the namespace run each version.
func running(ctx context.Context, namespace string) func() map[string]int {
	return func() map[string]int {
		var list corev1.PodList
		if err := kube.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return nil
		}
		counts := map[string]int{}
		for i := range list.Items {
			if witness.Runs(&list.Items[i]) {
				counts[list.Items[i].Labels[versionLabel]]++
			}
		}
		return counts
	}
}

// watchPace watches pods and records of a namespace until the end of the spec, and further objects.
func watchPace(ctx context.Context, namespace string, others ...client.ObjectList) *witness.Witness {
	GinkgoHelper()
	seen, err := witness.Watch(ctx, kube, namespace, others...)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(seen.Stop)
	return seen
}

// writesToPods returns the writes of the operator to the pods of a namespace, by their names, such as "patch pods/status".
func writesToPods(namespace string) map[string][]string {
	GinkgoHelper()
	writes := map[string][]string{}
	for _, call := range requests() {
		object, answer := call.ObjectRef, call.ResponseStatus
		isWrite := slices.Contains([]string{"create", "update", "patch", "delete"}, call.Verb)
		if isWrite && object != nil && object.Resource == "pods" && object.Namespace == namespace && answer != nil && answer.Code < 300 {
			writes[object.Name] = append(writes[object.Name], strings.TrimSuffix(call.Verb+" pods/"+object.Subresource, "/"))
		}
	}
	return writes
}

// leastSpare returns how many pods a disruption budget had at least beyond those that it needs.
func leastSpare(seen *witness.Witness) int {
	least := math.MaxInt
	for _, each := range seen.Ordered() {
		if budget, ok := each.Object.(*policyv1.PodDisruptionBudget); ok {
			least = min(least, int(budget.Status.CurrentHealthy-budget.Status.DesiredHealthy))
		}
	}
	return least
}

// spare returns how many pods a disruption budget has now beyond those that it needs.
func spare(ctx context.Context, budget *policyv1.PodDisruptionBudget) int {
	if kube.Get(ctx, client.ObjectKeyFromObject(budget), budget) != nil {
		return math.MinInt
	}
	return int(budget.Status.CurrentHealthy - budget.Status.DesiredHealthy)
}

// onNode returns the name of a node with a pod of a version.
func onNode(ctx context.Context, namespace, version string) string {
	GinkgoHelper()
	for _, pod := range podsAt(ctx, namespace, version) {
		if witness.Runs(&pod) {
			return pod.Spec.NodeName
		}
	}
	Fail("no pod of " + version + " runs")
	return ""
}

// scale scales a Deployment or StatefulSet.
func (s webSet) scale(ctx context.Context, replicas int) {
	GinkgoHelper()
	output, err := kubectl(ctx, "-n", s.namespace, "scale", s.noun, "web", fmt.Sprintf("--replicas=%d", replicas))
	Expect(err).NotTo(HaveOccurred(), output)
}

// deployment returns a Deployment named web.
func deployment(namespace string, replicas int) webSet {
	return webSet{namespace, "Deployment", "deployment", fmt.Sprintf(`"replicas": %d,`, replicas)}
}

// field returns a field of the workload in JSON, empty where it is absent.
func (s webSet) field(ctx context.Context, path string) string { return s.show(ctx, path) }

// labelled returns a merge patch that gives its pods another label, and the set further labels.
func (s webSet) labelled(value, labels string) string {
	template := fmt.Sprintf(`{"metadata": {"labels": {"test": %q}}}`, value)
	spec := `"template": ` + template
	if s.kind == "LeaderWorkerSet" {
		spec = fmt.Sprintf(`"leaderWorkerTemplate": {"leaderTemplate": %[1]s, "workerTemplate": %[1]s}`, template)
	}
	return fmt.Sprintf(`{"metadata": {"labels": {%s}}, "spec": {%s}}`, labels, spec)
}

// released patches the set so that its pods get a new version, and returns the version.
func (s webSet) released(ctx context.Context, value string) string {
	GinkgoHelper()
	before := s.version(ctx)()
	s.mustChange(ctx, s.labelled(value, ""))
	version := s.version(ctx)()
	Expect(version).NotTo(Equal(before))
	return version
}
