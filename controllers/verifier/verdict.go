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
	// Order is the id under which an Announcer was told of the release; empty before that.
	Order string
	// Namespace and Name are those of the workload that is released.
	Namespace, Name string
	// Version is the release version, Number counts the releases of the workload.
	Version string
	Number  int64
	// Record is the UID of the release's ChangeWorkload, Recorded when it was recorded, in Unix seconds: a workload, a version and
	// even a number may return, both of these never do.
	Record   types.UID
	Recorded int64
}

// Batch is a batch of pods of a release.
type Batch struct {
	Release Release
	// Number counts the batches of the release from 0.
	Number int
	// Total is the number of batches that the release is expected to have.
	Total int
	// Last reports whether no further batch is expected.
	Last bool
	Pods []appv1alpha1.PodSummary
}

// Outcome is what a stage of a check comes to.
type Outcome string

const (
	// Undecided means that there is no verdict yet, or none that counts.
	Undecided Outcome = ""
	// Pass lets a batch go on.
	Pass Outcome = "pass"
	// Fail fails its pods.
	Fail Outcome = "fail"
)

// Verdict is what a verifier says of one stage of a check.
type Verdict struct {
	Outcome Outcome
	// Reason is why the outcome is that; empty where it is not known.
	Reason string
	// Pods are pods with a verdict and message of their own. The outcome counts for the others.
	Pods []appv1alpha1.PodSummary
	// Again is when to ask again for a verdict that is Undecided; 0 where the verifier sends it.
	Again time.Duration
}

// Delivery is a verdict with the check that it belongs to.
type Delivery struct {
	// Order is the id of the release's change order; empty where the verifier doesn't name it.
	Order   string
	CheckID string
	Stage   appv1alpha1.CheckStage
	Verdict Verdict
}

// Fault is the kind of a Rejection.
type Fault string

const (
	// Unsigned is a message that the verifier didn't send, or that was changed on its way.
	Unsigned Fault = "unsigned"
	// Expired is a message of another time.
	Expired Fault = "expired"
	// Malformed is a genuine message that can't be read.
	Malformed Fault = "malformed"
	// Unavailable is a message that can't be verified at present, which is no fault of the sender.
	Unavailable Fault = "unavailable"
)

// Rejection is why a Receiver doesn't take a message.
type Rejection struct {
	Fault Fault
	// Message is for the sender, Err for the log.
	Message string
	Err     error
}

func (r *Rejection) Error() string { return r.Err.Error() }

// Unwrap returns the cause.
func (r *Rejection) Unwrap() error { return r.Err }
