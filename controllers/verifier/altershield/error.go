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

// Kind says why a call was not done.
type Kind string

const (
	// KindUnsent is a request that the operator could not write, because its token can't be read.
	KindUnsent Kind = "unsent"
	// KindCancelled is a call whose caller didn't wait for the answer.
	KindCancelled Kind = "cancelled"
	// KindSkipped is a call that was not made, as the server didn't answer those before it.
	KindSkipped Kind = "skipped"
	// KindUnreachable means that no answer came, or none in time.
	KindUnreachable Kind = "unreachable"
	// KindUnusable is an answer that is not AlterShield Server's, or lacks what was asked for.
	KindUnusable Kind = "unusable"
	// KindFailed means that the server failed, or is busy.
	KindFailed Kind = "failed"
	// KindDeadlock means that the server's database gave the call up in favour of another, and that it left nothing behind.
	KindDeadlock Kind = "deadlock"
	// KindRefused means that the server will not do it.
	KindRefused Kind = "refused"
	// KindUnauthorized means that the server doesn't know the platform or its token.
	KindUnauthorized Kind = "unauthorized"
	// KindNotYet means that something else has to end first.
	KindNotYet Kind = "not_yet"
)

// maxMessage is how many characters of the server's an error takes.
const maxMessage = 512

// Error says what came of a call that was not done. It wraps verifier.ErrRefused, ErrUnauthorized or ErrNotYet where one of
// them applies; without them the call is worth another attempt. It never holds the token or a signature.
type Error struct {
	// Call is the call's name in the server's API.
	Call string
	Kind Kind
	// Code is the server's resultCode, or the HTTP status; empty without an answer.
	Code string
	// Message is what the server says, or what happened instead of an answer.
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

// Unwrap gives the reason that package verifier knows, or the cause.
func (e *Error) Unwrap() error { return e.err }

// format takes the call and what was said of it.
func (k Kind) format() string {
	switch k {
	case KindUnsent:
		return "%s was not sent to AlterShield Server: %s"
	case KindCancelled:
		return "%s was given up before AlterShield Server answered: %s"
	case KindSkipped:
		return "AlterShield Server is not reachable (%[2]s); trying again in a moment"
	case KindUnreachable:
		return "AlterShield Server didn't answer %s: %s"
	case KindUnusable:
		return "AlterShield Server answered %[2]s to %[1]s"
	case KindFailed, KindDeadlock:
		return "AlterShield Server failed at %s: %s"
	case KindUnauthorized:
		return "AlterShield Server doesn't let the operator use %s: %s; compare --altershield-platform and the token with the server's"
	case KindNotYet:
		return "AlterShield Server can't take %s yet: %s"
	}
	return "AlterShield Server refused %s: %s"
}

// reason is nil where another attempt may help.
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

// isOutage reports whether the server is not there, or not itself. One that fails at a call may do well at others.
func (k Kind) isOutage() bool {
	return k == KindUnreachable || k == KindUnusable
}

// isNoAttempt reports whether nothing was learnt of the server.
func (k Kind) isNoAttempt() bool {
	return k == KindUnsent || k == KindCancelled
}
