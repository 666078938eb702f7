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
	"strconv"
	"strings"
	"time"
)

// Call is a call that was received.
type Call struct {
	Action         string `json:"action"`
	BizExecOrderID string `json:"bizExecOrderId,omitempty"`
	// NodeID is what the call names, or the node that it made.
	NodeID string `json:"nodeId,omitempty"`
	// Stage is what a poll asks about.
	Stage Stage `json:"stage,omitempty"`
	// HTTPStatus, ResultCode and Message are the answer; they are empty while there is none. A call whose answer was
	// dropped has the one that it would have got.
	HTTPStatus int    `json:"httpStatus,omitempty"`
	ResultCode string `json:"resultCode,omitempty"`
	Message    string `json:"message,omitempty"`
	// Fault is what went wrong on purpose.
	Fault FaultKind `json:"fault,omitempty"`
	Time  time.Time `json:"time"`
}

// Callback is a callback that was sent.
type Callback struct {
	BizExecOrderID string `json:"bizExecOrderId"`
	NodeID         string `json:"nodeId"`
	Stage          Stage  `json:"stage"`
	// Verdict is "pass" or "fail".
	Verdict string `json:"verdict"`
	// Body is what was sent.
	Body string `json:"body"`
	// Attempts is how often it was sent: again only to a peer that closed without an answer.
	Attempts int `json:"attempts"`
	// HTTPStatus and Answer are what came back, Error why nothing did.
	HTTPStatus int       `json:"httpStatus,omitempty"`
	Answer     string    `json:"answer,omitempty"`
	Error      string    `json:"error,omitempty"`
	Time       time.Time `json:"time"`
}

// Finish is an end that an order was said to have.
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
	// Status is RUNNING as soon as a batch has started, and stays so whatever end the order was said to have.
	Status          string    `json:"status"`
	Title           string    `json:"title"`
	ChangeParamJSON string    `json:"changeParamJson"`
	ChangeApps      []string  `json:"changeApps,omitempty"`
	InstanceNames   []string  `json:"instanceNames,omitempty"`
	Submitted       time.Time `json:"submitted"`
	Finishes        []Finish  `json:"finishes,omitempty"`
}

// Node is a batch of an order. Each start notify makes one.
type Node struct {
	ID                         string   `json:"id"`
	BizExecOrderID             string   `json:"bizExecOrderId"`
	BatchNo                    int      `json:"batchNo"`
	TotalBatchNum              int      `json:"totalBatchNum"`
	TotalBatchNumInChangePhase int      `json:"totalBatchNumInChangePhase"`
	LastBatchInChangePhaseTag  string   `json:"isLastBatchInChangePhaseTag"`
	LastBatchTag               string   `json:"isLastBatchTag"`
	ChangePhase                string   `json:"changePhase"`
	Locations                  []string `json:"locations"`
	// State is the server's name of the state, such as PRE_AOP or POST_AOP_FINISH.
	State string `json:"state"`
	// PrePass and PostPass are what polls answer.
	PrePass  bool `json:"prePass"`
	PostPass bool `json:"postPass"`
	// ChangeFailed reports whether the finish notify came with success false.
	ChangeFailed bool       `json:"changeFailed,omitempty"`
	FinishCalls  int        `json:"finishCalls"`
	PollCalls    int        `json:"pollCalls"`
	Started      time.Time  `json:"started"`
	Callbacks    []Callback `json:"callbacks,omitempty"`
}

// order and node are what the server knows beside what it shows.
type order struct {
	Order
	emergency bool
}

type node struct {
	Node
	order     *order
	emergency bool
}

// Orders are the orders, in the order of their submission.
func (s *Server) Orders() []Order {
	s.mu.Lock()
	defer s.mu.Unlock()
	shown := make([]Order, 0, len(s.orders))
	for _, order := range s.orders {
		shown = append(shown, order.Order)
	}
	return shown
}

// Nodes are the nodes of all orders, in the order of their start.
func (s *Server) Nodes() []Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	shown := make([]Node, 0, len(s.nodes))
	for _, node := range s.nodes {
		shown = append(shown, node.Node)
	}
	return shown
}

// Calls are all calls, in the order of their receipt.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Call{}, s.calls...)
}

// order finds the order that a request names; the caller holds the lock.
func (s *Server) order(named base) *order {
	for _, order := range s.orders {
		if order.Platform == named.Platform && order.BizExecOrderID == named.BizExecOrderID {
			return order
		}
	}
	return nil
}

// node finds a node; the caller holds the lock.
func (s *Server) node(id string) *node {
	for _, node := range s.nodes {
		if node.ID == id {
			return node
		}
	}
	return nil
}

// passed is the flag of a stage.
func (n *node) passed(stage Stage) *bool {
	if stage == StagePre {
		return &n.PrePass
	}
	return &n.PostPass
}

// String is a line for people.
func (c Call) String() string {
	text := fmt.Sprintf("%s  order %s  node %s  stage %s  -> HTTP %d  %s  %s",
		c.Action, dash(c.BizExecOrderID), dash(c.NodeID), dash(string(c.Stage)), c.HTTPStatus, dash(c.ResultCode), c.Message)
	if c.Fault != "" {
		text += "  fault " + string(c.Fault)
	}
	return line(text)
}

// String is a line for people.
func (c Callback) String() string {
	answer := c.Error
	if answer == "" {
		answer = "HTTP " + strconv.Itoa(c.HTTPStatus) + "  " + c.Answer
	}
	return line(fmt.Sprintf("callback %s %s  order %s  node %s  -> %s", c.Stage, c.Verdict, c.BizExecOrderID, c.NodeID, answer))
}

// line makes one line of what others have written.
func line(text string) string { return strings.ReplaceAll(strings.TrimSpace(text), "\n", "; ") }

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
