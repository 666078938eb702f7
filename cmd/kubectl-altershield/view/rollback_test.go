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

package view_test

import (
	"testing"

	. "github.com/onsi/gomega"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

func TestRollbackGoesToAVerifiedVersion(t *testing.T) {
	known := facts(workload(7, "49", isSuspended), record(7, "49", suspended), record(5, "a1b2"), record(4, "b100", func(record *appv1alpha1.ChangeWorkload) {
		record.Status.VerifiedVersions = []string{version("cafe")}
	}))
	known.Kept = []view.Side{{Release: 2, Version: version("cafe")}}
	for to, wanted := range map[string]view.Side{
		"":      {Release: 5, Version: version("a1b2")},
		"5":     {Release: 5, Version: version("a1b2")},
		"4":     {Release: 4, Version: version("b100")},
		"b100":  {Release: 4, Version: version("b100")},
		"cafe0": {Release: 2, Version: version("cafe")},
		"2":     {Release: 2, Version: version("cafe")},
	} {
		request, err := view.RollbackOf(known, to, now)
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), to)
		NewWithT(t).Expect(request.To).To(Equal(wanted), to)
		NewWithT(t).Expect(request.From).To(Equal(view.Side{Release: 7, Version: version("49")}))
	}
}

func TestRollbackSaysWhyItCannotGoTo(t *testing.T) {
	back := rollback(6, 8, "a15e")
	back.Reason, back.Message = "Requested", "admin asked for it"
	known := facts(workload(8, "c6c4", wentBack(back)), record(8, "c6c4"), record(6, "a15e"), record(5, "bed6", suspended),
		record(3, "e69b", is("Running", "False", "Superseded", "")))
	known.Kept = []view.Side{{Release: 6, Version: version("a15e")}, {Release: 1, Version: version("c6c4")}}
	stored := view.StoredRecord{}
	stored.Spec.Workload = appv1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "web-uid"}
	stored.Spec.Release, stored.Spec.Version, stored.Spec.Outcome = 2, version("d0d0"), "Verified"
	known.Recorded = []view.StoredRecord{stored}
	sentences := map[string]string{
		"8":    "release 8 (version " + version("c6c4") + ") has the version that runs now",
		"6":    "release 6 (version " + version("a15e") + ") is refused until 2026-11-23T13:41:52Z, because release 6 was rolled back: Requested: admin asked for it",
		"a15e": "release 6 (version " + version("a15e") + ") is refused until 2026-11-23T13:41:52Z, because release 6 was rolled back: Requested: admin asked for it",
		"5":    "release 5 (version " + version("bed6") + ") isn't verified: it is Suspend: PodsFailed: pod web-5 failed its check: 5xx above 1%",
		"3":    "release 3 (version " + version("e69b") + ") isn't verified: it is Superseded: Superseded",
		"2":    "release 2 (version " + version("d0d0") + ") is verified, but its content isn't kept any more",
		"99":   "no such release is known",
		"a15":  "no such release is known", // too short for a version
	}
	for to, says := range sentences {
		_, err := view.RollbackOf(known, to, now)
		NewWithT(t).Expect(err).To(MatchError("deployment/web can't go back to " + to + ": " + says))
	}
	known.Records = append(known.Records, record(4, "b100"))
	_, err := view.RollbackOf(known, "99", now)
	NewWithT(t).Expect(err).To(MatchError("deployment/web can't go back to 99: no such release is known; the verified versions are " + version("b100") + " (release 4)"))
}

func TestRollbackNamesWhatIsInItsWay(t *testing.T) {
	twins := []appv1alpha1.ChangeWorkload{record(7, "49", suspended), record(5, "a1b2c"), record(4, "a1b2d")}
	for name, row := range map[string]struct {
		facts    view.Facts
		to, says string
	}{
		"no workload":         {facts(nil, record(5, "a1")), "", "deployment/web can't be read"},
		"a pause of a user":   {facts(workload(7, "49", paused), record(5, "a1")), "", "deployment/web is paused by a user, so that the operator would drop the request: kubectl altershield resume deployment/web -n shop"},
		"no verified version": {facts(workload(7, "49"), record(7, "49", suspended)), "", "there is no verified version that deployment/web may go back to"},
		"two versions":        {facts(workload(7, "49"), twins...), "a1b2", "several versions begin like that"},
	} {
		_, err := view.RollbackOf(row.facts, row.to, now)
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring(row.says)), name)
	}
}

func TestParkOfAStatefulSetWhoseRolloutIsHeld(t *testing.T) {
	g, known := NewWithT(t), heldSet()
	request, err := view.ParkOf(known)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(request.Kind).To(BeEquivalentTo("ParkRequest"))
	g.Expect(request.Object).To(Equal("statefulset/web"))
	g.Expect(request.From).To(Equal(view.Side{Release: 7, Version: version("49")}))

	const done = "statefulset/web can't be parked: its rollout is complete, isn't held, or is parked already: kubectl altershield status statefulset/web -n shop"
	for name, change := range map[string]func(*view.Facts){
		"is parked": func(facts *view.Facts) { has("Parked", "True", "Requested", "")(&facts.Records[0]) },
		"is complete": func(facts *view.Facts) {
			facts.Workload.Object["status"] = map[string]any{"replicas": int64(4), "updatedReplicas": int64(4)}
		},
		"isn't held":    func(facts *view.Facts) { facts.Workload.SetAnnotations(nil) },
		"has no record": func(facts *view.Facts) { facts.Records = nil },
	} {
		known := heldSet()
		change(&known)
		_, err := view.ParkOf(known)
		g.Expect(err).To(MatchError(done), name)
	}
	_, err = view.ParkOf(facts(workload(7, "49"), record(7, "49", suspended)))
	g.Expect(err).To(MatchError("deployment/web can't be parked: only a StatefulSet can"))
}
