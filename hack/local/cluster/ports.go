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

package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
)

const (
	// Free ports are chosen below the range that kernels use for outgoing connections, so that no connection takes a port
	// between its choice and its use.
	lowestPort, highestPort = 10000, 29999
	// portAttempts is the number of ports that are tried.
	portAttempts = 200
)

// Ports are the TCP ports of a control plane, all on 127.0.0.1. Zero means any free port.
type Ports struct {
	APIServer, EtcdClient, EtcdPeer, ControllerManager, Scheduler int
}

// Port is a port to listen on.
type Port struct {
	Number int
	// For is the program that listens there.
	For string
	// Setting changes the port, such as "APISERVER_PORT".
	Setting string
}

// CheckPorts returns an error with a line for each port that is not available.
func CheckPorts(ports ...Port) error {
	var taken []string
	for _, port := range ports {
		if err := listenable(port.Number); err != nil {
			taken = append(taken, fmt.Sprintf("port %d, for %s, is not available (%v): stop the program that uses it, or choose another port with %s",
				port.Number, port.For, err, port.Setting))
		}
	}
	if len(taken) > 0 {
		return fmt.Errorf("%s", strings.Join(taken, "\n"))
	}
	return nil
}

// FreePorts replaces each zero by a free port that is not among the others.
func FreePorts(ports ...*int) error {
	used := map[int]bool{}
	for _, port := range ports {
		used[*port] = true
	}
	for _, port := range ports {
		for attempt := 0; *port == 0; attempt++ {
			if attempt == portAttempts {
				return fmt.Errorf("no free port after %d attempts from %d to %d", portAttempts, lowestPort, highestPort)
			}
			candidate := lowestPort + rand.IntN(highestPort-lowestPort+1)
			if !used[candidate] && listenable(candidate) == nil {
				*port, used[candidate] = candidate, true
			}
		}
	}
	return nil
}

// FreePort returns a free port.
func FreePort() (port int, err error) {
	err = FreePorts(&port)
	return port, err
}

// pick replaces every zero by a free port.
func (p *Ports) pick() error {
	return FreePorts(&p.APIServer, &p.EtcdClient, &p.EtcdPeer, &p.ControllerManager, &p.Scheduler)
}

// listenable returns an error if nothing can listen on a port.
func listenable(port int) error {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", net.JoinHostPort(loopback, strconv.Itoa(port)))
	if err != nil {
		return err
	}
	return listener.Close()
}
