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

package changeworkload

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/lru"
)

func TestListWaitGrowsWithTheNumberOfPods(t *testing.T) {
	g, now := NewWithT(t), time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	r, record := &Reconciler{Clock: clocktesting.NewFakePassiveClock(now), lists: lru.New(1)}, recordAt(2, version, "Running", "Verifying")
	g.Expect(r.listWait(record)).To(BeZero(), "it has pods in the cache")
	record.Spec.Observed = true
	g.Expect(r.listWait(record)).To(BeZero(), "they were never listed")
	r.lists.Add(recordOf(record), lastList{at: now.Add(-time.Second)})
	g.Expect(r.listWait(record)).To(Equal(time.Second))
	r.lists.Add(recordOf(record), lastList{now.Add(-time.Second), 5000})
	g.Expect(r.listWait(record)).To(Equal(51 * time.Second))
	r.lists.Add(recordOf(record), lastList{now.Add(-time.Hour), 5000})
	g.Expect(r.listWait(record)).To(BeZero())
}
