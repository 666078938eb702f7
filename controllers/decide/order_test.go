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
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

func TestRecordedReleaseIsWhatIsToBeAnnounced(t *testing.T) {
	g := NewWithT(t)
	workload := newWorkload(identified("uid-1"), release(7), orderIn("CANCEL", 5), func(w *appv1alpha1.ChangeWorkload) { w.Spec.CreateTimeUnix = 1795375748 })
	recorded := verifier.Release{Namespace: "default", Kind: "Deployment", Name: "sleep", Version: version, Number: 7, Record: "uid-1", Recorded: 1795375748}
	g.Expect(decide.RecordedRelease(workload)).To(Equal(recorded))
	workload.Spec.WorkloadRef = &appv1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "sleep"}
	recorded.Kind = "StatefulSet"
	g.Expect(decide.RecordedRelease(workload)).To(Equal(recorded))
}

func TestAnnouncedReleaseHasTheOrderThatTheVerifierKnows(t *testing.T) {
	g := NewWithT(t)
	workload := newWorkload(identified("uid-1"), release(7))
	g.Expect(decide.AnnouncedRelease(workload)).To(Equal(decide.RecordedRelease(workload)))
	orderIn("Open", 7)(workload)
	g.Expect(decide.AnnouncedRelease(workload).Order).To(Equal("order"))
}

func identified(uid types.UID) workloadOption {
	return func(workload *appv1alpha1.ChangeWorkload) { workload.UID = uid }
}

// verifiedBy configures a server.
func verifiedBy(seen *decide.Observation) { seen.Verifier = aServer() }

func checksOff(seen *decide.Observation)   { seen.Verifier.SwitchedOff = true }
func unannounced(seen *decide.Observation) { seen.Verifier.Announced = false }
func wentBack(seen *decide.Observation)    { seen.Current, seen.WentBack = false, true }

// orderIn gives the workload an order that was sent for a release.
func orderIn(state string, number int64) workloadOption {
	return func(workload *appv1alpha1.ChangeWorkload) {
		workload.Status.Order = &appv1alpha1.ChangeOrder{BizExecOrderID: "order", Release: number, State: appv1alpha1.OrderState(state)}
	}
}

// announced sets the finalizer, without which no order is opened.
func announced(workload *appv1alpha1.ChangeWorkload) {
	workload.Finalizers = []string{"altershield.defense.antgroup.com/change-order"}
}

// after gives the workload an earlier release whose order may be open.
func after(number int64) workloadOption {
	return func(workload *appv1alpha1.ChangeWorkload) {
		workload.Spec.Earlier = &appv1alpha1.RecordedRelease{Release: number, CreateTimeUnix: 1795375695}
	}
}

// overtaken is a release whose Deployment is at a later one.
func overtaken(seen *decide.Observation) { seen.Current, seen.Superseded = false, true }

func TestDecidePlansTheOrder(t *testing.T) {
	for _, row := range []struct {
		name     string
		workload *appv1alpha1.ChangeWorkload
		seen     decide.Observation
		plan     decide.OrderPlan
	}{
		{"a new release is announced", newWorkload(), see(5, verifiedBy), decide.OrderPlan{Open: true}},
		{"a release without pods is announced", newWorkload(), see(0, verifiedBy), decide.OrderPlan{Open: true}},
		{"not without a server", newWorkload(), see(5), decide.OrderPlan{}},
		{"not to a verifier that needs no order", newWorkload(), see(5, verifiedBy, unannounced), decide.OrderPlan{}},
		{"not while checks are switched off", newWorkload(), see(5, verifiedBy, checksOff), decide.OrderPlan{}},
		{"not in a namespace that opted out", newWorkload(), see(5, verifiedBy, optedOut), decide.OrderPlan{}},
		{"not after the Deployment has moved on", newWorkload(), see(5, verifiedBy, moved), decide.OrderPlan{}},
		{"not once it is verified", newWorkload(stored("Success", "True", "AllPodsPassed")), see(5, verifiedBy, passed(1, 5)), decide.OrderPlan{}},
		{"not twice", newWorkload(orderIn("Open", 1)), see(5, verifiedBy), decide.OrderPlan{}},
		{"not after it was refused", newWorkload(stored("Failed", "Unknown", "OrderRefused"), orderIn("Refused", 1)), see(5, verifiedBy), decide.OrderPlan{}},
		{"again where the server did not take it", newWorkload(orderIn("Pending", 1)), see(5, verifiedBy), decide.OrderPlan{Open: true}},
		{"a verified release ends with SUCCESS", newWorkload(orderIn("Open", 1)), see(5, verifiedBy, passed(1, 5)), decide.OrderPlan{Close: "SUCCESS"}},
		{"and it ends once", newWorkload(orderIn("SUCCESS", 1)), see(5, verifiedBy, passed(1, 5)), decide.OrderPlan{}},
		{"a release without pods is not at its end", newWorkload(orderIn("Open", 1)), see(0, verifiedBy), decide.OrderPlan{}},
		{"a suspended release is not at its end", newWorkload(orderIn("Open", 1)),
			see(5, verifiedBy, batches(newBatch(pods(1, 1), done, result("sleep-1", "unpass", "")))), decide.OrderPlan{}},
		{"one that another release took over from ends with CANCEL", newWorkload(orderIn("Open", 1)), see(5, verifiedBy, overtaken), decide.OrderPlan{Close: "CANCEL"}},
		{"even one that the server may not have", newWorkload(orderIn("Pending", 1)), see(5, verifiedBy, overtaken), decide.OrderPlan{Close: "CANCEL"}},
		{"but not while the Deployment is shown late", newWorkload(orderIn("Open", 1)), see(5, verifiedBy, moved), decide.OrderPlan{}},
		{"nor while it is shown at a version that was verified before", newWorkload(orderIn("Open", 1)), see(5, verifiedBy, wentBack), decide.OrderPlan{}},
		{"a verified release ends with SUCCESS although it was superseded before its order could be closed",
			newWorkload(stored("Success", "True", "AllPodsPassed"), orderIn("Open", 1)), see(5, verifiedBy, moved), decide.OrderPlan{Close: "SUCCESS"}},
		{"and although its version is released again",
			newWorkload(stored("Success", "True", "AllPodsPassed"), release(3), orderIn("Open", 1)), see(5, verifiedBy), decide.OrderPlan{Close: "SUCCESS"}},
		{"one that the Deployment went back from ends with ROLLBACK", newWorkload(orderIn("Open", 1)), see(5, verifiedBy, overtaken, wentBack), decide.OrderPlan{Close: "ROLLBACK"}},
		{"so does one that was rolled back, whatever to", newWorkload(orderIn("Open", 1)), see(5, verifiedBy, overtaken, wentBackFrom), decide.OrderPlan{Close: "ROLLBACK"}},
		{"but one that was verified before it was rolled back ends with SUCCESS",
			newWorkload(stored("Success", "True", "AllPodsPassed"), orderIn("Open", 1)), see(5, verifiedBy, wentBackFrom), decide.OrderPlan{Close: "SUCCESS"}},
		{"the order of an earlier release of the version is ended first", newWorkload(release(3), orderIn("Open", 1)), see(5, verifiedBy), decide.OrderPlan{Close: "CANCEL"}},
		{"and then the new one is announced", newWorkload(release(3), orderIn("CANCEL", 1)), see(5, verifiedBy), decide.OrderPlan{Open: true}},
		{"an order whose answer was lost is ended once another release takes over", newWorkload(announced), see(5, verifiedBy, overtaken), decide.OrderPlan{Close: "CANCEL"}},
		{"whatever came of the order of an earlier release of the version", newWorkload(announced, release(3), orderIn("CANCEL", 1)),
			see(5, verifiedBy, overtaken), decide.OrderPlan{Close: "CANCEL"}},
		{"or once it is rolled back", newWorkload(announced), see(5, verifiedBy, overtaken, wentBackFrom), decide.OrderPlan{Close: "ROLLBACK"}},
		{"but not while the Deployment is shown late", newWorkload(announced), see(5, verifiedBy, moved), decide.OrderPlan{}},
		{"nor where none was opened", newWorkload(), see(5, verifiedBy, overtaken), decide.OrderPlan{}},
		{"nor of a release that was verified while checks were off", newWorkload(announced, stored("Success", "True", "AllPodsPassed")),
			see(5, verifiedBy, overtaken), decide.OrderPlan{}},
		{"what an earlier release of the version may have opened is ended first", newWorkload(announced, release(5), after(3)),
			see(5, verifiedBy), decide.OrderPlan{Close: "CANCEL"}},
		{"also where the status knows a still earlier one", newWorkload(announced, release(5), after(3), orderIn("CANCEL", 1)),
			see(5, verifiedBy), decide.OrderPlan{Close: "CANCEL"}},
		{"also while checks are switched off", newWorkload(announced, release(5), after(3)), see(5, verifiedBy, checksOff), decide.OrderPlan{Close: "CANCEL"}},
		{"after that the new release is announced", newWorkload(announced, release(5), after(3), orderIn("CANCEL", 3)), see(5, verifiedBy), decide.OrderPlan{Open: true}},
		{"once", newWorkload(announced, release(5), after(3), orderIn("Open", 5)), see(5, verifiedBy), decide.OrderPlan{}},
		{"after a refused order the version may be released again", newWorkload(release(3), orderIn("Refused", 1)), see(5, verifiedBy), decide.OrderPlan{Open: true}},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(decide.Decide(row.workload, row.seen, now).Order).To(Equal(row.plan))
		})
	}
}

func TestAnswerOrderKeepsTheAnswer(t *testing.T) {
	late := now.Add(2 * time.Minute)
	unauthorized := fmt.Errorf("102: authentication request fail: %w", verifier.ErrUnauthorized)
	for _, row := range []struct {
		name    string
		answer  decide.OrderAnswer
		at      time.Time
		retry   bool
		status  string
		order   string
		ordered metav1.ConditionStatus
		reason  string
		message string
	}{
		{"an order that is taken", decide.OrderAnswer{OrderID: "36"}, now, false,
			"Running", "Open", "True", "OrderOpen", "AlterShield Server has opened the change order o-1"},
		{"a server that is down", decide.OrderAnswer{Err: errDown}, now, true,
			"Running", "Pending", "Unknown", "ServerUnavailable", "connection refused"},
		{"a server that is down for long", decide.OrderAnswer{Err: errDown}, late, true,
			"Running", "Pending", "Unknown", "ServerUnavailable", "connection refused"},
		{"a token that the server doesn't know yet", decide.OrderAnswer{Err: unauthorized}, now, true,
			"Running", "Pending", "Unknown", "Unauthorized", "102: authentication request fail: unauthorized"},
		{"a token that it doesn't know after an outage", decide.OrderAnswer{Err: unauthorized}, late, true,
			"Running", "Pending", "Unknown", "Unauthorized", "102: authentication request fail: unauthorized"},
		{"a refused order", decide.OrderAnswer{Err: errRefused}, now, false,
			"Failed", "Refused", "False", "OrderRefused", "101: no such scene: refused"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			workload := newWorkload(func(w *appv1alpha1.ChangeWorkload) { w.Spec.CreateTimeUnix = now.Unix() })
			decision := decide.Decide(workload, see(5, verifiedBy, finished(pods(1, 1))), row.at)
			g.Expect(decision.Batches).NotTo(BeEmpty())
			retry := decision.AnswerOrder(workload, aServer(), verifier.Release{Order: "o-1", Number: 1}, row.answer, row.at)
			g.Expect(retry).To(Equal(row.retry))
			g.Expect(string(decision.Status.Status)).To(Equal(row.status))
			order := *decision.Status.Order
			order.OpenDeadline = nil
			g.Expect(order).To(Equal(appv1alpha1.ChangeOrder{
				BizExecOrderID: "o-1", OrderID: row.answer.OrderID, Release: 1, State: appv1alpha1.OrderState(row.order),
			}))
			g.Expect(decision.Status.Conditions).To(haveCondition("Ordered", row.ordered, row.reason))
			g.Expect(messageOf(decision.Status.Conditions, "Ordered")).To(Equal(row.message))
			g.Expect(decision.WriteStatus).To(BeTrue())
			if row.status == "Failed" {
				g.Expect(decision.Batches).To(BeEmpty(), "its pods are not checked")
				g.Expect(decision.Wait).To(BeZero())
				g.Expect(decision.Status.Conditions).To(haveCondition("Verified", "Unknown", "OrderRefused"))
			}
		})
	}
}

func TestDecideKeepsARefusedReleaseFailedUntilTheNextOne(t *testing.T) {
	g := NewWithT(t)
	workload := newWorkload()
	decision := decide.Decide(workload, see(5, verifiedBy), now)
	decision.AnswerOrder(workload, aServer(), verifier.Release{Order: "o-1", Number: 1}, decide.OrderAnswer{Err: errRefused}, now)
	workload.Status = decision.Status
	decision = decide.Decide(workload, see(5, verifiedBy, finished(pods(1, 5))), now.Add(time.Hour))
	g.Expect(string(decision.Status.Status)).To(Equal("Failed"))
	g.Expect(decision.Batches).To(BeEmpty())
	g.Expect(decision.Suspend || decision.Lift || decision.Keep).To(BeFalse())
	g.Expect(decision.Prune).To(BeEmpty())

	workload.Spec.Release = 2
	decision = decide.Decide(workload, see(5, verifiedBy, finished(pods(1, 5))), now.Add(time.Hour))
	g.Expect(string(decision.Status.Status)).To(Equal("Running"))
	g.Expect(decision.Order).To(Equal(decide.OrderPlan{Open: true}))
}

func TestAnswerOrderWritesTheEndOnceTheServerKnowsIt(t *testing.T) {
	for _, row := range []struct {
		name    string
		err     error
		retry   bool
		order   string
		ordered string
		message string
	}{
		{"a server that answers", nil, false, "SUCCESS", "Ordered is True: OrderFinished", "the change order was closed with SUCCESS"},
		{"a server that is down", errDown, true, "Open", "Ordered is True: OrderUnfinished",
			"AlterShield Server has not closed the change order with SUCCESS yet: connection refused"},
		{"a server that doesn't know the order", fmt.Errorf("101: none order found: %w", verifier.ErrRefused), false, "SUCCESS",
			"Ordered is False: OrderUnknown", "AlterShield Server did not close the change order with SUCCESS: 101: none order found: refused"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			workload := newWorkload(orderIn("Open", 1))
			decision := decide.Decide(workload, see(5, verifiedBy, passed(1, 5)), now)
			retry := decision.AnswerOrder(workload, aServer(), verifier.Release{Order: "order", Number: 1}, decide.OrderAnswer{Err: row.err}, now)
			g.Expect(retry).To(Equal(row.retry))
			g.Expect(string(decision.Status.Status)).To(Equal("Success"), "a server that is down doesn't hold up the release")
			g.Expect(string(decision.Status.Order.State)).To(Equal(row.order))
			g.Expect(told(decision.Status.Conditions, "Ordered")).To(Equal(row.ordered))
			g.Expect(messageOf(decision.Status.Conditions, "Ordered")).To(Equal(row.message))
			g.Expect(string(workload.Status.Order.State)).To(Equal("Open"), "the workload itself stays as it was read")
		})
	}
}

func TestAnswerOrderKeepsTheEndOfAnOrderThatTheStatusDidNotKnow(t *testing.T) {
	for _, row := range []struct {
		name    string
		status  workloadOption
		err     error
		order   string
		ordered string
	}{
		{"the first order", func(*appv1alpha1.ChangeWorkload) {}, nil, "default/sleep/3 3 CANCEL", "Ordered is True: OrderFinished"},
		{"after another one", orderIn("CANCEL", 1), nil, "default/sleep/3 3 CANCEL", "Ordered is True: OrderFinished"},
		{"a server that never had it", orderIn("CANCEL", 1), errRefused, "default/sleep/3 3 CANCEL", "Ordered is False: OrderUnknown"},
		{"a server that is down", orderIn("CANCEL", 1), errDown, "default/sleep/3 3 Open", "Ordered is True: OrderUnfinished"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			workload := newWorkload(announced, release(5), after(3), row.status)
			decision := decide.Decide(workload, see(5, verifiedBy), now)
			decision.AnswerOrder(workload, aServer(), verifier.Release{Order: "default/sleep/3", Number: 3}, decide.OrderAnswer{Err: row.err}, now)
			order := decision.Status.Order
			g.Expect(fmt.Sprintf("%s %d %s", order.BizExecOrderID, order.Release, order.State)).To(Equal(row.order))
			g.Expect(told(decision.Status.Conditions, "Ordered")).To(Equal(row.ordered))
			g.Expect(decision.WriteStatus).To(BeTrue())
		})
	}
}

func TestAnswerOrderWritesAnEndThatReadsLikeTheOneBefore(t *testing.T) {
	g := NewWithT(t)
	workload := newWorkload(announced, release(5), after(3))
	cancel := func(number int64) decide.Decision {
		decision := decide.Decide(workload, see(5, verifiedBy, overtaken), now)
		g.Expect(decision.Order).To(Equal(decide.OrderPlan{Close: "CANCEL"}))
		decision.AnswerOrder(workload, aServer(), verifier.Release{Order: "order", Number: number}, decide.OrderAnswer{Err: errRefused}, now)
		return decision
	}
	workload.Status = cancel(3).Status
	second := cancel(5)
	g.Expect(second.WriteStatus).To(BeTrue(), "else it is closed again and again")
	workload.Status = second.Status
	g.Expect(decide.Decide(workload, see(5, verifiedBy, overtaken), now).Order).To(Equal(decide.OrderPlan{}))
}

func TestUnaccounted(t *testing.T) {
	at := func(seconds int64) workloadOption {
		return func(workload *appv1alpha1.ChangeWorkload) { workload.Spec.CreateTimeUnix = seconds }
	}
	own := &appv1alpha1.RecordedRelease{Release: 5, CreateTimeUnix: 1795375748}
	earlier := &appv1alpha1.RecordedRelease{Release: 3, CreateTimeUnix: 1795375695}
	for _, row := range []struct {
		name    string
		options []workloadOption
		release *appv1alpha1.RecordedRelease
	}{
		{"its order may be open though the status has none", nil, own},
		{"or has that of an earlier release", []workloadOption{orderIn("CANCEL", 1)}, own},
		{"its order is known", []workloadOption{orderIn("Open", 5)}, nil},
		{"its order has ended", []workloadOption{orderIn("CANCEL", 5)}, nil},
		{"its order is not opened before that of an earlier release has ended", []workloadOption{orderIn("Open", 1)}, nil},
		{"nor while that of an earlier release may be open", []workloadOption{after(3)}, earlier},
		{"whatever was before that", []workloadOption{after(3), orderIn("CANCEL", 1)}, earlier},
		{"that of the earlier release is ended now", []workloadOption{after(3), orderIn("Open", 3)}, nil},
		{"that of the earlier release has ended", []workloadOption{after(3), orderIn("CANCEL", 3)}, own},
		{"both are known of", []workloadOption{after(3), orderIn("Open", 5)}, nil},
		{"no order is opened for a record that may go without it", []workloadOption{func(w *appv1alpha1.ChangeWorkload) { w.Finalizers = nil }}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			workload := newWorkload(append([]workloadOption{announced, release(5), at(1795375748)}, row.options...)...)
			NewWithT(t).Expect(decide.Unaccounted(workload)).To(Equal(row.release))
		})
	}
}

func TestOwedRelease(t *testing.T) {
	g := NewWithT(t)
	third := newWorkload(identified("uid-1"), announced, release(3), func(w *appv1alpha1.ChangeWorkload) { w.Spec.CreateTimeUnix = 1795375695 })
	fifth := newWorkload(identified("uid-1"), announced, release(5), after(3))
	g.Expect(decide.OwedRelease(third)).To(Equal(decide.RecordedRelease(third)))
	g.Expect(decide.OwedRelease(fifth)).To(Equal(decide.RecordedRelease(third)), "the id is the one under which it was opened")
	orderIn("Open", 1)(fifth)
	fifth.Spec.Earlier = nil
	g.Expect(decide.OwedRelease(fifth).Order).To(Equal("order"))
	g.Expect(decide.OwedRelease(fifth).Number).To(BeEquivalentTo(1))
}

func TestAnswerOrderTriesToEndAnOrderForAnHour(t *testing.T) {
	g := NewWithT(t)
	workload := newWorkload(orderIn("Open", 1))
	closes := func(at time.Time) bool {
		decision := decide.Decide(workload, see(5, verifiedBy, passed(1, 5)), at)
		retry := decision.AnswerOrder(workload, aServer(), verifier.Release{Order: "order", Number: 1}, decide.OrderAnswer{Err: errDown}, at)
		workload.Status = decision.Status
		return retry
	}
	g.Expect(closes(now)).To(BeTrue())
	g.Expect(workload.Status.Order.CloseDeadline.Time).To(BeTemporally("==", now.Add(time.Hour)))
	g.Expect(closes(now.Add(time.Hour - time.Second))).To(BeTrue())
	g.Expect(workload.Status.Order.CloseDeadline.Time).To(BeTemporally("==", now.Add(time.Hour)), "it isn't put off")
	g.Expect(closes(now.Add(time.Hour))).To(BeFalse())
	g.Expect(string(workload.Status.Order.State)).To(Equal("SUCCESS"))
	g.Expect(workload.Status.Order.CloseDeadline).To(BeNil())
	g.Expect(told(workload.Status.Conditions, "Ordered")).To(Equal("Ordered is False: OrderUnknown"))
}

func TestAnswerOrderTriesToEndTheOrderOfAnEarlierReleaseForAMinute(t *testing.T) {
	for _, row := range []struct {
		name     string
		workload *appv1alpha1.ChangeWorkload
		known    time.Duration
	}{
		{"after the next release began", newWorkload(release(3), orderIn("Open", 1)), 0},
		{"that was not accepted for some time before that", newWorkload(release(3), orderIn("Open", 1)), 50 * time.Minute},
		{"that the status does not know", newWorkload(announced, release(3), after(1)), 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			workload := row.workload
			if row.known > 0 {
				workload.Status.Order.CloseDeadline = &metav1.Time{Time: now.Add(row.known)}
			}
			closes := func(at time.Time) bool {
				decision := decide.Decide(workload, see(5, verifiedBy), at)
				g.Expect(decision.Order).To(Equal(decide.OrderPlan{Close: "CANCEL"}))
				retry := decision.AnswerOrder(workload, aServer(), verifier.Release{Order: "order", Number: 1}, decide.OrderAnswer{Err: errDown}, at)
				workload.Status = decision.Status
				return retry
			}
			g.Expect(closes(now)).To(BeTrue())
			g.Expect(closes(now.Add(59 * time.Second))).To(BeTrue())
			g.Expect(closes(now.Add(time.Minute))).To(BeFalse(), "the batches of this release wait for two minutes")
			g.Expect(told(workload.Status.Conditions, "Ordered")).To(Equal("Ordered is False: OrderUnknown"))
			g.Expect(decide.Decide(workload, see(5, verifiedBy), now.Add(time.Minute)).Order).To(Equal(decide.OrderPlan{Open: true}))
		})
	}
}

func TestWentBackIsTrueBeforeTheReleaseIsObserved(t *testing.T) {
	g := NewWithT(t)
	anew := other(older, 3, stored("Success", "True", "AllPodsPassed"))
	anew.Status.ObservedRelease = 1
	g.Expect(decide.WentBack([]appv1alpha1.ChangeWorkload{anew}, older)).To(BeTrue())
	g.Expect(decide.IsVerified([]appv1alpha1.ChangeWorkload{anew}, older)).To(BeFalse(), "but it is not admitted to a suspended Deployment")
	anew.Status.Status = "Running"
	g.Expect(decide.WentBack([]appv1alpha1.ChangeWorkload{anew}, older)).To(BeFalse())
}

func TestAnswerOrderSuspendsNothingByARefusal(t *testing.T) {
	refused := decide.OrderAnswer{Err: errRefused}
	failed := batches(newBatch(pods(1, 1), done, result("sleep-1", "unpass", "by hand")))
	for _, row := range []struct {
		name     string
		seen     decide.Observation
		verifier verifier.State
		status   string
		verified string
		batches  int
	}{
		{"by default the release is not checked", see(5, verifiedBy, finished(pods(2, 2))), aServer(),
			"Failed", "Verified is Unknown: OrderRefused", 0},
		{"what failed before stays failed", see(5, verifiedBy, failed, finished(pods(2, 2))), aServer(),
			"Suspend", "Verified is False: PodsFailed", 0},
		{"where unchecked batches fail, they decide", see(5, verifiedBy, finished(pods(2, 2))), verifier.State{Configured: true, Name: "AlterShield Server", Announced: true, FailClosed: true},
			"Running", "Verified is Unknown: Verifying", 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			workload := newWorkload()
			decision := decide.Decide(workload, row.seen, now)
			g.Expect(decision.AnswerOrder(workload, row.verifier, verifier.Release{Order: "o-1", Number: 1}, refused, now)).To(BeFalse())
			g.Expect(string(decision.Status.Status)).To(Equal(row.status))
			g.Expect(told(decision.Status.Conditions, "Verified")).To(Equal(row.verified))
			g.Expect(decision.Batches).To(HaveLen(row.batches))
			g.Expect(told(decision.Status.Conditions, "Ordered")).To(Equal("Ordered is False: OrderRefused"))
		})
	}
}

func TestDecideCountsUncheckedPodsAtSuccess(t *testing.T) {
	g := NewWithT(t)
	missed := newBatch(pods(1, 2), opened)
	missed.Status = decide.AdvanceChangePod(&missed, checked(), decide.CheckAnswer{Call: "begin", Err: errRefused}, now)
	checkedOnes := newBatch(pods(3, 3), in("PostSubmitted"))
	checkedOnes.Status, _ = decide.ApplyVerdict(&checkedOnes, verifier.Delivery{CheckID: "node-1", Stage: "POST", Verdict: verifier.Verdict{Outcome: "pass"}}, now)
	workload := newWorkload()
	decision := decide.Decide(workload, see(3, verifiedBy, finished(pods(1, 3)), batches(missed, checkedOnes)), now)
	g.Expect(decision.Unchecked).To(Equal(2))
	g.Expect(messageOf(decision.Status.Conditions, "Verified")).To(Equal(
		"every desired pod finished and passed; 2 of 3 were not checked: kubectl get changepods -o wide shows why"))
	workload.Status = decision.Status
	later := decide.Decide(workload, see(4, verifiedBy, finished(pods(3, 6)), batches(checkedOnes)), now)
	g.Expect(messageOf(later.Status.Conditions, "Verified")).To(ContainSubstring("2 of 3 were not checked"), "it speaks of the release")
}

func TestFarewellWaitsFiftySecondsAtMost(t *testing.T) {
	for _, row := range []struct {
		name       string
		workload   *appv1alpha1.ChangeWorkload
		configured bool
		after      time.Duration
		state      string
		left       time.Duration
	}{
		{"an open order is cancelled", newWorkload(deleted, orderIn("Open", 1)), true, 0, "CANCEL", 50 * time.Second},
		{"an order that the server may have is cancelled", newWorkload(deleted, orderIn("Pending", 1)), true, 20 * time.Second, "CANCEL", 30 * time.Second},
		{"the order of a verified release ends with SUCCESS", newWorkload(stored("Success", "True", "AllPodsPassed"), deleted, orderIn("Open", 1)), true, 0, "SUCCESS", 50 * time.Second},
		{"after fifty seconds there is one more attempt", newWorkload(deleted, orderIn("Open", 1)), true, 50 * time.Second, "CANCEL", 0},
		{"long after as well: the deletion may not have been seen before", newWorkload(deleted, orderIn("Open", 1)), true, time.Hour, "CANCEL", 0},
		{"an order that has ended holds nothing up", newWorkload(deleted, orderIn("SUCCESS", 1)), true, 0, "", 0},
		{"a refused order holds nothing up", newWorkload(deleted, orderIn("Refused", 1)), true, 0, "", 0},
		{"an order that was opened just before the operator stopped is cancelled", newWorkload(deleted), true, 0, "CANCEL", 50 * time.Second},
		{"also where the release before has ended", newWorkload(deleted, announced, release(3), orderIn("CANCEL", 1)), true, 0, "CANCEL", 50 * time.Second},
		{"also one of an earlier release", newWorkload(deleted, announced, release(5), after(3), orderIn("CANCEL", 1)), true, 0, "CANCEL", 50 * time.Second},
		{"without a server nothing is held up", newWorkload(deleted, orderIn("Open", 1)), false, 0, "", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			state, left := decide.Farewell(row.workload, row.configured, now.Add(row.after))
			g.Expect(string(state)).To(Equal(row.state))
			g.Expect(left).To(Equal(row.left))
		})
	}
}

func TestIsWorthRetryingUnlessRefused(t *testing.T) {
	g := NewWithT(t)
	g.Expect(decide.IsWorthRetrying(nil)).To(BeFalse())
	g.Expect(decide.IsWorthRetrying(errRefused)).To(BeFalse())
	g.Expect(decide.IsWorthRetrying(verifier.ErrUnauthorized)).To(BeTrue())
	g.Expect(decide.IsWorthRetrying(errors.New("timeout"))).To(BeTrue())
}

func TestOrderTroubleIsTheMessageOfTheCondition(t *testing.T) {
	g := NewWithT(t)
	workload := newWorkload()
	g.Expect(decide.OrderTrouble(workload)).To(BeEmpty())
	workload.Status.Conditions = []metav1.Condition{{Type: "Ordered", Status: "Unknown", Reason: "ServerUnavailable", Message: "connection refused"}}
	g.Expect(decide.OrderTrouble(workload)).To(Equal("connection refused"))
}

func TestBatchOfGivesThePlaceInTheRelease(t *testing.T) {
	batch := func(number int, from, to int) appv1alpha1.ChangePod {
		return newBatch(pods(from, to), func(b *appv1alpha1.ChangePod) {
			b.Name = fmt.Sprintf("sleep--x--%s--x--%d", version, number)
		})
	}
	earlier := batch(1, 90, 99)
	earlier.Spec.Release = 7
	siblings := []appv1alpha1.ChangePod{batch(10, 7, 9), batch(4, 4, 6), earlier, batch(3, 1, 3), batch(11, 10, 10)}
	workload := newWorkload(batchesOf(3), func(w *appv1alpha1.ChangeWorkload) { w.Status.Counts.Desired = 10 })
	order := verifier.Release{Order: "o-1"}
	for _, row := range []struct {
		batch         appv1alpha1.ChangePod
		number, total int
		last          bool
	}{
		{siblings[3], 0, 4, false},
		{siblings[1], 1, 4, false},
		{siblings[0], 2, 4, false},
		{siblings[4], 3, 4, true},
		{batch(12, 11, 11), 4, 5, true},
	} {
		t.Run(row.batch.Name, func(t *testing.T) {
			NewWithT(t).Expect(decide.BatchOf(order, workload, siblings, &row.batch)).To(Equal(verifier.Batch{
				Release: order, Number: row.number, Total: row.total, Last: row.last, Pods: row.batch.Spec.PodInfos,
			}))
		})
	}
}
