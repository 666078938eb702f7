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

package changesubscription

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/changesubscription/encode"
	"github.com/traas-stack/altershield-operator/controllers/changesubscription/notice"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

const (
	// mostMessages is the most messages that one reconcile sends, and mostTime how long it goes on to send further ones.
	mostMessages = 50
	mostTime     = 10 * time.Second
	// mostTold is the most delivered events that a process remembers before it forgets those that aren't told any more.
	mostTold = 4 * appv1alpha1.MaxDelivered
)

// line is what a process has for a subscription: the connection to its receiver, and what the status is too short for.
type line struct {
	// uid is that of the subscription: another one may get its name.
	uid types.UID
	// kind is the type of the receivers that the limiter is for.
	kind    appv1alpha1.SinkType
	limiter *rate.Limiter
	told    map[string]time.Time
	// waiting are the events that waited at a generation of the subscription. Their releases may not show them any more.
	waiting    []notice.Event
	generation int64
	// of is what the receiver was made of.
	of       string
	receiver *receiver
}

// lines are those of all subscriptions. The zero value is empty.
type lines struct {
	mutex sync.Mutex
	known map[types.NamespacedName]*line
}

// of returns the line of a subscription. No two reconciles of a subscription run at a time.
func (l *lines) of(object *appv1alpha1.ChangeSubscription) *line {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	key := client.ObjectKeyFromObject(object)
	if l.known == nil {
		l.known = map[types.NamespacedName]*line{}
	}
	if l.known[key] == nil || l.known[key].uid != object.UID {
		l.close(key)
		l.known[key] = &line{uid: object.UID, told: map[string]time.Time{}}
	}
	if found, kind := l.known[key], object.Spec.Sink.Type; found.kind != kind {
		found.kind, found.limiter = kind, limiterOf(kind)
	}
	return l.known[key]
}

func (l *lines) drop(key types.NamespacedName) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.close(key)
	delete(l.known, key)
}

// close closes the connection of a line.
func (l *lines) close(key types.NamespacedName) {
	if old := l.known[key]; old != nil && old.receiver != nil {
		old.receiver.close()
	}
}

// limiterOf returns a limiter under which no minute has more messages than a type of receivers takes, and one restart within that minute doesn't
// change that for a DingTalk robot, which is silenced for ten minutes beyond 20.
func limiterOf(kind appv1alpha1.SinkType) *rate.Limiter {
	perMinute := 60
	switch kind {
	case appv1alpha1.SinkDingTalk, appv1alpha1.SinkWeCom:
		perMinute = 15
	case appv1alpha1.SinkCDEvents, appv1alpha1.SinkPlain:
		perMinute = 600
	}
	burst := perMinute / 3
	if kind == appv1alpha1.SinkFeishu { // takes no more than 5 a second
		burst = 5
	}
	return rate.NewLimiter(rate.Limit(float64(perMinute-burst)/60), burst)
}

// round is the delivery of the messages of a subscription that are due.
type round struct {
	*Reconciler
	object *appv1alpha1.ChangeSubscription
	line   *line
	// pending are the events that wait, in the order of time.
	pending []notice.Event
	loss    *loss
}

// deliver sends what is due, until the receiver fails or its limit is reached.
func (r *Reconciler) deliver(ctx context.Context, object *appv1alpha1.ChangeSubscription, chosen choice) (time.Duration, *loss, error) {
	events, err := r.find(ctx, chosen, object)
	if err != nil {
		return 0, nil, err
	}
	turn := &round{Reconciler: r, object: object, line: r.lines.of(object)}
	if turn.line.generation == object.Generation {
		events = notice.Merge(events, turn.line.waiting)
	}
	notice.Remember(&object.Status, turn.line.told, events)
	turn.pending = notice.Unknown(&object.Status, turn.line.told, events)
	wait, err := turn.run(ctx)
	wait = soonest(wait, notice.Trim(&object.Status, events, turn.pending, r.Clock.Now()))
	turn.line.forget(object.Status.ToldUntil.Time)
	turn.line.waiting, turn.line.generation = turn.pending, object.Generation
	object.Status.Pending = int32(len(turn.pending))
	r.Metrics.waiting(object, len(turn.pending))
	return wait, turn.loss, err
}

func (l *line) forget(until time.Time) {
	if len(l.told) <= mostTold {
		return
	}
	for id, at := range l.told {
		if at.Before(until) {
			delete(l.told, id)
		}
	}
}

func (r *round) run(ctx context.Context) (time.Duration, error) {
	began := r.Clock.Now()
	plan := notice.Next(&r.object.Spec, &r.object.Status, r.pending, began)
	if len(plan.Expired) > 0 {
		r.drop(plan.Expired, fmt.Sprintf("no message could be sent for %s", notice.Patience))
	}
	if retry := r.object.Status.RetryTime; retry != nil && began.Before(retry.Time) && r.object.Status.ObservedGeneration == r.object.Generation {
		return retry.Sub(began), nil
	}
	if len(plan.Due) == 0 && isReady(r.object) {
		return soonest(idle, plan.Wait), nil
	}
	receiver, problem, err := r.connect(ctx, r.object, r.line)
	if err != nil {
		if ctx.Err() == nil { // the end of the process says nothing about the receiver
			r.unsent(plan.Due, began)
		}
		return 0, err
	}
	if problem != nil {
		r.unsent(plan.Due, began)
		r.setReady(r.object, problem.Reason, problem.Message)
		return recheck, nil
	}
	if !hasFailed(r.object) {
		notice.Recover(&r.object.Status) // from a Secret that could not be used
		r.setReady(r.object, appv1alpha1.ReasonReady, working)
	}
	return r.sendAll(ctx, receiver, plan)
}

// unsent notes that the receiver can't be asked for messages that are due. They count as failed, of which an alert tells.
func (r *round) unsent(due []notice.Batch, now time.Time) {
	notice.Unsent(&r.object.Status, now)
	for i := range due {
		r.Metrics.count(r.object.Spec.Sink.Type, resultFailed, len(due[i].Events))
	}
}

// sendAll sends the messages that are due, as many as the receiver takes.
func (r *round) sendAll(ctx context.Context, receiver *receiver, plan notice.Plan) (time.Duration, error) {
	began := r.Clock.Now()
	for sent, batch := range plan.Due {
		now := r.Clock.Now()
		if sent == mostMessages || now.Sub(began) > mostTime {
			return pace, nil
		}
		reservation := r.line.limiter.ReserveN(now, 1)
		if wait := reservation.DelayFrom(now); wait > 0 {
			reservation.CancelAt(now)
			return max(wait, pace), nil
		}
		wait, err := r.send(ctx, receiver, batch)
		if wait > 0 || err != nil {
			return wait, err
		}
	}
	return soonest(idle, plan.Wait), nil
}

// soonest returns the shorter wait. None is 0.
func soonest(first, second time.Duration) time.Duration {
	if second == 0 {
		return first
	}
	return max(min(first, second), pace)
}

// send sends a message. It returns a wait if the receiver is to be tried again after it.
func (r *round) send(ctx context.Context, to *receiver, batch notice.Batch) (time.Duration, error) {
	message, err := r.encode(ctx, to, batch)
	if err != nil {
		return 0, err
	}
	status, kind := &r.object.Status, r.object.Spec.Sink.Type
	failure := to.send(ctx, message)
	now := r.Clock.Now()
	switch {
	case failure == nil:
		r.tell(batch.Events)
		notice.Taken(status, now)
		r.setReady(r.object, appv1alpha1.ReasonReady, working)
		r.Metrics.delivered(kind, batch.Events, now)
		return 0, nil
	case ctx.Err() != nil: // says nothing about the receiver
		return 0, fmt.Errorf("sending a message of ChangeSubscription %s/%s: %w", r.object.Namespace, r.object.Name, ctx.Err())
	case failure.Again:
		r.Metrics.count(kind, resultFailed, len(batch.Events))
		notice.Fail(status, failure.After, r.Jitter(), now)
		r.setReady(r.object, failure.Reason, failure.Message)
		return status.RetryTime.Sub(now), nil
	}
	r.drop(batch.Events, failure.Message)
	notice.Recover(status)
	r.setReady(r.object, failure.Reason, failure.Message)
	return 0, nil
}

// encode returns a message, with the images of a verified release for a CDEvent.
func (r *round) encode(ctx context.Context, to *receiver, batch notice.Batch) (encode.Message, error) {
	facts := encode.Facts{Secret: to.secret, Now: r.Clock.Now()}
	name := batch.Events[0].Name
	if r.object.Spec.Sink.Type == appv1alpha1.SinkCDEvents && (name == appv1alpha1.NotifyVerified || name == appv1alpha1.NotifyRollbackVerified) {
		event := &batch.Events[0]
		var record appv1alpha1.ChangeRecord
		key := client.ObjectKey{
			Namespace: event.Namespace, Name: decide.ChangeRecordName(decide.RecordKey(event.Workload.UID, event.Observed), event.Release, 0),
		}
		if err := r.Live.Get(ctx, key, &record); client.IgnoreNotFound(err) != nil {
			return encode.Message{}, fmt.Errorf("reading ChangeRecord %s: %w", key, err)
		}
		// The record of that number may be of an earlier release, as a count may begin anew.
		if record.Spec.Version == event.Version && record.Spec.StartedAt.Unix() == event.Began.Unix() {
			facts.Images = record.Spec.Images
		}
	}
	message, err := encode.Encode(&r.object.Spec, batch, facts)
	if err != nil {
		return encode.Message{}, fmt.Errorf("ChangeSubscription %s/%s: %w", r.object.Namespace, r.object.Name, err)
	}
	return message, nil
}

// tell notes that events were delivered or dropped.
func (r *round) tell(events []notice.Event) {
	notice.Deliver(&r.object.Status, events)
	for i := range events {
		r.line.told[events[i].ID] = events[i].At
	}
	r.pending = notice.Unknown(&r.object.Status, r.line.told, r.pending)
}

// drop gives up the delivery of events.
func (r *round) drop(events []notice.Event, why string) {
	r.tell(events)
	r.object.Status.Dropped += int64(len(events))
	r.Metrics.count(r.object.Spec.Sink.Type, resultDropped, len(events))
	if r.loss == nil {
		r.loss = &loss{}
	}
	r.loss.count, r.loss.why = r.loss.count+len(events), why
}
