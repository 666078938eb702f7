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

package notice

import (
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// happened returns an event of a workload some seconds after the start. Its ID shows both.
func happened(name appv1alpha1.SubscribedEvent, workload string, seconds int) Event {
	return Event{
		ID: fmt.Sprintf("%s %s %d", name, workload, seconds), Name: name, At: after(seconds), Workload: appv1alpha1.WorkloadReference{UID: types.UID(workload)},
	}
}

// ids returns the IDs of the events of each message.
func ids(batches []Batch) [][]string {
	var all [][]string
	for _, batch := range batches {
		var of []string
		if batch.Late {
			of = append(of, "late")
		}
		for _, event := range batch.Events {
			of = append(of, event.ID)
		}
		all = append(all, of)
	}
	return all
}

func spec(kind appv1alpha1.SinkType, digest int32) *appv1alpha1.ChangeSubscriptionSpec {
	return &appv1alpha1.ChangeSubscriptionSpec{Sink: appv1alpha1.SubscriptionSink{Type: kind}, DigestSeconds: digest}
}

func TestNextSendsFailuresAtOnceAndCollectsTheRest(t *testing.T) {
	g := NewWithT(t)
	pending := []Event{happened("ReleaseStarted", "a", 0), happened("ReleaseVerified", "b", 10), happened("ReleaseSuspended", "c", 20)}
	plan := Next(spec("DingTalk", 60), &appv1alpha1.ChangeSubscriptionStatus{}, pending, after(20))
	g.Expect(ids(plan.Due)).To(Equal([][]string{{"ReleaseSuspended c 20"}}))
	g.Expect(plan.Wait).To(Equal(40 * time.Second))
	plan = Next(spec("DingTalk", 60), &appv1alpha1.ChangeSubscriptionStatus{}, pending[:2], after(60))
	g.Expect(ids(plan.Due)).To(Equal([][]string{{"ReleaseStarted a 0", "ReleaseVerified b 10"}}))
	g.Expect(plan.Wait).To(BeZero())
	plan = Next(spec("DingTalk", 0), &appv1alpha1.ChangeSubscriptionStatus{}, pending, after(20))
	g.Expect(ids(plan.Due)).To(Equal([][]string{{"ReleaseStarted a 0"}, {"ReleaseVerified b 10"}, {"ReleaseSuspended c 20"}}), "without a digest")
}

func TestNextKeepsTheOrderOfAWorkload(t *testing.T) {
	g := NewWithT(t)
	pending := []Event{
		happened("ReleaseStarted", "a", 0), happened("ReleaseStarted", "b", 1), happened("ReleaseSuspended", "a", 20), happened("ReleaseVerified", "a", 25),
	}
	for name, now := range map[string]int{"before the digest is due": 30, "when it is due": 90} {
		started, wait := []string{"ReleaseStarted a 0"}, BeZero()
		if now == 90 {
			started = append(started, "ReleaseStarted b 1")
		} else {
			wait = BeNumerically(">", 0)
		}
		plan := Next(spec("Slack", 60), &appv1alpha1.ChangeSubscriptionStatus{}, pending, after(now))
		g.Expect(ids(plan.Due)).To(Equal([][]string{started, {"ReleaseSuspended a 20"}, {"ReleaseVerified a 25"}}), name)
		g.Expect(plan.Wait).To(wait, name)
	}
	between := append(pending[2:4:4], happened("ReleaseSuspended", "a", 26))
	plan := Next(spec("Slack", 60), &appv1alpha1.ChangeSubscriptionStatus{}, between, after(30))
	g.Expect(ids(plan.Due)).To(Equal([][]string{{"ReleaseSuspended a 20"}, {"ReleaseVerified a 25"}, {"ReleaseSuspended a 26"}}))
	plan = Next(spec("Slack", 60), &appv1alpha1.ChangeSubscriptionStatus{}, []Event{pending[0], pending[2]}, after(30))
	g.Expect(plan.Wait).To(BeZero(), "nothing is left")
}

func TestNextTellsManyFailuresInOneMessage(t *testing.T) {
	var pending []Event
	for i := range 6 {
		pending = append(pending, happened("ReleaseSuspended", fmt.Sprint(i), i))
	}
	NewWithT(t).Expect(Next(spec("DingTalk", 0), &appv1alpha1.ChangeSubscriptionStatus{}, pending, after(6)).Due).To(HaveLen(1))
	NewWithT(t).Expect(Next(spec("DingTalk", 0), &appv1alpha1.ChangeSubscriptionStatus{}, pending[:5], after(6)).Due).To(HaveLen(5))
	NewWithT(t).Expect(Next(spec("CDEvents", 0), &appv1alpha1.ChangeSubscriptionStatus{}, pending, after(6)).Due).To(HaveLen(6), "programs need each")
}

func TestNextTellsAPlainReceiverNoMoreThanAHundredEventsInAMessage(t *testing.T) {
	var pending []Event
	for i := range 250 {
		pending = append(pending, happened("ReleaseStarted", fmt.Sprint(i), i))
	}
	for name, now := range map[string]time.Time{"a digest": after(400), "late ones": after(9000)} {
		g := NewWithT(t)
		due := Next(spec("Plain", 60), &appv1alpha1.ChangeSubscriptionStatus{}, pending, now).Due
		g.Expect(due).To(HaveLen(3), name)
		g.Expect(slices.Concat(due[0].Events, due[1].Events, due[2].Events)).To(Equal(pending), name)
		g.Expect(due[2].Events).To(HaveLen(50), name)
		g.Expect(due[2].Late).To(Equal(name == "late ones"))
		g.Expect(Next(spec("Slack", 60), &appv1alpha1.ChangeSubscriptionStatus{}, pending, now).Due).To(HaveLen(1), "a chat gets the first ones and a count")
	}
}

func TestNextTellsOldEventsInOneMessage(t *testing.T) {
	pending := []Event{happened("ReleaseSuspended", "a", 0), happened("ReleaseVerified", "b", 1), happened("ReleaseSuspended", "c", 7000)}
	plan := Next(spec("Feishu", 60), &appv1alpha1.ChangeSubscriptionStatus{}, pending, after(7200))
	NewWithT(t).Expect(ids(plan.Due)).To(Equal([][]string{{"late", "ReleaseSuspended a 0", "ReleaseVerified b 1"}, {"ReleaseSuspended c 7000"}}))
	plan = Next(spec("CDEvents", 0), &appv1alpha1.ChangeSubscriptionStatus{}, pending, after(7200))
	NewWithT(t).Expect(plan.Due).To(HaveLen(3))
}

func TestNextTellsALongDigestAsSuch(t *testing.T) {
	g := NewWithT(t)
	pending := []Event{happened("ReleaseVerified", "a", 0), happened("ReleaseVerified", "b", 10)}
	plan := Next(spec("Slack", 3600), &appv1alpha1.ChangeSubscriptionStatus{}, pending, after(3601))
	g.Expect(ids(plan.Due)).To(Equal([][]string{{"ReleaseVerified a 0", "ReleaseVerified b 10"}}), "it isn't late: it was collected for that long")
	plan = Next(spec("Slack", 3600), &appv1alpha1.ChangeSubscriptionStatus{}, pending, after(7205))
	g.Expect(ids(plan.Due)).To(Equal([][]string{{"late", "ReleaseVerified a 0"}, {"ReleaseVerified b 10"}}))
}

func TestNextGivesUpAfterAnHourOfFailures(t *testing.T) {
	g := NewWithT(t)
	failing := metav1.NewTime(after(100))
	status := &appv1alpha1.ChangeSubscriptionStatus{FailingSince: &failing}
	pending := []Event{happened("ReleaseSuspended", "a", 0), happened("ReleaseSuspended", "b", 200)}
	g.Expect(Next(spec("Plain", 0), status, pending, after(3699)).Expired).To(BeEmpty(), "it failed for less than an hour")
	plan := Next(spec("Plain", 0), status, pending, after(3700))
	g.Expect(ids([]Batch{{Events: plan.Expired}})).To(Equal([][]string{{"ReleaseSuspended a 0"}}))
	g.Expect(ids(plan.Due)).To(Equal([][]string{{"ReleaseSuspended b 200"}}))
}

func TestUnknownLeavesOutWhatWasDelivered(t *testing.T) {
	g := NewWithT(t)
	events := []Event{happened("ReleaseVerified", "a", 0), happened("ReleaseVerified", "b", 1), happened("ReleaseVerified", "c", 2)}
	status := &appv1alpha1.ChangeSubscriptionStatus{}
	Deliver(status, events[:1])
	told := map[string]time.Time{events[1].ID: events[1].At}
	g.Expect(ids([]Batch{{Events: Unknown(status, told, events)}})).To(Equal([][]string{{"ReleaseVerified c 2"}}))
	Remember(status, told, events)
	g.Expect(status.Delivered).To(Equal([]string{"ReleaseVerified a 0", "ReleaseVerified b 1"}))
	Remember(status, told, events)
	g.Expect(status.Delivered).To(HaveLen(2))
}

func TestMergeKeepsWhatReleasesDontShowAnyMore(t *testing.T) {
	suspended, recovered := happened("ReleaseSuspended", "a", 1), happened("ReleaseRecovered", "a", 2)
	merged := Merge([]Event{recovered}, []Event{suspended, recovered})
	NewWithT(t).Expect(ids([]Batch{{Events: merged}})).To(Equal([][]string{{"ReleaseSuspended a 1", "ReleaseRecovered a 2"}}))
}

func TestMergeKeepsTheTimeAtWhichAnEventWasSeenFirst(t *testing.T) {
	first, again := happened("FreezeEnded", "a", 1), happened("FreezeEnded", "a", 1)
	again.At = after(7200)
	NewWithT(t).Expect(Merge([]Event{again}, []Event{first})).To(Equal([]Event{first}), "one that is looked at later isn't of then")
}

func TestTrimForgetsWhatIsOld(t *testing.T) {
	g := NewWithT(t)
	told := metav1.NewTime(start())
	status := &appv1alpha1.ChangeSubscriptionStatus{ToldUntil: &told}
	Trim(status, nil, nil, after(1199))
	g.Expect(status.ToldUntil.Time).To(Equal(start()), "it isn't written more often than every ten minutes")
	Trim(status, nil, nil, after(1200))
	g.Expect(status.ToldUntil.Time).To(Equal(after(600)))
	waits := []Event{happened("ReleaseSuspended", "a", 700)}
	Trim(status, waits, waits, after(9000))
	g.Expect(status.ToldUntil.Time).To(Equal(after(600)), "not beyond what waits")
}

func TestTrimKeepsTheStatusSmall(t *testing.T) {
	g := NewWithT(t)
	var events []Event
	for i := range 300 {
		events = append(events, happened("ReleaseVerified", "a", i))
	}
	told := metav1.NewTime(start())
	status := &appv1alpha1.ChangeSubscriptionStatus{ToldUntil: &told, Delivered: []string{"gone"}}
	Deliver(status, events)
	Trim(status, events, nil, after(300))
	g.Expect(status.Delivered).To(HaveLen(256))
	g.Expect(status.Delivered[0]).To(Equal("ReleaseVerified a 44"))
	g.Expect(status.ToldUntil.Time).To(Equal(after(44)), "so that none of the 44 is told again")

	told = metav1.NewTime(start())
	status = &appv1alpha1.ChangeSubscriptionStatus{ToldUntil: &told}
	Deliver(status, events)
	waits := []Event{happened("ReleaseStarted", "b", 10)}
	Trim(status, events, waits, after(300))
	g.Expect(status.Delivered).To(HaveLen(256))
	g.Expect(status.ToldUntil.Time).To(Equal(after(10)), "what waits must not be lost")
}

func TestTrimTellsWhatComesToLightAfterManyOthers(t *testing.T) {
	g := NewWithT(t)
	var events []Event
	for i := range 300 {
		events = append(events, happened("ReleaseStarted", fmt.Sprint(i), 100))
	}
	told := metav1.NewTime(start())
	status := &appv1alpha1.ChangeSubscriptionStatus{ToldUntil: &told}
	Deliver(status, events)
	g.Expect(Trim(status, events, nil, after(100))).To(Equal(61 * time.Second))
	g.Expect(status.Delivered).To(HaveLen(256))
	g.Expect(status.ToldUntil.Time).To(Equal(start()), "another one of that second, or of one before it, may come to light")
	g.Expect(Trim(status, events, []Event{happened("ReleaseStarted", "waits", 90)}, after(160))).To(BeZero(), "what waits is looked at anyway")
	g.Expect(Trim(status, events, nil, after(160))).To(Equal(time.Second))
	g.Expect(status.ToldUntil.Time).To(Equal(start()))
	g.Expect(Trim(status, events, nil, after(161))).To(BeZero())
	g.Expect(status.ToldUntil.Time).To(Equal(after(101)), "so that none of the 44 is told again")
	g.Expect(status.Delivered).To(HaveLen(256))
}

func TestSetBackCorrectsTimesThatAreStillToCome(t *testing.T) {
	at := func(seconds int) *metav1.Time {
		made := metav1.NewTime(after(seconds))
		return &made
	}
	for _, row := range []struct {
		name                  string
		told, failing, retry  *metav1.Time
		created               int
		back, fails, retrying *metav1.Time
	}{
		{"times of the past stay", at(0), at(10), at(3900), 0, at(0), at(10), at(3900)},
		{"the clocks of two machines differ a little", at(3605), at(3605), at(3605), 3605, at(3605), at(3605), at(3605)},
		{"a clock that went back", at(7200), at(7200), at(7200), 0, at(3000), at(3600), nil},
		{"after the creation of the subscription", at(7200), nil, nil, 3300, at(3300), nil, nil},
		{"before the creation of the subscription", at(7200), nil, nil, 7000, at(3000), nil, nil},
		{"nothing is told yet", nil, nil, nil, 0, nil, nil, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			status := &appv1alpha1.ChangeSubscriptionStatus{ToldUntil: row.told, FailingSince: row.failing, RetryTime: row.retry}
			SetBack(status, after(row.created), after(3600))
			NewWithT(t).Expect(*status).To(Equal(appv1alpha1.ChangeSubscriptionStatus{ToldUntil: row.back, FailingSince: row.fails, RetryTime: row.retrying}))
		})
	}
}

func TestFailWaitsLongerEachTime(t *testing.T) {
	g := NewWithT(t)
	status := &appv1alpha1.ChangeSubscriptionStatus{}
	var waits []int
	for range 11 {
		Fail(status, 0, 0, start())
		waits = append(waits, int(status.RetryTime.Sub(start()).Seconds()))
	}
	g.Expect(waits).To(Equal([]int{1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300}))
	g.Expect(status.FailingSince.Time).To(Equal(start()))
	Fail(status, 0, 0.5, start())
	g.Expect(status.RetryTime.Sub(start())).To(Equal(375*time.Second), "spread")
	Fail(status, 10*time.Minute, 0.5, start())
	g.Expect(status.RetryTime.Sub(start())).To(Equal(10*time.Minute), "as the receiver asks")
	Taken(status, after(1))
	g.Expect(*status).To(Equal(appv1alpha1.ChangeSubscriptionStatus{LastSentTime: &metav1.Time{Time: after(1)}}))
}
