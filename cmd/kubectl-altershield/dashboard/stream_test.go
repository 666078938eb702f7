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

package dashboard

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// reader reads a stream line by line.
type reader struct {
	t      *testing.T
	answer *http.Response
	lines  *bufio.Scanner
}

// open opens a stream over a connection.
func (b *bench) open(ctx context.Context, t *testing.T) *reader {
	t.Helper()
	served := httptest.NewUnstartedServer(b)
	served.Config.ReadTimeout, served.Config.WriteTimeout = b.within, b.within
	served.Start()
	t.Cleanup(served.Close)
	b.address = strings.TrimPrefix(served.URL, "http://")
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, served.URL+"/api/stream?namespace=shop", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Altershield-Key", secret)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	return &reader{t, answer, bufio.NewScanner(answer.Body)}
}

// next returns the next line, nil at the end.
func (r *reader) next() map[string]any {
	r.t.Helper()
	if !r.lines.Scan() {
		return nil
	}
	var fields map[string]any
	if err := json.Unmarshal(r.lines.Bytes(), &fields); err != nil {
		r.t.Fatal(err)
	}
	return fields
}

func TestAStreamOutlivesTheTimeThatACallMayTake(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, realClock)
	b.within = 300 * time.Millisecond
	feeds, _, left := handed(b)
	go func() { feed := <-feeds; feed.Replace(nil); feeds <- feed }()
	stream := b.open(t.Context(), t)
	g.Expect(stream.next()).To(HaveKeyWithValue("type", "snapshot"))
	g.Consistently(left, "600ms").ShouldNot(BeClosed())
	(<-feeds).Set(record("web", 1, "a"))
	g.Expect(stream.next()).To(HaveKeyWithValue("type", "release"))
}

func TestAnAnswerMayBeWrittenAfterTheClusterTookItsTime(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, realClock)
	b.backend.Reads["session"] = Read{Answer: func(context.Context, Query) (any, error) {
		time.Sleep(300 * time.Millisecond)
		return "late", nil
	}}
	served := httptest.NewUnstartedServer(b)
	served.Config.WriteTimeout = 100 * time.Millisecond
	served.Start()
	defer served.Close()
	b.address = strings.TrimPrefix(served.URL, "http://")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, served.URL+"/api/session", nil)
	g.Expect(err).NotTo(HaveOccurred())
	request.Header.Set("X-Altershield-Key", secret)
	answered, err := http.DefaultClient.Do(request)
	g.Expect(err).NotTo(HaveOccurred())
	defer answered.Body.Close()
	g.Expect(answered.StatusCode).To(Equal(200))
}

func TestAStreamMayTakeItsTimeUntilItIsRefused(t *testing.T) {
	b := newBench(t, realClock)
	b.within = 100 * time.Millisecond
	_, end, _ := handed(b)
	go func() {
		time.Sleep(300 * time.Millisecond)
		end <- errors.New("you may not list changeworkloads")
	}()
	NewWithT(t).Expect(b.open(t.Context(), t).answer.StatusCode).To(Equal(503))
}

// handed has a stream followed by the test.
func handed(b *bench) (feeds chan Feed, end chan error, left chan struct{}) {
	feeds, end, left = make(chan Feed, 1), make(chan error, 1), make(chan struct{})
	b.follows = func(ctx context.Context, _ string, feed Feed) error {
		defer close(left)
		feeds <- feed
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-end:
			return err
		}
	}
	return feeds, end, left
}

func TestAStreamHasASnapshotAndThenWhatChanges(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, realClock)
	feeds, end, _ := handed(b)
	go func() {
		feed := <-feeds
		feed.Replace([]appv1alpha1.ChangeWorkload{record("web", 1, "a")})
		feeds <- feed
	}()
	stream := b.open(t.Context(), t)
	g.Expect(stream.answer.Header.Get("Content-Type")).To(Equal("application/x-ndjson"))
	g.Expect(stream.answer.Header.Get("Cache-Control")).To(Equal("no-store"))
	g.Expect(stream.next()).To(And(HaveKeyWithValue("type", "snapshot"), HaveKey("now"), HaveKeyWithValue("list", HaveKeyWithValue("items", HaveLen(1)))))
	g.Expect(b.asked).To(Equal([]any{"shop"}))
	feed := <-feeds
	feed.Set(record("web", 1, "a"))
	feed.Set(record("api", 1, "a"))
	g.Expect(stream.next()).To(And(HaveKeyWithValue("type", "release"), HaveKeyWithValue("release", HaveKeyWithValue("workload", "api"))))
	feed.Remove(record("web", 1, "a"))
	g.Expect(stream.next()).To(Equal(map[string]any{"type": "gone", "namespace": "shop", "kind": "Deployment", "group": "apps", "workload": "web"}))
	end <- errors.New("connection refused")
	g.Expect(stream.next()).To(Equal(map[string]any{"type": "resync"}))
	g.Expect(stream.next()).To(BeNil())
	g.Eventually(func() int32 { return b.streams.Load() }).Should(BeZero())
}

func TestAStreamWhoseBrowserLeavesEndsItsWatch(t *testing.T) {
	b := newBench(t, realClock)
	feeds, _, left := handed(b)
	go func() { (<-feeds).Replace(nil) }()
	ctx, leave := context.WithCancel(t.Context())
	NewWithT(t).Expect(b.open(ctx, t).next()).To(HaveKeyWithValue("type", "snapshot"))
	NewWithT(t).Expect(left).NotTo(BeClosed())
	leave()
	NewWithT(t).Eventually(left).Should(BeClosed())
	NewWithT(t).Eventually(func() int32 { return b.streams.Load() }).Should(BeZero())
}

func TestAStreamThatCanNotBeginIsAnError(t *testing.T) {
	b := newBench(t)
	b.follows = func(context.Context, string, Feed) error { return errors.New("you may not list changeworkloads") }
	answered := b.serve(call("GET", "/api/stream", ""))
	NewWithT(t).Expect(answered.Code).To(Equal(503))
	NewWithT(t).Expect(answered.Body.String()).To(Equal(`{"reason":"Unavailable","error":"you may not list changeworkloads"}` + "\n"))
}

func TestASlowBrowserBeginsAnew(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, realClock)
	b.maxChanged = 5
	feeds, _, left := handed(b)
	go func() {
		handed := <-feeds
		handed.Replace(nil)
		for len(handed.(*feed).ready) > 0 { // until the snapshot is taken
			time.Sleep(time.Millisecond)
		}
		for _, name := range strings.Split("a b c d e f g h", " ") { // more than are kept, in less than a pause
			handed.Set(record(name, 1, "a"))
		}
	}()
	stream := b.open(t.Context(), t)
	g.Expect(stream.next()).To(HaveKeyWithValue("type", "snapshot"))
	last := stream.next()
	for following := last; following != nil; following = stream.next() {
		last = following
	}
	g.Expect(last).To(Equal(map[string]any{"type": "resync"}))
	g.Eventually(left).Should(BeClosed())
}

// deaf is a browser that takes nothing.
type deaf struct{ http.ResponseWriter }

func (deaf) Write([]byte) (int, error) { return 0, errors.New("i/o timeout") }

func TestABrowserThatTakesNothingIsLeft(t *testing.T) {
	b := newBench(t)
	feeds, _, left := handed(b)
	go func() { (<-feeds).Replace(nil) }()
	b.ServeHTTP(deaf{httptest.NewRecorder()}, call("GET", "/api/stream", ""))
	NewWithT(t).Expect(left).To(BeClosed())
}

// flushed notes each flush.
type flushed struct {
	*httptest.ResponseRecorder
	lines chan string
}

func (f *flushed) Flush() {
	f.lines <- f.Body.String()
	f.Body.Reset()
}

func TestAStreamBeatsWhileItCanBeRead(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t)
	feeds, _, _ := handed(b)
	ctx, leave := context.WithCancel(t.Context())
	out := &flushed{httptest.NewRecorder(), make(chan string, 10)}
	done := make(chan struct{})
	go func() { defer close(done); b.ServeHTTP(out, call("GET", "/api/stream", "").WithContext(ctx)) }()
	step := func(by time.Duration) {
		g.Eventually(func() int { return b.fake.Waiters() }).Should(BeNumerically(">=", 1))
		b.fake.Step(by)
	}
	feed := <-feeds
	g.Eventually(b.fake.HasWaiters).Should(BeTrue())
	step(15 * time.Second)
	g.Consistently(out.lines, "50ms").ShouldNot(Receive(), "nothing comes before the snapshot")
	step(time.Second)
	feed.Replace(nil)
	g.Eventually(out.lines).Should(Receive(HavePrefix(`{"type":"snapshot"`)))
	beats := func() bool {
		for range 20 {
			step(time.Second)
			time.Sleep(2 * time.Millisecond)
		}
		select {
		case line := <-out.lines:
			g.Expect(line).To(MatchRegexp(`^{"type":"beat","now":"2026-11-22T16:4\d:\d\dZ"}`))
			return true
		default:
			return false
		}
	}
	g.Expect(beats()).To(BeTrue())
	feed.Stale(Failure{Message: "no answer"})
	step(time.Second)
	g.Eventually(out.lines).Should(Receive(Equal(`{"type":"stale","error":"no answer"}` + "\n")))
	g.Expect(beats()).To(BeFalse())
	leave()
	g.Eventually(done).Should(BeClosed())
}

func TestOnly32StreamsAreOpen(t *testing.T) {
	b := newBench(t)
	b.streams.Store(32)
	answered := b.serve(call("GET", "/api/stream", ""))
	NewWithT(t).Expect(answered.Code).To(Equal(429))
	NewWithT(t).Expect(answered.Body.String()).To(Equal(`{"reason":"TooMany","error":"too many pages are open: close one"}` + "\n"))
	NewWithT(t).Expect(b.streams.Load()).To(BeEquivalentTo(32))
	NewWithT(t).Expect(b.asked).To(BeEmpty())
}
