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

package verifier

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Release is a release whose batches are checked.
type Release struct {
	// Order is the ID of the release at an Announcer; empty before it is announced.
	Order string
	// Namespace, Kind and Name identify the released workload.
	Namespace, Kind, Name string
	// Version is the release version, Number numbers the releases of the workload.
	Version string
	Number  int64
	// Record is the UID of the release's ChangeWorkload, Recorded the time at which it was recorded, in Unix seconds. Unlike a workload,
	// a version and even a number, the two never recur together.
	Record   types.UID
	Recorded int64
	// Pass is how the release passed by a BreakGlass; nil if it didn't.
	Pass *appv1alpha1.BreakGlassPass
}

// Batch is a batch of pods of a release.
type Batch struct {
	Release Release
	// Number numbers the batches of the release from 0.
	Number int
	// Total is the number of batches that the release is expected to have.
	Total int
	// Last reports whether no further batch is expected.
	Last bool
	Pods []appv1alpha1.PodSummary
}

// Outcome is the outcome of a stage of a check.
type Outcome string

const (
	// Undecided means that there is no verdict yet, or none that counts.
	Undecided Outcome = ""
	// Pass lets the batch proceed.
	Pass Outcome = "pass"
	// Fail fails the pods of the batch.
	Fail Outcome = "fail"
)

// Verdict is the verdict of a verifier on one stage of a check.
type Verdict struct {
	Outcome Outcome
	// Reason is the reason of the outcome; empty if it is unknown.
	Reason string
	// Pods are pods with their own verdict and message. The outcome applies to the others.
	Pods []appv1alpha1.PodSummary
	// Again is the time after which to ask again for an Undecided verdict; 0 if the verifier sends it.
	Again time.Duration
}

// Delivery is a verdict with its check.
type Delivery struct {
	// Order is the ID of the release's change order; empty if the verifier doesn't name it.
	Order   string
	CheckID string
	Stage   appv1alpha1.CheckStage
	Verdict Verdict
}

// Fault is the kind of a Rejection.
type Fault string

const (
	// Unsigned means that the verifier didn't send the message, or that it was altered.
	Unsigned Fault = "unsigned"
	// Expired means that the message is too old, or from the future.
	Expired Fault = "expired"
	// Malformed means that the message is authentic but can't be parsed.
	Malformed Fault = "malformed"
	// Unavailable means that the message can't be verified at present, which is not the sender's fault.
	Unavailable Fault = "unavailable"
)

// Rejection is the error of a Receiver that rejects a message.
type Rejection struct {
	Fault Fault
	// Message is for the sender, Err for the log.
	Message string
	Err     error
}

func (r *Rejection) Error() string { return r.Err.Error() }

// Unwrap returns the cause.
func (r *Rejection) Unwrap() error { return r.Err }
