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
	"reflect"
	"slices"
	"strings"
)

// Maximum lengths in v1.0, in bytes.
const (
	maxPlatform   = 32
	maxOrderID    = 128
	maxPerson     = 128
	maxScene      = 256
	maxTitle      = 256
	maxURL        = 512
	maxFinishText = 16384
)

// request is the body of an action, with the checks of the server's bean validation.
type request interface {
	problems() problems
}

// base is in the body of every action.
type base struct {
	TenantCode     string `json:"tenantCode"`
	ChangeSceneKey string `json:"changeSceneKey"`
	BizExecOrderID string `json:"bizExecOrderId"`
	Platform       string `json:"platform"`
}

type orderRequest struct {
	base
	ChangeTitle        string    `json:"changeTitle"`
	ChangeURL          string    `json:"changeUrl"`
	Creator            string    `json:"creator"`
	ChangeScenarioCode *string   `json:"changeScenarioCode"`
	ChangePhases       []string  `json:"changePhases"`
	ChangeContents     []content `json:"changeContents"`
	ChangeParamJSON    string    `json:"changeParamJson"`
	ChangeApps         []string  `json:"changeApps"`
}

type content struct {
	InstanceName string `json:"instanceName"`
}

type startOrderRequest struct {
	base
	Executor  string `json:"executor"`
	Emergency bool   `json:"emergency"`
}

type startRequest struct {
	startOrderRequest
	BatchNo                     *number  `json:"batchNo"`
	TotalBatchNumInChangePhase  *number  `json:"totalBatchNumInChangePhase"`
	TotalBatchNum               *number  `json:"totalBatchNum"`
	IsLastBatchInChangePhaseTag *string  `json:"isLastBatchInChangePhaseTag"`
	IsLastBatchTag              *string  `json:"isLastBatchTag"`
	ChangePhase                 string   `json:"changePhase"`
	EffectiveTargetType         string   `json:"effectiveTargetType"`
	EffectiveTargetLocations    []string `json:"effectiveTargetLocations"`
}

type finishRequest struct {
	base
	NodeID                   string   `json:"nodeId"`
	Message                  string   `json:"msg"`
	EffectiveTargetLocations []string `json:"effectiveTargetLocations"`
}

type checkRequest struct {
	base
	NodeID       string    `json:"nodeId"`
	DefenseStage stageName `json:"defenseStage"`
}

type finishOrderRequest struct {
	base
	FinishState string `json:"finishState"`
	Message     string `json:"msg"`
}

func (b base) problems() problems {
	var found problems
	found.text("tenantCode", b.TenantCode, 0)
	found.text("changeSceneKey", b.ChangeSceneKey, maxScene)
	found.text("bizExecOrderId", b.BizExecOrderID, maxOrderID)
	found.text("platform", b.Platform, maxPlatform)
	return found
}

func (r orderRequest) problems() problems {
	found := r.base.problems()
	found.text("changeTitle", r.ChangeTitle, maxTitle)
	found.length("changeUrl", r.ChangeURL, maxURL)
	found.text("creator", r.Creator, maxPerson)
	if r.ChangeScenarioCode != nil {
		found.text("changeScenarioCode", *r.ChangeScenarioCode, 0)
	}
	found.notNull("changePhases", r.ChangePhases)
	found.text("changeParamJson", r.ChangeParamJSON, 0)
	return found
}

func (r startOrderRequest) problems() problems {
	found := r.base.problems()
	found.text("executor", r.Executor, maxPerson)
	return found
}

func (r startRequest) problems() problems {
	found := r.startOrderRequest.problems()
	found.notNegative("batchNo", r.BatchNo)
	found.notNegative("totalBatchNumInChangePhase", r.TotalBatchNumInChangePhase)
	found.notNegative("totalBatchNum", r.TotalBatchNum)
	found.tag("isLastBatchInChangePhaseTag", r.IsLastBatchInChangePhaseTag)
	found.text("changePhase", r.ChangePhase, 0)
	found.text("effectiveTargetType", r.EffectiveTargetType, 0)
	found.notNull("effectiveTargetLocations", r.EffectiveTargetLocations)
	return found
}

func (r finishRequest) problems() problems {
	found := r.base.problems()
	found.text("nodeId", r.NodeID, 0)
	found.length("msg", r.Message, maxFinishText)
	return found
}

func (r checkRequest) problems() problems {
	found := r.base.problems()
	found.text("nodeId", r.NodeID, 0)
	if r.DefenseStage == "" {
		found.add("defenseStage", "must not be null")
	}
	return found
}

func (r finishOrderRequest) problems() problems {
	found := r.base.problems()
	found.text("finishState", r.FinishState, 0)
	return found
}

// problems are lines of the form "field message".
type problems []string

func (p *problems) add(field, message string) { *p = append(*p, field+" "+message) }

// text requires a text that isn't blank. A limit of zero means none.
func (p *problems) text(field, value string, limit int) {
	if strings.TrimSpace(value) == "" {
		p.add(field, "must not be blank")
	}
	p.length(field, value, limit)
}

func (p *problems) length(field, value string, limit int) {
	if limit > 0 && len(value) > limit {
		p.add(field, fmt.Sprintf("must not be longer than %d bytes", limit))
	}
}

func (p *problems) notNull(field string, values []string) {
	if values == nil {
		p.add(field, "must not be null")
	}
}

// notNegative requires a number: the server reads a missing one as -1.
func (p *problems) notNegative(field string, value *number) {
	if value == nil || *value < 0 {
		p.add(field, "must be greater than or equal to 0")
	}
}

func (p *problems) tag(field string, value *string) {
	if value != nil && *value != TagLast && *value != TagNotLast {
		p.add(field, `must be "last" or "not_last"`)
	}
}

// number is an integer that may also be sent as text.
type number int

// UnmarshalJSON reads 5 and "5".
func (n *number) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(bytes.Trim(text, `"`), (*int)(n))
}

// stageName is the name of a stage; the server rejects any other text.
type stageName Stage

// UnmarshalJSON reads "PRE" and "POST".
func (n *stageName) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, (*string)(n)); err != nil {
		return err
	}
	if !slices.Contains([]stageName{"", stageName(StagePre), stageName(StagePost)}, *n) {
		return fmt.Errorf("%q is no defense stage", *n)
	}
	return nil
}

// decode reads a body as the server does: property names are case-sensitive, unlike in Go, and unknown ones
// are ignored.
func decode(body []byte, into any) error {
	var properties map[string]json.RawMessage
	if err := json.Unmarshal(body, &properties); err != nil {
		return err
	}
	if properties == nil {
		return errors.New("required request body is missing")
	}
	known := map[string]json.RawMessage{}
	for _, field := range reflect.VisibleFields(reflect.TypeOf(into).Elem()) {
		name := field.Tag.Get("json")
		if value, present := properties[name]; present {
			known[name] = value
		}
	}
	return json.Unmarshal(encode(known), into)
}
