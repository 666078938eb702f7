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

package proxy

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	// maxFrame is the maximum size of an event of a watch, in bytes.
	maxFrame = 16 << 20
	// replayed is the number of events that are repeated.
	replayed = 10
)

// View is a kind of disturbance of a client's view.
type View string

const (
	// Stale delays an event and all that follow, for a time.
	Stale View = "stale"
	// Unobserved drops an event and ends the watch, rejects watches and lists for a time, and then reports the resource version of the
	// watch as expired: the client never sees the events in between, only the final state.
	Unobserved View = "unobserved"
	// Replay repeats events.
	Replay View = "replay"
	// Past shows clients that begin to watch a resource in the whole cluster the objects at a revision, and delays all later events.
	Past View = "past"
)

// Views returns the views that need only a resource and a time.
func Views() []View { return []View{Stale, Unobserved, Replay} }

// Disturbance disturbs the view of resources at each event, for a limited number of times.
type Disturbance struct {
	View View
	// Resources are those whose watches it affects, such as "pods".
	Resources []string
	// For is how long a stale, an unobserved or a past view lasts, unless it is ended before.
	For time.Duration
	// Revision is the resourceVersion of a past view.
	Revision string
	// Times is how often it applies.
	Times int
}

// watches are the current watches, with their disturbance.
type watches struct {
	mu          sync.Mutex
	disturbance Disturbance
	acted       int
	// over is closed when the disturbance ends.
	over chan struct{}
	// until is when the resource can be watched again; forgotten reports whether the next watch has an expired resource version.
	until     time.Time
	forgotten bool
}

// Disturb starts a disturbance, which replaces the previous one; the zero value ends it.
func (p *Proxy) Disturb(disturbance Disturbance) {
	p.watches.mu.Lock()
	defer p.watches.mu.Unlock()
	if p.watches.over != nil {
		close(p.watches.over)
	}
	p.watches.disturbance, p.watches.acted, p.watches.over = disturbance, 0, make(chan struct{})
	p.watches.until, p.watches.forgotten = time.Time{}, false
}

// Disturbed returns how often the current disturbance has applied.
func (p *Proxy) Disturbed() int {
	p.watches.mu.Lock()
	defer p.watches.mu.Unlock()
	return p.watches.acted
}

// take reports whether the event that has just arrived disturbs the view of its resource, and counts that. over is closed when
// the disturbance ends.
func (w *watches) take(resource string) (disturbance Disturbance, over <-chan struct{}, disturbed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.disturbance.Resources, resource) || w.acted >= w.disturbance.Times {
		return Disturbance{}, nil, false
	}
	w.acted++
	if w.disturbance.View == Unobserved {
		w.until, w.forgotten = time.Now().Add(w.disturbance.For), true
	}
	return w.disturbance, w.over, true
}

// refusal returns the error for a watch or list of an unobserved resource, nil if it is allowed.
func (w *watches) refusal(r *http.Request) *apierrors.StatusError {
	info := infoOf(r)
	if info.Verb != "list" && info.Verb != "watch" {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.disturbance.Resources, info.Resource) {
		return nil
	}
	if w.disturbance.View == Past && initialEvents(r) != "" && info.Namespace == "" {
		return apierrors.NewBadRequest("a fault of the harness: list it first, then watch it")
	}
	if w.disturbance.View != Unobserved {
		return nil
	}
	if time.Now().Before(w.until) {
		return apierrors.NewServiceUnavailable("a fault of the harness: it can't be observed now")
	}
	if w.forgotten && info.Verb == "watch" && r.URL.Query().Get("resourceVersion") != "" && initialEvents(r) == "" {
		w.forgotten = false
		return apierrors.NewResourceExpired("a fault of the harness: too old resource version")
	}
	return nil
}

// rewound rewrites a request for a past view: a list of a resource in the whole cluster gets its revision.
func (w *watches) rewound(r *http.Request) *http.Request {
	info := infoOf(r)
	if info.Verb != "list" || info.Namespace != "" {
		return r
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.disturbance.View != Past || !slices.Contains(w.disturbance.Resources, info.Resource) {
		return r
	}
	past := r.Clone(r.Context())
	query := past.URL.Query()
	query.Set("resourceVersion", w.disturbance.Revision)
	query.Set("resourceVersionMatch", "Exact")
	past.URL.RawQuery = query.Encode()
	return past
}

// initialEvents returns the parameter by which a watch begins with events instead of a list.
func initialEvents(r *http.Request) string { return r.URL.Query().Get("sendInitialEvents") }

// wrap replaces the body of a watch by a view.
func (w *watches) wrap(response *http.Response) error {
	info := infoOf(response.Request)
	if info.Verb != "watch" || response.StatusCode != http.StatusOK {
		return nil
	}
	response.ContentLength = -1 // the length is no longer known
	response.Header.Del("Content-Length")
	read := readLine
	if strings.Contains(response.Header.Get("Content-Type"), "protobuf") {
		read = readMessage
	}
	response.Body = &view{
		ctx: response.Request.Context(), resource: info.Resource, watches: w,
		source: response.Body, events: bufio.NewReader(response.Body), read: read,
	}
	return nil
}

// view is the body of a watch as its client sees it.
type view struct {
	ctx      context.Context
	resource string
	watches  *watches
	source   io.Closer
	events   *bufio.Reader
	read     func(*bufio.Reader) ([]byte, error)
	// pending is the rest of the current event, seen the last events that were delivered.
	pending []byte
	seen    [][]byte
}

func (v *view) Close() error { return v.source.Close() }

func (v *view) Read(into []byte) (int, error) {
	if len(v.pending) == 0 {
		if err := v.next(); err != nil {
			return 0, err
		}
	}
	count := copy(into, v.pending)
	v.pending = v.pending[count:]
	return count, nil
}

// next reads an event and disturbs it.
func (v *view) next() error {
	event, err := v.read(v.events)
	if err != nil {
		return err
	}
	v.seen = append(v.seen, event)
	if len(v.seen) > replayed {
		v.seen = v.seen[1:]
	}
	v.pending = event
	disturbance, over, disturbed := v.watches.take(v.resource)
	if !disturbed {
		return nil
	}
	switch disturbance.View {
	case Stale, Past:
		timer := time.NewTimer(disturbance.For)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-over:
		case <-v.ctx.Done():
			return v.ctx.Err()
		}
	case Unobserved:
		return errors.New("a fault of the harness closed the watch")
	case Replay:
		v.pending = slices.Concat(append([][]byte{event}, v.seen...)...)
	}
	return nil
}

// readLine reads an event of a watch in JSON.
func readLine(from *bufio.Reader) ([]byte, error) { return from.ReadBytes('\n') }

// readMessage reads an event of a watch in protobuf: four bytes with its length, and then the message.
func readMessage(from *bufio.Reader) ([]byte, error) {
	header := make([]byte, 4)
	if _, err := io.ReadFull(from, header); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(header)
	if length > maxFrame {
		return nil, fmt.Errorf("an event of %d bytes is too large", length)
	}
	event := make([]byte, 4+length)
	copy(event, header)
	if _, err := io.ReadFull(from, event[4:]); err != nil {
		return nil, err
	}
	return event, nil
}
