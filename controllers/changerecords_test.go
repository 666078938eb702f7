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
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

func objectMeta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// recordsOf returns the ChangeRecords of a namespace as <release>[-<correction>] <type> <outcome>.
func recordsOf(ctx context.Context, namespace string) func() []string {
	return func() []string {
		var list appv1alpha1.ChangeRecordList
		if err := kube.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return []string{err.Error()}
		}
		var records []string
		for _, record := range list.Items {
			number := fmt.Sprint(record.Spec.Release)
			if record.Spec.Correction > 0 {
				number += fmt.Sprintf("-%d", record.Spec.Correction)
			}
			records = append(records, fmt.Sprintf("%s %s %s", number, record.Spec.Type, record.Spec.Outcome))
		}
		return records
	}
}

var _ = Describe("ChangeRecords", func() {
	It("tell of ten releases, can't be changed, and show that one is missing", slow, func(ctx context.Context) {
		namespace, programs := controlledNamespace(ctx), install(ctx).programs
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		wanted := []string{"1 Release Verified"}
		verified(ctx, namespace, "sleep")
		for number := 2; number <= 10; number++ {
			output, err := patchSleep(ctx, namespace, fmt.Sprintf(
				`{"metadata":{"labels":{%q:"true"}},"spec":{"template":{"metadata":{"labels":{"test":"release-%d"}}}}}`, ignoredSuspend, number))
			Expect(err).NotTo(HaveOccurred(), output)
			name := verified(ctx, namespace, "sleep").Name
			if number%3 == 0 { // a late verdict
				fail(ctx, namespace, name+"--x--1")
				Eventually(releases(ctx, namespace)).Should(HaveKeyWithValue(name, "Suspend"))
			}
			kind := "Release"
			if number%3 == 1 {
				kind = "Repair"
			}
			wanted = append(wanted, fmt.Sprintf("%d %s Verified", number, kind))
			if number%3 == 0 {
				wanted = append(wanted, fmt.Sprintf("%d-1 %s Failed", number, kind))
			}
			Eventually(recordsOf(ctx, namespace)).Should(ConsistOf(wanted))
		}

		uid := get(ctx, namespace, "sleep").UID
		third := decide.ChangeRecordName(decide.RecordKey(uid, false), 3, 1)
		output, err := kubectl(ctx, "-n", namespace, "patch", "changerecord", third, "--type=merge", "-p", `{"spec":{"outcome":"Verified"}}`)
		Expect(err).To(HaveOccurred())
		Expect(output).To(ContainSubstring("a ChangeRecord can't be changed: what a later verdict corrects is in a further record of the release"))
		Expect(apierrors.IsForbidden(as(dev).Delete(ctx, &appv1alpha1.ChangeRecord{ObjectMeta: objectMeta(namespace, third)}))).To(BeTrue())

		var commands string
		for _, block := range blocks("records.md", "Read and export") {
			commands += regexp.MustCompile(`\bshop\b`).ReplaceAllString(block, namespace)
		}
		dir := GinkgoT().TempDir()
		run := "export LANG=C.UTF-8 PATH=" + programs + ":$PATH\ncd " + dir + "\n"
		output = bash(ctx, run+commands)
		Expect(output).To(ContainSubstring("No ChangeRecord is missing or was edited.\n"))
		Expect(output).To(MatchRegexp(`(?m)^4( \*)? +\S+ +✔ Success`), "history")
		exported, err := os.ReadFile(filepath.Join(dir, "releases.csv"))
		Expect(err).NotTo(HaveOccurred())
		Expect(strings.Count(string(exported), "\r\n")).To(Equal(11), "a header and ten releases")
		Expect(string(exported)).To(MatchRegexp(`(?m)^` + namespace + `,Deployment,sleep,3,1,Release,Failed,PodsFailed,`))
		page, err := os.ReadFile(filepath.Join(dir, "releases.html"))
		Expect(err).NotTo(HaveOccurred())
		Expect(string(page)).To(ContainSubstring("releases: 10 "))

		Expect(kube.Delete(ctx, &appv1alpha1.ChangeRecord{ObjectMeta: objectMeta(namespace, third)})).To(Succeed(), "a cluster admin may")
		output = bash(ctx, run+"kubectl altershield export -n "+namespace+" --verify >releases.csv || echo exits with $?\n")
		Expect(output).To(Equal("ChangeRecord " + namespace + "/" + third + " is missing: " + decide.ChangeRecordName(decide.RecordKey(uid, false), 4, 0) + " names it\nexits with 3\n"))

		configure(ctx, "change-records", `{"spec":{"content":"2"}}`)
		Eventually(recordsOf(ctx, namespace)).Should(ConsistOf("9 Release Verified", "9-1 Release Failed", "10 Repair Verified"))
	})
})
