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

package help_test

import (
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/command"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/help"
)

// walk calls a function with a verb and each of its verbs.
func walk(verb *cobra.Command, each func(path string, verb *cobra.Command)) {
	path := strings.TrimPrefix(strings.TrimPrefix(verb.CommandPath(), verb.Root().CommandPath()), " ")
	each(path, verb)
	for _, child := range verb.Commands() {
		walk(child, each)
	}
}

func isChinese(text string) bool {
	return strings.ContainsFunc(text, func(letter rune) bool { return unicode.Is(unicode.Han, letter) })
}

func TestTranslateKnowsEveryVerbAndFlag(t *testing.T) {
	g := NewWithT(t)
	tree := command.Tree()
	help.Translate(tree, "zh")
	walk(tree, func(path string, verb *cobra.Command) {
		g.Expect(isChinese(verb.Short)).To(BeTrue(), "the short text of %q is %q", path, verb.Short)
		g.Expect(isChinese(verb.Long)).To(BeTrue(), "the long text of %q is %q", path, verb.Long)
		verb.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			g.Expect(isChinese(flag.Usage)).To(BeTrue(), "%q --%s is %q", path, flag.Name, flag.Usage)
		})
	})
}

func TestTranslateHasNoTextForVerbsAndFlagsThatAreGone(t *testing.T) {
	g := NewWithT(t)
	texts := help.Chinese()
	shared := texts[""].Flags
	delete(texts, "help") // the library adds this verb, and a flag to each
	delete(shared, "help")
	delete(texts, "")
	walk(command.Tree(), func(path string, verb *cobra.Command) {
		flags := texts[path].Flags
		delete(texts, path)
		verb.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			if _, own := flags[flag.Name]; own {
				delete(flags, flag.Name)
				return
			}
			delete(shared, flag.Name)
		})
		g.Expect(flags).To(BeEmpty(), path)
	})
	g.Expect(texts).To(BeEmpty())
	g.Expect(shared).To(BeEmpty())
}

func TestTranslateLeavesEnglish(t *testing.T) {
	g := NewWithT(t)
	tree := command.Tree()
	help.Translate(tree, "en")
	walk(tree, func(path string, verb *cobra.Command) {
		g.Expect(verb.Short).NotTo(BeEmpty(), path)
		g.Expect(verb.Long).NotTo(BeEmpty(), path)
		g.Expect(isChinese(verb.Short+verb.Long)).To(BeFalse(), path)
	})
}

// The examples are on the pages, where no test runs them.
func TestExamplesHaveTheVerbsAndFlagsThatThereAre(t *testing.T) {
	g := NewWithT(t)
	quoted := regexp.MustCompile(`'[^']*'`)
	walk(command.Tree(), func(path string, verb *cobra.Command) {
		for line := range strings.Lines(verb.Example) {
			for part := range strings.SplitSeq(quoted.ReplaceAllString(line, "text"), "&&") {
				part, _, _ = strings.Cut(part, " >")
				words := strings.Fields(strings.ReplaceAll(part, "kubectl altershield", "kubectl-altershield"))
				if len(words) == 0 || words[0] != "kubectl-altershield" {
					continue
				}
				tree := command.Tree()
				found, args, err := tree.Find(words[1:])
				g.Expect(err).NotTo(HaveOccurred(), line)
				g.Expect(found.ParseFlags(args)).To(Succeed(), line)
				g.Expect(found.ValidateArgs(found.Flags().Args())).To(Succeed(), line)
				g.Expect(found).NotTo(Equal(tree), line)
			}
		}
		if !verb.HasSubCommands() && path != "version" {
			g.Expect(verb.Example).NotTo(BeEmpty(), path)
		}
	})
}

// tree has one verb of each sort.
func tree() *cobra.Command {
	run := func(*cobra.Command, []string) {}
	root := &cobra.Command{Use: "tool", Short: "Does things", Run: run}
	root.PersistentFlags().StringP("namespace", "n", "", "Namespace.")
	doctor := &cobra.Command{Use: "doctor", Short: "Examine", Long: "Examine <all> *of* it.\nChange nothing.", Example: "  tool doctor\n  tool doctor --wait=2m", Run: run}
	doctor.Flags().Duration("wait", time.Minute, "How long to wait.")
	doctor.Flags().Bool("deep", false, "Look a|b.")
	freeze := &cobra.Command{Use: "freeze", Short: "Freeze", Run: run}
	lock := &cobra.Command{Use: "lock LOCK", Short: "Lock", Long: "Lock all.", Run: run}
	lock.Flags().String("dry-run", "none", "Change nothing.")
	freeze.AddCommand(lock)
	root.AddCommand(doctor, freeze)
	return root
}

func TestUsage(t *testing.T) {
	root := tree()
	doctor, _, _ := root.Find([]string{"doctor"})
	lock, _, _ := root.Find([]string{"freeze", "lock"})
	cases := map[string]struct {
		got, want string
	}{
		"the plugin": {help.Usage(root, "en"), `Usage:
  tool VERB [flags]

Verbs:
  doctor       Examine
  freeze       Freeze

Flags:
  -n, --namespace string   Namespace.

Use "tool VERB --help" for the help of a verb.

Exit codes:
  0    fine
  1    error
  2    wrong usage
  3    there is a problem (doctor)
  4    it would be denied (why, diff, repair, kind test, --dry-run)
  124  time-out
  130  interrupted
`},
		"a verb": {help.Usage(doctor, "en"), `Usage:
  tool doctor [flags]

Examples:
  tool doctor
  tool doctor --wait=2m

Flags:
      --deep            Look a|b.
      --wait duration   How long to wait. (default 1m0s)

Flags of every verb:
  -n, --namespace string   Namespace.

Exit codes:
  0    fine
  1    error
  2    wrong usage
  3    there is a problem
  124  time-out
  130  interrupted
`},
		"a verb that writes, in Chinese": {help.Usage(lock, "zh"), `用法：
  tool freeze lock LOCK [flags]

参数：
      --dry-run string   Change nothing. (default "none")

所有命令的参数：
  -n, --namespace string   Namespace.

退出码：
  0    正常
  1    错误
  2    用法错误
  4    会被拦截
  124  超时
  130  被中断
`},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) { NewWithT(t).Expect(test.got).To(Equal(test.want)) })
	}
}

func TestPage(t *testing.T) {
	g := NewWithT(t)
	english := help.Page(tree(), "en")
	_, rest, found := strings.Cut(english, "\n\n| Verb | Does |\n")
	g.Expect(found).To(BeTrue(), english)
	g.Expect(rest).To(Equal("|---|---|\n| [`doctor`](#doctor) | Examine |\n| [`freeze lock`](#freeze-lock) | Lock |\n" +
		"\n## doctor\n\n`tool doctor [flags]`\n\nExamine &lt;all> \\*of\\* it.\nChange nothing.\n" +
		"\nExamples:\n\n```text\ntool doctor\ntool doctor --wait=2m\n```\n" +
		"\n| Flag | Default | Meaning |\n|---|---|---|\n| `--deep` |  | Look a\\|b. |\n| `--wait duration` | `1m0s` | How long to wait. |\n" +
		"\nExit codes: `0` fine, `1` error, `2` wrong usage, `3` there is a problem, `124` time-out, `130` interrupted\n" +
		"\n## freeze lock\n\n`tool freeze lock LOCK [flags]`\n\nLock all.\n" +
		"\n| Flag | Default | Meaning |\n|---|---|---|\n| `--dry-run string` | `none` | Change nothing. |\n" +
		"\nExit codes: `0` fine, `1` error, `2` wrong usage, `4` it would be denied, `124` time-out, `130` interrupted\n" +
		"\n## Flags of every verb\n\n| Flag | Default | Meaning |\n|---|---|---|\n| `-n`, `--namespace string` |  | Namespace. |\n"))
	chinese := help.Page(tree(), "zh")
	g.Expect(chinese).To(HavePrefix("# kubectl 插件的命令\n\n[English](../verbs.md) · 简体中文\n"))
	g.Expect(chinese).To(ContainSubstring("| `-n`，`--namespace string` |  | 命名空间；默认是上下文的命名空间。 |"))
	g.Expect(chinese).To(ContainSubstring("\n退出码：`0` 正常，`1` 错误，`2` 用法错误，`4` 会被拦截，`124` 超时，`130` 被中断\n"))
}
