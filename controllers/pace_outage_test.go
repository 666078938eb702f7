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

	"github.com/traas-stack/altershield-operator/controllers/testkit/witness"
	"github.com/traas-stack/altershield-operator/hack/local/assets"
)

var _ = Describe("While the API server is away for three minutes", slow, Serial, func() {
	BeforeEach(patient)

	It("paced releases keep to their step, and go on afterwards", func(ctx context.Context) {
		const steps = `[{"replicas":1},{"percent":25},{"percent":100,"approvals":1}]`
		const late = `{"spec":{"template":{"metadata":{"annotations":{"local.altershield.io/ready-after":"10s"}}}}}`
		type paced struct {
			webSet
			pods, ofStep int
			old          string
			seen         *witness.Witness
		}
		// One release waits for an approval, the pods of the others are on their way.
		waits := &paced{webSet: deployment(pacedNamespace(ctx, steps, ""), 20), pods: 20, ofStep: 5}
		moving := []*paced{
			{webSet: deployment(pacedNamespace(ctx, steps, ""), 20), pods: 20, ofStep: 5},
			{webSet: statefulSet(pacedNamespace(ctx, steps, ""), "Parallel", 8), pods: 8, ofStep: 2},
		}
		all := append(moving, waits)
		for _, web := range all {
			web.create(ctx)
			web.old = web.verified(ctx)
		}
		waits.released(ctx, "second")
		Eventually(waits.step(ctx)).Should(Equal("2/3 True AwaitingApproval"))
		for _, web := range moving {
			web.mustChange(ctx, late)
		}
		for _, web := range moving {
			Eventually(web.step(ctx)).Should(HavePrefix("2/3 True"))
		}

		awayFor(ctx, 3*time.Minute)
		for _, web := range all {
			web.seen = watchPace(ctx, web.namespace)
		}
		for _, web := range all {
			Eventually(web.step(ctx)).Should(Equal("2/3 True AwaitingApproval"))
			next := web.version(ctx)()
			Consistently(running(ctx, web.namespace)).Should(runAtLeast(web.pods, web.old, next, web.ofStep))
			web.mustApprove(ctx, "bob")
			Expect(web.verified(ctx)).To(Equal(next))
			excess, _ := web.seen.Excess(web.old)
			Expect(excess).To(BeEmpty())
		}
	})
})

// awayFor stops the API server for a time. Afterwards a manager that lost its lease starts again, as a cluster would restart it. So does
// kube-controller-manager: it exits at an outage where several compete for its lease, and one that doesn't takes the nodes for dead once the API server
// is back, and their pods for not ready, which no kubelet corrects here.
func awayFor(ctx context.Context, outage time.Duration) {
	GinkgoHelper()
	Expect(plane.StopPart(ctx, assets.APIServer)).To(Succeed())
	Expect(plane.StopPart(ctx, assets.ControllerManager)).To(Succeed())
	select {
	case <-time.After(outage):
	case <-ctx.Done():
	}
	Expect(plane.StartPart(ctx, assets.APIServer)).To(Succeed())
	Expect(plane.StartPart(ctx, assets.ControllerManager)).To(Succeed())
	if manager.Ended() != nil {
		Expect(manager.Start(ctx)).To(Succeed())
	}
}
