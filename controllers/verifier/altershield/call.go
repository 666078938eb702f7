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

package altershield

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/traas-stack/altershield-operator/controllers/platform/oneline"
	"github.com/traas-stack/altershield-operator/controllers/platform/tracing"
)

// call names a call in the metrics.
type call string

const (
	orderOpen     call = "order_open"
	orderBegin    call = "order_begin"
	orderClose    call = "order_close"
	checkBegin    call = "check_begin"
	checkFinish   call = "check_finish"
	checkPoll     call = "check_poll"
	heartbeatCall call = "heartbeat"
)

const (
	// agent is the User-Agent of the operator, and its name in orders.
	agent = "altershield-operator"
	// maxAnswer is the maximum size of an answer, in bytes.
	maxAnswer = 1 << 20
	// maxAnswerHeader is the maximum size of an answer's header, in bytes.
	maxAnswerHeader = 64 << 10
	// idleConnections is the number of idle connections that are kept.
	idleConnections = 16
)

// action returns the name of the call in the server's API.
func (c call) action() string {
	switch c {
	case orderOpen:
		return "submitChangeExecOrder"
	case orderBegin:
		return "submitChangeExecOrderStartNotify"
	case orderClose:
		return "finishChangeExecOrderAction"
	case checkBegin:
		return "submitChangeExecBatchStartNotify"
	case checkFinish:
		return "submitChangeFinishNotify"
	case checkPoll:
		return "retrieveChangeCheck"
	}
	return "heartbeat"
}

func (c call) path() string {
	if c == heartbeatCall {
		return "/openapi/v1/heartbeat/config"
	}
	return "/openapi/v1/exe/" + c.action()
}

// newHTTPClient returns a client that follows no redirects, as signatures are only for the server. The dialer has its own timeout,
// as Go continues to dial after the request has ended. It speaks HTTP/1.1, which closes a connection without an answer: one of HTTP/2
// stays in use for a quarter of an hour after its other end is gone.
func newHTTPClient(timeout time.Duration, tracer *tracing.Tracer) *http.Client {
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: tracer.Transport(&http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{Timeout: timeout}).DialContext,
			TLSHandshakeTimeout:    timeout,
			MaxIdleConnsPerHost:    idleConnections,
			IdleConnTimeout:        90 * time.Second,
			MaxResponseHeaderBytes: maxAnswerHeader,
		}),
	}
}

// exchange makes one attempt at a call and decodes the response into answer, which may be nil. signed is the body or, for a call with
// a query, the query.
func (c *Client) exchange(ctx context.Context, call call, query string, signed any, answer answer) (result, error) {
	request, fault := c.newRequest(ctx, call, query, signed)
	if fault != nil {
		return "", &Error{Call: call.action(), Kind: KindUnsent, Message: fault.Error(), err: fault}
	}
	start := c.clock.Now()
	status, content, fault := c.roundTrip(request)
	var outcome result
	var err error
	switch {
	case fault != nil && ctx.Err() != nil:
		err = &Error{Call: call.action(), Kind: KindCancelled, Message: ctx.Err().Error(), err: ctx.Err()}
	case fault != nil:
		err = &Error{Call: call.action(), Kind: KindUnreachable, Message: oneline.Of(c.describe(fault), maxMessage), err: fault}
	default:
		outcome, err = read(call, status, content, answer)
	}
	duration := c.clock.Since(start)
	c.metrics.observe(call, duration, kindOf(err))
	ctrl.LoggerFrom(ctx).V(1).Info("Called AlterShield Server", "call", call, "result", resultOf(outcome, err), "duration", duration.String())
	return outcome, err
}

// newRequest returns a signed request with either a query or a body.
func (c *Client) newRequest(ctx context.Context, call call, query string, signed any) (*http.Request, error) {
	token, err := c.Keyring.Token(c.clock.Now())
	if err != nil {
		return nil, err
	}
	content, err := compact(signed)
	if err != nil {
		return nil, fmt.Errorf("encoding the request: %w", err)
	}
	method, body := http.MethodPost, content
	if query != "" {
		method, body = http.MethodGet, nil
	}
	address := strings.TrimRight(c.config.Address, "/") + call.path() + query
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("building the request: %w", err)
	}
	timestamp := strconv.FormatInt(c.clock.Now().UnixMilli(), 10)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", agent)
	request.Header.Set(HeaderPlatform, c.config.Platform)
	request.Header.Set(HeaderTimestamp, timestamp)
	request.Header.Set(HeaderSign, Sign(timestamp, content, token))
	return request, nil
}

// roundTrip reads the whole response unless it is too long, so that the connection can be reused.
func (c *Client) roundTrip(request *http.Request) (status int, content []byte, err error) {
	ctx, cancel := context.WithTimeout(request.Context(), c.config.Timeout)
	defer cancel()
	response, err := c.http.Do(request.WithContext(ctx))
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	content, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	return response.StatusCode, content, err
}

// describe leaves out details that differ between failures of the same cause.
func (c *Client) describe(fault error) string {
	if late, ok := errors.AsType[net.Error](fault); ok && late.Timeout() {
		return fmt.Sprintf("no answer within %s", c.config.Timeout)
	}
	if broken, ok := errors.AsType[*net.OpError](fault); ok {
		withoutPort := *broken
		withoutPort.Source = nil
		return withoutPort.Error()
	}
	if asked, ok := errors.AsType[*url.Error](fault); ok {
		return asked.Err.Error()
	}
	return fault.Error()
}
