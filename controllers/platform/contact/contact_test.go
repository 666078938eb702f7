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

package contact

import (
	"errors"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	realclock "k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

var began = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// server responds with a status. With 0 it is unreachable.
type server int

func (s server) RoundTrip(*http.Request) (*http.Response, error) {
	if s == 0 {
		return nil, errors.New("connection refused")
	}
	return &http.Response{StatusCode: int(s), Body: http.NoBody}, nil
}

func TestContactSince(t *testing.T) {
	type request struct {
		at     time.Duration
		answer int
	}
	for _, row := range []struct {
		name     string
		requests []request
		since    time.Duration
	}{
		{"is when the operator began to lead", nil, 0},
		{"is still that while the API server answers", []request{{time.Minute, 200}, {2 * time.Minute, 404}}, 0},
		{"is when the API server was back", []request{{60 * time.Second, 200}, {62 * time.Second, 0}, {64 * time.Second, 0}, {67 * time.Second, 200}, {69 * time.Second, 200}}, 67 * time.Second},
		{"is when etcd was back", []request{{60 * time.Second, 200}, {62 * time.Second, 500}, {70 * time.Second, 200}}, 70 * time.Second},
		{"is when the API server was back last", []request{{1 * time.Second, 0}, {6 * time.Second, 200}, {15 * time.Second, 0}, {20 * time.Second, 200}}, 20 * time.Second},
		{"is not while the API server is away", []request{{time.Minute, 200}, {2 * time.Minute, 0}, {3 * time.Minute, 0}}, 0},
		{"is not when requests failed for a moment", []request{{60 * time.Second, 200}, {62 * time.Second, 0}, {64 * time.Second, 0}, {66 * time.Second, 200}}, 0},
		{"is not when requests fail between others", []request{{60 * time.Second, 0}, {62 * time.Second, 200}, {64 * time.Second, 0}, {66 * time.Second, 200}}, 0},
		{"is not when there was nothing to ask for a while", []request{{0, 200}, {time.Minute, 0}, {61 * time.Second, 200}}, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			clock := clocktesting.NewFakePassiveClock(began.Add(-time.Hour))
			contact := New(clock)
			g.Expect(contact.Since()).To(Equal(began.Add(-time.Hour)), "nothing counts before it leads")
			clock.SetTime(began)
			g.Expect(contact.Start(t.Context())).To(Succeed())
			for _, request := range row.requests {
				clock.SetTime(began.Add(request.at))
				asked, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://kubernetes", http.NoBody)
				g.Expect(err).NotTo(HaveOccurred())
				response, err := contact.Wrap(server(request.answer)).RoundTrip(asked)
				if request.answer == 0 {
					g.Expect(err).To(MatchError("connection refused"))
					continue
				}
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(response.StatusCode).To(Equal(request.answer))
				g.Expect(response.Body.Close()).To(Succeed())
			}
			g.Expect(contact.Since()).To(Equal(began.Add(row.since)))
		})
	}
}

// A pod has its whole time again: else it would wait until the clock is as late again, or its time would be over at once.
func TestContactSinceAfterTheClockWentBack(t *testing.T) {
	g := NewWithT(t)
	clock := clocktesting.NewFakePassiveClock(began)
	contact := New(clock)
	g.Expect(contact.Start(t.Context())).To(Succeed())
	clock.SetTime(began.Add(-time.Hour))
	g.Expect(contact.Since()).To(Equal(began.Add(-time.Hour)))
	clock.SetTime(began.Add(-58 * time.Minute))
	g.Expect(contact.Since()).To(Equal(began.Add(-time.Hour)))
}

// What is removed for good isn't because the clock of the operator is ahead.
func TestContactAgreed(t *testing.T) {
	for name, row := range map[string]struct {
		date   string
		agreed time.Duration
	}{
		"the operator is ahead":                {"Sat, 21 Nov 2026 10:00:00 GMT", time.Minute + time.Second}, // its second may have been over
		"the operator is behind":               {"Sat, 28 Nov 2026 10:00:00 GMT", time.Hour + time.Minute},
		"the API server doesn't tell its time": {"", time.Hour + time.Minute},
		"nor what can't be read":               {"soon", time.Hour + time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			clock := clocktesting.NewFakePassiveClock(began.Add(time.Hour))
			contact := New(clock)
			asked, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://kubernetes", http.NoBody)
			g.Expect(err).NotTo(HaveOccurred())
			response, err := contact.Wrap(dated(row.date)).RoundTrip(asked)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(response.Body.Close()).To(Succeed())
			clock.SetTime(began.Add(time.Hour + time.Minute))
			g.Expect(contact.Agreed()).To(Equal(began.Add(row.agreed)))
		})
	}
}

// dated responds at a time of its own.
type dated string

func (d dated) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Header: http.Header{"Date": {string(d)}}}, nil
}

// The times of pods have no monotonic reading. A deadline with one isn't on the clock of theirs any more once that was set.
func TestContactSinceIsOnTheWallClock(t *testing.T) {
	g := NewWithT(t)
	contact := New(realclock.RealClock{})
	g.Expect(contact.Since().String()).NotTo(ContainSubstring("m="))
	g.Expect(contact.Start(t.Context())).To(Succeed())
	g.Expect(contact.Since().String()).NotTo(ContainSubstring("m="))
	contact.failing = time.Now().Add(-time.Minute)
	contact.note(true, time.Time{})
	g.Expect(contact.Since().String()).NotTo(ContainSubstring("m="))
}

// The time of pods counts from when the operator began to lead, by the clock that pods are judged by.
func TestContactAgreedSince(t *testing.T) {
	for _, row := range []struct {
		name  string
		ahead time.Duration
		since time.Duration
	}{
		{"with a clock that is ahead", time.Hour, time.Second},
		{"with a clock that is behind", -time.Hour, -time.Hour},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			clock := clocktesting.NewFakePassiveClock(began.Add(row.ahead))
			contact := New(clock)
			contact.note(true, began)
			g.Expect(contact.AgreedSince()).To(Equal(began.Add(row.since)), "nothing counts before it leads")
			g.Expect(contact.Start(t.Context())).To(Succeed())
			clock.SetTime(began.Add(row.ahead + 3*time.Minute))
			g.Expect(contact.AgreedSince()).To(Equal(began.Add(row.since)))
			g.Expect(contact.Agreed()).To(Equal(began.Add(row.since + 3*time.Minute)))
			contact.note(false, time.Time{})
			clock.SetTime(began.Add(row.ahead + 4*time.Minute))
			contact.note(true, began.Add(4*time.Minute))
			g.Expect(contact.AgreedSince()).To(Equal(began.Add(row.since+4*time.Minute)), "the outage ended")
			contact.note(true, began.Add(-time.Hour))
			g.Expect(contact.AgreedSince()).To(Equal(began.Add(time.Second-time.Hour)), "the clock of the API server went back")
		})
	}
}

// A clock that is set would count until the next answer, which may come later than a decision.
func TestContactCountsTheTimeSinceAnAnswerByTheMonotonicClock(t *testing.T) {
	g := NewWithT(t)
	contact := New(realclock.RealClock{})
	contact.note(true, time.Now())
	g.Expect(contact.answered.String()).To(ContainSubstring("m="))
	g.Expect(contact.Agreed().String()).NotTo(ContainSubstring("m="))
}
