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

package view

import (
	"fmt"
	"strings"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// maxNames is how many pods that failed for the same reason are named.
const maxNames = 3

// together returns a sentence of the operator that names failed pods with each message once.
func together(why string, failed []appv1alpha1.PodSummary) string {
	if len(failed) < 2 {
		return why
	}
	before, after, found := strings.Cut(why, decide.Failures(failed))
	if !found {
		return why
	}
	byMessage := map[string][]appv1alpha1.PodSummary{}
	var messages []string
	for _, pod := range failed {
		if byMessage[pod.Message] == nil {
			messages = append(messages, pod.Message)
		}
		byMessage[pod.Message] = append(byMessage[pod.Message], pod)
	}
	parts := make([]string, len(messages))
	for i, message := range messages {
		parts[i] = failuresWith(message, byMessage[message])
	}
	return before + strings.Join(parts, "; ") + after
}

// failuresWith describes the failure of pods with the same message.
func failuresWith(message string, pods []appv1alpha1.PodSummary) string {
	if len(pods) == 1 {
		return decide.Failures(pods)
	}
	var names []string
	for _, pod := range pods[:min(len(pods), maxNames)] {
		names = append(names, pod.Pod)
	}
	text := strings.Join(names, ", ")
	if more := len(pods) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	text = fmt.Sprintf("%d pods (%s) failed their check", len(pods), text)
	if message != "" {
		text += ": " + message
	}
	return text
}
