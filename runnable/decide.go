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

package runnable

import (
	"cmp"
	"fmt"
	"time"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/rollback"
)

// Observation is what a decision about a workload depends on.
type Observation struct {
	// OptedIn reports whether the workload is under change control: its kind is enforced and its namespace opted in.
	OptedIn bool
	// Release is the present release.
	Release decide.Release
	// Requested is the value of the annotation that requests a rollback, empty without one.
	Requested string
	// RequestedBy is the user who set it.
	RequestedBy string
	// Over reports whether the release was verified and no pod of another version is left.
	Over bool
	// Verified reports whether the release was verified.
	Verified bool
	// Failures describes the failed pods of a suspended workload, empty where there are none.
	Failures string
	// Rollbacks are those in the annotation of the workload.
	Rollbacks []appv1alpha1.Rollback
	// Stuck are the pods of the release that are not running although their time is over.
	Stuck decide.StuckPods
	// Patience is what they were judged by.
	Patience decide.Patience
	// PolicyLeft is for how long a ReleasePolicy that is gone still sets the threshold, 0 for none.
	PolicyLeft time.Duration
	// Unusable is why the annotation that sets the threshold is invalid.
	Unusable error
	// WayBack reports whether the cache has a healthy revision to go back to. It has none from before change control.
	WayBack bool
	// OnSuspension reports whether a suspended release is rolled back automatically, ParksSuspended whether it is parked.
	OnSuspension, ParksSuspended bool
	// Parked reports whether the release is parked and its rollout held, Remaining whether pods have yet to come back.
	Parked, Remaining bool
	// Turn reports whether the release replaces pods on its first nodes, or as far as its step lets them come back with it.
	Turn bool
	// Blocked reports whether a pod that had its time keeps the workload from going on, and Unblock when to look for one again.
	Blocked bool
	Unblock time.Duration
}

// Decision is what to do about a workload.
type Decision struct {
	// Requests are the rollbacks to try, in order, until one succeeds.
	Requests []rollback.Request
	// Delete reports whether to delete a pod, once none of the requests was met.
	Delete bool
	// Forgive is a version that was rolled back and is verified now: its rollback is forgotten.
	Forgive string
	// Wait is when to look again, 0 if nothing but an event can change the decision.
	Wait time.Duration
}

// Decide returns what to do about a workload. A user's request comes first, then failed checks, whose target is a verified version.
func Decide(seen Observation) Decision {
	var decision Decision
	if !seen.OptedIn || seen.Release.Version == "" {
		return decision
	}
	if seen.Requested != "" {
		decision.ask(seen, appv1alpha1.RollbackRequested, fmt.Sprintf("%s asked for it", cmp.Or(seen.RequestedBy, "an unknown user")))
	}
	if !seen.Parked {
		decision.leave(seen)
	}
	decision.Delete = seen.Parked && seen.Remaining || !seen.Parked && seen.Blocked || seen.Turn
	decision.Wait = decide.Sooner(decide.Sooner(decision.Wait, seen.Unblock), seen.PolicyLeft)
	for _, known := range seen.Rollbacks {
		if seen.Verified && known.Version == seen.Release.Version && known.Release < seen.Release.Number {
			decision.Forgive = known.Version
		}
	}
	return decision
}

// leave decides whether the operator leaves a release by itself: a parked one stays as it is until the next release.
func (d *Decision) leave(seen Observation) {
	if seen.OnSuspension && seen.Failures != "" {
		d.ask(seen, appv1alpha1.RollbackPodsFailed, seen.Failures)
	}
	if seen.ParksSuspended && seen.Failures != "" {
		d.Requests = append(d.Requests, rollback.Request{
			From: seen.Release, Reason: appv1alpha1.RollbackPodsFailed, Message: seen.Failures, Park: true,
		})
	}
	if !seen.Over {
		d.Wait = seen.Stuck.Next
		if seen.Stuck.Message != "" {
			d.ask(seen, appv1alpha1.RollbackPodsNotRunning, seen.Stuck.Message)
		}
	}
}

func (d *Decision) ask(seen Observation, reason appv1alpha1.RollbackReason, message string) {
	request := rollback.Request{From: seen.Release, Reason: reason, Message: message}
	if reason == appv1alpha1.RollbackRequested {
		request.User, request.Annotation = seen.RequestedBy, seen.Requested
		switch seen.Requested {
		case appv1alpha1.RollbackNewest:
		case appv1alpha1.RollbackPark:
			request.Park = true
		default:
			request.To = seen.Requested
		}
	}
	if reason == appv1alpha1.RollbackPodsNotRunning {
		request.Patience = seen.Patience
	}
	d.Requests = append(d.Requests, request)
}
