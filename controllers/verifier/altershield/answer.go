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
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"github.com/traas-stack/altershield-operator/controllers/platform/oneline"
)

// Values of resultCode with a meaning beyond their class.
const (
	codeUnauthorized = "102"
	codeUnsupported  = "103"
	codeBusy         = "104"
	codeDuplicate    = "106"
	codeException    = "901"
)

// Parts of messages that identify an exception.
const (
	sayingTooLong  = "Data too long"
	sayingDeadlock = "Deadlock"
)

// maxID is the maximum length of an ID of the server, in bytes.
const maxID = 256

// envelope wraps every answer. Success decides, as resultCode may be null in a successful one.
type envelope struct {
	Success bool            `json:"success"`
	Code    text            `json:"resultCode"`
	Message text            `json:"msg"`
	Domain  json.RawMessage `json:"domain"`
}

// answer is the domain of an answer.
type answer interface {
	// validate returns an error that completes the sentence "The server answered the call ...".
	validate() error
}

// read evaluates an answer.
func read(call call, status int, content []byte, into answer) (result, error) {
	unusable := func(how string) error {
		return &Error{Call: call.action(), Kind: KindUnusable, Message: how}
	}
	switch {
	case status == http.StatusBadRequest || status == http.StatusRequestEntityTooLarge:
		return "", &Error{
			Call: call.action(), Kind: KindRefused, Code: fmt.Sprintf("HTTP %d", status), Message: http.StatusText(status), err: KindRefused.reason(),
		}
	case status != http.StatusOK:
		return "", unusable(strings.TrimSpace(fmt.Sprintf("with HTTP %d %s", status, http.StatusText(status))))
	case len(content) > maxAnswer:
		return "", unusable(fmt.Sprintf("with more than %d bytes", maxAnswer))
	case len(bytes.TrimSpace(content)) == 0:
		return "", unusable("with an empty body")
	}
	said := envelope{}
	if err := json.Unmarshal(content, &said); err != nil {
		return "", unusable("with invalid JSON")
	}
	if !said.Success {
		return said.judge(call)
	}
	if into == nil {
		return resultOK, nil
	}
	if err := json.Unmarshal(said.domain(), into); err != nil {
		return "", unusable("with an unexpected domain")
	}
	if err := into.validate(); err != nil {
		return "", unusable(err.Error())
	}
	return resultOK, nil
}

func (e envelope) domain() []byte {
	if len(e.Domain) == 0 {
		return []byte("null")
	}
	return e.Domain
}

// judge evaluates an answer without success.
func (e envelope) judge(call call) (result, error) {
	kind := KindFailed
	switch {
	case call == orderOpen && e.Code == codeDuplicate:
		return resultExists, nil
	case call == checkFinish && e.Code == codeUnsupported && e.isAfterwards():
		return resultAccepted, nil
	case call == checkFinish && e.Code == codeUnsupported && e.isBefore():
		kind = KindNotYet
	case e.Code == codeUnauthorized:
		kind = KindUnauthorized
	case len(e.Code) == 3 && e.Code[0] == '1' && e.Code != codeBusy, e.isException(sayingTooLong):
		kind = KindRefused
	case e.isException(sayingDeadlock):
		kind = KindDeadlock
	}
	return "", &Error{
		Call: call.action(), Kind: kind, Code: oneline.Of(string(e.Code), maxMessage), Message: cause(string(e.Message), maxMessage), err: kind.reason(),
	}
}

// isException reports whether the message of an exception contains a text. All exceptions have the same code, permanent or not.
func (e envelope) isException(saying string) bool {
	return e.Code == codeException && strings.Contains(string(e.Message), saying)
}

// isAfterwards reports whether the check after the batch has begun already.
func (e envelope) isAfterwards() bool {
	return e.names(func(state string) bool { return strings.HasPrefix(state, "POST_AOP") })
}

// isBefore reports whether the check before the batch still runs, unlike in states such as PRE_AOP_FINISH.
func (e envelope) isBefore() bool {
	return e.names(func(state string) bool { return state == "PRE_AOP" || state == "PRE_AOP_SUBMIT" })
}

// names reports whether the message contains a wanted state, as there is no field for it.
func (e envelope) names(wanted func(state string) bool) bool {
	words := strings.FieldsFunc(string(e.Message), func(character rune) bool {
		return character != '_' && !unicode.IsLetter(character) && !unicode.IsDigit(character)
	})
	return slices.ContainsFunc(words, wanted)
}

// kindOf returns the kind of an error; empty for nil.
func kindOf(err error) Kind {
	if failure, ok := errors.AsType[*Error](err); ok {
		return failure.Kind
	}
	return ""
}

// ordered is the answer to orderOpen. The operator only shows the ID.
type ordered struct {
	OrderID text `json:"orderId"`
}

func (o ordered) validate() error { return checkLength("an orderId", o.OrderID) }

// begun is the answer to checkBegin and orderBegin.
type begun struct {
	NodeID text `json:"nodeId"`
}

func (b begun) validate() error {
	if b.NodeID == "" {
		return errors.New("without a nodeId")
	}
	return checkLength("a nodeId", b.NodeID)
}

func checkLength(what string, id text) error {
	if len(id) <= maxID {
		return nil
	}
	return fmt.Errorf("with %s of more than %d bytes", what, maxID)
}

// progress is the answer to checkPoll.
type progress struct {
	Finished bool `json:"finished"`
	Verdict  struct {
		Verdict text `json:"verdict"`
	} `json:"verdict"`
}

func (progress) validate() error { return nil }

// passed reports whether the check has passed. No answer proves a failure: server v1.0 reports running and timed-out checks as failed.
func (p progress) passed() bool {
	return p.Finished && strings.EqualFold(string(p.Verdict.Verdict), "pass")
}
