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
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/traas-stack/altershield-operator/controllers/verifier/altershield"
)

// The calls that the server serves: POSTs by the last part of their path, and the heartbeat.
const (
	ActionSubmitOrder   = "submitChangeExecOrder"
	ActionStartOrder    = "submitChangeExecOrderStartNotify"
	ActionStartBatch    = "submitChangeExecBatchStartNotify"
	ActionFinishBatch   = "submitChangeFinishNotify"
	ActionRetrieveCheck = "retrieveChangeCheck"
	ActionFinishOrder   = "finishChangeExecOrderAction"
	ActionHeartbeat     = "heartbeat"
)

// Result codes of v1.0.
const (
	codeSuccess         = "000"
	codeIllegalArgument = "101"
	codeDenied          = "102"
	codeNotSupported    = "103"
	codeDuplicateOrder  = "106"
	codeSystemError     = "901"
)

const jsonType = "application/json"

// envelope is the format of every answer; nulls are written.
type envelope struct {
	Success    bool    `json:"success"`
	ResultCode string  `json:"resultCode"`
	Message    *string `json:"msg"`
	Domain     any     `json:"domain"`
}

// reply is an answer, with details for the record of the call.
type reply struct {
	status        int
	contentType   string
	body          []byte
	code, message string
	// nodeID is the node that a start notify created.
	nodeID string
	// wait delays the answer until the channel is closed.
	wait <-chan struct{}
}

func success(domain any) reply {
	return enveloped(envelope{Success: true, ResultCode: codeSuccess, Domain: domain})
}

// refusal returns a business error, which has HTTP status 200.
func refusal(code, message string) reply {
	answer := enveloped(envelope{ResultCode: code, Message: &message})
	answer.message = message
	return answer
}

func enveloped(content envelope) reply {
	return reply{status: http.StatusOK, contentType: jsonType, body: encode(content), code: content.ResultCode}
}

// unreadable returns Spring's answer to a body that isn't JSON of the right types.
func unreadable(err error) reply {
	body := encode(map[string]any{"status": http.StatusBadRequest, "error": "Bad Request"})
	return reply{status: http.StatusBadRequest, contentType: jsonType, body: body, message: err.Error()}
}

// write writes an answer. Write errors are ignored: the client is gone.
func (a reply) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", a.contentType)
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
}

// encode returns compact JSON as the server's libraries write it: without HTML escapes and without a final newline.
func encode(value any) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}

// post returns the endpoint of an action, with the steps in the order of the server: JSON, validation, authentication, the action.
func post[R any](s *Server, action string, act func(R) reply) http.HandlerFunc {
	return s.endpoint(action, func(r *http.Request, body []byte) reply {
		var content R
		if err := decode(body, &content); err != nil {
			return unreadable(err)
		}
		if problems := problems(content); len(problems) > 0 {
			return refusal(codeIllegalArgument, strings.Join(problems, "\n"))
		}
		if message := s.denial(r, body); message != "" {
			return refusal(codeDenied, message)
		}
		return act(content)
	})
}

// endpoint records a call and answers it, or applies a fault.
func (s *Server) endpoint(action string, process func(*http.Request, []byte) reply) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		index, fault := s.receive(action, body)
		if fault.Kind == FaultDown || fault.Kind == FaultHang && !s.pause(r.Context(), fault.Delay) {
			s.settle(index, reply{})
			panic(http.ErrAbortHandler)
		}
		answer, instead := fault.reply()
		if instead {
			s.settle(index, answer)
		} else {
			answer = process(r, body)
			call := s.settle(index, answer)
			if answer.wait != nil {
				select {
				case <-answer.wait:
				case <-r.Context().Done():
				}
			}
			s.options.OnCall(call)
		}
		if fault.Kind == FaultDrop {
			if fault.Delay > 0 {
				s.pause(r.Context(), fault.Delay)
			}
			panic(http.ErrAbortHandler)
		}
		answer.write(w)
	}
}

// receive records a call, and takes the fault for it.
func (s *Server) receive(action string, body []byte) (int, Fault) {
	var names struct {
		BizExecOrderID string `json:"bizExecOrderId"`
		NodeID         string `json:"nodeId"`
		Stage          Stage  `json:"defenseStage"`
	}
	// Unreadable fields stay empty: the action decides whether they are required.
	_ = json.Unmarshal(body, &names)
	s.mu.Lock()
	defer s.mu.Unlock()
	fault, _ := s.take(action, callFaults()...)
	s.calls = append(s.calls, Call{
		Action:         action,
		BizExecOrderID: names.BizExecOrderID,
		NodeID:         names.NodeID,
		Stage:          names.Stage,
		Fault:          fault.Kind,
		Time:           time.Now(),
	})
	return len(s.calls) - 1, fault
}

// settle records the answer to a call.
func (s *Server) settle(index int, answer reply) Call {
	s.mu.Lock()
	call := &s.calls[index]
	call.HTTPStatus, call.ResultCode, call.Message = answer.status, answer.code, answer.message
	if answer.nodeID != "" {
		call.NodeID = answer.nodeID
	}
	settled := *call
	s.mu.Unlock()
	s.log.Print(settled)
	return settled
}

const denied = "authentication request fail"

// denial returns the reason why a request isn't authentic, "" if it is. The server signs the body without its line ends, and the
// timestamp as the number that it parses.
func (s *Server) denial(r *http.Request, content []byte) string {
	caller := r.Header.Get(altershield.HeaderPlatform)
	timestamp := r.Header.Get(altershield.HeaderTimestamp)
	sign := r.Header.Get(altershield.HeaderSign)
	if strings.TrimSpace(caller) == "" || strings.TrimSpace(timestamp) == "" || strings.TrimSpace(sign) == "" {
		return denied
	}
	number, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil {
		return denied + " For input string: " + strconv.Quote(timestamp)
	}
	if s.options.SkipAuth {
		return ""
	}
	content = bytes.ReplaceAll(bytes.ReplaceAll(content, []byte("\r"), nil), []byte("\n"), nil)
	if caller != platform || s.options.Token == "" || len(bytes.TrimSpace(content)) == 0 ||
		sign != altershield.Sign(strconv.FormatInt(number, 10), content, s.options.Token) {
		return denied
	}
	return ""
}

// signedQuery returns the text that a GET signs: its parameters as JSON with sorted names.
func signedQuery(r *http.Request) []byte {
	parameters := map[string]string{}
	for name, values := range r.URL.Query() {
		parameters[name] = values[0]
	}
	return encode(parameters)
}
