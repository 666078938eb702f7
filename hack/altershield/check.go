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
	"time"
)

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
