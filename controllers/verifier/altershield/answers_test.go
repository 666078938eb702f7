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
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/controllers/verifier"
	"github.com/traas-stack/altershield-operator/controllers/verifier/altershield"
)

func refusal(code, message string) string {
	return fmt.Sprintf(`{"success":false,"resultCode":"%s","msg":"%s","domain":null}`, code, message)
}

func TestOpenSucceedsWhereTheOrderExistsAlready(t *testing.T) {
	g := NewWithT(t)
	operator := newOperator(t, configFor(t, newServer(t, http.StatusOK, refusal("106", "duplicate bizOrderId")).URL))
	id, err := operator.Open(t.Context(), release())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(id).To(BeEmpty())
	g.Expect(operator.calls("order_open", "exists")).To(BeEquivalentTo(1))
}

func TestOpenSucceedsWithoutAnID(t *testing.T) {
	g := NewWithT(t)
	operator := newOperator(t, configFor(t, newServer(t, http.StatusOK, `{"success":true,"resultCode":null}`).URL))
	id, err := operator.Open(t.Context(), release())
	g.Expect(err).NotTo(HaveOccurred(), "success decides, not the resultCode")
	g.Expect(id).To(BeEmpty())
}

// outcome is the message of an error, and the error that it wraps, if any.
type outcome struct {
	reason error
	kind   altershield.Kind
	result string
	said   string
	up     int
}

func expect(t *testing.T, operator operator, call string, err error, expected outcome) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(err).To(MatchError(expected.said))
	failure, ok := errors.AsType[*altershield.Error](err)
	g.Expect(ok).To(BeTrue())
	g.Expect(failure.Kind).To(Equal(expected.kind))
	for _, reason := range []error{verifier.ErrRefused, verifier.ErrUnauthorized, verifier.ErrNotYet} {
		g.Expect(errors.Is(err, reason)).To(Equal(errors.Is(reason, expected.reason)), reason.Error())
	}
	g.Expect(operator.calls(call, expected.result)).To(BeEquivalentTo(1))
	g.Expect(operator.counted("altershield_server_up")).To(BeEquivalentTo(expected.up))
}

const begin = "submitChangeExecBatchStartNotify"

func TestBeginIsRefusedForGood(t *testing.T) {
	for _, row := range []struct {
		name, answer, said string
		status             int
	}{
		{"an argument that the server doesn't take", refusal("101", "changeSceneKey not found"), "101: changeSceneKey not found", 200},
		{"something unsupported", refusal("103", "node not found"), "103: node not found", 200},
		{"something that the server doesn't find", refusal("105", ""), "105: ", 200},
		{"a duplicate that is no order", refusal("106", "twice"), "106: twice", 200},
		{"the last code of its class", refusal("152", "no check"), "152: no check", 200},
		{"a code that is a number", `{"success":false,"resultCode":101}`, "101: ", 200},
		{"HTTP 400", "<html>", "HTTP 400: Bad Request", 400},
		{"HTTP 413", "", "HTTP 413: Request Entity Too Large", 413},
	} {
		t.Run(row.name, func(t *testing.T) {
			operator := newOperator(t, configFor(t, newServer(t, row.status, row.answer).URL))
			_, err := operator.Begin(t.Context(), batch())
			expect(t, operator, "check_begin", err, outcome{
				verifier.ErrRefused, "refused", "refused", "AlterShield Server refused " + begin + ": " + row.said, 1,
			})
		})
	}
}

func TestBeginIsUnauthorized(t *testing.T) {
	operator := newOperator(t, configFor(t, newServer(t, http.StatusOK, refusal("102", "authentication request fail")).URL))
	_, err := operator.Begin(t.Context(), batch())
	expect(t, operator, "check_begin", err, outcome{
		verifier.ErrUnauthorized, "unauthorized", "unauthorized", "AlterShield Server rejected the credentials for " + begin +
			": 102: authentication request fail; compare --altershield-platform and the token with the server's", 1,
	})
}

func TestBeginMayBeRetriedAfterAFailureOfTheServer(t *testing.T) {
	for _, row := range []struct{ name, answer, said string }{
		{"the server is busy", refusal("104", "slow down"), "104: slow down"},
		{"an exception", refusal("901", "NPE"), "901: NPE"},
		{"a system error", refusal("998", "x"), "998: x"},
		{"a plugin's error", refusal("210", "x"), "210: x"},
		{"a client's error", refusal("311", "x"), "311: x"},
		{"a code that is too short", refusal("1", "x"), "1: x"},
		{"a code that is unknown", refusal("1000", "x"), "1000: x"},
		{"no success and no code", `{}`, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			operator := newOperator(t, configFor(t, newServer(t, http.StatusOK, row.answer).URL))
			_, err := operator.Begin(t.Context(), batch())
			expect(t, operator, "check_begin", err, outcome{
				nil, "failed", "unavailable", "AlterShield Server failed at " + begin + ": " + row.said, 1,
			})
		})
	}
}

// exception returns the server's message about a statement that its database refused, in JSON.
func exception(class, caused string) string {
	full := "com.mysql.cj.jdbc.exceptions." + class + ": " + caused
	text, err := json.Marshal("\n### Error updating database.  Cause: " + full +
		"\n### The error may exist in URL [jar:file:/home/admin/altershield/app.jar!/BOOT-INF/classes!/mapper/MetaKeyValueMapper.xml]" +
		"\n### The error may involve com.alipay.altershield.common.largefield.kv.KvMapper.insert-Inline" +
		"\n### The error occurred while setting parameters" +
		"\n### SQL: INSERT INTO altershield_meta_key_value ( id, `key`, value ) VALUES ( ?, ?, ? )" +
		"\n### Cause: " + full + "\n; " + caused + "; nested exception is " + full)
	if err != nil {
		panic(err)
	}
	return strings.Trim(string(text), `"`)
}

const tooLong, deadlock = "Data truncation: Data too long for column 'value' at row 1", "Deadlock found when trying to get lock; try restarting transaction"

func TestBeginIsRefusedForGoodWhereTheServerHasNoRoomForTheBatch(t *testing.T) {
	server := newServer(t, http.StatusOK, refusal("901", exception("MysqlDataTruncation", tooLong)))
	operator := newOperator(t, configFor(t, server.URL))
	_, err := operator.Begin(t.Context(), batch())
	expect(t, operator, "check_begin", err, outcome{
		verifier.ErrRefused, "refused", "refused", "AlterShield Server refused " + begin + ": 901: MysqlDataTruncation: Data truncation: Data too long", 1,
	})
	server.last(t, 1)
}

func TestBeginIsRepeatedWhereTheServerMetADeadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		operator := newOperator(t, configFor(t, "http://altershield.example"))
		asked, start := 0, time.Now()
		operator.Through(transport(func(request *http.Request) (*http.Response, error) {
			if asked++; asked <= 4 {
				return reply{200, []byte(refusal("901", exception("MySQLTransactionRollbackException", deadlock)))}.RoundTrip(request)
			}
			return reply{200, []byte(begun)}.RoundTrip(request)
		}))
		id, err := operator.Begin(t.Context(), batch())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(id).To(Equal("node-1"))
		g.Expect(asked).To(Equal(5))
		g.Expect(time.Since(start)).To(BeNumerically("<", time.Second))
		g.Expect(operator.calls("check_begin", "ok")).To(BeEquivalentTo(1))
		g.Expect(operator.calls("check_begin", "unavailable")).To(BeZero())
	})
}

func TestBeginGivesUpOnDeadlocksForThisTime(t *testing.T) {
	server := newServer(t, http.StatusOK, refusal("901", exception("MySQLTransactionRollbackException", deadlock)))
	operator := newOperator(t, configFor(t, server.URL))
	_, err := operator.Begin(t.Context(), batch())
	expect(t, operator, "check_begin", err, outcome{
		nil, "deadlock", "unavailable", "AlterShield Server failed at " + begin + ": 901: MySQLTransactionRollbackException: " + deadlock, 1,
	})
	server.last(t, 5)
}

func TestBeginIsNotRepeatedForACallerWhoIsGone(t *testing.T) {
	g := NewWithT(t)
	ctx, cancel := context.WithCancel(t.Context())
	operator := newOperator(t, configFor(t, "http://altershield.example"))
	asked := 0
	operator.Through(transport(func(request *http.Request) (*http.Response, error) {
		asked++
		cancel()
		return reply{200, []byte(refusal("901", exception("MySQLTransactionRollbackException", deadlock)))}.RoundTrip(request)
	}))
	_, err := operator.Begin(ctx, batch())
	g.Expect(err).To(HaveOccurred())
	g.Expect(asked).To(Equal(1))
}

func TestErrorHoldsTheCauseOfAMessage(t *testing.T) {
	for name, row := range map[string]struct{ message, said string }{
		"nothing to cut": {"none order found for platform:kubernetes, bizExecOrderId:kind/default/sleep/0/3", "none order found for platform:kubernetes, bizExecOrderId:kind/default/sleep/0/3"},
		"several lines":  {`creator must not be blank\nplatform must not be blank`, "creator must not be blank platform must not be blank"},
		"an order's statement": {exception("SQLIntegrityConstraintViolationException", "Column 'change_content_ref' cannot be null"),
			"SQLIntegrityConstraintViolationException: Column cannot be null"},
		"a duplicate": {exception("SQLIntegrityConstraintViolationException", "Duplicate entry 'kubernetes-o1' for key 'altershield_exe_change_order.uk_order_id'"),
			"SQLIntegrityConstraintViolationException: Duplicate entry 'kubernetes-o1'"},
		"only Spring's part":  {`; x; nested exception is java.lang.IllegalStateException: closed`, "IllegalStateException: closed"},
		"only MyBatis's part": {`### Error querying database.  Cause: java.sql.SQLException: closed\n### SQL: SELECT 1`, "SQLException: closed"},
		"a statement alone":   {`failed ### SQL: select * from t`, "failed"},
		"a stack":             {`java.lang.NullPointerException: null\n\tat com.alipay.A.b(A.java:17)`, "NullPointerException: null"},
		"a path":              {`can't read /home/admin/conf/key.pem (see [jar:file:/opt/a.jar!/b.xml])`, "can't read  (see [])"},
		"an address":          {`no answer of http://10.0.0.1:8080/a/b`, "no answer of http://10.0.0.1:8080/a/b"},
		"a scene":             {`none change scene found for changeSceneKey:com.Alipay.x`, "none change scene found for changeSceneKey:com.Alipay.x"},
	} {
		t.Run(name, func(t *testing.T) {
			operator := newOperator(t, configFor(t, newServer(t, http.StatusOK, refusal("998", row.message)).URL))
			_, err := operator.Begin(t.Context(), batch())
			NewWithT(t).Expect(err).To(MatchError("AlterShield Server failed at " + begin + ": 998: " + row.said))
		})
	}
}

func TestBeginMayBeRetriedAfterAnAnswerThatCanNotBeRead(t *testing.T) {
	for _, row := range []struct {
		name, answer, said string
		status             int
	}{
		{"HTTP 500", `{"success":true}`, "with HTTP 500 Internal Server Error", 500},
		{"HTTP 404", "", "with HTTP 404 Not Found", 404},
		{"HTTP 202", begun, "with HTTP 202 Accepted", 202},
		{"an unknown status", "", "with HTTP 599", 599},
		{"an empty 200, which hides an exception", " \n", "with an empty body", 200},
		{"a page", "<html>", "with invalid JSON", 200},
		{"a list", "[]", "with invalid JSON", 200},
		{"ten mebibytes", strings.Repeat(" ", 10<<20) + begun, "with more than 1048576 bytes", 200},
		{"a domain of another kind", `{"success":true,"domain":[1]}`, "with an unexpected domain", 200},
		{"a check without an id", `{"success":true,"resultCode":"000","domain":{"nodeId":null}}`, "without a nodeId", 200},
		{"a check without a domain", `{"success":true}`, "without a nodeId", 200},
		{"an id that doesn't fit into the status of a ChangePod", `{"success":true,"domain":{"nodeId":"` + strings.Repeat("n", 257) + `"}}`,
			"with a nodeId of more than 256 bytes", 200},
	} {
		t.Run(row.name, func(t *testing.T) {
			operator := newOperator(t, configFor(t, newServer(t, row.status, row.answer).URL))
			id, err := operator.Begin(t.Context(), batch())
			NewWithT(t).Expect(id).To(BeEmpty())
			expect(t, operator, "check_begin", err, outcome{
				nil, "unusable", "unavailable", "AlterShield Server answered " + begin + " " + row.said, 0,
			})
		})
	}
}

func TestBeginTakesTheLongestID(t *testing.T) {
	g := NewWithT(t)
	longest := strings.Repeat("n", 256)
	operator := newOperator(t, configFor(t, newServer(t, http.StatusOK, `{"success":true,"domain":{"nodeId":"`+longest+`"}}`).URL))
	g.Expect(operator.Begin(t.Context(), batch())).To(Equal(longest))
}

func TestOpenFailsWhereTheIDDoesNotFit(t *testing.T) {
	g := NewWithT(t)
	answer := `{"success":true,"domain":{"orderId":"` + strings.Repeat("o", 257) + `"}}`
	id, err := newOperator(t, configFor(t, newServer(t, http.StatusOK, answer).URL)).Open(t.Context(), release())
	g.Expect(err).To(MatchError("AlterShield Server answered submitChangeExecOrder with an orderId of more than 256 bytes"))
	g.Expect(id).To(BeEmpty())
}

func TestFinishByTheStateOfTheServer(t *testing.T) {
	unsupported := func(state string) string {
		return "402:[402:change service dose not support this operate]unsupported operation in " + state + ", nodeId=node-1"
	}
	const finish = "submitChangeFinishNotify"
	for _, row := range []struct{ state, result string }{
		{"POST_AOP_SUBMIT", "accepted"}, {"POST_AOP", "accepted"}, {"POST_AOP_FINISH", "accepted"},
		{"PRE_AOP_SUBMIT", "not_yet"}, {"PRE_AOP", "not_yet"},
		{"PRE_AOP_FINISH", "refused"}, {"PRE_AOP_TIMEOUT", "refused"}, {"PRE_AOP_FAIL", "refused"}, {"EXECUTE_DONE", "refused"},
	} {
		t.Run(row.state, func(t *testing.T) {
			operator := newOperator(t, configFor(t, newServer(t, http.StatusOK, refusal("103", unsupported(row.state))).URL))
			err := operator.Finish(t.Context(), batch(), "node-1")
			switch row.result {
			case "accepted":
				NewWithT(t).Expect(err).NotTo(HaveOccurred())
				NewWithT(t).Expect(operator.calls("check_finish", "accepted")).To(BeEquivalentTo(1))
			case "not_yet":
				expect(t, operator, "check_finish", err, outcome{verifier.ErrNotYet, "not_yet", "not_yet",
					"AlterShield Server can't accept " + finish + " yet: 103: " + unsupported(row.state), 1})
			default:
				expect(t, operator, "check_finish", err, outcome{verifier.ErrRefused, "refused", "refused",
					"AlterShield Server refused " + finish + ": 103: " + unsupported(row.state), 1})
			}
		})
	}
}

func TestFinishAloneReadsTheStateOfTheServer(t *testing.T) {
	g := NewWithT(t)
	server := newServer(t, http.StatusOK, refusal("103", "402:[402:change service dose not support this operate]unsupported operation in POST_AOP, nodeId=node-1"))
	operator := newOperator(t, configFor(t, server.URL))
	_, err := operator.Begin(t.Context(), batch())
	g.Expect(err).To(MatchError(verifier.ErrRefused))
	server.says(http.StatusOK, refusal("101", "exeNodeStateMachine is null by state POST_AOP_IGNORE"))
	g.Expect(operator.Finish(t.Context(), batch(), "node-1")).To(MatchError(verifier.ErrRefused), "not with another code")
}

func TestAskDecidesNothingButAPass(t *testing.T) {
	for _, row := range []struct {
		name, domain string
		outcome      verifier.Outcome
	}{
		{"the stage passed", `{"finished":true,"verdict":{"verdict":"pass"}}`, "pass"},
		{"the stage passed, in another case", `{"finished":true,"verdict":{"verdict":"PASS","rules":null}}`, "pass"},
		{"v1.0: the stage still runs, was not begun, timed out or failed", `{"finished":true,"verdict":{"verdict":"fail"}}`, ""},
		{"a mended server: the stage still runs", `{"finished":false,"verdict":null}`, ""},
		{"a mended server: the stage still runs, with a verdict so far", `{"finished":false,"verdict":{"verdict":"pass"}}`, ""},
		{"finished without a verdict", `{"finished":true,"verdict":null}`, ""},
		{"finished with no verdict", `{"finished":true,"verdict":{"verdict":"none"}}`, ""},
		{"finished with an unknown verdict", `{"finished":true,"verdict":{"verdict":"inconc"}}`, ""},
		{"nothing", `null`, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			operator := newOperator(t, configFor(t, newServer(t, http.StatusOK, `{"success":true,"domain":`+row.domain+`}`).URL))
			verdict, err := operator.Ask(t.Context(), batch(), "node-1", "POST")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(verdict).To(Equal(verifier.Verdict{Outcome: row.outcome}))
		})
	}
}

func TestAskFailsWhereTheServerRefuses(t *testing.T) {
	g := NewWithT(t)
	operator := newOperator(t, configFor(t, newServer(t, http.StatusOK, refusal("103", "node not found")).URL))
	verdict, err := operator.Ask(t.Context(), batch(), "node-1", "POST")
	g.Expect(err).To(MatchError(verifier.ErrRefused))
	g.Expect(verdict).To(BeZero())
}

func TestErrorIsAShortLine(t *testing.T) {
	g := NewWithT(t)
	server := newServer(t, http.StatusOK, refusal("101", `a\u0000b\r\n`+strings.Repeat("发", 600)))
	err := newOperator(t, configFor(t, server.URL)).Close(t.Context(), release(), "CANCEL")
	g.Expect(err).To(MatchError("AlterShield Server refused finishChangeExecOrderAction: 101: a b  " + strings.Repeat("发", 512-5-3) + "..."))
}

func TestOpenIsNotSentWithoutAToken(t *testing.T) {
	g := NewWithT(t)
	server := newServer(t, http.StatusOK, opened)
	config := configFor(t, server.URL)
	operator := newOperator(t, config)
	g.Expect(os.Remove(config.TokenFile)).To(Succeed())
	for range 4 { // The circuit breaker learns nothing of the server by that.
		_, err := operator.Open(t.Context(), release())
		g.Expect(err).To(MatchError(os.ErrNotExist))
		g.Expect(err).To(MatchError(HavePrefix("submitChangeExecOrder was not sent to AlterShield Server: reading the token: ")))
		g.Expect(err).NotTo(Or(MatchError(verifier.ErrRefused), MatchError(verifier.ErrUnauthorized)), "the token may come back")
	}
	g.Expect(operator.calls("order_open", "unavailable")).To(BeEquivalentTo(4))
	g.Expect(operator.timed()).To(BeZero())
	g.Expect(server.arrivals).To(BeEmpty())
}
