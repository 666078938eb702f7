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

// Command altershield runs a test server that behaves like AlterShield Server v1.0 at its HTTP boundary.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/traas-stack/altershield-operator/hack/altershield"
)

const usage = `Usage: go run ./hack/altershield/cmd --token-file=FILE [flags]

A test server that behaves like AlterShield Server v1.0 at its HTTP boundary. It keeps all state in memory.

Flags:
`

const examples = `
Examples:
  Make the check of the third batch fail:
    curl -d '{"name":"error rate","message":"5xx above 1%","stage":"POST","batch":2,"verdict":"FAIL"}' http://127.0.0.1:8180/test/rules
  Answer the next three polls with HTTP 500:
    curl -d '{"kind":"status","httpStatus":500,"actions":["retrieveChangeCheck"],"remaining":3}' http://127.0.0.1:8180/test/faults
  Show the orders with their batches and callbacks:
    curl http://127.0.0.1:8180/test/orders
`

const defaultCallbackURL = "http://127.0.0.1:8080/openapi/altershield/callback"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// run serves until the context ends. It writes a line for each call and callback to out, and the usage to help.
func run(ctx context.Context, args []string, out, help io.Writer) error {
	listen, options, err := parse(args, help)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "AlterShield test server listens on http://%s, callbacks go to %s\n", listener.Addr(), options.CallbackURL)
	options.Log = out
	server := altershield.New(options)
	defer server.Close()
	return server.Serve(ctx, listener)
}

func parse(args []string, help io.Writer) (listen string, options altershield.Options, err error) {
	flags := flag.NewFlagSet("altershield", flag.ContinueOnError)
	flags.SetOutput(help)
	flags.Usage = func() {
		fmt.Fprint(help, usage)
		flags.PrintDefaults()
		fmt.Fprint(help, "\n"+altershield.ControlHelp+examples)
	}
	flags.StringVar(&listen, "listen", "127.0.0.1:8180", "`address` to listen on; every client that reaches it controls the server")
	tokenFile := flags.String("token-file", "", "`file` with the token of the platform; required")
	flags.StringVar(&options.CallbackURL, "callback-url", defaultCallbackURL, "`URL` for callbacks with verdicts; empty for no callbacks")
	if err := flags.Parse(args); err != nil {
		return "", options, err
	}
	switch {
	case flags.NArg() > 0:
		return "", options, fmt.Errorf("unexpected argument %q; -h lists the flags", flags.Arg(0))
	case *tokenFile == "":
		return "", options, errors.New("--token-file is required")
	}
	token, err := os.ReadFile(*tokenFile)
	if err != nil {
		return "", options, err
	}
	options.Token = strings.TrimSpace(string(token))
	if options.Token == "" {
		return "", options, fmt.Errorf("%s contains no token", *tokenFile)
	}
	return listen, options, nil
}
