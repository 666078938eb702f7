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
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/testkit/witness"
)

// Ten workloads are released at the same time, ten times each.
var _ = Describe("A hundred paced releases of 20 pods", slow, Serial, func() {
	const workloads, releases = 10, 10

	BeforeEach(patient)
	BeforeEach(permitDeletions)

	// begin creates a workload. A controller that limits its own requests takes minutes for all pods.
	begin := func(ctx context.Context, web webSet, changes ...func(*unstructured.Unstructured)) string {
		GinkgoHelper()
		web.create(ctx, changes...)
		Eventually(func() string { return string(web.present(ctx).Status.Status) }).WithTimeout(15 * time.Minute).WithPolling(time.Second).
			Should(Equal("Success"))
		return web.verified(ctx)
	}

	// roll rolls out all releases of a workload.
	roll := func(ctx context.Context, web webSet) {
		GinkgoHelper()
		for i := range releases {
			next := web.released(ctx, fmt.Sprint("next-", i))
			Eventually(web.step(ctx)).WithTimeout(15 * time.Minute).WithPolling(time.Second).Should(HaveSuffix("False AllSteps"))
			Expect(web.verified(ctx)).To(Equal(next))
		}
	}

	DescribeTable("run no more pods than their steps:", func(ctx context.Context, kind pacedKind) {
		if kind.prepare != nil {
			kind.prepare(ctx)
		}
		var webs []webSet
		for range workloads {
			webs = append(webs, kind.of(pacedNamespace(ctx, `[{"replicas":1},{"percent":25},{"percent":100}]`, "")))
		}
		began, old, seen := time.Now(), make([]string, workloads), make([]*witness.Witness, workloads)
		atOnce(workloads, func(i int) {
			old[i] = begin(ctx, webs[i], kind.changes...)
		})
		for i, web := range webs {
			seen[i] = watchPace(ctx, web.namespace)
		}
		atOnce(workloads, func(i int) { roll(ctx, webs[i]) })

		beyond, full := 0, 0
		for i, web := range webs {
			excess, most := seen[i].Excess(old[i])
			Expect(excess).To(BeEmpty(), web.namespace)
			beyond += len(excess)
			for _, count := range most {
				if count == 20 {
					full++
				}
			}
		}
		Expect(full).To(BeNumerically(">=", workloads*releases), "every release ran all its pods in the end")
		AddReportEntry("paced releases", fmt.Sprintf("%d releases, %d times more pods than the step, %s",
			workloads*releases, beyond, time.Since(began).Round(time.Second)), ReportEntryVisibilityAlways)
	}, pacedKinds(slow))

	It("get no traffic before they passed", func(ctx context.Context) {
		began, webs, seen := time.Now(), make([]webSet, workloads), make([]*witness.Witness, workloads)
		for i := range webs {
			webs[i] = deployment(pacedNamespace(ctx, `[{"replicas":1},{"percent":25},{"percent":100}]`, `,"traffic":"Before"`), 20)
			service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: webs[i].namespace, Name: "web"}}
			service.Spec.Selector, service.Spec.Ports = map[string]string{"app": "web"}, []corev1.ServicePort{{Port: 80}}
			Expect(kube.Create(ctx, service)).To(Succeed())
			seen[i] = watchPace(ctx, webs[i].namespace, &appv1alpha1.ChangePodList{}, &discoveryv1.EndpointSliceList{})
		}
		atOnce(workloads, func(i int) {
			begin(ctx, webs[i])
			roll(ctx, webs[i])
		})
		served := 0
		for i := range webs {
			var unverified []string
			var shown int
			Eventually(func() int {
				unverified, shown = seen[i].Unverified()
				return shown
			}).Should(BeNumerically(">=", (releases+1)*20), webs[i].namespace)
			Expect(unverified).To(BeEmpty(), webs[i].namespace)
			served += shown
		}
		AddReportEntry("traffic", fmt.Sprintf("%d releases, %d pods, none of them served before it passed, %s",
			workloads*releases, served, time.Since(began).Round(time.Second)), ReportEntryVisibilityAlways)
	})
})
