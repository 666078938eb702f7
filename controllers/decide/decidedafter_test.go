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

package decide_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// The release was recorded ten minutes ago, and verified four minutes ago. Its checks of a phase have a minute.
func TestDecidedAfter(t *testing.T) {
	for name, row := range map[string]struct {
		phase, mode string
		// held is until when the release was held for the check before.
		held time.Time
		want time.Duration
	}{
		"since the release was recorded":                 {"", "Enforce", time.Time{}, 10 * time.Minute},
		"since then, with a hold of its pods":            {"", "Enforce", now.Add(30 * time.Second), 10 * time.Minute},
		"since then, if nothing waits for its first pod": {"Before", "Observe", time.Time{}, 10 * time.Minute},
		"since it was verified, if nothing waits for it": {"After", "Warn", time.Time{}, 4 * time.Minute},
		"since the first pod waits":                      {"Before", "Enforce", now.Add(20 * time.Second), 40 * time.Second},
		"since the release waits after the last pod":     {"After", "Enforce", now, time.Minute},
		"decided as soon as it was asked":                {"After", "Enforce", time.Time{}, 0},
		"decided before its time, by the clock":          {"After", "Enforce", now.Add(2 * time.Minute), 0},
	} {
		t.Run(name, func(t *testing.T) {
			policy := checking("web", "Enforce", made(row.phase))
			known := phased(row.phase, "Pending", "", "", row.held)
			known.Name = "pods"
			before := newWorkload(stored("Running", "Unknown", "Verifying"), begun(policies(policy), known), func(workload *appv1alpha1.ChangeWorkload) {
				workload.Spec.CreateTimeUnix, workload.Status.EntryTimeUnix = now.Add(-10*time.Minute).Unix(), now.Add(-4*time.Minute).Unix()
			})
			after := before.DeepCopy()
			result := &after.Status.Checks[0]
			result.Verdict, result.Mode, result.Since, result.HeldUntil = "Pass", appv1alpha1.CheckMode(row.mode), metav1.NewTime(now), nil
			NewWithT(t).Expect(decide.DecidedAfter(before, after, result)).To(Equal(row.want))
		})
	}
}

func TestDecidedAfterOfAReleaseWhosePoliciesAreUnknown(t *testing.T) {
	result := phased("After", "Pass", "CheckPassed", "", now)
	result.Since = metav1.NewTime(now)
	NewWithT(t).Expect(decide.DecidedAfter(newWorkload(), newWorkload(), &result)).To(BeZero())
}
