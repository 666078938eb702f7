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

package view_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

func batchName(number int) string { return fmt.Sprintf("web--x--%s--x--%d", version("49"), number) }

// podBatch returns a batch of pods in a phase.
func podBatch(number int, phase, verified, reason string, pods ...string) appv1alpha1.ChangePod {
	created := appv1alpha1.ChangePod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: batchName(number)},
		Status:     appv1alpha1.ChangePodStatus{Status: appv1alpha1.ChangePodPhase(phase)},
	}
	for _, pod := range pods {
		created.Spec.PodInfos = append(created.Spec.PodInfos, appv1alpha1.PodSummary{Pod: pod})
	}
	if verified != "" {
		created.Status.Conditions = []metav1.Condition{{Type: "Verified", Status: metav1.ConditionStatus(verified), Reason: reason}}
	}
	return created
}

func TestPodsInTheOrderOfTheirBatches(t *testing.T) {
	g := NewWithT(t)
	failed := podBatch(2, "ExecuteDone", "False", "PodsFailed", "web-c", "web-b")
	failed.Status.PodResults = []appv1alpha1.PodSummary{{Pod: "web-b", Verdict: "unpass", Message: "5xx above 1%"}}
	order := podBatch(1, "ExecuteDone", "True", "PodsPassed")
	order.Spec.Order = true
	of := facts(workload(7, "49"), record(7, "49"), record(5, "a1"))
	of.Batches = []appv1alpha1.ChangePod{
		podBatch(10, "PostSubmitted", "Unknown", "Checking", "web-e"), podBatch(4, "ExecuteDone", "Unknown", "CheckNotConfigured", "web-d"), order,
		podBatch(3, "ExecuteDone", "True", "PodsPassed", "web-a"), failed, podBatch(11, "PreWait", "", "", "web-f"), podBatch(5, "ExecuteDone", "", "", "web-g"),
	}
	of.Notes = []view.Note{{Lacks: "kept"}}
	list := view.PodsOf(of, []view.Placed{{"web-z", "node-9", "b"}, {"web-y", "", ""}, {"web-a", "node-1", "a"}, {"web-b", "node-2", ""}})
	g.Expect(list.Kind).To(Equal("PodList"))
	g.Expect(list.APIVersion).To(Equal("cli.altershield/v1"))
	g.Expect(list.Release).To(BeEquivalentTo(7))
	g.Expect(list.Version).To(Equal(version("49")))
	g.Expect(list.Notes).To(HaveLen(1))
	g.Expect(list.Items).To(Equal([]view.ReleasedPod{
		{Name: "web-b", Node: "node-2", Batch: 2, ChangePod: batchName(2), State: "failed", Reason: "5xx above 1%"},
		{Name: "web-c", Batch: 2, ChangePod: batchName(2), State: "passed"},
		{Name: "web-a", Node: "node-1", Zone: "a", Batch: 3, ChangePod: batchName(3), State: "passed"},
		{Name: "web-d", Batch: 4, ChangePod: batchName(4), State: "unchecked", Reason: "CheckNotConfigured"},
		{Name: "web-g", Batch: 5, ChangePod: batchName(5), State: "passed"},
		{Name: "web-e", Batch: 10, ChangePod: batchName(10), State: "checking", Stage: "POST"},
		{Name: "web-f", Batch: 11, ChangePod: batchName(11), State: "checking", Stage: "PRE"},
		{Name: "web-y", State: "waiting"},
		{Name: "web-z", Node: "node-9", Zone: "b", State: "waiting"},
	}))
	g.Expect(list.Counts).To(Equal(map[view.PodState]int{"failed": 1, "passed": 3, "unchecked": 1, "checking": 2, "waiting": 2}))
}

func TestAtMost10000PodsAreListed(t *testing.T) {
	g := NewWithT(t)
	var placed []view.Placed
	for at := range 10003 {
		placed = append(placed, view.Placed{Name: fmt.Sprintf("web-%05d", at)})
	}
	list := view.PodsOf(facts(workload(7, "49")), placed)
	g.Expect(list.Items).To(HaveLen(10000))
	g.Expect(list.More).To(Equal(3))
	g.Expect(list.Counts).To(Equal(map[view.PodState]int{"waiting": 10003}))
}

func TestWhereAPodRuns(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-a", Labels: map[string]string{"topology.kubernetes.io/zone": "eu-1"}}, Spec: corev1.PodSpec{NodeName: "node-1"}}
	NewWithT(t).Expect(view.PlacedOf(pod)).To(Equal(view.Placed{Name: "web-a", Node: "node-1", Zone: "eu-1"}))
}

func TestActionsNameTheRightOfEachVerb(t *testing.T) {
	g := NewWithT(t)
	rights := map[string]string{}
	list := view.ActionsOf(facts(nil, record(7, "49")))
	for _, action := range list.Items {
		rights[action.Verb] = action.Right
		g.Expect(action.Needs.Namespace).To(Equal("shop"))
		g.Expect(action.May).To(BeNil())
	}
	g.Expect(list.Kind).To(Equal("ActionList"))
	change := "patch deployments.apps"
	g.Expect(rights).To(Equal(map[string]string{
		"rollback": change, "go-on": change, "hold": change, "resume": change,
		"approve": "create changeapprovals.app.ops.cloud.alipay.com", "deny": "create changeapprovals.app.ops.cloud.alipay.com",
		"verdict":     "patch changepods.app.ops.cloud.alipay.com/status",
		"freeze-lock": "create changefreezes.app.ops.cloud.alipay.com", "freeze-unlock": "delete changefreezes.app.ops.cloud.alipay.com",
		"break-glass": "create breakglasses.app.ops.cloud.alipay.com",
	}))
	g.Expect(list.Items[0].Needs.Name).To(Equal("web"))

	core := facts(nil)
	core.Reference = appv1alpha1.WorkloadReference{APIVersion: "v1", Kind: "Thing", Name: "web"}
	g.Expect(view.ActionsOf(core).Items[0].Right).To(Equal("patch things"))
}
