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

package command

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/render"
)

// flags are those that every verb takes.
type flags struct {
	kubeconfig, context, namespace, as string
	asGroups                           []string
	allNamespaces                      bool
	requestTimeout                     time.Duration
	selector, output, color, lang      string
}

// defaultRequestTimeout keeps the plugin from hanging for minutes where the API server doesn't answer.
const defaultRequestTimeout = 15 * time.Second

func (f *flags) bind(set *pflag.FlagSet) {
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "Path to the kubeconfig file.")
	set.StringVar(&f.context, "context", "", "Context of the kubeconfig.")
	set.StringVarP(&f.namespace, "namespace", "n", "", "Namespace; by default that of the context.")
	set.StringVar(&f.as, "as", "", "User to impersonate.")
	set.StringArrayVar(&f.asGroups, "as-group", nil, "Group to impersonate; may be repeated.")
	set.DurationVar(&f.requestTimeout, "request-timeout", defaultRequestTimeout, "Longest time that a request may take; 0 for no limit.")
	set.StringVarP(&f.output, "output", "o", "table", "Format: "+strings.Join(formats(), ", ")+".")
	set.StringVar(&f.color, "color", "auto", "Colours: auto, always or never.")
	set.StringVar(&f.lang, "lang", "", "Language: en or zh; by default that of ALTERSHIELD_LANG, LC_ALL or LANG.")
}

// bindAllNamespaces adds the flag that lists all namespaces.
func (f *flags) bindAllNamespaces(command *cobra.Command) {
	command.Flags().BoolVarP(&f.allNamespaces, "all-namespaces", "A", false, "List all namespaces.")
}

// listed returns the namespace that is listed, empty for all.
func (f *flags) listed(cluster *cluster) string {
	if f.allNamespaces {
		return ""
	}
	return cluster.namespace
}

// byPath is the format of a template.
const byPath = "jsonpath="

func formats() []string {
	return []string{"table", "wide", "json", "yaml", "name", byPath + "TEMPLATE"}
}

func (f *flags) validate() error {
	if err := f.validateOutput(); err != nil {
		return usageError(err)
	}
	switch {
	case !slices.Contains([]string{"auto", "always", "never"}, f.color):
		return usageError(fmt.Errorf("--color %q is none of auto, always, never", f.color))
	case !slices.Contains([]string{"", "en", "zh"}, f.lang):
		return usageError(fmt.Errorf("--lang %q is none of en, zh", f.lang))
	case f.requestTimeout < 0:
		return usageError(fmt.Errorf("--request-timeout %s is negative", f.requestTimeout))
	}
	return nil
}

func (f *flags) validateOutput() error {
	if strings.HasPrefix(f.output, byPath) {
		_, err := template(f.output)
		return err
	}
	if !slices.Contains(formats()[:len(formats())-1], f.output) {
		return fmt.Errorf("--output %q is none of %s", f.output, strings.Join(formats(), ", "))
	}
	return nil
}

// kubeconfig returns what reads the kubeconfig.
func (t *tool) kubeconfig() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = t.flags.kubeconfig
	overrides := &clientcmd.ConfigOverrides{
		CurrentContext: t.flags.context,
		Context:        clientcmdapi.Context{Namespace: t.flags.namespace},
		AuthInfo:       clientcmdapi.AuthInfo{Impersonate: t.flags.as, ImpersonateGroups: t.flags.asGroups},
	}
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
}

// contextName returns the names of the context and of its cluster in the kubeconfig; empty if it has none.
func (t *tool) contextName() (name, cluster string) {
	raw, err := t.kubeconfig().RawConfig()
	if err != nil {
		return "", ""
	}
	name = cmp.Or(t.flags.context, raw.CurrentContext)
	if named := raw.Contexts[name]; named != nil {
		return name, named.Cluster
	}
	return "", ""
}

// config returns the configuration of a client, and the namespace.
func (t *tool) config() (*rest.Config, string, error) {
	loader := t.kubeconfig()
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("reading the kubeconfig: %w", err)
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, "", fmt.Errorf("reading the namespace of the kubeconfig: %w", err)
	}
	t.flags.impersonate(config)
	config.Timeout = t.flags.requestTimeout
	config.QPS = -1 // the API server has its own limits
	config.UserAgent = "kubectl-altershield/" + t.Version
	config.WarningHandlerWithContext = &t.warnings
	return config, namespace, nil
}

// impersonate adds the user to impersonate, which client-go leaves out of the configuration of a pod without a kubeconfig.
func (f *flags) impersonate(config *rest.Config) {
	if config.Impersonate.UserName == "" && f.as != "" {
		config.Impersonate.UserName, config.Impersonate.Groups = f.as, f.asGroups
	}
}

// style returns how to print, by the flags, the environment and the terminal.
func (t *tool) style() render.Style {
	width, height, isTerminal := t.Terminal()
	style := render.Style{
		Width: width, Height: height, Wide: t.flags.output == "wide", Now: t.Clock.Now().In(t.Location),
		Language: t.language(), ASCII: !isUTF8(t.Getenv),
	}
	if !isTerminal {
		style.Width, style.Height = 0, 0
	}
	switch t.flags.color {
	case "always":
		style.Colour = true
	case "auto":
		style.Colour = isTerminal && t.Getenv("NO_COLOR") == "" && t.Getenv("TERM") != "dumb"
	}
	return style
}

// language returns the language of sentences.
func (t *tool) language() render.Language {
	return render.LanguageOf(t.flags.lang, t.Getenv("ALTERSHIELD_LANG"), t.Getenv("LC_ALL"), t.Getenv("LANG"))
}

// isUTF8 reports whether the locale has more than ASCII characters. Chinese sentences need them in any case.
func isUTF8(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := strings.ToLower(getenv(name)); locale != "" {
			return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
		}
	}
	return false
}
