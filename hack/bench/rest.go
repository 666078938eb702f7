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
	"time"

	"github.com/traas-stack/altershield-operator/hack/altershield"
	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/local/operator"
	"github.com/traas-stack/altershield-operator/hack/local/process"
)

const (
	// restFor is how long an idle operator is watched.
	restFor = 30 * time.Second

	idleNamespace, finishedNamespace = "idle", "finished"
)

// runRest measures the resource usage of an idle operator: without objects, with Deployments whose releases are verified,
// with many more of Deployments without pods, and the same with the test server.
func runRest(idle, finished int) measurement {
	return func(ctx context.Context, b *bench, l *lab.Lab) ([]Figure, error) {
		var figures []Figure
		step := func(name string, s setup, added fleet) error {
			if added.deployments > 0 {
				if _, err := added.create(ctx, l, true); err != nil {
					return err
				}
			}
			some, err := rest(ctx, l, b, name, s)
			figures = append(figures, some...)
			return err
		}
		if err := step(restNothing, setup{batch: 1}, fleet{}); err != nil {
			return nil, err
		}
		if err := step(restIdle, setup{batch: 1}, fleet{namespace: idleNamespace, deployments: idle, replicas: 1}); err != nil {
			return nil, err
		}
		if err := step(restFinished, setup{batch: 1}, fleet{namespace: finishedNamespace, deployments: finished}); err != nil {
			return nil, err
		}
		if err := l.Serve(ctx, altershield.Options{}); err != nil {
			return nil, err
		}
		err := step(restServed, setup{batch: 1, server: true}, fleet{})
		return figures, err
	}
}

// rest watches a manager that was just started and has come to rest.
func rest(ctx context.Context, l *lab.Lab, b *bench, name string, s setup) ([]Figure, error) {
	address, err := s.prepareProfiled(ctx, l, "--leader-elect")
	if err != nil {
		return nil, err
	}
	watched, err := measure(ctx, l, func() (times, error) { return times{}, lab.Pause(ctx, restFor) })
	if err != nil {
		return nil, err
	}
	heap, err := heapOf(ctx, address)
	if err != nil {
		return nil, err
	}
	used, err := l.Operator.Usage()
	if err != nil {
		return nil, err
	}
	writes := map[string]int{}
	for _, namespace := range []string{operator.Namespace, idleNamespace, finishedNamespace} {
		for kind, count := range writesOf(watched.requests, namespace) {
			writes[kind] += count
		}
	}
	delete(writes, "update leases")
	delete(writes, "patch leases")
	b.report.Writes[loadRest+", "+name] = writes
	return restFigures(name, total(writes)+writes["events"], used, watched.used.CPU, heap), nil
}

// restFigures returns the figures of the manager after the rest, and its processor time during it.
func restFigures(name string, writes int, now process.Usage, cpu time.Duration, heap float64) []Figure {
	return []Figure{
		figureOf(loadRest, name, restWrites, "", float64(writes)),
		figureOf(loadRest, name, cpuTime, "ms/s", cpu.Seconds()*1000/restFor.Seconds()),
		figureOf(loadRest, name, "memory of the manager", "MiB", float64(now.Memory)/mebibyte),
		figureOf(loadRest, name, "heap after garbage collection", "MiB", heap/mebibyte),
	}
}
