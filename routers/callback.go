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
	"time"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/platform/tracing"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

const (
	// answerWithin is how long the verdict of a callback may take to be saved: AlterShield Server waits six seconds for the
	// answer.
	answerWithin = 5 * time.Second
	// saveWithin is how long saving is tried all the same: nobody will tell the verdict again.
	saveWithin = 2 * time.Minute
	// patience is how much of that is spent on waiting for a ChangePod to appear.
	patience = 3 * time.Second
)

// callbacks takes the verdicts that the verifier sends. It need not repeat one that it could deliver or not, whatever the answer:
// AlterShield Server never does. But one may arrive twice.
type callbacks struct {
	receiver verifier.Receiver
	client   client.Client
	live     client.Reader
	clock    clock.PassiveClock
	metrics  *metrics
	arrivals *arrivals
	tracer   *tracing.Tracer
}

// outcome is what became of a callback, and how that is answered.
type outcome struct {
	status  status
	code    int
	message string
	// object is what holds the verdict now: a ChangePod or, where it is parked, a ChangeWorkload.
	object client.ObjectKey
	// about tells the log which release the ChangePod belongs to.
	about []any
	// cause is told in the log, not to the caller.
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

// handle answers 200 to every callback that is authentic and well-formed, unless it can't be saved.
func (c *callbacks) handle(w http.ResponseWriter, request *http.Request, known func()) (int, any) {
	delivery, outcome := c.receive(w, request)
	if outcome.status == "" {
		known()
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

// refuse answers what can't be a callback by its header.
func (c *callbacks) refuse(_ http.ResponseWriter, request *http.Request) (int, any) {
	outcome := c.screen(request)
	if outcome.status == "" {
		return 0, nil
	}
	return c.answer(request, verifier.Delivery{}, outcome)
}

// screen has no status where the body has to tell.
func (c *callbacks) screen(request *http.Request) outcome {
	if request.ContentLength > maxCallbackBytes {
		return tooLarge(fmt.Errorf("the header Content-Length is %d", request.ContentLength))
	}
	if err := c.receiver.CheckHeader(request.Header, c.clock.Now()); err != nil {
		return notTaken(err)
	}
	return outcome{}
}

// receive reads a callback. The outcome has no status where there is a verdict to take.
func (c *callbacks) receive(w http.ResponseWriter, request *http.Request) (verifier.Delivery, outcome) {
	none := verifier.Delivery{}
	body, err := readBody(w, request, maxCallbackBytes)
	var exceeded *http.MaxBytesError
	switch {
	case errors.As(err, &exceeded):
		return none, tooLarge(err)
	case err != nil:
		return none, rejected(statusMalformed, http.StatusBadRequest, err, "the body didn't arrive")
	}
	delivery, err := c.receiver.Receive(request.Header, body, c.clock.Now())
	if err != nil {
		return none, notTaken(err)
	}
	return delivery, outcome{}
}

func tooLarge(cause error) outcome {
	return rejected(statusTooLarge, http.StatusRequestEntityTooLarge, cause, "a callback has 1 MiB at most")
}

// notTaken is the outcome of a message that the receiver doesn't take.
func notTaken(cause error) outcome {
	rejection, known := errors.AsType[*verifier.Rejection](cause)
	if !known {
		return rejected(statusFailed, http.StatusServiceUnavailable, cause, "the operator can't verify callbacks at present")
	}
	switch rejection.Fault {
	case verifier.Unsigned:
		return rejected(statusUnsigned, http.StatusUnauthorized, cause, rejection.Message)
	case verifier.Expired:
		return rejected(statusExpired, http.StatusUnauthorized, cause, rejection.Message)
	case verifier.Malformed:
		return rejected(statusMalformed, http.StatusBadRequest, cause, rejection.Message)
	}
	return rejected(statusFailed, http.StatusServiceUnavailable, cause, rejection.Message)
}

// take brings a verdict to its ChangePod. The server doesn't send it again, so it is saved even if the server is gone.
func (c *callbacks) take(request *http.Request, delivery verifier.Delivery) outcome {
	if delivery.Verdict.Outcome == verifier.Undecided {
		return taken(statusIgnored, client.ObjectKey{}, delivery.Verdict.Reason)
	}
	saved, answered := make(chan outcome), make(chan struct{})
	defer close(answered)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(request.Context()), saveWithin)
	go func() {
		defer cancel()
		outcome := c.save(ctx, delivery, request.Context().Done())
		select {
		case saved <- outcome:
		case <-answered:
			if outcome.status != statusFailed { // which was counted when it was answered
				c.metrics.count(outcome.status, delivery)
			}
			report(request, delivery, outcome)
		}
	}()
	timeout := time.NewTimer(answerWithin)
	defer timeout.Stop()
	select {
	case outcome := <-saved:
		return outcome
	case <-timeout.C:
		return notSaved(errors.New("it takes too long; it is tried on without anybody waiting"))
	}
}

// save brings a verdict to its ChangePod, or parks it. gone says that the caller has stopped waiting.
func (c *callbacks) save(ctx context.Context, delivery verifier.Delivery, gone <-chan struct{}) outcome {
	changePod, err := c.await(ctx, delivery.CheckID, gone)
	switch {
	case err != nil:
		return notSaved(err)
	case changePod == nil:
		return c.park(ctx, delivery)
	}
	return c.apply(ctx, changePod, delivery)
}

// report logs what became of a callback: never its headers or body, which authenticate it.
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
		log.Info("A callback is of a check that nobody knows", "remote", request.RemoteAddr)
	case outcome.status == statusParked:
		log.Info("A verdict waits for its ChangePod", "changeWorkload", outcome.object)
	default:
		log.Info("A verdict arrived", append(outcome.about, "changePod", outcome.object)...)
	}
}
