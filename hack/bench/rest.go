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

// restFor is how long an operator is watched that has nothing to do.
const restFor = 30 * time.Second

// runRest measures what an operator uses whose releases are all verified, without and with the test server.
func runRest(deployments int) func(context.Context, *bench) ([]Figure, error) {
	return func(ctx context.Context, b *bench) ([]Figure, error) {
		l, err := lab.Open(ctx, lab.Options{Manager: b.manager, Config: b.config})
		if err != nil {
			return nil, err
		}
		defer func() { b.closed(l.Close(ctx)) }()
		if err := (setup{batch: 1}).prepare(ctx, l); err != nil {
			return nil, err
		}
		idle := fleet{namespace: "idle", deployments: deployments, replicas: 1}
		if err := l.Namespace(ctx, idle.namespace, true); err != nil {
			return nil, err
		}
		if _, err := idle.create(ctx, l, true); err != nil {
			return nil, err
		}
		if err := l.Serve(ctx, altershield.Options{}); err != nil {
			return nil, err
		}
		var figures []Figure
		for _, s := range []setup{{batch: 1}, {batch: 1, server: true}} {
			some, err := rest(ctx, l, b, s)
			if err != nil {
				return nil, err
			}
			figures = append(figures, some...)
		}
		return figures, nil
	}
}

func rest(ctx context.Context, l *lab.Lab, b *bench, s setup) ([]Figure, error) {
	name := "at rest"
	if s.server {
		name = "at rest, server"
	}
	address, err := pprofAddress()
	if err != nil {
		return nil, err
	}
	if err := s.prepare(ctx, l, "--leader-elect", "--pprof-bind-address="+address); err != nil {
		return nil, err
	}
	watched, err := measure(ctx, l, func() (times, error) { return times{}, pause(ctx, restFor) })
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
	writes := writesOf(watched.requests, "idle")
	for kind, count := range writesOf(watched.requests, operator.Namespace) {
		if kind != "update leases" && kind != "patch leases" {
			writes[kind] += count
		}
	}
	b.report.Writes[loadRest+", "+name] = writes
	return restFigures(name, total(writes)+writes["events"], used, watched.used.CPU, heap), nil
}

// restFigures tell of the manager as it is after the rest, and of the processor time that it took meanwhile.
func restFigures(name string, writes int, now process.Usage, cpu time.Duration, heap float64) []Figure {
	one := func(what, unit string, value float64) Figure {
		return Figure{Load: loadRest, Setup: name, Name: what, Unit: unit, Summary: summarize([]float64{value})}
	}
	return []Figure{
		one(restWrites, "", float64(writes)),
		one(cpuTime, "ms/s", cpu.Seconds()*1000/restFor.Seconds()),
		one("memory of the manager", "MiB", float64(now.Memory)/mebibyte),
		one("heap after garbage collection", "MiB", heap/mebibyte),
	}
}

// pause waits.
func pause(ctx context.Context, length time.Duration) error {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
