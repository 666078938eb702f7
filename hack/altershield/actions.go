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
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Last tags of batches.
const (
	TagLast    = "last"
	TagNotLast = "not_last"
)

const (
	scenarioDaily     = "00"
	scenarioEmergency = "01"
	// statusInit and statusRunning are the only statuses that an order ever has.
	statusInit    = "INIT"
	statusRunning = "RUNNING"
)

// submitted is the answer to a submitted order.
type submitted struct {
	OrderID string `json:"orderId"`
	URL     string `json:"url"`
}

// notified is the answer to a start or finish notify.
type notified struct {
	NodeID    string `json:"nodeId"`
	SkipCheck bool   `json:"skipCheck"`
	URL       string `json:"url"`
}

func (s *Server) submitOrder(r orderRequest) reply {
	scenario := scenarioDaily
	if r.ChangeScenarioCode != nil {
		scenario = *r.ChangeScenarioCode
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.ChangeSceneKey != DefaultScene:
		return noScene(r.base)
	case !slices.Contains([]string{"XX", scenarioDaily, scenarioEmergency, "10", "12", "13", "30"}, scenario):
		return refusal(codeIllegalArgument, "unknown change scenario: "+scenario)
	case slices.ContainsFunc(r.ChangePhases, unknownPhase):
		return refusal(codeIllegalArgument, "unknown change phase: "+strings.Join(r.ChangePhases, ","))
	case s.order(r.base) != nil:
		return exception(codeDuplicateOrder, insertOrder, duplicate, r.Platform, r.BizExecOrderID)
	}
	if refused, is := refusedOrder(r); is {
		return refused
	}
	made := &order{
		Order: Order{
			BizExecOrderID:  r.BizExecOrderID,
			ID:              newID(),
			Platform:        r.Platform,
			Tenant:          tenant,
			Title:           r.ChangeTitle,
			ChangeParamJSON: r.ChangeParamJSON,
			ChangeApps:      r.ChangeApps,
			Status:          statusInit,
			Submitted:       time.Now(),
		},
		emergency: scenario == scenarioEmergency,
	}
	for _, content := range r.ChangeContents {
		made.InstanceNames = append(made.InstanceNames, content.InstanceName)
	}
	s.orders = append(s.orders, made)
	return success(submitted{OrderID: made.ID, URL: made.ID})
}

// startBatch creates a node at each call, also for the same batch.
func (s *Server) startBatch(r startRequest) reply {
	if refused, is := s.orderOf(r.base); is {
		return refused
	}
	if refused, is := s.refusedBatch(r); is {
		return refused
	}
	return s.start(r.startOrderRequest, Node{
		BatchNo:                   int(*r.BatchNo),
		TotalBatchNum:             int(*r.TotalBatchNum),
		LastBatchInChangePhaseTag: tag(r.IsLastBatchInChangePhaseTag),
		LastBatchTag:              tag(r.IsLastBatchTag),
		ChangePhase:               r.ChangePhase,
		Locations:                 set(r.EffectiveTargetLocations),
	})
}

// startOrder creates a node for the order as a whole at each call.
func (s *Server) startOrder(r startOrderRequest) reply {
	if refused, is := s.orderOf(r.base); is {
		return refused
	}
	return s.start(r, Node{OfOrder: true})
}

// start creates a node and begins its PRE check.
func (s *Server) start(r startOrderRequest, content Node) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	parent := s.order(r.base)
	content.ID, content.BizExecOrderID, content.State, content.Started = newID(), r.BizExecOrderID, "PRE_AOP_SUBMIT", time.Now()
	made := &node{Node: content, order: parent, emergency: r.Emergency || parent.emergency}
	s.nodes = append(s.nodes, made)
	parent.Status = statusRunning
	answer := success(notified{NodeID: made.ID})
	answer.nodeID = made.ID
	answer.wait = s.begin(made, StagePre)
	return answer
}

// orderOf returns the error for a check without an order or a scene.
func (s *Server) orderOf(r base) (reply, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.order(r) == nil:
		return noOrder(r), true
	case r.ChangeSceneKey != DefaultScene:
		return noScene(r), true
	}
	return reply{}, false
}

// finishBatch begins the POST check if the state of the node allows it. It answers skipCheck in any case.
func (s *Server) finishBatch(r finishRequest) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	finished := s.node(r.NodeID)
	switch {
	case r.ChangeSceneKey != DefaultScene:
		return noScene(r.base)
	case finished == nil:
		return noNode()
	}
	finished.FinishCalls++
	answer := success(notified{NodeID: finished.ID, SkipCheck: true})
	switch finished.State {
	case "PRE_AOP_FINISH", "PRE_AOP_TIMEOUT":
		finished.State = "POST_AOP_SUBMIT"
		if r.EffectiveTargetLocations != nil {
			finished.Locations = set(r.EffectiveTargetLocations)
		}
		answer.wait = s.begin(finished, StagePost)
	case "POST_AOP_FINISH", "POST_AOP_TIMEOUT":
		// The trap of v1.0: the state is reset, but no check follows.
		finished.State = "POST_AOP_SUBMIT"
	default:
		return unsupported(finished)
	}
	return answer
}

// progress is the answer to a poll: finished whether or not the check has ended, and always without rules.
type progress struct {
	Finished bool          `json:"finished"`
	Verdict  polledVerdict `json:"verdict"`
	URL      string        `json:"url"`
}

type polledVerdict struct {
	Verdict   string  `json:"verdict"`
	Rollback  bool    `json:"rollback"`
	Emergency bool    `json:"emergency"`
	AllFinish bool    `json:"allFinish"`
	Message   *string `json:"msg"`
	NodeID    *string `json:"nodeId"`
	URL       *string `json:"url"`
	Rules     any     `json:"rules"`
	CheckPass bool    `json:"checkPass"`
}

func (s *Server) retrieveCheck(r checkRequest) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	polled := s.node(r.NodeID)
	switch {
	case r.ChangeSceneKey != DefaultScene:
		return noScene(r.base)
	case polled == nil:
		return noNode()
	}
	polled.PollCalls++
	pass := *polled.passed(Stage(r.DefenseStage))
	return success(progress{
		Finished: true,
		Verdict:  polledVerdict{Verdict: verdictText(pass), AllFinish: true, CheckPass: pass},
		URL:      polled.ID,
	})
}

// finishOrder records the state and does nothing else, like v1.0: the order stays RUNNING. A missing scene causes a null pointer exception.
func (s *Server) finishOrder(r finishOrderRequest) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	finished := s.order(r.base)
	switch {
	case finished == nil:
		return noOrder(r.base)
	case r.ChangeSceneKey != DefaultScene:
		return refusal(codeSystemError, "java.lang.NullPointerException: null")
	}
	finished.Finishes = append(finished.Finishes, Finish{State: r.FinishState, Message: r.Message, Time: time.Now()})
	return success(nil)
}

func (s *Server) heartbeat(r *http.Request, _ []byte) reply {
	if message := s.denial(r, signedQuery(r)); message != "" {
		return refusal(codeDenied, message)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return success(map[string]string{
		"OPSCLOUD_CLIENT_SWITCH_CHG_SRV_CHECK":         strconv.FormatBool(s.switchOn),
		"OPSCLOUD_CLIENT_SWITCH_OFF_CHANGE_SCENE_KEYS": s.scenesOff,
	})
}

func noOrder(r base) reply {
	return refusal(codeIllegalArgument, fmt.Sprintf("none order found for platform:%s, bizExecOrderId:%s", r.Platform, r.BizExecOrderID))
}

func noScene(r base) reply {
	return refusal(codeIllegalArgument, "none change scene found for changeSceneKey:"+r.ChangeSceneKey)
}

func noNode() reply { return refusal(codeNotSupported, "node not found") }

func unsupported(in *node) reply {
	return refusal(codeNotSupported, fmt.Sprintf(
		"402:[402:change service dose not support this operate]unsupported operation in %s, nodeId=%s", in.State, in.ID))
}

func unknownPhase(phase string) bool {
	return !slices.Contains([]string{"dev_phase", "sim_phase", "pre_phase", "gray_phase", "prod_beta_phase", "prod_phase"}, phase)
}

// newID returns an id of the length of the server's ids.
func newID() string {
	random := make([]byte, 18)
	_, _ = rand.Read(random)
	return hex.EncodeToString(random)
}

func tag(given *string) string {
	if given == nil {
		return TagNotLast
	}
	return *given
}

// set removes duplicates, as the server's type does.
func set(locations []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(locations)))
}
