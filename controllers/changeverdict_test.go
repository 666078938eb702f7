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
	"net/http"
	"net/http/httptest"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

var _ = Describe("A check whose answer takes longer", func() {
	BeforeEach(patient)
	BeforeEach(withoutBuiltIn)

	It("suspends the Deployment by the verdict that a verifier reports", slow, func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		commands := awaitingDrift(ctx, namespace)

		By("reporting the verdict on the first release by hand, as documented")
		Expect(kube.Create(ctx, sleep(namespace, replicas(2)))).To(Succeed())
		Eventually(verdictsOn(ctx, namespace)).Should(ConsistOf("1 drift Enforce  "))
		output := bash(ctx, strings.ReplaceAll(commands[1], "-n default", "-n "+namespace))
		Expect(output).To(MatchRegexp(`(?m)^NAME +WORKLOAD +RELEASE +CHECK +VERDICT +REPORTER +AGE$`))
		Expect(output).To(MatchRegexp(`(?m)^sleep--x--\S+--x--1-[0-9a-f]{10} +sleep +1 +drift +\S+$`))
		first := verified(ctx, namespace, "sleep")
		Expect(first.Status.Checks[0].Message).To(HaveSuffix(" reports Pass"))
		Expect(first.Status.Checks[0].Verdict).To(BeEquivalentTo("Pass"))

		By("failing the second one as the service account of the plug-in")
		_, err := release(ctx, namespace, "failing")
		Expect(err).NotTo(HaveOccurred())
		Eventually(verdictsOn(ctx, namespace)).Should(ContainElement("2 drift Enforce  "))
		const drift = "system:serviceaccount:platform:drift"
		failing := `{"status":{"verdict":"Fail","reason":"Drift","message":"psi 0.31","pods":[{"name":"slepe-1"}],"reporter":"admin","reportedAt":"2020-01-01T00:00:00Z"}}`
		Expect(reportAs(ctx, namespace, "nobody", failing)).To(MatchError(apierrors.IsForbidden, "IsForbidden"))
		Expect(reportAs(ctx, namespace, drift, failing)).To(Succeed())
		Eventually(labelsOf(ctx, namespace)).Should(HaveKey("altershield.defense.antgroup.com/suspend"))
		Expect(verdictsOn(ctx, namespace)()).To(ContainElement("2 drift Enforce Fail " + drift))
		Eventually(func() []string { return failedPods(ctx, namespace) }).Should(ContainElement(HaveSuffix(
			" " + drift + " reports Fail: Drift: psi 0.31 (VerificationPolicy " + namespace + "/drift drift)")))
		Expect(reportAs(ctx, namespace, drift, failing)).To(Succeed(), "the same can be repeated")
		Expect(reportAs(ctx, namespace, drift, `{"status":{"verdict":"Pass"}}`)).To(MatchError(ContainSubstring("the verdict was reported before: it can't be changed or taken back")))
		Expect(reportAs(ctx, namespace, drift, `{"status":null}`)).To(MatchError(ContainSubstring("the verdict was reported before: it can't be changed or taken back")))
		Expect(reportAs(ctx, namespace, drift, `{"spec":{"release":3}}`)).To(Succeed(), "as nothing but the status is written")
		Expect(verdictsOn(ctx, namespace)()).To(ContainElement("2 drift Enforce Fail " + drift))

		By("returning to the first version, whose earlier verdict doesn't count for it")
		output, err = kubectl(ctx, "-n", namespace, "patch", "vpol", "drift", "--type=merge", "-p", `{"spec":{"mode":"Observe"}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		known(ctx, "vpol", namespace, "drift")
		_, err = release(ctx, namespace, "123")
		Expect(err).NotTo(HaveOccurred())
		Eventually(verdictsOn(ctx, namespace)).Should(And(ContainElement("3 drift Observe  "), Not(ContainElement(HavePrefix("1 ")))))
		Eventually(func() string {
			check := workload(ctx, namespace, first.Name).Status.Checks[0]
			return fmt.Sprintf("%s %s %s", check.Mode, check.Verdict, check.Message)
		}).Should(MatchRegexp(`^Observe Fail no verdict was reported in ChangeVerdict sleep--x--\S+--x--3-[0-9a-f]{10}$`))
	})

	It("counts no ChangeVerdict that a user made", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		awaitingDrift(ctx, namespace)
		Expect(kube.Create(ctx, sleep(namespace, replicas(1)))).To(Succeed())
		Eventually(verdictsOn(ctx, namespace)).Should(ConsistOf("1 drift Enforce  "))
		var list appv1alpha1.ChangeVerdictList
		Expect(kube.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
		made := list.Items[0].DeepCopy()
		Expect(kube.Delete(ctx, &list.Items[0])).To(Succeed())
		made.ResourceVersion, made.UID, made.OwnerReferences = "", "", nil
		made.Status = &appv1alpha1.ChangeVerdictStatus{Verdict: "Pass", Reporter: "admin"}
		Expect(kube.Create(ctx, made)).To(Succeed())
		Expect(made.Status).To(BeNil(), "a verdict can't be created")
		Eventually(func() types.UID {
			var found appv1alpha1.ChangeVerdict
			if err := kube.Get(ctx, client.ObjectKeyFromObject(made), &found); err != nil || len(found.OwnerReferences) == 0 {
				return made.UID
			}
			return found.UID
		}).ShouldNot(Equal(made.UID), "the operator creates its own")
	})
})

// awaitingDrift has a plug-in that takes each question check the releases of a namespace, by the documented commands, which it returns.
func awaitingDrift(ctx context.Context, namespace string) []string {
	GinkgoHelper()
	taken := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, _ *http.Request) { writer.WriteHeader(http.StatusAccepted) }))
	DeferCleanup(taken.Close)
	DeferCleanup(func(ctx context.Context) { bash(ctx, "kubectl delete -n "+system+" --ignore-not-found vsrc/drift") })
	commands := blocks("plugins.md", "Answers that take longer")
	bash(ctx, strings.NewReplacer("-n default", "-n "+namespace, "http://drift.platform:8080", taken.URL).Replace(commands[0]))
	bash(ctx, "kubectl wait -n "+system+" vsrc/drift --for=condition=Ready --timeout=1m")
	output, err := kubectl(ctx, "-n", namespace, "patch", "vpol", "drift", "--type=merge", "-p", `{"spec":{"bakeSeconds":20,"intervalSeconds":10}}`)
	Expect(err).NotTo(HaveOccurred(), output)
	known(ctx, "vpol", namespace, "drift")
	return commands
}

// verdictsOn lists the ChangeVerdicts of a namespace: release, check, mode, verdict, reporter.
func verdictsOn(ctx context.Context, namespace string) func() []string {
	return func() (told []string) {
		var list appv1alpha1.ChangeVerdictList
		if err := kube.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return nil
		}
		for _, verdict := range list.Items {
			status := verdict.Status
			if status == nil {
				status = &appv1alpha1.ChangeVerdictStatus{}
			}
			told = append(told, fmt.Sprintf("%d %s %s %s %s", verdict.Spec.Release, verdict.Spec.Check, verdict.Spec.Mode, status.Verdict, status.Reporter))
		}
		return told
	}
}

// reportAs has a user patch the status of the ChangeVerdict of the second release.
func reportAs(ctx context.Context, namespace, user, patch string) error {
	GinkgoHelper()
	var list appv1alpha1.ChangeVerdictList
	Expect(kube.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
	for i := range list.Items {
		if list.Items[i].Spec.Release == 2 {
			return as(user).Status().Patch(ctx, &list.Items[i], client.RawPatch(types.MergePatchType, []byte(patch)))
		}
	}
	return fmt.Errorf("there is no ChangeVerdict of the second release in %s", namespace)
}
