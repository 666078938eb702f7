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

// Command kubectl-altershield is a kubectl plugin: it shows and steers the releases of workloads under change control.
package main

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	_ "time/tzdata" // Windows has no time zones that Go reads, and small images have none

	"github.com/go-logr/logr"
	"golang.org/x/term"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // lets a kubeconfig use any login method
	"k8s.io/utils/clock"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/command"
)

// Set by the linker: go build -ldflags "-X main.version=... -X main.commit=...".
var (
	version = ""
	commit  = "unknown" //nolint:gochecknoglobals // the linker can only set variables
)

func main() { os.Exit(run()) }

func run() int {
	ctrllog.SetLogger(logr.Discard()) // controller-runtime warns if none is set
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends at once what the first one doesn't
	return int(command.Run(ctx, os.Args[1:], command.Environment{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Terminal: terminal, Clock: clock.RealClock{}, Location: time.Local,
		Connect: command.Connect, Ask: command.Ask, Browse: browse, Version: builtVersion(), Commit: commit,
	}))
}

// terminal returns the size of the terminal that the standard output is.
func terminal() (width, height int, is bool) {
	out := int(os.Stdout.Fd())
	if !term.IsTerminal(out) {
		return 0, 0, false
	}
	width, height, err := term.GetSize(out)
	return width, height, err == nil
}

// browse has the browser of the desktop open an address.
func browse(url string) error {
	program, arguments := "xdg-open", []string{url}
	switch runtime.GOOS {
	case "darwin":
		program = "open"
	case "windows":
		program, arguments = "rundll32", []string{"url.dll,FileProtocolHandler", url}
	}
	opener := exec.Command(program, arguments...) //nolint:gosec,noctx // the address is our own, and the browser outlives the plugin
	if err := opener.Start(); err != nil {
		return err
	}
	go func() { _ = opener.Wait() }() // else its entry in the list of processes stays
	return nil
}

// builtVersion returns the version that the linker set, else that of the module that go install built.
func builtVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "dev"
}
