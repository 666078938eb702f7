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

package tracing_test

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/tracing"
)

const (
	deployment = "8f1f6a0e-4c3d-4d1b-9a57-0d3c6a3f2b11"
	version    = "c6c45d23c098bdf181853a85b60b5d74"
)

// at returns a time on the day of the tests.
func at(clock string) time.Time {
	parsed, err := time.Parse("2006-01-02 15:04:05.999999", "2026-11-21 "+clock)
	if err != nil {
		panic(err)
	}
	return parsed
}

// release returns the third release of the Deployment sleep.
func release() tracing.Release {
	return tracing.Release{Workload: deployment, Kind: "Deployment", Namespace: "default", Name: "sleep", Version: version, Number: 3}
}

// workload returns the ChangeWorkload of that release, recorded at 10:00:01, in a state.
func workload(phase string, edits ...func(*appv1alpha1.ChangeWorkload)) *appv1alpha1.ChangeWorkload {
	workload := &appv1alpha1.ChangeWorkload{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "sleep--x--" + version,
			OwnerReferences: []metav1.OwnerReference{{Kind: "Deployment", Name: "sleep", UID: deployment, Controller: ptr.To(true)}},
		},
		Spec: appv1alpha1.ChangeWorkloadSpec{AppName: "sleep", Reversion: version, Release: 3, CreateTimeUnix: at("10:00:01").Unix()},
		Status: appv1alpha1.ChangeWorkloadStatus{
			Status: appv1alpha1.ChangeWorkloadPhase(phase), ObservedRelease: 3, Counts: appv1alpha1.PodCounts{Desired: 5, Passed: 4, Failed: 1},
		},
	}
	for _, edit := range edits {
		edit(workload)
	}
	return workload
}

func condition(kind string, status metav1.ConditionStatus, reason string) func(*appv1alpha1.ChangeWorkload) {
	return func(workload *appv1alpha1.ChangeWorkload) {
		workload.Status.Conditions = append(workload.Status.Conditions, metav1.Condition{
			Type: kind, Status: status, Reason: reason, Message: "what people say is not traced",
		})
	}
}

// batch returns the second batch of the release, created at 10:00:02, in a state.
func batch(phase string, edits ...func(*appv1alpha1.ChangePod)) *appv1alpha1.ChangePod {
	changePod := &appv1alpha1.ChangePod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep--x--" + version + "--x--2", UID: "batch-2"},
		Spec: appv1alpha1.ChangePodSpec{
			ChangeWorkloadID: "sleep--x--" + version, Release: 3, CreateTimeUnix: at("10:00:02").Unix(),
			PodInfos: []appv1alpha1.PodSummary{{Pod: "sleep-1"}, {Pod: "sleep-2"}},
		},
		Status: appv1alpha1.ChangePodStatus{Status: appv1alpha1.ChangePodPhase(phase)},
	}
	for _, edit := range edits {
		edit(changePod)
	}
	return changePod
}

// done ends the check of a batch with a phase and a reason.
func done(message, reason string) func(*appv1alpha1.ChangePod) {
	return func(changePod *appv1alpha1.ChangePod) {
		changePod.Status.Status, changePod.Status.Message = "ExecuteDone", message
		changePod.Status.Conditions = []metav1.Condition{{Type: "Verified", Reason: reason, Message: "what people say is not traced"}}
	}
}

func failed(changePod *appv1alpha1.ChangePod) {
	changePod.Status.PodResults = []appv1alpha1.PodSummary{{Pod: "sleep-2", Verdict: "unpass", Message: "password: secret"}}
}

// atServer has the server fail a pod, which a check judges.
func atServer(changePod *appv1alpha1.ChangePod) {
	changePod.Status.ServerResults = []appv1alpha1.PodSummary{{Pod: "web-1", Verdict: "unpass"}}
}

func verdictAt(clock string) func(*appv1alpha1.ChangePod) {
	return func(changePod *appv1alpha1.ChangePod) {
		changePod.Status.VerdictTime = ptr.To(metav1.NewMicroTime(at(clock)))
	}
}

// told returns spans as text: name, start and end, attributes, and the error.
func told(spans []tracing.Span) []string {
	var lines []string
	for _, span := range spans {
		const clock = "15:04:05.999"
		line := fmt.Sprintf("%s %s %s", span.Name, span.Start.UTC().Format(clock), span.End.UTC().Format(clock))
		for _, attribute := range span.Attributes {
			line += fmt.Sprintf(" %s=%s", attribute.Key, attribute.Value.String())
		}
		if span.Failure != "" {
			line += " ERROR " + span.Failure
		}
		lines = append(lines, line)
	}
	return lines
}
