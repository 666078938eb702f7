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

package source

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	prometheusv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"github.com/sony/gobreaker/v2"
	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"
	"k8s.io/utils/clock"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

const (
	// failureThreshold is the number of consecutive unanswered queries that opens the circuit breaker.
	failureThreshold = 5
	// OpenPeriod is the time for which it stays open. Then one query probes the source.
	OpenPeriod = 30 * time.Second
	// instantPeriod is how long the answer at one time is kept, unusedPeriod that for a fixed window without being used: looks are at most five minutes
	// apart, or twice that in turns.
	instantPeriod, unusedPeriod = 15 * time.Second, 11 * time.Minute
	// maxKept is the size of all answers that are kept, in values: some 32 MiB. Others are asked for again.
	maxKept = 4 << 20
	// seriesSize is what a series takes beside its values, most of it for labels.
	seriesSize = 50
)

// endpoint asks one source, and protects it: equal queries are sent once, and not too many at a time.
type endpoint struct {
	name    string
	api     queries
	close   func()
	limits  appv1alpha1.SourceLimits
	clock   clock.PassiveClock
	metrics *Metrics
	breaker *gobreaker.CircuitBreaker[Answer]
	limiter *rate.Limiter
	slots   *semaphore.Weighted
	outage  atomic.Pointer[Error]
	// limited is set if a query wasn't sent as it would have been beyond the limits.
	limited atomic.Bool
	flights singleflight.Group

	mutex sync.Mutex
	// pause is until when the source wants no queries.
	pause time.Time
	kept  map[string]kept
}

// queries are those of an API of metrics.
type queries interface {
	Query(ctx context.Context, query string, at time.Time, options ...prometheusv1.Option) (model.Value, prometheusv1.Warnings, error)
	QueryRange(ctx context.Context, query string, over prometheusv1.Range, options ...prometheusv1.Option) (model.Value, prometheusv1.Warnings, error)
}

func queriesOf(to *exchange) queries {
	if to.accessKey != nil {
		return newHoloInsight(to)
	}
	return prometheusv1.NewAPI(to)
}

// kept is an answer that is used again until a time.
type kept struct {
	answer Answer
	until  time.Time
	// unused is how much longer it is kept whenever it is used.
	unused time.Duration
}

// size returns the size of the answer in values.
func (k kept) size() int {
	size := 0
	for i := range k.answer.Series {
		size += seriesSize + len(k.answer.Series[i].Values)
	}
	return size
}

// usedAt returns how it is kept after it was used. What a partial answer lacks may be there later.
func (k kept) usedAt(now time.Time) kept {
	if until := now.Add(k.unused); k.answer.Partial == "" && until.After(k.until) {
		k.until = until
	}
	return k
}

func newEndpoint(name string, to *exchange, limits appv1alpha1.SourceLimits, metrics *Metrics) *endpoint {
	return &endpoint{
		name: name, api: queriesOf(to), close: to.close, limits: limits, clock: to.clock, metrics: metrics,
		limiter: rate.NewLimiter(rate.Limit(limits.QueriesPerSecond), int(limits.Burst)),
		slots:   semaphore.NewWeighted(int64(limits.Concurrent)),
		kept:    map[string]kept{},
		breaker: gobreaker.NewCircuitBreaker[Answer](gobreaker.Settings{
			Timeout:      OpenPeriod,
			ReadyToTrip:  func(counts gobreaker.Counts) bool { return counts.ConsecutiveFailures >= failureThreshold },
			IsSuccessful: func(err error) bool { return kindOf(err) != KindUnavailable },
			IsExcluded:   func(err error) bool { return errors.Is(err, errNotSent) },
		}),
	}
}

// errNotSent is the error of queries that weren't sent, and so say nothing about the source.
var errNotSent = errors.New("the query wasn't sent")

// queryRange returns the answer for a window, which is kept until the next step. That for a fixed one is kept as long as it is used, once nothing is
// added to it: what was scraped last comes late to some sources.
func (e *endpoint) queryRange(ctx context.Context, query string, window Window) (Answer, error) {
	over := prometheusv1.Range{Start: window.Start, End: window.End, Step: window.Step}
	key := fmt.Sprintf("%d %d %d %s", window.Start.UnixNano(), window.End.UnixNano(), window.Step, query)
	as := kept{until: window.End.Add(window.Step)}
	if window.Fixed && !e.clock.Now().Before(as.until) {
		as.unused = unusedPeriod
	}
	return e.share(ctx, key, as, func(ctx context.Context) (Answer, error) {
		value, warnings, err := e.api.QueryRange(ctx, query, over, e.options()...)
		if err == nil && value.Type() != model.ValMatrix { // its values would be of no step
			err = &Error{Kind: KindUnavailable, Message: fmt.Sprintf("the answer to a range query is a %s, not a matrix: see spec.url", value.Type())}
		}
		return e.decode(window, value, warnings, err)
	})
}

// queryInstant returns the answer at a time, which is kept for a while.
func (e *endpoint) queryInstant(ctx context.Context, query string, at time.Time) (Answer, error) {
	as := kept{until: e.clock.Now().Add(instantPeriod)}
	return e.share(ctx, fmt.Sprintf("%d %s", at.UnixNano(), query), as, func(ctx context.Context) (Answer, error) {
		value, warnings, err := e.api.Query(ctx, query, at, e.options()...)
		return e.decode(instant(at), value, warnings, err)
	})
}

// options asks for one series more than may be used: what is cut off must not pass for the whole.
func (e *endpoint) options() []prometheusv1.Option {
	return []prometheusv1.Option{prometheusv1.WithTimeout(e.timeout()), prometheusv1.WithLimit(uint64(e.limits.MaxSeries) + 1)}
}

func (e *endpoint) timeout() time.Duration {
	return time.Duration(e.limits.TimeoutSeconds) * time.Second
}

func (e *endpoint) decode(window Window, value model.Value, warnings prometheusv1.Warnings, err error) (Answer, error) {
	if err != nil {
		return Answer{}, failureOf(err)
	}
	return answerOf(value, warnings, window, e.limits.MaxSeries)
}

// share returns the answer that is kept, or that of the flight under way, or asks. An answer is kept for a while, and a failure isn't.
func (e *endpoint) share(ctx context.Context, key string, as kept, ask func(context.Context) (Answer, error)) (Answer, error) {
	if answer, found := e.find(key); found {
		return answer, nil
	}
	if ctx.Err() != nil { // else the answer might be there before the select below, which would ignore the context
		return Answer{}, e.ended(ctx)
	}
	flight := e.flights.DoChan(key, func() (any, error) {
		ctx, cancel := untilTheManagerEnds(ctx)
		defer cancel()
		answer, err := e.protect(ctx, ask)
		if err == nil {
			as.answer = answer
			e.keep(key, as)
		}
		return answer, err
	})
	select {
	case <-ctx.Done():
		return Answer{}, e.ended(ctx)
	case landed := <-flight:
		if landed.Err != nil && ctx.Err() != nil { // both are ready where the end of the manager ended the query
			return Answer{}, e.ended(ctx)
		}
		answer, _ := landed.Val.(Answer)
		return answer, landed.Err
	}
}

// untilTheManagerEnds returns a context for what others wait for, too: it goes on when the time of the caller is over.
func untilTheManagerEnds(caller context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(caller))
	stop := context.AfterFunc(caller, func() {
		if errors.Is(caller.Err(), context.Canceled) {
			cancel()
		}
	})
	return ctx, func() { stop(); cancel() }
}

// ended returns the error of a context that ended while an answer was awaited.
func (e *endpoint) ended(ctx context.Context) error {
	return fmt.Errorf("asking VerificationSource %s: %w", e.name, ctx.Err())
}

func (e *endpoint) find(key string) (Answer, bool) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	found, now := e.kept[key], e.clock.Now()
	if !now.Before(found.until) {
		return Answer{}, false
	}
	e.kept[key] = found.usedAt(now)
	return found.answer, true
}

// keep keeps an answer if there is room for it, and drops those whose time is over.
func (e *endpoint) keep(key string, answer kept) {
	e.expire()
	e.mutex.Lock()
	defer e.mutex.Unlock()
	size := answer.size()
	for _, other := range e.kept {
		size += other.size()
	}
	if size <= maxKept {
		e.kept[key] = answer.usedAt(e.clock.Now())
	}
}

// expire drops the answers whose time is over.
func (e *endpoint) expire() {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	now := e.clock.Now()
	maps.DeleteFunc(e.kept, func(_ string, old kept) bool { return !now.Before(old.until) })
}

// protect asks unless the source is down or wants a pause, and counts the outcome.
func (e *endpoint) protect(ctx context.Context, ask func(context.Context) (Answer, error)) (Answer, error) {
	answer, err := e.breaker.Execute(func() (Answer, error) {
		if err := e.admit(ctx); err != nil {
			return Answer{}, err
		}
		defer e.slots.Release(1)
		answer, err := ask(ctx)
		if failure, ok := errors.AsType[*Error](err); ok {
			failure.Source = e.name
			e.learn(failure)
		}
		e.metrics.answered(e.name, kindOf(err))
		return answer, err
	})
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		err = e.outage.Load()
		e.metrics.skipped(e.name)
	} else if errors.Is(err, errNotSent) {
		e.metrics.skipped(e.name)
	}
	return answer, err
}

// learn remembers what a failure says about the queries to come.
func (e *endpoint) learn(failure *Error) {
	switch failure.Kind {
	case KindUnavailable:
		e.outage.Store(failure)
	case KindThrottled:
		e.mutex.Lock()
		defer e.mutex.Unlock()
		e.pause = e.clock.Now().Add(failure.RetryAfter)
	}
}

// admit waits for a slot, and until the limit of the rate permits a query. The caller releases the slot.
func (e *endpoint) admit(ctx context.Context) error {
	e.mutex.Lock()
	pause := e.pause.Sub(e.clock.Now())
	e.mutex.Unlock()
	if pause > 0 {
		return e.throttled(tooMany, pause)
	}
	ctx, cancel := context.WithTimeout(ctx, e.timeout())
	defer cancel()
	if err := e.slots.Acquire(ctx, 1); err != nil {
		e.limited.Store(true)
		return e.throttled(fmt.Sprintf("limits.concurrent, %d queries are unanswered", e.limits.Concurrent), e.timeout())
	}
	if err := e.limiter.Wait(ctx); err != nil {
		e.slots.Release(1)
		e.limited.Store(true)
		return e.throttled(fmt.Sprintf("more than limits.queriesPerSecond, %d queries a second are asked", e.limits.QueriesPerSecond), e.timeout())
	}
	return nil
}

func (e *endpoint) throttled(message string, pause time.Duration) *Error {
	return &Error{Source: e.name, Kind: KindThrottled, Message: message, RetryAfter: pause, err: errNotSent}
}
