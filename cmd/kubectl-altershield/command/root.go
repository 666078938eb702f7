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

// Package command wires the verbs of the plugin: it reads flags, asks the API server and prints what package render makes of package view.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/help"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/render"
)

// Environment is what the plugin gets from its process.
type Environment struct {
	In       io.Reader
	Out, Err io.Writer
	// Getenv reads an environment variable.
	Getenv func(string) string
	// Terminal returns the size of the terminal that Out is; false if it is none.
	Terminal func() (width, height int, is bool)
	// Clock is the time, Location its zone for people.
	Clock    clock.WithTicker
	Location *time.Location
	// Connect returns a client, Ask the answer of an API server to a path.
	Connect func(*rest.Config) (client.WithWatch, error)
	Ask     func(ctx context.Context, config *rest.Config, path string) (Answer, error)
	// Browse has the browser of the user open an address.
	Browse func(url string) error
	// Version and Commit are those of the build.
	Version, Commit string
}

// tool is the plugin with its flags.
type tool struct {
	Environment
	flags flags
	// warnings are those of the API server.
	warnings warnings
}

// Run runs the plugin with its arguments and returns its exit code.
func Run(ctx context.Context, args []string, environment Environment) Code {
	t := &tool{Environment: environment}
	t.In = interruptible(ctx, environment.In)
	root := t.root()
	root.SetArgs(args)
	root.SetIn(t.In)
	root.SetOut(t.Out)
	root.SetErr(t.Err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return OK
	}
	if ctx.Err() != nil && errors.Is(ctx.Err(), context.Canceled) {
		return Interrupted
	}
	if !errors.Is(err, errTold) {
		fmt.Fprint(t.Err, render.Failure(explain(err)))
	}
	return CodeOf(err)
}

// readFunc is a function that reads.
type readFunc func(into []byte) (int, error)

func (r readFunc) Read(into []byte) (int, error) { return r(into) }

// interruptible returns a reader that ends with a context: nothing else ends a read of a terminal, so that a question would outlast Ctrl-C.
func interruptible(ctx context.Context, in io.Reader) io.Reader {
	return readFunc(func(into []byte) (int, error) {
		var read int
		var err error
		buffer := make([]byte, len(into)) // the other goroutine may still fill it after the end
		done := make(chan struct{})
		go func() {
			defer close(done)
			read, err = in.Read(buffer)
		}()
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-done:
			return copy(into, buffer[:read]), err
		}
	})
}

const long = `See and steer the releases of Kubernetes workloads under the change control of AlterShield Operator.

A workload is called NAME, KIND/NAME or NAMESPACE/NAME: web, statefulset/web, shop/web. Every kind under change control is known by
its records. Reading takes the role view; what you may not read is named and left out.`

// Tree returns the verbs with their flags, for the pages about them.
func Tree() *cobra.Command { return new(tool).root() }

func (t *tool) root() *cobra.Command {
	root := &cobra.Command{
		Use: "kubectl-altershield", Short: "See and steer releases under change control", Long: long,
		SilenceErrors: true, SilenceUsage: true,
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl altershield"},
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		Args:              exactly(0),
		RunE:              func(command *cobra.Command, _ []string) error { return command.Help() },
		PersistentPreRunE: func(*cobra.Command, []string) error { return t.flags.validate() },
	}
	t.flags.bind(root.PersistentFlags())
	root.SetUsageFunc(func(command *cobra.Command) error {
		_, err := fmt.Fprint(command.OutOrStderr(), help.Usage(command, t.language()))
		return err
	})
	printed := root.HelpFunc()
	root.SetHelpFunc(func(command *cobra.Command, args []string) {
		help.Translate(root, t.language())
		printed(command, args)
	})
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError(err) })
	root.AddCommand(
		t.list(), t.status(), t.wait(), t.why(), t.history(), t.diff(), t.events(),
		t.rollback(), t.repair(), t.hold(), t.resume(), t.goOn(), t.approve(), t.deny(), t.verdict(),
		t.freeze(), t.breakGlass(), t.policies(), t.settings(), t.export(), t.replay(), t.kind(), t.dashboard(), t.doctor(), t.report(),
		t.version(), t.completion(),
	)
	return root
}

// exactly asks for a number of arguments.
func exactly(count int) cobra.PositionalArgs { return counted(cobra.ExactArgs(count)) }

// atMost asks for at most a number of arguments.
func atMost(count int) cobra.PositionalArgs { return counted(cobra.MaximumNArgs(count)) }

// counted makes a wrong number of arguments an error of usage.
func counted(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(command *cobra.Command, args []string) error {
		if err := check(command, args); err != nil {
			if len(args) > 0 && command.HasSubCommands() {
				return usageError(fmt.Errorf("there is no verb %q; --help lists the verbs", args[0]))
			}
			if len(args) == 0 && strings.Contains(command.Use, " NAME") {
				err = errors.New("name a workload: kubectl altershield list shows them")
			}
			return usageError(fmt.Errorf("%w: %s", err, command.UseLine()))
		}
		return nil
	}
}
