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
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
)

// route is what is served under one path. handle answers with an HTTP status and a document that is written as JSON. It may
// say that the caller is known before: from then on the request takes up none of the room for strangers.
type route struct {
	method string
	handle func(w http.ResponseWriter, request *http.Request, known func()) (int, any)
	// refuse answers, with a status that isn't 0, what its header alone rules out: it costs neither room nor the body; nil where
	// there is no such thing.
	refuse func(w http.ResponseWriter, request *http.Request) (int, any)
	// lobby is for the requests of strangers; nil where a request is answered however many there are.
	lobby *lobby
	// timeout ends the context of a request. It begins when the header is read, before the request waits for room. 0 where
	// handle takes care of the time.
	timeout time.Duration
}

// reply is the answer that AlterShield Server understands, and everybody else gets who doesn't get what they asked for.
type reply struct {
	Success bool `json:"success"`
	// Retry is always false: AlterShield Server doesn't read it.
	Retry   bool   `json:"retry"`
	Message string `json:"msg"`
}

type router struct {
	routes map[string]route
}

func newRouter(routes map[string]route) *router {
	return &router{routes: routes}
}

// ServeHTTP answers every request with one JSON document.
func (r *router) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	code, document := r.answer(w, request)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(document); err != nil {
		ctrl.LoggerFrom(request.Context()).V(1).Info("An answer was not delivered", "path", request.URL.Path, "reason", err.Error())
	}
}

func (r *router) answer(w http.ResponseWriter, request *http.Request) (code int, document any) {
	found, served := r.routes[request.URL.Path]
	if !served {
		return http.StatusNotFound, reply{Message: "nothing is served under this path"}
	}
	if request.Method != found.method {
		w.Header().Set("Allow", found.method)
		return http.StatusMethodNotAllowed, reply{Message: "this path takes " + found.method + " requests only"}
	}
	if found.timeout > 0 {
		ctx, cancel := context.WithTimeout(request.Context(), found.timeout)
		defer cancel()
		request = request.WithContext(ctx)
	}
	if found.refuse != nil {
		if code, document := found.refuse(w, request); code != 0 {
			w.Header().Set("Connection", "close") // the body isn't even thrown away
			return code, document
		}
	}
	known := func() {}
	if found.lobby != nil {
		leave, welcome, entered := found.lobby.enter(request)
		if !entered {
			w.Header().Set("Retry-After", "1")
			return http.StatusServiceUnavailable, reply{Message: "too many requests at once"}
		}
		defer leave()
		known = welcome
	}
	defer func() {
		// The value of a panic is not told: it may hold what the request held.
		if fault := recover(); fault != nil {
			ctrl.LoggerFrom(request.Context()).Error(nil, "A request made the operator panic", "path", request.URL.Path,
				"type", fmt.Sprintf("%T", fault), "trace", string(debug.Stack()))
			code, document = http.StatusInternalServerError, reply{Message: "the operator failed to answer"}
		}
	}()
	return found.handle(w, request, known)
}
