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
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/oneline"
)

// mostReported is the most characters that are taken from the answer of a receiver.
const mostReported = 128

// Failure is why a receiver took no message.
type Failure struct {
	// Reason is a reason of ConditionReady.
	Reason  string
	Message string
	// Again reports whether the message is to be sent again, after the pause for which the receiver asks.
	Again bool
	After time.Duration
}

// Read returns how a receiver failed, nil if it took the message. Some answer HTTP 200 with an error in the body. after is the pause for which the
// header asks, 0 if it asks for none. redact removes what is secret from the text of the receiver: before it is cut, as it finds no half of a secret.
func Read(kind appv1alpha1.SinkType, status int, after time.Duration, body []byte, redact func(string) string) *Failure {
	switch {
	case status == http.StatusTooManyRequests:
		return throttled(kind, "HTTP 429", after)
	case status/100 == 5, status == http.StatusRequestTimeout:
		return unavailable(fmt.Sprintf("the receiver failed (HTTP %d)", status), after)
	case status/100 == 3:
		return refused(fmt.Sprintf("the receiver redirects (HTTP %d), which the operator doesn't follow: correct the key url of the Secret", status))
	}
	var coded *Failure
	if len(tooMany(kind)) > 0 {
		coded = readCode(kind, body, after, redact)
	}
	switch {
	case status/100 != 2 && (coded == nil || coded.Reason != appv1alpha1.ReasonReceiverThrottled):
		return refused(fmt.Sprintf("the receiver refused the message (HTTP %d)%s", status, reported(string(body), redact)))
	case kind == appv1alpha1.SinkTeams && bytes.Contains(body, []byte("HTTP error 429")):
		return throttled(kind, "HTTP error 429 in the answer", after)
	}
	return coded
}

// readCode reads an answer of a chat that has a code: 0 if the message was taken.
func readCode(kind appv1alpha1.SinkType, body []byte, after time.Duration, redact func(string) string) *Failure {
	var answer struct {
		Errcode       *int   `json:"errcode"`
		Code          *int   `json:"code"`
		StatusCode    *int   `json:"StatusCode"`
		Errmsg        string `json:"errmsg"`
		Msg           string `json:"msg"`
		StatusMessage string `json:"StatusMessage"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return unavailable(fmt.Sprintf("the answer isn't one of %s", kind), after)
	}
	code := answer.Errcode
	if kind == appv1alpha1.SinkFeishu {
		if code = answer.Code; code == nil {
			code = answer.StatusCode
		}
	}
	if code == nil {
		return unavailable(fmt.Sprintf("the answer isn't one of %s", kind), after)
	}
	message := reported(cmp.Or(answer.Errmsg, answer.Msg, answer.StatusMessage), redact)
	switch {
	case *code == 0:
		return nil
	case slices.Contains(tooMany(kind), *code):
		return throttled(kind, fmt.Sprintf("code %d%s", *code, message), after)
	case *code == -1:
		return unavailable(fmt.Sprintf("the receiver is busy (code -1)%s", message), after)
	}
	return refused(fmt.Sprintf("the receiver refused the message (code %d)%s", *code, message))
}

// tooMany returns the codes by which a chat asks for a pause; none for one whose answers have no code.
func tooMany(kind appv1alpha1.SinkType) []int {
	switch kind {
	case appv1alpha1.SinkDingTalk:
		return []int{130101, 410100, 90030}
	case appv1alpha1.SinkWeCom:
		return []int{45009, 45033}
	case appv1alpha1.SinkFeishu:
		return []int{11232, 99991400}
	}
	return nil
}

// throttled returns the failure of a receiver that wants a pause. A robot of DingTalk is silenced for ten minutes.
func throttled(kind appv1alpha1.SinkType, what string, after time.Duration) *Failure {
	least := 15 * time.Second
	if kind == appv1alpha1.SinkDingTalk {
		least = time.Minute
	}
	message := "the receiver takes no further messages for now (" + what + ")"
	return &Failure{Reason: appv1alpha1.ReasonReceiverThrottled, Message: message, Again: true, After: max(after, least)}
}

func unavailable(message string, after time.Duration) *Failure {
	return &Failure{Reason: appv1alpha1.ReasonReceiverUnavailable, Message: message, Again: true, After: after}
}

func refused(message string) *Failure {
	return &Failure{Reason: appv1alpha1.ReasonReceiverRefused, Message: message}
}

func reported(text string, redact func(string) string) string {
	if text = oneline.Of(redact(text), mostReported); text == "" {
		return ""
	}
	return ": " + text
}
