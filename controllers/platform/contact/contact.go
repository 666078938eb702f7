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

// Package contact tracks since when the operator leads and reaches the API server, and whether its clock is ahead of the API server's.
package contact

import (
	"context"
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// outage is the time for which every request must fail to count as an outage. A leader renews its lease every two seconds, so single
// failures between other requests don't count.
const outage = 5 * time.Second

// Contact records when the operator began to lead, and when the last outage of the API server ended.
type Contact struct {
	clock clock.PassiveClock

	mutex sync.Mutex
	// since is when the operator began to lead or the last outage ended, on the wall clock, as the times of pods are; zero before it leads.
	// agreedSince is the same time as Agreed returned it.
	since, agreedSince time.Time
	// failing is when requests began to fail; zero while they succeed.
	failing time.Time
	// server is the latest time that the clock of the API server may have shown at its last answer, and answered when that came. It has a monotonic
	// reading: a clock that is set in between doesn't change the time since.
	server, answered time.Time
}

// dateUnit is the unit of the header Date. The API server cuts off what is less.
const dateUnit = time.Second

// New returns a Contact of an operator that doesn't lead yet.
func New(clock clock.PassiveClock) *Contact { return &Contact{clock: clock} }

// Start records that the operator leads. The manager calls it then.
func (c *Contact) Start(context.Context) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.begin()
	return nil
}

// begin notes that the time of pods begins now. The caller holds the mutex.
func (c *Contact) begin() { c.since, c.agreedSince = c.wall(), c.agreed() }

// Since returns when the operator began to lead or the last outage ended, whichever was later. Before the operator leads it returns
// the current time. Where the clock went back behind that, it is the first time that was seen afterwards.
func (c *Contact) Since() time.Time {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	now := c.wall()
	if c.since.IsZero() {
		return now
	}
	if now.Before(c.since) {
		c.since = now
	}
	return c.since
}

// AgreedSince returns the same time as Since, for what is compared with Agreed.
func (c *Contact) AgreedSince() time.Time {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	now := c.agreed()
	if c.agreedSince.IsZero() {
		return now
	}
	if now.Before(c.agreedSince) {
		c.agreedSince = now
	}
	return c.agreedSince
}

// wall returns the current time without its monotonic reading.
func (c *Contact) wall() time.Time { return c.clock.Now().Round(0) }

// Agreed returns the current time by the clock of the operator, or by the API server's if that is behind: for deadlines after which something is
// removed for good or rolled back, which a clock that is set wrong must not end.
func (c *Contact) Agreed() time.Time {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.agreed()
}

// agreed returns the time of Agreed. The caller holds the mutex.
func (c *Contact) agreed() time.Time {
	now := c.clock.Now()
	if c.server.IsZero() {
		return now.Round(0)
	}
	if server := c.server.Add(now.Sub(c.answered)); server.Before(now.Round(0)) {
		return server
	}
	return now.Round(0)
}

// Wrap observes the requests to the API server.
func (c *Contact) Wrap(next http.RoundTripper) http.RoundTripper { return &transport{next, c} }

// note takes whether the API server answered a request, and the time of the answer by its clock, zero if that is unknown.
func (c *Contact) note(answered bool, at time.Time) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if !at.IsZero() {
		c.server, c.answered = at.Add(dateUnit), c.clock.Now()
	}
	switch now := c.clock.Now(); {
	case !answered && c.failing.IsZero():
		c.failing = now
	case answered && !c.failing.IsZero():
		if now.Sub(c.failing) >= outage && !c.since.IsZero() {
			c.begin()
		}
		c.failing = time.Time{}
	}
}

type transport struct {
	next    http.RoundTripper
	contact *Contact
}

// RoundTrip counts server errors as failures: an API server without etcd responds with them.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(request)
	if err != nil {
		t.contact.note(false, time.Time{})
		return response, err
	}
	at, _ := http.ParseTime(response.Header.Get("Date")) // zero without one
	t.contact.note(response.StatusCode < http.StatusInternalServerError, at)
	return response, nil
}

// WrappedRoundTripper lets client-go find the transport that holds the connections.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }
