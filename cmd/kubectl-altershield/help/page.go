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
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/render"
)

// heads are the texts of a page.
type heads struct {
	title, verbs, flags, every, example, exits, comma string
}

const (
	englishTitle = "# The verbs of the kubectl plugin\n\nEnglish · [简体中文](zh/verbs.md)\n\n" +
		"<!-- Generated from the help of the plugin by make generate. -->\n\n" +
		"This is what `kubectl altershield VERB --help` prints. [The kubectl plugin](plugin.md) shows the verbs at work, and what each of them may need.\n\n"
	chineseTitle = "# kubectl 插件的命令\n\n[English](../verbs.md) · 简体中文\n\n" +
		"<!-- 由 make generate 从插件的帮助生成。 -->\n\n" +
		"这就是 `kubectl altershield VERB --help` 打印的内容。命令的用例及所需的权限见 [kubectl 插件](plugin.md)。\n\n"
)

func headsIn(language render.Language) heads {
	if language == render.Chinese {
		return heads{chineseTitle, "| 命令 | 作用 |", "| 参数 | 默认值 | 含义 |", "所有命令的参数", "示例：", "退出码：", "，"}
	}
	return heads{englishTitle, "| Verb | Does |", "| Flag | Default | Meaning |", "Flags of every verb", "Examples:", "Exit codes: ", ", "}
}

// Page returns a page in Markdown with a section for each verb.
func Page(root *cobra.Command, language render.Language) string {
	Translate(root, language)
	heads := headsIn(language)
	text := &strings.Builder{}
	fmt.Fprintf(text, "%s%s\n|---|---|\n", heads.title, heads.verbs)
	verbs := leaves(root)
	for _, verb := range verbs {
		fmt.Fprintf(text, "| [`%s`](#%s) | %s |\n", pathOf(verb), strings.ReplaceAll(pathOf(verb), " ", "-"), cell(verb.Short))
	}
	for _, verb := range verbs {
		heads.section(text, verb, language)
	}
	fmt.Fprintf(text, "\n## %s\n\n", heads.every)
	heads.table(text, root.PersistentFlags())
	return text.String()
}

// leaves returns the verbs without verbs of their own.
func leaves(command *cobra.Command) []*cobra.Command {
	if !command.HasAvailableSubCommands() {
		return []*cobra.Command{command}
	}
	var found []*cobra.Command
	for _, verb := range command.Commands() {
		found = append(found, leaves(verb)...)
	}
	return found
}

func (h heads) section(text *strings.Builder, verb *cobra.Command, language render.Language) {
	flags := verb.LocalNonPersistentFlags() // first: the line of usage knows the flags of every verb once the library has merged them
	fmt.Fprintf(text, "\n## %s\n\n`%s`\n\n%s\n", pathOf(verb), verb.UseLine(), prose(verb.Long))
	// Not as sh: these commands aren't run by the tests of pages, which have a cluster of their own.
	if verb.Example != "" {
		fmt.Fprintf(text, "\n%s\n\n```text\n%s\n```\n", h.example, unindented(verb.Example))
	}
	if flags.HasFlags() {
		text.WriteString("\n")
		h.table(text, flags)
	}
	var codes []string
	for _, exit := range exitsOf(verb) {
		codes = append(codes, fmt.Sprintf("`%d` %s", exit.code, exit.in(language)))
	}
	fmt.Fprintf(text, "\n%s%s\n", h.exits, strings.Join(codes, h.comma))
}

func (h heads) table(text *strings.Builder, flags *pflag.FlagSet) {
	fmt.Fprintf(text, "%s\n|---|---|---|\n", h.flags)
	flags.VisitAll(func(flag *pflag.Flag) {
		kind, usage := pflag.UnquoteUsage(flag)
		name := "`" + strings.TrimSpace("--"+flag.Name+" "+kind) + "`"
		if flag.Shorthand != "" {
			name = "`-" + flag.Shorthand + "`" + h.comma + name
		}
		value := ""
		if !slices.Contains([]string{"", "false", "[]", "0", "0s"}, flag.DefValue) {
			value = "`" + flag.DefValue + "`"
		}
		fmt.Fprintf(text, "| %s | %s | %s |\n", name, value, cell(usage))
	})
}

// cell and prose keep texts from being read as Markdown.
func cell(text string) string { return strings.ReplaceAll(prose(text), "|", `\|`) }

func prose(text string) string {
	return strings.NewReplacer("<", "&lt;", "*", `\*`, "`", "\\`").Replace(text)
}

// unindented returns lines without the two spaces that the help has before them.
func unindented(text string) string {
	return strings.ReplaceAll(strings.TrimPrefix(text, "  "), "\n  ", "\n")
}
