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

package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

// maxNames is how many pods of a group are named.
const maxNames = 3

// group is the pods with the same message.
type group struct {
	message string
	pods    []string
}

// groupsOf groups pods by message, in the order of the first ones.
func groupsOf(pods []view.FailedPod) []group {
	var groups []group
	for _, pod := range pods {
		at := slices.IndexFunc(groups, func(other group) bool { return other.message == pod.Message })
		if at < 0 {
			at = len(groups)
			groups = append(groups, group{message: pod.Message})
		}
		groups[at].pods = append(groups[at].pods, pod.Pod)
	}
	return groups
}

// names returns the first names, and how many pods there are.
func (g group) names(style Style) string {
	names := strings.Join(g.pods[:min(len(g.pods), maxNames)], ", ")
	if len(g.pods) > maxNames {
		names += " " + style.text("more", len(g.pods)-maxNames)
	}
	return names
}

// rollsBack says when the operator rolls back because of pods that don't run; empty if it doesn't.
func (s Style) rollsBack(pods view.NotRunning) string {
	if pods.RollbackAt == nil {
		return ""
	}
	return s.text("rolls.back", s.moment(pods.RollbackAt.Time))
}

func (s Style) notRunning(pods view.NotRunning) node {
	parts := []string{"", s.rollsBack(pods)}
	if len(pods.Pods) > 0 {
		parts[0] = fmt.Sprint(len(pods.Pods))
	}
	text := strings.Join(slices.DeleteFunc(parts, isEmpty), gap)
	branch := s.byMessage(node{label: s.text("pods.waiting"), text: text, colour: yellow}, pods.Pods)
	if pods.NotCreated != "" {
		branch.below = append(branch.below, node{label: s.text("uncreated"), text: pods.NotCreated})
	}
	return branch
}

func isEmpty(text string) bool { return text == "" }

// byMessage returns a branch with a line for each message, and the first of its pods.
func (s Style) byMessage(branch node, pods []view.FailedPod) node {
	for _, group := range groupsOf(pods) {
		text := group.message
		if len(group.pods) > 1 { // a label of all names would take the width of the other lines
			text = s.text("more", len(group.pods)-1) + gap + text
		}
		branch.below = append(branch.below, node{label: group.pods[0], text: text})
	}
	return branch
}
