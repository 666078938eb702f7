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

package altershield

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

const (
	// failureThreshold is the number of consecutive unanswered calls that opens the circuit breaker.
	failureThreshold = 3
	// openPeriod is the time for which it stays open. Then one call probes the server.
	openPeriod = 2 * time.Second
	// heartbeatPeriod is the period of heartbeats.
	heartbeatPeriod = 10 * time.Second
)

// Client makes the operator's calls of AlterShield Server. Each call is one attempt, unless a deadlock ends it, and fails with an
// Error. While the server doesn't answer, calls fail at once.
type Client struct {
	Callbacks
	config      Config
	clock       clock.PassiveClock
	metrics     *Metrics
	http        *http.Client
	breaker     *gobreaker.CircuitBreaker[result]
	outage      atomic.Pointer[Error]
	switchedOff atomic.Bool
}

var (
	_ verifier.OrderChecker = &Client{}
	_ verifier.Switch       = &Client{}
	_ verifier.Limiter      = &Client{}
	_ verifier.Receiver     = &Client{}
)

// NewClient returns a Client for a valid configuration and a keyring of its credentials.
func NewClient(config Config, keyring *Keyring, clock clock.PassiveClock, metrics *Metrics) *Client {
	return &Client{
		Callbacks: Callbacks{Keyring: keyring},
		config:    config,
		clock:     clock,
		metrics:   metrics,
		http:      newHTTPClient(config.Timeout, config.Tracer),
		breaker:   newBreaker(),
	}
}

func newBreaker() *gobreaker.CircuitBreaker[result] {
	return gobreaker.NewCircuitBreaker[result](gobreaker.Settings{
		Timeout:      openPeriod,
		ReadyToTrip:  func(counts gobreaker.Counts) bool { return counts.ConsecutiveFailures >= failureThreshold },
		IsSuccessful: func(err error) bool { return !kindOf(err).isOutage() },
		IsExcluded:   func(err error) bool { return kindOf(err).isNoAttempt() },
	})
}

// Name returns AlterShield Server.
func (c *Client) Name() string { return "AlterShield Server" }

// OrderID returns the bizExecOrderId of a release.
func (c *Client) OrderID(release verifier.Release) string { return c.config.orderID(release) }

// Open announces a release. serverID is empty if the server had the order already.
func (c *Client) Open(ctx context.Context, release verifier.Release) (serverID string, err error) {
	opened := ordered{}
	if err := c.post(ctx, orderOpen, c.config.openRequest(release), &opened); err != nil {
		return "", err
	}
	return string(opened.OrderID), nil
}

// Close reports how a release ended: SUCCESS, ROLLBACK or CANCEL.
func (c *Client) Close(ctx context.Context, release verifier.Release, end appv1alpha1.OrderState) error {
	return c.post(ctx, orderClose, closeRequest{inOrder: c.config.inOrder(release), FinishState: end}, nil)
}

// Begin requests the check before a batch and returns its ID. Every call begins another check.
func (c *Client) Begin(ctx context.Context, batch verifier.Batch) (checkID string, err error) {
	return c.begin(ctx, checkBegin, c.config.beginRequest(batch, c.clock.Now()))
}

// BeginOrder requests the check before a release and returns its ID. Every call begins another check.
func (c *Client) BeginOrder(ctx context.Context, release verifier.Release) (checkID string, err error) {
	return c.begin(ctx, orderBegin, c.config.startOf(release, c.clock.Now()))
}

func (c *Client) begin(ctx context.Context, call call, body any) (checkID string, err error) {
	check := begun{}
	if err := c.post(ctx, call, body, &check); err != nil {
		return "", err
	}
	return string(check.NodeID), nil
}

// Finish reports that a batch has taken effect, so that the check after it can begin. The error wraps verifier.ErrNotYet while the
// check before it still runs. Once the check after it is over, another call would discard its result.
func (c *Client) Finish(ctx context.Context, batch verifier.Batch, checkID string) error {
	return c.post(ctx, checkFinish, finishRequest{
		inOrder: c.config.inOrder(batch.Release), NodeID: checkID, Success: true, FinishTime: c.clock.Now().UnixMilli(),
	}, nil)
}

// Ask returns Pass for a stage that has passed, else Undecided: server v1.0 reports checks as failed that still run, or that timed out
// and so let the batch pass.
func (c *Client) Ask(ctx context.Context, batch verifier.Batch, checkID string, stage appv1alpha1.CheckStage) (verifier.Verdict, error) {
	seen := progress{}
	err := c.post(ctx, checkPoll, pollRequest{inOrder: c.config.inOrder(batch.Release), NodeID: checkID, DefenseStage: stage}, &seen)
	if err != nil || !seen.passed() {
		return verifier.Verdict{}, err
	}
	return verifier.Verdict{Outcome: verifier.Pass}, nil
}

// post makes a call through the circuit breaker, so that a hanging server doesn't block all workers.
func (c *Client) post(ctx context.Context, call call, body any, answer answer) error {
	outcome, err := c.breaker.Execute(func() (result, error) {
		outcome, err := c.retryDeadlocks(ctx, call, body, answer)
		if failure, ok := errors.AsType[*Error](err); ok && failure.Kind.isOutage() {
			c.outage.Store(failure)
		}
		return outcome, err
	})
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		outage := c.outage.Load()
		err = &Error{Call: call.action(), Kind: KindSkipped, Message: outage.Error(), err: outage}
	}
	c.metrics.count(call, outcome, err)
	return err
}

// retryDeadlocks makes a call, and repeats it soon if a deadlock aborted its transaction at the server, after a random pause. Such
// deadlocks are frequent when several orders start checks at the same time.
func (c *Client) retryDeadlocks(ctx context.Context, call call, body any, answer answer) (result, error) {
	outcome, err := c.exchange(ctx, call, "", body, answer)
	for pause := deadlockBackoff(); kindOf(err) == KindDeadlock && pause.Steps > 0; {
		select {
		case <-ctx.Done():
			return outcome, err
		case <-time.After(pause.Step()):
			outcome, err = c.exchange(ctx, call, "", body, answer)
		}
	}
	return outcome, err
}

// deadlockBackoff leaves time for the other calls before each of four more attempts, at most a third of a second in all.
func deadlockBackoff() wait.Backoff {
	return wait.Backoff{Steps: 4, Duration: 10 * time.Millisecond, Factor: 2, Jitter: 1}
}
