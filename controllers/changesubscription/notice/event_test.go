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
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/calendar"
)

// start is when the release of releaseOf was recorded.
func start() time.Time { return time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC) }

// after returns the time some seconds after the start.
func after(seconds int) time.Time { return start().Add(time.Duration(seconds) * time.Second) }

// was returns a condition that changed some seconds after the start.
func was(kind, status, reason string, seconds int) metav1.Condition {
	return metav1.Condition{
		Type: kind, Status: metav1.ConditionStatus(status), Reason: reason, Message: "message of " + kind, LastTransitionTime: metav1.NewTime(after(seconds)),
	}
}

// releaseOf returns release 7 of the Deployment web, with a status.
func releaseOf(phase appv1alpha1.ChangeWorkloadPhase, conditions ...metav1.Condition) *appv1alpha1.ChangeWorkload {
	return &appv1alpha1.ChangeWorkload{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web--x--491e30c0000000000000000000000000"},
		Spec: appv1alpha1.ChangeWorkloadSpec{
			WorkloadRef: &appv1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "u-1"},
			Reversion:   "491e30c0000000000000000000000000", Release: 7, CreateTimeUnix: start().Unix(), ReleasedBy: "alice@corp",
		},
		Status: appv1alpha1.ChangeWorkloadStatus{
			Status: phase, ObservedRelease: 7, EntryTimeUnix: after(30).Unix(), UpdateTimeUnix: after(40).Unix(), Conditions: conditions,
			Counts: appv1alpha1.PodCounts{Desired: 20, Passed: 4, Failed: 2},
		},
	}
}

// named returns the names of events with the seconds after the start.
func named(events []Event) map[string]int {
	names := map[string]int{}
	for _, event := range events {
		names[string(event.Name)] = int(event.At.Sub(start()).Seconds())
	}
	return names
}

// entered sets when a release entered its phase, and a later write of its status.
func entered(seconds int) func(*appv1alpha1.ChangeWorkload) {
	return func(w *appv1alpha1.ChangeWorkload) {
		w.Status.EntryTimeUnix, w.Status.UpdateTimeUnix = after(seconds).Unix(), after(seconds+100).Unix()
	}
}

// begun returns the beginnings of a release, of two later ones of its workload, of one before it with a higher number, and of another workload.
func begun(release *appv1alpha1.ChangeWorkload) Beginnings {
	other := func(uid types.UID, number int64, seconds int) appv1alpha1.ChangeWorkload {
		made := releaseOf("Success")
		made.Spec.WorkloadRef.UID, made.Spec.Release, made.Spec.CreateTimeUnix = uid, number, after(seconds).Unix()
		return *made
	}
	return BeginningsOf([]appv1alpha1.ChangeWorkload{other("u-1", 2, 35), other("u-1", 1, 25), other("u-1", 9, -10), other("u-2", 8, 5), *release})
}

func TestOfReturnsWhatTheConditionsOfAReleaseShow(t *testing.T) {
	for name, row := range map[string]struct {
		release *appv1alpha1.ChangeWorkload
		edit    func(*appv1alpha1.ChangeWorkload)
		events  map[string]int
	}{
		"running":                          {releaseOf("Running", was("Verified", "Unknown", "Verifying", 1)), nil, map[string]int{"ReleaseStarted": 0}},
		"verified":                         {releaseOf("Success", was("Verified", "True", "AllPodsPassed", 20)), nil, map[string]int{"ReleaseStarted": 0, "ReleaseVerified": 20}},
		"no pods":                          {releaseOf("Success", was("Verified", "Unknown", "NoReplicas", 20)), nil, map[string]int{"ReleaseStarted": 0}},
		"suspended":                        {releaseOf("Suspend", was("Verified", "False", "PodsFailed", 20), was("Suspended", "True", "PodsFailed", 21)), nil, map[string]int{"ReleaseStarted": 0, "ReleaseSuspended": 21}},
		"recovered":                        {releaseOf("Success", was("Verified", "True", "AllPodsPassed", 50), was("Suspended", "False", "Lifted", 50)), entered(50), map[string]int{"ReleaseStarted": 0, "ReleaseVerified": 50, "ReleaseRecovered": 50}},
		"unblocked":                        {releaseOf("Suspend", was("Verified", "False", "PodsFailed", 30), was("Suspended", "False", "BlockingDisabled", 30)), nil, map[string]int{"ReleaseStarted": 0, "ReleaseFailed": 30}},
		"unblocked while it was suspended": {releaseOf("Suspend", was("Verified", "False", "PodsFailed", 30), was("Suspended", "False", "BlockingDisabled", 45)), nil, map[string]int{"ReleaseStarted": 0, "ReleaseFailed": 45}},
		"observed, withdrawn":              {releaseOf("Running", was("Verified", "Unknown", "Verifying", 40), was("Suspended", "False", "Observing", 30)), entered(40), map[string]int{"ReleaseStarted": 0}},
		"observed, failed again":           {releaseOf("Suspend", was("Verified", "False", "PodsFailed", 60), was("Suspended", "False", "Observing", 30)), entered(60), map[string]int{"ReleaseStarted": 0, "ReleaseFailed": 60}},
		"observed, recovered":              {releaseOf("Success", was("Verified", "True", "AllPodsPassed", 70), was("Suspended", "False", "Lifted", 30)), entered(70), map[string]int{"ReleaseStarted": 0, "ReleaseVerified": 70, "ReleaseRecovered": 70}},
		"no longer suspended as the workload moved on": {releaseOf("Suspend", was("Verified", "False", "PodsFailed", 30), was("Suspended", "False", "Lifted", 45)), nil, map[string]int{"ReleaseStarted": 0, "ReleaseRecovered": 45}},
		"withdrawn after that":                         {releaseOf("Running", was("Verified", "Unknown", "Verifying", 60), was("Suspended", "False", "Lifted", 45)), entered(60), map[string]int{"ReleaseStarted": 0, "ReleaseRecovered": 45}},
		"refused":                                      {releaseOf("Failed", was("Verified", "Unknown", "OrderRefused", 2)), nil, map[string]int{"ReleaseStarted": 0, "ReleaseUnchecked": 30}},
		"superseded":                                   {releaseOf("Running", was("Verified", "Unknown", "Superseded", 1)), nil, map[string]int{"ReleaseStarted": 0, "ReleaseSuperseded": 25}},
		"failed, while its record is removed":          {releaseOf("Running", was("Verified", "Unknown", "Superseded", 1), was("Suspended", "True", "PodsFailed", 1)), nil, map[string]int{"ReleaseStarted": 0, "ReleaseSuspended": 1}},
		"superseded by a release that isn't recorded yet": {
			releaseOf("Running", was("Verified", "Unknown", "Superseded", 1)), func(w *appv1alpha1.ChangeWorkload) { w.Spec.WorkloadRef.UID = "u-3" },
			map[string]int{"ReleaseStarted": 0},
		},
		"rolled back": {
			releaseOf("Running", was("Verified", "Unknown", "Superseded", 1), was("RolledBack", "True", "PodsNotRunning", 25)), nil,
			map[string]int{"ReleaseStarted": 0, "ReleaseRolledBack": 25},
		},
		"a rollback": {
			releaseOf("Success", was("Verified", "True", "AllPodsPassed", 20)),
			func(w *appv1alpha1.ChangeWorkload) { w.Spec.Rollback = &appv1alpha1.Rollback{Release: 6} },
			map[string]int{"ReleaseStarted": 0, "RollbackVerified": 20},
		},
		"frozen": {releaseOf("Running", was("Frozen", "True", "ChangeFreeze", 3)), nil, map[string]int{"ReleaseStarted": 0, "ReleaseFrozen": 3}},
		"thawed": {releaseOf("Running", was("Frozen", "False", "Thawed", 3)), nil, map[string]int{"ReleaseStarted": 0}},
		"awaiting approval": {
			releaseOf("Running", was("Paced", "True", "AwaitingApproval", 3)),
			func(w *appv1alpha1.ChangeWorkload) {
				w.Status.Pace = &appv1alpha1.ReleasePace{Step: 2, ApprovalSince: &metav1.Time{Time: after(35)}}
			},
			map[string]int{"ReleaseStarted": 0, "ApprovalAwaited": 35},
		},
		"bypassed by the label": {releaseOf(""), func(w *appv1alpha1.ChangeWorkload) { w.Spec.IgnoredSuspend = true }, map[string]int{"ReleaseStarted": 0, "ReleaseBypassed": 0}},
		"bypassed by a BreakGlass": {
			releaseOf("Running"), func(w *appv1alpha1.ChangeWorkload) {
				w.Status.BreakGlass = &appv1alpha1.BreakGlassPass{Name: "fire", User: "bob", Time: metav1.NewTime(after(4))}
			}, map[string]int{"ReleaseStarted": 0, "ReleaseBypassed": 4},
		},
		"bypassed by a BreakGlass before it was recorded": { // no replica led when it was admitted
			releaseOf("Running"), func(w *appv1alpha1.ChangeWorkload) {
				w.Status.BreakGlass = &appv1alpha1.BreakGlassPass{Name: "fire", User: "bob", Time: metav1.NewTime(after(-1200))}
			}, map[string]int{"ReleaseStarted": 0, "ReleaseBypassed": 0},
		},
		"with the status of an earlier release": {
			releaseOf("Suspend", was("Suspended", "True", "PodsFailed", 21)), func(w *appv1alpha1.ChangeWorkload) { w.Status.ObservedRelease = 3 },
			map[string]int{"ReleaseStarted": 0},
		},
		"from before the workload was observed": {releaseOf("Success", was("Verified", "True", "Baseline", 1)), func(w *appv1alpha1.ChangeWorkload) { w.Spec.Baseline = true }, map[string]int{}},
	} {
		t.Run(name, func(t *testing.T) {
			if row.edit != nil {
				row.edit(row.release)
			}
			NewWithT(t).Expect(named(Of(row.release, begun(row.release), start()))).To(Equal(row.events))
		})
	}
}

func TestOfLeavesOutWhatHappenedBefore(t *testing.T) {
	release := releaseOf("Success", was("Verified", "True", "AllPodsPassed", 20))
	NewWithT(t).Expect(named(Of(release, nil, after(20)))).To(Equal(map[string]int{"ReleaseVerified": 20}))
	NewWithT(t).Expect(Of(release, nil, after(21))).To(BeEmpty())
}

func TestOfTellsWhoMadeTheReleaseAndHowFarItIs(t *testing.T) {
	g := NewWithT(t)
	events := Of(releaseOf("Suspend", was("Verified", "False", "PodsFailed", 20), was("Suspended", "True", "PodsFailed", 20)), nil, after(1))
	g.Expect(events).To(HaveLen(1))
	event := events[0]
	g.Expect(event.ID).To(Equal("77f20604-09cf-5da6-bb34-1214c2bd61ab"), "receivers know it after an upgrade, too")
	g.Expect(event.By).To(Equal("alice@corp"))
	g.Expect(event.Counts).To(Equal(appv1alpha1.PodCounts{Desired: 20, Passed: 4, Failed: 2}))
	g.Expect(event.Reason + ": " + event.Message).To(Equal("PodsFailed: message of Verified"))
	g.Expect(event.Began).To(Equal(start()))
}

func TestIDsDifferByWorkloadReleaseEventAndRepetition(t *testing.T) {
	ids := map[string]bool{
		IDOf("u-1", 7, start(), "ReleaseSuspended", 1): true, IDOf("u-2", 7, start(), "ReleaseSuspended", 1): true, IDOf("u-1", 8, start(), "ReleaseSuspended", 1): true,
		IDOf("u-1", 7, start(), "ReleaseVerified", 1): true, IDOf("u-1", 7, start(), "ReleaseSuspended", 2): true,
		IDOf("u-1", 7, after(1), "ReleaseSuspended", 1): true,
	}
	NewWithT(t).Expect(ids).To(HaveLen(6))
}

func TestOfTellsThatAReleaseFailedAgain(t *testing.T) {
	g := NewWithT(t)
	release := releaseOf("Suspend", was("Verified", "False", "PodsFailed", 30), was("Suspended", "False", "Observing", 30))
	first := Of(release, nil, after(1))
	entered(60)(release)
	again := Of(release, nil, after(1))
	g.Expect(first).To(HaveLen(1))
	g.Expect(again).To(HaveLen(1))
	g.Expect(again[0].ID).NotTo(Equal(first[0].ID))
}

func TestOfTellsWhetherARecoveredReleaseWasSuspended(t *testing.T) {
	for seconds, free := range map[int]bool{30: true, 70: false} {
		release := releaseOf("Success", was("Suspended", "False", "Lifted", seconds))
		entered(70)(release)
		events := Of(release, nil, after(1))
		NewWithT(t).Expect(events).To(HaveLen(1))
		NewWithT(t).Expect(events[0].Free).To(Equal(free))
	}
}

func TestSelectsBringsTheRecoveryOfItsFailure(t *testing.T) {
	g := NewWithT(t)
	free, suspended := &Event{Name: "ReleaseRecovered", Free: true}, &Event{Name: "ReleaseRecovered"}
	g.Expect(Selects([]appv1alpha1.SubscribedEvent{"ReleaseFailed"}, free)).To(BeTrue())
	g.Expect(Selects([]appv1alpha1.SubscribedEvent{"ReleaseFailed"}, suspended)).To(BeFalse())
	g.Expect(Selects([]appv1alpha1.SubscribedEvent{"ReleaseSuspended"}, free)).To(BeFalse())
	g.Expect(Selects([]appv1alpha1.SubscribedEvent{"Failures"}, free)).To(BeTrue())
}

func TestSelectsBringsWhatEndsAFailure(t *testing.T) {
	all := []appv1alpha1.SubscribedEvent{
		"ReleaseStarted", "ReleaseBypassed", "ReleaseVerified", "RollbackVerified", "ReleaseSuspended", "ReleaseRecovered", "ReleaseFailed",
		"ReleaseRolledBack", "ReleaseUnchecked", "ReleaseSuperseded", "ReleaseFrozen", "ApprovalAwaited",
	}
	for subscribed, wanted := range map[appv1alpha1.SubscribedEvent][]appv1alpha1.SubscribedEvent{
		"All":              all,
		"Failures":         {"RollbackVerified", "ReleaseSuspended", "ReleaseRecovered", "ReleaseFailed", "ReleaseRolledBack", "ReleaseUnchecked"},
		"ReleaseSuspended": {"ReleaseSuspended", "ReleaseRecovered"},
		"ReleaseVerified":  {"ReleaseVerified"},
	} {
		var selected []appv1alpha1.SubscribedEvent
		for _, name := range all {
			if Selects([]appv1alpha1.SubscribedEvent{subscribed}, &Event{Name: name}) {
				selected = append(selected, name)
			}
		}
		NewWithT(t).Expect(selected).To(Equal(wanted), string(subscribed))
	}
}

func TestEventsLinkToWhatTheyFollowFrom(t *testing.T) {
	suspended := was("Suspended", "True", "PodsFailed", -30)
	rolledBack := was("RolledBack", "True", "Requested", -2)
	earlier := func(number int64, seconds int, conditions ...metav1.Condition) appv1alpha1.ChangeWorkload {
		made := releaseOf("Suspend", conditions...)
		made.Spec.Release, made.Status.ObservedRelease, made.Spec.CreateTimeUnix = number, number, after(seconds).Unix()
		return *made
	}
	verified := was("Verified", "True", "AllPodsPassed", 20)
	idOf := func(number int64, seconds int, name appv1alpha1.SubscribedEvent, ordinal int) string {
		return IDOf("u-1", number, after(seconds), name, after(ordinal).Unix())
	}
	ofRollback := func(w *appv1alpha1.ChangeWorkload) { w.Spec.Rollback = &appv1alpha1.Rollback{Release: 6} }
	ofRepair := func(w *appv1alpha1.ChangeWorkload) { w.Spec.IgnoredSuspend = true }
	unobserved := earlier(6, -60, suspended)
	unobserved.Status.ObservedRelease = 5
	for name, row := range map[string]struct {
		edit  func(*appv1alpha1.ChangeWorkload)
		other appv1alpha1.ChangeWorkload
		own   []metav1.Condition
		links map[string][]Link
	}{
		"a release": {func(*appv1alpha1.ChangeWorkload) {}, earlier(6, -60, suspended), []metav1.Condition{verified}, map[string][]Link{"ReleaseStarted": nil, "ReleaseVerified": nil}},
		"a rollback": {ofRollback, earlier(6, -60, suspended, rolledBack), []metav1.Condition{verified}, map[string][]Link{
			"ReleaseStarted":   {{"TRIGGER", idOf(6, -60, "ReleaseRolledBack", -2)}},
			"RollbackVerified": {{"TRIGGER", idOf(6, -60, "ReleaseRolledBack", -2)}},
		}},
		"a rollback of another release": {ofRollback, earlier(5, -60, suspended, rolledBack), nil, map[string][]Link{"ReleaseStarted": nil}},
		"a rollback of a later one":     {ofRollback, earlier(6, 60, suspended, rolledBack), nil, map[string][]Link{"ReleaseStarted": nil}},
		"a release that is rolled back": {
			func(*appv1alpha1.ChangeWorkload) {}, earlier(6, -60), []metav1.Condition{was("Suspended", "True", "PodsFailed", 5), was("RolledBack", "True", "Requested", 9)},
			map[string][]Link{
				"ReleaseStarted": nil, "ReleaseSuspended": nil,
				"ReleaseRolledBack": {{"TRIGGER", idOf(7, 0, "ReleaseSuspended", 5)}},
			},
		},
		"a repair": {ofRepair, earlier(6, -60, suspended), []metav1.Condition{verified}, map[string][]Link{
			"ReleaseStarted":  {{"RELATED", idOf(6, -60, "ReleaseSuspended", -30)}},
			"ReleaseBypassed": {{"RELATED", idOf(6, -60, "ReleaseSuspended", -30)}},
			"ReleaseVerified": {{"RELATED", idOf(6, -60, "ReleaseSuspended", -30)}},
		}},
		"a repair of what recovered":     {ofRepair, earlier(6, -60, was("Suspended", "False", "Lifted", -3)), nil, map[string][]Link{"ReleaseStarted": nil, "ReleaseBypassed": nil}},
		"a repair of what wasn't looked": {ofRepair, unobserved, nil, map[string][]Link{"ReleaseStarted": nil, "ReleaseBypassed": nil}},
	} {
		t.Run(name, func(t *testing.T) {
			release := releaseOf("Running", row.own...)
			if len(row.own) == 1 {
				release.Status.Status = "Success"
			}
			row.edit(release)
			links := map[string][]Link{}
			for _, event := range Of(release, BeginningsOf([]appv1alpha1.ChangeWorkload{*release, row.other}), start()) {
				links[string(event.Name)] = event.Links
			}
			NewWithT(t).Expect(links).To(Equal(row.links))
		})
	}
	late := releaseOf("Running")
	ofRepair(late)
	NewWithT(t).Expect(Of(late, Beginnings{}, after(1))).To(BeEmpty(), "what is too old isn't linked either")
}

func TestOfFreezeReturnsItsLastBeginningAndEnd(t *testing.T) {
	friday := []appv1alpha1.FreezeWindow{{TimeZone: "UTC", Days: []appv1alpha1.Weekday{"Fri"}, From: "16:00", To: "24:00"}}
	hour := &metav1.Duration{Duration: time.Hour}
	for name, row := range map[string]struct {
		spec    appv1alpha1.ChangeFreezeSpec
		created int
		since   int
		now     string
		events  []string
	}{
		"a lock":                 {appv1alpha1.ChangeFreezeSpec{Expires: hour}, 0, 0, "2026-11-21T10:30:00Z", []string{"FreezeStarted 2026-11-21T10:00:00Z until 2026-11-21T11:00:00Z"}},
		"a lock that expired":    {appv1alpha1.ChangeFreezeSpec{Expires: hour}, 0, 0, "2026-11-21T11:00:00Z", []string{"FreezeEnded 2026-11-21T11:00:00Z"}},
		"one that ended before":  {appv1alpha1.ChangeFreezeSpec{Expires: hour}, 0, 3601, "2026-11-21T11:00:01Z", nil},
		"before its first time":  {appv1alpha1.ChangeFreezeSpec{Windows: friday}, 0, 0, "2026-11-27T15:59:59Z", nil},
		"within":                 {appv1alpha1.ChangeFreezeSpec{Windows: friday}, 0, 0, "2026-11-27T16:00:00Z", []string{"FreezeStarted 2026-11-27T16:00:00Z until 2026-11-28T00:00:00Z"}},
		"within the next one":    {appv1alpha1.ChangeFreezeSpec{Windows: friday}, 0, 0, "2026-12-04T17:00:00Z", []string{"FreezeEnded 2026-11-28T00:00:00Z", "FreezeStarted 2026-12-04T16:00:00Z until 2026-12-05T00:00:00Z"}},
		"created while it is on": {appv1alpha1.ChangeFreezeSpec{Windows: friday}, -57600, -57600, "2026-11-20T19:00:00Z", []string{"FreezeStarted 2026-11-20T18:00:00Z until 2026-11-21T00:00:00Z"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			row.spec.Action, row.spec.Reason = "Park", "INC-7"
			freeze := &appv1alpha1.ChangeFreeze{
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "lock", UID: "f-1", CreationTimestamp: metav1.NewTime(after(row.created))}, Spec: row.spec,
			}
			times, problems := calendar.Of(freeze)
			g.Expect(problems).To(BeEmpty())
			now, err := time.Parse(time.RFC3339, row.now)
			g.Expect(err).NotTo(HaveOccurred())
			var events []string
			for _, event := range OfFreeze(freeze, times, nil, after(row.since), now) {
				text := string(event.Name) + " " + event.At.Format(time.RFC3339)
				if !event.Until.IsZero() {
					text += " until " + event.Until.Format(time.RFC3339)
				}
				events = append(events, text)
				g.Expect(event.ID).To(Equal(IDOf("f-1", 0, after(row.created), event.Name, event.At.Unix())))
				g.Expect(event.Workload.Kind + " " + event.Namespace + "/" + event.Workload.Name + ": " + event.Reason + ", " + event.Message).To(Equal("ChangeFreeze shop/lock: Park, INC-7"))
				g.Expect(event.IsFreeze() && event.IsUrgent() && !event.IsFailure()).To(BeTrue())
				g.Expect(Selects([]appv1alpha1.SubscribedEvent{"All"}, &event)).To(BeTrue())
				g.Expect(Selects([]appv1alpha1.SubscribedEvent{"Failures"}, &event)).To(BeFalse())
			}
			g.Expect(events).To(Equal(row.events))
		})
	}
}

func TestOfFailuresReturnsWhatIsOverAndHasNoRecord(t *testing.T) {
	made := func(number int64, seconds int, conditions ...metav1.Condition) appv1alpha1.ChangeWorkload {
		release := releaseOf("Running", conditions...)
		if len(conditions) > 0 && conditions[0].Status == "True" {
			release.Status.Status = "Success"
		}
		release.Spec.Release, release.Status.ObservedRelease, release.Spec.CreateTimeUnix = number, number, after(seconds).Unix()
		return *release
	}
	failing, verified := was("Verified", "False", "PodsFailed", 20), was("Verified", "True", "AllPodsPassed", 20)
	other := made(1, 0)
	other.Spec.WorkloadRef.UID = "u-2"
	for name, row := range map[string]struct {
		releases []appv1alpha1.ChangeWorkload
		ended    string
	}{
		"the record is there":              {[]appv1alpha1.ChangeWorkload{made(7, 0, failing), made(8, 10, verified)}, ""},
		"the next release isn't verified":  {[]appv1alpha1.ChangeWorkload{made(8, 10, failing)}, ""},
		"only one before it is verified":   {[]appv1alpha1.ChangeWorkload{made(6, -10, verified), made(8, 10)}, ""},
		"a later release is verified":      {[]appv1alpha1.ChangeWorkload{made(6, -10, verified), made(8, 10, failing), made(9, 15, verified), made(10, 25, was("Verified", "True", "AllPodsPassed", 30))}, "20: the Deployment has moved on to a release that is verified"},
		"its version was released again":   {[]appv1alpha1.ChangeWorkload{made(8, 0, verified)}, "20: the Deployment has moved on to a release that is verified"},
		"the workload is gone with others": {[]appv1alpha1.ChangeWorkload{other}, "100: the Deployment is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var status appv1alpha1.ChangeSubscriptionStatus
			told := Of(releaseOf("Suspend", was("Verified", "False", "PodsFailed", 5), was("Suspended", "True", "PodsFailed", 5)), Beginnings{}, start())
			Deliver(&status, told)
			g.Expect(status.ToldFailures).To(HaveLen(1))
			events := OfFailures(status.ToldFailures, BeginningsOf(row.releases), after(100))
			if row.ended == "" {
				g.Expect(events).To(BeEmpty())
				return
			}
			g.Expect(events).To(HaveLen(1))
			g.Expect(events[0].ID).To(Equal(IDOf("u-1", 7, start(), "ReleaseRecovered", 0)))
			g.Expect(fmt.Sprintf("%d: %s", named(events)["ReleaseRecovered"], events[0].Message)).To(Equal(row.ended))
			g.Expect(events[0].Free).To(BeFalse())
			Deliver(&status, events)
			g.Expect(status.ToldFailures).To(BeEmpty())
		})
	}
}

func TestDeliverRemembersTheFailuresWhoseEndIsToBeTold(t *testing.T) {
	g := NewWithT(t)
	var status appv1alpha1.ChangeSubscriptionStatus
	event := func(name appv1alpha1.SubscribedEvent, release int64) []Event {
		return []Event{{ID: string(name), Name: name, Release: release, Namespace: "shop", Began: start(), Workload: appv1alpha1.WorkloadReference{UID: "u-1"}}}
	}
	Deliver(&status, event("ReleaseStarted", 1))
	g.Expect(status.ToldFailures).To(BeEmpty())
	Deliver(&status, event("ReleaseFailed", 1))
	Deliver(&status, event("ReleaseSuspended", 1))
	g.Expect(status.ToldFailures).To(HaveLen(1), "a release fails once until it recovers")
	g.Expect(status.ToldFailures[0].Suspended).To(BeTrue())
	Deliver(&status, event("ReleaseRecovered", 2))
	g.Expect(status.ToldFailures).To(HaveLen(1))
	Deliver(&status, event("ReleaseRecovered", 1))
	g.Expect(status.ToldFailures).To(BeEmpty())
	for release := range int64(70) {
		Deliver(&status, event("ReleaseFailed", release))
	}
	g.Expect(status.ToldFailures).To(HaveLen(64))
	g.Expect(status.ToldFailures[0].Release).To(BeEquivalentTo(6))
	g.Expect(OfFailures(status.ToldFailures, Beginnings{}, start())[0].Free).To(BeTrue())
}

func TestMergePrefersARecoveryThatARecordShowed(t *testing.T) {
	g := NewWithT(t)
	recovered := Event{ID: "a", Name: "ReleaseRecovered", Release: 7, Began: start(), Workload: appv1alpha1.WorkloadReference{UID: "u-1"}}
	inferred, other := recovered, recovered
	inferred.ID, inferred.Inferred = "b", true
	other.ID, other.Release = "c", 6
	g.Expect(Merge([]Event{inferred}, []Event{recovered})).To(Equal([]Event{recovered}))
	g.Expect(Merge([]Event{inferred}, []Event{other})).To(HaveLen(2))
	g.Expect(Merge([]Event{inferred}, []Event{inferred})).To(HaveLen(1))
}
