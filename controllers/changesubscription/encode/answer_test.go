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

package encode

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

func asIs(text string) string { return text }

func TestReadFindsErrorsInTheBody(t *testing.T) {
	const minute = time.Minute
	for name, row := range map[string]struct {
		kind   appv1alpha1.SinkType
		status int
		body   string
		failed *Failure
	}{
		"DingTalk takes it":             {"DingTalk", 200, `{"errcode":0,"errmsg":"ok"}`, nil},
		"DingTalk, wrong signature":     {"DingTalk", 200, `{"errcode":310000,"errmsg":"sign not match"}`, &Failure{"ReceiverRefused", "the receiver refused the message (code 310000): sign not match", false, 0}},
		"DingTalk, too many":            {"DingTalk", 200, `{"errcode":130101,"errmsg":"send too fast"}`, &Failure{"ReceiverThrottled", "the receiver takes no further messages for now (code 130101: send too fast)", true, minute}},
		"DingTalk is busy":              {"DingTalk", 200, `{"errcode":-1,"errmsg":"system busy"}`, &Failure{"ReceiverUnavailable", "the receiver is busy (code -1): system busy", true, 0}},
		"a page of a proxy":             {"DingTalk", 200, `<html>`, &Failure{"ReceiverUnavailable", "the answer isn't one of DingTalk", true, 0}},
		"an answer of something else":   {"WeCom", 200, `{"ok":true}`, &Failure{"ReceiverUnavailable", "the answer isn't one of WeCom", true, 0}},
		"WeCom takes it":                {"WeCom", 200, `{"errcode":0,"errmsg":"ok"}`, nil},
		"WeCom, too many":               {"WeCom", 200, `{"errcode":45009}`, &Failure{"ReceiverThrottled", "the receiver takes no further messages for now (code 45009)", true, 15 * time.Second}},
		"Feishu takes it":               {"Feishu", 200, `{"code":0,"msg":"success"}`, nil},
		"Feishu takes it, as before":    {"Feishu", 200, `{"StatusCode":0,"StatusMessage":"success"}`, nil},
		"Feishu, wrong signature":       {"Feishu", 200, `{"code":19021,"msg":"sign match fail"}`, &Failure{"ReceiverRefused", "the receiver refused the message (code 19021): sign match fail", false, 0}},
		"Feishu, too many":              {"Feishu", 200, `{"code":11232,"msg":"frequency limited"}`, &Failure{"ReceiverThrottled", "the receiver takes no further messages for now (code 11232: frequency limited)", true, 15 * time.Second}},
		"Feishu, too many, as HTTP 400": {"Feishu", 400, `{"code":11232,"msg":"frequency limited"}`, &Failure{"ReceiverThrottled", "the receiver takes no further messages for now (code 11232: frequency limited)", true, 15 * time.Second}},
		"WeCom, too many, as HTTP 403":  {"WeCom", 403, `{"errcode":45009}`, &Failure{"ReceiverThrottled", "the receiver takes no further messages for now (code 45009)", true, 15 * time.Second}},
		"Feishu, wrong, as HTTP 400":    {"Feishu", 400, `{"code":19001}`, &Failure{"ReceiverRefused", `the receiver refused the message (HTTP 400): {"code":19001}`, false, 0}},
		"DingTalk, taken, as HTTP 404":  {"DingTalk", 404, `{"errcode":0}`, &Failure{"ReceiverRefused", `the receiver refused the message (HTTP 404): {"errcode":0}`, false, 0}},
		"Slack, with a code of another": {"Slack", 400, `{"code":11232}`, &Failure{"ReceiverRefused", `the receiver refused the message (HTTP 400): {"code":11232}`, false, 0}},
		"Slack takes it":                {"Slack", 200, "ok", nil},
		"Slack, a removed webhook":      {"Slack", 404, "no_service", &Failure{"ReceiverRefused", "the receiver refused the message (HTTP 404): no_service", false, 0}},
		"Slack, too many":               {"Slack", 429, "", &Failure{"ReceiverThrottled", "the receiver takes no further messages for now (HTTP 429)", true, 15 * time.Second}},
		"Teams takes it":                {"Teams", 202, "", nil},
		"Teams, too many":               {"Teams", 200, "Microsoft Teams endpoint returned HTTP error 429", &Failure{"ReceiverThrottled", "the receiver takes no further messages for now (HTTP error 429 in the answer)", true, 15 * time.Second}},
		"a failing receiver":            {"CDEvents", 503, "", &Failure{"ReceiverUnavailable", "the receiver failed (HTTP 503)", true, 0}},
		"a slow one":                    {"CDEvents", 408, "", &Failure{"ReceiverUnavailable", "the receiver failed (HTTP 408)", true, 0}},
		"one that moved": {"Plain", 301, "", &Failure{
			"ReceiverRefused", "the receiver redirects (HTTP 301), which the operator doesn't follow: correct the key url of the Secret", false, 0,
		}},
		"one that takes it": {"Plain", 204, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(Read(row.kind, row.status, 0, []byte(row.body), asIs)).To(Equal(row.failed))
		})
	}
}

func TestReadWaitsAsTheReceiverAsks(t *testing.T) {
	NewWithT(t).Expect(Read("Slack", 429, 30*time.Second, nil, asIs).After).To(Equal(30 * time.Second))
	NewWithT(t).Expect(Read("DingTalk", 429, 30*time.Second, nil, asIs).After).To(Equal(time.Minute))
	NewWithT(t).Expect(Read("Plain", 503, 30*time.Second, nil, asIs).After).To(Equal(30 * time.Second))
}

func TestReadRedactsBeforeItCuts(t *testing.T) {
	redact := func(text string) string { return strings.ReplaceAll(text, "token-1234", "***") }
	text := strings.Repeat("x", 120) + "token-1234" + strings.Repeat("y", 20)
	cut := strings.Repeat("x", 120) + "***yy..."
	NewWithT(t).Expect(Read("Slack", 404, 0, []byte(text), redact).Message).To(Equal("the receiver refused the message (HTTP 404): " + cut))
	NewWithT(t).Expect(Read("DingTalk", 200, 0, []byte(`{"errcode":1,"errmsg":"`+text+`"}`), redact).Message).To(Equal("the receiver refused the message (code 1): " + cut))
}
