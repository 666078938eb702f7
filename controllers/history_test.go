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

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("History", func() {
	It("keeps the configured number of verified templates, the newest", func(ctx context.Context) {
		configure(ctx, "template-history", `{"spec":{"content":"2"}}`)
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace, replicas(1)))).To(Succeed())
		verified(ctx, namespace, "sleep")
		for _, value := range []string{"a", "b", "c"} {
			output, err := release(ctx, namespace, value)
			Expect(err).NotTo(HaveOccurred(), output)
			verified(ctx, namespace, "sleep")
		}
		Eventually(func() []string { return revisions(ctx, namespace) }).Should(ConsistOf(HaveSuffix(" 3"), HaveSuffix(" 4")))
		output, err := kubectl(ctx, "-n", namespace, "get", "controllerrevisions", "-o", "jsonpath={.items[*].data}")
		Expect(err).NotTo(HaveOccurred(), output)
		Expect(output).To(ContainSubstring(`"image":"busybox"`))
		Expect(output).NotTo(ContainSubstring("admission-webhook-altershield"), "the labels of the operator are not part of a template")
	})

	It("keeps nothing where it is switched off, and a rollback then goes to a ReplicaSet", func(ctx context.Context) {
		configure(ctx, "template-history", `{"spec":{"enable":false}}`)
		namespace := controlledNamespace(ctx)
		twoVerified(ctx, namespace)
		Expect(revisions(ctx, namespace)).To(BeEmpty())
		output, err := kubectl(ctx, "-n", namespace, "annotate", "deployment", "sleep", "altershield.defense.antgroup.com/rollback=true")
		Expect(err).NotTo(HaveOccurred(), output)
		backAtFirst(ctx, namespace)
	})

	It("goes with its Deployment", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace, replicas(1)))).To(Succeed())
		verified(ctx, namespace, "sleep")
		Expect(revisions(ctx, namespace)).To(HaveLen(1))
		output, err := kubectl(ctx, "-n", namespace, "delete", "deployment", "sleep")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(func() []string { return revisions(ctx, namespace) }).Should(BeEmpty())
	})

	It("keeps the ChangeWorkloads of past releases if configured, with their outcome", func(ctx context.Context) {
		configure(ctx, "release-history", `{"spec":{"enable":true,"content":"2"}}`)
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace, replicas(2)))).To(Succeed())
		verified(ctx, namespace, "sleep")
		var versions []string
		for _, value := range []string{"a", "b", "c"} {
			output, err := release(ctx, namespace, value)
			Expect(err).NotTo(HaveOccurred(), output)
			versions = append(versions, verified(ctx, namespace, "sleep").Spec.Reversion)
		}
		past := func(phases ...string) map[string]string {
			result := map[string]string{}
			for i, phase := range phases {
				result["sleep--x--"+versions[len(versions)-len(phases)+i]] = phase
			}
			return result
		}
		Eventually(releases(ctx, namespace)).Should(Equal(past("Success", "Success", "Success")))
		output, err := kubectl(ctx, "-n", namespace, "annotate", "deployment", "sleep", "altershield.defense.antgroup.com/rollback=true")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(released(ctx, namespace)).Should(Equal(versions[1]))
		Eventually(func() string {
			return reason(workload(ctx, namespace, "sleep--x--"+versions[2]).Status.Conditions, "RolledBack")
		}).Should(Equal("Requested"))
		for _, condition := range workload(ctx, namespace, "sleep--x--"+versions[2]).Status.Conditions {
			if condition.Type == "RolledBack" {
				Expect(condition.Status).To(BeEquivalentTo("True"))
				Expect(condition.Message).To(ContainSubstring(fmt.Sprintf("went back to version %s (release 5)", versions[1])))
				Expect(condition.Message).To(ContainSubstring("admin"))
			}
		}
	})
})

var _ = Describe("Audit", func() {
	It("shows the author and the changes of a release, but no secret", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace, replicas(2)))).To(Succeed())
		Expect(verified(ctx, namespace, "sleep").Spec.ReleasedBy).To(Equal("admin"))
		Eventually(notes(ctx, namespace, "ReleaseRecorded")).Should(ConsistOf("release 1, version " + firstVersion + ", by admin: created"))

		output, err := patchSleep(ctx, namespace, `{"spec":{"template":{"spec":{"containers":[{"name":"sleep","image":"busybox:1.37",
			"args":["--password=hunter2"],"env":[{"name":"TOKEN","value":"hunter2"}]}]}}}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		record := verified(ctx, namespace, "sleep")
		Expect(record.Spec.Changes).To(ContainElement("spec.containers[sleep].image: busybox -> busybox:1.37"))
		Expect(record.Spec.Changes).To(HaveLen(3))
		Expect(record.Spec.IgnoredSuspend).To(BeFalse())
		Eventually(notes(ctx, namespace, "ReleaseRecorded")).Should(ContainElement(And(
			HavePrefix("release 2, version "+record.Spec.Reversion+", by admin: "), ContainSubstring("busybox -> busybox:1.37"))))
		for _, kind := range []string{"changeworkloads", "events.events.k8s.io"} {
			output, err = kubectl(ctx, "-n", namespace, "get", kind, "-o", "yaml")
			Expect(err).NotTo(HaveOccurred(), output)
			Expect(output).NotTo(ContainSubstring("hunter2"))
		}
		Expect(get(ctx, namespace, "sleep").Annotations["altershield.defense.antgroup.com/released-by"]).NotTo(ContainSubstring("hunter2"))

		By("letting a repair through")
		fail(ctx, namespace, record.Name+"--x--1")
		Eventually(labelsOf(ctx, namespace)).Should(HaveKey("altershield.defense.antgroup.com/suspend"))
		repairSleep(ctx, namespace, 2)
		Expect(verified(ctx, namespace, "sleep").Spec.IgnoredSuspend).To(BeTrue())
	})
})
