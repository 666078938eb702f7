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
	corev1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"
)

// ticking is a clock that goes on whenever it is read.
type ticking struct{ at time.Time }

func (c *ticking) Now() time.Time                  { c.at = c.at.Add(time.Millisecond); return c.at }
func (c *ticking) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// passing calls a function with clocks that reach a time after each number of reads that a reconcile may make.
func passing(at time.Time, do func(*ticking)) {
	for reads := range 25 {
		do(&ticking{at.Add(-time.Duration(reads) * time.Millisecond)})
	}
}

func TestReconcileExcusesTroubleThatSettlesMeanwhile(t *testing.T) {
	lost := corev1.PodStatus{Phase: "Running", Conditions: []corev1.PodCondition{{Type: "Ready", Status: "False", LastTransitionTime: at(9, 58)}}}
	passing(at(9, 58).Add(30*time.Second), func(clock *ticking) {
		_, objects := watching(lost, lost)
		p := newPlane(t, append(objects, nodeN1("Unknown", at(9, 58))), nil)
		p.Clock = clock
		p.reconcile()
		NewWithT(t).Expect(p.checkOf("sleep").Verdict).To(BeEquivalentTo("Pass"), p.checkOf("sleep").Message)
	})
}

func TestReconcileMakesTheLastLookOfAWatchThatEndsMeanwhile(t *testing.T) {
	passing(at(10, 1).Time, func(clock *ticking) {
		g, record, policy := NewWithT(t), recordAt(2, version, "Success", "AllPodsPassed"), judged()
		policy.Spec.WatchSeconds, record.Status.EntryTimeUnix = 60, at(10, 0).Unix()
		p := newPlane(t, append(append(sleepOf(1), watched(record, policy, ofPrometheus())...), finishedPod(1), passedBatch(1)), nil)
		source := newHanging(t, p)
		close(source.answer)
		p.Sources = source.Sources
		p.Clock = clocktesting.NewFakePassiveClock(at(10, 1).Add(-time.Second))
		p.reconcile()
		g.Expect(<-p.woken).To(Equal(record.Name))
		p.Clock = clock
		p.reconcile()
		g.Expect(p.checkOf("sleep").Verdict).To(BeEquivalentTo("Pending"), "the last look is yet to come")
	})
}
