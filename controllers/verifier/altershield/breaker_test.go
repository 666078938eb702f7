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

package altershield_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/controllers/verifier"
	"github.com/traas-stack/altershield-operator/controllers/verifier/altershield"
)

const (
	outage  = "AlterShield Server didn't answer submitChangeExecOrder: no route to host"
	skipped = "AlterShield Server is not reachable (" + outage + "); trying again in a moment"
)

// wire is a transport without a network, so that tests can use a fake clock.
type wire struct {
	mutex  sync.Mutex
	answer string
	fault  error
	held   chan struct{}
	asked  int
}

// says sets the body of the response, with HTTP 200. An empty one causes the fault.
func (w *wire) says(answer string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.answer = answer
}

// hold delays responses until the channel is closed, unless it is nil.
func (w *wire) hold(held chan struct{}) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.held = held
}

// count returns the number of requests.
func (w *wire) count() int {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.asked
}

func (w *wire) RoundTrip(request *http.Request) (*http.Response, error) {
	w.mutex.Lock()
	w.asked++
	answer, fault, held := w.answer, w.fault, w.held
	w.mutex.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-request.Context().Done():
			return nil, request.Context().Err()
		}
	}
	if answer == "" {
		return nil, fault
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(answer))}, nil
}

func wired(t *testing.T, answer string) (operator, *wire) {
	t.Helper()
	operator, wire := newOperator(t, configFor(t, "http://altershield.example.com")), &wire{answer: answer, fault: errors.New("no route to host")}
	operator.Through(wire)
	return operator, wire
}

func open(t *testing.T, client *altershield.Client) error {
	_, err := client.Open(t.Context(), release())
	return err
}

func TestNewBreakerSkipsCallsForTwoSecondsAfterThreeOutages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		operator, wire := wired(t, opened)
		g.Expect(open(t, operator.Client)).To(Succeed())
		g.Expect(operator.counted("altershield_server_up")).To(BeEquivalentTo(1))
		wire.says("")
		for range 3 {
			g.Expect(open(t, operator.Client)).To(MatchError(outage))
			g.Expect(operator.counted("altershield_server_up")).To(BeZero())
		}
		err := open(t, operator.Client)
		g.Expect(err).To(MatchError(skipped))
		g.Expect(err).NotTo(MatchError(verifier.ErrRefused))
		g.Expect(wire.count()).To(Equal(4))
		g.Expect(operator.Close(t.Context(), release(), "CANCEL")).To(MatchError(skipped), "whatever the call")
		g.Expect(operator.calls("order_open", "unavailable")).To(BeEquivalentTo(3))
		g.Expect(operator.calls("order_open", "skipped")).To(BeEquivalentTo(1))
		g.Expect(operator.calls("order_close", "skipped")).To(BeEquivalentTo(1))

		time.Sleep(2 * time.Second)
		g.Expect(open(t, operator.Client)).To(MatchError(skipped))
		time.Sleep(time.Nanosecond)
		wire.says(opened)
		g.Expect(open(t, operator.Client)).To(Succeed())
		g.Expect(open(t, operator.Client)).To(Succeed())
		g.Expect(wire.count()).To(Equal(6))
		g.Expect(operator.counted("altershield_server_up")).To(BeEquivalentTo(1))
	})
}

func TestNewBreakerLetsOneCallTryWhetherTheServerIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		operator, wire := wired(t, "")
		for range 3 {
			g.Expect(open(t, operator.Client)).To(MatchError(outage))
		}
		time.Sleep(3 * time.Second)
		held := make(chan struct{})
		wire.hold(held)
		probe := make(chan error, 1)
		go func() { probe <- open(t, operator.Client) }()
		synctest.Wait()
		g.Expect(wire.count()).To(Equal(4))
		g.Expect(open(t, operator.Client)).To(MatchError(skipped), "while the probe is under way")
		close(held)
		g.Expect(<-probe).To(MatchError(outage))
		g.Expect(open(t, operator.Client)).To(MatchError(skipped), "the probe failed")
		g.Expect(wire.count()).To(Equal(4))
	})
}

func TestNewBreakerCountsOutagesAnewAfterAnAnswer(t *testing.T) {
	for _, answer := range []string{opened, refusal("101", "no"), refusal("102", "who"), refusal("106", "again")} {
		synctest.Test(t, func(t *testing.T) {
			g := NewWithT(t)
			operator, wire := wired(t, "")
			for range 3 {
				for range 2 {
					wire.says("")
					g.Expect(open(t, operator.Client)).To(MatchError(outage))
				}
				wire.says(answer)
				if err := open(t, operator.Client); err != nil {
					g.Expect(err).NotTo(MatchError(skipped))
				}
			}
			g.Expect(wire.count()).To(Equal(9))
		})
	}
}

func TestNewBreakerCountsNoAnswerThatSettlesACall(t *testing.T) {
	for _, answer := range []string{
		refusal("101", "no"), refusal("102", "who"), refusal("103", "402:[402:change service dose not support this operate]unsupported operation in PRE_AOP, nodeId=node-1"),
		refusal("901", "NPE"), refusal("104", "busy"),
	} {
		operator, wire := wired(t, answer)
		for range 5 {
			NewWithT(t).Expect(operator.Finish(t.Context(), batch(), "node-1")).NotTo(MatchError(ContainSubstring("not reachable")))
		}
		NewWithT(t).Expect(wire.count()).To(Equal(5))
	}
}

func TestNewBreakerCountsAnswersThatSettleNothing(t *testing.T) {
	for _, answer := range []string{"<html>", `{"success":true}`} {
		operator, wire := wired(t, answer)
		for range 5 {
			_, err := operator.Begin(t.Context(), batch())
			NewWithT(t).Expect(err).To(HaveOccurred())
		}
		NewWithT(t).Expect(wire.count()).To(Equal(3))
	}
}

func TestNewBreakerCountsOnAfterACallerGaveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		operator, wire := wired(t, "")
		for range 2 {
			g.Expect(open(t, operator.Client)).To(MatchError(outage))
		}
		ctx, cancel := context.WithCancel(t.Context())
		wire.hold(make(chan struct{}))
		time.AfterFunc(time.Second, cancel)
		_, err := operator.Open(ctx, release())
		g.Expect(err).To(MatchError(ctx.Err()))
		wire.hold(nil)
		g.Expect(open(t, operator.Client)).To(MatchError(outage))
		g.Expect(open(t, operator.Client)).To(MatchError(skipped))
	})
}

func TestNewBreakerCountsOnAfterACallThatWasNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		config := configFor(t, "http://altershield.example.com")
		operator := newOperator(t, config)
		operator.Through(&wire{fault: errors.New("no route to host")})
		for range 2 {
			g.Expect(open(t, operator.Client)).To(MatchError(outage))
		}
		g.Expect(os.Rename(config.TokenFile, config.TokenFile+".away")).To(Succeed())
		g.Expect(open(t, operator.Client)).To(MatchError(os.ErrNotExist))
		g.Expect(os.Rename(config.TokenFile+".away", config.TokenFile)).To(Succeed())
		g.Expect(open(t, operator.Client)).To(MatchError(outage))
		g.Expect(open(t, operator.Client)).To(MatchError(skipped))
	})
}
