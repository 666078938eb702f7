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
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Call is a call that was received.
type Call struct {
	Action         string
	BizExecOrderID string
	// NodeID is the node that the call names, or that it created.
	NodeID string
	// Stage is the stage that a poll asks for.
	Stage Stage
	// HTTPStatus, ResultCode and Message are the answer; they are empty before it. A call whose answer was dropped has
	// the answer that it would have got.
	HTTPStatus int
	ResultCode string
	Message    string
	// Fault is the fault that was applied.
	Fault FaultKind
	Time  time.Time
}

// Callback is a callback that was sent.
type Callback struct {
	BizExecOrderID string `json:"bizExecOrderId"`
	NodeID         string `json:"nodeId"`
	Stage          Stage  `json:"stage"`
	// Verdict is "pass" or "fail".
	Verdict string `json:"verdict"`
	// Body is the body that was sent.
	Body string `json:"body"`
	// Attempts is how often it was sent: more than once only if the peer closed the connection without an answer.
	Attempts int `json:"attempts"`
	// HTTPStatus and Answer are the answer, Error the reason if there is none.
	HTTPStatus int       `json:"httpStatus,omitempty"`
	Answer     string    `json:"answer,omitempty"`
	Error      string    `json:"error,omitempty"`
	Time       time.Time `json:"time"`
}

// Finish is a reported end of an order.
type Finish struct {
	State   string    `json:"state"`
	Message string    `json:"message,omitempty"`
	Time    time.Time `json:"time"`
}

// Order is a change order.
type Order struct {
	BizExecOrderID string `json:"bizExecOrderId"`
	ID             string `json:"id"`
	Platform       string `json:"platform"`
	Tenant         string `json:"tenant"`
	// Status is RUNNING as soon as a batch has started, and stays so whatever end is reported.
	Status          string    `json:"status"`
	Title           string    `json:"title"`
	ChangeParamJSON string    `json:"changeParamJson"`
	ChangeApps      []string  `json:"changeApps,omitempty"`
	InstanceNames   []string  `json:"instanceNames,omitempty"`
	Submitted       time.Time `json:"submitted"`
	Finishes        []Finish  `json:"finishes,omitempty"`
}

// Node is a batch of an order, or the order as a whole. Each start notify creates one.
type Node struct {
	ID             string `json:"id"`
	BizExecOrderID string `json:"bizExecOrderId"`
	// OfOrder reports whether the node is the order as a whole, which has no batch and no locations.
	OfOrder                   bool     `json:"ofOrder,omitempty"`
	BatchNo                   int      `json:"batchNo"`
	TotalBatchNum             int      `json:"totalBatchNum"`
	LastBatchInChangePhaseTag string   `json:"isLastBatchInChangePhaseTag"`
	LastBatchTag              string   `json:"isLastBatchTag"`
	ChangePhase               string   `json:"changePhase"`
	Locations                 []string `json:"locations"`
	// State is the server's name of the state, such as PRE_AOP or POST_AOP_FINISH.
	State string `json:"state"`
	// PrePass and PostPass are the answers to polls.
	PrePass     bool       `json:"prePass"`
	PostPass    bool       `json:"postPass"`
	FinishCalls int        `json:"finishCalls"`
	PollCalls   int        `json:"pollCalls"`
	Started     time.Time  `json:"started"`
	Callbacks   []Callback `json:"callbacks,omitempty"`
}

// order and node add the internal state of the server.
type order struct {
	Order
	emergency bool
}

type node struct {
	Node
	order     *order
	emergency bool
}

// Orders returns the orders in the order of their submission.
func (s *Server) Orders() []Order {
	s.mu.Lock()
	defer s.mu.Unlock()
	shown := make([]Order, 0, len(s.orders))
	for _, order := range s.orders {
		shown = append(shown, order.Order)
	}
	return shown
}

// Nodes returns the nodes of all orders in the order of their start.
func (s *Server) Nodes() []Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	shown := make([]Node, 0, len(s.nodes))
	for _, node := range s.nodes {
		shown = append(shown, node.Node)
	}
	return shown
}

// Calls returns all calls in the order of their receipt.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Call{}, s.calls...)
}

// order returns the order that a request names. The caller holds the lock.
func (s *Server) order(named base) *order {
	for _, order := range s.orders {
		if order.Platform == named.Platform && order.BizExecOrderID == named.BizExecOrderID {
			return order
		}
	}
	return nil
}

// node returns a node by its id. The caller holds the lock.
func (s *Server) node(id string) *node {
	for _, node := range s.nodes {
		if node.ID == id {
			return node
		}
	}
	return nil
}

// passed returns the flag of a stage.
func (n *node) passed(stage Stage) *bool {
	if stage == StagePre {
		return &n.PrePass
	}
	return &n.PostPass
}

// String returns a log line.
func (c Call) String() string {
	text := fmt.Sprintf("%s  order %s  node %s  stage %s  -> HTTP %d  %s  %s",
		c.Action, cmp.Or(c.BizExecOrderID, "-"), cmp.Or(c.NodeID, "-"), cmp.Or(c.Stage, "-"), c.HTTPStatus, cmp.Or(c.ResultCode, "-"), c.Message)
	if c.Fault != "" {
		text += "  fault " + string(c.Fault)
	}
	return line(text)
}

// String returns a log line.
func (c Callback) String() string {
	answer := c.Error
	if answer == "" {
		answer = "HTTP " + strconv.Itoa(c.HTTPStatus) + "  " + c.Answer
	}
	return line(fmt.Sprintf("callback %s %s  order %s  node %s  -> %s", c.Stage, c.Verdict, c.BizExecOrderID, c.NodeID, answer))
}

func line(text string) string { return strings.ReplaceAll(strings.TrimSpace(text), "\n", "; ") }
