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
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/oneline"
)

// Kind is why a source gave no answer, as a reason in CamelCase.
type Kind string

// Kinds of failures.
const (
	// KindUnavailable: there is no answer, or not one of the API.
	KindUnavailable Kind = appv1alpha1.ReasonSourceUnavailable
	// KindThrottled: there were too many queries. Error.RetryAfter says how long to wait.
	KindThrottled Kind = appv1alpha1.ReasonSourceThrottled
	// KindUnauthorized: the source doesn't accept the credentials.
	KindUnauthorized Kind = appv1alpha1.ReasonUnauthorized
	// KindRefused: the operator doesn't connect to the address of the source.
	KindRefused Kind = appv1alpha1.ReasonAddressRefused
	// KindBadSecret: a Secret of the source is missing or unusable.
	KindBadSecret Kind = appv1alpha1.ReasonBadSecret
	// KindInvalid: the spec of the source is unusable.
	KindInvalid Kind = appv1alpha1.ReasonSourceInvalid
	// KindBadQuery: the query is refused. It won't be answered later either.
	KindBadQuery Kind = "BadQuery"
	// KindQueryFailed: the source couldn't make the query, for what it finds, or while a store behind it is away. It may be answered later.
	KindQueryFailed Kind = appv1alpha1.ReasonQueryFailed
	// KindTooLarge: the answer is larger than limits.maxBytes or limits.maxSeries.
	KindTooLarge Kind = "TooLarge"
	// KindPartial: a part of the source is away, so that series may be missing.
	KindPartial Kind = appv1alpha1.ReasonPartialAnswer
	// KindMissing: there is no such source.
	KindMissing Kind = appv1alpha1.ReasonSourceMissing
	// KindForbidden: the source may not be asked about the namespace.
	KindForbidden Kind = "NamespaceNotAllowed"
	// KindQueryRefused: the source may only be asked such a query if it keeps namespaces apart.
	KindQueryRefused Kind = "QueryNotAllowed"
)

const (
	// tooMany is the message of a source that wants a pause.
	tooMany = "the source refuses further queries for now (HTTP 429)"
	// maxMessage is the length of the largest message that is taken from a source.
	maxMessage = 256
	// defaultRetryAfter is the pause if a throttling source doesn't ask for one.
	defaultRetryAfter = 15 * time.Second
)

// Error is the failure of a query. Its message has at most 256 printable characters of the source, and no address of the network.
type Error struct {
	// Source is the name of the VerificationSource.
	Source string
	Kind   Kind
	// Message says what failed. It is the same for failures of the same cause.
	Message string
	// RetryAfter is how long to wait before the next query, if the kind is KindThrottled.
	RetryAfter time.Duration
	err        error
}

func (e *Error) Error() string { return fmt.Sprintf("VerificationSource %s: %s", e.Source, e.Message) }

func (e *Error) Unwrap() error { return e.err }

// Unsent reports whether nothing was sent, as the source wants a pause, or by its limits.
func (e *Error) Unsent() bool { return errors.Is(e, errNotSent) }

// kindOf returns the kind of an error, empty if it is none of a source.
func kindOf(err error) Kind {
	if failure, ok := errors.AsType[*Error](err); ok {
		return failure.Kind
	}
	return ""
}

// errTooLarge is the error of reading an answer beyond limits.maxBytes.
var errTooLarge = errors.New("the answer is too large")

// ofResponse returns the failure that an HTTP response reports, nil for one with an answer.
func ofResponse(status int, header http.Header, body []byte, now time.Time) *Error {
	switch {
	case status/100 == 2:
		return nil
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return &Error{Kind: KindUnauthorized, Message: fmt.Sprintf("the source doesn't accept the credentials (HTTP %d): see spec.auth", status)}
	case status == http.StatusTooManyRequests:
		return &Error{Kind: KindThrottled, Message: tooMany, RetryAfter: RetryAfter(header, now)}
	case status == http.StatusBadRequest:
		return &Error{Kind: KindBadQuery, Message: fmt.Sprintf("the source refuses the query (HTTP %d)%s", status, reported(body))}
	case status == http.StatusUnprocessableEntity:
		return &Error{Kind: KindQueryFailed, Message: fmt.Sprintf("the source couldn't make the query (HTTP %d)%s", status, reported(body))}
	case status/100 == 3:
		return &Error{Kind: KindUnavailable, Message: fmt.Sprintf("the source redirects (HTTP %d), which the operator doesn't follow: correct spec.url", status)}
	}
	return &Error{Kind: KindUnavailable, Message: fmt.Sprintf("the source failed (HTTP %d)%s", status, reported(body))}
}

// reported returns the message of an error of the Prometheus API; nothing of other bodies, which may hold anything.
func reported(body []byte) string {
	var answer struct {
		Status string `json:"status"`
		Error  string `json:"error"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Status != "error" || answer.Error == "" {
		return ""
	}
	return ": " + oneline.Of(answer.Error, maxMessage)
}

// RetryAfter returns the pause for which a response asks, in seconds or until a date.
func RetryAfter(header http.Header, now time.Time) time.Duration {
	wanted, pause := header.Get("Retry-After"), defaultRetryAfter
	if seconds, err := strconv.Atoi(wanted); err == nil {
		pause = time.Duration(min(seconds, int(appv1alpha1.MaxRetryAfter/time.Second))) * time.Second
	} else if date, err := http.ParseTime(wanted); err == nil {
		pause = date.Sub(now)
	}
	return min(max(pause, time.Second), appv1alpha1.MaxRetryAfter)
}

// ofFault returns the failure of a request without a usable response.
func ofFault(fault error, timeout time.Duration, maxBytes int32) *Error {
	if message := Refused(fault, "of spec.url"); message != "" {
		return &Error{Kind: KindRefused, Message: message, err: fault}
	}
	if errors.Is(fault, errTooLarge) {
		return &Error{Kind: KindTooLarge, Message: fmt.Sprintf("the answer has more than limits.maxBytes, %d bytes", maxBytes), err: fault}
	}
	late := fmt.Sprintf("no answer within limits.timeoutSeconds, %s", timeout)
	return &Error{Kind: KindUnavailable, Message: Explain(fault, late), err: fault}
}
