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

package routers

import (
	"bytes"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
)

// Limits of a request. AlterShield Server waits six seconds for the response.
const (
	readHeaderTimeout = 2 * time.Second
	// readTimeout is for header and body together, and the wait for a place in between.
	readTimeout = 5 * time.Second
	// bodyTimeout is for the body, once the request has a place.
	bodyTimeout  = time.Second
	writeTimeout = 10 * time.Second
	idleTimeout  = 60 * time.Second
	// shutdownTimeout is for requests under way when the server stops.
	shutdownTimeout = 10 * time.Second
	maxHeaderBytes  = 16 << 10
	// maxCallbackBytes limits the body of a callback.
	maxCallbackBytes = 1 << 20
	// maxRollbackBytes limits the body of a rollback request.
	maxRollbackBytes = 4 << 10
	// userTimeout is for requests of users. It leaves time to respond before writeTimeout.
	userTimeout = 8 * time.Second
)

// readBody reads a body of at most the given size. It must arrive soon, as its caller holds a place until then.
func readBody(w http.ResponseWriter, request *http.Request, most int64) ([]byte, error) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout)) // fails in tests without a connection
	return io.ReadAll(http.MaxBytesReader(w, request.Body, most))
}

func newHTTPServer(ctx context.Context, handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog: log.New(lines(func(line string) {
			ctrl.LoggerFrom(ctx).V(1).Info("A connection failed", "reason", line) // mostly port scans and probes
		}), "", 0),
		BaseContext: func(net.Listener) context.Context {
			return context.WithoutCancel(ctx) // requests under way continue after ctx has ended
		},
	}
}

// lines is a writer that passes on whole lines.
type lines func(line string)

func (l lines) Write(line []byte) (int, error) {
	l(string(bytes.TrimSpace(line)))
	return len(line), nil
}
