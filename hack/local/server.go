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
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/traas-stack/altershield-operator/hack/local/operator"
	"github.com/traas-stack/altershield-operator/hack/local/process"
)

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
