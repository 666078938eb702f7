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
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// setUnpaced sets why a release isn't paced although a ReleasePolicy with steps was there before it. Once that is stored, it isn't.
func setUnpaced(status *appv1alpha1.ChangeWorkloadStatus, workload *appv1alpha1.ChangeWorkload, seen Observation) {
	policy := seen.Pace.Policy
	if !seen.Pace.hasSteps() || !seen.Current || !seen.OptedIn || workload.Spec.Baseline || wasVerified(status) ||
		policy.CreationTimestamp.Unix() > workload.Spec.CreateTimeUnix {
		return
	}
	unpaced := func(reason, message string) {
		setCondition(status, appv1alpha1.ConditionPaced, metav1.ConditionFalse, reason, message)
	}
	passed := passedPace(status.BreakGlass)
	isOwn := func(other appv1alpha1.ChangeWorkload) bool {
		return slices.Contains(other.Status.VerifiedVersions, workload.Spec.Reversion)
	}
	switch {
	case passed != "":
		unpaced(appv1alpha1.ReasonBreakGlass, passed)
	case slices.Contains(status.VerifiedVersions, workload.Spec.Reversion) || slices.ContainsFunc(seen.Others, isOwn):
		unpaced(appv1alpha1.ReasonVersionVerified, "the version was verified before: its pods come at once")
	case seen.Pace.Obstacle != "":
		unpaced(appv1alpha1.ReasonNoLever, seen.Pace.Obstacle+": the release is rolled out at once")
	}
}

// passedPace returns by which BreakGlass a release passed its steps, empty for none.
func passedPace(pass *appv1alpha1.BreakGlassPass) string {
	if pass == nil || !slices.Contains(pass.Overrides, appv1alpha1.OverridePace) {
		return ""
	}
	return fmt.Sprintf("%s rolled the release out at once by BreakGlass %s", pass.User, pass.Name)
}

// endOfPace returns why a release isn't rolled out in steps any more, empty while it is. While it is frozen, nothing comes that its policy or its lever
// would have to hold back.
func (o *Observation) endOfPace(status *appv1alpha1.ChangeWorkloadStatus, frozen bool, now time.Time) (reason, message string) {
	mark := o.Pace.Mark
	switch {
	case !o.OptedIn:
		return appv1alpha1.ReasonNotControlled, "the " + o.Kind + " left change control"
	case !o.Current:
		return appv1alpha1.ReasonSuperseded, "the " + o.Kind + " has moved on to another release"
	case status.Status == appv1alpha1.ChangeWorkloadFailed:
		return appv1alpha1.ReasonOrderRefused, "the release is not checked: the rollout goes on to all pods"
	case mark == nil:
		return appv1alpha1.ReasonResumed, "the annotation " + appv1alpha1.AnnotationPaced + " was removed"
	case passedPace(status.BreakGlass) != "": // with the freeze that parked it
		return appv1alpha1.ReasonBreakGlass, passedPace(status.BreakGlass)
	case o.Hold == Overridden, o.Hold == Resumed && !o.waitsElse(), mark.Lever == appv1alpha1.LeverNodes && !o.Paused && !o.waitsElse():
		return appv1alpha1.ReasonResumed, "a user resumed the rollout"
	case status.Pace.PolicyUntil != nil && !now.Before(status.Pace.PolicyUntil.Time):
		return appv1alpha1.ReasonPolicyRemoved, o.noPolicy()
	case o.Pace.Obstacle != "" && !frozen:
		return appv1alpha1.ReasonNoLever, o.Pace.Obstacle + ": the rollout goes on to all pods"
	}
	return "", ""
}

func (o *Observation) noPolicy() string {
	return "no ReleasePolicy with steps selects the " + o.Kind + " any more"
}

// awaitedPolicy returns that a release waits for a ReleasePolicy with steps, empty if it doesn't.
func (o *Observation) awaitedPolicy(status *appv1alpha1.ChangeWorkloadStatus) string {
	if status.Pace == nil || status.Pace.PolicyUntil == nil {
		return ""
	}
	return o.noPolicy() + ": the release goes on to all pods unless one is back by " + status.Pace.PolicyUntil.UTC().Format(time.RFC3339)
}

// noPods returns why no pod is desired.
func (o *Observation) noPods() string {
	if o.Idle != "" {
		return "the " + o.Kind + " has no pods for the release: " + o.Idle
	}
	return "the " + o.Kind + " has no replicas"
}

// isOnHold returns what a paced release waits for besides its steps, empty for nothing.
func (o *Observation) isOnHold(
	status *appv1alpha1.ChangeWorkloadStatus, workload *appv1alpha1.ChangeWorkload, frozen, first bool,
) string {
	switch {
	case o.isParked():
		return "the release is parked: see the condition Parked"
	case frozen:
		return "the release is frozen: see the condition Frozen"
	case first:
		return "the release waits for its first nodes: see the condition FirstNodes"
	case o.Unseen:
		return "the pod template was changed without the admission webhooks"
	case o.Desired == 0:
		return o.noPods()
	case o.isPausedByUser():
		return fmt.Sprintf("the %s is paused: %s", o.Kind, o.Resume)
	case o.isToFreeze(status, workload):
		return "the release is frozen: " + o.Freeze.InForce.Sentence()
	}
	return ""
}
