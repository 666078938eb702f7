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
	"maps"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/testkit/witness"
)

// Gates are added by the webhook until the API server does it.
const byWebhook, byPolicy = "Webhook", "MutatingAdmissionPolicy"

// releasesInSteps rolls out a release of each kind in steps, of which the second one has to be approved, and releases whose pods get no
// traffic before they passed.
func releasesInSteps(ctx context.Context) {
	servesCheckedPods(ctx)

	By("having the API server add the gates")
	kubectl(ctx, "apply", "-k", "config/gates")
	permitDeletions(ctx)
	namespace := controlledNamespace(ctx, "paced")
	half := appv1alpha1.ReleaseStep{Percent: 50, Approvals: 1}
	withoutAPolicy(ctx, inSteps(ctx, namespace, half))
	inSteps(ctx, namespace, half)
	sets := setsOfEachKind(namespace)
	create(ctx, sets)
	old := versionsOf(ctx, sets)
	seen := watchReleases(ctx, namespace)

	By("running one pod of each, until another user than the author approves")
	stepOne(ctx, sets)
	must(ctx, "bash", "-ec", inNamespace(documented("docs/pace.md", "Approvals"), namespace))
	for i, s := range sets {
		_, err := s.approve(ctx)
		Expect(err).To(MatchError(ContainSubstring("admin made release 2 of " + s.String() + ", so that another user has to approve it")))
		approver := []string{"--as", "bob", "--as-group", "release-managers"}
		_, err = s.approve(ctx, approver...)
		Expect(err).NotTo(HaveOccurred(), "%s, at version %s before", s, old[i])
	}
	for _, s := range sets {
		succeeds(ctx, namespace, s.record(ctx))
		Eventually(ctx, s.step).Should(Equal("3/3 AllSteps"), s.String())
		Eventually(ctx, s.strategy).Should(Equal(s.rolling), s.String())
		settles(ctx, s)
	}
	fmt.Print(kubectl(ctx, "get", "releasepolicies,changeapprovals,changeworkloads", "-n", namespace, "-o", "wide"))
	excess, most := seen.Excess(old...)
	Expect(excess).To(BeEmpty())
	figure("%d versions ran %d pods at most, each within its step", len(most), slices.Max(slices.Collect(maps.Values(most))))
}

// withoutAPolicy deletes the policy of a namespace without pods, which then needs no ReleaseGate.
func withoutAPolicy(ctx context.Context, policy *appv1alpha1.ReleasePolicy) {
	GinkgoHelper()
	Expect(kube.Delete(ctx, policy)).To(Succeed())
	Eventually(ctx, func(ctx context.Context) bool {
		return apierrors.IsNotFound(kube.Get(ctx, client.ObjectKey{Namespace: policy.Namespace, Name: "altershield"}, &appv1alpha1.ReleaseGate{}))
	}).Should(BeTrue())
}

// servesCheckedPods releases a Deployment behind a Service: its pods get no traffic before they passed.
func servesCheckedPods(ctx context.Context) {
	GinkgoHelper()
	By("giving no pod traffic before it passed")
	namespace := controlledNamespace(ctx, "checked")
	inEffect(ctx, byWebhook, &appv1alpha1.ReleasePolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "before"},
		Spec:       appv1alpha1.ReleasePolicySpec{Traffic: "Before", Steps: []appv1alpha1.ReleaseStep{{Percent: 100}}},
	})
	web := deploymentSet(namespace, "web")
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}}
	service.Spec.Selector, service.Spec.Ports = map[string]string{"app": "deployment-web"}, []corev1.ServicePort{{Port: 80}}
	Expect(kube.Create(ctx, service)).To(Succeed())
	create(ctx, []set{web})
	old := versionsOf(ctx, []set{web})
	seen := watchReleases(ctx, namespace)
	Expect(web.patch(ctx, template("second", ""))).To(Succeed())
	succeeds(ctx, namespace, web.record(ctx))
	settles(ctx, web)
	unverified, served := seen.Unverified(old...)
	Expect(unverified).To(BeEmpty())
	Expect(served).To(Equal(web.size()), "each pod of the release should have got traffic")
	figure("%d pods got traffic, each after it passed", served)
}

// watchReleases watches a namespace until the end of the spec.
func watchReleases(ctx context.Context, namespace string) *witness.Witness {
	GinkgoHelper()
	seen, err := witness.Watch(ctx, kube, namespace, &appv1alpha1.ChangePodList{}, &discoveryv1.EndpointSliceList{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(seen.Stop)
	return seen
}

// inSteps creates a policy with steps of one pod, the one given, and all pods.
func inSteps(ctx context.Context, namespace string, second appv1alpha1.ReleaseStep) *appv1alpha1.ReleasePolicy {
	GinkgoHelper()
	return inEffect(ctx, byPolicy, &appv1alpha1.ReleasePolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "careful"},
		Spec:       appv1alpha1.ReleasePolicySpec{Steps: []appv1alpha1.ReleaseStep{{Replicas: 1}, second, {Percent: 100}}},
	})
}

// inEffect creates a policy, and waits until pods in its namespace get gates.
func inEffect(ctx context.Context, by string, policy *appv1alpha1.ReleasePolicy) *appv1alpha1.ReleasePolicy {
	GinkgoHelper()
	Expect(kube.Create(ctx, policy)).To(Succeed())
	Eventually(ctx, func(ctx context.Context) (string, error) {
		if err := kube.Get(ctx, client.ObjectKeyFromObject(policy), policy); err != nil {
			return "", err
		}
		if gated := meta.FindStatusCondition(policy.Status.Conditions, "Gated"); gated != nil {
			return gated.Reason, kube.Get(ctx, client.ObjectKey{Namespace: policy.Namespace, Name: "altershield"}, &appv1alpha1.ReleaseGate{})
		}
		return "", nil
	}).Should(Equal(by))
	return policy
}

// setsOfEachKind returns a workload of each kind whose releases can be rolled out in steps.
func setsOfEachKind(namespace string) []set {
	return []set{deploymentSet(namespace, "web"), statefulSet(namespace, "web", appsv1.ParallelPodManagement), daemonSet(namespace, "web")}
}

// deploymentSet returns a Deployment of four real containers, each of which is probed, and of which one may be missing.
func deploymentSet(namespace, name string) set {
	object := slowly(namespace, "deployment-"+name)
	object.Name, object.Labels = name, nil
	object.Spec.Replicas = ptr.To[int32](4)
	object.Spec.Strategy.RollingUpdate.MaxUnavailable = ptr.To(intstr.FromInt32(1))
	object.Spec.Template.Spec.Containers[0].ReadinessProbe = &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"/bin/sleep", "0"}}}, PeriodSeconds: 1, TimeoutSeconds: 10,
	}
	return set{object, "deployment", `{"rollingUpdate":{"maxSurge":1,"maxUnavailable":1},"type":"RollingUpdate"}`, ""}
}

// stepOne releases each set, and waits until one of its pods runs the release and passed.
func stepOne(ctx context.Context, sets []set) {
	GinkgoHelper()
	for _, s := range sets {
		Expect(s.patch(ctx, template("next", ""))).To(Succeed())
	}
	for _, s := range sets {
		Eventually(ctx, s.step).Should(Equal("1/3 AwaitingApproval"), s.String())
	}
	fmt.Print(kubectl(ctx, "get", "changeworkloads,pods", "-n", sets[0].GetNamespace(), "-o", "wide"))
}

// step returns the step of the present release, and the reason of its condition Paced.
func (s set) step(ctx context.Context) (string, error) {
	GinkgoHelper()
	var record appv1alpha1.ChangeWorkload
	if err := kube.Get(ctx, client.ObjectKey{Namespace: s.GetNamespace(), Name: s.record(ctx)}, &record); err != nil {
		return "", err
	}
	paced := meta.FindStatusCondition(record.Status.Conditions, "Paced")
	if record.Status.Pace == nil || paced == nil {
		return "", nil
	}
	return record.Status.Pace.Progress + " " + paced.Reason, nil
}

// approve approves the present release as the user of these flags.
func (s set) approve(ctx context.Context, flags ...string) (string, error) {
	GinkgoHelper()
	version := s.version(ctx)
	manifest := fmt.Sprintf(`{apiVersion: app.ops.cloud.alipay.com/v1alpha1, kind: ChangeApproval, metadata: {generateName: web-}, spec: {
		workload: {kind: %s.apps, name: %s}, version: %s, release: %s, reason: CHG-4711}}`,
		kindOf[s.noun], s.GetName(), version, s.GetAnnotations()["altershield.defense.antgroup.com/release"])
	args := append([]string{"-ec", `manifest=$1; shift; kubectl create -f - "$@" <<<"$manifest"`, "approve", manifest, "-n", s.GetNamespace()}, flags...)
	return run(ctx, "bash", args...)
}

var kindOf = map[string]string{"deployment": "Deployment", "statefulset": "StatefulSet", "daemonset": "DaemonSet"}

// runsAtOnce waits until nothing of a pace is left: all pods of a set are ready and of its version, and its strategy is as declared.
func runsAtOnce(ctx context.Context, s set) {
	GinkgoHelper()
	settles(ctx, s)
	pods, _ := s.pods(ctx)
	Expect(pods).To(HaveEach(s.version(ctx)), s.String())
	Expect(s.strategy(ctx)).To(Equal(s.rolling), s.String())
	Expect(s.GetAnnotations()).NotTo(HaveKey("altershield.defense.antgroup.com/paced"), s.String())
}

// releasesInStepsAgainAndAgain rolls out a hundred releases of a kind, of so many workloads with 8 real pods, or groups of two pods, and counts
// the pods of each version in what was watched. A DaemonSet has a pod on each of the two nodes. The specs in controllers do the same with 20 pods,
// which aren't real.
func releasesInStepsAgainAndAgain(ctx context.Context, noun string, workloads int) {
	releases := 100 / workloads
	kubectl(ctx, "apply", "-k", "config/gates")
	permitDeletions(ctx)
	if noun == groups {
		controlsGroups(ctx)
	}
	began, sets, old, seen := time.Now(), make([]set, workloads), make([]string, workloads), make([]*witness.Witness, workloads)
	for i := range sets {
		namespace := controlledNamespace(ctx, fmt.Sprintf("many-%ss-%d", noun, i))
		inSteps(ctx, namespace, appv1alpha1.ReleaseStep{Percent: 25})
		of := append(setsOfEachKind(namespace), groupSet(namespace, "web"))
		sets[i] = quick(of[slices.IndexFunc(of, func(s set) bool { return s.noun == noun })])
	}
	create(ctx, sets)
	for i, s := range sets {
		old[i], seen[i] = s.version(ctx), watchReleases(ctx, s.GetNamespace())
	}
	var rolled sync.WaitGroup
	for _, s := range sets {
		rolled.Go(func() {
			defer GinkgoRecover()
			for release := range releases {
				rollsOut(ctx, s, fmt.Sprint("next-", release))
			}
		})
	}
	rolled.Wait()
	for i, s := range sets {
		excess, most := seen[i].Excess(old[i])
		Expect(excess).To(BeEmpty(), s.GetNamespace())
		delete(most, old[i])
		// While a step of the next release waits, its Deployment may run maxSurge more pods of the version before.
		Expect(slices.Collect(maps.Values(most))).To(And(HaveLen(releases), HaveEach(BeNumerically(">=", s.size()))), "every release ran all its pods in the end")
		Expect(kube.Delete(ctx, s.Object)).To(Succeed())
	}
	figure("%d releases of %ss in steps, %s, none with more pods than its step", workloads*releases, noun, time.Since(began).Round(time.Second))
}

// rollsOut releases a set, and waits until all steps are done.
func rollsOut(ctx context.Context, s set, note string) {
	GinkgoHelper()
	change := template(note, "")
	if s.noun == groups {
		change = groupTemplate(note)
	}
	Expect(s.patch(ctx, change)).To(Succeed())
	Eventually(ctx, s.step).WithTimeout(15*time.Minute).Should(Equal("3/3 AllSteps"), "%s/%s", s.GetNamespace(), s)
	settles(ctx, s)
}

// quick gives a set 8 pods, unless it has one on each node, that are available as soon as they run: probes of 80 pods would keep the machine
// busy.
func quick(s set) set {
	switch object := s.Object.(type) {
	case *appsv1.Deployment:
		object.Spec.Replicas, object.Spec.MinReadySeconds = ptr.To[int32](8), 0
		object.Spec.Template.Spec.Containers[0].ReadinessProbe = nil
	case *appsv1.StatefulSet:
		object.Spec.Replicas, object.Spec.MinReadySeconds = ptr.To[int32](8), 0
	case *appsv1.DaemonSet:
		object.Spec.MinReadySeconds = 0
	}
	return s
}
