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
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"github.com/traas-stack/altershield-operator/hack/local/assets"
	"github.com/traas-stack/altershield-operator/hack/local/cluster"
	"github.com/traas-stack/altershield-operator/hack/local/operator"
)

const (
	// stateDir is the folder of what up starts: data, keys, kubeconfig, logs, process ids. down removes it.
	stateDir = ".local"
	// config is the kustomization to install.
	config = "config/local"
)

// upOptions are the flags of up.
type upOptions struct {
	dir         string
	manager     string
	managerArgs []string
	// server is the program of the test server, empty for none.
	server       string
	ports        cluster.Ports
	managerPorts operator.Ports
	serverPort   int
}

// portSetting is a port of up that can be changed by a flag or an environment variable.
type portSetting struct {
	port           *int
	flag, variable string
	usual          int
	// owner is the process that listens there.
	owner string
	what  string
}

func (o *upOptions) portSettings() []portSetting {
	return []portSetting{
		{&o.ports.APIServer, "apiserver-port", "LOCAL_APISERVER_PORT", 6443, assets.APIServer, "the API server"},
		{&o.ports.EtcdClient, "etcd-client-port", "LOCAL_ETCD_CLIENT_PORT", 2379, assets.Etcd, "etcd's clients"},
		{&o.ports.EtcdPeer, "etcd-peer-port", "LOCAL_ETCD_PEER_PORT", 2380, assets.Etcd, "etcd's peers"},
		{&o.ports.ControllerManager, "controller-manager-port", "LOCAL_CONTROLLER_MANAGER_PORT", 10257, assets.ControllerManager, "kube-controller-manager"},
		{&o.ports.Scheduler, "scheduler-port", "LOCAL_SCHEDULER_PORT", 10259, assets.Scheduler, "kube-scheduler"},
		{&o.managerPorts.Webhook, "webhook-port", "LOCAL_WEBHOOK_PORT", 1443, operator.Name, "the manager's webhooks"},
		{&o.managerPorts.Metrics, "metrics-port", "LOCAL_METRICS_PORT", 8089, operator.Name, "the manager's metrics"},
		{&o.managerPorts.Probe, "probe-port", "LOCAL_PROBE_PORT", 8088, operator.Name, "the manager's health probes"},
		{&o.managerPorts.Callback, "callback-port", "LOCAL_CALLBACK_PORT", 8080, operator.Name, "the manager's callbacks"},
		{&o.serverPort, "server-port", "LOCAL_SERVER_PORT", 8180, serverName, "the test server"},
	}
}

// parseUp parses the flags of up; environment variables change the ports' defaults.
func parseUp(args []string, getenv func(string) string) (*upOptions, error) {
	options := &upOptions{}
	flags := newFlags("up")
	flags.StringVar(&options.manager, "manager", "", "`program` of the manager (required)")
	flags.StringVar(&options.server, "server", "", "`program` of the AlterShield test server; empty for none")
	managerArgs := flags.String("manager-args", "", "more `flags` for the manager, in one string; quotes preserve blanks")
	for _, setting := range options.portSettings() {
		usual := setting.usual
		if value := getenv(setting.variable); value != "" {
			var err error
			if usual, err = strconv.Atoi(value); err != nil {
				return nil, fmt.Errorf("environment variable %s: %q is not a port number", setting.variable, value)
			}
		}
		flags.IntVar(setting.port, setting.flag, usual, "`port` of "+setting.what+"; also $"+setting.variable)
	}
	if err := parse(flags, args); err != nil {
		return nil, err
	}
	return options, options.complete(flags, *managerArgs)
}

// complete validates the flags and completes the options.
func (o *upOptions) complete(flags *flag.FlagSet, managerArgs string) error {
	if o.manager == "" {
		flags.Usage()
		return errors.New("--manager is required")
	}
	owner := map[int]string{}
	for _, setting := range o.portSettings() {
		port := *setting.port
		if port < 1 || port > 65535 {
			return fmt.Errorf("--%s: %d is not a port number from 1 to 65535", setting.flag, port)
		}
		if other, taken := owner[port]; taken {
			return fmt.Errorf("--%s and --%s are both %d: they must differ", other, setting.flag, port)
		}
		owner[port] = setting.flag
	}
	var err error
	if o.managerArgs, err = splitArgs(managerArgs); err != nil {
		return fmt.Errorf("--manager-args: %w", err)
	}
	return nil
}

// splitArgs splits a line into arguments as a shell does.
func splitArgs(line string) ([]string, error) {
	var said bytes.Buffer
	shell := exec.Command("sh", "-c", `for arg in `+line+`; do printf '%s\0' "$arg"; done`) //nolint:noctx // it waits for nothing
	shell.Stderr = &said
	output, err := shell.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, said.Bytes())
	}
	args := strings.Split(string(output), "\x00")
	return args[:len(args)-1], nil
}
