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
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

func fault(message string) seenOption {
	return func(seen *decide.Observation) { seen.Fault = message }
}

func TestDecideSuspendsAReleaseThatItsWorkloadShowsAsFailed(t *testing.T) {
	g := NewWithT(t)
	s := story{t: t, workload: newWorkload(), seen: see(3, fault("spec.health.failed is true")), now: now}
	decision := s.decide()
	g.Expect(decision.Suspend).To(BeTrue())
	g.Expect(s.workload.Status.Status).To(BeEquivalentTo("Suspend"))
	g.Expect(s.workload.Status.Conditions).To(haveCondition("Verified", metav1.ConditionFalse, "WorkloadFailed"))
	g.Expect(s.workload.Status.Conditions).To(haveCondition("Suspended", metav1.ConditionTrue, "WorkloadFailed"))
	g.Expect(messageOf(s.workload.Status.Conditions, "Verified")).To(Equal("spec.health.failed is true"))
	g.Expect(decide.FailureOf(&s.workload.Status)).To(Equal("spec.health.failed is true"))

	moved(&s.seen)
	fault("the fault of another release")(&s.seen)
	s.decide()
	g.Expect(s.workload.Status.Status).To(BeEquivalentTo("Suspend"), "a repair doesn't forget why the workload is suspended")
	g.Expect(messageOf(s.workload.Status.Conditions, "Verified")).To(Equal("spec.health.failed is true"))
}

func TestDecideShortensAFaultThatNoConditionHolds(t *testing.T) {
	decision := decide.Decide(newWorkload(), see(3, fault(strings.Repeat("a", 40000))), now)
	NewWithT(t).Expect(messageOf(decision.Status.Conditions, "Verified")).To(Equal(strings.Repeat("a", 32765) + "..."))
}

func TestDecideGoesOnWhereAWorkloadRecovers(t *testing.T) {
	g := NewWithT(t)
	s := story{t: t, workload: newWorkload(), seen: see(3, fault("condition Stalled is True")), now: now}
	s.decide()
	fault("")(&s.seen)
	s.decide()
	g.Expect(s.workload.Status.Status).To(BeEquivalentTo("Running"))
	g.Expect(s.seen.Suspended).To(BeTrue(), "until the release succeeds")
}

func behind(seen *decide.Observation) { seen.Behind = true }

// The write that pauses a failed rollout, or scales its workload, is a generation of which the workload shows no health yet.
func TestDecideKeepsAFaultUntilTheWorkloadShowsItsPresentGeneration(t *testing.T) {
	g := NewWithT(t)
	s := story{t: t, workload: newWorkload(), seen: see(3, rolling, fault("the phase is Degraded")), now: now}
	g.Expect(s.decide().Pause).To(BeTrue())

	s.seen.Paused, s.seen.Hold = true, decide.Held
	behind(&s.seen)
	fault("")(&s.seen)
	g.Expect(s.decide().Resume).To(BeFalse())
	g.Expect(s.workload.Status.Status).To(BeEquivalentTo("Suspend"))
	g.Expect(messageOf(s.workload.Status.Conditions, "Verified")).To(Equal("the phase is Degraded"))

	s.seen.Behind = false
	fault("")(&s.seen)
	g.Expect(s.decide().Resume).To(BeTrue(), "it has recovered")
	g.Expect(s.workload.Status.Status).To(BeEquivalentTo("Running"))
	behind(&s.seen)
	s.decide()
	g.Expect(s.workload.Status.Status).To(BeEquivalentTo("Running"), "of a release without a fault nothing is kept")
	fault("condition Stalled is True")(&s.seen)
	s.decide()
	g.Expect(s.workload.Status.Status).To(BeEquivalentTo("Suspend"), "an expression may show a fault at once")
}

func TestDecideBeginsNoStepWhileAFailedWorkloadIsBehind(t *testing.T) {
	g := NewWithT(t)
	s := story{t: t, workload: newWorkload(), seen: see(4, inSteps("Gates"), passed(1, 1)), now: now}
	s.decide()
	fault("the phase is Degraded")(&s.seen)
	s.decide()
	fault("")(&s.seen)
	behind(&s.seen)
	s.now = s.now.Add(time.Hour)
	s.decide()
	g.Expect(s.workload.Status.Conditions).To(haveCondition("Paced", metav1.ConditionTrue, "StepFailed"))
}

func TestDecideLeavesAVerifiedReleaseWhereItsWorkloadFailsLater(t *testing.T) {
	g := NewWithT(t)
	s := story{t: t, workload: newWorkload(stored("Success", "True", "AllPodsPassed")), seen: see(3, passed(1, 3), fault("a node is away")), now: now}
	decision := s.decide()
	g.Expect(decision.Suspend).To(BeFalse())
	g.Expect(s.workload.Status.Status).To(BeEquivalentTo("Success"))
}

func TestFailureOf(t *testing.T) {
	g := NewWithT(t)
	g.Expect(decide.FailureOf(&appv1alpha1.ChangeWorkloadStatus{})).To(BeEmpty())
	status := newWorkload(stored("Suspend", "False", "WorkloadFailed")).Status
	status.DefenseCheckFailPods = pods(1, 1)
	g.Expect(decide.FailureOf(&status)).To(Equal("pod sleep-1 failed its check"))
}

func TestFinishedUnits(t *testing.T) {
	g := NewWithT(t)
	units := pods(1, 3)
	g.Expect(decide.FinishedUnits(units, nil, false, now)).To(BeEmpty())
	g.Expect(namesOf(decide.FinishedUnits(units, nil, true, now))).To(Equal([]string{"sleep-1", "sleep-2", "sleep-3"}))
	earlier := units[1]
	earlier.FinishTimeUnix = now.Add(-time.Hour).Unix()
	batched := []appv1alpha1.ChangePod{newBatch([]appv1alpha1.PodSummary{earlier})}
	g.Expect(decide.FinishedUnits(units, batched, false, now)).To(Equal([]appv1alpha1.PodSummary{earlier}), "a unit in a batch stays finished")
	g.Expect(decide.FinishedUnits(units, batched, true, now)[0].FinishTimeUnix).To(Equal(now.Unix()))
	g.Expect(decide.FinishedUnits(units, batched, true, now)[1]).To(Equal(earlier))
}
