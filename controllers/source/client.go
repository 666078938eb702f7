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
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"time"

	"github.com/traas-stack/altershield-operator/controllers/platform/oneline"
)

// TLS is how a connection is secured.
type TLS struct {
	// Authority is trusted; nil for the public ones.
	Authority *x509.CertPool
	// ServerName is the name in the certificate of the server, empty for that of the address.
	ServerName string
	// Certificate is sent to a server that asks for one, nil for none.
	Certificate *tls.Certificate
}

func (t TLS) config() *tls.Config {
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: t.Authority, ServerName: t.ServerName}
	if t.Certificate != nil {
		config.Certificates = []tls.Certificate{*t.Certificate}
	}
	return config
}

// Client returns a client that connects only where the guard permits. It speaks HTTP/1.1, which closes a connection without an answer: one of HTTP/2 stays
// in use for a quarter of an hour after its other end is gone.
func (g Guard) Client(secured TLS, timeout time.Duration, connections int) *http.Client {
	return &http.Client{
		// A redirect would carry the credentials elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:                  nil, // the guard would only see the proxy
			DialContext:            (&net.Dialer{Timeout: timeout, Control: g.control}).DialContext,
			TLSClientConfig:        secured.config(),
			TLSHandshakeTimeout:    timeout,
			MaxConnsPerHost:        connections,
			MaxIdleConnsPerHost:    connections,
			IdleConnTimeout:        90 * time.Second,
			MaxResponseHeaderBytes: maxHeader,
		},
	}
}

// Refused returns the message about the host at a place, such as "of spec.url", whose address the guard refused; empty if it refused none.
func Refused(fault error, place string) string {
	if refused, ok := errors.AsType[*refusal](fault); ok {
		return refused.of(place)
	}
	return ""
}

// Explain returns why a request has no usable response, without the address. late is the message for one that came too late.
func Explain(fault error, late string) string {
	return ExplainRedacted(fault, late, func(message string) string { return message })
}

// ExplainRedacted does the same for a request with secrets, which an error may repeat. They are removed before the message is cut.
func ExplainRedacted(fault error, late string, redact func(string) string) string {
	message := fault.Error()
	if timeout, ok := errors.AsType[net.Error](fault); ok && timeout.Timeout() {
		message = late
	} else if unresolved, ok := errors.AsType[*net.DNSError](fault); ok {
		message = fmt.Sprintf("the host %s can't be resolved", unresolved.Name)
	} else if broken, ok := errors.AsType[*net.OpError](fault); ok {
		message = fmt.Sprintf("%s: %s", broken.Op, broken.Err)
	} else if asked, ok := errors.AsType[*url.Error](fault); ok {
		message = unquoted(asked.Err)
	}
	return oneline.Of(redact(message), maxMessage)
}

// unquoted returns the message of an error without what a server sent: package http quotes what it can't read, and repeats a line of a header as it is.
func unquoted(err error) string {
	if _, ok := errors.AsType[textproto.ProtocolError](err); ok {
		return "the answer has a malformed header"
	}
	message := err.Error()
	if strings.HasPrefix(message, "net/http: HTTP/1.x transport connection broken: ") || strings.HasPrefix(message, "failed to parse Location header ") {
		message, _, _ = strings.Cut(message, ` "`)
	}
	return message
}

// NoAnswer returns the message that something gave no answer within a time, with the error of the last try if there is one. Such an error is one of
// the API server, and has no address.
func NoAnswer(of string, within time.Duration, last error) string {
	message := fmt.Sprintf("%s: no answer within %s", of, within)
	if last == nil {
		return message
	}
	return message + ": " + Explain(last, "the API server answered too late")
}
