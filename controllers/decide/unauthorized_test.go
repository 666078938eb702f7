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
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

func TestAnswerOrderCountsRejectedCredentialsAsARefusalAfterTwoMinutes(t *testing.T) {
	unauthorized := fmt.Errorf("102: authentication request fail: %w", verifier.ErrUnauthorized)
	minute := metav1.NewTime(now.Add(time.Minute))
	for _, row := range []struct {
		name     string
		order    workloadOption
		known    error
		at       time.Duration
		err      error
		state    string
		deadline time.Duration
	}{
		{"the first rejection", orderIn("Pending", 1), errDown, time.Hour, unauthorized, "Pending", time.Hour + 2*time.Minute},
		{"a rejection soon after that", orderIn("Pending", 1), unauthorized, 59 * time.Second, unauthorized, "Pending", time.Minute},
		{"a rejection two minutes after that", orderIn("Pending", 1), unauthorized, time.Minute, unauthorized, "Refused", 0},
		{"a server that is down meanwhile", orderIn("Pending", 1), unauthorized, 30 * time.Second, errDown, "Pending", 0},
		{"a rejection after an outage: an earlier operator doesn't remove the deadline", orderIn("Pending", 1), errDown, time.Hour, unauthorized,
			"Pending", time.Hour + 2*time.Minute},
		{"a token that is known by then", orderIn("Pending", 1), unauthorized, time.Hour, nil, "Open", 0},
		{"a rejection of the order of the next release", orderIn("CANCEL", 0), unauthorized, time.Hour, unauthorized,
			"Pending", time.Hour + 2*time.Minute},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			workload := newWorkload(stored("Running", "Unknown", "Verifying"), row.order)
			reason := "ServerUnavailable"
			if errors.Is(row.known, verifier.ErrUnauthorized) {
				reason = "Unauthorized"
			}
			workload.Status.Order.OpenDeadline = &minute
			workload.Status.Conditions = append(workload.Status.Conditions, metav1.Condition{Type: "Ordered", Status: "Unknown", Reason: reason})
			at := now.Add(row.at)
			decision := decide.Decide(workload, see(5, verifiedBy), at)
			decision.AnswerOrder(workload, aServer(), verifier.Release{Order: "o-1", Number: 1}, decide.OrderAnswer{Err: row.err}, at)
			g.Expect(string(decision.Status.Order.State)).To(Equal(row.state))
			deadline := time.Duration(0)
			if decision.Status.Order.OpenDeadline != nil {
				deadline = decision.Status.Order.OpenDeadline.Sub(now)
			}
			g.Expect(deadline).To(Equal(row.deadline))
		})
	}
}
