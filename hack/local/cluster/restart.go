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
	"slices"
	"time"

	"k8s.io/client-go/rest"

	"github.com/traas-stack/altershield-operator/hack/local/assets"
	"github.com/traas-stack/altershield-operator/hack/local/process"
)

// apiServerGrace is how long the API server gets to end by itself. It would wait for its watches, which don't end by themselves;
// what else it was asked is answered in that time.
const apiServerGrace = 3 * time.Second

// StopAPIServer asks the API server alone to end, as an upgrade of it would. The rest of the cluster goes on without it.
func (c *Cluster) StopAPIServer(ctx context.Context) error {
	found := slices.IndexFunc(c.processes, func(p *process.Process) bool { return p.Name == assets.APIServer })
	if found < 0 {
		return fmt.Errorf("stop %s: it doesn't run", assets.APIServer)
	}
	if err := c.processes[found].Stop(ctx, apiServerGrace); err != nil {
		return fmt.Errorf("stop %s: %w", assets.APIServer, err)
	}
	c.processes = slices.Delete(c.processes, found, found+1)
	return nil
}

// StartAPIServer starts the API server again, with its data and at its address, and waits until it is ready.
func (c *Cluster) StartAPIServer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	client, err := rest.HTTPClientFor(c.admin)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	part := c.apiServer()
	others := c.processes
	if err := c.ensureRunning(ctx, part); err != nil {
		return err
	}
	// Its place is behind etcd: what starts first is stopped last.
	restarted := c.processes[len(c.processes)-1]
	c.processes = slices.Insert(slices.Clone(others), min(1, len(others)), restarted)
	return c.await(ctx, part.name+" to be ready", answersOK(client, part.health))
}
