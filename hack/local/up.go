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

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/traas-stack/altershield-operator/hack/local/assets"
	"github.com/traas-stack/altershield-operator/hack/local/cluster"
	"github.com/traas-stack/altershield-operator/hack/local/lock"
	"github.com/traas-stack/altershield-operator/hack/local/operator"
	"github.com/traas-stack/altershield-operator/hack/local/process"
)

// lockFile is a file in the state folder.
const lockFile = "up.lock"

// up starts everything that isn't running: the control plane, the objects of the kustomization, and always a new manager.
func up(ctx context.Context, options *upOptions, out, progress io.Writer) error {
	var err error
	if options.dir, err = filepath.Abs(stateDir); err != nil {
		return err
	}
	if options.manager, err = filepath.Abs(options.manager); err != nil {
		return err
	}
	if info, err := os.Stat(options.manager); err != nil || info.IsDir() {
		return fmt.Errorf("no manager program at %s: build it first", options.manager)
	}
	if options.server != "" {
		if options.server, err = filepath.Abs(options.server); err != nil {
			return err
		}
	}
	programs, err := assets.Ensure(ctx, progress)
	if err != nil {
		return err
	}
	release, err := takeTurn(ctx, options.dir, progress)
	if err != nil {
		return err
	}
	defer release()
	if err := checkPorts(options); err != nil {
		return err
	}
	plane, err := startPlane(ctx, options, programs, progress)
	if err != nil {
		return err
	}
	if err := startServer(ctx, options, progress); err != nil {
		return err
	}
	if err := startManager(ctx, options, plane, progress); err != nil {
		return fmt.Errorf("%w\nthe control plane keeps running: fix this and run up again, or run down", err)
	}
	fmt.Fprintf(out, `
The control plane and the manager are up. To use them, run:
  export KUBECONFIG=%s
  export PATH=%s:"$PATH"
Logs: tail -F %s (the others are in the same folder). To stop and remove everything: make down
`, quote(plane.Kubeconfig()), quote(programs.Dir), quote(process.LogPath(options.dir, operator.Name)))
	if options.server != "" {
		fmt.Fprintf(out, serverHelp, options.serverURL(), quote(process.LogPath(options.dir, serverName)), options.serverURL())
	}
	return nil
}

// takeTurn prevents two commands from using the same state folder at once.
func takeTurn(ctx context.Context, dir string, progress io.Writer) (release func(), err error) {
	return lock.Acquire(ctx, filepath.Join(dir, lockFile), func() {
		fmt.Fprintf(progress, "another command uses %s; waiting for it\n", dir)
	})
}

// checkPorts returns an error if ports are in use, before anything starts.
func checkPorts(options *upOptions) error {
	var wanted []cluster.Port
	for _, setting := range options.portSettings() {
		if setting.owner == serverName && options.server == "" {
			continue
		}
		owner, err := process.Find(options.dir, setting.owner)
		if err != nil {
			return err
		}
		if owner != nil && mentions(owner.Argv(), *setting.port) {
			continue // used by an earlier start
		}
		wanted = append(wanted, cluster.Port{
			Number: *setting.port, For: setting.what, Setting: setting.variable + "=<port> or --" + setting.flag,
		})
	}
	return cluster.CheckPorts(wanted...)
}

// mentions reports whether a command line has a flag that ends with the port.
func mentions(argv []string, port int) bool {
	number := strconv.Itoa(port)
	return slices.ContainsFunc(argv, func(arg string) bool {
		return strings.HasSuffix(arg, "="+number) || strings.HasSuffix(arg, ":"+number)
	})
}

func startPlane(ctx context.Context, options *upOptions, programs assets.Assets, progress io.Writer) (*cluster.Cluster, error) {
	begin := time.Now()
	plane, err := cluster.Start(ctx, cluster.Options{
		Dir: options.dir, Assets: programs, Ports: options.ports, Detached: true, AuditLog: true, Log: progress,
	})
	if err != nil {
		return nil, err
	}
	if plane.Started() == 0 {
		fmt.Fprintln(progress, "the control plane is already up")
	} else {
		fmt.Fprintf(progress, "the control plane is up, in %s\n", time.Since(begin).Round(100*time.Millisecond))
	}
	return plane, nil
}

// startManager installs the kustomization and starts the manager, instead of a running one.
func startManager(ctx context.Context, options *upOptions, plane *cluster.Cluster, progress io.Writer) error {
	fmt.Fprintf(progress, "installing %s\n", config)
	manager, err := operator.Install(ctx, plane, operator.Options{
		Dir:      options.dir,
		Binary:   options.manager,
		Args:     append(options.serverArgs(), options.managerArgs...),
		Config:   config,
		Ports:    options.managerPorts,
		Detached: true,
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(progress, "starting the manager")
	return manager.Start(ctx)
}

// quote quotes a path for a shell.
func quote(path string) string { return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'" }

// down stops everything that up started and removes its files.
func down(ctx context.Context, out io.Writer) error {
	dir, err := filepath.Abs(stateDir)
	if err != nil {
		return err
	}
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		fmt.Fprintf(out, "nothing to stop: there is no %s\n", dir)
		return nil
	}
	release, err := takeTurn(ctx, dir, out)
	if err != nil {
		return err
	}
	defer release()
	stopped, err := stopEverything(ctx, dir)
	if err != nil {
		return err
	}
	if len(stopped) == 0 {
		fmt.Fprintln(out, "nothing was running")
	} else {
		fmt.Fprintln(out, "stopped", strings.Join(stopped, ", "))
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	fmt.Fprintf(out, "removed the data in %s\n", dir)
	return nil
}

// stopEverything stops the manager, the test server and then the control plane, and returns the names of the stopped ones.
func stopEverything(ctx context.Context, dir string) ([]string, error) {
	stopped, err := process.StopIn(ctx, dir, operator.Grace, operator.Name, serverName)
	if err != nil {
		return nil, err
	}
	parts, err := cluster.StopIn(ctx, dir)
	return append(stopped, parts...), err
}

const (
	// serverName is the name of the test server's process in the state folder.
	serverName = "altershield"
	// tokenFile is the file in the state folder with the shared token of the manager and the test server.
	tokenFile = "altershield-token"

	loopback = "127.0.0.1"

	serverHelp = `
The AlterShield test server is at %s (log: %s). To make the third batch of each release fail:
  curl -d '{"name":"error rate","message":"5xx above 1%%","stage":"POST","batch":2,"verdict":"FAIL"}' %s/test/rules
`
)

// startServer starts the test server, instead of a running one, or only stops that one if none is wanted.
func startServer(ctx context.Context, options *upOptions, progress io.Writer) error {
	if _, err := process.StopIn(ctx, options.dir, operator.Grace, serverName); err != nil || options.server == "" {
		return err
	}
	fmt.Fprintln(progress, "starting the AlterShield test server")
	token := filepath.Join(options.dir, tokenFile)
	if err := os.WriteFile(token, []byte(rand.Text()+"\n"), 0o600); err != nil {
		return fmt.Errorf("write the token of the test server: %w", err)
	}
	_, err := process.Start(process.Spec{Dir: options.dir, Name: serverName, Detached: true, Argv: []string{
		options.server,
		"--listen=" + options.serverAddress(),
		"--token-file=" + token,
		"--callback-url=http://" + net.JoinHostPort(loopback, strconv.Itoa(options.managerPorts.Callback)) + "/openapi/altershield/callback",
	}})
	return err
}

// serverArgs returns the manager's flags for the test server.
func (o *upOptions) serverArgs() []string {
	if o.server == "" {
		return nil
	}
	return []string{"--altershield-address=" + o.serverURL(), "--altershield-token-file=" + filepath.Join(o.dir, tokenFile)}
}

func (o *upOptions) serverURL() string { return "http://" + o.serverAddress() }

func (o *upOptions) serverAddress() string {
	return net.JoinHostPort(loopback, strconv.Itoa(o.serverPort))
}
