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
)

// What the server says in resultCode that means more than its class.
const (
	codeUnauthorized = "102"
	codeUnsupported  = "103"
	codeBusy         = "104"
	codeDuplicate    = "106"
	codeException    = "901"
)

// What only the message tells of an exception.
const (
	sayingTooLong  = "Data too long"
	sayingDeadlock = "Deadlock"
)

// maxID is how many bytes of the server's ids the operator keeps.
const maxID = 256

// envelope is what every answer comes in. success decides, as resultCode may be null in an answer that is one.
type envelope struct {
	Success bool            `json:"success"`
	Code    text            `json:"resultCode"`
	Message text            `json:"msg"`
	Domain  json.RawMessage `json:"domain"`
}

// answer is what the domain of an answer holds.
type answer interface {
	// lack says what is wrong with it, in words that follow "answered"; empty if it can be used.
	lack() string
}

// read says what an answer comes to.
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
		return "", unusable("with something else than its JSON")
	}
	if !said.Success {
		return said.judge(call)
	}
	if into == nil {
		return resultOK, nil
	}
	if err := json.Unmarshal(said.domain(), into); err != nil {
		return "", unusable("with a domain of another kind")
	}
	if lack := into.lack(); lack != "" {
		return "", unusable(lack)
	}
	return resultOK, nil
}

func (e envelope) domain() []byte {
	if len(e.Domain) == 0 {
		return []byte("null")
	}
	return e.Domain
}

// judge says what an answer without success comes to.
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
		Call: call.action(), Kind: kind, Code: clean(string(e.Code), maxMessage), Message: cause(string(e.Message), maxMessage), err: kind.reason(),
	}
}

// isException reports whether the server met an exception that says so: one that is met again each time has the same code as
// one that is not.
func (e envelope) isException(saying string) bool {
	return e.Code == codeException && strings.Contains(string(e.Message), saying)
}

// isAfterwards reports whether the check after the batch has begun already.
func (e envelope) isAfterwards() bool {
	return e.names(func(state string) bool { return strings.HasPrefix(state, "POST_AOP") })
}

// isBefore reports whether the check before the batch still runs. A state like PRE_AOP_FINISH says that it does not.
func (e envelope) isBefore() bool {
	return e.names(func(state string) bool { return state == "PRE_AOP" || state == "PRE_AOP_SUBMIT" })
}

// names looks for a state in the server's sentence, as there is no field for it.
func (e envelope) names(wanted func(state string) bool) bool {
	words := strings.FieldsFunc(string(e.Message), func(character rune) bool {
		return character != '_' && !unicode.IsLetter(character) && !unicode.IsDigit(character)
	})
	return slices.ContainsFunc(words, wanted)
}

// kindOf is empty without an error.
func kindOf(err error) Kind {
	if failure, ok := errors.AsType[*Error](err); ok {
		return failure.Kind
	}
	return ""
}

// ordered answers that there is an order. Its id is nothing that the operator needs.
type ordered struct {
	OrderID text `json:"orderId"`
}

func (o ordered) lack() string { return tooLong("an orderId", o.OrderID) }

// begun answers that a check has begun.
type begun struct {
	NodeID text `json:"nodeId"`
}

func (b begun) lack() string {
	if b.NodeID == "" {
		return "without a nodeId"
	}
	return tooLong("a nodeId", b.NodeID)
}

func tooLong(what string, id text) string {
	if len(id) <= maxID {
		return ""
	}
	return fmt.Sprintf("with %s of more than %d bytes", what, maxID)
}

// progress answers how far a check is.
type progress struct {
	Finished bool `json:"finished"`
	Verdict  struct {
		Verdict text `json:"verdict"`
	} `json:"verdict"`
}

func (progress) lack() string { return "" }

// passed is false where the check failed as well: server v1.0 says that of checks that still run or timed out.
func (p progress) passed() bool {
	return p.Finished && strings.EqualFold(string(p.Verdict.Verdict), "pass")
}
