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

// Package verifier is the seam between change control and the systems that verify releases. A Verifier checks the batches of a
// release; optional capabilities are separate interfaces. The reconcilers, the router and the decisions depend on this package,
// never on an implementation.
package verifier

import (
	"context"
	"errors"
	"net/http"
	"time"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Errors of a Verifier. Any other error means that it could not be reached or didn't answer, and that a retry may help.
var (
	// ErrRefused means that the verifier refused the request. A retry doesn't help.
	ErrRefused = errors.New("refused")
	// ErrUnauthorized means that the verifier doesn't accept the operator's credentials, which an administrator can fix.
	ErrUnauthorized = errors.New("unauthorized")
	// ErrNotYet means that the stage before the batch still runs, so the stage after it can't begin.
	ErrNotYet = errors.New("not yet")
)

// Verifier checks batches of pods. A check has two stages: PRE, before the batch counts as in effect, and POST, after it.
type Verifier interface {
	// Name returns the verifier's name in conditions, Events and logs.
	Name() string
	// Begin begins the check of a batch, with its stage PRE, and returns the id of the check. Each call begins another check.
	Begin(ctx context.Context, batch Batch) (checkID string, err error)
	// Finish reports that a batch has taken effect, so that the stage POST begins. The error wraps ErrNotYet while the stage PRE
	// runs. It must not be called again once the stage is over, which Ask reports.
	Finish(ctx context.Context, batch Batch, checkID string) error
	// Ask returns the verdict of a stage. A verifier that can't tell a failed check from one that still runs returns Undecided.
	Ask(ctx context.Context, batch Batch, checkID string, stage appv1alpha1.CheckStage) (Verdict, error)
}

// Announcer is a Verifier with a change order for each release. No batch of a release is checked before its order is open. Open and
// Close may be repeated.
type Announcer interface {
	Verifier
	// OrderID returns the ID under which a release is announced. It is unique forever.
	OrderID(release Release) string
	// Open announces a release and returns the verifier's own ID of the order, which may be empty.
	Open(ctx context.Context, release Release) (id string, err error)
	// Close reports how a release ended.
	Close(ctx context.Context, release Release, end appv1alpha1.OrderState) error
}

// OrderChecker is an Announcer that also checks a release as a whole: PRE before its first pod, and POST after its last one. Finish and Ask
// take such a check as that of a batch without pods.
type OrderChecker interface {
	Announcer
	// BeginOrder begins the check of an announced release, with its stage PRE, and returns the id of the check. Each call begins another
	// check.
	BeginOrder(ctx context.Context, release Release) (checkID string, err error)
}

// Switch is a Verifier that can be switched off on its side.
type Switch interface {
	// SwitchedOff reports whether checks are switched off at present, so that everything passes.
	SwitchedOff() bool
}

// Limiter is a Verifier with a limit on the size of batches.
type Limiter interface {
	// Fits returns how many of the pods, from the first on, one batch may hold, at least one.
	Fits(pods []appv1alpha1.PodSummary) int
}

// Receiver receives the verdicts that a verifier sends over HTTP. A Verifier that isn't a Receiver is asked for each verdict.
type Receiver interface {
	// Paths returns the paths under which the verifier delivers.
	Paths() []string
	// CheckHeader returns an error if the header rules the message out, so that its body isn't read.
	CheckHeader(header http.Header, now time.Time) error
	// Receive authenticates a message and then parses its body. The error wraps a Rejection if it rejects the message.
	Receive(header http.Header, body []byte, now time.Time) (Delivery, error)
}
