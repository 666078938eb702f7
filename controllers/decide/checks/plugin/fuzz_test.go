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

package plugin_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/traas-stack/altershield-operator/controllers/decide/checks/plugin"
)

func FuzzTheAnswerOfAPlugin(f *testing.F) {
	for _, body := range []string{
		`{"verdict":"Pass"}`, `{"verdict":"Fail","reason":"Drift","message":"0.3","pods":[{"name":"new-0","message":"a\nb"},{"name":"new-0"}]}`,
		`{"verdict":"Inconclusive","message":"\u001b[31mred"}`, `{"verdict":"Fail","pods":[{"name":"old-0"}]}`, `{"verdict":"Pass","pods":[{"name":"new-1"}]}`, `[]`, `{"verdict":1}`, ``,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		answer := plugin.Parse(release(2, 1), body)
		if answer.Verdict != "Pass" && answer.Verdict != "Fail" && answer.Verdict != "Inconclusive" {
			t.Errorf("the verdict is %q", answer.Verdict)
		}
		if answer.Reason == "" || answer.Message == "" {
			t.Errorf("the verdict has the reason %q and the message %q", answer.Reason, answer.Message)
		}
		if len(answer.Pods) > 0 && answer.Verdict != "Fail" {
			t.Errorf("%d pods failed although the verdict is %s", len(answer.Pods), answer.Verdict)
		}
		checkText(t, answer.Message)
		failed := map[string]bool{}
		for _, pod := range answer.Pods {
			if failed[pod.Pod] || pod.Pod != "new-0" && pod.Pod != "new-1" {
				t.Errorf("pod %q is named twice, or isn't one of the release", pod.Pod)
			}
			failed[pod.Pod] = true
			checkText(t, pod.Message)
		}
	})
}

func checkText(t *testing.T, text string) {
	t.Helper()
	if len(text) > 4096 {
		t.Errorf("a message has %d bytes", len(text))
	}
	if strings.ContainsFunc(text, unicode.IsControl) {
		t.Errorf("%q has a control character", text)
	}
}
