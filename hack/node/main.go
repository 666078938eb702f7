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

// Command node runs a command beside a Kubernetes cluster with real nodes, on this machine and in namespaces of its own,
// so that nothing of the cluster remains when the command exits.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

const usage = `Usage: go run ./hack/node [--nodes=N] -- <command> [arguments]

Starts a Kubernetes cluster with real nodes on this machine, runs the command, and removes the cluster again. It needs root
on Linux; what is missing is built from Go modules or installed from Debian packages. The cluster has a network of its own:
the command reaches the cluster, but nothing outside of the machine. The command finds in its environment:

  KUBECONFIG      of the cluster's administrator; kubectl and crane are on the PATH
  NODE_REGISTRY   host:port of the registry that every image is pulled from, without TLS: an image without a registry and a
                  folder in its name is pulled as library/<name>
  NODE_ADDRESS    where pods reach what the command starts
  NODE_STATE      a folder with logs/ and audit.log

Flags:
`

// Roles of this program in the namespaces, as its first argument.
const (
	roleInit    = "init-of-namespaces"
	roleCluster = "cluster-in-namespaces"
)

// maxNodes is the maximum number of nodes: their addresses come from one range.
const maxNodes = 9

// failed is the exit code of failures other than the command's.
const failed = 125

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code, err := run(ctx, os.Args[1:])
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		code = max(code, failed)
	}
	os.Exit(code)
}

// options are the command to run and the number of nodes.
type options struct {
	Nodes   int
	Command []string
}

// parse parses the command line; the usage goes to out.
func parse(args []string, out io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("node", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Usage = func() {
		fmt.Fprint(out, usage)
		flags.PrintDefaults()
	}
	flags.IntVar(&o.Nodes, "nodes", 2, "number of `nodes` of the cluster")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.Command = flags.Args()
	if len(o.Command) == 0 {
		return o, errors.New("no command given; -h shows the usage")
	}
	if o.Nodes < 1 || o.Nodes > maxNodes {
		return o, fmt.Errorf("--nodes=%d: expected 1 to %d", o.Nodes, maxNodes)
	}
	return o, nil
}
