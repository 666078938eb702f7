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

package invariant_test

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/soak/history"
	"github.com/traas-stack/altershield-operator/hack/soak/invariant"
)

// began is the start of every history.
var began = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func system() invariant.System {
	return invariant.System{
		Operator: "operator", Own: "system", OptedIn: []string{"shop", "bank"}, Guarded: []string{"bank"}, Overriders: []string{"admin"},
		Approving: []string{"shop"},
	}
}

// story builds a history.
type story struct {
	writes []history.Write
	now    time.Time
	// waited is how long the API server takes for a write.
	waited time.Duration
}

func newStory() *story { return &story{now: began} }

func (s *story) after(delay time.Duration) *story {
	s.now = s.now.Add(delay)
	return s
}

func (s *story) write(write history.Write) *story {
	write.Revision, write.Time = int64(len(s.writes)+1), s.now
	write.Asked = write.Time.Add(-s.waited)
	if write.Namespace == "" {
		write.Namespace = "shop"
	}
	s.writes = append(s.writes, write)
	return s
}

// deployment adds a write with the resulting Deployment cart. Its template is that of its version by default.
func (s *story) deployment(user string, is history.Released) *story {
	is.Kind, is.UID = "Deployment", "cart"
	if is.Template == "" {
		is.Template = is.Version
	}
	return s.write(history.Write{User: user, Verb: "patch", Resource: "deployments", Name: "cart", Released: &is})
}

// record adds a write of the operator with the resulting ChangeWorkload of a version of cart.
func (s *story) record(version string, release int64, status appv1alpha1.ChangeWorkloadPhase, reason string, desired, passed int32) *story {
	return s.write(history.Write{User: "operator", Verb: "patch", Resource: "changeworkloads", Subresource: "status", Name: "cart--x--" + version,
		Workload: &history.Workload{UID: "cw-" + version, Of: "cart", Kind: "Deployment", App: "cart", Version: version, Release: release, Observed: release,
			Status: status, Verified: reason, Desired: desired, Passed: passed}})
}

// batch adds a write with the resulting ChangePod of a version of cart.
func (s *story) batch(verb, name, version string, release int64, done bool, pods, failed []string) *story {
	return s.write(history.Write{User: "operator", Verb: verb, Resource: "changepods", Name: name,
		Batch: &history.Batch{UID: name, Workload: "cw-" + version, Release: release, Pods: named(pods), Failed: failed, Done: done}})
}

// named returns pods whose UIDs are their names.
func named(names []string) (pods []history.Pod) {
	for _, name := range names {
		pods = append(pods, history.Pod{Name: name, UID: name})
	}
	return pods
}

func ignoredBy(user, version string, release int64) appv1alpha1.IgnoredSuspend {
	return appv1alpha1.IgnoredSuspend{User: user, Version: version, Release: release}
}

func rollback(from, to string, toRelease int64) []appv1alpha1.Rollback {
	until := metav1.NewTime(began.Add(24 * time.Hour))
	return []appv1alpha1.Rollback{{Version: from, Release: toRelease - 1, To: to, ToRelease: toRelease,
		Reason: appv1alpha1.RollbackRequested, Time: metav1.NewTime(began), RefusedUntil: &until}}
}
