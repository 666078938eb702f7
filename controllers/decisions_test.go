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
	"encoding/json"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("The log", func() {
	It("has one line for each decision about a release, and nothing of its pod template", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace, replicas(1)))).To(Succeed())
		name := verified(ctx, namespace, "sleep").Name
		fail(ctx, namespace, name+"--x--1")
		Eventually(releases(ctx, namespace)).Should(HaveKeyWithValue(name, "Suspend"))
		_, err := release(ctx, namespace, "1234")
		Expect(err).To(HaveOccurred())
		output, err := kubectl(ctx, "-n", namespace, "label", "deployment", "sleep", "altershield.defense.antgroup.com/ignored-suspend=true")
		Expect(err).NotTo(HaveOccurred(), output)
		output, err = release(ctx, namespace, "12345")
		Expect(err).NotTo(HaveOccurred(), output)
		verified(ctx, namespace, "sleep")
		Eventually(labelsOf(ctx, namespace)).ShouldNot(HaveKey("altershield.defense.antgroup.com/suspend"))

		Eventually(decisions(namespace)).Should(ConsistOf(
			"1 ReleaseRecorded", "1 BatchOpened", "1 CheckNotConfigured", "1 ReleaseSucceeded", "1 ReleaseSuspended",
			"2 stamped", "2 denied",
			"2 stamped", "2 suspension_ignored", "2 ReleaseRecorded", "2 SuspensionIgnored", "2 BatchOpened", "2 CheckNotConfigured",
			"2 ReleaseSucceeded", "2 Lifted",
		))
		// Errors of other specs may quote a template: the API server does when it rejects one.
		for line := range strings.Lines(logged()) {
			if strings.Contains(line, namespace) {
				Expect(line).NotTo(Or(ContainSubstring("infinity"), ContainSubstring("IfNotPresent")))
			}
		}
	})
})

// decisions returns the release and the reason of every line of the log, at level info, about a namespace.
func decisions(namespace string) func() []string {
	return func() []string {
		var found []string
		for line := range strings.Lines(logged()) {
			var entry struct {
				Level, Namespace, Deployment, Version, Reason string
				Release                                       json.Number
			}
			if json.Unmarshal([]byte(line), &entry) == nil && entry.Level == "info" && entry.Namespace == namespace {
				Expect(entry.Deployment).To(Equal("sleep"), line)
				Expect(entry.Version).To(HaveLen(32), line)
				found = append(found, entry.Release.String()+" "+entry.Reason)
			}
		}
		return found
	}
}
