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

// Package help has the help of the plugin: its texts in Chinese, its layout, and the pages made of it. It is pure: tree of verbs -> text.
package help

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/render"
)

// words are the headings in a language.
type words struct {
	usage, examples, verbs, flags, global, exits, more string
}

func wordsIn(language render.Language) words {
	if language == render.Chinese {
		return words{"用法：", "示例：", "命令：", "参数：", "所有命令的参数：", "退出码：", "用“%s VERB --help”查看一个命令的帮助。"}
	}
	return words{"Usage:", "Examples:", "Verbs:", "Flags:", "Flags of every verb:", "Exit codes:", `Use "%s VERB --help" for the help of a verb.`}
}

// Usage returns how a verb is used. Not by a template: package text/template would make the linker keep every method, nearly a third of the
// binary.
func Usage(command *cobra.Command, language render.Language) string {
	words := wordsIn(language)
	text := &strings.Builder{}
	part := func(heading, body string) {
		if body != "" {
			fmt.Fprintf(text, "%s\n%s\n\n", heading, strings.TrimRight(body, " \n"))
		}
	}
	part(words.usage, "  "+useOf(command))
	part(words.examples, command.Example)
	part(words.verbs, verbsOf(command))
	part(words.flags, command.LocalFlags().FlagUsages())
	part(words.global, command.InheritedFlags().FlagUsages())
	if command.HasAvailableSubCommands() {
		fmt.Fprintf(text, words.more+"\n\n", command.CommandPath())
	}
	var codes strings.Builder
	for _, exit := range exitsOf(command) {
		fmt.Fprintf(&codes, "  %-3d  %s%s\n", exit.code, exit.in(language), exit.places(command))
	}
	part(words.exits, codes.String())
	return strings.TrimSuffix(text.String(), "\n")
}

// useOf returns the line of usage, in which a verb with verbs has one of them.
func useOf(command *cobra.Command) string {
	if command.HasAvailableSubCommands() {
		return command.CommandPath() + " VERB [flags]"
	}
	return command.UseLine()
}

func verbsOf(command *cobra.Command) string {
	var text strings.Builder
	for _, verb := range command.Commands() {
		if verb.IsAvailableCommand() || verb.Name() == "help" {
			fmt.Fprintf(&text, "  %-*s  %s\n", verb.NamePadding(), verb.Name(), verb.Short)
		}
	}
	return text.String()
}

// Texts are those of a verb. Its flags are by name; those that several verbs share are with the root.
type Texts struct {
	Short, Long string
	Flags       map[string]string
}

// Translate replaces the texts of a verb, of its verbs and of their flags by those in a language. In the code they are in English.
func Translate(command *cobra.Command, language render.Language) {
	if language != render.Chinese {
		return
	}
	texts := chinese()
	translate(command, texts, texts[""].Flags)
}

func translate(command *cobra.Command, texts map[string]Texts, shared map[string]string) {
	own := texts[pathOf(command)]
	replace(&command.Short, own.Short)
	replace(&command.Long, own.Long)
	each := func(flag *pflag.Flag) {
		replace(&flag.Usage, shared[flag.Name])
		replace(&flag.Usage, own.Flags[flag.Name])
	}
	command.PersistentFlags().VisitAll(each)
	command.LocalNonPersistentFlags().VisitAll(each)
	for _, verb := range command.Commands() {
		translate(verb, texts, shared)
	}
}

// replace leaves a text for which there is no other.
func replace(text *string, other string) {
	if other != "" {
		*text = other
	}
}

// pathOf returns the names of a verb without that of the plugin.
func pathOf(command *cobra.Command) string {
	path := strings.TrimPrefix(command.CommandPath(), command.Root().CommandPath())
	return strings.TrimPrefix(path, " ")
}
