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

package decide

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

const (
	// orderThreshold is how long the verifier may answer with nothing but ErrUnauthorized before the order counts as refused.
	orderThreshold = 120 * time.Second
	// farewellThreshold is how long to retry closing the order of a release that is being deleted. With the call that is under way
	// then, a deletion takes less than a minute.
	farewellThreshold = 50 * time.Second
	// earlierThreshold is how long to retry closing the order of an earlier release, for which the next one waits: its batches do so for
	// checkThreshold.
	earlierThreshold = time.Minute
	// closeThreshold is how long to retry closing any other order.
	closeThreshold = time.Hour
)

// RecordedRelease returns the release of a workload to announce to the verifier, without an order.
func RecordedRelease(workload *appv1alpha1.ChangeWorkload) verifier.Release {
	return recordedAs(workload, recordedIn(workload))
}

func recordedAs(workload *appv1alpha1.ChangeWorkload, release *appv1alpha1.RecordedRelease) verifier.Release {
	return verifier.Release{
		Namespace: workload.Namespace,
		Kind:      workload.WorkloadKind(),
		Name:      workload.Spec.AppName,
		Version:   workload.Spec.Reversion,
		Number:    release.Release,
		Record:    workload.UID,
		Recorded:  release.CreateTimeUnix,
	}
}

func recordedIn(workload *appv1alpha1.ChangeWorkload) *appv1alpha1.RecordedRelease {
	return &appv1alpha1.RecordedRelease{Release: workload.Spec.Release, CreateTimeUnix: workload.Spec.CreateTimeUnix}
}

// AnnouncedRelease returns the release of a workload with the stored order, which an earlier operator may have named by another rule.
func AnnouncedRelease(workload *appv1alpha1.ChangeWorkload) verifier.Release {
	release := RecordedRelease(workload)
	if known := workload.Status.Order; known != nil {
		release.Order, release.Number = known.BizExecOrderID, known.Release
	}
	return release
}

// OwedRelease returns the release whose order may be open, and has to be closed. It has the order where that is known.
func OwedRelease(workload *appv1alpha1.ChangeWorkload) verifier.Release {
	if release := Unaccounted(workload); release != nil {
		return recordedAs(workload, release)
	}
	return AnnouncedRelease(workload)
}

// Unaccounted returns the release of a record whose order may be open although the status does not have it, nil where there is none.
// The status is written after the call, and that may fail. There is at most one: an order is opened only once the status has the end
// of the previous one.
func Unaccounted(workload *appv1alpha1.ChangeWorkload) *appv1alpha1.RecordedRelease {
	spec, order := &workload.Spec, workload.Status.Order
	switch {
	case !slices.Contains(workload.Finalizers, appv1alpha1.FinalizerOrder): // orders are opened with it only
		return nil
	case order != nil && (order.Release == spec.Release || isRunning(order.State)):
		return nil
	case spec.Earlier != nil && (order == nil || order.Release != spec.Earlier.Release):
		return spec.Earlier
	}
	return recordedIn(workload)
}

// IsWorthRetrying reports whether a failed call of the verifier may succeed later.
func IsWorthRetrying(err error) bool { return err != nil && !errors.Is(err, verifier.ErrRefused) }

// OrderTrouble returns why the order of a release is not open.
func OrderTrouble(workload *appv1alpha1.ChangeWorkload) string {
	if ordered := meta.FindStatusCondition(workload.Status.Conditions, appv1alpha1.ConditionOrdered); ordered != nil {
		return ordered.Message
	}
	return ""
}

// OrderPlan is what to announce to the verifier of a release.
type OrderPlan struct {
	// Open reports whether the release is to be announced.
	Open bool
	// Close is how the release ended, empty while it has not.
	Close appv1alpha1.OrderState
}

// planOrder opens an order for each release that has to be checked, and closes it at the end of the release.
func planOrder(workload *appv1alpha1.ChangeWorkload, status *appv1alpha1.ChangeWorkloadStatus, seen Observation) OrderPlan {
	if !seen.Verifier.Announced {
		return OrderPlan{}
	}
	verified := wasVerified(status)
	if end := endOfOwed(workload, verified, seen); end != "" {
		return OrderPlan{Close: end}
	}
	mayOpen := seen.Current && seen.OptedIn && !seen.Verifier.SwitchedOff
	if order := status.Order; order != nil && order.Release == workload.Spec.Release {
		return OrderPlan{Open: order.State == appv1alpha1.OrderPending && mayOpen}
	}
	return OrderPlan{Open: mayOpen && !verified && status.Status != appv1alpha1.ChangeWorkloadFailed}
}

// endOfOwed returns how the release of OwedRelease ended, empty while it has not. The order of an earlier release of the version is
// closed before the next one is opened.
func endOfOwed(workload *appv1alpha1.ChangeWorkload, verified bool, seen Observation) appv1alpha1.OrderState {
	order, unaccounted := workload.Status.Order, Unaccounted(workload)
	switch {
	case unaccounted != nil && unaccounted.Release != workload.Spec.Release:
		return endOfEarlier(workload, unaccounted.Release)
	case unaccounted != nil && verified: // it had its order, or needed none
		return ""
	case unaccounted != nil:
		return endOf(verified, seen)
	case order == nil, !isRunning(order.State):
		return ""
	case order.Release != workload.Spec.Release:
		return endOfEarlier(workload, order.Release)
	}
	return endOf(verified, seen)
}

// endOf returns how a release ended, empty while it has not.
func endOf(verified bool, seen Observation) appv1alpha1.OrderState {
	switch {
	case verified:
		return appv1alpha1.OrderSuccess
	case seen.Current, !seen.Superseded: // or the cache shows an earlier release
		return ""
	case seen.WentBack, seen.RolledBack != nil:
		return appv1alpha1.OrderRollback
	}
	return appv1alpha1.OrderCancel
}

// endOfEarlier returns how an earlier release of a workload ended.
func endOfEarlier(workload *appv1alpha1.ChangeWorkload, release int64) appv1alpha1.OrderState {
	status := &workload.Status
	if wasVerified(status) && status.ObservedRelease == release {
		return appv1alpha1.OrderSuccess
	}
	return appv1alpha1.OrderCancel
}

// isRunning reports whether an order is, or may be, open at the verifier.
func isRunning(state appv1alpha1.OrderState) bool {
	return state == appv1alpha1.OrderOpen || state == appv1alpha1.OrderPending
}

// Farewell returns the state with which to close the order of a release whose record is being deleted, empty where there is nothing to
// close, and how long to retry that. At 0 this is the last attempt, which may also be the first, as the deletion may be seen late. An
// unknown order is closed as well: it may have been opened just before the operator stopped.
func Farewell(workload *appv1alpha1.ChangeWorkload, announced bool, now time.Time) (state appv1alpha1.OrderState, left time.Duration) {
	order := workload.Status.Order
	hasEnded := order != nil && !isRunning(order.State) && Unaccounted(workload) == nil
	if !announced || hasEnded || workload.DeletionTimestamp == nil {
		return "", 0
	}
	state = appv1alpha1.OrderCancel
	if IsSettled(workload) {
		state = appv1alpha1.OrderSuccess
	}
	return state, max(workload.DeletionTimestamp.Add(farewellThreshold).Sub(now), 0)
}

// OrderAnswer is the answer of the verifier to an OrderPlan.
type OrderAnswer struct {
	// OrderID is the verifier's own id of an order that was opened.
	OrderID string
	// Err is the error of the call.
	Err error
}

// AnswerOrder applies the answer to the decision's OrderPlan to the decision. retry reports whether the call has to be repeated.
func (d *Decision) AnswerOrder(
	workload *appv1alpha1.ChangeWorkload, of verifier.State, release verifier.Release, answer OrderAnswer, now time.Time,
) (retry bool) {
	status := d.Status
	switch {
	case d.Order.Close != "":
		retry = closeOrder(&status, of.Name, release, d.Order.Close, answer.Err, now)
	case d.Order.Open:
		retry = openOrder(&status, of.Name, release, answer, now)
		if status.Order.State == appv1alpha1.OrderRefused && !of.FailClosed {
			d.fail(&status, of.Name)
		}
	}
	d.finish(workload, status, now)
	return retry
}

// closeOrder counts a refusal as the end: then the verifier does not have the order. Other failures are retried for some time.
func closeOrder(
	status *appv1alpha1.ChangeWorkloadStatus, name string, release verifier.Release, state appv1alpha1.OrderState, err error, now time.Time,
) (retry bool) {
	closed := appv1alpha1.ChangeOrder{BizExecOrderID: release.Order, Release: release.Number, State: appv1alpha1.OrderOpen}
	if known := status.Order; known != nil && known.Release == release.Number {
		closed = *known
	}
	status.Order = &closed
	window := closeThreshold
	if release.Number != status.ObservedRelease {
		window = earlierThreshold
	}
	if deadline := afterWindow(now, window); IsWorthRetrying(err) && (closed.CloseDeadline == nil || deadline.Before(closed.CloseDeadline)) {
		closed.CloseDeadline = deadline
	}
	if IsWorthRetrying(err) && now.Before(closed.CloseDeadline.Time) {
		setCondition(status, appv1alpha1.ConditionOrdered, metav1.ConditionTrue, appv1alpha1.ReasonOrderUnfinished,
			shortText(fmt.Sprintf("%s has not closed the change order with %s yet: %v", name, state, err)))
		return true
	}
	closed.State, closed.OpenDeadline, closed.CloseDeadline = state, nil, nil
	if err != nil {
		setCondition(status, appv1alpha1.ConditionOrdered, metav1.ConditionFalse, appv1alpha1.ReasonOrderUnknown,
			shortText(fmt.Sprintf("%s did not close the change order with %s: %v", name, state, err)))
		return false
	}
	setCondition(status, appv1alpha1.ConditionOrdered, metav1.ConditionTrue, appv1alpha1.ReasonOrderFinished,
		fmt.Sprintf("the change order was closed with %s", state))
	return false
}

func openOrder(
	status *appv1alpha1.ChangeWorkloadStatus, name string, release verifier.Release, answer OrderAnswer, now time.Time,
) (retry bool) {
	deadline := openDeadline(status, release, answer.Err, now)
	status.Order = &appv1alpha1.ChangeOrder{
		BizExecOrderID: release.Order, OrderID: answer.OrderID, Release: release.Number, State: appv1alpha1.OrderOpen,
	}
	if answer.Err == nil {
		setCondition(status, appv1alpha1.ConditionOrdered, metav1.ConditionTrue, appv1alpha1.ReasonOrderOpen,
			name+" has opened the change order "+release.Order)
		return false
	}
	message := shortText(answer.Err.Error())
	if IsWorthRetrying(answer.Err) && (deadline == nil || now.Before(deadline.Time)) {
		status.Order.State, status.Order.OpenDeadline = appv1alpha1.OrderPending, deadline
		setCondition(status, appv1alpha1.ConditionOrdered, metav1.ConditionUnknown, troubleReason(answer.Err), message)
		return true
	}
	status.Order.State = appv1alpha1.OrderRefused
	setCondition(status, appv1alpha1.ConditionOrdered, metav1.ConditionFalse, appv1alpha1.ReasonOrderRefused, message)
	return false
}

// openDeadline returns the time at which an order counts as refused whose credentials are rejected, nil if they aren't. It stays the same for
// rejections in a row. An operator that doesn't know the field leaves it there, so that the condition decides whether it is of these.
func openDeadline(status *appv1alpha1.ChangeWorkloadStatus, release verifier.Release, err error, now time.Time) *metav1.Time {
	known, ordered := status.Order, meta.FindStatusCondition(status.Conditions, appv1alpha1.ConditionOrdered)
	switch {
	case !errors.Is(err, verifier.ErrUnauthorized):
		return nil
	case known != nil && known.Release == release.Number && known.OpenDeadline != nil && ordered != nil && ordered.Reason == appv1alpha1.ReasonUnauthorized:
		return known.OpenDeadline
	}
	return afterWindow(now, orderThreshold)
}

// fail ends a release whose order the verifier refused. By default only an explicit verdict fails a pod, so nothing is suspended, and
// no suspension ends.
func (d *Decision) fail(status *appv1alpha1.ChangeWorkloadStatus, name string) {
	d.Batches, d.OpenOrderCheck = nil, false
	if status.Status == appv1alpha1.ChangeWorkloadSuspend {
		return
	}
	status.Status, status.WaitDeadline, d.Wait = appv1alpha1.ChangeWorkloadFailed, nil, 0
	setVerified(status, metav1.ConditionUnknown, appv1alpha1.ReasonOrderRefused,
		name+" refused the change order, so the release is not checked: the next change of the template opens a new order")
}

// troubleReason distinguishes a server that rejects the operator's credentials, which an administrator has to fix, from an unavailable one.
func troubleReason(err error) string {
	if errors.Is(err, verifier.ErrUnauthorized) {
		return appv1alpha1.ReasonUnauthorized
	}
	return appv1alpha1.ReasonServerUnavailable
}
