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

// Package proxy stands between a client and a server and injects faults: it makes single writes fail, or disturbs the client's view
// of a resource.
package proxy

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"
)

// writeTimeout bounds a write whose client may be gone.
const writeTimeout = 30 * time.Second

// Options configure a proxy.
type Options struct {
	// Target is the server, Transport the transport to it.
	Target    *url.URL
	Transport http.RoundTripper
	// IsWrite returns the write of a request, if it is a position.
	IsWrite func(*http.Request) (Write, bool)
	// Kill kills the client of a request and returns true when it is dead, or false if another fault had already killed it.
	// The context ends with the client's connection.
	Kill func(context.Context) bool
}

// Record is a write that passed the proxy.
type Record struct {
	Position
	// Status is the status of the server's answer: 0 if the write wasn't forwarded, or got no answer.
	Status int
}

// Proxy forwards requests. Its methods are safe for concurrent use.
type Proxy struct {
	options Options
	reverse *httputil.ReverseProxy
	watches watches

	mu         sync.Mutex
	namespaces map[string]*ledger
}

// ledger has the writes in a namespace.
type ledger struct {
	records []Record
	counts  map[Write]int
	fault   *Fault
	fired   bool
}

// New returns a proxy that forwards everything.
func New(options Options) *Proxy {
	p := &Proxy{options: options, namespaces: map[string]*ledger{}}
	p.reverse = &httputil.ReverseProxy{
		Rewrite: func(request *httputil.ProxyRequest) {
			request.SetURL(options.Target)
			request.Out.Host = options.Target.Host
		},
		Transport:      options.Transport,
		FlushInterval:  -1, // an event must not wait for the next one
		ModifyResponse: p.watches.wrap,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			w.WriteHeader(http.StatusBadGateway)
		},
		ErrorLog: log.New(io.Discard, "", 0), // it would only log the faults
	}
	return p
}

// ServeHTTP forwards a request, or applies the fault planned for it.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if write, ok := p.options.IsWrite(r); ok {
		p.write(w, r, write)
		return
	}
	if refusal := p.watches.refusal(r); refusal != nil {
		refuse(w, refusal)
		return
	}
	p.reverse.ServeHTTP(w, p.watches.rewound(r))
}

func (p *Proxy) write(w http.ResponseWriter, r *http.Request, write Write) {
	index, mode := p.begin(write)
	if mode == KilledBefore && !p.options.Kill(r.Context()) {
		p.retract(write, index)
		panic(http.ErrAbortHandler)
	}
	if mode.passesOn() {
		into := w
		if mode != "" {
			into = httptest.NewRecorder() // the answer is discarded
		}
		p.forward(into, r, func(status int) { p.settle(write.Namespace, index, status) })
	}
	if mode == KilledAfter {
		p.options.Kill(r.Context()) // a client that is already dead must not receive its answer either
	}
	switch {
	case mode.Kills():
		panic(http.ErrAbortHandler)
	case mode != "":
		refuse(w, mode.answer(write))
	}
}

// forward forwards a write and records the status of the answer. The write reaches the server even if the client dies
// meanwhile, and its status is recorded even if the answer can't be written, which ends in a panic.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, tell func(status int)) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), writeTimeout)
	defer cancel()
	watched := &told{ResponseWriter: w}
	defer func() { tell(watched.status) }()
	p.reverse.ServeHTTP(watched, r.WithContext(ctx))
}

// Plan plans a fault of one write in a namespace and discards the earlier records; nil plans none.
func (p *Proxy) Plan(namespace string, fault *Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.namespaces[namespace] = &ledger{counts: map[Write]int{}, fault: fault}
}

// Fired reports whether the fault planned for a namespace was injected.
func (p *Proxy) Fired(namespace string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.namespaces[namespace]
	return known != nil && known.fired
}

// Records returns the writes in some namespaces since Plan, those in each in the order of their arrival.
func (p *Proxy) Records(namespaces ...string) (records []Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, namespace := range namespaces {
		if known := p.namespaces[namespace]; known != nil {
			records = append(records, known.records...)
		}
	}
	return records
}

// Forget discards everything about some namespaces.
func (p *Proxy) Forget(namespaces ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, namespace := range namespaces {
		delete(p.namespaces, namespace)
	}
}

// begin records a write, and takes the fault planned for it.
func (p *Proxy) begin(write Write) (index int, mode Mode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.namespaces[write.Namespace]
	if known == nil {
		return -1, ""
	}
	known.counts[write]++
	at := Position{Verb: write.Verb, Resource: write.Resource, Nth: known.counts[write]}
	known.records = append(known.records, Record{Position: at})
	if known.fault != nil && !known.fired && known.fault.Position == at {
		known.fired, mode = true, known.fault.Mode
	}
	return len(known.records) - 1, mode
}

// retract plans a fault again if another one killed the client first: the write will be repeated.
func (p *Proxy) retract(write Write, index int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.namespaces[write.Namespace]; known != nil && index >= 0 {
		known.counts[write]--
		known.fired = false
	}
}

func (p *Proxy) settle(namespace string, index, status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.namespaces[namespace]; known != nil && index >= 0 && index < len(known.records) {
		known.records[index].Status = status
	}
}

// told records the status of an answer.
type told struct {
	http.ResponseWriter
	status int
}

func (t *told) WriteHeader(status int) {
	if status >= http.StatusOK {
		t.status = status
	}
	t.ResponseWriter.WriteHeader(status)
}

// Unwrap allows the reverse proxy to flush.
func (t *told) Unwrap() http.ResponseWriter { return t.ResponseWriter }
