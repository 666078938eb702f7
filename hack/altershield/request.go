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
	"strconv"
	"strings"
)

// base is in the body of every action. As in the server, annotations say what bean validation checks: a text that isn't blank, a value that is
// given, a count that isn't negative, a tag of two; and the maximum length in bytes.
type base struct {
	TenantCode     string `json:"tenantCode" check:"text"`
	ChangeSceneKey string `json:"changeSceneKey" check:"text" max:"256"`
	BizExecOrderID string `json:"bizExecOrderId" check:"text" max:"128"`
	Platform       string `json:"platform" check:"text" max:"32"`
}

type orderRequest struct {
	base
	ChangeTitle        string    `json:"changeTitle" check:"text" max:"256"`
	ChangeURL          string    `json:"changeUrl" max:"512"`
	Creator            string    `json:"creator" check:"text" max:"128"`
	ChangeScenarioCode *string   `json:"changeScenarioCode" check:"text"`
	ChangePhases       []string  `json:"changePhases" check:"given"`
	ChangeContents     []content `json:"changeContents"`
	ChangeParamJSON    string    `json:"changeParamJson" check:"text"`
	ChangeApps         []string  `json:"changeApps"`
}

type content struct {
	InstanceName string `json:"instanceName"`
}

type startOrderRequest struct {
	base
	Executor  string `json:"executor" check:"text" max:"128"`
	Emergency bool   `json:"emergency"`
}

type startRequest struct {
	startOrderRequest
	BatchNo                     *number  `json:"batchNo" check:"count"`
	TotalBatchNumInChangePhase  *number  `json:"totalBatchNumInChangePhase" check:"count"`
	TotalBatchNum               *number  `json:"totalBatchNum" check:"count"`
	IsLastBatchInChangePhaseTag *string  `json:"isLastBatchInChangePhaseTag" check:"tag"`
	IsLastBatchTag              *string  `json:"isLastBatchTag"`
	ChangePhase                 string   `json:"changePhase" check:"text"`
	EffectiveTargetType         string   `json:"effectiveTargetType" check:"text"`
	EffectiveTargetLocations    []string `json:"effectiveTargetLocations" check:"given"`
}

type finishRequest struct {
	base
	NodeID                   string   `json:"nodeId" check:"text"`
	Message                  string   `json:"msg" max:"16384"`
	EffectiveTargetLocations []string `json:"effectiveTargetLocations"`
}

type checkRequest struct {
	base
	NodeID       string    `json:"nodeId" check:"text"`
	DefenseStage stageName `json:"defenseStage" check:"given"`
}

type finishOrderRequest struct {
	base
	FinishState string `json:"finishState" check:"text"`
	Message     string `json:"msg"`
}

// problems returns what the annotations of a request forbid, in lines of the form "field message".
func problems(request any) (found []string) {
	content := reflect.ValueOf(request)
	for _, field := range reflect.VisibleFields(content.Type()) {
		value, check := content.FieldByIndex(field.Index), field.Tag.Get("check")
		if value.Kind() == reflect.Pointer && (!value.IsNil() || check == "count") {
			value = value.Elem() // of a missing count it is no value, which the server reads as -1
		}
		says := func(message string) { found = append(found, field.Tag.Get("json")+" "+message) }
		switch {
		case check == "text" && value.Kind() == reflect.String && strings.TrimSpace(value.String()) == "":
			says("must not be blank")
		case check == "given" && value.IsZero():
			says("must not be null")
		case check == "count" && (!value.IsValid() || value.Int() < 0):
			says("must be greater than or equal to 0")
		case check == "tag" && value.Kind() == reflect.String && !slices.Contains([]string{TagLast, TagNotLast}, value.String()):
			says(`must be "last" or "not_last"`)
		}
		if most, err := strconv.Atoi(field.Tag.Get("max")); err == nil && value.Len() > most {
			says(fmt.Sprintf("must not be longer than %d bytes", most))
		}
	}
	return found
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
