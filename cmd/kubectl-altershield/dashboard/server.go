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

// Package dashboard is the server of the page: it serves a browser of the same machine, with the rights of the user that started it.
package dashboard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

// Options are how a page is served.
type Options struct {
	// Port is 0 for any.
	Port int
	// ReadOnly leaves out the calls that write.
	ReadOnly bool
	Backend  Backend
	Clock    clock.WithTicker
	// Timeout is how long the cluster may take for a call; 0 for no limit.
	Timeout time.Duration
	// Started is told the address with the key, and one for the browser that it may start, which gives the key once.
	Started func(url, once string) error
}

// server answers the calls of the page.
type server struct {
	// address is that of the server, and key that of its calls.
	address, key string
	// ticket is what the browser that is started gets in place of the key.
	ticket     *ticket
	readOnly   bool
	backend    Backend
	assets     map[string]asset
	clock      clock.WithTicker
	timeout    time.Duration
	idle       *idle
	streams    atomic.Int32
	maxChanged int
}

func newServer(options Options, address, key string) (*server, error) {
	assets, err := assetsIn(bundle)
	if err != nil {
		return nil, fmt.Errorf("reading the files of the page: %w", err)
	}
	return &server{
		address: address, key: key, ticket: newTicket(options.Clock.Now()), readOnly: options.ReadOnly, backend: options.Backend, assets: assets, clock: options.Clock,
		timeout: options.Timeout, idle: newIdle(options.Clock), maxChanged: maxChanged,
	}, nil
}

// now returns the time as the page gets it.
func (s *server) now() string { return s.clock.Now().UTC().Format(time.RFC3339) }

// loopback is the only address that is listened on: the calls of the page have the rights of its user.
const loopback = "127.0.0.1"

const (
	// headerTimeout is how long a browser may take to send the headers of a call.
	headerTimeout = 5 * time.Second
	// shutdownTimeout is how long calls may take to end when the server ends. Their context has ended by then.
	shutdownTimeout = 2 * time.Second
)

// Serve serves the page until the context ends, whose error it returns, or until there was no call for an hour.
func Serve(ctx context.Context, options Options) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", net.JoinHostPort(loopback, strconv.Itoa(options.Port)))
	if err != nil {
		return fmt.Errorf("listening for the browser: %w", err)
	}
	server, err := newServer(options, listener.Addr().String(), newKey())
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	calling, cancel := context.WithCancel(ctx)
	defer cancel()
	httpServer := &http.Server{
		Handler: server, ReadHeaderTimeout: headerTimeout, ReadTimeout: writeTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: writeTimeout, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return calling },
		ErrorLog:    log.New(io.Discard, "", 0), // what a browser sends belongs in no log
	}
	served := make(chan error, 1)
	go func() { served <- httpServer.Serve(listener) }()
	page := "http://" + server.address + "/#"
	ended := options.Started(page+server.key, page+ticketMark+server.ticket.text)
	if ended == nil {
		ended = server.idle.wait(ctx, served)
	}
	cancel() // ends the streams
	within, stop := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer stop()
	err = httpServer.Shutdown(within)
	if errors.Is(err, context.DeadlineExceeded) {
		err = httpServer.Close() // a connection without a call, as browsers open them, counts as busy for five seconds
	}
	if err != nil {
		return errors.Join(ended, fmt.Errorf("ending the calls of the browser: %w", err))
	}
	return ended
}
