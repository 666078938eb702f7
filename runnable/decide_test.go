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

package runnable

import (
	"cmp"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/rollback"
)

func TestDecide(t *testing.T) {
	second := decide.Release{Version: "b", Number: 2}
	stuck := decide.StuckPods{Message: "pod b-1: pending", Next: 7 * time.Second}
	request := func(reason appv1alpha1.RollbackReason, message, user, to string) rollback.Request {
		asked := rollback.Request{From: second, Reason: reason, Message: message, User: user, To: to}
		if reason == "Requested" {
			asked.Annotation = cmp.Or(to, "true")
		}
		return asked
	}
	notRunning := request("PodsNotRunning", "pod b-1: pending", "", "")
	failed := request("PodsFailed", "pod b-1 failed its check", "", "")
	parking := failed
	parking.Park = true
	askedPark := rollback.Request{From: second, Park: true, Reason: "Requested", Message: "alice asked for it", User: "alice", Annotation: "park"}
	rolledBack := func(release int64) []appv1alpha1.Rollback {
		return []appv1alpha1.Rollback{{Version: "a", Release: 1}, {Version: "b", Release: release}}
	}
	for _, row := range []struct {
		name string
		seen Observation
		want Decision
	}{
		{"that nothing is the matter with stays", Observation{}, Decision{}},
		{"goes back when its pods don't run", Observation{Stuck: stuck}, Decision{Requests: []rollback.Request{notRunning}, Wait: 7 * time.Second}},
		{"waits for the moment at which its pods should be running", Observation{Stuck: decide.StuckPods{Next: time.Second}}, Decision{Wait: time.Second}},
		{"stays when its release is over, whatever its pods do", Observation{Stuck: stuck, Over: true, Verified: true}, Decision{}},
		{"goes back when its release is verified but old pods are left, and new ones don't run",
			Observation{Stuck: stuck, Verified: true}, Decision{Requests: []rollback.Request{notRunning}, Wait: 7 * time.Second}},
		{"stays suspended when pods failed", Observation{Failures: "pod b-1 failed its check"}, Decision{}},
		{"is parked when pods failed and that is switched on", Observation{Failures: "pod b-1 failed its check", ParksSuspended: true},
			Decision{Requests: []rollback.Request{parking}}},
		{"is parked where it can't go back", Observation{Failures: "pod b-1 failed its check", ParksSuspended: true, OnSuspension: true},
			Decision{Requests: []rollback.Request{failed, parking}}},
		{"is not parked while nothing failed", Observation{ParksSuspended: true}, Decision{}},
		{"is parked on request", Observation{Requested: "park", RequestedBy: "alice"}, Decision{Requests: []rollback.Request{askedPark}}},
		{"loses a pod while it is parked, and doesn't go back", Observation{Parked: true, Remaining: true, Stuck: stuck,
			Failures: "pod b-1 failed its check", ParksSuspended: true, OnSuspension: true}, Decision{Delete: true}},
		{"loses none when all came back", Observation{Parked: true, Stuck: stuck}, Decision{}},
		{"goes back on request while it is parked", Observation{Parked: true, Requested: "true", RequestedBy: "alice"},
			Decision{Requests: []rollback.Request{request("Requested", "alice asked for it", "alice", "")}}},
		{"loses a pod that blocks it", Observation{Blocked: true, Unblock: time.Minute}, Decision{Delete: true, Wait: time.Minute}},
		{"waits until one has had its time", Observation{Unblock: time.Second, Stuck: decide.StuckPods{Next: time.Minute}}, Decision{Wait: time.Second}},
		{"goes back when pods failed and that is switched on", Observation{Failures: "pod b-1 failed its check", OnSuspension: true},
			Decision{Requests: []rollback.Request{failed}}},
		{"prefers a verified version to a ReplicaSet", Observation{Failures: "pod b-1 failed its check", OnSuspension: true, Stuck: stuck},
			Decision{Requests: []rollback.Request{failed, notRunning}, Wait: 7 * time.Second}},
		{"goes back on request", Observation{Requested: "true", RequestedBy: "alice", Over: true},
			Decision{Requests: []rollback.Request{request("Requested", "alice asked for it", "alice", "")}}},
		{"goes back to the version that was asked for, before anything else", Observation{Requested: "a", RequestedBy: "alice", Stuck: stuck},
			Decision{Requests: []rollback.Request{request("Requested", "alice asked for it", "alice", "a"), notRunning}, Wait: 7 * time.Second}},
		{"whose version was rolled back once is forgiven when it is verified", Observation{Verified: true, Over: true, Rollbacks: rolledBack(1)}, Decision{Forgive: "b"}},
		{"whose version was rolled back once is not forgiven before", Observation{Rollbacks: rolledBack(1)}, Decision{}},
		{"that is about to leave a verified release is not forgiven for that", Observation{Verified: true, Over: true, Rollbacks: rolledBack(2)}, Decision{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			row.seen.OptedIn, row.seen.Release = true, second
			g.Expect(Decide(row.seen)).To(Equal(row.want))
			row.seen.OptedIn = false
			g.Expect(Decide(row.seen)).To(Equal(Decision{}), "and is left alone where its namespace is not under change control")
			row.seen.OptedIn, row.seen.Release = true, decide.Release{}
			g.Expect(Decide(row.seen)).To(Equal(Decision{}), "and where it was never released")
		})
	}
}

func TestObstacleLogReportsAnObstacleOncePerRelease(t *testing.T) {
	g := NewWithT(t)
	log := &obstacleLog{}
	sleep, other := client.ObjectKey{Name: "sleep"}, client.ObjectKey{Name: "other"}
	first, second := decide.Release{Version: "a", Number: 1}, decide.Release{Version: "b", Number: 2}
	g.Expect(log.add(sleep, attempt{"d-1", first, "PodsNotRunning"}, "Paused", now)).To(BeTrue())
	g.Expect(log.add(sleep, attempt{"d-1", first, "PodsNotRunning"}, "Paused", now)).To(BeFalse())
	g.Expect(log.add(sleep, attempt{"d-1", first, "PodsNotRunning"}, "RecreateStrategy", now)).To(BeTrue())
	g.Expect(log.add(sleep, attempt{"d-1", first, "PodsNotRunning"}, "Paused", now)).To(BeFalse(), "two that alternate are reported once each")
	g.Expect(log.add(sleep, attempt{"d-1", first, "PodsFailed"}, "Paused", now)).To(BeTrue())
	g.Expect(log.add(other, attempt{"d-1", first, "PodsNotRunning"}, "Paused", now)).To(BeTrue())
	g.Expect(log.add(sleep, attempt{"d-1", second, "PodsNotRunning"}, "Paused", now)).To(BeTrue())
	log.forget(sleep)
	g.Expect(log.add(sleep, attempt{"d-1", second, "PodsNotRunning"}, "Paused", now)).To(BeTrue())
	g.Expect(log.of).To(HaveLen(2))
}

func TestObstacleLogBacksOffForAMinute(t *testing.T) {
	g := NewWithT(t)
	log, sleep := &obstacleLog{}, client.ObjectKey{Name: "sleep"}
	second := decide.Release{Version: "b", Number: 2}
	g.Expect(log.backoff(sleep, attempt{"d-1", second, "PodsNotRunning"}, false, now)).To(BeZero())
	log.add(sleep, attempt{"d-1", second, "PodsNotRunning"}, "NoHealthyReplicaSet", now)
	g.Expect(log.backoff(sleep, attempt{"d-1", second, "PodsNotRunning"}, false, now.Add(20*time.Second))).To(Equal(40 * time.Second))
	g.Expect(log.backoff(sleep, attempt{"d-1", second, "PodsNotRunning"}, false, now.Add(time.Minute))).To(BeZero())
	g.Expect(log.backoff(sleep, attempt{"d-1", second, "PodsNotRunning"}, true, now.Add(20*time.Second))).To(BeZero(), "there is a ReplicaSet to go back to now")
	g.Expect(log.backoff(sleep, attempt{"d-1", second, "PodsFailed"}, false, now)).To(BeZero(), "another reason")
	g.Expect(log.backoff(sleep, attempt{"d-1", decide.Release{Version: "c", Number: 3}, "PodsNotRunning"}, false, now)).To(BeZero(), "another release")
	log.add(sleep, attempt{"d-1", second, "PodsNotRunning"}, "NoHealthyReplicaSet", now.Add(time.Minute))
	g.Expect(log.backoff(sleep, attempt{"d-1", second, "PodsNotRunning"}, false, now.Add(90*time.Second))).To(Equal(30 * time.Second))
	log.add(sleep, attempt{"d-1", second, "PodsFailed"}, "Paused", now)
	g.Expect(log.backoff(sleep, attempt{"d-1", second, "PodsFailed"}, false, now)).To(BeZero(), "the cache shows the end of a pause")
}
