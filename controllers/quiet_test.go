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
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// duration returns how long a spec watches; an environment variable can make it longer.
func duration(variable string, otherwise time.Duration) time.Duration {
	GinkgoHelper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	wanted, err := time.ParseDuration(text)
	Expect(err).NotTo(HaveOccurred(), variable)
	return wanted
}

// pause waits.
func pause(ctx context.Context, wait time.Duration) {
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	}
}

var _ = Describe("An operator that has nothing to do", slow, func() {
	It("asks the API server for nothing, whatever is stuck, suspended or was rolled back", func(ctx context.Context) {
		patient(ctx)
		namespace := controlledNamespace(ctx)
		By("leaving a release that was rolled back, one that can't be, and a suspended one")
		for _, name := range []string{"back", "stays", "suspended"} {
			Expect(kube.Create(ctx, sleep(namespace, alone(name)))).To(Succeed())
		}
		for _, name := range []string{"back", "stays", "suspended"} {
			verified(ctx, namespace, name)
		}
		for name, patch := range map[string]string{"back": missingImage, "stays": strings.Replace(missingImage, `{"spec":{`, `{"spec":{"strategy":{"type":"Recreate","rollingUpdate":null},`, 1)} {
			output, err := kubectl(ctx, "-n", namespace, "patch", "deployment", name, "-p", patch)
			Expect(err).NotTo(HaveOccurred(), output)
		}
		fail(ctx, namespace, currentName(ctx, namespace, "suspended")+"--x--1")
		losePatience(ctx, func() {
			Eventually(notes(ctx, namespace, "ReleaseRolledBack")).Should(HaveLen(1))
			Eventually(notes(ctx, namespace, "ReleaseNotRolledBack")).Should(HaveLen(1))
		})
		Eventually(notes(ctx, namespace, "ReleaseSuspended")).Should(HaveLen(1))
		verified(ctx, namespace, "back")
		Expect(busy(time.Time{})).To(ContainElement("get deployments "+namespace+"/back"), "what it reads is in the audit log")
		Eventually(releases(ctx, namespace)).Should(HaveKeyWithValue(currentName(ctx, namespace, "stays"), "TimeOutPreThreshold"), "its last deadline")

		quiet := func() []string { return busy(time.Now().Add(-20 * time.Second)) }
		Eventually(quiet).Should(BeEmpty(), "twenty seconds of rest")
		began := time.Now()
		idle := duration("IDLE_TIME", 20*time.Second)
		pause(ctx, idle)
		Expect(busy(began)).To(BeEmpty())
		AddReportEntry("idle", fmt.Sprintf("%s without a request but for the lease and open watches", idle), ReportEntryVisibilityAlways)
	})
})

// busy returns the requests of the operator since then, without those for its lease and for watches, which the API server ends after
// minutes.
func busy(since time.Time) []string {
	GinkgoHelper()
	var asked []string
	for _, call := range requests() {
		object := call.ObjectRef
		switch {
		case call.RequestReceivedTimestamp.Time.Before(since), call.Verb == "watch":
		case object == nil:
			asked = append(asked, call.Verb+" "+call.RequestURI)
		case object.Resource != "leases":
			asked = append(asked, fmt.Sprintf("%s %s %s/%s", call.Verb, object.Resource, object.Namespace, object.Name))
		}
	}
	return asked
}

var _ = Describe("A release of a thousand pods", Serial, slow, func() {
	It("that can't start is rolled back, and not before its time", func(ctx context.Context) {
		setBranch(ctx, `{"enable":true,"content":"100"}`)
		DeferCleanup(setBranch, `{"enable":false,"content":"10"}`)
		configure(ctx, "stuck-rollback", `{"spec":{"content":"30s"}}`)
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace, replicas(1000)))).To(Succeed())
		Eventually(func() string { return reasonOf(ctx, namespace, first) }).WithTimeout(15 * time.Minute).Should(Equal("AllPodsPassed"))
		token := metricsToken(ctx)
		before := delays(ctx, token)
		began := time.Now()
		output, err := patchSleep(ctx, namespace, missingImage)
		Expect(err).NotTo(HaveOccurred(), output)
		bad := released(ctx, namespace)()
		Eventually(notes(ctx, namespace, "ReleaseRolledBack")).Should(HaveLen(1))
		record := rollbacksOf(ctx, namespace)
		Expect(record).To(HaveLen(1))
		Expect(record[0].Version).To(Equal(bad))
		Expect(record[0].Reason).To(Equal(appv1alpha1.RollbackPodsNotRunning))
		// Kubernetes keeps only the seconds of a time.
		Expect(record[0].Time.Time).To(BeTemporally(">=", began.Add(29*time.Second).Truncate(time.Second)))
		AddReportEntry("rolled back", fmt.Sprintf("%.3f s after the deadline of the first pod", delays(ctx, token)-before), ReportEntryVisibilityAlways)
		Eventually(released(ctx, namespace)).Should(Equal(firstVersion))
	})
})

// delays returns the sum of the delays with which stuck releases were rolled back, in seconds.
func delays(ctx context.Context, token string) float64 {
	GinkgoHelper()
	var sum float64
	Eventually(func() bool {
		_, shown := scrape(ctx, token)
		for line := range strings.Lines(shown) {
			if count, err := fmt.Sscanf(line, "altershield_stuck_rollback_delay_seconds_sum %g", &sum); err == nil && count == 1 {
				return true
			}
		}
		return false
	}).Should(BeTrue())
	return sum
}
