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
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/traas-stack/altershield-operator/controllers/verifier/altershield"
)

const (
	// callbackType is not a valid media type, but v1.0 sends it.
	callbackType = "application/json;UTF-8"
	// maxAnswer is how many bytes of an answer are kept.
	maxAnswer = 64 << 10
	// maxAttempts is how often a callback is sent if the peer closes the connection.
	maxAttempts  = 4
	attemptPause = 10 * time.Millisecond
)

// callbackBody is the body of a callback. Its fields are sorted by name, as the server writes them.
type callbackBody struct {
	CallbackRequest callbackRequest `json:"callbackRequest"`
	ChangeCheckType string          `json:"changeCheckType"`
}

type callbackRequest struct {
	BizExecOrderID   string  `json:"bizExecOrderId"`
	ChangeSceneKey   string  `json:"changeSceneKey"`
	DefenseStageEnum Stage   `json:"defenseStageEnum"`
	NodeID           string  `json:"nodeId"`
	Verdict          verdict `json:"verdict"`
}

type verdict struct {
	AllFinish bool `json:"allFinish"`
	CheckPass bool `json:"checkPass"`
	Emergency bool `json:"emergency"`
	Rollback  bool `json:"rollback"`
	// Rules is absent after a timeout, and empty if there was no rule to check.
	Rules   []ruleResult `json:"rules,omitzero"`
	Verdict string       `json:"verdict"`
}

// message is a callback to send, and the faults to send it with.
type message struct {
	url, verdict          string
	body                  []byte
	times                 int
	lost, late, wrongSign bool
	delay                 time.Duration
}

// compose builds a callback, and takes the faults for it. The caller holds the lock.
func (s *Server) compose(checked *node, stage Stage, outcome verdict) message {
	composed := message{
		url:     s.callbackURL,
		verdict: outcome.Verdict,
		times:   1,
		body: encode(callbackBody{
			CallbackRequest: callbackRequest{
				BizExecOrderID:   checked.BizExecOrderID,
				ChangeSceneKey:   DefaultScene,
				DefenseStageEnum: stage,
				NodeID:           checked.ID,
				Verdict:          outcome,
			},
			ChangeCheckType: checked.checkType(),
		}),
	}
	if composed.url == "" {
		return composed
	}
	if _, on := s.take(checked.action(stage), FaultCallbackTwice); on {
		composed.times = 2
	}
	if late, on := s.take(checked.action(stage), FaultCallbackLate); on {
		composed.late, composed.delay = true, late.Delay
	}
	_, composed.lost = s.take(checked.action(stage), FaultCallbackLost)
	_, composed.wrongSign = s.take(checked.action(stage), FaultCallbackWrongSign)
	return composed
}

func (n *node) checkType() string {
	if n.OfOrder {
		return "CHANGE_ORDER"
	}
	return "CHANGE_BATCH"
}

// deliver sends a callback once. Whatever the answer, v1.0 doesn't retry; only if the peer closes the connection without an answer
// does its HTTP client, at once.
func (s *Server) deliver(checked *node, stage Stage, told message) {
	sent := Callback{
		BizExecOrderID: checked.BizExecOrderID,
		NodeID:         checked.ID,
		Stage:          stage,
		Verdict:        told.verdict,
		Body:           string(told.body),
		Time:           time.Now(),
	}
	var err error
	for again := true; again; again = isClosed(err) && sent.Attempts < maxAttempts && s.pause(s.ctx, attemptPause) {
		sent.Attempts++
		sent.HTTPStatus, sent.Answer, err = s.send(told)
	}
	if err != nil {
		sent.Error = err.Error()
	}
	s.mu.Lock()
	checked.Callbacks = append(checked.Callbacks, sent)
	s.mu.Unlock()
	s.log.Print(sent)
	s.options.OnCallback(sent)
}

// isClosed reports whether the peer closed the connection without an answer.
func isClosed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)
}

// send sends a callback with its headers, and reads the answer.
func (s *Server) send(told message) (int, string, error) {
	request, err := http.NewRequestWithContext(s.ctx, http.MethodPost, told.url, bytes.NewReader(told.body))
	if err != nil {
		return 0, "", err
	}
	timestamp := strconv.FormatInt(time.Now().UnixMilli(), 10)
	token := s.options.Token
	if told.wrongSign {
		token += "?"
	}
	request.Header.Set("Accept", callbackType)
	request.Header.Set("Content-Type", callbackType)
	request.Header.Set(altershield.HeaderPlatform, platform)
	request.Header.Set(altershield.HeaderTimestamp, timestamp)
	request.Header.Set(altershield.HeaderSign, altershield.Sign(timestamp, told.body, token))
	response, err := s.client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return response.StatusCode, "", fmt.Errorf("answer to the callback: %w", err)
	}
	return response.StatusCode, string(answer), nil
}

// Stage is a stage of the checks of a batch, or of a whole order.
type Stage string

// The stages: before and after the change.
const (
	StagePre  Stage = "PRE"
	StagePost Stage = "POST"
)

// action returns the notify that begins the check of a stage.
func (n *node) action(stage Stage) string {
	switch {
	case stage == StagePost:
		return ActionFinishBatch
	case n.OfOrder:
		return ActionStartOrder
	}
	return ActionStartBatch
}

// verdictText returns a verdict as callbacks and polls write it, which have no other values.
func verdictText(pass bool) string {
	if pass {
		return "pass"
	}
	return "fail"
}

// begin starts the check of a stage. If its callback is to precede the answer to the notify, the returned channel is closed once it
// was sent. The caller holds the lock.
func (s *Server) begin(checked *node, stage Stage) <-chan struct{} {
	if s.ctx.Err() != nil {
		return nil
	}
	checked.State = string(stage) + "_AOP"
	done := make(chan struct{})
	s.checks.Go(func() {
		defer close(done)
		s.check(checked, stage)
	})
	if _, early := s.take(checked.action(stage), FaultCallbackEarly); early {
		return done
	}
	return nil
}

// check runs the check of a stage for its delay, ends it, and sends the callback.
func (s *Server) check(checked *node, stage Stage) {
	begun := time.Now()
	delay := s.options.PreDelay
	if stage == StagePost {
		delay = s.options.PostDelay
	}
	if !s.pause(s.ctx, delay) {
		return
	}
	told := s.end(checked, stage, begun)
	switch {
	case told.url == "":
		return
	case told.lost:
		s.log.Printf("callback %s lost  order %s  node %s", stage, checked.BizExecOrderID, checked.ID)
		return
	case told.late && !s.pause(s.ctx, told.delay):
		return
	}
	for range told.times {
		s.deliver(checked, stage, told)
	}
}

// end ends a stage by the rules, or by a timeout if there is a fault for that, and composes its callback.
func (s *Server) end(checked *node, stage Stage, begun time.Time) message {
	s.mu.Lock()
	defer s.mu.Unlock()
	outcome := verdict{AllFinish: true}
	if _, timeout := s.take(checked.action(stage), FaultStageTimeout); timeout {
		// The callback of a timeout has the verdict pass, but the flag for polls isn't set.
		checked.State = string(stage) + "_AOP_TIMEOUT"
		outcome.CheckPass = true
	} else {
		checked.State = string(stage) + "_AOP_FINISH"
		outcome.Rules = s.apply(checked, stage, begun)
		outcome.CheckPass = allPass(outcome.Rules)
		*checked.passed(stage) = outcome.CheckPass
	}
	outcome.Verdict = verdictText(outcome.CheckPass)
	return s.compose(checked, stage, outcome)
}
