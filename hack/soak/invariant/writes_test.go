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

package invariant_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/hack/altershield"
	"github.com/traas-stack/altershield-operator/hack/soak/history"
	"github.com/traas-stack/altershield-operator/hack/soak/invariant"
)

func byOperator(verb, resource, subresource string, touched ...string) []history.Write {
	return newStory().write(history.Write{User: "operator", Verb: verb, Resource: resource, Subresource: subresource, Touched: touched}).writes
}

func TestPodsLetsTheOperatorLabelPodsAndPatchDeployments(t *testing.T) {
	g := NewWithT(t)
	g.Expect(invariant.Pods(byOperator("patch", "pods", "", "metadata.labels", "metadata.resourceVersion"), system()).Violations).To(BeEmpty())
	g.Expect(invariant.Pods(byOperator("patch", "deployments", "", "metadata.labels"), system()).Violations).To(BeEmpty())
	g.Expect(invariant.Pods(byOperator("patch", "pods", "", "metadata.annotations", "spec.schedulingGates"), system()).Violations).To(BeEmpty(), "it opens a gate")
	g.Expect(invariant.Pods(byOperator("patch", "pods", "status", "status.conditions"), system()).Violations).To(BeEmpty(), "it lets traffic in")
	returned := func(kind string) []string {
		writes := byOperator("patch", "pods", "status", "status.phase", "status.reason", "status.message")
		writes[0].Pod = &history.Pod{UID: "x", Kind: kind}
		return invariant.Pods(writes, system()).Violations
	}
	g.Expect(returned("StatefulSet")).To(BeEmpty(), "it waits at its gate")
	g.Expect(returned("ReplicaSet")).To(HaveLen(1))
	deleted := func(kind string) []string {
		pod := history.Pod{UID: "x", Kind: kind}
		return invariant.Pods(newStory().write(history.Write{User: "kubelet", Resource: "pods", Pod: &pod}).
			write(history.Write{User: "operator", Verb: "delete", Resource: "pods", Ended: "x"}).writes, system()).Violations
	}
	g.Expect(deleted("StatefulSet")).To(BeEmpty())
	g.Expect(deleted("DaemonSet")).To(BeEmpty())
	g.Expect(deleted("ReplicaSet")).To(ConsistOf(ContainSubstring("deleted a pod of a ReplicaSet")))
	others := newStory().write(history.Write{User: "admin", Verb: "delete", Resource: "pods"}).writes
	g.Expect(invariant.Pods(others, system()).Violations).To(BeEmpty())
	rolledBack := newStory().deployment("admin", history.Released{Version: "b", Release: 2}).
		deployment("operator", history.Released{Version: "a", Release: 3, Rollbacks: rollback("b", "a", 3)}).writes
	g.Expect(invariant.Pods(rolledBack, system()).Violations).To(BeEmpty())
}

func TestPodsCatchesTheOperatorWhereItTouchesPodsByItself(t *testing.T) {
	for name, writes := range map[string][]history.Write{
		"it deletes one":          byOperator("delete", "pods", ""),
		"it evicts one":           byOperator("create", "pods", "eviction"),
		"it patches its status":   byOperator("patch", "pods", "status", "status.phase"),
		"it patches its spec":     byOperator("patch", "pods", "", "metadata.labels", "spec.containers"),
		"it scales a ReplicaSet":  byOperator("patch", "replicasets", "", "spec.replicas"),
		"it deletes a Deployment": byOperator("delete", "deployments", ""),
		"it changes a template": newStory().deployment("admin", history.Released{Version: "b", Release: 2}).
			deployment("operator", history.Released{Version: "a", Release: 3}).writes,
		"it repeats an old rollback": newStory().deployment("admin", history.Released{Version: "b", Release: 2}).
			deployment("operator", history.Released{Version: "a", Release: 4, Rollbacks: rollback("b", "a", 3)}).writes,
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(invariant.Pods(writes, system()).Violations).To(HaveLen(1))
		})
	}
}

func TestScopeCatchesTheOperatorWhereItMayNotWrite(t *testing.T) {
	g := NewWithT(t)
	in := func(namespace string) []history.Write {
		return newStory().write(history.Write{User: "operator", Verb: "create", Resource: "events", Namespace: namespace}).writes
	}
	g.Expect(invariant.Scope(in("shop"), system()).Violations).To(BeEmpty())
	g.Expect(invariant.Scope(in("system"), system()).Violations).To(BeEmpty())
	g.Expect(invariant.Scope(in("elsewhere"), system()).Violations).To(ConsistOf(ContainSubstring("isn't opted in")))
}

func TestRestTakesWritesOfTheLeaseAlone(t *testing.T) {
	g := NewWithT(t)
	g.Expect(invariant.Rest(byOperator("update", "leases", ""), system()).Violations).To(BeEmpty())
	g.Expect(invariant.Rest(byOperator("patch", "changeworkloads", "status"), system()).Violations).To(HaveLen(1))
}

func TestReleasesAreCountedOneByOne(t *testing.T) {
	g := NewWithT(t)
	first := history.Released{Version: "a", Release: 1}
	second := func(is history.Released) []string {
		return invariant.Releases(newStory().deployment("admin", first).deployment("admin", is).writes, system()).Violations
	}
	g.Expect(second(history.Released{Version: "b", Release: 2})).To(BeEmpty())
	g.Expect(second(first)).To(BeEmpty())
	g.Expect(second(history.Released{Version: "b", Release: 1})).To(ConsistOf(ContainSubstring("release 1 follows release 1, expected 2")))
	g.Expect(second(history.Released{Version: "a", Release: 2})).To(HaveLen(1))
	g.Expect(second(history.Released{Version: "b", Release: 3})).To(HaveLen(1))
	back := newStory().record("a", 3, "Running", "", 1, 0).record("a", 2, "Running", "", 1, 0).writes
	g.Expect(invariant.Releases(back, system()).Violations).To(ConsistOf(ContainSubstring("its status release 2, after release 3")))
}

func TestRecordsCatchesAReleaseThatIsRecordedAgain(t *testing.T) {
	g := NewWithT(t)
	recordedAgain := func(user string, release int64) []string {
		record := func(number int64) history.Write {
			return history.Write{User: "operator", Verb: "create", Resource: "changeworkloads",
				Workload: &history.Workload{UID: "cw", Of: "cart", Version: "a", Release: number}}
		}
		story := newStory().write(record(1)).write(history.Write{User: user, Verb: "delete", Resource: "changeworkloads", Ended: "cw"}).
			write(history.Write{User: "operator", Verb: "patch", Resource: "changeworkloads", Ended: "cw"}).write(record(release))
		return invariant.Records(story.writes, system()).Violations
	}
	g.Expect(recordedAgain("admin", 1)).To(BeEmpty())
	g.Expect(recordedAgain("operator", 2)).To(BeEmpty())
	g.Expect(recordedAgain("operator", 1)).To(ConsistOf(ContainSubstring("release 1 is recorded again")))
}

func TestCompleteCatchesAHistoryWithAGap(t *testing.T) {
	g := NewWithT(t)
	then := func(generation int64) []string {
		return invariant.Complete(newStory().deployment("admin", history.Released{Generation: 1}).
			deployment("admin", history.Released{Generation: generation}).writes).Violations
	}
	g.Expect(then(1)).To(BeEmpty())
	g.Expect(then(2)).To(BeEmpty())
	g.Expect(then(3)).To(ConsistOf(ContainSubstring("generation 3 follows generation 1")))
}

func TestBatchesCatchesAPodThatIsInTwoOfARelease(t *testing.T) {
	g := NewWithT(t)
	twice := func(release int64, deletedBy string) []string {
		return invariant.Batches(newStory().batch("create", "1", "a", 1, false, []string{"x", "y"}, nil).
			write(history.Write{User: deletedBy, Verb: "delete", Resource: "changepods", Ended: "1"}).
			batch("create", "2", "a", release, false, []string{"y"}, nil).writes, system()).Violations
	}
	g.Expect(twice(2, "operator")).To(BeEmpty())
	g.Expect(twice(1, "admin")).To(BeEmpty())
	g.Expect(twice(1, "operator")).To(ConsistOf(ContainSubstring("pod y of release 1 is in ChangePod 1 already")))
}

func TestOrdersAreOneForEachRecordAndEnd(t *testing.T) {
	g := NewWithT(t)
	open := altershield.Order{BizExecOrderID: "default/shop/cart/0123456789/1"}
	ended := altershield.Order{BizExecOrderID: "default/shop/cart/abcdef0123/1", Finishes: []altershield.Finish{{State: "SUCCESS"}}}
	recorded := newStory().record("a", 1, "Running", "Verifying", 1, 0).writes
	g.Expect(invariant.Orders(recorded, []altershield.Order{open}, false).Violations).To(BeEmpty())
	g.Expect(invariant.Orders(recorded, []altershield.Order{open}, true).Violations).To(ConsistOf(ContainSubstring("is still open")))
	g.Expect(invariant.Orders(recorded, []altershield.Order{ended, ended}, true).Violations).To(ConsistOf(ContainSubstring("has 1 records and more orders")))
	again := newStory().record("a", 1, "Running", "Verifying", 1, 0).record("b", 1, "Running", "Verifying", 1, 0).writes
	g.Expect(invariant.Orders(again, []altershield.Order{ended, ended}, true).Violations).To(BeEmpty())
}

func TestFlatCatchesAManagerThatGrows(t *testing.T) {
	g := NewWithT(t)
	of := func(goroutines int, heap int64) []invariant.Process {
		return []invariant.Process{{Name: "manager-1", Pid: 7, Leads: true, Goroutines: goroutines, Heap: heap}, {Name: "manager-2", Pid: 8, Goroutines: 90}}
	}
	before := of(300, 20<<20)
	g.Expect(invariant.Flat(before, of(320, 29<<20)).Violations).To(BeEmpty())
	g.Expect(invariant.Flat(before, of(320, 29<<20)).Observations).To(Equal(4))
	g.Expect(invariant.Flat(before, of(321, 20<<20)).Violations).To(ConsistOf(ContainSubstring("manager-1: 300 goroutines before and 321 after")))
	g.Expect(invariant.Flat(before, of(300, 30<<20)).Violations).To(HaveLen(1))
}

func TestFlatComparesAProcessWithItselfInItsRole(t *testing.T) {
	g := NewWithT(t)
	before := []invariant.Process{{Name: "manager-1", Pid: 7, Leads: true, Goroutines: 10}, {Name: "manager-2", Pid: 8, Goroutines: 10}}
	g.Expect(invariant.Flat(before, []invariant.Process{
		{Name: "manager-1", Pid: 9, Leads: true, Goroutines: 1000}, {Name: "manager-2", Pid: 8, Leads: true, Goroutines: 1000},
	})).To(Equal(invariant.Result{}))
}
