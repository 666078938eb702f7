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

package plugin_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrlyaml "sigs.k8s.io/yaml"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/plugin"
)

// smoke is the question of a check of the type Job.
func smoke() *plugin.Question {
	return &plugin.Question{
		Policy: "scoring/smoke", Check: "smoke",
		Run: plugin.Run{
			Name: "model-smoke-3-0123456789", Record: "model--x--6a8f", UID: "uid", Release: "uid.3", Labels: map[string]string{"app.kubernetes.io/deployment-name": "model"},
		},
		Job: &appv1alpha1.JobCheck{
			Image: "busybox:1.36", Command: []string{"sh", "-c", "wget -qO- http://$(WORKLOAD)/healthz"}, Args: []string{"a"}, RunAsUser: 65532, TimeoutSeconds: 300,
			Env: []appv1alpha1.JobVariable{
				{Name: "A", Value: "$namespace"}, {Name: "B", Value: "$workload"}, {Name: "C", Value: "$kind"}, {Name: "D", Value: "$version"},
				{Name: "E", Value: "$release"}, {Name: "F", Value: "$(B)-$version"},
			},
			Resources: &appv1alpha1.JobResources{
				Requests: corev1.ResourceList{"cpu": resource.MustParse("10m")}, Limits: corev1.ResourceList{"memory": resource.MustParse("64Mi")},
			},
		},
	}
}

func TestJob(t *testing.T) {
	g := NewWithT(t)
	made, err := ctrlyaml.Marshal(plugin.Job(release(1, 1), smoke()))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(made).To(MatchYAML(`
metadata:
  name: model-smoke-3-0123456789
  namespace: scoring
  labels:
    altershield.defense.antgroup.com/check: smoke
    altershield.defense.antgroup.com/check-of: uid.3
    app.kubernetes.io/deployment-name: model
  ownerReferences:
  - {apiVersion: app.ops.cloud.alipay.com/v1alpha1, kind: ChangeWorkload, name: model--x--6a8f, uid: uid, controller: true}
spec:
  activeDeadlineSeconds: 300
  backoffLimit: 0
  ttlSecondsAfterFinished: 3600
  template:
    metadata:
      labels:
        altershield.defense.antgroup.com/check: smoke
        altershield.defense.antgroup.com/check-of: uid.3
    spec:
      automountServiceAccountToken: false
      enableServiceLinks: false
      restartPolicy: Never
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        seccompProfile: {type: RuntimeDefault}
      containers:
      - name: check
        image: busybox:1.36
        command: [sh, -c, 'wget -qO- http://$(WORKLOAD)/healthz']
        args: [a]
        env:
        - {name: A, value: scoring}
        - {name: B, value: model}
        - {name: C, value: Deployment}
        - {name: D, value: 6a8f}
        - {name: E, value: "3"}
        - {name: F, value: $(B)-$version}
        resources:
          requests: {cpu: 10m}
          limits: {memory: 64Mi}
        securityContext:
          allowPrivilegeEscalation: false
          capabilities: {drop: [ALL]}
        terminationMessagePolicy: FallbackToLogsOnError
status: {}
`))
	question := smoke()
	question.Job.Resources = nil
	g.Expect(plugin.Job(release(1, 1), question).Spec.Template.Spec.Containers[0].Resources).To(Equal(corev1.ResourceRequirements{}))
}

// ran returns a Job that began at the time began, with a condition if it has ended.
func ran(condition batchv1.JobConditionType, reason string) *batchv1.Job {
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "smoke", UID: "job"}, Spec: batchv1.JobSpec{ActiveDeadlineSeconds: ptr.To[int64](300)},
		Status: batchv1.JobStatus{StartTime: ptr.To(metav1.NewTime(began))},
	}
	if condition != "" {
		job.Status.Conditions = []batchv1.JobCondition{
			{Type: "SuccessCriteriaMet", Status: "False"}, {Type: "Complete", Status: "False"}, {Type: condition, Status: "True", Reason: reason},
		}
	}
	return job
}

// podOf returns a pod of the Job, which another container was injected into.
func podOf(state corev1.ContainerState) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "smoke-1", CreationTimestamp: metav1.NewTime(began), OwnerReferences: []metav1.OwnerReference{{UID: "job", Controller: ptr.To(true)}}},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
			{Name: "proxy", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}, {Name: "check", State: state},
		}},
	}
}

func ended(code int32, reason, message string) corev1.Pod {
	return podOf(corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message, StartedAt: metav1.NewTime(began)}})
}

func waiting(reason, message string) corev1.Pod {
	return podOf(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}})
}

func with(pod corev1.Pod, status corev1.PodStatus) corev1.Pod {
	status.ContainerStatuses = pod.Status.ContainerStatuses
	pod.Status = status
	return pod
}

func TestOfJob(t *testing.T) {
	failed := ran("Failed", "BackoffLimitExceeded")
	foreign := ended(0, "", "")
	foreign.OwnerReferences, foreign.CreationTimestamp = nil, metav1.NewTime(began.Add(time.Hour))
	later := ended(4, "Error", "")
	later.CreationTimestamp = metav1.NewTime(began.Add(time.Second))
	unstarted, suspended, new := ended(128, "ContainerCannotRun", "no such file"), ran("", ""), ran("", "")
	unstarted.Status.ContainerStatuses[1].State.Terminated.StartedAt = metav1.Time{}
	suspended.Spec.Suspend, suspended.Status.StartTime, new.Status.StartTime = ptr.To(true), nil, nil
	disrupted := corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: "Ready", Status: "True"}, {Type: "DisruptionTarget", Status: "True"}}}
	unschedulable := corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: "PodScheduled", Status: "False", Reason: "Unschedulable", Message: "0/3 nodes are available"}}}
	for name, row := range map[string]struct {
		job      *batchv1.Job
		pods     []corev1.Pod
		expected string
	}{
		"that is complete":                {ran("Complete", ""), nil, "Pass CheckPassed broken=false final=true Job smoke: exit code 0"},
		"that failed":                     {failed, []corev1.Pod{ended(1, "Error", "healthz:\n\x1b[31m503\n")}, "Fail CheckFailed broken=false final=true Job smoke: exit code 1: healthz:  [31m503"},
		"that failed with a long message": {failed, []corev1.Pod{ended(2, "Error", strings.Repeat("é", 300))}, "Fail CheckFailed broken=false final=true Job smoke: exit code 2: " + strings.Repeat("é", 229) + "..."},
		"that failed without a message":   {failed, []corev1.Pod{foreign, ended(3, "Error", ""), later}, "Fail CheckFailed broken=false final=true Job smoke: exit code 4"},
		"out of memory":                   {failed, []corev1.Pod{ended(137, "OOMKilled", "")}, "Inconclusive JobInterrupted broken=true final=true Job smoke: ran out of memory (OOMKilled)"},
		"that passed beside a container of others that failed": {failed, []corev1.Pod{ended(0, "Completed", "")}, "Pass CheckPassed broken=false final=true Job smoke: exit code 0"},
		"whose node was restarted":                             {failed, []corev1.Pod{ended(255, "Unknown", "")}, "Inconclusive JobInterrupted broken=true final=true Job smoke: its pod was interrupted"},
		"without its program":                                  {failed, []corev1.Pod{ended(128, "StartError", "exec: no such file")}, "Inconclusive JobNotStarted broken=true final=true Job smoke: StartError: exec: no such file"},
		"that was never started":                               {failed, []corev1.Pod{unstarted}, "Inconclusive JobNotStarted broken=true final=true Job smoke: ContainerCannotRun: no such file"},
		"whose pod was evicted": {failed, []corev1.Pod{with(ended(1, "Error", ""), corev1.PodStatus{Reason: "Evicted", Message: "low on\nmemory"})},
			"Inconclusive JobInterrupted broken=true final=true Job smoke: its pod failed: Evicted: low on memory"},
		"whose pod was preempted":       {failed, []corev1.Pod{with(ended(1, "Error", ""), disrupted)}, "Inconclusive JobInterrupted broken=true final=true Job smoke: its pod was interrupted"},
		"whose pod has no result":       {failed, []corev1.Pod{podOf(corev1.ContainerState{})}, "Inconclusive JobInterrupted broken=true final=true Job smoke: its pod was interrupted"},
		"whose pod has no statuses":     {failed, []corev1.Pod{{ObjectMeta: later.ObjectMeta}}, "Inconclusive JobInterrupted broken=true final=true Job smoke: its pod was interrupted"},
		"whose pod is gone":             {failed, []corev1.Pod{foreign}, "Inconclusive JobInterrupted broken=true final=true Job smoke: its pod was deleted"},
		"that took too long":            {ran("Failed", "DeadlineExceeded"), nil, "Inconclusive JobTimedOut broken=false final=true Job smoke: not finished after 300 seconds"},
		"that was just created":         {new, nil, "Inconclusive JobRunning broken=false final=false Job smoke: not finished yet"},
		"that runs":                     {ran("", ""), []corev1.Pod{podOf(corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})}, "Inconclusive JobRunning broken=false final=false Job smoke: not finished yet"},
		"that begins":                   {ran("", ""), []corev1.Pod{waiting("ContainerCreating", "")}, "Inconclusive JobRunning broken=false final=false Job smoke: not finished yet"},
		"that is suspended":             {suspended, nil, "Inconclusive JobNotStarted broken=true final=false Job smoke: suspended"},
		"whose pods are denied":         {ran("", ""), nil, "Inconclusive JobNotStarted broken=true final=false Job smoke: no pod could be created: see its Events"},
		"whose pod can't be scheduled":  {ran("", ""), []corev1.Pod{with(waiting("", ""), unschedulable)}, "Inconclusive JobNotStarted broken=true final=false Job smoke: its pod can't be scheduled: Unschedulable: 0/3 nodes are available"},
		"whose image can't be pulled":   {ran("", ""), []corev1.Pod{waiting("ImagePullBackOff", "back-off\tpulling")}, "Inconclusive JobNotStarted broken=true final=false Job smoke: its pod can't start: ImagePullBackOff: back-off pulling"},
		"whose condition is no verdict": {ran("FailureTarget", "PodFailurePolicy"), []corev1.Pod{ended(1, "Error", "")}, "Inconclusive JobRunning broken=false final=false Job smoke: not finished yet"},
	} {
		t.Run(name, func(t *testing.T) {
			answer := plugin.OfJob(row.job, row.pods, began.Add(299*time.Second))
			told := fmt.Sprintf("%s %s broken=%t final=%t %s", answer.Verdict, answer.Reason, answer.Broken, answer.Final, answer.Message)
			NewWithT(t).Expect(told).To(Equal(row.expected))
		})
	}
}

func TestOfJobDoesNotWaitForADeadlineThatRemovesTheReason(t *testing.T) {
	g := NewWithT(t)
	stuck, runs := []corev1.Pod{waiting("ErrImagePull", "not found")}, []corev1.Pod{podOf(corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})}
	g.Expect(plugin.OfJob(ran("", ""), stuck, began.Add(300*time.Second))).To(Equal(plugin.Answer{
		Verdict: "Inconclusive", Reason: "JobNotStarted", Message: "Job smoke: its pod can't start: ErrImagePull: not found", Broken: true, Final: true,
	}))
	g.Expect(plugin.OfJob(ran("", ""), runs, began.Add(300*time.Second)).Final).To(BeFalse())
}
