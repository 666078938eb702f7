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
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/hack/altershield"
)

func TestAddControlSetsAndClearsRules(t *testing.T) {
	k := newKit(t, altershield.Options{})
	rules := `[
  {
    "name": "error rate",
    "message": "5xx above 1%",
    "stage": "POST",
    "batch": 2,
    "verdict": "FAIL"
  }
]
`
	k.Expect(k.ask("POST", "/test/rules", `{"name":"error rate","message":"5xx above 1%","stage":"POST","batch":2,"verdict":"FAIL"}`)).To(
		Equal(answer{200, rules}))
	k.Expect(k.ask("GET", "/test/rules", "")).To(Equal(answer{200, rules}))
	k.Expect(k.ask("DELETE", "/test/rules", "")).To(Equal(answer{200, "[]\n"}))
	k.Expect(k.server.Rules()).To(BeEmpty())
}

func TestAddControlSetsAndClearsFaults(t *testing.T) {
	k := newKit(t, altershield.Options{})
	k.Expect(k.ask("POST", "/test/faults", `{"kind":"refuse","code":"104","message":"too fast"}`)).To(Equal(answer{204, ""}))
	k.Expect(k.call("submitChangeExecOrder", orderBody("o1"))).To(Equal(refused("104", "too fast")))
	k.Expect(k.ask("DELETE", "/test/faults", "")).To(Equal(answer{204, ""}))
	k.Expect(k.ask("POST", "/test/faults", `{"kind":"hang","delay":"1ms","actions":["submitChangeExecOrder"],"remaining":1}`).status).To(Equal(204))
	k.submit("o1")
	k.Expect(k.server.Calls()[1].Fault).To(Equal(altershield.FaultHang))
}

func TestAddControlRefusesMistakes(t *testing.T) {
	k := newKit(t, altershield.Options{})
	for _, row := range []struct{ path, body, message string }{
		{"/test/rules", `{"name":"x","stage":"POST","verdict":"FAIL","bach":2}`, `unknown field "bach"`},
		{"/test/rules", `{"stage":"POST","verdict":"FAIL"}`, "a rule needs a name"},
		{"/test/rules", `{"name":"x","stage":"post","verdict":"FAIL"}`, `stage "post" is not PRE or POST`},
		{"/test/rules", `{"name":"x","stage":"PRE","verdict":"fail"}`, `verdict "fail" is not PASS, FAIL or INCONC`},
		{"/test/rules", `{"name":"x","stage":"PRE","verdict":"FAIL","remaining":-1}`, "remaining is negative"},
		{"/test/faults", `{`, "unexpected EOF"},
		{"/test/faults", `{"kind":"up"}`, `kind "up" is not one of `},
		{"/test/faults", `{"kind":"down","actions":["poll"]}`, `action "poll" is not one of `},
		{"/test/faults", `{"kind":"hang","delay":"3"}`, "delay: time: missing unit in duration"},
		{"/test/faults", `{"kind":"hang","delay":"-3s"}`, "remaining or delay is negative"},
		{"/test/faults", `{"kind":"status"}`, "httpStatus is not from 200 to 599"},
		{"/test/faults", `{"kind":"refuse"}`, "a refusal needs a code"},
	} {
		got := k.ask("POST", row.path, row.body)
		k.Expect(got.status).To(Equal(400), row.body)
		var refusal struct{ Error string }
		k.Expect(json.Unmarshal([]byte(got.body), &refusal)).To(Succeed())
		k.Expect(refusal.Error).To(ContainSubstring(row.message))
	}
	k.Expect(k.server.Rules()).To(BeEmpty())
	k.submit("o1")
}

func TestAddControlShowsOrdersWithTheirNodes(t *testing.T) {
	k := newKit(t, altershield.Options{PreDelay: never})
	k.Expect(k.ask("GET", "/test/orders", "")).To(Equal(answer{200, "[]\n"}))
	node := k.started()
	k.submit("o2")

	var orders []struct {
		BizExecOrderID string
		Nodes          []struct{ ID, State string }
	}
	k.Expect(json.Unmarshal([]byte(k.ask("GET", "/test/orders", "").body), &orders)).To(Succeed())
	k.Expect(orders).To(HaveLen(2))
	k.Expect(orders[0].BizExecOrderID).To(Equal("o1"))
	k.Expect(orders[0].Nodes).To(Equal([]struct{ ID, State string }{{node, "PRE_AOP"}}))
	k.Expect(orders[1].Nodes).To(BeEmpty())
}
