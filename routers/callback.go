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

package routers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/platform/tracing"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

const (
	// answerWithin bounds the time until a callback is answered: AlterShield Server waits six seconds.
	answerWithin = 5 * time.Second
	// saveWithin bounds the time for which saving is retried after that: the verdict is not sent again.
	saveWithin = 2 * time.Minute
	// patience is the part of it in which a ChangePod may appear.
	patience = 3 * time.Second
	// lag is the time for which it may appear after that: the cache may be behind after a restart of the API server.
	lag = time.Minute
)

// callbacks receives the verdicts that the verifier sends. AlterShield Server never retries a callback, whatever the response, but
// one may arrive twice.
type callbacks struct {
	receiver verifier.Receiver
	client   client.Client
	live     client.Reader
	clock    clock.PassiveClock
	metrics  *metrics
	arrivals *arrivals
	tracer   *tracing.Tracer
	// saving counts the verdicts that aren't saved yet.
	saving *sync.WaitGroup
}

// outcome is the result of a callback, with its response.
type outcome struct {
	status  status
	code    int
	message string
	// object holds the verdict: a ChangePod or, if it is parked, a ChangeWorkload.
	object client.ObjectKey
	// about are log values that identify the release of the ChangePod.
	about []any
	// cause goes to the log, not to the caller.
	cause error
}

func taken(status status, object client.ObjectKey, message string) outcome {
	return outcome{status: status, code: http.StatusOK, object: object, message: message}
}

func rejected(status status, code int, cause error, message string) outcome {
	return outcome{status: status, code: code, cause: cause, message: message}
}

func notSaved(cause error) outcome {
	return rejected(statusFailed, http.StatusInternalServerError, cause, "the verdict could not be saved")
}

// handle returns 200 for every authentic and well-formed callback, unless it can't be saved.
func (c *callbacks) handle(w http.ResponseWriter, request *http.Request, authenticated func()) (int, any) {
	delivery, outcome := c.receive(w, request)
	if outcome.status == "" {
		authenticated()
		outcome = c.take(request, delivery)
	}
	return c.answer(request, delivery, outcome)
}

func (c *callbacks) answer(request *http.Request, delivery verifier.Delivery, outcome outcome) (int, any) {
	c.metrics.count(outcome.status, delivery)
	report(request, delivery, outcome)
	return outcome.code, reply{
		Success: outcome.code == http.StatusOK && outcome.status != statusUnknown,
		Message: outcome.message,
	}
}

// refuse rejects requests whose header rules them out.
func (c *callbacks) refuse(_ http.ResponseWriter, request *http.Request) (int, any) {
	outcome := c.screen(request)
	if outcome.status == "" {
		return 0, nil
	}
	return c.answer(request, verifier.Delivery{}, outcome)
}

// screen checks the header. The outcome has no status if the body decides.
func (c *callbacks) screen(request *http.Request) outcome {
	if request.ContentLength > maxCallbackBytes {
		return tooLarge(fmt.Errorf("the header Content-Length is %d", request.ContentLength))
	}
	if err := c.receiver.CheckHeader(request.Header, c.clock.Now()); err != nil {
		return notTaken(err)
	}
	return outcome{}
}

// receive reads a callback. The outcome has no status if there is a verdict.
func (c *callbacks) receive(w http.ResponseWriter, request *http.Request) (verifier.Delivery, outcome) {
	none := verifier.Delivery{}
	body, err := readBody(w, request, maxCallbackBytes)
	var exceeded *http.MaxBytesError
	switch {
	case errors.As(err, &exceeded):
		return none, tooLarge(err)
	case err != nil:
		return none, rejected(statusMalformed, http.StatusBadRequest, err, "the request body could not be read")
	}
	delivery, err := c.receiver.Receive(request.Header, body, c.clock.Now())
	if err != nil {
		return none, notTaken(err)
	}
	return delivery, outcome{}
}

func tooLarge(cause error) outcome {
	return rejected(statusTooLarge, http.StatusRequestEntityTooLarge, cause, "the callback is larger than 1 MiB")
}

// notTaken returns the outcome of a message that the receiver rejects.
func notTaken(cause error) outcome {
	rejection, known := errors.AsType[*verifier.Rejection](cause)
	if !known {
		return rejected(statusUnavailable, http.StatusServiceUnavailable, cause, "the operator can't verify callbacks at present")
	}
	switch rejection.Fault {
	case verifier.Unsigned:
		return rejected(statusUnsigned, http.StatusUnauthorized, cause, rejection.Message)
	case verifier.Expired:
		return rejected(statusExpired, http.StatusUnauthorized, cause, rejection.Message)
	case verifier.Malformed:
		return rejected(statusMalformed, http.StatusBadRequest, cause, rejection.Message)
	}
	return rejected(statusUnavailable, http.StatusServiceUnavailable, cause, rejection.Message)
}

// take saves a verdict. It continues after the server disconnects, as the server doesn't send the verdict again.
func (c *callbacks) take(request *http.Request, delivery verifier.Delivery) outcome {
	if delivery.Verdict.Outcome == verifier.Undecided {
		return taken(statusIgnored, client.ObjectKey{}, delivery.Verdict.Reason)
	}
	saved, answered := make(chan outcome), make(chan struct{})
	defer close(answered)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(request.Context()), saveWithin)
	first := func() outcome {
		defer c.saving.Done()
		outcome := c.save(ctx, delivery, patience, request.Context().Done())
		select {
		case saved <- outcome:
		case <-answered:
			if outcome.status != statusFailed { // counted already, with the response
				c.metrics.count(outcome.status, delivery)
			}
			report(request, delivery, outcome)
		}
		return outcome
	}
	c.saving.Add(1)
	go func() {
		defer cancel()
		// What comes after it isn't waited for at the end of the process: the cache has stopped by then.
		if first().status != statusUnknown {
			return
		}
		if late := c.save(ctx, delivery, lag, nil); late.status != statusUnknown {
			c.metrics.count(late.status, delivery)
			report(request, delivery, late)
		}
	}()
	timeout := time.NewTimer(answerWithin)
	defer timeout.Stop()
	select {
	case outcome := <-saved:
		return outcome
	case <-timeout.C:
		return notSaved(errors.New("timed out; still retrying in the background"))
	}
}

// save applies a verdict to its ChangePod, or parks it if that doesn't appear in time. gone is closed when the caller disconnects.
func (c *callbacks) save(ctx context.Context, delivery verifier.Delivery, within time.Duration, gone <-chan struct{}) (saved outcome) {
	defer func() {
		// The router can't recover what runs apart from the request. The value isn't logged, as it may contain parts of the request.
		if fault := recover(); fault != nil {
			saved = notSaved(fmt.Errorf("a panic of type %T: %s", fault, debug.Stack()))
		}
	}()
	changePod, err := c.await(ctx, delivery.CheckID, within, gone)
	switch {
	case err != nil:
		return notSaved(err)
	case changePod == nil:
		return c.park(ctx, delivery)
	}
	return c.apply(ctx, changePod, delivery)
}

// report logs the outcome of a callback, but never its headers or body, which could be replayed.
func report(request *http.Request, delivery verifier.Delivery, outcome outcome) {
	log := ctrl.LoggerFrom(request.Context()).WithValues("status", outcome.status)
	if delivery.CheckID != "" {
		log = log.WithValues("check", delivery.CheckID, "order", delivery.Order, "stage", delivery.Stage, "verdict", delivery.Verdict.Outcome)
	}
	switch {
	case outcome.code == http.StatusInternalServerError:
		log.Error(outcome.cause, "A verdict was not saved", "remote", request.RemoteAddr)
	case outcome.cause != nil:
		log.Info("A callback was rejected", "remote", request.RemoteAddr, "reason", outcome.cause.Error())
	case outcome.status == statusIgnored:
		log.V(1).Info("A callback was ignored")
	case outcome.status == statusUnknown:
		log.Info("A callback names an unknown check", "remote", request.RemoteAddr)
	case outcome.status == statusParked:
		log.Info("A verdict waits for its ChangePod", "changeWorkload", outcome.object)
	default:
		log.Info("A verdict arrived", append(outcome.about, "changePod", outcome.object)...)
	}
}
