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

// Command local runs a Kubernetes control plane on this machine, with a manager outside of it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/traas-stack/altershield-operator/hack/local/assets"
)

const usage = `Usage: go run ./hack/local <command> [flags]

Commands:
  assets        find or build the programs of the control plane and print their folder
  kubectl-path  the same, and print the path of kubectl
  certs         create a certificate for a manager that is debugged on this machine
  up            start a control plane and the manager in the background; may be repeated
  down          stop them and remove their data

"go run ./hack/local <command> -h" lists the flags of a command.
`

func main() {
	ctrl.SetLogger(logr.Discard()) // controller-runtime warns if there is none
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// run runs a command; results go to the standard output, progress to the standard error.
func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		fmt.Fprint(os.Stderr, usage)
		return errors.New("no command given")
	}
	name, args := args[0], args[1:]
	switch name {
	case "assets":
		return printAssets(ctx, name, args, func(a assets.Assets) string { return a.Dir })
	case "kubectl-path":
		return printAssets(ctx, name, args, func(a assets.Assets) string { return a.Path(assets.Kubectl) })
	case "certs":
		flags := newFlags(name)
		dir := flags.String("dir", "certs", "`folder` to write to")
		hosts := flags.String("hosts", "", "names and addresses of this machine besides localhost, separated by commas")
		if err := parse(flags, args); err != nil {
			return err
		}
		return certs(*dir, *hosts, os.Stdout)
	case "up":
		options, err := parseUp(args, os.Getenv)
		if err != nil {
			return err
		}
		return up(ctx, options, os.Stdout, os.Stderr)
	case "down":
		if err := parse(newFlags(name), args); err != nil {
			return err
		}
		return down(ctx, os.Stdout)
	case "help", "-h", "-help", "--help":
		fmt.Print(usage)
		return nil
	default:
		fmt.Fprint(os.Stderr, usage)
		return fmt.Errorf("unknown command %q", name)
	}
}

func printAssets(ctx context.Context, name string, args []string, line func(assets.Assets) string) error {
	flags := newFlags(name)
	minor := flags.String("kubernetes", "", "`minor` version of Kubernetes, such as 1.33, in place of the newest one")
	if err := parse(flags, args); err != nil {
		return err
	}
	programs, err := assets.EnsureMinor(ctx, os.Stderr, *minor)
	if err != nil {
		return err
	}
	fmt.Println(line(programs))
	return nil
}

func newFlags(name string) *flag.FlagSet {
	flags := flag.NewFlagSet("go run ./hack/local "+name, flag.ContinueOnError)
	flags.SetOutput(os.Stderr)
	return flags
}

// parse parses flags and rejects other arguments.
func parse(flags *flag.FlagSet, args []string) error {
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; -h lists the flags", flags.Arg(0))
	}
	return nil
}
