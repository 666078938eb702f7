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
	"os"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("What is admitted", Ordered, ContinueOnFailure, func() {
	var namespace string

	BeforeAll(func(ctx context.Context) {
		namespace = admissionFixture(ctx)
	})

	// conform runs every case as a dry run, so that all have the same objects.
	conform := func(outcomeOf func(admissionCase) string) {
		for _, played := range admissionCases() {
			It(fmt.Sprintf("is as listed when %s %s", played.who[strings.LastIndex(played.who, ":")+1:], played.does), func(ctx context.Context) {
				before, after, err := played.request(ctx, as(played.who), namespace)
				outcome := outcomeOf(played)
				if outcome != admitted && outcome != kept {
					Expect(err).To(MatchError(MatchRegexp(`denied (the )?request: ` + outcome)))
					return
				}
				Expect(err).NotTo(HaveOccurred())
				if outcome == kept {
					released := before.Spec.Template.Labels["test"] != after.Spec.Template.Labels["test"]
					Expect(ownKeys(after, released)).To(Equal(ownKeys(before, released)))
				}
			})
		}
	}

	Context("by the webhooks", func() {
		conform(func(played admissionCase) string { return played.webhooks })
	})

	Context("by the webhooks and the policies", func() {
		BeforeAll(func(ctx context.Context) { installPolicies(ctx, namespace) })
		conform(func(played admissionCase) string { return played.both })
	})

	Context("by the policies, without an operator and its webhooks", func() {
		BeforeAll(func(ctx context.Context) {
			installPolicies(ctx, namespace)
			stopAndRemoveWebhooks(ctx, namespace)
		})
		conform(func(played admissionCase) string { return played.policies })
	})
})

// admissionFixture creates a namespace with Deployments: sleep is suspended at its second version, which was verified after the
// first; labelled is suspended and has the label for a repair; again is suspended once more after a repair; free is verified;
// refusing went back to its first version and refuses its second. dev may edit it, overrider may also override suspensions.
func admissionFixture(ctx context.Context) string {
	GinkgoHelper()
	for _, exempt := range []string{"kube-system", "altershieldoperator-system"} {
		optIn(ctx, exempt)
	}
	namespace := controlledNamespace(ctx)
	mayEdit(ctx, namespace, dev)
	mayEdit(ctx, namespace, overrider, "altershieldoperator-suspension-override")
	for _, deployment := range []string{"sleep", "labelled", "again", "free", "refusing"} {
		Expect(kube.Create(ctx, sleep(namespace, alone(deployment), replicas(1)))).To(Succeed())
		verified(ctx, namespace, deployment)
	}
	const toSecond = `{"spec":{"template":{"metadata":{"labels":{"test":"second"}}}}}`
	for _, deployment := range []string{"sleep", "refusing"} {
		set(ctx, namespace, deployment, toSecond)
		verified(ctx, namespace, deployment)
	}
	for _, deployment := range []string{"sleep", "labelled", "again"} {
		failAndSuspend(ctx, namespace, deployment)
	}
	const label = `{"metadata":{"labels":{"altershield.defense.antgroup.com/ignored-suspend":"true"}}}`
	set(ctx, namespace, "labelled", label)
	set(ctx, namespace, "again", label)
	set(ctx, namespace, "again", toSecond)
	verified(ctx, namespace, "again")
	Eventually(func() map[string]string { return get(ctx, namespace, "again").Labels }).ShouldNot(HaveKey(suspendLabel))
	failAndSuspend(ctx, namespace, "again")
	set(ctx, namespace, "refusing", `{"metadata":{"annotations":{"altershield.defense.antgroup.com/rollback":"true"}}}`)
	Eventually(func() map[string]string { return get(ctx, namespace, "refusing").Annotations }).Should(HaveKeyWithValue(releaseKey, "3"))
	verified(ctx, namespace, "refusing")
	return namespace
}

func failAndSuspend(ctx context.Context, namespace, deployment string) {
	GinkgoHelper()
	fail(ctx, namespace, currentName(ctx, namespace, deployment)+"--x--1")
	Eventually(func() map[string]string { return get(ctx, namespace, deployment).Labels }).Should(HaveKey(suspendLabel))
}

// set patches a Deployment as a cluster admin does.
func set(ctx context.Context, namespace, name, patch string) {
	GinkgoHelper()
	Expect(kube.Patch(ctx, get(ctx, namespace, name), client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
}

var _ = Describe("With the policies", Ordered, func() {
	var namespace string

	BeforeAll(func(ctx context.Context) {
		namespace = controlledNamespace(ctx)
		mayEdit(ctx, namespace, dev)
		mayEdit(ctx, namespace, overrider, "altershieldoperator-suspension-override")
		suspended(ctx, namespace)
		installPolicies(ctx, namespace)
	})

	It("the API server finds nothing wrong with them", func(ctx context.Context) {
		for _, name := range []string{"suspension", "deployment-keys", "pod-keys", "records"} {
			var policy admissionregistrationv1.ValidatingAdmissionPolicy
			Eventually(func(g Gomega) {
				g.Expect(kube.Get(ctx, client.ObjectKey{Name: "altershieldoperator-" + name}, &policy)).To(Succeed())
				g.Expect(policy.Status.TypeChecking).NotTo(BeNil())
			}).Should(Succeed())
			Expect(policy.Status.TypeChecking.ExpressionWarnings).To(BeEmpty())
		}
	})

	It("a denial explains the options, and is in the audit log", func(ctx context.Context) {
		output, err := kubectl(ctx, "-n", namespace, "--as=dev", "rollout", "restart", "deployment", "sleep")
		Expect(err).To(HaveOccurred())
		Expect(output).To(ContainSubstring(`deployments.apps "sleep" is forbidden: ValidatingAdmissionPolicy 'altershieldoperator-suspension' ` +
			`with binding 'altershieldoperator-suspension' denied request: deployment sleep is suspended (see: kubectl get changeworkloads -n ` +
			namespace + ` -o wide); to go back to a verified version, set the annotation altershield.defense.antgroup.com/rollback=true; a repair ` +
			`needs the label altershield.defense.antgroup.com/ignored-suspend=true in the same update, and a role with the verb ` +
			`override-suspension on the Deployment`))
		Eventually(func() (string, error) {
			written, err := os.ReadFile(plane.AuditLog())
			return string(written), err
		}).Should(MatchRegexp(`"username":"dev"[^\n]*"namespace":"` + namespace + `"[^\n]*validation.policy.admission.k8s.io/validation_failure[^\n]*altershieldoperator-suspension`))
	})

	It("users can't grant themselves the verb", func(ctx context.Context) {
		mayEdit(ctx, namespace, "owner", "admin")
		output, err := kubectl(ctx, "-n", namespace, "--as=owner", "create", "rolebinding", "override",
			"--clusterrole=altershieldoperator-suspension-override", "--user=owner")
		Expect(err).To(HaveOccurred())
		Expect(output).To(ContainSubstring("attempting to grant RBAC permissions not currently held"))
	})

	It("a repair by a user with the verb ends the suspension", func(ctx context.Context) {
		deployment := get(ctx, namespace, "sleep")
		deployment.Labels[ignoredSuspend] = "true"
		deployment.Spec.Template.Labels["test"] = "1234"
		Expect(as(overrider).Update(ctx, deployment)).To(Succeed())
		Expect(verified(ctx, namespace, "sleep").Spec.ReleasedBy).To(Equal(overrider))
		Eventually(labelsOf(ctx, namespace)).ShouldNot(HaveKey(suspendLabel))
		Eventually(releases(ctx, namespace)).Should(HaveLen(1))
	})

	It("an editor of a suspended Deployment can have it rolled back by the operator", func(ctx context.Context) {
		output, err := release(ctx, namespace, "third")
		Expect(err).NotTo(HaveOccurred(), output)
		verified(ctx, namespace, "sleep")
		fail(ctx, namespace, currentName(ctx, namespace, "sleep")+"--x--1")
		Eventually(labelsOf(ctx, namespace)).Should(HaveKey(suspendLabel))
		output, err = kubectl(ctx, "-n", namespace, "--as=dev", "annotate", "deployment", "sleep", rollbackKey+"=true")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(func() map[string]string { return get(ctx, namespace, "sleep").Annotations }).Should(HaveKeyWithValue(releaseKey, "4"))
		Expect(verified(ctx, namespace, "sleep").Name).To(Equal(second))
		Expect(workload(ctx, namespace, second).Spec.ReleasedBy).To(Equal("dev"))
		Eventually(labelsOf(ctx, namespace)).ShouldNot(HaveKey(suspendLabel))
	})

	It("a frozen release is parked, and starts by a BreakGlass, by the commands of docs/freezes.md", func(ctx context.Context) {
		frozen := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(frozen))).To(Succeed())
		verified(ctx, frozen, "sleep")
		commands := strings.Join(append(blocks("freezes.md", "Break-glass"), blocks("freezes.md", "Try it")...), "")
		output := bash(ctx, strings.ReplaceAll(commands, "-n default", "-n "+frozen))
		Expect(output).To(And(
			ContainSubstring("Warning: the release is parked: it starts when the freeze ends\n"),
			ContainSubstring("Warning: deployment sleep passes by BreakGlass inc-99, which is recorded for "),
		))
		Expect(verified(ctx, frozen, "sleep").Status.BreakGlass).NotTo(BeNil())
		for _, key := range []string{frozenKey, breakGlassKey} {
			Eventually(func() error { // which conflicts while the deployment controller writes the status
				deployment := get(ctx, frozen, "sleep")
				deployment.Annotations[key] = `{"release":2}`
				return kube.Status().Update(ctx, deployment, client.DryRunAll)
			}).Should(MatchError(ContainSubstring("only the operator writes " + key)))
		}
	})

	It("a parked release that gets traffic by steps passes by a BreakGlass, and waits for its first step", func(ctx context.Context) {
		paced := pacedNamespace(ctx, `[{"percent": 100}]`, `, "traffic": "Before"`)
		Expect(kube.Create(ctx, sleep(paced, replicas(1)))).To(Succeed())
		verified(ctx, paced, "sleep")
		freezeNow(ctx, paced, `"expires": "1h", "reason": "INC-7"`)
		output, err := setImage(ctx, paced, "alice", "busybox:1.36")
		Expect(err).NotTo(HaveOccurred(), output)
		applyAs(ctx, "carol", paced, "BreakGlass", "inc-7", `"reason": "INC-7", "workloads": [{"kind": "Deployment.apps"}], "overrides": ["Freeze"], "for": "1h"`)
		output, err = kubectl(ctx, "-n", paced, "--as=alice", "--as-group=system:masters", "rollout", "resume", "deployment", "sleep")
		Expect(err).NotTo(HaveOccurred(), output)
		Expect(output).To(ContainSubstring("Warning: deployment sleep is paced: it stays paused until its step begins"))
		Expect(verified(ctx, paced, "sleep").Status.BreakGlass).To(HaveField("User", "alice"))
	})

	It("Deployments roll, scale and go without an operator and its webhooks", slow, func(ctx context.Context) {
		live := controlledNamespace(ctx)
		mayEdit(ctx, live, dev)
		byFile := []string{"apply", "-f", filepath.Join("..", "config", "samples", "sleep.yaml")}
		byServer := append(slices.Clone(byFile), "--server-side", "--force-conflicts", "--field-manager=git")
		for _, apply := range [][]string{byServer, byFile} {
			output, err := kubectl(ctx, append([]string{"-n", live, "--as=dev"}, apply...)...)
			Expect(err).NotTo(HaveOccurred(), output)
		}
		verified(ctx, live, "sleep")
		before := get(ctx, live, "sleep")
		stopAndRemoveWebhooks(ctx, namespace)
		for _, command := range [][]string{
			byFile,
			byServer,
			{"patch", "deployment", "sleep", "--type=merge", "-p", `{"spec":{"template":{"metadata":{"labels":{"test":"rolled"}}}}}`},
			{"scale", "deployment", "sleep", "--replicas=7"},
			{"rollout", "status", "deployment", "sleep", "--timeout=3m"},
			{"delete", "pods", "-l", "app=sleep", "--wait=false"},
			{"rollout", "pause", "deployment", "sleep"},
			{"rollout", "resume", "deployment", "sleep"},
			byFile,
			{"rollout", "status", "deployment", "sleep", "--timeout=3m"},
		} {
			output, err := kubectl(ctx, append([]string{"-n", live, "--as=dev"}, command...)...)
			Expect(err).NotTo(HaveOccurred(), output)
		}
		after := get(ctx, live, "sleep")
		Expect(ownKeys(after, false)).To(Equal(ownKeys(before, false)))
		output, err := kubectl(ctx, "-n", live, "--as=dev", "delete", "deployment", "sleep", "--cascade=foreground", "--timeout=3m")
		Expect(err).NotTo(HaveOccurred(), output)
		output, err = kubectl(ctx, "delete", "namespace", live, "--timeout=3m")
		Expect(err).NotTo(HaveOccurred(), output)
	})
})
