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

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/traas-stack/altershield-operator/hack/altershield"
	"github.com/traas-stack/altershield-operator/hack/faults/proxy"
	"github.com/traas-stack/altershield-operator/hack/lab"
)

// verbCall is the verb of positions that are calls to AlterShield Server, or queries of a source.
const verbCall = "call"

const (
	// tellFor is how long a callback is sent again, tellEvery the interval.
	tellFor, tellEvery = 30 * time.Second, 100 * time.Millisecond
	// tellTimeout is how long an answer to a callback may take.
	tellTimeout = 6 * time.Second
)

// actionQuery is the call by which a check looks at metrics.
const actionQuery = "query_range"

// isCall returns the position of a call that changes state at AlterShield Server, or of a query. The id of the order in a call begins with the
// cluster and the namespace.
func isCall(request *http.Request) (proxy.Write, bool) {
	_, action, _ := strings.Cut(request.URL.Path, "/openapi/v1/exe/")
	isQuery := strings.HasSuffix(request.URL.Path, "/"+actionQuery)
	if !isQuery && (action == "" || action == altershield.ActionRetrieveCheck) {
		return proxy.Write{}, false
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return proxy.Write{}, false
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	if isQuery {
		return ofQuery(body)
	}
	var named struct {
		BizExecOrderID string `json:"bizExecOrderId"`
	}
	parts := []string{}
	if json.Unmarshal(body, &named) == nil {
		parts = strings.Split(named.BizExecOrderID, "/")
	}
	if len(parts) < 2 {
		return proxy.Write{}, false
	}
	return proxy.Write{Namespace: parts[1], Verb: verbCall, Resource: action}, true
}

// ofQuery returns the position of a query with a form. It selects series of one namespace.
func ofQuery(form []byte) (proxy.Write, bool) {
	fields, err := url.ParseQuery(string(form))
	_, after, _ := strings.Cut(fields.Get("query"), `namespace="`)
	namespace, _, found := strings.Cut(after, `"`)
	return proxy.Write{Namespace: namespace, Verb: verbCall, Resource: actionQuery}, err == nil && found
}

// beginsCheck reports whether a call begins a check, of a batch or of an order. Each such call begins another one.
func beginsCheck(action string) bool {
	return action == altershield.ActionStartBatch || action == altershield.ActionStartOrder
}

// relay receives callbacks of the server and delivers them until the manager accepts them. AlterShield Server v1.0 sends a verdict
// only once. The effect of a lost one is known (the batch waits for two minutes, and then only a pass is found), and is not tested
// here.
type relay struct {
	// ctx is the context of the whole run: a callback outlives its request.
	ctx    context.Context
	target string
	client *http.Client
}

func newRelay(ctx context.Context, target string) *relay {
	return &relay{ctx: ctx, target: target, client: &http.Client{Timeout: tellTimeout}}
}

// ServeHTTP receives a callback.
func (r *relay) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	go r.deliver(request.Header.Clone(), body)
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"success":true}`) // the server ignores the answer
}

func (r *relay) deliver(header http.Header, body []byte) {
	ctx, cancel := context.WithTimeout(r.ctx, tellFor)
	defer cancel()
	for !r.tell(ctx, header, body) && lab.Pause(ctx, tellEvery) == nil {
	}
}

// tell delivers a callback once, and reports whether the manager accepted it.
func (r *relay) tell(ctx context.Context, header http.Header, body []byte) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.target, bytes.NewReader(body))
	if err != nil {
		return false
	}
	request.Header = header.Clone()
	response, err := r.client.Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return err == nil && response.StatusCode == http.StatusOK
}
