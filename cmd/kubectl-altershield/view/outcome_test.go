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
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

func TestAwaitedRelease(t *testing.T) {
	requested := rollback(7, 8, "49")
	requested.Reason = "Requested"
	observed := func(record *appv1alpha1.ChangeWorkload) { record.Spec.Observed = true }
	unstamped := workload(1, "49")
	unstamped.SetLabels(nil)
	for _, row := range []struct {
		name    string
		facts   view.Facts
		awaited decide.Release
	}{
		{"the one that the workload is at, recorded or not", facts(workload(7, "49"), record(6, "ac")), decide.Release{Version: version("49"), Number: 7}},
		{"an observed one since the last that was stamped", facts(workload(7, "49"), record(7, "49"), record(9, "bb", observed)), decide.Release{Version: version("bb"), Number: 9}},
		{"a stamped one since those that were observed", facts(workload(10, "49"), record(9, "bb", observed)), decide.Release{Version: version("49"), Number: 10}},
		{"the newest record where the workload can't be read", facts(nil, record(6, "ac"), record(5, "a1")), decide.Release{Version: version("ac"), Number: 6}},
		{"the one that the operator went back from", facts(workload(8, "a1", wentBack(rollback(7, 8, "49")))), decide.Release{Version: version("49"), Number: 7}},
		{"a rollback on request", facts(workload(8, "a1", wentBack(requested))), decide.Release{Version: version("a1"), Number: 8}},
		{"none without a version", facts(unstamped), decide.Release{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(view.Awaited(row.facts)).To(Equal(row.awaited))
		})
	}
}

func TestOutcomeOfARelease(t *testing.T) {
	awaited := decide.Release{Version: version("49"), Number: 7}
	for _, row := range []struct {
		name   string
		object *unstructured.Unstructured
		record []appv1alpha1.ChangeWorkload
		state  view.State
		by     int64
		done   bool
	}{
		{"not recorded yet", workload(7, "49"), nil, "Pending", 0, false},
		{"running", workload(7, "49"), []appv1alpha1.ChangeWorkload{record(7, "49", is("Running", "Unknown", "Verifying", ""))}, "Running", 0, false},
		{"verified", workload(7, "49"), []appv1alpha1.ChangeWorkload{record(7, "49")}, "Success", 0, true},
		{"suspended", workload(7, "49"), []appv1alpha1.ChangeWorkload{record(7, "49", suspended)}, "Suspend", 0, true},
		{"rolled back", workload(8, "a1", wentBack(rollback(7, 8, "49"))), []appv1alpha1.ChangeWorkload{record(7, "49", suspended)}, "RolledBack", 8, true},
		{"rolled back, and its record gone", workload(8, "a1", wentBack(rollback(7, 8, "49"))), nil, "RolledBack", 8, true},
		{"overtaken before it was recorded", workload(9, "bb"), nil, "Superseded", 9, true},
		{"overtaken while it ran", workload(9, "bb"), []appv1alpha1.ChangeWorkload{record(7, "49", is("Running", "Unknown", "Verifying", ""))}, "Superseded", 9, true},
		{"verified before it was overtaken", workload(9, "bb"), []appv1alpha1.ChangeWorkload{record(7, "49")}, "Success", 9, true},
		{"the version released again", workload(9, "49"), []appv1alpha1.ChangeWorkload{record(9, "49")}, "Superseded", 9, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			outcome := view.OutcomeOf(facts(row.object, row.record...), awaited)
			g.Expect(outcome.Release.State).To(Equal(row.state))
			g.Expect(outcome.Release.Number).To(BeEquivalentTo(7))
			g.Expect(outcome.By).To(Equal(row.by))
			g.Expect(outcome.Done).To(Equal(row.done))
		})
	}
}

func TestOutcomeOfAWorkloadThatIsNotUnderChangeControl(t *testing.T) {
	g := NewWithT(t)
	object := workload(1, "49")
	object.SetLabels(nil)
	outcome := view.OutcomeOf(facts(object), view.Awaited(facts(object)))
	g.Expect(outcome.Release.State).To(BeEquivalentTo("NotChecked"))
	g.Expect(outcome.Done).To(BeTrue())
}

func TestOutcomeOfAReleaseByItsNumberAlone(t *testing.T) {
	outcome := view.OutcomeOf(facts(workload(7, "49"), record(5, "a1")), decide.Release{Number: 5})
	NewWithT(t).Expect(outcome.Release.State).To(BeEquivalentTo("Success"))
}

func TestOutcomeOfANumberIsThatOfTheNewestRelease(t *testing.T) {
	observed := record(7, "11", func(record *appv1alpha1.ChangeWorkload) { record.Spec.Observed = true; record.Spec.CreateTimeUnix-- })
	enforced := record(7, "49", suspended)
	for _, records := range [][]appv1alpha1.ChangeWorkload{{observed, enforced}, {enforced, observed}} {
		outcome := view.OutcomeOf(facts(workload(9, "bb"), records...), decide.Release{Number: 7})
		NewWithT(t).Expect(outcome.Release.Version).To(Equal(version("49")))
		NewWithT(t).Expect(outcome.Release.State).To(Equal(view.Suspend))
	}
}

func TestOutcomeOfANumberWithoutARecordIsThatOfItsRollback(t *testing.T) {
	object := workload(9, "bb", wentBack(rollback(7, 8, "49"), rollback(5, 6, "49")))
	for number, by := range map[int64]int64{5: 6, 7: 8} {
		outcome := view.OutcomeOf(facts(object), decide.Release{Number: number})
		NewWithT(t).Expect(outcome.Release.State).To(Equal(view.RolledBack))
		NewWithT(t).Expect(outcome.Release.Version).To(Equal(version("49")))
		NewWithT(t).Expect(outcome.By).To(Equal(by))
	}
	outcome := view.OutcomeOf(facts(object), decide.Release{Number: 4})
	NewWithT(t).Expect(outcome.Done).To(BeFalse())
	NewWithT(t).Expect(view.IsForgotten(facts(object), outcome)).To(BeTrue())
}
