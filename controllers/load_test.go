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
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var _ = Describe("A hundred Deployments of ten replicas", Serial, func() {
	It("are all verified after they were created and after they were rolled at once, with at most 3.5 writes a pod", func(ctx context.Context) {
		const deployments, pods = 100, 1000
		namespace := controlledNamespace(ctx)
		name := func(i int) string { return fmt.Sprintf("app-%d", i) }
		allVerified := func() int {
			count := 0
			for _, status := range releases(ctx, namespace)() {
				if status == "Success" {
					count++
				}
			}
			return count
		}
		onlyVerified := func() bool { return len(releases(ctx, namespace)()) == deployments && allVerified() == deployments }

		atOnce(deployments, func(i int) {
			Expect(kube.Create(ctx, sleep(namespace, named(name(i)), replicas(10), func(d *appsv1.Deployment) {
				d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": name(i)}}
				d.Spec.Template.Labels["app"] = name(i)
			}))).To(Succeed())
		})
		Eventually(onlyVerified).WithTimeout(15 * time.Minute).Should(BeTrue())
		report(writes(namespace), pods, "create")

		atOnce(deployments, func(i int) {
			output, err := kubectl(ctx, "-n", namespace, "patch", "deployment", name(i), "--type", "merge", "-p",
				`{"spec":{"template":{"metadata":{"labels":{"test":"1234"}}}}}`)
			Expect(err).NotTo(HaveOccurred(), output)
		})
		Eventually(func() int { return len(rolled(ctx, namespace)) }).WithTimeout(15 * time.Minute).Should(Equal(deployments))
		total := writes(namespace)
		report(total, 2*pods, "create and roll")
		// Where a release takes minutes its progress is written, and its timeout: a slow machine adds such writes.
		late := max(0, total["patch changeworkloads/status"]-2*2*deployments)
		Expect(sum(total) - late).To(BeNumerically("<=", 3.5*2*pods))
	})
})

// rolled are the releases after the first that are verified and alone.
func rolled(ctx context.Context, namespace string) []string {
	var list []string
	all := releases(ctx, namespace)()
	if len(all) != 100 {
		return nil
	}
	for name, status := range all {
		if status == "Success" && workload(ctx, namespace, name).Spec.Release == 2 {
			list = append(list, name)
		}
	}
	return list
}

func atOnce(count int, do func(int)) {
	GinkgoHelper()
	var group sync.WaitGroup
	slots := make(chan struct{}, 8)
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

// writes counts the operator's writes to a namespace by verb and resource, as the API server's audit log has them,
// conflicts and failures included. Events stand apart.
func writes(namespace string) map[string]int {
	GinkgoHelper()
	file, err := os.Open(plane.AuditLog())
	Expect(err).NotTo(HaveOccurred())
	defer file.Close()
	counts := map[string]int{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var entry struct {
			Verb string
			User struct{ Username string }
			// ObjectRef names what is written.
			ObjectRef struct{ Namespace, Resource, Subresource string }
		}
		Expect(json.Unmarshal(lines.Bytes(), &entry)).To(Succeed())
		if entry.User.Username == "system:serviceaccount:altershieldoperator-system:altershieldoperator-controller-manager" &&
			entry.ObjectRef.Namespace == namespace && entry.ObjectRef.Resource != "events" {
			counts[entry.Verb+" "+entry.ObjectRef.Resource+"/"+entry.ObjectRef.Subresource]++
		}
	}
	Expect(lines.Err()).NotTo(HaveOccurred())
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
