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

package v1alpha1

// ChangeWorkloadPhase is the state of a release, as the documents name it.
//
// +kubebuilder:validation:Enum="";Running;Failed;TimeOutPreThreshold;Success;Suspend
type ChangeWorkloadPhase string

const (
	// ChangeWorkloadInit is the state of a release that no reconcile has seen yet.
	ChangeWorkloadInit ChangeWorkloadPhase = ""
	// ChangeWorkloadRunning means that pods are awaited or checked.
	ChangeWorkloadRunning ChangeWorkloadPhase = "Running"
	// ChangeWorkloadFailed means that AlterShield Server refused the release: its pods are not checked.
	ChangeWorkloadFailed ChangeWorkloadPhase = "Failed"
	// ChangeWorkloadTimeOutPreThreshold means that waitTimeThreshold passed before countThreshold pods had finished.
	ChangeWorkloadTimeOutPreThreshold ChangeWorkloadPhase = "TimeOutPreThreshold"
	// ChangeWorkloadSuccess means that every desired pod finished and passed.
	ChangeWorkloadSuccess ChangeWorkloadPhase = "Success"
	// ChangeWorkloadSuspend means that a pod failed its check.
	ChangeWorkloadSuspend ChangeWorkloadPhase = "Suspend"
)

// ChangePodPhase is the state of one batch of pods on its way through AlterShield Server.
//
// +kubebuilder:validation:Enum="";PreWait;PreSubmitted;PreFailed;PreTimeout;PostWait;PostSubmitted;PostFinish;PostFailed;PostTimeout;ExecuteDone
type ChangePodPhase string

const (
	// ChangePodInit is the state of a batch that no reconcile has seen yet.
	ChangePodInit ChangePodPhase = ""
	// ChangePodPreWait waits to submit the check before the batch.
	ChangePodPreWait ChangePodPhase = "PreWait"
	// ChangePodPreSubmitted waits for the verdict of the check before the batch.
	ChangePodPreSubmitted ChangePodPhase = "PreSubmitted"
	// ChangePodPreFailed means that the check before the batch could not be submitted, or came out bad.
	ChangePodPreFailed ChangePodPhase = "PreFailed"
	// ChangePodPreTimeout means that no verdict of the check before the batch came in time.
	ChangePodPreTimeout ChangePodPhase = "PreTimeout"
	// ChangePodPostWait waits to submit the check after the batch.
	ChangePodPostWait ChangePodPhase = "PostWait"
	// ChangePodPostSubmitted waits for the verdict of the check after the batch.
	ChangePodPostSubmitted ChangePodPhase = "PostSubmitted"
	// ChangePodPostFinish means that the verdict of the check after the batch is known.
	ChangePodPostFinish ChangePodPhase = "PostFinish"
	// ChangePodPostFailed means that the check after the batch could not be submitted.
	ChangePodPostFailed ChangePodPhase = "PostFailed"
	// ChangePodPostTimeout means that no verdict of the check after the batch came in time.
	ChangePodPostTimeout ChangePodPhase = "PostTimeout"
	// ChangePodExecuteDone is the end; the status message names the phase before it.
	ChangePodExecuteDone ChangePodPhase = "ExecuteDone"
)

// Verdict is what a check says of a pod.
//
// +kubebuilder:validation:Enum=pass;unpass
type Verdict string

const (
	// VerdictPass lets the pod count as verified.
	VerdictPass Verdict = "pass"
	// VerdictUnpass fails the pod and suspends its release.
	VerdictUnpass Verdict = "unpass"
)
