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
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

const (
	// Lag is how long after it happened an event may come to light. What is older than that and not yet told is no news of now.
	Lag = 10 * time.Minute
	// leastLag is the same where more happens than the status lists: 256 IDs, which are 10 KiB.
	leastLag = time.Minute
	// Patience is how long the delivery of an event is tried. What is older when it is first tried, by more than the time of a digest, goes into one.
	Patience = time.Hour
	// mostSingle is the most urgent events that are told one by one.
	mostSingle = 5
	// mostPlain is the most events of a message of the type Plain, which has all of them in full.
	mostPlain = 100
	// leastBackoff and mostBackoff are the shortest and the longest pause after a failure.
	leastBackoff = time.Second
	mostBackoff  = 5 * time.Minute
	// mostSkew is how far the clocks of two machines may differ.
	mostSkew = 5 * time.Second
)

// Batch is what one message tells.
type Batch struct {
	Events []Event
	// Late reports whether the events are too old to be told one by one.
	Late bool
}

// Plan is what is to be done for a subscription.
type Plan struct {
	// Due are the messages to send, in this order.
	Due []Batch
	// Expired are the events whose delivery was tried for too long.
	Expired []Event
	// Wait is the time until a digest is due, 0 if none waits.
	Wait time.Duration
}

// Unknown returns the events that a status doesn't list as delivered. told has those that this process has delivered: the list of the status
// may be too short for all of them.
func Unknown(status *appv1alpha1.ChangeSubscriptionStatus, told map[string]time.Time, events []Event) []Event {
	known := make(map[string]bool, len(status.Delivered))
	for _, id := range status.Delivered {
		known[id] = true
	}
	var unknown []Event
	for _, event := range events {
		if _, isTold := told[event.ID]; !isTold && !known[event.ID] {
			unknown = append(unknown, event)
		}
	}
	return unknown
}

// Next returns what is to be done about pending events, which are in the order of time.
func Next(spec *appv1alpha1.ChangeSubscriptionSpec, status *appv1alpha1.ChangeSubscriptionStatus, pending []Event, now time.Time) Plan {
	var plan Plan
	var late, urgent, calm []Event
	window := time.Duration(spec.DigestSeconds) * time.Second
	disturbed := map[types.UID]bool{} // the workloads of urgent events
	for _, event := range pending {
		switch {
		case isExpired(&event, status.FailingSince, now):
			plan.Expired = append(plan.Expired, event)
		case spec.Sink.Type == appv1alpha1.SinkCDEvents: // programs need each event
			plan.Due = append(plan.Due, Batch{Events: []Event{event}})
		case now.Sub(event.At) > Patience+window:
			late = append(late, event)
		case event.IsUrgent() || window == 0 || disturbed[event.Workload.UID]: // in a digest it would come before the urgent one
			urgent, disturbed[event.Workload.UID] = append(urgent, event), true
		default:
			calm = append(calm, event)
		}
	}
	if len(late) > 0 {
		plan.Due = append(plan.Due, Batch{Events: late, Late: true})
	}
	due, wait := digest(calm, urgent, window, now)
	if len(due) > 0 {
		plan.Due = append(plan.Due, Batch{Events: due})
	}
	plan.Due, plan.Wait = append(plan.Due, split(urgent)...), wait
	if spec.Sink.Type == appv1alpha1.SinkPlain {
		plan.Due = parted(plan.Due)
	}
	return plan
}

// parted returns messages with no more than mostPlain events each.
func parted(batches []Batch) (parts []Batch) {
	for _, batch := range batches {
		for events := range slices.Chunk(batch.Events, mostPlain) {
			parts = append(parts, Batch{Events: events, Late: batch.Late})
		}
	}
	return parts
}

func isExpired(event *Event, failingSince *metav1.Time, now time.Time) bool {
	if failingSince == nil {
		return false
	}
	tried := event.At
	if failingSince.After(tried) {
		tried = failingSince.Time
	}
	return now.Sub(tried) >= Patience
}

// digest returns the calm events that are due, and the time until the others are. Those of a workload come before its urgent ones.
func digest(calm, urgent []Event, window time.Duration, now time.Time) (due []Event, wait time.Duration) {
	if len(calm) == 0 {
		return nil, 0
	}
	wait = calm[0].At.Add(window).Sub(now)
	if wait <= 0 {
		return calm, 0
	}
	latest := map[types.UID]time.Time{}
	for i := range urgent {
		latest[urgent[i].Workload.UID] = urgent[i].At
	}
	for _, event := range calm {
		if before, found := latest[event.Workload.UID]; found && !event.At.After(before) {
			due = append(due, event)
		}
	}
	if len(due) == len(calm) {
		wait = 0
	}
	return due, wait
}

// split returns a message for each of a few events, or one for all of many.
func split(events []Event) []Batch {
	if len(events) > mostSingle {
		return []Batch{{Events: events}}
	}
	batches := make([]Batch, len(events))
	for i, event := range events {
		batches[i] = Batch{Events: []Event{event}}
	}
	return batches
}

// Merge returns events, and those that were found before and that their releases don't show any more, in the order of time.
func Merge(events, before []Event) []Event {
	events = slices.DeleteFunc(events, func(event Event) bool { // which was found before, while the record was there
		return event.Inferred && slices.ContainsFunc(before, func(waiting Event) bool {
			return waiting.Name == event.Name && !waiting.Inferred && waiting.isOf(event.told())
		})
	})
	found := make(map[string]int, len(events))
	for i := range events {
		found[events[i].ID] = i
	}
	for _, event := range before {
		i, isFound := found[event.ID]
		switch {
		case !isFound:
			events = append(events, event)
		case event.At.Before(events[i].At): // an event without a time of its own is of when it was seen first
			events[i].At = event.At
		}
	}
	slices.SortStableFunc(events, Compare)
	return events
}

// Remember notes the events that this process has delivered although the status doesn't list them: the write of it failed.
func Remember(status *appv1alpha1.ChangeSubscriptionStatus, told map[string]time.Time, events []Event) {
	for i := range events {
		_, isTold := told[events[i].ID]
		if isTold && len(status.Delivered) < appv1alpha1.MaxDelivered && !slices.Contains(status.Delivered, events[i].ID) {
			Deliver(status, events[i:i+1])
		}
	}
}

// Deliver notes that events were delivered, or dropped.
func Deliver(status *appv1alpha1.ChangeSubscriptionStatus, events []Event) {
	for i := range events {
		status.Delivered = append(status.Delivered, events[i].ID)
		noteFailure(status, &events[i])
		NoteFreeze(status, &events[i])
		noteDeleted(status, &events[i])
	}
}

// Trim moves the time before which nothing is told, and shortens the list of delivered events to what the status can hold. events are all
// those that are selected, and pending those that wait, both in the order of time. It returns after what time that time can move past a delivered
// event that the status doesn't list, 0 if there is none.
func Trim(status *appv1alpha1.ChangeSubscriptionStatus, events, pending []Event, now time.Time) time.Duration {
	until := now.Add(-Lag)
	if len(pending) > 0 && pending[0].At.Before(until) {
		until = pending[0].At
	}
	if status.ToldUntil == nil || until.Sub(status.ToldUntil.Time) >= Lag {
		status.ToldUntil = &metav1.Time{Time: until.Truncate(time.Second)}
	}
	at := make(map[string]time.Time, len(events))
	for i := range events {
		at[events[i].ID] = events[i].At
	}
	// First those that wouldn't be told any more, then the oldest.
	excess := len(status.Delivered) - appv1alpha1.MaxDelivered
	kept := slices.DeleteFunc(status.Delivered, func(id string) bool {
		happened, found := at[id]
		forget := excess > 0 && (!found || happened.Before(status.ToldUntil.Time))
		if forget {
			excess--
		}
		return forget
	})
	status.Delivered = kept[max(0, excess):]
	return passUnlisted(status, events, pending, now)
}

// passUnlisted moves the time before which nothing is told past the delivered events that the status doesn't list. Those of the last minute, and those
// after what waits, are told again after a restart, with the same ID, rather than lose what comes to light after them or waits. It returns after what
// time the first of the last minute can be passed, 0 if there is none.
func passUnlisted(status *appv1alpha1.ChangeSubscriptionStatus, events, pending []Event, now time.Time) time.Duration {
	listed := make(map[string]bool, len(status.Delivered))
	for _, id := range status.Delivered {
		listed[id] = true
	}
	for i := range events {
		after := events[i].At.Add(time.Second).Truncate(time.Second)
		if len(pending) > 0 && after.After(pending[0].At) { // as it is for those that wait themselves
			break
		}
		if listed[events[i].ID] || !after.After(status.ToldUntil.Time) {
			continue
		}
		if wait := after.Add(leastLag).Sub(now); wait > 0 {
			return wait
		}
		status.ToldUntil = &metav1.Time{Time: after}
	}
	return 0
}

// SetBack corrects the times of the status of a subscription that are later than the clock of the operator could have set them: it went back, or is that
// of another leader. What happens now would otherwise be told or tried only once it is as late again.
func SetBack(status *appv1alpha1.ChangeSubscriptionStatus, created, now time.Time) {
	if until := status.ToldUntil; until != nil && until.After(now.Add(mostSkew)) {
		back := now.Add(-Lag)
		if created.Before(now) {
			back = latest(back, created)
		}
		status.ToldUntil = &metav1.Time{Time: back.Truncate(time.Second)}
	}
	if since := status.FailingSince; since != nil && since.After(now.Add(mostSkew)) {
		status.FailingSince = &metav1.Time{Time: now.Truncate(time.Second)}
	}
	if retry := status.RetryTime; retry != nil && retry.After(now.Add(2*mostBackoff)) {
		status.RetryTime = nil
	}
}

// Resume forgets the failure of a receiver that wasn't tried again when it was time, as no operator ran: what waits, or happened meanwhile, is tried first.
func Resume(status *appv1alpha1.ChangeSubscriptionStatus, now time.Time) {
	if retry := status.RetryTime; retry != nil && now.Sub(retry.Time) > Lag {
		Recover(status)
	}
}

// Fail notes that the receiver failed, and sets when it is tried again: after the pause for which it asks, and at least that of the backoff.
// jitter is at least 0 and less than 1.
func Fail(status *appv1alpha1.ChangeSubscriptionStatus, asked time.Duration, jitter float64, now time.Time) {
	Unsent(status, now)
	pause := mostBackoff
	if status.Failures < 9 { // 2^9 seconds are more than the longest pause
		pause = min(leastBackoff<<status.Failures, mostBackoff)
	}
	status.Failures++
	pause += time.Duration(jitter * float64(pause) / 2)
	// The API server keeps whole seconds.
	retry := now.Add(max(pause, asked)).Add(time.Second - 1).Truncate(time.Second)
	status.RetryTime = &metav1.Time{Time: retry}
}

// Unsent notes that no message could be sent, so that what waits isn't kept for longer than Patience.
func Unsent(status *appv1alpha1.ChangeSubscriptionStatus, now time.Time) {
	status.RetryTime = nil // which is of a try
	if status.FailingSince == nil {
		status.FailingSince = &metav1.Time{Time: now.Truncate(time.Second)}
	}
}

// Taken notes that the receiver took a message.
func Taken(status *appv1alpha1.ChangeSubscriptionStatus, now time.Time) {
	status.LastSentTime = &metav1.Time{Time: now.Truncate(time.Second)}
	Recover(status)
}

// Recover notes that the receiver answers.
func Recover(status *appv1alpha1.ChangeSubscriptionStatus) {
	status.FailingSince, status.RetryTime, status.Failures = nil, nil, 0
}
