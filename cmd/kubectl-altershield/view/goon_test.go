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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

// atStep is the pace of a release.
func atStep(step int32, progress string) recordOption {
	return func(record *appv1alpha1.ChangeWorkload) {
		record.Status.Pace = &appv1alpha1.ReleasePace{Step: step, Progress: progress}
	}
}

func TestGoOnNamesTheNextStepUnlessOneIsNamed(t *testing.T) {
	for name, row := range map[string]struct {
		facts                   view.Facts
		step, at, value, denial string
	}{
		"the next step":     {facts(workload(7, "49", heldForStep), record(7, "49", atStep(1, "1/3"))), "", "2/3", "7:2", ""},
		"the first step":    {facts(workload(7, "49", heldForStep), record(7, "49", atStep(0, "0/3"))), "", "1/3", "7:1", ""},
		"after the last":    {facts(workload(7, "49", heldForStep), record(7, "49", atStep(3, "3/3"))), "", "all", "7:all", ""},
		"a step":            {facts(workload(7, "49", heldForStep), record(7, "49", atStep(1, "1/3"))), "3", "3/3", "7:3", ""},
		"all":               {facts(workload(7, "49", heldForStep), record(7, "49", atStep(1, "1/3"))), "all", "all", "7:all", ""},
		"unknown steps":     {facts(workload(7, "49", heldForStep), record(7, "49", atStep(1, ""))), "", "2", "7:2", ""},
		"no record":         {facts(workload(7, "49", heldForStep), record(6, "48", atStep(2, "2/3"))), "", "1", "7:1", ""},
		"a step beyond":     {facts(workload(7, "49", heldForStep), record(7, "49", atStep(1, "1/3"))), "4", "", "", `"4" is no step of release 7 of deployment/web: use 1 to 3, or all`},
		"no step":           {facts(workload(7, "49", heldForStep), record(7, "49", atStep(1, "1/3"))), "0", "", "", `"0" is no step of release 7 of deployment/web: use 1 to 3, or all`},
		"a word":            {facts(workload(7, "49", heldForStep)), "next", "", "", `"next" is no step of release 7 of deployment/web: use a number, or all`},
		"a usual release":   {facts(workload(7, "49"), record(7, "49")), "", "", "", "release 7 of deployment/web isn't rolled out in steps"},
		"nothing to see":    {facts(nil, record(7, "49")), "", "", "", "deployment/web can't be read, so that it can't be asked to go on"},
		"an earlier record": {facts(workload(7, "49", func(*unstructured.Unstructured) {})), "all", "", "", "release 7 of deployment/web isn't rolled out in steps"},
	} {
		request, value, err := view.GoOnOf(row.facts, row.step)
		if row.denial != "" {
			NewWithT(t).Expect(err).To(MatchError(row.denial), name)
			continue
		}
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), name)
		NewWithT(t).Expect(value).To(Equal(row.value), name)
		NewWithT(t).Expect(request.Step).To(Equal(row.at), name)
		NewWithT(t).Expect(request.Kind).To(BeEquivalentTo("GoOnRequest"), name)
		NewWithT(t).Expect(request.Warnings).To(BeEmpty(), name)
	}
}

func TestGoOnWarnsOfAnApprovalThatIsMissing(t *testing.T) {
	for reason, warnings := range map[string][]string{
		"AwaitingApproval": {"an approval that is missing isn't passed: kubectl altershield approve deployment/web -n shop"},
		"ApprovalDenied":   {"an approval that is missing isn't passed: kubectl altershield approve deployment/web -n shop"},
		"Soaking":          nil,
	} {
		request, _, err := view.GoOnOf(facts(workload(7, "49", heldForStep), record(7, "49", atStep(1, "1/3"), has("Paced", "True", reason, ""))), "")
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(request.Warnings).To(Equal(warnings), reason)
	}
}
