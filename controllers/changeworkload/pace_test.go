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

package changeworkload

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/workloadpatch"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/daemonset"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
	"github.com/traas-stack/altershield-operator/controllers/workload/job"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
)

func TestObstacleOf(t *testing.T) {
	noGates := "nothing is installed that adds gates to pods"
	for _, row := range []struct {
		name    string
		kind    workload.Kind
		mark    appv1alpha1.Lever
		traffic appv1alpha1.Traffic
		gated   metav1.ConditionStatus
		change  func(*scene)
		want    string
	}{
		{name: "none for gates that are installed", kind: deployment.Kind{}, mark: "Gates", gated: "True"},
		{name: "none before that is known", kind: deployment.Kind{}, mark: "Gates", gated: "Unknown"},
		{name: "no gates", kind: deployment.Kind{}, mark: "Gates", gated: "False", want: noGates},
		{name: "no gates for a release that has yet to be marked", kind: deployment.Kind{}, gated: "False", want: noGates},
		{name: "all pods are replaced at once", kind: deployment.Kind{}, mark: "Gates", gated: "True",
			change: func(scene *scene) { scene.Recreate = true }, want: "the strategy Recreate starts all pods at once"},
		{name: "none for a partition without gates", kind: statefulset.Kind{}, mark: "Partition", gated: "False"},
		{name: "nor before traffic: the pods get it unchecked, but in steps", kind: statefulset.Kind{}, mark: "Partition", traffic: "Before", gated: "False"},
		{name: "nor for nodes", kind: daemonset.Kind{}, mark: "Nodes", traffic: "Before", gated: "False"},
		{name: "nothing holds back a run", kind: job.Kind{}, gated: "True", want: "nothing holds back the pods of a Job"},
	} {
		t.Run(row.name, func(t *testing.T) {
			seen := &scene{kind: row.kind, Observation: decide.Observation{Kind: row.kind.GroupVersionKind().Kind}}
			if row.mark != "" {
				seen.Pace.Mark = &appv1alpha1.Paced{Lever: row.mark}
			}
			if row.change != nil {
				row.change(seen)
			}
			policy := &appv1alpha1.ReleasePolicy{}
			policy.Spec.Steps, policy.Spec.Traffic = []appv1alpha1.ReleaseStep{{Replicas: 1}}, row.traffic
			policy.Status.Conditions = []metav1.Condition{{Type: "Gated", Status: row.gated}}
			NewWithT(t).Expect(obstacleOf(seen, policy)).To(Equal(row.want))
		})
	}
}

// The end of the pace isn't stored yet.
func TestPaceLeavesThePartitionOfAUserWhoEndedAHold(t *testing.T) {
	set := &appsv1.StatefulSet{}
	set.Spec.Replicas = ptr.To[int32](20)
	set.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: ptr.To[int32](10)}
	for hold, want := range map[decide.Hold]*int32{decide.Overridden: nil, decide.HeldForStep: ptr.To[int32](5)} {
		seen, change := &scene{kind: statefulset.Kind{}, owner: set}, workloadpatch.Change{}
		seen.Current, seen.Desired, seen.Hold, seen.Pace.Mark = true, 20, hold, &appv1alpha1.Paced{Lever: "Partition"}
		seen.pace(&change, &decide.Decision{Let: 5})
		NewWithT(t).Expect(change.Let).To(Equal(want), string(hold))
	}
}

// The pods that a user keeps back have the lowest indexes, the others those above.
func TestLetFromCountsThePodsThatAUserKeepsBack(t *testing.T) {
	seen := &scene{kind: deployment.Kind{}, owner: &appsv1.Deployment{}}
	seen.Desired, seen.Kept = 3, 2
	for _, index := range []string{"3", "4"} {
		seen.pods = append(seen.pods, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"apps.kubernetes.io/pod-index": index}}})
	}
	NewWithT(t).Expect(seen.letFrom(&decide.Decision{Let: 2})).To(BeEquivalentTo(2))
}
