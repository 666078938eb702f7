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
	gomegatypes "github.com/onsi/gomega/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/hack/altershield"
)

// The specs of this file are the table "When a part is away" of docs/operate.md: a container for each row, an entry for each column.

// way is how a release is rolled out: a column of the table.
type way string

const (
	native way = "Native"
	with   way = "With"
	before way = "Before"
	park   way = "Park"
)

// one are a first step of a pod, and the others after an approval.
const one = `[{"replicas":1},{"percent":100,"approvals":1}]`

// away are the releases of each way, in namespaces of their own: one under way, and a workload for a new one.
type away struct {
	ongoing, fresh map[way]*inStep
}

// inStep is a workload of four pods between two versions.
type inStep struct {
	webSet
	old, next string
}

// begin releases a version. Natively its pods take some seconds, so that it is still under way.
func (r *inStep) begin(ctx context.Context) {
	GinkgoHelper()
	r.mustChange(ctx, slowRelease)
	r.next = r.version(ctx)()
	Expect(r.next).NotTo(Equal(r.old))
}

// ready returns how many pods of the old and the new version are ready.
func (r *inStep) ready(ctx context.Context) func() string {
	return func() string {
		counts := map[string]int{}
		for _, version := range []string{r.old, r.next} {
			for _, pod := range podsAt(ctx, r.namespace, version) {
				if isReady(&pod) && pod.DeletionTimestamp == nil {
					counts[version]++
				}
			}
		}
		return fmt.Sprintf("%d old, %d new", counts[r.old], counts[r.next])
	}
}

// lose deletes the pods of the new version, as a lost node does, and one of the old version.
func (r *inStep) lose(ctx context.Context) {
	GinkgoHelper()
	pods := podsAt(ctx, r.namespace, r.next)
	for _, pod := range append(pods, podsAt(ctx, r.namespace, r.old)[0]) {
		Expect(client.IgnoreNotFound(kube.Delete(ctx, &pod, client.GracePeriodSeconds(0)))).To(Succeed())
	}
}

// Where the releases are. A Deployment that rests may have an old pod more than it needs.
var (
	nowhere   = Equal("4 old, 0 new")
	atFirst   = Or(Equal("3 old, 1 new"), Equal("4 old, 1 new"))
	lost      = Or(Equal("3 old, 0 new"), Equal("4 old, 0 new"))
	rolledOut = Equal("0 old, 4 new")
)

// prepareAway creates the releases of a row, before the part is away.
func prepareAway(ctx context.Context) away {
	GinkgoHelper()
	patient(ctx)
	ways := []way{native, with, before, park}
	made := away{map[way]*inStep{}, map[way]*inStep{}}
	all := make([]*inStep, 2*len(ways))
	atOnce(len(all), func(i int) {
		var namespace string
		switch ways[i/2] {
		case with:
			namespace = pacedNamespace(ctx, one, "")
		case before:
			namespace = pacedNamespace(ctx, one, `,"traffic":"Before"`)
		default:
			namespace = controlledNamespace(ctx)
		}
		web := &inStep{webSet: deployment(namespace, 4)}
		web.create(ctx)
		web.old = web.verified(ctx)
		if ways[i/2] == park {
			freezeNow(ctx, namespace, `"expires": "1h"`)
		}
		all[i] = web
	})
	for i, way := range ways {
		made.ongoing[way], made.fresh[way] = all[2*i], all[2*i+1]
	}
	for _, way := range []way{with, before} {
		made.ongoing[way].begin(ctx)
		Eventually(made.ongoing[way].step(ctx)).Should(Equal("1/2 True AwaitingApproval"))
		Eventually(made.ongoing[way].ready(ctx)).Should(atFirst)
	}
	made.ongoing[park].begin(ctx)
	Eventually(frozenBecause(ctx, made.ongoing[park].namespace, made.ongoing[park].record(ctx))).Should(Equal("ChangeFreeze"))
	made.ongoing[native].begin(ctx)
	return made
}

// goesOn lets a release go on as far as it can, and checks that nothing of the operator is left.
func (w way) goesOn(ctx context.Context, web *inStep) {
	GinkgoHelper()
	switch w {
	case with, before:
		Eventually(web.step(ctx)).Should(Equal("1/2 True AwaitingApproval"))
		web.mustApprove(ctx, "bob")
	case park:
		endFreeze(ctx, web.namespace)
	}
	Expect(web.verified(ctx)).To(Equal(web.next))
	Eventually(web.ready(ctx)).Should(rolledOut)
	web.isFree(ctx)
}

// isFree checks that nothing of a workload is parked, paused, gated or parted.
func (s webSet) isFree(ctx context.Context) {
	GinkgoHelper()
	Eventually(s.annotations(ctx)).ShouldNot(Or(HaveKey("altershield.defense.antgroup.com/paced"), HaveKey(heldKey), HaveKey(frozenMark)))
	switch s.kind {
	case "Deployment":
		Expect(s.field(ctx, "{.spec.strategy.rollingUpdate.maxUnavailable} {.spec.strategy.rollingUpdate.maxSurge} {.spec.paused}")).To(Equal("25% 25% "))
	default:
		Expect(s.strategy(ctx)).To(Or(BeEmpty(), Equal("0"), Equal("RollingUpdate")))
	}
	Eventually(func() []string { return closedGates(ctx, s.namespace) }).Should(BeEmpty())
}

// closedGates returns the pods of a namespace that wait at a gate.
func closedGates(ctx context.Context, namespace string) (closed []string) {
	for _, gate := range []string{"start", "ready"} {
		for _, pod := range waitingIn(ctx, namespace, gate) {
			closed = append(closed, pod.Name)
		}
	}
	return closed
}

// isBack begins the releases that could not begin while a part was away, and lets all go on.
func (a away) isBack(ctx context.Context) {
	GinkgoHelper()
	atOnce(len(a.ongoing)*2, func(i int) {
		way := []way{native, with, before, park}[i/2]
		web := []*inStep{a.ongoing[way], a.fresh[way]}[i%2]
		if web.next == "" {
			web.begin(ctx)
		}
		way.goesOn(ctx, web)
	})
}

var _ = Describe("A part is away:", func() {
	Context("all replicas:", slow, Ordered, ContinueOnFailure, func() {
		var away away
		BeforeAll(func(ctx context.Context) {
			needsGatePolicy()
			away = prepareAway(ctx)
			Expect(manager.Stop(ctx)).To(Succeed())
			DeferCleanup(func(ctx context.Context) { Expect(manager.Start(ctx)).To(Succeed()) })
		})

		DescribeTable("a new release is refused:", func(ctx context.Context, way way) {
			output, err := away.fresh[way].change(ctx, slowRelease)
			Expect(err).To(HaveOccurred())
			Expect(output).To(ContainSubstring(`failed calling webhook "mdeployment.kb.io"`))
			Expect(away.fresh[way].version(ctx)()).To(Equal(away.fresh[way].old))
		}, entries("Native", native, "With", with, "Before", before, "Park", park))

		underWayStays(&away)

		It("and everything goes on once one is back", func(ctx context.Context) {
			Expect(manager.Start(ctx)).To(Succeed())
			away.isBack(ctx)
		})
	})

	Context("the leader, while another replica answers:", slow, Ordered, ContinueOnFailure, func() {
		var away away
		BeforeAll(func(ctx context.Context) {
			away = prepareAway(ctx)
			Expect(manager.Stop(ctx)).To(Succeed())
			lead(ctx, "another")
			DeferCleanup(func(ctx context.Context) { lead(ctx, "") })
			Expect(manager.Start(ctx)).To(Succeed())
		})

		DescribeTable("a new release", func(ctx context.Context, way way, there gomegatypes.GomegaMatcher) {
			web := away.fresh[way]
			web.begin(ctx)
			Eventually(web.ready(ctx)).Should(there)
			Consistently(web.ready(ctx)).Should(there)
			Expect(web.present(ctx).Name).To(BeEmpty(), "it isn't recorded")
		},
			Entry("is rolled out: Native", native, rolledOut),
			Entry("waits: With", with, nowhere),
			Entry("waits: Before", before, nowhere),
			Entry("is parked: Park", park, nowhere),
		)

		underWayStays(&away)

		It("and everything goes on once there is a leader", func(ctx context.Context) {
			lead(ctx, "")
			away.isBack(ctx)
		})
	})

	Context("the policies that add gates:", slow, Ordered, ContinueOnFailure, func() {
		var away away
		BeforeAll(func(ctx context.Context) {
			away = prepareAway(ctx)
			withoutGatePolicy(ctx)
			Expect(manager.Stop(ctx)).To(Succeed())
			DeferCleanup(func(ctx context.Context) { Expect(manager.Start(ctx)).To(Succeed()) })
			Eventually(gatesOf(ctx, newPod(away.ongoing[with].namespace, "start"))).Should(BeEmpty())
			Expect(manager.Start(ctx)).To(Succeed())
		})

		DescribeTable("a new release", func(ctx context.Context, way way, there gomegatypes.GomegaMatcher) {
			web := away.fresh[way]
			web.begin(ctx)
			Eventually(web.ready(ctx)).Should(there)
			Consistently(web.ready(ctx)).Should(there)
		},
			Entry("is rolled out: Native", native, rolledOut),
			Entry("is at its step, by the webhook: With", with, atFirst),
			Entry("is at its step, by the webhook: Before", before, atFirst),
			Entry("is parked: Park", park, nowhere),
		)

		DescribeTable("a release under way", func(ctx context.Context, way way, there gomegatypes.GomegaMatcher) {
			web := away.ongoing[way]
			if way == with || way == before {
				web.lose(ctx)
			}
			Eventually(web.ready(ctx)).Should(there)
			Consistently(web.ready(ctx)).Should(there)
		},
			Entry("goes on: Native", native, rolledOut),
			Entry("stays at its step, by the webhook: With", with, atFirst),
			Entry("stays at its step, by the webhook: Before", before, atFirst),
			Entry("stays parked: Park", park, nowhere),
		)

		DescribeTable("and all replicas: pods of the release come without a gate:", func(ctx context.Context, way way) {
			Expect(manager.Stop(ctx)).To(Succeed())
			web := away.ongoing[way]
			web.lose(ctx)
			Eventually(web.ready(ctx)).Should(MatchRegexp(`^. old, [1-4] new$`))
			Eventually(func() []string { return closedGates(ctx, web.namespace) }).Should(BeEmpty())
		}, entries("With", with, "Before", before))

		It("and everything goes on once they are back", func(ctx context.Context) {
			Expect(manager.Start(ctx)).To(Succeed())
			away.isBack(ctx)
		})
	})

	Context("the verifier:", slow, Ordered, ContinueOnFailure, func() {
		var away away
		checkedByServer()
		BeforeAll(func(ctx context.Context) {
			away = prepareAway(ctx)
			server.SetFault(altershield.Fault{Kind: altershield.FaultDown})
		})

		DescribeTable("a new release", func(ctx context.Context, way way, there gomegatypes.GomegaMatcher, shown string) {
			web := away.fresh[way]
			server.SetFault(altershield.Fault{Kind: altershield.FaultDown})
			web.begin(ctx)
			Eventually(web.ready(ctx)).Should(there)
			Consistently(web.ready(ctx)).Should(there)
			Eventually(func() string {
				record := web.present(ctx)
				return fmt.Sprintf("%s %s %s", record.Status.Status, reason(record.Status.Conditions, "Verified"), reason(record.Status.Conditions, "Paced"))
			}).Should(Equal(shown))
		},
			Entry("is rolled out, and not verified: Native", native, rolledOut, "Running Verifying "),
			Entry("waits for its order: With", with, nowhere, "Running Paced AwaitingOrder"),
			Entry("waits for its order: Before", before, nowhere, "Running Paced AwaitingOrder"),
			Entry("is parked: Park", park, nowhere, "Running Frozen "),
		)

		DescribeTable("a release under way", func(ctx context.Context, way way, there gomegatypes.GomegaMatcher) {
			server.SetFault(altershield.Fault{Kind: altershield.FaultDown})
			Eventually(away.ongoing[way].ready(ctx)).Should(there)
			Consistently(away.ongoing[way].ready(ctx)).Should(there)
		}, stays())

		DescribeTable("a new release goes on, unchecked, once its checks had their time:", func(ctx context.Context, way way) {
			server.SetFault(altershield.Fault{Kind: altershield.FaultDown})
			web := away.fresh[way]
			Eventually(func() string {
				for _, check := range changePods(ctx, web.namespace) {
					if check.Spec.ChangeWorkloadID == web.record(ctx) && check.Status.Status != "ExecuteDone" && check.Status.Deadline != nil {
						expire(ctx, web.namespace, check.Name)
					}
				}
				return web.step(ctx)()
			}).Should(Equal("1/2 True AwaitingApproval"))
			Eventually(web.ready(ctx)).Should(atFirst)
		}, entries("With", with, "Before", before))

		It("and everything goes on once it is back", func(ctx context.Context) {
			server.ClearFaults()
			away.isBack(ctx)
		})
	})
})

// entries returns an entry for each description and parameter.
func entries(pairs ...any) (entries []TableEntry) {
	for i := 0; i < len(pairs); i += 2 {
		entries = append(entries, Entry(pairs[i], pairs[i+1]))
	}
	return entries
}

// underWayStays are the releases under way while nothing leads them: what was let is rolled out, and no more.
func underWayStays(away *away) {
	DescribeTable("a release under way", func(ctx context.Context, way way, there gomegatypes.GomegaMatcher) {
		web := away.ongoing[way]
		Eventually(web.ready(ctx)).Should(there)
		Consistently(web.ready(ctx)).Should(there)
		if way != with && way != before {
			return
		}
		By("losing pods: those of the version before come back")
		web.lose(ctx)
		Eventually(web.ready(ctx)).Should(lost)
		Eventually(func() []string { return closedGates(ctx, web.namespace) }).ShouldNot(BeEmpty())
		Consistently(web.ready(ctx)).Should(lost)
	}, stays())
}

// stays returns where the releases under way are while a part is away.
func stays() []TableEntry {
	return []TableEntry{
		Entry("goes on: Native", native, rolledOut),
		Entry("stays at its step: With", with, atFirst),
		Entry("stays at its step: Before", before, atFirst),
		Entry("stays parked: Park", park, nowhere),
	}
}

// lead makes a replica that doesn't exist the leader, or none.
func lead(ctx context.Context, holder string) {
	GinkgoHelper()
	output, err := kubectl(ctx, "-n", system, "patch", "lease", "altershieldoperator.app.ops.cloud.alipay.com", "--type=merge", "-p",
		fmt.Sprintf(`{"spec":{"holderIdentity":%q,"leaseDurationSeconds":3600}}`, holder))
	Expect(err).NotTo(HaveOccurred(), output)
}
