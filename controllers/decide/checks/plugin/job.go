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

package plugin

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/platform/oneline"
)

const (
	// container is the name of the container of a Job.
	container = "check"
	// jobKept is how many seconds a finished Job is kept, so that its result is seen, and can be looked into. One that is waited for is read for
	// longer: if it were gone, it would run a second time.
	jobKept = 3600
)

// Job returns the Job of a check. Its controller is the record of the release: without one it would be a workload under change control itself.
// Its pod has neither the labels of the workload nor a token, and conforms to the Pod Security Standard restricted.
func Job(release *checks.Scene, asked *Question) *batchv1.Job {
	labels, spec := jobLabels(asked), asked.Job
	made := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: release.Namespace, Name: asked.Run.Name, Labels: jobLabels(asked),
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: appv1alpha1.GroupVersion.String(), Kind: "ChangeWorkload", Name: asked.Run.Record, UID: asked.Run.UID, Controller: ptr.To(true),
			}},
		},
		Spec: batchv1.JobSpec{
			BackoffLimit: ptr.To[int32](0), ActiveDeadlineSeconds: ptr.To(int64(spec.TimeoutSeconds)), TTLSecondsAfterFinished: ptr.To(jobKept + asked.Run.Waits),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyNever, AutomountServiceAccountToken: ptr.To(false), EnableServiceLinks: ptr.To(false),
					SecurityContext: &corev1.PodSecurityContext{
						RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To(spec.RunAsUser),
						SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
					},
					Containers: []corev1.Container{{
						Name: container, Image: spec.Image, Command: spec.Command, Args: spec.Args, Env: environment(release, spec.Env),
						TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
						SecurityContext: &corev1.SecurityContext{
							AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
						},
					}},
				},
			},
		},
	}
	for key, value := range asked.Run.Labels {
		made.Labels[key] = value
	}
	if spec.Resources != nil {
		made.Spec.Template.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: spec.Resources.Requests, Limits: spec.Resources.Limits}
	}
	return made
}

// jobLabels returns the labels of a Job and of its pod.
func jobLabels(asked *Question) map[string]string {
	return map[string]string{appv1alpha1.LabelCheck: asked.Check, appv1alpha1.LabelCheckOf: asked.Run.Release}
}

func environment(release *checks.Scene, spec []appv1alpha1.JobVariable) []corev1.EnvVar {
	var environment []corev1.EnvVar
	of := variables(release)
	of["$release"] = strconv.FormatInt(release.Number, 10)
	for _, variable := range spec {
		environment = append(environment, corev1.EnvVar{Name: variable.Name, Value: string(of.value(variable.Value))})
	}
	return environment
}

// OfJob returns what a Job says, whose pods these are. until is the next look: a Job whose deadline is before that is not waited for if its
// pod can't start, as the deadline will remove the pod, and what it waits for.
func OfJob(job *batchv1.Job, pods []corev1.Pod, until time.Time) Answer {
	pod, what := podOf(job, pods), "Job "+job.Name
	failed := endOf(job, batchv1.JobFailed)
	switch {
	case endOf(job, batchv1.JobComplete) != nil:
		return passed(what)
	case failed == nil:
		return unfinished(job, pod, until)
	case failed.Reason == batchv1.JobReasonDeadlineExceeded:
		return final(Answer{Verdict: appv1alpha1.CheckInconclusive, Reason: ReasonJobTimedOut, Message: fmt.Sprintf("%s: not finished after %d seconds", what, ptr.Deref(job.Spec.ActiveDeadlineSeconds, 0))})
	case pod == nil:
		return final(Broken(ReasonJobInterrupted, what+": its pod was deleted"))
	default:
		return ofPod(what, pod)
	}
}

func passed(what string) Answer {
	return final(Answer{Verdict: appv1alpha1.CheckPass, Reason: appv1alpha1.ReasonCheckPassed, Message: what + ": exit code 0"})
}

// ofPod returns what the failed pod of a Job says. Only the exit code of the script itself fails a release.
func ofPod(what string, pod *corev1.Pod) Answer {
	ended := containerOf(pod).State.Terminated
	isDisrupted := slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
		return condition.Type == corev1.DisruptionTarget && condition.Status == corev1.ConditionTrue
	})
	switch {
	case pod.Status.Reason != "": // such as Evicted
		return final(Broken(ReasonJobInterrupted, oneline.Of(fmt.Sprintf("%s: its pod failed: %s", what, said(pod.Status.Reason, pod.Status.Message)), maxText)))
	case isDisrupted, ended == nil, ended.Reason == "Unknown": // as containerd says of a container that is gone after its node restarted
		return final(Broken(ReasonJobInterrupted, what+": its pod was interrupted"))
	case ended.Reason == "OOMKilled":
		return final(Broken(ReasonJobInterrupted, what+": ran out of memory (OOMKilled)"))
	case ended.StartedAt.IsZero(), ended.Reason == "StartError", ended.Reason == "ContainerCannotRun":
		return final(Broken(ReasonJobNotStarted, oneline.Of(fmt.Sprintf("%s: %s", what, said(ended.Reason, ended.Message)), maxText)))
	}
	if ended.ExitCode == 0 { // another container failed the pod
		return passed(what)
	}
	message := fmt.Sprintf("%s: exit code %d", what, ended.ExitCode)
	if told := strings.TrimSpace(ended.Message); told != "" {
		message += ": " + told
	}
	return final(Answer{Verdict: appv1alpha1.CheckFail, Reason: appv1alpha1.ReasonCheckFailed, Message: oneline.Of(message, maxText)})
}

// unfinished returns what a Job says that isn't over.
func unfinished(job *batchv1.Job, pod *corev1.Pod, until time.Time) Answer {
	what, began, obstacle := "Job "+job.Name, job.Status.StartTime, obstacleOf(pod)
	switch {
	case ptr.Deref(job.Spec.Suspend, false): // by a queue, which has no deadline
		return Broken(ReasonJobNotStarted, what+": suspended")
	case began == nil, obstacle == "":
		return Answer{Verdict: appv1alpha1.CheckInconclusive, Reason: ReasonJobRunning, Message: what + ": not finished yet"}
	}
	answer, deadline := Broken(ReasonJobNotStarted, oneline.Of(what+": "+obstacle, maxText)), began.Add(time.Duration(ptr.Deref(job.Spec.ActiveDeadlineSeconds, 0))*time.Second)
	answer.Final = !deadline.After(until)
	return answer
}

// obstacleOf returns why the pod of a Job doesn't start, empty if it does.
func obstacleOf(pod *corev1.Pod) string {
	if pod == nil {
		return "no pod could be created: see its Events"
	}
	for i := range pod.Status.Conditions {
		condition := &pod.Status.Conditions[i]
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return "its pod can't be scheduled: " + said(condition.Reason, condition.Message)
		}
	}
	waiting := containerOf(pod).State.Waiting
	if waiting == nil || waiting.Reason == "" || waiting.Reason == "ContainerCreating" || waiting.Reason == "PodInitializing" {
		return ""
	}
	return "its pod can't start: " + said(waiting.Reason, waiting.Message)
}

// podOf returns the newest pod of a Job, nil if there is none. A backoffLimit of 0 permits one; another one replaces a pod that is deleted.
func podOf(job *batchv1.Job, pods []corev1.Pod) *corev1.Pod {
	var newest *corev1.Pod
	for i := range pods {
		pod := &pods[i]
		if metav1.IsControlledBy(pod, job) && (newest == nil || newest.CreationTimestamp.Before(&pod.CreationTimestamp)) {
			newest = pod
		}
	}
	return newest
}

// containerOf returns the status of the script's container. Admission may have added others.
func containerOf(pod *corev1.Pod) corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == container {
			return pod.Status.ContainerStatuses[i]
		}
	}
	return corev1.ContainerStatus{}
}

// endOf returns the condition with which a Job ended, nil if it hasn't ended like that.
func endOf(job *batchv1.Job, end batchv1.JobConditionType) *batchv1.JobCondition {
	for i := range job.Status.Conditions {
		if condition := &job.Status.Conditions[i]; condition.Type == end && condition.Status == corev1.ConditionTrue {
			return condition
		}
	}
	return nil
}

// final returns an answer after which no other one follows.
func final(answer Answer) Answer {
	answer.Final = true
	return answer
}
