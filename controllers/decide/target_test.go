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
	"math"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/podtemplate"
)

func refusedFor(left time.Duration, version string) appv1alpha1.Rollback {
	return appv1alpha1.Rollback{Version: version, Release: 1, RefusedUntil: &metav1.Time{Time: now.Add(left)}}
}

func TestVerifiedTargets(t *testing.T) {
	verified := stored("Success", "True", "AllPodsPassed")
	failed := stored("Suspend", "False", "PodsFailed")
	remembering := func(versions ...string) workloadOption {
		return func(workload *appv1alpha1.ChangeWorkload) { workload.Status.VerifiedVersions = versions }
	}
	kept := func(versions ...string) (releases []decide.Release) {
		for i, version := range versions {
			releases = append(releases, decide.Release{Version: version, Number: int64(7 - i)})
		}
		return releases
	}
	for _, row := range []struct {
		name    string
		past    decide.Past
		targets []string
	}{
		{"nothing where nothing was verified", decide.Past{Workloads: []appv1alpha1.ChangeWorkload{other("b", 2)}}, nil},
		{"kept versions, newest first", decide.Past{Kept: kept("a", "z")}, []string{"a", "z"}},
		{"not the version that it is at", decide.Past{Kept: kept("b", "a")}, []string{"a"}},
		{"verified versions that were not kept", decide.Past{Workloads: []appv1alpha1.ChangeWorkload{other("b", 2, failed), other("a", 1, verified)}}, []string{"a"}},
		{"verified versions that only are remembered", decide.Past{Workloads: []appv1alpha1.ChangeWorkload{other("b", 2, failed, remembering("a", "z"))}}, []string{"a", "z"}},
		{"kept versions before those that are remembered, each once",
			decide.Past{Kept: kept("y"), Workloads: []appv1alpha1.ChangeWorkload{other("b", 2, failed, remembering("a", "y"))}}, []string{"y", "a"}},
		{"a newer version that was not kept before the kept ones", decide.Past{Kept: kept("a", "z"), Workloads: []appv1alpha1.ChangeWorkload{other("b", 9, failed), other("c", 8, verified)}}, []string{"c", "a", "z"}},
		{"not a version that failed when it was released last, although it is kept",
			decide.Past{Kept: kept("a", "z"), Workloads: []appv1alpha1.ChangeWorkload{other("a", 1, failed)}}, []string{"z"}},
		{"not a version that is refused", decide.Past{Kept: kept("a", "z"), Rollbacks: []appv1alpha1.Rollback{refusedFor(time.Second, "a")}}, []string{"z"}},
		{"a version whose refusal is over", decide.Past{Kept: kept("a", "z"), Rollbacks: []appv1alpha1.Rollback{refusedFor(0, "a")}}, []string{"a", "z"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.past.Release = decide.Release{Version: "b", Number: 9}
			NewWithT(t).Expect(row.past.VerifiedTargets(now)).To(Equal(row.targets))
		})
	}
}

// running is a revision with all its pods ready, broken one without.
func running(version string, number int64) decide.Revision {
	return decide.Revision{Version: version, Number: number, Healthy: true}
}

func broken(version string, number int64) decide.Revision {
	return decide.Revision{Version: version, Number: number}
}

// presumed is a revision without pods, which was once rolled out completely as far as its controller knows.
func presumed(version string, number int64) decide.Revision {
	return decide.Revision{Version: version, Number: number, Healthy: true, Presumed: true}
}

// sameTemplate gives revisions the same template.
func sameTemplate(revision decide.Revision) decide.Revision {
	revision.Template = podtemplate.Template{"image": "one"}
	return revision
}

// midSteps is a release of four pods with the condition Paced and the target of its last step.
func midSteps(paced metav1.ConditionStatus, reason string, target int32) workloadOption {
	return func(workload *appv1alpha1.ChangeWorkload) {
		stored("Running", "Unknown", "Superseded")(workload)
		workload.Status.Pace = &appv1alpha1.ReleasePace{Step: 1, Target: target, Desired: 4}
		workload.Status.Conditions = append(workload.Status.Conditions, metav1.Condition{
			Type: "Paced", Status: paced, Reason: reason, ObservedGeneration: workload.Generation,
		})
	}
}

// waitedFor is a superseded release with a condition of what it waited for.
func waitedFor(kind string, status metav1.ConditionStatus, reason string) workloadOption {
	return func(workload *appv1alpha1.ChangeWorkload) {
		stored("Running", "Unknown", "Superseded")(workload)
		workload.Status.Frozen = &appv1alpha1.FrozenRelease{By: "ops/friday"}
		workload.Status.Conditions = append(workload.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason})
	}
}

func TestHealthyOlder(t *testing.T) {
	known := func(standing workloadOption) decide.Past {
		return decide.Past{Workloads: []appv1alpha1.ChangeWorkload{other("a", 1, standing)}}
	}
	failed := decide.Past{Workloads: []appv1alpha1.ChangeWorkload{other("a", 1, stored("Suspend", "False", "PodsFailed"))}}
	for _, row := range []struct {
		name   string
		before []decide.Revision
		past   decide.Past
		found  int64
	}{
		{"none where there is no other", nil, decide.Past{}, 0},
		{"the one that runs all its pods", []decide.Revision{running("a", 6)}, decide.Past{}, 6},
		{"none where a pod of it is not ready", []decide.Revision{broken("a", 6)}, decide.Past{}, 0},
		{"the newest of several", []decide.Revision{running("y", 9), running("a", 6), running("z", 5)}, decide.Past{}, 6},
		{"not one that has no number yet", []decide.Revision{running("y", math.MaxInt64), running("a", 6)}, decide.Past{}, 6},
		{"one from before the workload was under change control", []decide.Revision{running("", 6)}, decide.Past{}, 6},
		{"one whose version failed its check where there is no other", []decide.Revision{running("a", 6)}, failed, 6},
		{"not one whose version failed its check where there is another", []decide.Revision{running("a", 6), running("z", 5)}, failed, 5},
		{"not one whose version is refused", []decide.Revision{running("a", 6)},
			decide.Past{Rollbacks: []appv1alpha1.Rollback{refusedFor(time.Hour, "a")}}, 0},
		{"one without pods whose version was verified", []decide.Revision{presumed("a", 6)}, known(stored("Success", "True", "AllPodsPassed")), 6},
		{"one without pods whose version failed its check: its pods were ready before", []decide.Revision{presumed("a", 6)}, failed, 6},
		{"one without pods from before the workload was under change control", []decide.Revision{presumed("", 6)}, decide.Past{}, 6},
		{"not one without pods whose pods were never ready", []decide.Revision{presumed("a", 6)},
			known(stored("TimeOutPreThreshold", "Unknown", "Superseded")), 0},
		{"not one without pods that was superseded before it was recorded", []decide.Revision{presumed("a", 6)}, decide.Past{}, 0},
		{"not one without pods that was released while there were no replicas", []decide.Revision{presumed("a", 6)},
			known(stored("Success", "Unknown", "NoReplicas")), 0},
		{"one with pods that are ready, although it was not verified", []decide.Revision{running("a", 6)}, known(stored("Running", "Unknown", "Superseded")), 6},
		{"not one in the middle of its steps, although its first pods are ready", []decide.Revision{running("a", 6), running("z", 5)},
			known(midSteps("True", "Soaking", 1)), 5},
		{"not one that was superseded in the middle of its steps: nobody let it go to all pods", []decide.Revision{running("a", 6)},
			known(midSteps("False", "Superseded", 1)), 0},
		{"nor one that left change control after that", []decide.Revision{running("a", 6)}, known(midSteps("False", "NotControlled", 1)), 0},
		{"one that was superseded when all its pods might come", []decide.Revision{running("a", 6)}, known(midSteps("False", "Superseded", 4)), 6},
		{"not one that a freeze held until it was superseded", []decide.Revision{running("a", 6)}, known(waitedFor("Frozen", "False", "Superseded")), 0},
		{"not one that a freeze holds, by a cache that is behind", []decide.Revision{running("a", 6)}, known(waitedFor("Frozen", "True", "ChangeFreeze")), 0},
		{"one that went on after a freeze", []decide.Revision{running("a", 6)}, known(waitedFor("Frozen", "False", "Thawed")), 6},
		{"not one that was superseded on its first nodes", []decide.Revision{running("a", 6)}, known(waitedFor("FirstNodes", "False", "Superseded")), 0},
		{"not one that waits for its first nodes, by a cache that is behind", []decide.Revision{running("a", 6)}, known(waitedFor("FirstNodes", "Unknown", "Verifying")), 0},
		{"one that went on to all nodes", []decide.Revision{running("a", 6)}, known(waitedFor("FirstNodes", "True", "AllPodsPassed")), 6},
		{"an older one instead", []decide.Revision{running("a", 6), running("c", 5)}, known(waitedFor("Frozen", "False", "Superseded")), 5},
		{"one that left its steps", []decide.Revision{running("a", 6)}, known(midSteps("False", "Resumed", 1)), 6},
		{"not one of the same version, which pods without a gate had", []decide.Revision{running("a", 5), sameTemplate(running("b", 6))}, decide.Past{}, 5},
		{"none where the template was changed while no webhook looked", []decide.Revision{running("a", 6), broken("b", 8)}, decide.Past{}, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.past.Release = decide.Release{Version: "b", Number: 2}
			found := row.past.HealthyOlder(append([]decide.Revision{sameTemplate(broken("b", 7))}, row.before...), now)
			if row.found == 0 {
				NewWithT(t).Expect(found).To(BeNil())
				return
			}
			NewWithT(t).Expect(found).To(HaveField("Number", row.found))
		})
	}
}

// The end of the steps clears some fields of their status.
func TestHealthyOlderOfAReleaseThatWasDecidedInItsSteps(t *testing.T) {
	g := NewWithT(t)
	s := &story{t: t, workload: newWorkload(atStep(2, 5, "StepRunning")), now: now, seen: see(20, inSteps("Gates"))}
	past := func() decide.Past {
		before := *s.workload
		before.Spec.Reversion, before.Spec.Release = "a", 1
		return decide.Past{Release: decide.Release{Version: "b", Number: 2}, Workloads: []appv1alpha1.ChangeWorkload{before}}
	}
	revisions := []decide.Revision{broken("b", 7), running("a", 6)}
	s.decide()
	g.Expect(past().HealthyOlder(revisions, now)).To(BeNil())
	s.seen = see(20, moved, later)
	s.decide()
	g.Expect(s.workload.Status.Conditions).To(ContainElement(And(HaveField("Type", "Paced"), HaveField("Reason", "Superseded"))))
	g.Expect(past().HealthyOlder(revisions, now)).To(BeNil())
}

func TestHealthyOlderFindsARunOfTheSameSecond(t *testing.T) {
	g := NewWithT(t)
	current, before := broken("b", 7), running("a", 7)
	current.Run = &decide.Run{Name: "Job backup-2"}
	past := decide.Past{Release: decide.Release{Version: "b", Number: 2}}
	g.Expect(past.HealthyOlder([]decide.Revision{current, before}, now)).To(BeNil(), "revisions of other kinds are numbered one by one")
	before.Run = &decide.Run{Name: "Job backup-1", Complete: true}
	g.Expect(past.HealthyOlder([]decide.Revision{current, before}, now).Run.Name).To(Equal("Job backup-1"))
	current.Healthy = true
	g.Expect(past.HealthyOlder([]decide.Revision{current}, now)).To(BeNil(), "itself")
}

func TestHealthyOlderIsNilForAReleaseWithoutARevisionOfItsOwn(t *testing.T) {
	past := decide.Past{Release: decide.Release{Version: "b", Number: 2}}
	NewWithT(t).Expect(past.HealthyOlder([]decide.Revision{running("a", 6)}, now)).To(BeNil())
}
