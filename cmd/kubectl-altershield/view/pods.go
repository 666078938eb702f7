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

package view

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// PodState is the state of a pod of a release. The values are a contract.
type PodState string

const (
	// PodWaiting means that the pod is in no batch yet.
	PodWaiting PodState = "waiting"
	// PodChecking means that its check goes on.
	PodChecking PodState = "checking"
	// PodPassed means that it passed.
	PodPassed PodState = "passed"
	// PodFailed means that it failed.
	PodFailed PodState = "failed"
	// PodNotChecked means that it counts as passed, although nothing checked it.
	PodNotChecked PodState = "unchecked"
)

// PodList is the pods of the present release of a workload, in the order of their batches.
type PodList struct {
	Kind       string        `json:"kind"`
	APIVersion string        `json:"apiVersion"`
	Release    int64         `json:"release,omitempty"`
	Version    string        `json:"version,omitempty"`
	Items      []ReleasedPod `json:"items"`
	// Counts counts the pods by state, also those that are not listed, of which there are More.
	Counts map[PodState]int `json:"counts"`
	More   int              `json:"more,omitempty"`
	Notes  []Note           `json:"notes,omitempty"`
}

// ReleasedPod is a pod of a release.
type ReleasedPod struct {
	Name string `json:"name"`
	// Node and Zone are those that it runs on; empty if it is gone, or if pods can't be read.
	Node string `json:"node,omitempty"`
	Zone string `json:"zone,omitempty"`
	// Batch is the number of its batch, 0 if it is in none yet, and ChangePod the name of the batch.
	Batch     int64    `json:"batch,omitempty"`
	ChangePod string   `json:"changePod,omitempty"`
	State     PodState `json:"state"`
	// Stage is PRE or POST, of a check that goes on.
	Stage string `json:"stage,omitempty"`
	// Reason is why it failed, or why it isn't checked.
	Reason string `json:"reason,omitempty"`
}

// Placed is where a pod runs.
type Placed struct{ Name, Node, Zone string }

// PlacedOf returns where a pod runs. Its zone is known where the API server copies it to pods.
func PlacedOf(pod *corev1.Pod) Placed {
	return Placed{Name: pod.Name, Node: pod.Spec.NodeName, Zone: pod.Labels[corev1.LabelTopologyZone]}
}

// maxPods is how many pods are listed.
const maxPods = 10000

// PodsOf returns the pods of the present release of a workload, by its batches and by the pods of its version.
func PodsOf(facts Facts, placed []Placed) PodList {
	list := PodList{Kind: "PodList", APIVersion: APIVersion, Items: []ReleasedPod{}, Counts: map[PodState]int{}, Notes: facts.Notes}
	if present := PresentOf(facts.Records); present != nil {
		list.Release, list.Version = present.Spec.Release, present.Spec.Reversion
	}
	places := map[string]Placed{}
	for _, pod := range placed {
		places[pod.Name] = pod
	}
	for i := range facts.Batches {
		if facts.Batches[i].Spec.Order {
			continue // its check is of no pod
		}
		for _, pod := range podsIn(&facts.Batches[i]) {
			pod.Node, pod.Zone = places[pod.Name].Node, places[pod.Name].Zone
			delete(places, pod.Name)
			list.Items = append(list.Items, pod)
		}
	}
	for _, pod := range places {
		list.Items = append(list.Items, ReleasedPod{Name: pod.Name, Node: pod.Node, Zone: pod.Zone, State: PodWaiting})
	}
	slices.SortFunc(list.Items, func(a, b ReleasedPod) int {
		if (a.Batch == 0) != (b.Batch == 0) {
			return cmp.Compare(b.Batch, a.Batch) // those in no batch come last
		}
		return cmp.Or(cmp.Compare(a.Batch, b.Batch), cmp.Compare(a.Name, b.Name))
	})
	for i := range list.Items {
		list.Counts[list.Items[i].State]++
	}
	list.More = max(0, len(list.Items)-maxPods)
	list.Items = list.Items[:len(list.Items)-list.More]
	return list
}

// podsIn returns the pods of a batch by their verdicts.
func podsIn(batch *appv1alpha1.ChangePod) []ReleasedPod {
	number := decide.ChangePodNumber(batch.Name)
	judgement := decide.Judge(batch)
	var pods []ReleasedPod
	add := func(summaries []appv1alpha1.PodSummary, pod ReleasedPod) {
		for i := range summaries {
			pod.Name, pod.Batch, pod.ChangePod = summaries[i].Pod, number, batch.Name
			if pod.State == PodFailed {
				pod.Reason = summaries[i].Message
			}
			pods = append(pods, pod)
		}
	}
	add(judgement.Failed, ReleasedPod{State: PodFailed})
	add(judgement.Checking, ReleasedPod{State: PodChecking, Stage: stageOf(batch.Status.Status)})
	passed := ReleasedPod{State: PodPassed}
	if outcomeOf(batch) == BatchNotChecked {
		passed.State = PodNotChecked
		if verified := meta.FindStatusCondition(batch.Status.Conditions, appv1alpha1.ConditionVerified); verified != nil {
			passed.Reason = verified.Reason
		}
	}
	add(judgement.Passed, passed)
	return pods
}
