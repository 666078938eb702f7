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
	known := facts(workload(7, "49", isSuspended, wentBack(rollback(6, 7, "b2c3"))), record(7, "49", suspended), record(5, "a1b2"), record(4, "b100", suspended))
	const ways = "; the verified versions are a1b20000000000000000000000000000 (release 5)"
	for to, says := range map[string]string{
		"7":           "it has that version now" + ways,
		version("49"): "it has that version now" + ways,
		"6":           "version b2c30000000000000000000000000000 is refused until 2026-11-23T13:41:52Z, because release 6 was rolled back (PodsNotRunning)" + ways,
		"4":           "release 4, which is Suspend, isn't verified" + ways,
		"99":          "no such release is known" + ways,
		"b2":          "no such release is known" + ways, // too short for a version
	} {
		_, err := view.RollbackOf(known, to, now)
		NewWithT(t).Expect(err).To(MatchError("deployment/web can't go back to " + to + ": " + says))
	}
	_, err := view.RollbackOf(facts(workload(7, "49"), record(7, "49")), "99", now)
	NewWithT(t).Expect(err).To(MatchError("deployment/web can't go back to 99: no such release is known; there is no verified version to go back to"))
}

func TestRollbackNamesWhatIsInItsWay(t *testing.T) {
	twins := []appv1alpha1.ChangeWorkload{record(7, "49", suspended), record(5, "a1b2c"), record(4, "a1b2d")}
	for name, row := range map[string]struct {
		facts    view.Facts
		to, says string
	}{
		"no workload":         {facts(nil, record(5, "a1")), "", "deployment/web can't be read"},
		"a pause of a user":   {facts(workload(7, "49", paused), record(5, "a1")), "", "deployment/web is paused by a user, so that the operator would drop the request: kubectl altershield resume deployment/web"},
		"no verified version": {facts(workload(7, "49"), record(7, "49", suspended)), "", "there is no verified version that deployment/web may go back to"},
		"two versions":        {facts(workload(7, "49"), twins...), "a1b2", "several versions begin like that"},
	} {
		_, err := view.RollbackOf(row.facts, row.to, now)
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring(row.says)), name)
	}
}
