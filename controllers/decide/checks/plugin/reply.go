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

package plugin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/platform/oneline"
)

// reply is the answer of a plug-in. Further fields are ignored.
type reply struct {
	Verdict appv1alpha1.CheckVerdict  `json:"verdict"`
	Reason  string                    `json:"reason"`
	Message string                    `json:"message"`
	Pods    []appv1alpha1.ReportedPod `json:"pods"`
}

// Parse reads the answer of a plug-in about a release. An unreadable one is Broken. Nothing of it shows but its reason and its messages.
func Parse(release *checks.Scene, body []byte) Answer {
	var said reply
	if err := json.Unmarshal(body, &said); err != nil {
		return Broken(ReasonBadAnswer, "the answer of the plug-in is not JSON with verdict, reason, message and pods")
	}
	answer, err := said.answer(release)
	if err != nil {
		return Broken(ReasonBadAnswer, oneline.Of("the answer of the plug-in: "+err.Error(), maxText))
	}
	return answer
}

func (r *reply) answer(release *checks.Scene) (Answer, error) {
	answer := answerOf(r.Verdict, cmp.Or(said(r.Reason, r.Message), "the plug-in answers "+string(r.Verdict)))
	if answer.Reason == "" {
		return Answer{}, fmt.Errorf("verdict is %.64q: it must be Pass, Fail or Inconclusive", r.Verdict)
	}
	if r.Reason != "" && !regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,63}$`).MatchString(r.Reason) {
		return Answer{}, fmt.Errorf("reason is %.64q: it must be CamelCase of at most 64 characters", r.Reason)
	}
	if len(r.Pods) > 0 && r.Verdict != appv1alpha1.CheckFail {
		return Answer{}, fmt.Errorf("pods are those that failed, and verdict is %s", r.Verdict)
	}
	failed, unknown := failedPods(release, r.Pods, answer.Message)
	if len(unknown) > 0 {
		return Answer{}, fmt.Errorf("pods has %.64q, which is no finished pod of the release", unknown[0])
	}
	answer.Pods = failed
	return answer, nil
}

// answerOf returns the answer with a verdict of others. It has a reason only if the verdict is Pass, Fail or Inconclusive.
func answerOf(verdict appv1alpha1.CheckVerdict, message string) Answer {
	reasons := map[appv1alpha1.CheckVerdict]string{
		appv1alpha1.CheckPass: appv1alpha1.ReasonCheckPassed, appv1alpha1.CheckFail: appv1alpha1.ReasonCheckFailed,
		appv1alpha1.CheckInconclusive: ReasonUndecided,
	}
	return Answer{Verdict: verdict, Reason: reasons[verdict], Message: message}
}

// failedPods returns the finished pods of a release that others name, each once, and the names that are none of those. A pod without a message
// gets that of all.
func failedPods(release *checks.Scene, named []appv1alpha1.ReportedPod, message string) (failed []appv1alpha1.CheckedPod, unknown []string) {
	own, counted := make(map[string]types.UID, len(release.New)), make(map[string]bool, len(named))
	for i := range release.New {
		own[release.New[i].Name] = release.New[i].UID
	}
	for _, pod := range named {
		uid, found := own[pod.Name]
		if !found {
			unknown = append(unknown, pod.Name)
			continue
		}
		if counted[pod.Name] {
			continue
		}
		counted[pod.Name] = true
		failed = append(failed, appv1alpha1.CheckedPod{Pod: pod.Name, UID: uid, Message: cmp.Or(oneline.Of(pod.Message, maxText), message)})
	}
	return failed, unknown
}
