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

package lab

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"path/filepath"
	"time"
)

// AnyPort is an address of this machine whose port is free.
const AnyPort = "127.0.0.1:0"

const headerTimeout = 10 * time.Second

// ServeHTTP serves HTTP at an address of this machine until the context ends, over TLS if there is a folder with a certificate.
func ServeHTTP(ctx context.Context, handler http.Handler, at, certificate string) (address string, err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", at)
	if err != nil {
		return "", fmt.Errorf("listen: %w", err)
	}
	// The log would only have the faults.
	server := &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { // ends with the context
		if certificate == "" {
			_ = server.Serve(listener)
		} else {
			_ = server.ServeTLS(listener, filepath.Join(certificate, "tls.crt"), filepath.Join(certificate, "tls.key"))
		}
	}()
	context.AfterFunc(ctx, func() { _ = server.Close() })
	return listener.Addr().String(), nil
}
