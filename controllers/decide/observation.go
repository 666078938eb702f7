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

package decide

import (
	"time"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

// Observation is what was seen of a release and its workload.
type Observation struct {
	// Rollout is the state of the rollout.
	Rollout
	// Kind is the kind of the workload.
	Kind string
	// OptedIn reports whether the workload is under change control: its kind is enforced and its namespace opted in.
	OptedIn bool
	// NotEnforced reports whether it isn't because of the mode of its kind.
	NotEnforced bool
	// Observed reports whether the release is only observed: nothing is written to the workload. Then OptedIn reports whether the mode of
	// its kind is still Observe and its namespace opted in.
	Observed bool
	// Current reports whether the workload is still at this release.
	Current bool
	// Superseded reports whether the workload is at a later release. Where it is at an earlier one, the cache is behind.
	Superseded bool
	// Unseen reports whether the template was changed without the webhooks: no further pod of this release is created.
	Unseen bool
	// Unstamped reports whether the release is a rollback to a template from before change control: its pods carry no version.
	Unstamped bool
	// Fault is why the workload itself shows that this release failed, empty where it doesn't.
	Fault string
	// Behind reports whether the workload doesn't show the health of its present generation yet.
	Behind bool
	// Hold is the operator's hold on the rollout of this release.
	Hold Hold
	// Suspended reports whether releases of the workload are denied.
	Suspended bool
	// Blocking reports whether a failed pod suspends its workload.
	Blocking bool
	// Denied is why the API server denied the write that suspends the workload, or holds its rollout; empty where it didn't.
	Denied string
	// WentBack reports whether the workload moved on from this release to a version that was verified before.
	WentBack bool
	// RolledBack is the rollback that ended this release, nil where none did.
	RolledBack *appv1alpha1.Rollback
	// Parked is the park of this release, nil where it is not parked.
	Parked *appv1alpha1.Park
	// Freeze is what is known of the freezes that concern this release.
	Freeze Freeze
	// Pace is what is known of the steps of this release.
	Pace Pace
	// First is what is known of the first nodes of this release, nil where it doesn't start on them.
	First *First
	// Verification is what is known for the checks of VerificationPolicies.
	Verification Verification
	// Run is the run of the release that is checked, nil where its pods don't end by themselves, or none runs yet.
	Run *Run
	// Stuck are the pods of Run that are not running although their time is over.
	Stuck StuckPods
	// Trial reports whether users ask for a trial: a run of the release at once, until whose check no other begins.
	Trial bool
	// Refused is the ChangeWorkload in which the pod template failed before, so that the workload was suspended at its creation; empty
	// where it was not.
	Refused string
	// Templates is how many pod templates of verified versions are kept, 0 where none are.
	Templates int
	// Records is how many ChangeWorkloads of older releases are kept, 0 where none are.
	Records int
	// Verifier is the state of the verifier.
	Verifier verifier.State
	// Finished are the desired pods of this release that finished, without those that are being replaced, in the order of their batches.
	Finished []appv1alpha1.PodSummary
	// Earlier reports whether there are batches of earlier releases of the version.
	Earlier bool
	// Batches are the batches of this release.
	Batches []appv1alpha1.ChangePod
	// OrderCheck is the check of the order of this release, nil where there is none.
	OrderCheck *appv1alpha1.ChangePod
	// LastNumber is the highest number seen of a ChangePod of this ChangeWorkload.
	LastNumber int64
	// Others are the ChangeWorkloads of the workload's other versions.
	Others []appv1alpha1.ChangeWorkload
	// Observations are those of releases that were only observed, where this one is not.
	Observations []appv1alpha1.ChangeWorkload
}

// prepared returns the observation as it counts for decisions.
func (o Observation) prepared(now time.Time) Observation {
	if o.Observed {
		o = o.unsteered()
	}
	o.Desired = o.desiredPods(now)
	o.OptedIn = o.OptedIn && !o.NotEnforced
	return o
}

// outOfControl returns why the workload is not under change control.
func (o *Observation) outOfControl() (reason, message string) {
	switch {
	case o.NotEnforced && o.Observed:
		return appv1alpha1.ReasonKindNotObserved,
			"the mode of the kind " + o.Kind + " is no longer Observe: its observed releases are not checked any further"
	case o.NotEnforced:
		return appv1alpha1.ReasonKindNotEnforced, "no ControlledKind with the mode Enforce has the kind " + o.Kind + ": its releases are not checked"
	}
	return appv1alpha1.ReasonNamespaceOptedOut,
		"the namespace is not labelled admission-webhook-altershield=enabled: its releases are not checked"
}
