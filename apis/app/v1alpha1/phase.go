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

// ChangeWorkloadPhase is the state of a release.
//
// +kubebuilder:validation:Enum="";Running;Failed;TimeOutPreThreshold;Success;Suspend
type ChangeWorkloadPhase string

const (
	// ChangeWorkloadInit is the state of a release before its first reconcile.
	ChangeWorkloadInit ChangeWorkloadPhase = ""
	// ChangeWorkloadRunning means that pods are awaited or checked.
	ChangeWorkloadRunning ChangeWorkloadPhase = "Running"
	// ChangeWorkloadFailed means that AlterShield Server refused the release. Its pods are not checked.
	ChangeWorkloadFailed ChangeWorkloadPhase = "Failed"
	// ChangeWorkloadTimeOutPreThreshold means that waitTimeThreshold passed before countThreshold pods had finished.
	ChangeWorkloadTimeOutPreThreshold ChangeWorkloadPhase = "TimeOutPreThreshold"
	// ChangeWorkloadSuccess means that every desired pod finished and passed.
	ChangeWorkloadSuccess ChangeWorkloadPhase = "Success"
	// ChangeWorkloadSuspend means that a pod failed its check.
	ChangeWorkloadSuspend ChangeWorkloadPhase = "Suspend"
)

// ChangePodPhase is the state of the check of one batch.
//
// +kubebuilder:validation:Enum="";PreWait;PreSubmitted;PreFailed;PreTimeout;PostWait;PostSubmitted;PostFinish;PostFailed;PostTimeout;ExecuteDone
type ChangePodPhase string

const (
	// ChangePodInit is the state of a batch before its first reconcile.
	ChangePodInit ChangePodPhase = ""
	// ChangePodPreWait means that the check before the batch is not submitted yet.
	ChangePodPreWait ChangePodPhase = "PreWait"
	// ChangePodPreSubmitted means that the check before the batch is submitted and has no verdict yet.
	ChangePodPreSubmitted ChangePodPhase = "PreSubmitted"
	// ChangePodPreFailed means that the check before the batch could not be submitted, or failed.
	ChangePodPreFailed ChangePodPhase = "PreFailed"
	// ChangePodPreTimeout means that the verdict of the check before the batch didn't arrive in time.
	ChangePodPreTimeout ChangePodPhase = "PreTimeout"
	// ChangePodPostWait means that the check after the batch is not submitted yet.
	ChangePodPostWait ChangePodPhase = "PostWait"
	// ChangePodPostSubmitted means that the check after the batch is submitted and has no verdict yet.
	ChangePodPostSubmitted ChangePodPhase = "PostSubmitted"
	// ChangePodPostFinish means that the verdict of the check after the batch arrived.
	ChangePodPostFinish ChangePodPhase = "PostFinish"
	// ChangePodPostFailed means that the check after the batch could not be submitted.
	ChangePodPostFailed ChangePodPhase = "PostFailed"
	// ChangePodPostTimeout means that the verdict of the check after the batch didn't arrive in time.
	ChangePodPostTimeout ChangePodPhase = "PostTimeout"
	// ChangePodExecuteDone is the final phase; the status message names the phase before it.
	ChangePodExecuteDone ChangePodPhase = "ExecuteDone"
)

// Verdict is the result of the check of a pod.
//
// +kubebuilder:validation:Enum=pass;unpass
type Verdict string

const (
	// VerdictPass lets the pod count as verified.
	VerdictPass Verdict = "pass"
	// VerdictUnpass fails the pod and suspends its release.
	VerdictUnpass Verdict = "unpass"
)
