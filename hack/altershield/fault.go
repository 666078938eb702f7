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
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// FaultKind is a kind of misbehaviour.
type FaultKind string

// Faults of calls. At most one of them applies to a call.
const (
	// FaultDown closes the connection without an answer; the call has no effect.
	FaultDown FaultKind = "down"
	// FaultHang delays the call and then answers it. If the client gives up first, the call has no effect.
	FaultHang FaultKind = "hang"
	// FaultRefuse answers with a result code and a message.
	FaultRefuse FaultKind = "refuse"
	// FaultStatus answers with an HTTP status.
	FaultStatus FaultKind = "status"
	// FaultEmpty answers 200 without a body.
	FaultEmpty FaultKind = "empty"
	// FaultHTML answers 200 with an HTML page, as a proxy would.
	FaultHTML FaultKind = "html"
	// FaultDrop processes the call and closes the connection without an answer.
	FaultDrop FaultKind = "drop"
)

// Faults of checks and their callbacks. Several may apply at once. Their action is the notify that begins the check.
const (
	// FaultCallbackTwice sends a callback twice.
	FaultCallbackTwice FaultKind = "callback-twice"
	// FaultCallbackLost doesn't send it.
	FaultCallbackLost FaultKind = "callback-lost"
	// FaultCallbackEarly sends it, and has it answered, before the notify is answered.
	FaultCallbackEarly FaultKind = "callback-early"
	// FaultCallbackLate sends it after an extra delay.
	FaultCallbackLate FaultKind = "callback-late"
	// FaultCallbackWrongSign signs it with another token.
	FaultCallbackWrongSign FaultKind = "callback-wrong-sign"
	// FaultStageTimeout makes a check time out: the callback has the verdict pass without rules, polls return fail.
	FaultStageTimeout FaultKind = "stage-timeout"
)

func callFaults() []FaultKind {
	return []FaultKind{FaultDown, FaultHang, FaultRefuse, FaultStatus, FaultEmpty, FaultHTML, FaultDrop}
}

func checkFaults() []FaultKind {
	return []FaultKind{
		FaultCallbackTwice, FaultCallbackLost, FaultCallbackEarly, FaultCallbackLate, FaultCallbackWrongSign, FaultStageTimeout,
	}
}

func actions() []string {
	return []string{ActionSubmitOrder, ActionStartOrder, ActionStartBatch, ActionFinishBatch, ActionRetrieveCheck, ActionFinishOrder, ActionHeartbeat}
}

// Fault is a misbehaviour of the server.
type Fault struct {
	Kind FaultKind `json:"kind"`
	// Actions are the calls that it applies to. None means all.
	Actions []string `json:"actions,omitempty"`
	// Remaining is how many times it applies. Zero means without limit.
	Remaining int `json:"remaining,omitempty"`
	// Code and Message are those of a refusal.
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	// HTTPStatus is for FaultStatus.
	HTTPStatus int `json:"httpStatus,omitempty"`
	// Delay is for FaultHang and FaultCallbackLate, where zero means forever, and for FaultDrop, where it means at once.
	Delay time.Duration `json:"delay,omitempty"`
}

// SetFault adds a fault. If several apply to a call, the oldest is used.
func (s *Server) SetFault(fault Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, fault)
}

// ClearFaults removes all faults. Hanging calls keep hanging.
func (s *Server) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// validate rejects a fault that could never apply.
func (f Fault) validate() error {
	if kinds := slices.Concat(callFaults(), checkFaults()); !slices.Contains(kinds, f.Kind) {
		return fmt.Errorf("kind %q is not one of %q", f.Kind, kinds)
	}
	for _, action := range f.Actions {
		if !slices.Contains(actions(), action) {
			return fmt.Errorf("action %q is not one of %q", action, actions())
		}
	}
	switch {
	case f.Kind == FaultRefuse && f.Code == "":
		return errors.New("a refusal needs a code")
	case f.Kind == FaultStatus && (f.HTTPStatus < http.StatusOK || f.HTTPStatus > 599):
		return errors.New("httpStatus is not from 200 to 599")
	case f.Remaining < 0 || f.Delay < 0:
		return errors.New("remaining or delay is negative")
	}
	return nil
}

// take returns the oldest fault of one of the kinds that applies to an action, and counts its use. The caller holds the lock.
func (s *Server) take(action string, kinds ...FaultKind) (Fault, bool) {
	found := slices.IndexFunc(s.faults, func(fault Fault) bool {
		return slices.Contains(kinds, fault.Kind) && (len(fault.Actions) == 0 || slices.Contains(fault.Actions, action))
	})
	if found < 0 {
		return Fault{}, false
	}
	fault := s.faults[found]
	switch fault.Remaining {
	case 0:
	case 1:
		s.faults = slices.Delete(s.faults, found, found+1)
	default:
		s.faults[found].Remaining--
	}
	return fault, true
}

// reply returns the answer of a fault that replaces the server's, if there is one.
func (f Fault) reply() (reply, bool) {
	page := reply{status: http.StatusOK, contentType: "text/html", body: []byte("<html><body>Welcome</body></html>")}
	switch f.Kind {
	case FaultRefuse:
		return refusal(f.Code, f.Message), true
	case FaultStatus:
		page.status = f.HTTPStatus
		page.body = []byte("<html><body>" + http.StatusText(f.HTTPStatus) + "</body></html>")
		return page, true
	case FaultEmpty:
		return reply{status: http.StatusOK, contentType: jsonType}, true
	case FaultHTML:
		return page, true
	default:
		return reply{}, false
	}
}
