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

package scope_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/workload"

	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
)

var now = metav1.NewTime(time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC))

// full returns metadata with all fields set.
func full() metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: "sleep", Namespace: "default", UID: "u-1", ResourceVersion: "42", Generation: 7,
		GenerateName: "sleep-", CreationTimestamp: now, DeletionTimestamp: &now, DeletionGracePeriodSeconds: ptr.To(int64(30)),
		Labels:          map[string]string{"admission-webhook-altershield.antgroup.com/version": "c6c45d23c098bdf181853a85b60b5d74"},
		Annotations:     map[string]string{"note": "b", "kubectl.kubernetes.io/last-applied-configuration": "{}"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "owner", UID: "u-2", Controller: ptr.To(true)}},
		Finalizers:      []string{"example.com/a"},
		ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
	}
}

// kept returns the part of it that every transform keeps.
func kept() metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: "sleep", Namespace: "default", UID: "u-1", ResourceVersion: "42", CreationTimestamp: now, DeletionTimestamp: &now,
		Labels:          map[string]string{"admission-webhook-altershield.antgroup.com/version": "c6c45d23c098bdf181853a85b60b5d74"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "owner", UID: "u-2", Controller: ptr.To(true)}},
	}
}

// optionsOf returns the cache options of a kind.
func optionsOf(t *testing.T, object client.Object) cache.ByObject {
	t.Helper()
	options, err := scope.CacheOptions(workload.Registry{deployment.Kind{}})
	if err != nil {
		t.Fatal(err)
	}
	for candidate, byObject := range options.ByObject {
		if fmt.Sprintf("%T", candidate) == fmt.Sprintf("%T", object) {
			return byObject
		}
	}
	t.Fatalf("the cache does not know %T", object)
	return cache.ByObject{}
}

func transform(t *testing.T, object client.Object) any {
	t.Helper()
	result, err := optionsOf(t, object).Transform(object)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestCacheOptionsKeepWhatIsReadAndDropTheRest(t *testing.T) {
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "sleep", Image: "busybox"}}}}
	deploymentMeta := kept()
	deploymentMeta.Generation, deploymentMeta.Annotations = 7, map[string]string{"note": "b"}
	replicaSetFull, replicaSetKept := full(), kept()
	replicaSetFull.Annotations["deployment.kubernetes.io/revision"] = "3"
	replicaSetFull.Annotations["rollout.argoproj.io/revision"] = "4"
	replicaSetKept.Annotations = map[string]string{"deployment.kubernetes.io/revision": "3", "rollout.argoproj.io/revision": "4"}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}
	for _, row := range []struct {
		name         string
		object, want client.Object
	}{
		{"of a Namespace its labels",
			&corev1.Namespace{ObjectMeta: full(), Spec: corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{"kubernetes"}}, Status: corev1.NamespaceStatus{Phase: "Active"}},
			&corev1.Namespace{ObjectMeta: kept()}},
		{"of a Deployment also generation, annotations, replicas, paused, minReadySeconds, the strategy's type and how far its rollout is",
			&appsv1.Deployment{ObjectMeta: full(),
				Spec: appsv1.DeploymentSpec{Replicas: ptr.To(int32(5)), Paused: true, MinReadySeconds: 3, Template: template,
					Strategy: appsv1.DeploymentStrategy{Type: "RollingUpdate", RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: ptr.To(intstr.FromInt32(1))}},
					Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "sleep"}}, ProgressDeadlineSeconds: ptr.To(int32(600))},
				Status: appsv1.DeploymentStatus{Replicas: 5, UpdatedReplicas: 4, ReadyReplicas: 3, Conditions: []appsv1.DeploymentCondition{{Type: "Available"}}}},
			&appsv1.Deployment{ObjectMeta: deploymentMeta, Spec: appsv1.DeploymentSpec{Replicas: ptr.To(int32(5)), Paused: true, MinReadySeconds: 3,
				Strategy: appsv1.DeploymentStrategy{Type: "RollingUpdate"}}, Status: appsv1.DeploymentStatus{Replicas: 5, UpdatedReplicas: 4}}},
		{"of a ReplicaSet also its revision, its replicas and how many of them are ready",
			&appsv1.ReplicaSet{ObjectMeta: replicaSetFull,
				Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To(int32(5)), Template: template, MinReadySeconds: 3},
				Status: appsv1.ReplicaSetStatus{Replicas: 5, ReadyReplicas: 4, AvailableReplicas: 3, FullyLabeledReplicas: 5,
					Conditions: []appsv1.ReplicaSetCondition{{Type: "ReplicaFailure", Status: "False"}, {Type: "Other", Status: "True"}}}},
			&appsv1.ReplicaSet{ObjectMeta: replicaSetKept, Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To(int32(5))}, Status: appsv1.ReplicaSetStatus{ReadyReplicas: 4}}},
		{"of a ReplicaSet whose pods can't be created why",
			&appsv1.ReplicaSet{ObjectMeta: full(), Status: appsv1.ReplicaSetStatus{
				Conditions: []appsv1.ReplicaSetCondition{{Type: "Other"}, {Type: "ReplicaFailure", Status: "True", LastTransitionTime: now, Reason: "FailedCreate", Message: "b"}}}},
			&appsv1.ReplicaSet{ObjectMeta: kept(), Status: appsv1.ReplicaSetStatus{
				Conditions: []appsv1.ReplicaSetCondition{{Type: "ReplicaFailure", Status: "True", LastTransitionTime: now, Reason: "FailedCreate", Message: "b"}}}}},
		{"of a ReplicaSet without a revision no annotation",
			&appsv1.ReplicaSet{ObjectMeta: full(), Status: appsv1.ReplicaSetStatus{Replicas: 5}}, &appsv1.ReplicaSet{ObjectMeta: kept()}},
		{"of a Pod also host name, node, address, phase and readiness",
			&corev1.Pod{ObjectMeta: full(),
				Spec: corev1.PodSpec{Hostname: "db", NodeName: "node-1", Containers: template.Spec.Containers},
				Status: corev1.PodStatus{Phase: "Running", PodIP: "10.244.1.198", HostIP: "10.0.0.1", Message: "a", Reason: "b",
					Conditions: []corev1.PodCondition{
						{Type: "PodScheduled", Status: "True", LastTransitionTime: now},
						{Type: "Ready", Status: "True", LastTransitionTime: now, LastProbeTime: now, Reason: "a", Message: "b"},
						{Type: "ContainersReady", Status: "True", LastTransitionTime: now},
					},
					ContainerStatuses: []corev1.ContainerStatus{{Name: "sleep", State: running}}}},
			&corev1.Pod{ObjectMeta: kept(), Spec: corev1.PodSpec{Hostname: "db", NodeName: "node-1"}, Status: corev1.PodStatus{Phase: "Running", PodIP: "10.244.1.198",
				Conditions: []corev1.PodCondition{{Type: "Ready", Status: "True", LastTransitionTime: now}}}}},
		{"of a Pod that isn't ready also when it was started",
			&corev1.Pod{ObjectMeta: full(), Status: corev1.PodStatus{StartTime: &now, Conditions: []corev1.PodCondition{
				{Type: "Ready", Status: "False", LastTransitionTime: now, Reason: "ContainersNotReady", Message: "a"},
				{Type: "ContainersReady", Status: "False", LastTransitionTime: now}}}},
			&corev1.Pod{ObjectMeta: kept(), Status: corev1.PodStatus{StartTime: &now, Conditions: []corev1.PodCondition{{Type: "Ready", Status: "False", LastTransitionTime: now}}}}},
		{"of a Pod that isn't scheduled also why",
			&corev1.Pod{ObjectMeta: full(), Status: corev1.PodStatus{Phase: "Pending", Conditions: []corev1.PodCondition{
				{Type: "PodScheduled", Status: "False", LastTransitionTime: now, LastProbeTime: now, Reason: "Unschedulable", Message: "0/3 nodes"}}}},
			&corev1.Pod{ObjectMeta: kept(), Status: corev1.PodStatus{Phase: "Pending", Conditions: []corev1.PodCondition{
				{Type: "PodScheduled", Status: "False", LastTransitionTime: now, Reason: "Unschedulable", Message: "0/3 nodes"}}}}},
		{"of a Pod that doesn't run yet also when it was scheduled",
			&corev1.Pod{ObjectMeta: full(), Status: corev1.PodStatus{Phase: "Pending", Conditions: []corev1.PodCondition{{Type: "PodScheduled", Status: "True", LastTransitionTime: now}}}},
			&corev1.Pod{ObjectMeta: kept(), Status: corev1.PodStatus{Phase: "Pending", Conditions: []corev1.PodCondition{{Type: "PodScheduled", Status: "True", LastTransitionTime: now}}}}},
		{"of a Pod without a status no more", &corev1.Pod{ObjectMeta: full()}, &corev1.Pod{ObjectMeta: kept()}},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(transform(t, row.object)).To(Equal(row.want))
		})
	}
}

func TestSlimPodKeepsContainersInTrouble(t *testing.T) {
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 5m0s"}}
	// ended is the end of a container, with its termination message and all other fields.
	ended := func(code int32, reason string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: code, Signal: 9, Reason: reason, Message: "s3cr3t", StartedAt: now, FinishedAt: now, ContainerID: "containerd://1",
		}}
	}
	slimEnd := func(code int32, reason string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, StartedAt: now, FinishedAt: now}}
	}
	one := func(status corev1.ContainerStatus) []corev1.ContainerStatus {
		status.Name = "app"
		return []corev1.ContainerStatus{status}
	}
	restarted := one(corev1.ContainerStatus{State: running, LastTerminationState: ended(1, "Error"), RestartCount: 3})
	slimRestarted := one(corev1.ContainerStatus{State: running, LastTerminationState: slimEnd(1, "Error"), RestartCount: 3})
	completed, slimCompleted := one(corev1.ContainerStatus{State: ended(0, "Completed")}), one(corev1.ContainerStatus{State: slimEnd(0, "Completed")})
	for _, row := range []struct {
		name     string
		statuses []corev1.ContainerStatus
		policy   corev1.ContainerRestartPolicy
		// want is the kept status of a container, wantInit that of an init container.
		want, wantInit []corev1.ContainerStatus
	}{
		{"not one that runs", one(corev1.ContainerStatus{State: running}), "", nil, nil},
		{"not one that nothing is known of", one(corev1.ContainerStatus{}), "", nil, nil},
		{"one that was started again, unless it is an init container", restarted, "", slimRestarted, nil},
		{"a sidecar that was started again", restarted, "Always", slimRestarted, slimRestarted},
		{"one that ended with status 0, unless it is an init container", completed, "", slimCompleted, nil},
		{"a sidecar that ended with status 0", completed, "Always", slimCompleted, slimCompleted},
		{"not one that may end", completed, "OnFailure", nil, nil},
		{"one that waits, with why it ended before", one(corev1.ContainerStatus{Image: "busybox", ImageID: "sha256:0f", ContainerID: "containerd://2",
			Started: ptr.To(false), State: waiting, LastTerminationState: ended(137, "OOMKilled"), RestartCount: 3}), "",
			one(corev1.ContainerStatus{State: waiting, LastTerminationState: slimEnd(137, "OOMKilled"), RestartCount: 3}),
			one(corev1.ContainerStatus{State: waiting, LastTerminationState: slimEnd(137, "OOMKilled"), RestartCount: 3})},
		{"one that ended badly, without what it wrote", one(corev1.ContainerStatus{State: ended(1, "Error"), Ready: true}), "",
			one(corev1.ContainerStatus{State: slimEnd(1, "Error")}), one(corev1.ContainerStatus{State: slimEnd(1, "Error")})},
		{"those alone, in their order", []corev1.ContainerStatus{{Name: "a", State: waiting}, {Name: "b", State: running}, {Name: "c", State: ended(2, "Error")}}, "",
			[]corev1.ContainerStatus{{Name: "a", State: waiting}, {Name: "c", State: slimEnd(2, "Error")}},
			[]corev1.ContainerStatus{{Name: "a", State: waiting}, {Name: "c", State: slimEnd(2, "Error")}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			containers := []corev1.Container{{Name: "other", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyNever)}, {Name: "app"}}
			if row.policy != "" {
				containers[1].RestartPolicy = &row.policy
			}
			g.Expect(transform(t, &corev1.Pod{Spec: corev1.PodSpec{Containers: containers}, Status: corev1.PodStatus{ContainerStatuses: row.statuses}})).
				To(Equal(&corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: row.want}}))
			g.Expect(transform(t, &corev1.Pod{Spec: corev1.PodSpec{InitContainers: containers}, Status: corev1.PodStatus{InitContainerStatuses: row.statuses}})).
				To(Equal(&corev1.Pod{Status: corev1.PodStatus{InitContainerStatuses: row.wantInit}}))
			g.Expect(transform(t, &corev1.Pod{Status: corev1.PodStatus{EphemeralContainerStatuses: row.statuses}})).
				To(Equal(&corev1.Pod{}), "ephemeral containers don't matter")
		})
	}
}

func TestSlimPodKeepsWhetherAPodOfAJobEnds(t *testing.T) {
	ended := func(code int32) []corev1.ContainerStatus {
		return []corev1.ContainerStatus{{Name: "app", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}}}
	}
	restarted := []corev1.ContainerStatus{{Name: "app", RestartCount: 3, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}}}
	for _, row := range []struct {
		name           string
		restarts, kept corev1.RestartPolicy
		statuses, want []corev1.ContainerStatus
	}{
		{"that ended with success", "Never", "Never", ended(0), nil},
		{"that failed", "Never", "Never", ended(1), ended(1)},
		{"that was restarted", "OnFailure", "OnFailure", restarted, restarted},
		{"that ended with success at last", "OnFailure", "OnFailure", ended(0), nil},
		{"that is always restarted", "Always", "", ended(0), ended(0)},
	} {
		t.Run(row.name, func(t *testing.T) {
			pod := &corev1.Pod{Spec: corev1.PodSpec{RestartPolicy: row.restarts}, Status: corev1.PodStatus{ContainerStatuses: row.statuses}}
			NewWithT(t).Expect(transform(t, pod)).
				To(Equal(&corev1.Pod{Spec: corev1.PodSpec{RestartPolicy: row.kept}, Status: corev1.PodStatus{ContainerStatuses: row.want}}))
		})
	}
}

func TestCacheOptionsKeepADeploymentWithoutAnnotations(t *testing.T) {
	NewWithT(t).Expect(transform(t, &appsv1.Deployment{})).To(Equal(&appsv1.Deployment{}))
}

func TestCacheOptionsPassATombstoneAsItIs(t *testing.T) {
	for _, object := range []client.Object{&corev1.Namespace{}, &appsv1.Deployment{}, &appsv1.ReplicaSet{}, &corev1.Pod{}} {
		t.Run(fmt.Sprintf("%T", object), func(t *testing.T) {
			g := NewWithT(t)
			tombstone := &struct{ Key string }{"default/sleep"}
			result, err := optionsOf(t, object).Transform(tombstone)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(result).To(BeIdenticalTo(tombstone))
		})
	}
}

func TestSlimPodIsSmall(t *testing.T) {
	g := NewWithT(t)
	pod := &corev1.Pod{ObjectMeta: full()}
	pod.ManagedFields[0].FieldsV1 = metav1.NewFieldsV1(strings.Repeat(" ", 4096))
	for i := range 20 {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: fmt.Sprint(i), Image: "busybox"})
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: fmt.Sprint(i), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Message: "s3cr3t"}},
		})
	}
	raw, err := json.Marshal(transform(t, pod))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(raw)).To(BeNumerically("<", 700))
}

// Other gates belong to others, and pods without gates take up no memory for them.
func TestSlimPodKeepsTheGatesOfPacedReleases(t *testing.T) {
	g := NewWithT(t)
	const gate = "altershield.defense.antgroup.com/verified"
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"note": "b", "altershield.defense.antgroup.com/gate-opened": "1795255200"}},
		Spec: corev1.PodSpec{
			SchedulingGates: []corev1.PodSchedulingGate{{Name: "example.com/quota"}, {Name: gate}},
			ReadinessGates:  []corev1.PodReadinessGate{{ConditionType: "example.com/lb"}, {ConditionType: gate}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
			{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: now, Reason: "x"},
			{Type: gate, Status: corev1.ConditionFalse, Message: "release 4"},
			{Type: "example.com/lb", Status: corev1.ConditionFalse},
		}},
	}
	slim := scope.SlimPod(pod)
	g.Expect(slim.Annotations).To(Equal(map[string]string{"altershield.defense.antgroup.com/gate-opened": "1795255200"}))
	g.Expect(slim.Spec.SchedulingGates).To(Equal([]corev1.PodSchedulingGate{{Name: gate}}))
	g.Expect(slim.Spec.ReadinessGates).To(Equal([]corev1.PodReadinessGate{{ConditionType: gate}}))
	g.Expect(slim.Status.Conditions).To(Equal([]corev1.PodCondition{
		{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: now}, {Type: gate, Status: corev1.ConditionFalse},
	}))

	pod.Annotations, pod.Spec.SchedulingGates, pod.Spec.ReadinessGates = nil, pod.Spec.SchedulingGates[:1], pod.Spec.ReadinessGates[:1]
	g.Expect(scope.SlimPod(pod)).To(Equal(&corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning}}))
}
