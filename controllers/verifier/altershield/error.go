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
	"fmt"

	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

// Kind is the reason of a failed call.
type Kind string

const (
	// KindUnsent means that the operator could not build the request, because its token is unreadable.
	KindUnsent Kind = "unsent"
	// KindCancelled means that the caller cancelled the call.
	KindCancelled Kind = "cancelled"
	// KindSkipped means that the call was not made, as the server didn't answer the previous ones.
	KindSkipped Kind = "skipped"
	// KindUnreachable means that the server didn't answer in time.
	KindUnreachable Kind = "unreachable"
	// KindUnusable means that the answer is not from AlterShield Server, or incomplete.
	KindUnusable Kind = "unusable"
	// KindFailed means that the server failed or is busy.
	KindFailed Kind = "failed"
	// KindDeadlock means that the server's database rolled the call back in favour of another one.
	KindDeadlock Kind = "deadlock"
	// KindRefused means that the server refused the call.
	KindRefused Kind = "refused"
	// KindUnauthorized means that the server doesn't accept the platform or its token.
	KindUnauthorized Kind = "unauthorized"
	// KindNotYet means that another check must end first.
	KindNotYet Kind = "not_yet"
)

// maxMessage is the maximum length of the server's message in an error, in characters.
const maxMessage = 512

// Error is the error of a call. It wraps verifier.ErrRefused, ErrUnauthorized or ErrNotYet if one of them applies; otherwise a retry
// may help. It never contains the token or a signature.
type Error struct {
	// Call is the name of the call in the server's API.
	Call string
	Kind Kind
	// Code is the server's resultCode, or the HTTP status; empty without an answer.
	Code string
	// Message is the message of the server, or describes the failure.
	Message string

	err error
}

func (e *Error) Error() string {
	said := e.Message
	if e.Code != "" {
		said = e.Code + ": " + e.Message
	}
	return fmt.Sprintf(e.Kind.format(), e.Call, said)
}

// Unwrap returns the error of package verifier, or the cause.
func (e *Error) Unwrap() error { return e.err }

// format returns a format for the call and the message.
func (k Kind) format() string {
	switch k {
	case KindUnsent:
		return "%s was not sent to AlterShield Server: %s"
	case KindCancelled:
		return "%s was cancelled before AlterShield Server answered: %s"
	case KindSkipped:
		return "AlterShield Server is not reachable (%[2]s); trying again in a moment"
	case KindUnreachable:
		return "AlterShield Server didn't answer %s: %s"
	case KindUnusable:
		return "AlterShield Server answered %s %s"
	case KindFailed, KindDeadlock:
		return "AlterShield Server failed at %s: %s"
	case KindUnauthorized:
		return "AlterShield Server rejected the credentials for %s: %s; compare --altershield-platform and the token with the server's"
	case KindNotYet:
		return "AlterShield Server can't accept %s yet: %s"
	}
	return "AlterShield Server refused %s: %s"
}

// reason returns the error of package verifier, nil if a retry may help.
func (k Kind) reason() error {
	switch k {
	case KindRefused:
		return verifier.ErrRefused
	case KindUnauthorized:
		return verifier.ErrUnauthorized
	case KindNotYet:
		return verifier.ErrNotYet
	}
	return nil
}

// isOutage reports whether the server is unreachable or not itself. A server that fails one call may handle others.
func (k Kind) isOutage() bool {
	return k == KindUnreachable || k == KindUnusable
}

// isNoAttempt reports whether the call provides no information about the server.
func (k Kind) isNoAttempt() bool {
	return k == KindUnsent || k == KindCancelled
}
