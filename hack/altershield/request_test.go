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

package altershield_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/hack/altershield"
)

func TestProblemsOfRequests(t *testing.T) {
	ofNode := `{` + baseFields("o1") + `,"nodeId":"n1","defenseStage":"PRE","finishState":"SUCCESS"}`
	for _, row := range []struct {
		action, body string
		changes      map[string]any
		message      string
	}{
		{"submitChangeExecOrder", orderBody("o1"), map[string]any{"tenantCode": nil}, "tenantCode must not be blank"},
		{"submitChangeExecOrder", orderBody("o1"), map[string]any{"changeSceneKey": " "}, "changeSceneKey must not be blank"},
		{"submitChangeExecOrder", orderBody("o1"), map[string]any{"changeSceneKey": strings.Repeat("x", 257)}, "changeSceneKey must not be longer than 256 bytes"},
		{"submitChangeExecOrder", orderBody(""), nil, "bizExecOrderId must not be blank"},
		{"submitChangeExecOrder", orderBody(strings.Repeat("发", 43)), nil, "bizExecOrderId must not be longer than 128 bytes"},
		{"submitChangeExecOrder", orderBody("o1"), map[string]any{"platform": strings.Repeat("x", 33)}, "platform must not be longer than 32 bytes"},
		{"submitChangeExecOrder", orderBody("o1"), map[string]any{"changeTitle": strings.Repeat("x", 257)}, "changeTitle must not be longer than 256 bytes"},
		{"submitChangeExecOrder", orderBody("o1"), map[string]any{"changeUrl": strings.Repeat("x", 513)}, "changeUrl must not be longer than 512 bytes"},
		{"submitChangeExecOrder", orderBody("o1"), map[string]any{"creator": nil, "changeParamJson": ""}, "creator must not be blank\nchangeParamJson must not be blank"},
		{"submitChangeExecOrder", orderBody("o1"), map[string]any{"changeScenarioCode": ""}, "changeScenarioCode must not be blank"},
		{"submitChangeExecOrder", orderBody("o1"), map[string]any{"changeScenarioCode": "77"}, "unknown change scenario: 77"},
		{"submitChangeExecOrder", orderBody("o1"), map[string]any{"changePhases": nil}, "changePhases must not be null"},
		{"submitChangeExecOrder", orderBody("o1"), map[string]any{"changePhases": []string{"prod"}}, "unknown change phase: prod"},
		{"submitChangeExecBatchStartNotify", startBody("o1", 0), map[string]any{"executor": nil}, "executor must not be blank"},
		{"submitChangeExecBatchStartNotify", startBody("o1", -1), nil, "batchNo must be greater than or equal to 0"},
		{"submitChangeExecBatchStartNotify", startBody("o1", 0), map[string]any{"batchNo": nil, "BatchNo": 0}, "batchNo must be greater than or equal to 0"},
		{"submitChangeExecBatchStartNotify", startBody("o1", 0), map[string]any{"totalBatchNum": nil}, "totalBatchNum must be greater than or equal to 0"},
		{"submitChangeExecBatchStartNotify", startBody("o1", 0), map[string]any{"totalBatchNumInChangePhase": nil}, "totalBatchNumInChangePhase must be greater than or equal to 0"},
		{"submitChangeExecBatchStartNotify", startBody("o1", 0), map[string]any{"isLastBatchInChangePhaseTag": "true"}, `isLastBatchInChangePhaseTag must be "last" or "not_last"`},
		{"submitChangeExecBatchStartNotify", startBody("o1", 0), map[string]any{"changePhase": nil}, "changePhase must not be blank"},
		{"submitChangeExecBatchStartNotify", startBody("o1", 0), map[string]any{"effectiveTargetType": nil}, "effectiveTargetType must not be blank"},
		{"submitChangeExecBatchStartNotify", startBody("o1", 0), map[string]any{"effectiveTargetLocations": nil}, "effectiveTargetLocations must not be null"},
		{"submitChangeFinishNotify", ofNode, map[string]any{"nodeId": nil}, "nodeId must not be blank"},
		{"submitChangeFinishNotify", ofNode, map[string]any{"msg": strings.Repeat("x", 16385)}, "msg must not be longer than 16384 bytes"},
		{"retrieveChangeCheck", ofNode, map[string]any{"nodeId": nil}, "nodeId must not be blank"},
		{"retrieveChangeCheck", ofNode, map[string]any{"defenseStage": nil}, "defenseStage must not be null"},
		{"finishChangeExecOrderAction", ofNode, map[string]any{"finishState": nil}, "finishState must not be blank"},
	} {
		t.Run(row.action+" "+row.message, func(t *testing.T) {
			k := newKit(t, altershield.Options{})
			k.Expect(k.call(row.action, with(row.body, row.changes))).To(Equal(refused("101", row.message)))
		})
	}
}

func TestRefusedOrderIsAnExceptionOfItsStatement(t *testing.T) {
	long := strings.Repeat("x", 65534)
	for name, row := range map[string]struct {
		value any
		said  string
	}{
		"changeContents":  {nil, "Column 'change_content_ref' cannot be null"},
		"changePhases":    {[]string{}, "Column 'phase' cannot be null"},
		"creator":         {strings.Repeat("x", 57), "Data truncation: Data too long for column 'creator' at row 1"},
		"changeParamJson": {long + "xx", "Data truncation: Data too long for column 'value' at row 1"},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t, altershield.Options{})
			k.Expect(k.call("submitChangeExecOrder", with(orderBody("o1"), map[string]any{name: row.value}))).To(beException("901", row.said))
			k.Expect(k.server.Orders()).To(BeEmpty())
		})
	}
	t.Run("changeContents that are too long", func(t *testing.T) {
		k := newKit(t, altershield.Options{})
		k.Expect(k.call("submitChangeExecOrder", with(orderBody("o1"), map[string]any{"changeContents": []any{map[string]any{"instanceName": long}}}))).To(
			beException("901", "Data truncation: Data too long for column 'value' at row 1"))
	})
}

func TestRefusedBatchOfTooManyBytes(t *testing.T) {
	k := newKit(t, altershield.Options{PreDelay: never})
	k.submit("o1")
	locations := func(length int) map[string]any {
		return map[string]any{"effectiveTargetLocations": []string{strings.Repeat("x", length-len(`["",""]`)-1), "y"}}
	}
	k.Expect(k.call("submitChangeExecBatchStartNotify", with(startBody("o1", 0), locations(65535))).body).To(succeeds())
	k.Expect(k.call("submitChangeExecBatchStartNotify", with(startBody("o1", 1), locations(65536)))).To(
		beException("901", "Data truncation: Data too long for column 'value' at row 1"))
	k.Expect(k.server.Nodes()).To(HaveLen(1))
}

func TestRefusedBatchOfATenantThatIsTooLong(t *testing.T) {
	k := newKit(t, altershield.Options{PreDelay: never})
	tenant := map[string]any{"tenantCode": strings.Repeat("t", 65)}
	k.Expect(k.call("submitChangeExecOrder", with(orderBody("o1"), tenant)).body).To(succeeds())
	k.Expect(k.call("submitChangeExecBatchStartNotify", with(startBody("o1", 0), tenant))).To(
		beException("901", "Data truncation: Data too long for column 'tenant_code' at row 1"))
	tenant["tenantCode"] = strings.Repeat("t", 64)
	k.Expect(k.call("submitChangeExecBatchStartNotify", with(startBody("o1", 0), tenant)).body).To(succeeds())
}

func TestIsVictimOfADeadlockBesideBatchesOfOtherOrders(t *testing.T) {
	k := newKit(t, altershield.Options{PreDelay: never, InsertTime: 500 * time.Millisecond})
	const orders = 12
	for i := range orders {
		k.submit(fmt.Sprint("o", i))
	}
	answers := make(chan answer, orders)
	for i := range orders {
		go func() { answers <- k.call("submitChangeExecBatchStartNotify", startBody(fmt.Sprint("o", i), 0)) }()
	}
	victims := 0
	for range orders {
		if got := <-answers; strings.Contains(got.body, "Deadlock") {
			victims++
			k.Expect(got).To(beException("901", "Deadlock found when trying to get lock; try restarting transaction"))
		}
	}
	k.Expect(victims).To(Equal(4), "every third of the eleven that met another")
	k.Expect(k.server.Nodes()).To(HaveLen(orders-victims), "nothing is left behind")

	k.call("submitChangeExecBatchStartNotify", startBody("o0", 1))
	k.Expect(k.server.Nodes()).To(HaveLen(orders-victims+1), "alone it meets nobody")
}

func TestUnreadableIsABadRequest(t *testing.T) {
	for name, body := range map[string]string{
		"no body":                ``,
		"null":                   `null`,
		"cut off":                `{"tenantCode":"default"`,
		"a text for a list":      with(startBody("o1", 0), map[string]any{"effectiveTargetLocations": "web-0"}),
		"a word for a number":    with(startBody("o1", 0), map[string]any{"batchNo": "two"}),
		"an object for an order": with(startBody("o1", 0), map[string]any{"bizExecOrderId": map[string]any{}}),
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t, altershield.Options{})
			k.Expect(k.call("submitChangeExecBatchStartNotify", body)).To(Equal(
				answer{status: 400, body: `{"error":"Bad Request","status":400}`}))
		})
	}
	t.Run("a stage that is none", func(t *testing.T) {
		k := newKit(t, altershield.Options{})
		k.Expect(k.poll("n1", "MIDDLE").status).To(Equal(400))
	})
}

func TestDecodeTakesTextForANumberAndUnknownProperties(t *testing.T) {
	k := newKit(t, altershield.Options{PreDelay: never})
	k.submit("o1")
	k.Expect(k.call("submitChangeExecBatchStartNotify", with(startBody("o1", 0), map[string]any{
		"batchNo": "20", "isLastBatchTag": "any text", "isLastBatchInChangePhaseTag": nil, "IsLastBatchInChangePhaseTag": "last", "more": 1,
	})).body).To(succeeds())
	node := k.server.Nodes()[0]
	k.Expect(node.BatchNo).To(Equal(20), "beyond their total number")
	k.Expect(node.LastBatchTag).To(Equal("any text"))
	k.Expect(node.LastBatchInChangePhaseTag).To(Equal("not_last"), "names are case-sensitive")
}

func TestHandlerServesPostedActionsAlone(t *testing.T) {
	k := newKit(t, altershield.Options{})
	for path, status := range map[string]int{
		submitPath:                     http.StatusMethodNotAllowed,
		"/openapi/v1/exe/submitChange": http.StatusNotFound,
	} {
		k.Expect(k.ask("GET", path, "").status).To(Equal(status))
	}
}
