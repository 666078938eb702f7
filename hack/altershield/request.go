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
	"time"
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
		value, name := content.FieldByIndex(field.Index), field.Tag.Get("json")
		if value.Kind() == reflect.Pointer && !value.IsNil() {
			value = value.Elem()
		}
		if message := problem(field.Tag.Get("check"), value); message != "" {
			found = append(found, name+" "+message)
		}
		if most, err := strconv.Atoi(field.Tag.Get("max")); err == nil && value.Len() > most {
			found = append(found, fmt.Sprintf("%s must not be longer than %d bytes", name, most))
		}
	}
	return found
}

// problem returns what a check forbids about a value, "" if nothing. A missing value is a pointer still.
func problem(check string, value reflect.Value) string {
	missing := value.Kind() == reflect.Pointer
	switch {
	case check == "text" && !missing && strings.TrimSpace(value.String()) == "":
		return "must not be blank"
	case check == "given" && value.IsZero():
		return "must not be null"
	case check == "count" && (missing || value.Int() < 0): // the server reads a missing one as -1
		return "must be greater than or equal to 0"
	case check == "tag" && !missing && value.String() != TagLast && value.String() != TagNotLast:
		return `must be "last" or "not_last"`
	}
	return ""
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

// Sizes of the columns of the server's database, in bytes.
const (
	// maxCreator is less than validation allows.
	maxCreator = 56
	// maxTenant is for a batch; an order has the tenant of its scene.
	maxTenant = 64
	// maxValue is for every list, as JSON.
	maxValue = 65535
)

// Error messages of the database for a rejected statement, with the class of the exception.
const (
	tooLong   = "MysqlDataTruncation: Data truncation: Data too long for column '%s' at row 1"
	isNull    = "SQLIntegrityConstraintViolationException: Column '%s' cannot be null"
	duplicate = "SQLIntegrityConstraintViolationException: Duplicate entry '%s-%s' for key 'altershield_exe_change_order.uk_order_id'"
	deadlock  = "MySQLTransactionRollbackException: Deadlock found when trying to get lock; try restarting transaction"
)

// exception answers an error of the database with all the text that the server's libraries put around it, on several lines.
func exception(code, statement, said string, about ...any) reply {
	cause := "com.mysql.cj.jdbc.exceptions." + fmt.Sprintf(said, about...)
	_, text, _ := strings.Cut(cause, ": ")
	table, _, _ := strings.Cut(strings.TrimPrefix(statement, "INSERT INTO "), " ")
	return refusal(code, "\n### Error updating database.  Cause: "+cause+
		"\n### The error may exist in URL [jar:file:/home/admin/release/altershield.jar!/BOOT-INF/lib/altershield-change.jar!/mapper/"+table+".xml]"+
		"\n### The error may involve com.alipay.altershield.change.exe.dal.mapper."+table+".insert-Inline"+
		"\n### The error occurred while setting parameters"+
		"\n### SQL: "+statement+
		"\n### Cause: "+cause+
		"\n; "+text+"; nested exception is "+cause)
}

const (
	insertOrder = "INSERT INTO altershield_exe_change_order ( order_id, gmt_create, biz_exec_order_id, platform, tenant_code, title, creator, phase, change_content_ref ) VALUES ( ?, ?, ?, ?, ?, ?, ?, ?, ? )"
	insertNode  = "INSERT INTO altershield_exe_node ( node_exe_id, gmt_create, order_id, tenant_code, status, change_effective_info_ref ) VALUES ( ?, ?, ?, ?, ?, ? )"
	insertValue = "INSERT INTO altershield_key_value ( id, gmt_create, value ) VALUES ( ?, ?, ? )"
)

// refusedOrder returns the database's error for an order, if there is one.
func refusedOrder(r orderRequest) (reply, bool) {
	switch {
	case len(r.ChangePhases) == 0:
		return exception(codeSystemError, insertOrder, isNull, "phase"), true
	case len(r.ChangeContents) == 0:
		return exception(codeSystemError, insertOrder, isNull, "change_content_ref"), true
	case len(r.Creator) > maxCreator:
		return exception(codeSystemError, insertOrder, tooLong, "creator"), true
	case len(encode(r.ChangeContents)) > maxValue, len(r.ChangeParamJSON) > maxValue:
		return exception(codeSystemError, insertValue, tooLong, "value"), true
	}
	return reply{}, false
}

// refusedBatch returns the database's error for a batch, if there is one. Concurrent batches may deadlock with it.
func (s *Server) refusedBatch(r startRequest) (reply, bool) {
	switch {
	case len(r.TenantCode) > maxTenant:
		return exception(codeSystemError, insertNode, tooLong, "tenant_code"), true
	case len(encode(set(r.EffectiveTargetLocations))) > maxValue:
		return exception(codeSystemError, insertValue, tooLong, "value"), true
	case s.isVictim(r.BizExecOrderID):
		return exception(codeSystemError, insertNode, deadlock), true
	}
	return reply{}, false
}

// victims is the share of deadlocks: of the batches that meet those of other orders in the database, every third is aborted.
const victims = 3

// isVictim waits for the duration of a statement, and reports whether the database aborts it in favour of concurrent ones.
func (s *Server) isVictim(order string) bool {
	if s.options.InsertTime < 0 {
		return false
	}
	s.mu.Lock()
	victim := false
	if slices.ContainsFunc(s.inserting, func(other string) bool { return other != order }) {
		victim = s.met%victims == 0
		s.met++
	}
	s.inserting = append(s.inserting, order)
	s.mu.Unlock()
	s.pause(s.ctx, s.options.InsertTime)
	s.mu.Lock()
	defer s.mu.Unlock()
	done := slices.Index(s.inserting, order)
	s.inserting = slices.Delete(s.inserting, done, done+1)
	return victim
}

// defaultInsert is about as long as the real server takes.
const defaultInsert = 2 * time.Millisecond
