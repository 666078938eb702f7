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
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

var _ = Describe("A paced release", func() {
	BeforeEach(patient)

	DescribeTable("keeps its fields beside a client that applies what is in Git again and again,", slow, func(ctx context.Context, apply ...string) {
		namespace := pacedNamespace(ctx, `[{"replicas":1,"soak":"1h"},{"percent":100}]`, "")
		fromGit := func(name string) {
			GinkgoHelper()
			output, err := kubectlWith(ctx, manifest(namespace, func(deployment *appsv1.Deployment) {
				image(name)(deployment)
				deployment.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxUnavailable: ptr.To(intstr.FromString("25%"))}
			}), apply...)
			Expect(err).NotTo(HaveOccurred(), output)
		}
		present := func() string {
			var record appv1alpha1.ChangeWorkload
			if err := kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: currentName(ctx, namespace, "sleep")}, &record); err != nil {
				return err.Error()
			}
			return step(&record)
		}
		fromGit("busybox")
		verified(ctx, namespace, "sleep")

		By("waiting for the end of a freeze")
		freezeNow(ctx, namespace, `"expires": "1h", "reason": "INC-7"`)
		fromGit("busybox:1.36")
		Eventually(present).Should(Equal("0/2 True OnHold"))
		for range 3 {
			fromGit("busybox:1.36")
			pause(ctx, time.Second)
		}
		Expect(present()).To(Equal("0/2 True OnHold"))
		Expect(strategy(get(ctx, namespace, "sleep"))).To(Equal("paused, maxUnavailable 0, maxSurge 25%"))
		endFreeze(ctx, namespace)

		By("waiting in its first step")
		Eventually(present).Should(Equal("1/2 True Soaking"))
		Eventually(func() string { return strategy(get(ctx, namespace, "sleep")) }).Should(Equal("paused, maxUnavailable 0, maxSurge 25%"))
		pause(ctx, time.Second)
		before, record := get(ctx, namespace, "sleep"), workload(ctx, namespace, currentName(ctx, namespace, "sleep"))
		for range 4 {
			fromGit("busybox:1.36")
			pause(ctx, 500*time.Millisecond)
		}
		after := get(ctx, namespace, "sleep")
		Expect(after).To(And(HaveField("Generation", before.Generation), HaveField("Annotations", before.Annotations)))
		Expect(workload(ctx, namespace, record.Name)).To(HaveField("Status.Pace", record.Status.Pace), "the step doesn't begin anew")

		By("ending as Git has it")
		output, err := kubectl(ctx, "-n", namespace, "annotate", "--overwrite", "deployment", "sleep", "altershield.defense.antgroup.com/go-on=2:all")
		Expect(err).NotTo(HaveOccurred(), output)
		verified(ctx, namespace, "sleep")
		Eventually(func() string { return strategy(get(ctx, namespace, "sleep")) }).Should(Equal("maxUnavailable 25%, maxSurge 25%"))
	},
		Entry("as kubectl apply", "apply", "-f", "-"),
		Entry("by server-side apply", "apply", "--server-side", "--force-conflicts", "--field-manager=git", "-f", "-"),
	)
})
