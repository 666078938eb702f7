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
	"time"

	. "github.com/onsi/gomega"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

// many are the records of several workloads.
func many() []appv1alpha1.ChangeWorkload {
	back := rollback(3, 4, "b1")
	return []appv1alpha1.ChangeWorkload{
		record(6, "ac"), record(7, "49", suspended), record(5, "a1"),
		record(1, "c1", of("shop", "Deployment", "cart")),
		record(2, "d1", of("shop", "StatefulSet", "web"), is("Running", "Unknown", "Verifying", "")),
		record(4, "e1", of("pay", "Deployment", "ledger"), func(record *appv1alpha1.ChangeWorkload) { record.Spec.Rollback = &back }),
	}
}

func named(list view.ReleaseList) []string {
	var names []string
	for _, release := range list.Items {
		names = append(names, release.Namespace+"/"+release.Kind+"/"+release.Workload+" "+string(release.State))
	}
	return names
}

func TestListHasARowForEachGroupOfAKind(t *testing.T) {
	in := func(version string) recordOption {
		return func(record *appv1alpha1.ChangeWorkload) { record.Spec.WorkloadRef.APIVersion = version }
	}
	records := []appv1alpha1.ChangeWorkload{record(7, "49"), record(2, "b2", in("example.com/v1")), record(3, "c3", in("example.com/v2"))}
	list := view.ListOf(records, view.Filter{All: true})
	NewWithT(t).Expect(named(list)).To(Equal([]string{"shop/Deployment/web Success", "shop/Deployment/web Success"}))
	NewWithT(t).Expect([]string{list.Items[0].APIVersion, list.Items[1].APIVersion}).To(ConsistOf("apps/v1", "example.com/v2"))
}

func TestListShowsThePresentReleaseOfEachWorkloadThoseThatNeedAPersonFirst(t *testing.T) {
	g := NewWithT(t)
	list := view.ListOf(many(), view.Filter{All: true})
	g.Expect(named(list)).To(Equal([]string{
		"shop/Deployment/web Suspend", "shop/StatefulSet/web Running", "pay/Deployment/ledger RolledBack", "shop/Deployment/cart Success",
	}))
	g.Expect(list.Counts).To(Equal(map[view.State]int{"Suspend": 1, "Running": 1, "RolledBack": 1, "Success": 1}))
	g.Expect(list.Hidden).To(BeZero())
	g.Expect(list.Items[0].Number).To(BeEquivalentTo(7))
	g.Expect(list.Items[2].Why).To(Equal("ImagePullBackOff"))
	g.Expect(list.Kind).To(Equal("ReleaseList"))
	g.Expect(list.APIVersion).To(Equal("cli.altershield/v1"))
}

func TestListFilters(t *testing.T) {
	for _, row := range []struct {
		name   string
		filter view.Filter
		listed []string
		hidden int
	}{
		{"what is verified is hidden", view.Filter{}, []string{"shop/Deployment/web Suspend", "shop/StatefulSet/web Running", "pay/Deployment/ledger RolledBack"}, 1},
		{"suspended", view.Filter{Suspended: true}, []string{"shop/Deployment/web Suspend"}, 1},
		{"running", view.Filter{Running: true}, []string{"shop/StatefulSet/web Running"}, 1},
		{"failed", view.Filter{Failed: true}, []string{"shop/Deployment/web Suspend", "pay/Deployment/ledger RolledBack"}, 1},
		{"by name", view.Filter{Names: []view.Name{{Name: "web"}}, All: true}, []string{"shop/Deployment/web Suspend", "shop/StatefulSet/web Running"}, 0},
		{"by kind and name", view.Filter{Names: []view.Name{{Kind: "sts", Name: "web"}}, All: true}, []string{"shop/StatefulSet/web Running"}, 0},
		{"by namespace", view.Filter{Names: []view.Name{{Kind: "pay", Name: "ledger"}, {Namespace: "pay", Name: "ledger"}}, All: true}, []string{"pay/Deployment/ledger RolledBack"}, 0},
		{"since", view.Filter{Since: now.Add(-time.Hour + 7*time.Second)}, []string{"shop/Deployment/web Suspend"}, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			list := view.ListOf(many(), row.filter)
			g.Expect(named(list)).To(Equal(row.listed))
			g.Expect(list.Hidden).To(Equal(row.hidden))
		})
	}
}

func TestListOfSuspendedWorkloadsHasNoFailureThatSuspendsNothing(t *testing.T) {
	g := NewWithT(t)
	records := []appv1alpha1.ChangeWorkload{record(7, "49", is("Suspend", "False", "PodsFailed", "5xx"), has("Suspended", "False", "BlockingDisabled", "blocking is off"))}
	g.Expect(view.ListOf(records, view.Filter{Suspended: true}).Items).To(BeEmpty())
	g.Expect(view.ListOf(records, view.Filter{Failed: true}).Items).To(HaveLen(1))
}

func TestListOfSuspendedWorkloadsHasTheJobsThatAreHeldAndNoneThatFailed(t *testing.T) {
	g := NewWithT(t)
	job := func(name string, options ...recordOption) appv1alpha1.ChangeWorkload {
		run := record(1, "f1", append(options, of("shop", "Job", name))...)
		run.Spec.WorkloadRef.APIVersion = "batch/v1"
		return run
	}
	records := []appv1alpha1.ChangeWorkload{
		job("failed", is("Suspend", "False", "PodsFailed", "exit 1"), has("Suspended", "True", "PodsFailed", "a Job with the same pod template is suspended at its creation")),
		job("held", is("Running", "Unknown", "Refused", "its pod template failed before")),
	}
	g.Expect(named(view.ListOf(records, view.Filter{Suspended: true}))).To(Equal([]string{"shop/Job/held Suspend"}))
	g.Expect(view.ListOf(records, view.Filter{Failed: true}).Items).To(HaveLen(2))
}

func TestListTakesTheLaterRecordOfARecreatedOrLaterEnforcedWorkload(t *testing.T) {
	g := NewWithT(t)
	gone := record(9, "99", func(record *appv1alpha1.ChangeWorkload) {
		record.Spec.WorkloadRef.UID = "gone"
		record.Spec.CreateTimeUnix--
	})
	observed := record(30, "98", func(record *appv1alpha1.ChangeWorkload) { record.Spec.Observed = true; record.Spec.CreateTimeUnix = 1 })
	g.Expect(view.ListOf([]appv1alpha1.ChangeWorkload{gone, observed, record(1, "c1", func(record *appv1alpha1.ChangeWorkload) {
		record.Spec.CreateTimeUnix = now.Unix()
	})}, view.Filter{All: true}).Items[0].Number).To(BeEquivalentTo(1))
}

func TestListOfNothingIsNoNull(t *testing.T) {
	NewWithT(t).Expect(view.ListOf(nil, view.Filter{}).Items).NotTo(BeNil())
}
