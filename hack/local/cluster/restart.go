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

	"github.com/traas-stack/altershield-operator/hack/local/process"
)

// partGrace is how long a part may take to exit. The API server would wait for its watches, which don't end by themselves; it answers
// all other requests in that time.
const partGrace = 3 * time.Second

// StopPart stops a part of the cluster, such as kube-apiserver, as an upgrade would. The others keep running.
func (c *Cluster) StopPart(ctx context.Context, name string) error {
	found := slices.IndexFunc(c.processes, func(p *process.Process) bool { return p.Name == name })
	if found < 0 {
		return fmt.Errorf("stop %s: it is not running", name)
	}
	if err := c.processes[found].Stop(ctx, partGrace); err != nil {
		return fmt.Errorf("stop %s: %w", name, err)
	}
	c.processes = slices.Delete(c.processes, found, found+1)
	return nil
}

// StartPart starts a stopped part with its data and at its address, and waits until it is ready.
func (c *Cluster) StartPart(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	parts := c.components()
	found := slices.IndexFunc(parts, func(part component) bool { return part.name == name })
	if found < 0 {
		return fmt.Errorf("start %s: the cluster has no such part", name)
	}
	err := c.start(ctx, parts[found])
	// The first started is the last stopped.
	order := componentNames()
	slices.SortStableFunc(c.processes, func(a, b *process.Process) int {
		return slices.Index(order, a.Name) - slices.Index(order, b.Name)
	})
	return err
}
