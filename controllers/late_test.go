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
	"k8s.io/apimachinery/pkg/api/meta"
)

// neverStarts releases pods whose image can't be pulled, and starts repairs them.
const (
	neverStarts = `{"spec":{"template":{"metadata":{"labels":{"local.altershield.io/start":"never"}}}}}`
	starts      = `{"spec":{"template":{"metadata":{"labels":{"local.altershield.io/start":null,"test":"repaired"}}}}}`
)

var _ = Describe("A paced release that fails or is late", func() {
	BeforeEach(patient)

	// pacedWeb creates a verified workload of four pods in a namespace with steps and further fields of the policy.
	pacedWeb := func(ctx context.Context, steps, fields string, of func(namespace string) webSet) *inStep {
		GinkgoHelper()
		web := &inStep{webSet: of(pacedNamespace(ctx, steps, fields))}
		web.create(ctx)
		web.old = web.verified(ctx)
		return web
	}
	const two = `[{"replicas":1},{"percent":100}]`
	ofDeployment := func(namespace string) webSet { return deployment(namespace, 4) }
	ofStatefulSet := func(namespace string) webSet { return statefulSet(namespace, "Parallel", 4) }
	failsAtFirst := func(ctx context.Context, web *inStep) {
		GinkgoHelper()
		web.next = web.released(ctx, "bad")
		check := web.record(ctx) + "--x--1"
		Eventually(func() []string { return names(ctx, web.namespace) }).Should(ContainElement(check))
		fail(ctx, web.namespace, check)
	}
	isBack := func(ctx context.Context, web *inStep) {
		GinkgoHelper()
		Eventually(web.version(ctx)).Should(Equal(web.old))
		Expect(web.verified(ctx)).To(Equal(web.old))
		Eventually(web.ready(ctx)).Should(nowhere)
		web.isFree(ctx)
	}
	message := func(ctx context.Context, web *inStep) func() string {
		return func() string {
			if paced := meta.FindStatusCondition(web.present(ctx).Status.Conditions, "Paced"); paced != nil {
				return paced.Message
			}
			return ""
		}
	}

	DescribeTable("is rolled back by onFail Undo, with all pods of the version before and no gate:", func(ctx context.Context, of func(string) webSet) {
		permitDeletions(ctx)
		web := pacedWeb(ctx, one, `,"onFail":"Undo"`, of)
		failsAtFirst(ctx, web)
		isBack(ctx, web)
	}, Entry("a Deployment", ofDeployment), Entry("a StatefulSet", slow, ofStatefulSet))

	It("is parked by onFail Park: the pods come back with the version before, and a repair begins anew", slow, func(ctx context.Context) {
		permitDeletions(ctx)
		web := pacedWeb(ctx, one, `,"onFail":"Park"`, ofStatefulSet)
		failsAtFirst(ctx, web)
		Eventually(func() string { return reason(web.present(ctx).Status.Conditions, "Parked") }).Should(Equal("Requested"))
		Eventually(web.ready(ctx)).Should(nowhere)
		Consistently(web.ready(ctx)).Should(nowhere)
		Expect(message(ctx, web)()).To(ContainSubstring("; onFail is Park"))
		Expect(web.version(ctx)()).To(Equal(web.next), "the template stays")

		web.mustChange(ctx, setRepair)
		web.next = web.version(ctx)()
		with.goesOn(ctx, web)
	})

	DescribeTable("after the deadline of a step", slow, func(ctx context.Context, then string, ended func(context.Context, *inStep)) {
		web := pacedWeb(ctx, two, fmt.Sprintf(`,"deadline":{"perStep":"10s","then":%q}`, then), ofDeployment)
		web.mustChange(ctx, neverStarts)
		web.next = web.version(ctx)()
		ended(ctx, web)
	},
		Entry("waits on: Hold", "Hold", func(ctx context.Context, web *inStep) {
			Eventually(web.step(ctx)).Should(Equal("1/2 True StepDeadline"))
			Expect(message(ctx, web)()).To(MatchRegexp(`^step 1 of 2: 1 of 4 pods; 0 of them passed, not all by \S+Z$`))
			Consistently(web.ready(ctx)).Should(nowhere)
			Expect(web.labels(ctx)()).NotTo(HaveKey(suspendLabel))
			web.mustChange(ctx, starts)
			web.next = web.verified(ctx)
			Eventually(web.ready(ctx)).Should(rolledOut)
			web.isFree(ctx)
		}),
		Entry("is rolled back: Undo", "Undo", isBack),
		Entry("begins the next one: GoOn", "GoOn", func(ctx context.Context, web *inStep) {
			Eventually(web.step(ctx)).Should(Equal("2/2 True StepRunning"))
			Eventually(web.step(ctx)).Should(Equal("2/2 False StepDeadline"))
			web.isFree(ctx)
		}),
	)

	It("is rolled back when its pod doesn't start within stuckAfter of the policy", func(ctx context.Context) {
		web := pacedWeb(ctx, two, `,"stuckAfter":"2s"`, ofDeployment)
		web.mustChange(ctx, missingSetImage)
		web.next = web.version(ctx)()
		isBack(ctx, web)
	})
})
