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

// Observation is what was seen of a Deployment and its release.
type Observation struct {
	// OptedIn reports whether the namespace is under change control.
	OptedIn bool
	// Release is what the Deployment is at.
	Release decide.Release
	// Requested is the value of the annotation that asks for a rollback, empty where nobody does.
	Requested string
	// RequestedBy is who set it.
	RequestedBy string
	// Over reports whether the release was verified and no pod of another version is left.
	Over bool
	// Verified reports whether the release was verified.
	Verified bool
	// Failures says which pods failed their check while releases of the Deployment are denied; empty where none did.
	Failures string
	// Rollbacks are those that the Deployment remembers.
	Rollbacks []appv1alpha1.Rollback
	// Stuck are the pods of the release that don't run although their time is over.
	Stuck decide.StuckPods
	// Patience is what they were judged by.
	Patience decide.Patience
	// Unusable is why the annotation that sets the threshold has no effect.
	Unusable error
	// WayBack reports whether the cache shows a healthy ReplicaSet to go back to; one from before the Deployment came under change
	// control isn't there.
	WayBack bool
	// OnSuspension reports whether a suspended release is rolled back without being asked.
	OnSuspension bool
}

// Decision is what to do about a Deployment.
type Decision struct {
	// Requests are the rollbacks to try, until one can be made.
	Requests []rollback.Request
	// Forgive is a version that was rolled back once and is verified by now: nothing is held against it any more.
	Forgive string
	// Wait is when to look again, 0 if nothing but an event can change the decision.
	Wait time.Duration
}

// Decide reports whether a Deployment goes back. A user's request comes first, then failed checks, as these know a verified
// version to go back to.
func Decide(seen Observation) Decision {
	var decision Decision
	if !seen.OptedIn || seen.Release.Version == "" {
		return decision
	}
	if seen.Requested != "" {
		decision.ask(seen, appv1alpha1.RollbackRequested, fmt.Sprintf("%s asked for it", cmp.Or(seen.RequestedBy, "an unknown user")))
	}
	if seen.OnSuspension && seen.Failures != "" {
		decision.ask(seen, appv1alpha1.RollbackPodsFailed, seen.Failures)
	}
	if !seen.Over {
		decision.Wait = seen.Stuck.Next
		if seen.Stuck.Message != "" {
			decision.ask(seen, appv1alpha1.RollbackPodsNotRunning, seen.Stuck.Message)
		}
	}
	for _, known := range seen.Rollbacks {
		if seen.Verified && known.Version == seen.Release.Version && known.Release < seen.Release.Number {
			decision.Forgive = known.Version
		}
	}
	return decision
}

func (d *Decision) ask(seen Observation, reason appv1alpha1.RollbackReason, message string) {
	request := rollback.Request{From: seen.Release, Reason: reason, Message: message}
	if reason == appv1alpha1.RollbackRequested {
		request.User, request.Annotation = seen.RequestedBy, seen.Requested
		if seen.Requested != appv1alpha1.RollbackNewest {
			request.To = seen.Requested
		}
	}
	if reason == appv1alpha1.RollbackPodsNotRunning {
		request.Patience = seen.Patience
	}
	d.Requests = append(d.Requests, request)
}
