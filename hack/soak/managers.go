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
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/local/cluster"
	"github.com/traas-stack/altershield-operator/hack/local/operator"
	"github.com/traas-stack/altershield-operator/hack/soak/invariant"
)

const (
	// keepEvery is the interval at which managers are checked, backWithin how long one may take to be back, including an outage.
	keepEvery, backWithin = time.Second, 3 * time.Minute
	// lostLease is the message with which a manager exits if another one may lead.
	lostLease = "leader election lost"
	// idleFor is longer than the manager keeps idle connections: 90 seconds to AlterShield Server, a minute to its own endpoints.
	idleFor, measureEvery = 100 * time.Second, 5 * time.Second
)

// managers are the replicas of the operator, which take over from each other.
type managers struct {
	lab   *lab.Lab
	log   io.Writer
	watch *watch
	// pprof has the addresses of their profiles, by name.
	pprof map[string]string

	// mu is held while a manager is stopped or started.
	mu sync.Mutex
	// absent has the times since when managers should be back.
	absent map[*operator.Operator]time.Time
}

func (m *managers) start(ctx context.Context) error {
	m.absent = map[*operator.Operator]time.Time{}
	names := []string{"manager-1", "manager-2"}
	for _, name := range names {
		port, err := cluster.FreePort()
		if err != nil {
			return err
		}
		m.pprof[name] = "127.0.0.1:" + strconv.Itoa(port)
	}
	return m.lab.StartReplicas(ctx, names, func(options *operator.Options) {
		options.Args = append(options.Args, "--pprof-bind-address="+m.pprof[options.Name])
	})
}

// restart restarts the leader or the other one.
func (m *managers) restart(ctx context.Context, leads, kill bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.absent) > 0 {
		return errNothing
	}
	for _, manager := range m.lab.Replicas {
		read, err := m.measureOne(ctx, manager)
		if err != nil {
			return fmt.Errorf("%w: %w", errNothing, err) // it may just have lost its lease
		}
		if read.Leads != leads {
			continue
		}
		if err := m.end(ctx, manager, leads, kill); err != nil {
			return err
		}
		return manager.Start(ctx)
	}
	return errNothing // after a SIGKILL it takes a while until one leads
}

func (m *managers) end(ctx context.Context, manager *operator.Operator, leads, kill bool) error {
	if leads {
		defer m.watch.leaderless()()
	}
	if kill {
		return manager.Kill(ctx)
	}
	return manager.Stop(ctx)
}

// keep restarts managers that have lost their lease, as a kubelet would, until the context ends.
func (m *managers) keep(ctx context.Context) error {
	for lab.Pause(ctx, keepEvery) == nil {
		m.mu.Lock()
		var failures []error
		for _, manager := range m.lab.Replicas {
			failures = append(failures, m.revive(ctx, manager))
		}
		m.mu.Unlock()
		if err := errors.Join(failures...); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// revive restarts a manager that has exited. It returns an error if it can't, or if the manager should not have exited.
func (m *managers) revive(ctx context.Context, manager *operator.Operator) error {
	name := manager.Options().Name
	if ended := manager.Ended(); ended != nil {
		if !strings.Contains(ended.Error(), lostLease) {
			return ended
		}
		m.watch.leaderless()()
		fmt.Fprintf(m.log, "%s has lost its lease\n", name)
		m.absent[manager] = time.Now()
	}
	since, absent := m.absent[manager]
	if !absent {
		return nil
	}
	if err := manager.Start(ctx); err != nil { // fails while the API server is down
		if time.Since(since) > backWithin {
			return fmt.Errorf("%s doesn't restart: %w", name, err)
		}
		return nil
	}
	delete(m.absent, manager)
	return nil
}

// measure returns the goroutines of the managers, and their heaps after a garbage collection.
func (m *managers) measure(ctx context.Context) ([]invariant.Process, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var processes []invariant.Process
	for _, manager := range m.lab.Replicas {
		if _, err := lab.Profile(ctx, m.pprof[manager.Options().Name], "heap?gc=1"); err != nil {
			return nil, err
		}
		process, err := m.measureOne(ctx, manager)
		if err != nil {
			return nil, err
		}
		processes = append(processes, process)
	}
	return processes, nil
}

func (m *managers) measureOne(ctx context.Context, manager *operator.Operator) (invariant.Process, error) {
	metrics, err := m.lab.MetricsOf(ctx, manager)
	if err != nil {
		return invariant.Process{}, err
	}
	for _, name := range []string{"go_goroutines", "go_memstats_heap_alloc_bytes", "leader_election_master_status"} {
		if len(metrics[name].GetMetric()) == 0 {
			return invariant.Process{}, fmt.Errorf("%s has no metric %s", manager.Options().Name, name)
		}
	}
	gauge := func(name string) float64 { return metrics[name].GetMetric()[0].GetGauge().GetValue() }
	return invariant.Process{
		Name: manager.Options().Name, Pid: manager.Pid(), Leads: gauge("leader_election_master_status") == 1,
		Goroutines: int(gauge("go_goroutines")), Heap: int64(gauge("go_memstats_heap_alloc_bytes")),
	}, nil
}

// keepProfiles stores the profiles of goroutines and heaps at a measurement.
func (m *managers) keepProfiles(ctx context.Context, folder string, reading int) error {
	for name, address := range m.pprof {
		for profile, file := range map[string]string{
			"goroutine?debug=1": fmt.Sprintf("goroutines-%d-%s.txt", reading, name),
			"heap":              fmt.Sprintf("heap-%d-%s.pprof", reading, name),
		} {
			content, err := lab.Profile(ctx, address, profile)
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(folder, file), content, 0o600); err != nil {
				return fmt.Errorf("keep a profile: %w", err)
			}
		}
	}
	return nil
}

// crashes keeps the logs of the managers in a folder, and looks for panics and data races in them.
func (m *managers) crashes(folder string) (result invariant.Result, err error) {
	for _, manager := range m.lab.Replicas {
		lines, found, err := lab.KeepLog(manager.LogPath(), filepath.Join(folder, manager.Options().Name+".log"))
		if err != nil {
			return result, err
		}
		result.Observations += lines
		result.Violations = append(result.Violations, found...)
	}
	return result, nil
}

// measured measures the managers after a part. The second measurement is repeated until they are flat or idle connections are
// closed.
func (s *soak) measured(ctx context.Context) (processes []invariant.Process, err error) {
	err = wait.PollUntilContextTimeout(ctx, measureEvery, idleFor, true, func(ctx context.Context) (bool, error) {
		read, err := s.managers.measure(ctx)
		if err != nil {
			return false, err
		}
		processes = read
		return len(s.report.process) == 0 || len(invariant.Flat(s.report.process[0], read).Violations) == 0, nil
	})
	if wait.Interrupted(err) {
		err = ctx.Err() // the last measurement counts
	}
	return processes, errors.Join(err, s.managers.keepProfiles(ctx, s.options.out, len(s.report.process)+1))
}
