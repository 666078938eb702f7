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
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	authenticationv1 "k8s.io/api/authentication/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/dashboard"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/render"
)

// serving are the flags of dashboard.
type serving struct {
	port           int
	readOnly, open bool
	operator       string
}

func (t *tool) dashboard() *cobra.Command {
	var flags serving
	command := &cobra.Command{
		Use: "dashboard", Short: "Show the releases on a page in your browser",
		Long: `Serve a page for the browser of this machine, with your own rights, until Ctrl-C or until there was no call for an hour. It listens on 127.0.0.1
alone, and its address has a key without which nothing is answered: keep it to yourself. The page reads; with --read-only=false it also has the
verbs that write, each after a dry run.`,
		Example: "  kubectl altershield dashboard -A\n  kubectl altershield dashboard -n shop --read-only=false --open=false",
		Args:    exactly(0),
		RunE: func(command *cobra.Command, _ []string) error {
			if flags.port < 0 || flags.port > 65535 {
				return usageError(fmt.Errorf("--port %d is no port", flags.port))
			}
			return t.runDashboard(command.Context(), flags)
		},
	}
	set := command.Flags()
	t.flags.bindAllNamespaces(command)
	set.IntVar(&flags.port, "port", 0, "Port on 127.0.0.1; 0 for any that is free.")
	set.BoolVar(&flags.readOnly, "read-only", true, "Leave out the verbs that write.")
	set.BoolVar(&flags.open, "open", true, "Open the page in your browser.")
	set.StringVar(&flags.operator, "operator-namespace", appv1alpha1.SystemNamespace, "Namespace of the operator.")
	return command
}

func (t *tool) runDashboard(ctx context.Context, flags serving) error {
	config, namespace, err := t.config()
	if err != nil {
		return err
	}
	config.Timeout = 0 // a watch has no end; every call of the page has one
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return bound{next, ctx, t.flags.requestTimeout} })
	connected, err := t.Connect(config)
	if err != nil {
		return err
	}
	site := &site{tool: t, cluster: t.clusterOf(config, connected, namespace), operator: flags.operator, polls: pollInterval}
	if site.session, err = site.begin(ctx, config.Host, flags.readOnly); err != nil {
		return err
	}
	err = dashboard.Serve(ctx, dashboard.Options{
		Port: flags.port, ReadOnly: flags.readOnly, Backend: site.backend(), Clock: t.Clock, Timeout: callTimes * t.flags.requestTimeout,
		Started: func(url, once string) error {
			if _, err := fmt.Fprint(t.Out, render.Dashboard(url, flags.readOnly, t.style())); err != nil {
				return fmt.Errorf("writing the address: %w", err)
			}
			if flags.open {
				_ = t.Browse(once) // if that fails, the address is printed
			}
			return nil
		},
	})
	if err == nil {
		fmt.Fprint(t.Err, render.DashboardIdle(t.style()))
	}
	return err
}

// callTimes is how many requests may take their full time in one call of the page.
const callTimes = 4

// session is what the page knows about its server.
type session struct {
	Cluster  string `json:"cluster"`
	Server   string `json:"server"`
	User     string `json:"user"`
	ReadOnly bool   `json:"readOnly"`
	Version  string `json:"version"`
	// Namespace is the one that is shown first, empty for all.
	Namespace string `json:"namespace"`
	Language  string `json:"language"`
	// Context, Kubeconfig, As and AsGroups are flags of the lines to copy: without them these would ask another cluster, or as another user. Those
	// that are empty aren't given.
	Context    string   `json:"context,omitempty"`
	Kubeconfig string   `json:"kubeconfig,omitempty"`
	As         string   `json:"as,omitempty"`
	AsGroups   []string `json:"asGroups,omitempty"`
	Now        string   `json:"now"`
}

// begin asks the API server who the user is, which tells whether it answers at all.
func (s *site) begin(ctx context.Context, host string, readOnly bool) (session, error) {
	flags := s.tool.flags
	begun := session{
		Server: withoutLogin(host), ReadOnly: readOnly, Version: s.tool.Version, Namespace: flags.listed(s.cluster),
		Language: string(s.tool.style().Language), Kubeconfig: flags.kubeconfig, As: flags.as, AsGroups: flags.asGroups,
	}
	begun.Context, begun.Cluster = s.tool.contextName()
	if whole, err := filepath.Abs(flags.kubeconfig); err == nil && flags.kubeconfig != "" {
		begun.Kubeconfig = whole
	}
	if flags.requestTimeout > 0 {
		within, cancel := context.WithTimeout(ctx, flags.requestTimeout)
		defer cancel()
		ctx = within
	}
	review := &authenticationv1.SelfSubjectReview{}
	if err := s.cluster.Create(ctx, review); err != nil && !lacksRight(err) {
		return begun, fmt.Errorf("asking the API server who you are: %w", err)
	}
	begun.User = review.Status.UserInfo.Username
	return begun, nil
}

// withoutLogin returns an address without a login that it may have.
func withoutLogin(host string) string {
	parsed, err := url.Parse(host)
	if err != nil {
		return ""
	}
	parsed.User = nil
	return parsed.String()
}

// pollInterval is how often what can't be watched is listed.
const pollInterval = 5 * time.Second
