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

package source

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/api"
	"k8s.io/utils/clock"
)

const (
	// agent is the User-Agent of the operator.
	agent = "altershield-operator"
	// maxHeader is the maximum size of a response's header, in bytes.
	maxHeader = 64 << 10
)

// connection is how a source is reached.
type connection struct {
	address *url.URL
	tls     TLS
	// header has the headers of every request, with the credentials.
	header http.Header
	// oauth2 is where access tokens are, nil for sources that need none.
	oauth2 *tokenEndpoint
	// accessKey is that of HoloInsight, nil for sources of another type.
	accessKey *accessKey
	// signing has the keys of signatures, none where requests aren't signed.
	signing  [][]byte
	timeout  time.Duration
	maxBytes int32
	slots    int
}

// exchange sends requests to a source and reads the answers, as the API client of Prometheus needs it. It returns an *Error without a source
// for every failure, so that the API client never sees the body of one.
type exchange struct {
	connection
	http  *http.Client
	clock clock.PassiveClock
	// bearer are the access tokens of oauth2, nil without it.
	bearer *tokens
	// close closes the connections that aren't used.
	close func()
}

var _ api.Client = &exchange{}

func newExchange(to connection, guard Guard, clock clock.PassiveClock) *exchange {
	made := &exchange{connection: to, clock: clock, http: guard.Client(to.tls, to.timeout, to.slots)}
	made.close = made.http.CloseIdleConnections
	if to.oauth2 != nil {
		client := guard.Client(to.oauth2.tls, to.timeout, 1)
		made.bearer = newTokens(clock, func(ctx context.Context) (token, error) { return to.oauth2.fetch(ctx, client) })
		own := made.http
		made.close = func() { own.CloseIdleConnections(); client.CloseIdleConnections() }
	}
	return made
}

// URL returns the address of an endpoint. Those of queries have no arguments in their paths.
func (e *exchange) URL(endpoint string, _ map[string]string) *url.URL {
	return e.address.JoinPath(endpoint)
}

// Do sends a request of the API client of Prometheus.
func (e *exchange) Do(ctx context.Context, request *http.Request) (*http.Response, []byte, error) {
	answer, err := e.send(ctx, request)
	if err != nil {
		return nil, nil, err
	}
	response := &http.Response{StatusCode: answer.status, Header: answer.header}
	unknown := answer.status == http.StatusMethodNotAllowed || answer.status == http.StatusNotImplemented
	if request.Method == http.MethodPost && unknown {
		return response, nil, fmt.Errorf("POST: HTTP %d", answer.status) // the API client asks again by GET
	}
	if failure := ofResponse(answer.status, answer.header, answer.body, e.clock.Now()); failure != nil {
		return nil, nil, failure
	}
	if isPartial(answer.body) {
		return nil, nil, &Error{Kind: KindPartial, Message: "the answer is partial: a storage node of VictoriaMetrics is away (isPartial)"}
	}
	return response, answer.body, nil
}

// isPartial reports whether VictoriaMetrics says that a part of its series is missing. It spreads those of each pod over its storage nodes, so no
// check can tell what is missing, also not by the pods that it sees.
func isPartial(body []byte) bool {
	if !bytes.Contains(body, []byte(`"isPartial"`)) { // other sources never say so, and answers may be large
		return false
	}
	var answer struct {
		IsPartial bool `json:"isPartial"`
	}
	return json.Unmarshal(body, &answer) == nil && answer.IsPartial
}

// received is a response that was read.
type received struct {
	status int
	header http.Header
	body   []byte
}

// send sends a request and reads the response, whatever its status. The error is an *Error.
func (e *exchange) send(ctx context.Context, request *http.Request) (received, error) {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	request = request.WithContext(ctx)
	for name, values := range e.header {
		request.Header[name] = values
	}
	if e.bearer != nil {
		return e.sendWithToken(ctx, request)
	}
	return e.sendOnce(request)
}

func (e *exchange) sendOnce(request *http.Request) (received, error) {
	response, err := e.http.Do(request)
	if err != nil {
		return received{}, ofFault(err, e.timeout, e.maxBytes)
	}
	defer response.Body.Close()
	body, err := readAll(response.Body, e.maxBytes)
	if err != nil {
		return received{}, ofFault(err, e.timeout, e.maxBytes)
	}
	return received{response.StatusCode, response.Header, body}, nil
}

// readAll reads a body that isn't too large. That of a compressed response is the uncompressed one.
func readAll(body io.Reader, maxBytes int32) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(body, int64(maxBytes)+1))
	if err == nil && len(content) > int(maxBytes) {
		err = errTooLarge
	}
	return content, err
}
