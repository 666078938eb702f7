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

package main

import (
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
)

// open returns a shop of a pod, how it is asked at a time after it began, and the times when it gets into trouble.
func open(t *testing.T, host string, args ...string) (ask func(after time.Duration, path string) (int, string), troubles *[]time.Duration) {
	o, err := parse(args, io.Discard)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	now := time.Unix(1767225600, 0) // a multiple of two minutes
	began, troubles := now, &[]time.Duration{}
	handler := newShop(o, host, func() time.Time { return now }, func(o options, vary func(time.Duration) time.Duration) {
		*troubles = append(*troubles, vary(o.crash), vary(o.exhaust))
	})
	return func(after time.Duration, path string) (int, string) {
		now = began.Add(after)
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		return answer.Code, answer.Body.String()
	}, troubles
}

func TestShopFailsSomeRequestsAndCountsThem(t *testing.T) {
	g := NewWithT(t)
	ask, _ := open(t, "shop-1", "--every=3")
	var codes []int
	for range 7 {
		code, _ := ask(0, "/")
		codes = append(codes, code)
	}
	g.Expect(codes).To(Equal([]int{200, 200, 500, 200, 200, 500, 200}))
	_, shown := ask(time.Hour, "/metrics")
	g.Expect(shown).To(Equal(`# TYPE http_requests_total counter
http_requests_total{code="200"} 5
http_requests_total{code="500"} 2
# TYPE http_request_duration_seconds histogram
http_request_duration_seconds_bucket{le="0.5"} 7
http_request_duration_seconds_bucket{le="+Inf"} 7
`))
}

func TestShopWorksForEachRequest(t *testing.T) {
	g := NewWithT(t)
	now := time.Unix(1767225600, 0)
	busy := newShop(options{work: 5 * time.Millisecond}, "shop-1", func() time.Time {
		now = now.Add(time.Millisecond)
		return now
	}, nil)
	took := func(path string) time.Duration {
		began := now
		busy.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		return now.Sub(began)
	}
	g.Expect(took("/")).To(BeNumerically(">=", 5*time.Millisecond))
	g.Expect(took("/metrics")).To(BeNumerically("<", 5*time.Millisecond), "to be read is no work")
}

// counted returns the requests that a shop has counted, and the shares of those that failed and that were slow.
func counted(t *testing.T, shown string) (requests, failed, slow float64) {
	t.Helper()
	values := map[string]float64{}
	for line := range strings.Lines(shown) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		if value, err := strconv.ParseFloat(text, 64); err == nil {
			values[name] = value
		}
	}
	requests = values[`http_request_duration_seconds_bucket{le="+Inf"}`]
	failures := values[`http_requests_total{code="500"}`]
	NewWithT(t).Expect(values[`http_requests_total{code="200"}`] + failures).To(Equal(requests))
	return requests, failures / requests, 1 - values[`http_request_duration_seconds_bucket{le="0.5"}`]/requests
}

func TestShopMakesUpRequests(t *testing.T) {
	const usual, seldom = 0.01, 0.002
	for name, row := range map[string]struct {
		args         []string
		from, until  time.Duration
		failed, slow types.GomegaMatcher
	}{
		"as it should":   {nil, 0, time.Hour, BeNumerically("~", usual, seldom), BeNumerically("~", usual, seldom)},
		"with errors x5": {[]string{"--failed=0.05"}, 0, time.Hour, BeNumerically("~", 0.05, seldom), BeNumerically("~", usual, seldom)},
		"in a shock": {[]string{"--shock-times=50", "--shock-every=2m", "--shock-for=20s"}, 2 * time.Minute, 140 * time.Second,
			BeNumerically("~", 0.5, 0.05), BeNumerically("~", 0.5, 0.05)},
		"after a shock": {[]string{"--shock-times=50", "--shock-every=2m", "--shock-for=20s"}, 140 * time.Second, 239 * time.Second,
			BeNumerically("~", usual, seldom), BeNumerically("~", usual, seldom)},
	} {
		t.Run(name, func(t *testing.T) {
			ask, _ := open(t, "shop-1", append([]string{"--visits=200", "--failed=0.01", "--slow=0.01"}, row.args...)...)
			_, before := ask(row.from, "/metrics")
			_, after := ask(row.until, "/metrics")
			requests, failed, slow := counted(t, after)
			if row.from > 0 {
				earlier, failedBefore, slowBefore := counted(t, before)
				failed, slow = failed*requests-failedBefore*earlier, slow*requests-slowBefore*earlier
				requests -= earlier
				failed, slow = failed/requests, slow/requests
			}
			g, expected := NewWithT(t), 200*(row.until-row.from).Seconds()
			g.Expect(requests).To(BeNumerically("~", expected, 5*math.Sqrt(expected)))
			g.Expect(failed).To(row.failed)
			g.Expect(slow).To(row.slow)
		})
	}
}

func TestShopHasTheSeedOfItsReleaseAndItsName(t *testing.T) {
	g := NewWithT(t)
	shown := func(host string, args ...string) string {
		ask, _ := open(t, host, append([]string{"--visits=80", "--failed=0.01"}, args...)...)
		_, text := ask(time.Minute, "/metrics")
		return text
	}
	g.Expect(shown("shop-1", "--seed=1")).To(Equal(shown("shop-1", "--seed=1")))
	g.Expect(shown("shop-1", "--seed=1")).NotTo(Equal(shown("shop-2", "--seed=1")))
	g.Expect(shown("shop-1", "--seed=1")).NotTo(Equal(shown("shop-1", "--seed=2")))
}

func TestShopsDifferAllTheirLives(t *testing.T) {
	var sum, squares float64
	const shops = 300
	for host := range shops {
		ask, _ := open(t, string(rune('a'+host)), "--visits=1000", "--failed=0.1", "--differ=0.35")
		_, text := ask(time.Minute, "/metrics")
		_, failed, _ := counted(t, text)
		sum, squares = sum+failed, squares+failed*failed
	}
	mean := sum / shops
	g := NewWithT(t)
	g.Expect(mean).To(BeNumerically("~", 0.1, 0.01))
	g.Expect(math.Sqrt(squares/shops-mean*mean) / mean).To(BeNumerically("~", 0.35, 0.06))
}

func TestShopGetsIntoTroubleOnceItWasAskedWhetherItIsReady(t *testing.T) {
	g := NewWithT(t)
	ask, troubles := open(t, "shop-1", "--unready=40s", "--crash=100s", "--exhaust=10s")
	ask(time.Hour, "/metrics")
	g.Expect(*troubles).To(BeEmpty())
	ready := func(after time.Duration) int {
		code, _ := ask(time.Hour+after, "/ready")
		return code
	}
	g.Expect([]int{ready(0), ready(35 * time.Second), ready(45 * time.Second)}).To(Equal([]int{200, 200, 503}))
	g.Expect(*troubles).To(ConsistOf(BeNumerically("~", 100*time.Second, 10*time.Second), BeNumerically("~", 10*time.Second, time.Second)))
}

func TestShopIsSilent(t *testing.T) {
	ask, _ := open(t, "shop-1", "--visits=80", "--silent")
	code, _ := ask(time.Minute, "/metrics")
	NewWithT(t).Expect(code).To(Equal(404))
}

func TestRunRejectsOtherArguments(t *testing.T) {
	for _, args := range [][]string{
		{"3"}, {"--often"}, {"--every=-1"}, {"--visits=-1"}, {"--failed=1.1"}, {"--slow=-0.1"}, {"--shock-times=0.5"}, {"--shock-for=1s"},
	} {
		NewWithT(t).Expect(run("shop-1", args)).NotTo(Succeed(), "%v", args)
	}
}
