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
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/delivery"
)

// counted returns the bypasses, spared pods and waits for approvals that are not 0, each as <name> <labels> <value>.
func counted(t *testing.T, registry *prometheus.Registry) []string {
	t.Helper()
	families, err := registry.Gather()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	var counts []string
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			labels := ""
			for _, label := range metric.GetLabel() {
				labels += " " + label.GetValue()
			}
			if value := metric.GetCounter().GetValue() + metric.GetHistogram().GetSampleSum(); value > 0 {
				counts = append(counts, strings.TrimPrefix(family.GetName(), "altershield_")+labels+fmt.Sprintf(" %v", value))
			}
		}
	}
	return counts
}

func TestReportDeliveryOfAStatus(t *testing.T) {
	at := func(minutes int) *metav1.Time {
		return &metav1.Time{Time: time.Unix(1_800_000_000, 0).Add(time.Duration(minutes) * time.Minute)}
	}
	steps := func(step int32, since, waits *metav1.Time, passes ...appv1alpha1.PacePass) appv1alpha1.ChangeWorkloadStatus {
		return appv1alpha1.ChangeWorkloadStatus{Status: "Running", ObservedRelease: 2, Pace: &appv1alpha1.ReleasePace{Step: step, Since: since, ApprovalSince: waits, Passes: passes}}
	}
	all := appv1alpha1.PacePass{To: "all", User: "bob"}
	running := appv1alpha1.ChangeWorkloadStatus{Status: "Running", ObservedRelease: 2}
	suspended := appv1alpha1.ChangeWorkloadStatus{Status: "Suspend", ObservedRelease: 2, Counts: appv1alpha1.PodCounts{Desired: 10, Passed: 1, Failed: 1}}
	earlier := appv1alpha1.ChangeWorkloadStatus{Status: "Suspend", ObservedRelease: 1}
	three := make([]corev1.Pod, 3)
	for name, row := range map[string]struct {
		before, after appv1alpha1.ChangeWorkloadStatus
		ignored       bool
		seen          decide.Observation
		decision      decide.Decision
		want          []string
	}{
		"nothing happened":                   {running, running, false, decide.Observation{Current: true}, decide.Decision{}, nil},
		"a release through a suspension":     {earlier, running, true, decide.Observation{Current: true}, decide.Decision{}, []string{"bypasses_total ignored_suspend 1"}},
		"the same, once it is known":         {running, running, true, decide.Observation{Current: true}, decide.Decision{}, nil},
		"a user who lets a release go on":    {steps(1, at(0), nil), steps(1, at(0), nil, all), false, decide.Observation{Current: true}, decide.Decision{}, []string{"bypasses_total go_on 1"}},
		"the same, once it is known again":   {steps(1, at(0), nil, all), steps(2, at(3), nil, all), false, decide.Observation{Current: true}, decide.Decision{}, nil},
		"a step that waited for approvals":   {steps(1, at(0), at(1)), steps(2, at(3), nil), false, decide.Observation{Current: true}, decide.Decision{}, []string{"approval_wait_seconds shop 120"}},
		"a stop of the rollout":              {running, suspended, false, decide.Observation{Current: true}, decide.Decision{Pause: true}, []string{"pods_spared_total shop 7"}},
		"a stop that a conflict delayed":     {running, suspended, false, decide.Observation{Current: true, Hold: decide.Held}, decide.Decision{}, []string{"pods_spared_total shop 7"}},
		"a stop that is known":               {suspended, suspended, false, decide.Observation{Current: true, Hold: decide.Held}, decide.Decision{}, nil},
		"a stop of a version released again": {earlier, suspended, false, decide.Observation{Current: true}, decide.Decision{Pause: true}, []string{"pods_spared_total shop 7"}},
		"a rollout that goes on":             {running, suspended, false, decide.Observation{Current: true}, decide.Decision{}, nil},
		"a release that is over":             {running, suspended, false, decide.Observation{}, decide.Decision{Pause: true}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g, registry := NewWithT(t), prometheus.NewRegistry()
			measures, err := delivery.New(registry, nil)
			g.Expect(err).NotTo(HaveOccurred())
			before := &appv1alpha1.ChangeWorkload{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}, Spec: appv1alpha1.ChangeWorkloadSpec{Release: 2, IgnoredSuspend: row.ignored}}
			after := before.DeepCopy()
			before.Status, after.Status = row.before, row.after
			reconciler := &Reconciler{Delivery: measures}
			reconciler.reportDelivery(before, after, &scene{Observation: row.seen, pods: three}, row.decision)
			g.Expect(counted(t, registry)).To(Equal(row.want))
		})
	}
}

func TestReportFreezeCountsABreakGlassOnce(t *testing.T) {
	g, registry := NewWithT(t), prometheus.NewRegistry()
	p := newPlane(t, nil, nil)
	var err error
	p.Delivery, err = delivery.New(registry, nil)
	g.Expect(err).NotTo(HaveOccurred())
	before := recordAt(2, version, "", "")
	after := before.DeepCopy()
	after.Status.BreakGlass = &appv1alpha1.BreakGlassPass{Name: "incident-7", User: "alice"}
	seen := &scene{owner: p.Kinds.Snapshot()[0].New()}
	p.reportFreeze(before, after, seen)
	p.reportFreeze(after, after, seen)
	g.Expect(counted(t, registry)).To(Equal([]string{"bypasses_total break_glass 1"}))
}
