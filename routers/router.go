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
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
)

// route is the endpoint at one path.
type route struct {
	method string
	// handle returns an HTTP status and a document that is written as JSON. It calls authenticated once the request proves authentic,
	// which releases the place of the request.
	handle func(w http.ResponseWriter, request *http.Request, authenticated func()) (int, any)
	// refuse returns a status other than 0 for a request that its header rules out. Such a request takes no place, and its body isn't
	// read. It may be nil.
	refuse func(w http.ResponseWriter, request *http.Request) (int, any)
	// limiter limits the requests that aren't authenticated yet; nil for no limit.
	limiter *limiter
	// timeout bounds the context of a request, from the time its header is read, before it waits for a place. With 0, handle bounds
	// the time itself.
	timeout time.Duration
}

// reply is the response that AlterShield Server understands. Users get it for requests that fail.
type reply struct {
	Success bool `json:"success"`
	// Retry is always false, as AlterShield Server ignores it.
	Retry   bool   `json:"retry"`
	Message string `json:"msg"`
}

type router struct {
	routes map[string]route
}

func newRouter(routes map[string]route) *router {
	return &router{routes: routes}
}

// ServeHTTP responds to every request with one JSON document.
func (r *router) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	code, document := r.answer(w, request)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(document); err != nil {
		ctrl.LoggerFrom(request.Context()).V(1).Info("Failed to send a response", "path", request.URL.Path, "reason", err.Error())
	}
}

// find returns the route of a path. One that ends with a slash has all paths below it.
func (r *router) find(path string) (route, bool) {
	if found, served := r.routes[path]; served {
		return found, true
	}
	for above, found := range r.routes {
		if strings.HasSuffix(above, "/") && strings.HasPrefix(path, above) {
			return found, true
		}
	}
	return route{}, false
}

func (r *router) answer(w http.ResponseWriter, request *http.Request) (code int, document any) {
	found, served := r.find(request.URL.Path)
	if !served {
		return http.StatusNotFound, reply{Message: "there is no endpoint at this path"}
	}
	if request.Method != found.method {
		w.Header().Set("Allow", found.method)
		return http.StatusMethodNotAllowed, reply{Message: "this path accepts only " + found.method + " requests"}
	}
	if found.timeout > 0 {
		ctx, cancel := context.WithTimeout(request.Context(), found.timeout)
		defer cancel()
		request = request.WithContext(ctx)
	}
	if found.refuse != nil {
		if code, document := found.refuse(w, request); code != 0 {
			w.Header().Set("Connection", "close") // the body isn't read
			return code, document
		}
	}
	authenticated := func() {}
	if found.limiter != nil {
		release, trust, acquired := found.limiter.acquire(request)
		if !acquired {
			w.Header().Set("Retry-After", "1")
			return http.StatusServiceUnavailable, reply{Message: "too many requests at once"}
		}
		defer release()
		authenticated = trust
	}
	defer func() {
		// The value of a panic isn't logged, as it may contain parts of the request.
		if fault := recover(); fault != nil {
			ctrl.LoggerFrom(request.Context()).Error(nil, "Recovered from a panic of a request", "path", request.URL.Path,
				"type", fmt.Sprintf("%T", fault), "trace", string(debug.Stack()))
			code, document = http.StatusInternalServerError, reply{Message: "the operator failed to handle the request"}
		}
	}()
	return found.handle(w, request, authenticated)
}
