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
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Hold says how far the operator holds a rollout.
type Hold string

const (
	// NotHeld is a rollout that the operator has not paused.
	NotHeld Hold = ""
	// Held is a rollout that the operator has paused, and that still is.
	Held Hold = "held"
	// Resumed is a rollout that the operator has paused, and that somebody else resumed just now.
	Resumed Hold = "resumed"
	// Overridden is a rollout that somebody else resumed: a pause of it is theirs.
	Overridden Hold = "overridden"
)

// HoldOf returns how far the operator holds the rollout of a release of a workload, which is paused or not.
func HoldOf(workload metav1.Object, paused bool, release int64) Hold {
	value, known := workload.GetAnnotations()[appv1alpha1.AnnotationHeld]
	number, overridden := strings.CutSuffix(value, appv1alpha1.HeldOverridden)
	switch {
	case !known || number != strconv.FormatInt(release, 10):
		return NotHeld // of no release, or of one before
	case overridden:
		return Overridden
	case !paused:
		return Resumed
	}
	return Held
}

// hold stops the rollout of a release that failed, once, and lets it go on when nothing is failed any more or its namespace is
// opted out. A pause that is there already is a user's, and so is the decision to go on. A template that no webhook saw is not
// what failed.
func (d *Decision) hold(seen Observation, failed bool) {
	switch {
	case !seen.Current:
	case failed && seen.OptedIn:
		d.Pause = seen.Blocking && seen.Rolling && !seen.Unseen && !seen.Paused && seen.Hold == NotHeld
		d.Override = seen.Hold == Resumed
	default:
		d.Resume = seen.Hold == Held
	}
}
