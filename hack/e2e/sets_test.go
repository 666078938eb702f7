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
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
)

// twoTurns is longer than two pods need to be replaced.
const twoTurns = 15 * time.Second

// controlsSets takes sets of each kind through the course of a Deployment in the walkthrough, and parks one.
func controlsSets(ctx context.Context) {
	namespace := controlledNamespace(ctx, "sets")
	sets := []set{
		statefulSet(namespace, "web", appsv1.OrderedReadyPodManagement),
		statefulSet(namespace, "parallel", appsv1.ParallelPodManagement),
		daemonSet(namespace, "web"),
	}
	permitDeletions(ctx)
	create(ctx, sets)
	good := versionsOf(ctx, sets)

	By("holding failed releases and denying further ones")
	fail(ctx, sets)
	held := holds(ctx, sets)
	fmt.Print(kubectl(ctx, "get", "changeworkloads,pods", "-n", namespace, "-o", "wide"))
	for i, s := range sets {
		old := 0
		for _, version := range held[i] {
			if version == good[i] {
				old++
			}
		}
		Expect(old).To(BeNumerically(">", 0), s.String())
		figure("%d of %d pods of %s stay old", old, s.size(), s)
		Expect(s.patch(ctx, template("worse", ""))).To(MatchError(ContainSubstring(
			`Error from server (%[1]s is suspended): admission webhook "%[2]ss.apps.altershield.defense.antgroup.com" denied the request: %[1]s is suspended`,
			s, s.noun)))
	}
	Consistently(ctx, func(ctx context.Context) []map[string]string { return podsOf(ctx, sets) }).WithTimeout(twoTurns).Should(Equal(held))
	parks(ctx, sets[0], good[0])
	leavesControl(ctx, sets[2])

	By("admitting repairs, with which the rollouts continue")
	for _, s := range sets {
		Expect(s.patch(ctx, template("mended", `"altershield.defense.antgroup.com/ignored-suspend":"true"`))).To(Succeed())
		Expect(s.strategy(ctx)).To(Equal(s.rolling), s.String())
	}
	for _, s := range sets {
		succeeds(ctx, namespace, s.record(ctx))
		Eventually(ctx, func(ctx context.Context) map[string]string {
			s.version(ctx)
			return s.GetLabels()
		}).ShouldNot(HaveKey("altershield.defense.antgroup.com/suspend"), s.String())
	}
	takesBack(ctx, sets)
}

// parks has the failed release of StatefulSet web parked: its pods go back to a version, its template stays.
func parks(ctx context.Context, s set, version string) {
	GinkgoHelper()
	By("parking a failed release by the command of the page")
	template := func() string {
		return kubectl(ctx, "get", s.noun, s.GetName(), "-n", s.GetNamespace(), "-o", "jsonpath={.spec.template}")
	}
	failed := template()
	must(ctx, "bash", "-ec", inNamespace(documented("docs/statefulsets.md", "Park"), s.GetNamespace()))
	Eventually(ctx, func(ctx context.Context) map[string]string { return podsOf(ctx, []set{s})[0] }).Should(And(HaveLen(s.size()), HaveEach(version)))
	settles(ctx, s)
	Expect(template()).To(Equal(failed))
}

// leavesControl takes the kind of a held set out of change control and back: its failed release continues, and its suspension stays.
func leavesControl(ctx context.Context, s set) {
	GinkgoHelper()
	By("continuing a held rollout whose kind isn't enforced any more")
	kind := "controlledkind/" + s.noun + "s.apps"
	kubectl(ctx, "patch", kind, "--type=merge", "-p", `{"spec":{"mode":"Observe"}}`)
	Eventually(ctx, s.strategy).Should(Equal(s.rolling), s.String())
	kubectl(ctx, "rollout", "status", s.noun, s.GetName(), "-n", s.GetNamespace(), "--timeout=2m")

	kubectl(ctx, "patch", kind, "--type=merge", "-p", `{"spec":{"mode":"Enforce"}}`)
	kubectl(ctx, "wait", "--for=condition=Ready", kind, "--timeout=1m")
	Eventually(ctx, func(ctx context.Context) error {
		_, err := run(ctx, "kubectl", "patch", s.noun, s.GetName(), "-n", s.GetNamespace(), "--dry-run=server", "-p", template("worse", ""))
		return err
	}).Should(MatchError(ContainSubstring(s.String()+" is suspended")), "the API server takes a moment to call the webhooks again")
}

// takesBack releases an image that can't be pulled to each set. The broken pod of the ordered StatefulSet blocks its way back until the
// operator deletes it.
func takesBack(ctx context.Context, sets []set) {
	GinkgoHelper()
	By("rolling back releases whose image can't be pulled")
	unstick(ctx, true)
	DeferCleanup(unstick, false)
	const patch = `{"metadata":{"annotations":{"altershield.defense.antgroup.com/stuck-after":"20s"}},
  "spec":{"template":{"spec":{"containers":[{"name":"sleep","image":"busybox:none"}]}}}}`
	verified, before := versionsOf(ctx, sets), podsOf(ctx, sets)
	for _, s := range sets {
		Expect(s.patch(ctx, patch)).To(Succeed())
	}
	for i, s := range sets {
		Eventually(ctx, s.version).Should(Equal(verified[i]), s.String())
		succeeds(ctx, s.GetNamespace(), s.record(ctx))
		settles(ctx, s)
		after, stayed := podsOf(ctx, sets[i:i+1])[0], 0
		for pod := range after {
			if _, found := before[i][pod]; found {
				stayed++
			}
		}
		Expect(stayed).To(BeNumerically(">=", s.size()-1), "%s: only the pod that was replaced first should have left", s)
		Expect(s.patch(ctx, patch)).To(MatchError(ContainSubstring(s.String() + " refuses version")))
		events := kubectl(ctx, "events", "-n", s.GetNamespace(), "--for", s.noun+"/"+s.GetName())
		Expect(events).To(ContainSubstring("ReleaseRolledBack"), s.String())
		Expect(strings.Contains(events, "it was not ready in time and kept the rollout from going on")).To(Equal(i == 0), "%s: %s", s, events)
	}
}

// unstick sets whether pods that block an ordered StatefulSet are deleted.
func unstick(ctx context.Context, enable bool) {
	GinkgoHelper()
	kubectl(ctx, "patch", "opsconfiginfo", "unstick", "-n", system, "--type=merge", "-p", fmt.Sprintf(`{"spec":{"enable":%t}}`, enable))
}
