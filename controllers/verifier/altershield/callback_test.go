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
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/controllers/verifier"
	"github.com/traas-stack/altershield-operator/controllers/verifier/altershield"
)

// callback returns the server's callback of the check after a batch, without the fields that are null.
func callback(verdict string) string {
	return `{"callbackRequest":{"bizExecOrderId":"o1","changeSceneKey":"com.example.rolling","defenseStageEnum":"POST",` +
		`"nodeId":"node-1","verdict":` + verdict + `},"changeCheckType":"CHANGE_BATCH"}`
}

func TestParseCallback(t *testing.T) {
	g := NewWithT(t)
	g.Expect(altershield.ParseCallback([]byte(callback(`{"allFinish":true,"checkPass":false,"emergency":false,"rollback":false,
		"rules":[{"ruleExeId":"r-1","resultJsn":"{}","controlKey":"defender_assert_false_plugin","status":"FAIL","verdict":"FAIL",
		"msg":"assert false","url":"","relationId":"17","stage":"POST","grayStatus":true,"riskLevel":"BLOCK","name":"no errors",
		"owner":"admin","allowIgnore":true,"ignored":false,"gmtStart":1700000000000,"externalRuleId":"e"}],"verdict":"fail"}`)))).
		To(Equal(verifier.Delivery{
			Order: "o1", CheckID: "node-1", Stage: "POST", Verdict: verifier.Verdict{Outcome: "fail", Reason: "no errors: assert false"},
		}))
}

func TestParseCallbackOfAnOrder(t *testing.T) {
	g := NewWithT(t)
	for kind, verdict := range map[string]verifier.Verdict{
		"CHANGE_ORDER":  {Outcome: "pass"},
		"CHANGE_ACTION": {Reason: "only verdicts of whole batches and orders count"},
	} {
		body := strings.Replace(callback(`{"verdict":"pass"}`), "CHANGE_BATCH", kind, 1)
		parsed, err := altershield.ParseCallback([]byte(strings.Replace(body, "POST", "PRE", 1)))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(parsed.Verdict).To(Equal(verdict), kind)
		g.Expect(parsed.Stage).To(BeEquivalentTo("PRE"))
	}
}

func TestParseCallbackReadsTheVerdict(t *testing.T) {
	for _, row := range []struct {
		verdict string
		outcome verifier.Outcome
		reason  string
	}{
		{`{"verdict":"pass"}`, "pass", ""},
		{`{"verdict":"PASS","allFinish":true}`, "pass", ""},
		{`{"verdict":"pass","allFinish":false}`, "", "only verdicts of whole batches and orders count"},
		{`{"verdict":"pass","allFinish":null}`, "pass", ""},
		{`{"verdict":"none"}`, "pass", ""},
		{`{"verdict":"passed with honours"}`, "pass", ""},
		{`{"verdict":"fail"}`, "fail", ""},
		{`{"verdict":"Fail"}`, "fail", ""},
		{`{"verdict":"inconc"}`, "fail", ""},
		{`{"verdict":"INCONC","checkPass":true}`, "fail", ""},
		{`{"verdict":"fail","allFinish":false}`, "", "only verdicts of whole batches and orders count"},
	} {
		t.Run(row.verdict, func(t *testing.T) {
			g := NewWithT(t)
			parsed, err := altershield.ParseCallback([]byte(callback(row.verdict)))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(parsed).To(Equal(verifier.Delivery{
				Order: "o1", CheckID: "node-1", Stage: "POST", Verdict: verifier.Verdict{Outcome: row.outcome, Reason: row.reason},
			}))
		})
	}
}

func TestParseCallbackGivesTheReasonOfAFailure(t *testing.T) {
	for _, row := range []struct{ name, rules, reason string }{
		{"rules that passed give no reason", `[{"verdict":"PASS","name":"n","msg":"m"},{"verdict":"NONE","name":"n","msg":"m"}]`, "told"},
		{"no rules", `[]`, "told"},
		{"null instead of rules", `null`, "told"},
		{"every rule that failed gives one", `[{"verdict":"FAIL","name":"a","msg":"b"},{"verdict":"PASS","name":"n"},{"verdict":"inconc","name":"c","msg":"d"}]`, "a: b; c: d"},
		{"an ignored rule gives none", `[{"verdict":"FAIL","name":"a","ignored":true},{"verdict":"FAIL","name":"b","ignored":false},{"verdict":"FAIL","name":"c","ignored":null}]`, "b; c"},
		{"a rule without a message", `[{"verdict":"FAIL","name":" a ","msg":" "}]`, "a"},
		{"a rule without a name", `[{"verdict":"FAIL","msg":"b","controlKey":"k"}]`, "b"},
		{"a rule with its plugin alone", `[{"verdict":"FAIL","controlKey":"k","relationId":"17"}]`, "k"},
		{"a rule with its number alone", `[{"verdict":"FAIL","relationId":17}]`, "17"},
		{"a rule without anything", `[{"verdict":"FAIL"}]`, "told"},
		{"a name and a message that are no texts", `[{"verdict":"FAIL","name":{"a":1},"msg":[2],"relationId":"17"}]`, "17"},
		{"something that is no rule", `["a",null,3,{"verdict":"FAIL","name":"b"}]`, "b"},
		{"something that is no list", `{"verdict":"FAIL","name":"b"}`, "told"},
		{"one line of a message", `[{"verdict":"FAIL","name":"a","msg":"b\r\n\tc\u0000"}]`, "a: b   c"},
		{"a reason that just fits", `[{"verdict":"FAIL","name":"` + strings.Repeat("发", 1024) + `"}]`, strings.Repeat("发", 1024)},
		{"a reason that doesn't fit", `[{"verdict":"FAIL","name":"` + strings.Repeat("发", 1025) + `"}]`, strings.Repeat("发", 1021) + "..."},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			parsed, err := altershield.ParseCallback([]byte(callback(`{"verdict":"fail","msg":"told","rules":` + row.rules + `}`)))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(parsed.Verdict.Reason).To(Equal(row.reason))
		})
	}
}

func TestParseCallbackGivesAPassNoReason(t *testing.T) {
	g := NewWithT(t)
	parsed, err := altershield.ParseCallback([]byte(callback(`{"verdict":"pass","msg":"time out","rules":[{"verdict":"FAIL","name":"on trial"}]}`)))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(parsed.Verdict).To(Equal(verifier.Verdict{Outcome: "pass"}))
}

func TestParseCallbackFailsWhereTheCallbackCanNotBeRead(t *testing.T) {
	request := func(nodeID, stage string) string {
		return fmt.Sprintf(`{"callbackRequest":{"nodeId":%s,"defenseStageEnum":%s,"verdict":{"verdict":"pass"}}}`, nodeID, stage)
	}
	for _, row := range []struct{ body, fault string }{
		{``, "the callback is malformed: unexpected end of JSON input"},
		{`{`, "the callback is malformed: unexpected end of JSON input"},
		{`[]`, "the callback is malformed: json: cannot unmarshal array into Go value of type altershield.callback"},
		{callback(`{"verdict":"pass"}`) + "{}", "the callback is malformed: invalid character '{' after top-level value"},
		{`null`, "the callback has no callbackRequest"},
		{`{"callbackRequest":null}`, "the callback has no callbackRequest"},
		{request(`null`, `"POST"`), "the callback's nodeId has 0 bytes: it must have 1 to 256"},
		{request(`""`, `"POST"`), "the callback's nodeId has 0 bytes: it must have 1 to 256"},
		{request(`"`+strings.Repeat("n", 257)+`"`, `"POST"`), "the callback's nodeId has 257 bytes: it must have 1 to 256"},
		{request(`"n"`, `null`), `the callback's defenseStageEnum is "": it must be PRE or POST`},
		{request(`"n"`, `"post"`), `the callback's defenseStageEnum is "post": it must be PRE or POST`},
		{callback(`null`), "the callback has no verdict"},
		{callback(`{"checkPass":false}`), "the callback's verdict has no verdict text"},
		{callback(`{"verdict":null}`), "the callback's verdict has no verdict text"},
		{callback(`{"verdict":""}`), "the callback's verdict has no verdict text"},
		{callback(`"fail"`), "the callback is malformed: json: cannot unmarshal string"},
		{callback(`{"verdict":1}`), "the callback is malformed: json: cannot unmarshal number"},
	} {
		t.Run(row.fault, func(t *testing.T) {
			g := NewWithT(t)
			parsed, err := altershield.ParseCallback([]byte(row.body))
			g.Expect(err).To(MatchError(HavePrefix(row.fault)))
			g.Expect(parsed).To(BeZero())
		})
	}
}

func TestParseCallbackTakesTheLongestID(t *testing.T) {
	body := strings.Replace(callback(`{"verdict":"pass"}`), "node-1", strings.Repeat("n", 256), 1)
	parsed, err := altershield.ParseCallback([]byte(body))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(parsed.CheckID).To(HaveLen(256))
}

func FuzzParseCallback(f *testing.F) {
	for _, seed := range []string{
		callback(`{"verdict":"pass"}`),
		callback(`{"verdict":"fail","msg":"m","rules":[{"verdict":"FAIL","name":"a\n","relationId":17}]}`),
		callback(`{"verdict":"inconc","allFinish":false,"rules":["` + strings.Repeat("发", 2000) + `",null]}`),
		`{"callbackRequest":{"nodeId":1,"defenseStageEnum":"PRE","verdict":{"verdict":"none"}}}`,
		`{"callbackRequest":[]}`, `null`, "\xff",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		parsed, err := altershield.ParseCallback(body)
		verdict := parsed.Verdict
		switch {
		case err != nil && !reflect.DeepEqual(parsed, verifier.Delivery{}):
			t.Errorf("%+v came with the error %v", parsed, err)
		case err != nil:
		case parsed.CheckID == "" || len(parsed.CheckID) > 256:
			t.Errorf("the id has %d bytes", len(parsed.CheckID))
		case parsed.Stage != "PRE" && parsed.Stage != "POST":
			t.Errorf("the stage is %q", parsed.Stage)
		case verdict.Outcome == verifier.Pass && verdict.Reason != "":
			t.Errorf("a pass has the reason %q", verdict.Reason)
		case utf8.RuneCountInString(verdict.Reason) > 1024 || strings.ContainsFunc(verdict.Reason, unicode.IsControl):
			t.Errorf("the reason is %q", verdict.Reason)
		}
	})
}
