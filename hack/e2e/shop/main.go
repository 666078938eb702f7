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

// Command shop is an application of tests: it answers requests at port 80, fails some of them, and counts them as Prometheus wants to read it.
package main

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "shop:", err)
		os.Exit(1)
	}
}

// run serves for ever. The only argument says how many requests there are to each that fails.
func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%d arguments: the only one is how many requests there are to each that fails", len(args))
	}
	every, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil || every < 1 {
		return fmt.Errorf("%q is not a number of requests", args[0])
	}
	server := http.Server{Addr: ":80", Handler: &shop{every: every}, ReadHeaderTimeout: 10 * time.Second}
	return server.ListenAndServe()
}

// shop fails one of every so many requests.
type shop struct {
	every                    int64
	asked, succeeded, failed atomic.Int64
}

// ServeHTTP shows the counters at /metrics, and counts all other requests.
func (s *shop) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	switch {
	case request.URL.Path == "/metrics":
		fmt.Fprintf(writer, "# TYPE http_requests_total counter\nhttp_requests_total{code=\"200\"} %d\nhttp_requests_total{code=\"500\"} %d\n",
			s.succeeded.Load(), s.failed.Load())
	case s.asked.Add(1)%s.every == 0:
		s.failed.Add(1)
		http.Error(writer, "as asked", http.StatusInternalServerError)
	default:
		s.succeeded.Add(1)
	}
}
