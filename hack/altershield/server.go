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

// Package altershield is a test server that behaves like AlterShield Server v1.0 at its HTTP boundary, traps included:
// its answers, refusals and callbacks. Unlike the stock server it verifies signatures by default, and it keeps all state
// in memory.
package altershield

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// The only platform that may call, the tenant of all orders, whatever they name, and the only change scene, as in the published documents.
const (
	platform     = "kubernetes"
	tenant       = "default"
	DefaultScene = "com.alipay.altershield.kubernetes.rollingupdate"
)

const (
	defaultDelay = 50 * time.Millisecond
	// callbackTimeout is how long the server waits for the answer to a callback.
	callbackTimeout = 6 * time.Second
	// headerTimeout is how long a client may take to send the headers of a call.
	headerTimeout = 10 * time.Second
	// grace is how long calls may take to end when serving ends. Their context has ended by then.
	grace = 2 * time.Second
)

// Options configure the caller, the checks and the callbacks of a server. A zero value means the default.
type Options struct {
	// Token is the secret of the platform. Without one every call is rejected.
	Token string
	// CallbackURL is the URL for verdicts. Without it there are no callbacks.
	CallbackURL string
	// PreDelay and PostDelay are the durations of the checks before and after a batch: 50 ms if zero.
	PreDelay, PostDelay time.Duration
	// InsertTime is how long the start of a batch takes in the database, where concurrent starts of other orders cause deadlocks:
	// 2 ms if zero. A negative value turns deadlocks off.
	InsertTime time.Duration
	// SkipAuth turns the verification of signatures off, as it is by default in the real server.
	SkipAuth bool
	// Log gets a line for each call and callback.
	Log io.Writer
	// OnCall is called when a call has been processed, before its answer is written.
	OnCall func(Call)
	// OnCallback is called when a callback was answered, or couldn't be delivered.
	OnCallback func(Callback)
}

// Server is a test server. Its methods are safe for concurrent use.
type Server struct {
	options Options
	log     *log.Logger
	client  *http.Client
	// ctx ends with Close, and with it every wait.
	ctx    context.Context
	cancel context.CancelFunc
	checks sync.WaitGroup

	mu          sync.Mutex
	callbackURL string
	switchOn    bool
	scenesOff   string
	inserting   []string // the orders of the batches that are in the database now
	met         int      // the number of these that met batches of other orders there
	orders      []*order
	nodes       []*node
	rules       []Rule
	faults      []Fault
	calls       []Call
}

// New returns a server without orders, rules or faults.
func New(options Options) *Server {
	options.PreDelay = cmp.Or(options.PreDelay, defaultDelay)
	options.PostDelay = cmp.Or(options.PostDelay, defaultDelay)
	options.InsertTime = cmp.Or(options.InsertTime, defaultInsert)
	if options.Log == nil {
		options.Log = io.Discard
	}
	if options.OnCall == nil {
		options.OnCall = func(Call) {}
	}
	if options.OnCallback == nil {
		options.OnCallback = func(Callback) {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Server{
		options: options,
		log:     log.New(options.Log, "", log.Ltime|log.Lmicroseconds),
		client: &http.Client{
			Timeout: callbackTimeout,
			// Without keep-alive, the client never resends anything by itself, and no connection outlives Close.
			Transport:     &http.Transport{DisableKeepAlives: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		ctx:         ctx,
		cancel:      cancel,
		callbackURL: options.CallbackURL,
		switchOn:    true,
	}
}

// Handler serves AlterShield's API under /openapi/ and the control endpoints under /test/.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	const exe = "POST /openapi/v1/exe/"
	mux.Handle(exe+ActionSubmitOrder, post(s, ActionSubmitOrder, s.submitOrder))
	mux.Handle(exe+ActionStartOrder, post(s, ActionStartOrder, s.startOrder))
	mux.Handle(exe+ActionStartBatch, post(s, ActionStartBatch, s.startBatch))
	mux.Handle(exe+ActionFinishBatch, post(s, ActionFinishBatch, s.finishBatch))
	mux.Handle(exe+ActionRetrieveCheck, post(s, ActionRetrieveCheck, s.retrieveCheck))
	mux.Handle(exe+ActionFinishOrder, post(s, ActionFinishOrder, s.finishOrder))
	mux.Handle("GET /openapi/v1/heartbeat/config", s.endpoint(ActionHeartbeat, s.heartbeat))
	s.addControl(mux)
	return mux
}

// Serve serves calls until the context ends. The state outlives it: serving again is like the restart of a server.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: headerTimeout,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := server.Shutdown(end)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close() // a connection without a call counts as busy for five seconds
	}
	return err
}

// Close ends the running checks and callbacks, and waits for them.
func (s *Server) Close() {
	s.mu.Lock()
	s.cancel()
	s.mu.Unlock()
	s.checks.Wait()
}

// SetCallbackURL changes the URL for verdicts.
func (s *Server) SetCallbackURL(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.callbackURL = url
}

// SetSwitch sets the heartbeat's answer: whether clients should check at all, and the scenes for which checks are off.
func (s *Server) SetSwitch(on bool, scenesOff ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.switchOn, s.scenesOff = on, strings.Join(scenesOff, ",")
}

// pause waits for the delay, forever if it is zero. It reports whether it waited to the end, and not for the end of the context
// or the server.
func (s *Server) pause(ctx context.Context, delay time.Duration) bool {
	var over <-chan time.Time
	if delay > 0 {
		over = time.After(delay)
	}
	select {
	case <-over:
		return true
	case <-ctx.Done():
	case <-s.ctx.Done():
	}
	return false
}
