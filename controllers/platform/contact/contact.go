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

// Package contact knows since when the operator sees what becomes of the cluster.
package contact

import (
	"context"
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// outage is for how long every request must have failed: an operator that leads renews its lease every two seconds. A request that
// fails between others is no outage.
const outage = 5 * time.Second

// Contact notes when the operator began to lead, and when the API server was back last.
type Contact struct {
	clock clock.PassiveClock

	mutex sync.Mutex
	// leading is when the operator began to lead, zero before.
	leading time.Time
	// failing is since when no request is answered, zero while they are.
	failing time.Time
	// back is when the last outage ended.
	back time.Time
}

// New makes a Contact of an operator that doesn't lead yet.
func New(clock clock.PassiveClock) *Contact { return &Contact{clock: clock} }

// Start notes that the operator leads: the manager calls it then.
func (c *Contact) Start(context.Context) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.leading = c.clock.Now()
	return nil
}

// Since is when the operator began to lead or the API server was back, whichever was later; now before it leads.
func (c *Contact) Since() time.Time {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	switch {
	case c.leading.IsZero():
		return c.clock.Now()
	case c.back.After(c.leading):
		return c.back
	}
	return c.leading
}

// Wrap watches the requests to the API server.
func (c *Contact) Wrap(next http.RoundTripper) http.RoundTripper { return &transport{next, c} }

func (c *Contact) note(answered bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	switch now := c.clock.Now(); {
	case !answered && c.failing.IsZero():
		c.failing = now
	case answered && !c.failing.IsZero():
		if now.Sub(c.failing) >= outage {
			c.back = now
		}
		c.failing = time.Time{}
	}
}

type transport struct {
	next    http.RoundTripper
	contact *Contact
}

// RoundTrip counts an error of the server as no answer: that is how an API server without etcd answers.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(request)
	t.contact.note(err == nil && response.StatusCode < http.StatusInternalServerError)
	return response, err
}

// WrappedRoundTripper lets client-go find the transport that keeps the connections.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }
