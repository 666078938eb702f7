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
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// wire is a transport without a network, so that tests can use a fake clock.
type wire struct {
	mutex  sync.Mutex
	status int
	header http.Header
	// held delays answers until it is closed, unless it is nil.
	held  chan struct{}
	asked int
}

func (w *wire) set(status int, held chan struct{}) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.status, w.held = status, held
}

// count returns the number of requests since it was called before.
func (w *wire) count() int {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	asked := w.asked
	w.asked = 0
	return asked
}

func (w *wire) RoundTrip(request *http.Request) (*http.Response, error) {
	w.mutex.Lock()
	w.asked++
	status, held, header := w.status, w.held, w.header
	w.mutex.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-request.Context().Done():
			return nil, request.Context().Err()
		}
	}
	body := one
	if strings.HasSuffix(request.URL.Path, "query_range") {
		body = `{"status":"success","data":{"resultType":"matrix","result":[]}}`
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// wired runs a test of an endpoint with a fake clock.
func wired(t *testing.T, edit func(*appv1alpha1.SourceLimits), test func(g *WithT, e *endpoint, w *wire)) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		metrics, err := NewMetrics(prometheus.NewRegistry())
		g.Expect(err).NotTo(HaveOccurred())
		of := limits()
		edit(&of)
		to := newExchange(connection{
			address: &url.URL{Scheme: "http", Host: "a"}, timeout: time.Duration(of.TimeoutSeconds) * time.Second, maxBytes: of.MaxBytes,
		}, Guard{}, clock.RealClock{})
		w := &wire{status: 200}
		to.http.Transport = w
		metrics.begin("prometheus")
		test(g, newEndpoint("prometheus", to, of, metrics), w)
	})
}

func unlimited(of *appv1alpha1.SourceLimits) { of.QueriesPerSecond, of.Burst = 1000, 1000 }

// ask asks another query each time.
func ask(e *endpoint) error {
	_, err := e.queryInstant(context.Background(), rand.Text(), time.Now())
	return err
}

func TestEndpointAsksASourceThatIsDownEveryThirtySeconds(t *testing.T) {
	wired(t, unlimited, func(g *WithT, e *endpoint, w *wire) {
		g.Expect(ask(e)).To(Succeed())
		w.set(503, nil)
		for range 5 {
			g.Expect(ask(e)).To(MatchError("VerificationSource prometheus: the source failed (HTTP 503)"))
		}
		g.Expect(w.count()).To(Equal(6))
		g.Expect(isUp(e.metrics)).To(BeZero())
		g.Expect(ask(e)).To(MatchError("VerificationSource prometheus: the source failed (HTTP 503)"))
		time.Sleep(29 * time.Second)
		g.Expect(ask(e)).To(MatchError("VerificationSource prometheus: the source failed (HTTP 503)"))
		g.Expect(w.count()).To(BeZero(), "the breaker is open")
		g.Expect(counted(e.metrics, "Skipped")).To(BeEquivalentTo(2))
		time.Sleep(2 * time.Second)
		g.Expect(ask(e)).NotTo(Succeed())
		g.Expect(ask(e)).NotTo(Succeed())
		g.Expect(w.count()).To(Equal(1), "one probe")
		w.set(200, nil)
		time.Sleep(31 * time.Second)
		g.Expect(ask(e)).To(Succeed())
		g.Expect(ask(e)).To(Succeed())
		g.Expect(w.count()).To(Equal(2))
		g.Expect(isUp(e.metrics)).To(BeEquivalentTo(1))
	})
}

func TestEndpointCountsNoQueryThatWasNotSentAsAnAnswer(t *testing.T) {
	wired(t, unlimited, func(g *WithT, e *endpoint, w *wire) {
		w.set(503, nil)
		for range 4 {
			g.Expect(ask(e)).NotTo(Succeed())
		}
		g.Expect(e.slots.TryAcquire(4)).To(BeTrue())
		g.Expect(kindOf(ask(e))).To(BeEquivalentTo("SourceThrottled"))
		e.slots.Release(4)
		g.Expect(ask(e)).NotTo(Succeed())
		g.Expect(w.count()).To(Equal(5))
		g.Expect(ask(e)).NotTo(Succeed())
		g.Expect(w.count()).To(BeZero(), "the fifth failure in a row opened the breaker")
	})
}

func TestEndpointKeepsAskingASourceThatRefusesQueries(t *testing.T) {
	wired(t, unlimited, func(g *WithT, e *endpoint, w *wire) {
		w.set(400, nil)
		for range 10 {
			g.Expect(kindOf(ask(e))).To(BeEquivalentTo("BadQuery"))
		}
		g.Expect(w.count()).To(Equal(10))
	})
}

func TestEndpointWaitsForASlowSourceAsLongAsItsTimeout(t *testing.T) {
	wired(t, unlimited, func(g *WithT, e *endpoint, w *wire) {
		w.set(200, make(chan struct{}))
		began := time.Now()
		g.Expect(ask(e)).To(MatchError("VerificationSource prometheus: no answer within limits.timeoutSeconds, 5s"))
		g.Expect(time.Since(began)).To(Equal(5 * time.Second))
	})
}

func TestEndpointPausesAsLongAsTheSourceWants(t *testing.T) {
	wired(t, unlimited, func(g *WithT, e *endpoint, w *wire) {
		w.header = http.Header{"Retry-After": {"20"}}
		w.set(429, nil)
		failure, ok := errors.AsType[*Error](ask(e))
		g.Expect(ok).To(BeTrue())
		g.Expect(failure.Unsent()).To(BeFalse())
		w.set(200, nil)
		time.Sleep(15 * time.Second)
		failure, ok = errors.AsType[*Error](ask(e))
		g.Expect(ok).To(BeTrue())
		g.Expect(failure.Unsent()).To(BeTrue())
		g.Expect(failure).To(MatchError("VerificationSource prometheus: the source refuses further queries for now (HTTP 429)"))
		g.Expect(failure.Kind).To(BeEquivalentTo("SourceThrottled"))
		g.Expect(failure.RetryAfter).To(Equal(5 * time.Second))
		g.Expect(w.count()).To(Equal(1))
		time.Sleep(5 * time.Second)
		g.Expect(ask(e)).To(Succeed())
	})
}

func TestEndpointSharesEqualQueries(t *testing.T) {
	wired(t, unlimited, func(g *WithT, e *endpoint, w *wire) {
		look := func(query string) error {
			_, err := e.queryRange(context.Background(), query, Align(time.Now().Add(-5*time.Minute), time.Now(), 15*time.Second, 0))
			return err
		}
		held := make(chan struct{})
		w.set(200, held)
		var flights sync.WaitGroup
		for range 100 {
			flights.Go(func() { g.Expect(look("a")).To(Succeed()) })
		}
		synctest.Wait()
		close(held)
		flights.Wait()
		g.Expect(w.count()).To(Equal(1), "one flight")
		g.Expect(look("a")).To(Succeed())
		g.Expect(w.count()).To(BeZero(), "it is kept")
		g.Expect(look("b")).To(Succeed())
		g.Expect(w.count()).To(Equal(1), "another query")
		time.Sleep(15 * time.Second)
		g.Expect(look("a")).To(Succeed())
		g.Expect(w.count()).To(Equal(1), "the next look")
		g.Expect(e.kept).To(HaveLen(1), "what is over is dropped")
		at := time.Now()
		for range 2 {
			_, err := e.queryInstant(context.Background(), "a", at)
			g.Expect(err).NotTo(HaveOccurred())
		}
		g.Expect(w.count()).To(Equal(1))
		g.Expect(counted(e.metrics, "OK")).To(BeEquivalentTo(4))
	})
}

func TestEndpointKeepsTheAnswerForAFixedWindowWhileItIsUsed(t *testing.T) {
	wired(t, unlimited, func(g *WithT, e *endpoint, w *wire) {
		window := Align(time.Now().Add(-30*time.Minute), time.Now(), time.Minute, 0)
		asked := func(fixed bool) int {
			window.Fixed = fixed
			_, err := e.queryRange(context.Background(), fmt.Sprint("a", fixed), window)
			g.Expect(err).NotTo(HaveOccurred())
			return w.count()
		}
		g.Expect(asked(true)).To(Equal(1))
		time.Sleep(15 * time.Second)
		g.Expect(asked(true)).To(BeZero())
		time.Sleep(time.Minute)
		g.Expect(asked(true)).To(Equal(1), "what was late is there now")
		for range 10 {
			time.Sleep(10 * time.Minute)
			g.Expect(asked(false)).To(Equal(1), "another window")
			g.Expect(asked(true)).To(BeZero(), "it was used")
		}
		time.Sleep(11 * time.Minute)
		g.Expect(asked(false)).To(Equal(1))
		g.Expect(e.kept).To(HaveLen(1), "it wasn't used")
		g.Expect(asked(true)).To(Equal(1))
	})
}

func TestEndpointKeepsNoPartOfAnAnswerLonger(t *testing.T) {
	now := time.Now()
	until := now.Add(-time.Minute)
	NewWithT(t).Expect(kept{until: until, unused: time.Hour}.usedAt(now).until).To(Equal(now.Add(time.Hour)))
	NewWithT(t).Expect(kept{answer: Answer{Partial: "a store is away"}, until: until, unused: time.Hour}.usedAt(now).until).To(Equal(until))
}

func TestEndpointKeepsAnswersWhileThereIsRoom(t *testing.T) {
	wired(t, unlimited, func(g *WithT, e *endpoint, _ *wire) {
		of := func(values int) kept {
			return kept{until: time.Now().Add(time.Minute), answer: Answer{Series: []Series{{Values: make([]float64, values)}, {}}}}
		}
		e.keep("large", of(4<<20-1000))
		e.keep("too large", of(801))
		e.keep("small", of(800))
		g.Expect(slices.Sorted(maps.Keys(e.kept))).To(Equal([]string{"large", "small"}))
		time.Sleep(time.Minute)
		e.keep("too large", of(801))
		g.Expect(slices.Sorted(maps.Keys(e.kept))).To(Equal([]string{"too large"}))
	})
}

func TestEndpointSharesNoFailures(t *testing.T) {
	wired(t, unlimited, func(g *WithT, e *endpoint, w *wire) {
		at := time.Now()
		w.set(500, nil)
		_, err := e.queryInstant(context.Background(), "a", at)
		g.Expect(err).To(HaveOccurred())
		w.set(200, nil)
		_, err = e.queryInstant(context.Background(), "a", at)
		g.Expect(err).NotTo(HaveOccurred())
	})
}

func TestEndpointAnswersOthersWhenTheTimeOfACallerIsOver(t *testing.T) {
	wired(t, unlimited, func(g *WithT, e *endpoint, w *wire) {
		held, at := make(chan struct{}), time.Now()
		w.set(200, held)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		var flights sync.WaitGroup
		flights.Go(func() {
			_, err := e.queryInstant(ctx, "a", at)
			g.Expect(err).To(MatchError("asking VerificationSource prometheus: context deadline exceeded"))
			g.Expect(kindOf(err)).To(BeEmpty())
		})
		synctest.Wait()
		flights.Go(func() {
			_, err := e.queryInstant(context.Background(), "a", at)
			g.Expect(err).NotTo(HaveOccurred())
		})
		time.Sleep(2 * time.Second)
		close(held)
		flights.Wait()
		g.Expect(w.count()).To(Equal(1))
	})
}

func TestEndpointLeavesNoQueryBehindWhenTheManagerEnds(t *testing.T) {
	wired(t, unlimited, func(g *WithT, e *endpoint, w *wire) {
		w.set(200, make(chan struct{}))
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error)
		go func() {
			_, err := e.queryInstant(ctx, "a", time.Now())
			ended <- err
		}()
		synctest.Wait()
		began := time.Now()
		cancel()
		g.Expect(<-ended).To(MatchError("asking VerificationSource prometheus: context canceled"))
		synctest.Wait()
		g.Expect(e.slots.TryAcquire(4)).To(BeTrue(), "the query has ended, too")
		g.Expect(time.Since(began)).To(BeZero())
	})
}

func TestEndpointSendsNoMoreThanItsLimits(t *testing.T) {
	wired(t, func(of *appv1alpha1.SourceLimits) { of.QueriesPerSecond, of.Burst = 2, 3 }, func(g *WithT, e *endpoint, w *wire) {
		errs := make(chan error, 20)
		for i := range 20 {
			go func() {
				_, err := e.queryInstant(context.Background(), fmt.Sprint(i), time.Now())
				errs <- err
			}()
		}
		synctest.Wait()
		g.Expect(w.count()).To(Equal(3), "the burst")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		g.Expect(w.count()).To(Equal(4), "two a second")
		time.Sleep(time.Minute)
		refused := 0
		for range 20 {
			if err := <-errs; err != nil {
				g.Expect(err.Error()).To(Or(Equal("VerificationSource prometheus: more than limits.queriesPerSecond, 2 queries a second are asked"),
					Equal("VerificationSource prometheus: limits.concurrent, 4 queries are unanswered")))
				g.Expect(kindOf(err)).To(BeEquivalentTo("SourceThrottled"))
				refused++
			}
		}
		g.Expect(refused + w.count() + 7).To(Equal(20))
		g.Expect(refused).To(BeNumerically(">", 0))
		g.Expect(counted(e.metrics, "Skipped")).To(BeEquivalentTo(refused))
		g.Expect(counted(e.metrics, "SourceThrottled")).To(BeZero(), "nothing is wrong with the source")
		g.Expect(e.slots.TryAcquire(4)).To(BeTrue(), "all slots are free")
	})
}

func TestEndpointLeavesNoMoreQueriesUnanswered(t *testing.T) {
	wired(t, unlimited, func(g *WithT, e *endpoint, w *wire) {
		w.set(200, make(chan struct{}))
		for i := range 10 {
			go func() { _, _ = e.queryInstant(context.Background(), fmt.Sprint(i), time.Now()) }()
		}
		synctest.Wait()
		g.Expect(w.count()).To(Equal(4))
		time.Sleep(time.Minute)
	})
}

// A look at the ratio of a workload needs two queries. As many as the workers of the reconciler look at the same time.
func TestEndpointSpreadsTheLooksAtAHundredReleases(t *testing.T) {
	const releases, workers = 100, 20
	wired(t, func(*appv1alpha1.SourceLimits) {}, func(g *WithT, e *endpoint, w *wire) {
		began := time.Now()
		window := Align(began.Add(-5*time.Minute), began, 15*time.Second, 0)
		queue, waits := make(chan int, releases), make(chan time.Duration, 2*releases)
		for release := range releases {
			queue <- release
		}
		close(queue)
		var looking sync.WaitGroup
		for range workers {
			looking.Go(func() {
				for release := range queue {
					for _, metric := range []string{"errors_total", "requests_total"} {
						asked := time.Now()
						_, err := e.queryRange(context.Background(), fmt.Sprintf("%s{pod=~%q}", metric, fmt.Sprint("web-", release)), window)
						g.Expect(err).NotTo(HaveOccurred())
						waits <- time.Since(asked)
					}
				}
			})
		}
		looking.Wait()
		close(waits)
		g.Expect(w.count()).To(Equal(2*releases), "nothing is shared between workloads")
		g.Expect(time.Since(began)).To(Equal(18*time.Second), "a burst of 20, and 10 a second")
		longest := time.Duration(0)
		for waited := range waits {
			longest = max(longest, waited)
		}
		g.Expect(longest).To(Equal(2*time.Second), "less than limits.timeoutSeconds")
		g.Expect(counted(e.metrics, "Skipped")).To(BeZero(), "looks come later, and none is left out")
	})
}
