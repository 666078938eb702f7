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

package help

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/render"
)

// exit is an exit code of some verbs.
type exit struct {
	code             int
	english, chinese string
	// verbs have it, and those with one of these flags; empty for all.
	verbs []string
}

func exits() []exit {
	return []exit{
		{0, "fine", "正常", nil},
		{1, "error", "错误", nil},
		{2, "wrong usage", "用法错误", nil},
		{3, "there is a problem", "有问题", []string{"doctor"}},
		{3, "with --verify: a record is missing or was edited", "加 --verify：有记录缺失或被修改过", []string{"export"}},
		{4, "it would be denied", "会被拦截", []string{"why", "diff", "repair", "kind test", "--dry-run"}},
		{4, "a check would have failed", "有检查会判为不通过", []string{"replay"}},
		{10, "suspended", "已暂停", []string{"wait"}},
		{11, "rolled back", "已回滚", []string{"wait"}},
		{12, "superseded by another release", "已被另一次发布取代", []string{"wait"}},
		{13, "not checked", "未检测", []string{"wait"}},
		{124, "time-out", "超时", nil},
		{130, "interrupted", "被中断", nil},
	}
}

// exitsOf returns the exit codes of a verb, or of the verbs that it has.
func exitsOf(command *cobra.Command) []exit {
	return slices.DeleteFunc(exits(), func(exit exit) bool { return !exit.isOf(command) })
}

// isOf reports whether a verb, or a verb that it has, ends with the exit code.
func (e exit) isOf(command *cobra.Command) bool {
	if len(e.verbs) == 0 || slices.ContainsFunc(command.Commands(), e.isOf) {
		return true
	}
	return slices.ContainsFunc(e.verbs, func(verb string) bool {
		flag, isFlag := strings.CutPrefix(verb, "--")
		return verb == pathOf(command) || isFlag && command.Flags().Lookup(flag) != nil
	})
}

func (e exit) in(language render.Language) string {
	if language == render.Chinese {
		return e.chinese
	}
	return e.english
}

// places returns what has the exit code, for the help of the plugin as a whole.
func (e exit) places(command *cobra.Command) string {
	if len(e.verbs) == 0 || command.HasParent() {
		return ""
	}
	return " (" + strings.Join(e.verbs, ", ") + ")"
}
