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
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/altershield"
)

var _ = Describe("A hundred Deployments of ten replicas", Serial, slow, func() {
	It("are all verified after they were created and after they were rolled at once, with at most 3.8 writes a pod", func(ctx context.Context) {
		Expect(createAndRoll(ctx, 100, 10)).To(BeNumerically("<=", 3.8))
	})
})

var _ = Describe("Twenty-five Deployments of twenty replicas that AlterShield Server checks", Serial, slow, Ordered, ContinueOnFailure, func() {
	// The server needs a second or more for a check.
	checkedByServerWith(altershield.Options{PreDelay: time.Second, PostDelay: time.Second}, "--zap-log-level=info")

	// Six for the pod and 0.45 for the release. On a slow machine some verdicts arrive before the ID of their check is saved.
	It("are all verified, with fewer than seven writes a pod", func(ctx context.Context) {
		Expect(createAndRoll(ctx, 25, 20)).To(BeNumerically("<", 7))
	})

	It("are all verified in batches of ten, with at most 1.95 writes a pod", func(ctx context.Context) {
		setBranch(ctx, `{"enable":true,"content":"10"}`)
		DeferCleanup(setBranch, `{"enable":false,"content":"10"}`)
		Expect(createAndRoll(ctx, 25, 20)).To(BeNumerically("<=", 1.95))
	})
})

func setBranch(ctx context.Context, spec string) {
	GinkgoHelper()
	output, err := kubectl(ctx, "-n", "altershieldoperator-system", "patch", "opsconfiginfo", "branch", "--type=merge", "-p", `{"spec":`+spec+`}`)
	Expect(err).NotTo(HaveOccurred(), output)
}

// createAndRoll creates Deployments at once, then rolls them at once, and returns the operator's writes for each pod.
func createAndRoll(ctx context.Context, deployments, size int) float64 {
	GinkgoHelper()
	namespace, pods := controlledNamespace(ctx), deployments*size
	name := func(i int) string { return fmt.Sprintf("app-%d", i) }
	atOnce(deployments, func(i int) {
		Expect(kube.Create(ctx, sleep(namespace, alone(name(i)), replicas(int32(size))))).To(Succeed())
	})
	Eventually(func() int { return len(succeeded(ctx, namespace, 1)) }).WithTimeout(15 * time.Minute).Should(Equal(deployments))
	report(writes(namespace), pods, "create")

	atOnce(deployments, func(i int) {
		output, err := kubectl(ctx, "-n", namespace, "patch", "deployment", name(i), "--type", "merge", "-p",
			`{"spec":{"template":{"metadata":{"labels":{"test":"1234"}}}}}`)
		Expect(err).NotTo(HaveOccurred(), output)
	})
	Eventually(func() int { return len(succeeded(ctx, namespace, 2)) }).WithTimeout(15 * time.Minute).Should(Equal(deployments))
	Eventually(func() int { return len(releases(ctx, namespace)()) }).Should(Equal(deployments))
	Eventually(func() int {
		return len(slices.DeleteFunc(changePods(ctx, namespace), func(changePod appv1alpha1.ChangePod) bool { return changePod.Spec.Release == 2 }))
	}).Should(BeZero())
	Expect(len(removals(namespace))).To(BeNumerically("<=", deployments), "one for each release that is over, and none of the garbage collector")
	total := writes(namespace)
	report(total, 2*pods, "create and roll")
	// If a release takes minutes, its progress and its timeout are written: a slow machine adds such writes.
	late := max(0, total["patch changeworkloads/status"]-2*2*deployments)
	return float64(sum(total)-late) / float64(2*pods)
}

// succeeded returns the verified releases with this number.
func succeeded(ctx context.Context, namespace string, number int64) []string {
	var workloads appv1alpha1.ChangeWorkloadList
	if err := kube.List(ctx, &workloads, client.InNamespace(namespace)); err != nil {
		return nil
	}
	var list []string
	for _, workload := range workloads.Items {
		if workload.Status.Status == "Success" && workload.Spec.Release == number {
			list = append(list, workload.Name)
		}
	}
	return list
}

func atOnce(count int, do func(int)) {
	GinkgoHelper()
	var group sync.WaitGroup
	slots := make(chan struct{}, 10)
	for i := range count {
		slots <- struct{}{}
		group.Go(func() {
			defer GinkgoRecover()
			defer func() { <-slots }()
			do(i)
		})
	}
	group.Wait()
}

// writes counts the operator's writes to a namespace by verb and resource, including conflicts and failures. It counts Events
// separately.
func writes(namespace string) map[string]int {
	GinkgoHelper()
	counts := map[string]int{}
	for _, call := range requests() {
		object := call.ObjectRef
		if object == nil || object.Namespace != namespace || object.Resource == "events" || slices.Contains([]string{"get", "list", "watch"}, call.Verb) {
			continue
		}
		kind := call.Verb + " " + object.Resource + "/" + object.Subresource
		if call.ResponseStatus.Code == http.StatusConflict {
			kind += " in vain"
		}
		counts[kind]++
	}
	return counts
}

func sum(counts map[string]int) int {
	total := 0
	for _, count := range counts {
		total += count
	}
	return total
}

func report(counts map[string]int, pods int, phase string) {
	text := fmt.Sprintf("%.2f writes a pod; %v", float64(sum(counts))/float64(pods), counts)
	AddReportEntry("writes to "+phase, text, ReportEntryVisibilityAlways)
}
