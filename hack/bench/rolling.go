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
	"fmt"
	"path/filepath"
	"slices"

	"github.com/traas-stack/altershield-operator/hack/altershield"
	"github.com/traas-stack/altershield-operator/hack/lab"
)

// rolling is a load that rolls out a fleet repeatedly, in each setup.
type rolling struct {
	name   string
	fleet  fleet
	setups []setup
	rounds int
}

// run rolls out the fleet, interleaved: each setup once per round. The first round is dropped.
func (r rolling) run(ctx context.Context, b *bench, l *lab.Lab) ([]Figure, error) {
	if slices.ContainsFunc(r.setups, func(s setup) bool { return s.server }) {
		if err := l.Serve(ctx, altershield.Options{}); err != nil {
			return nil, err
		}
	}
	setups := append([]setup{{}}, r.setups...)
	controlled := r.fleetOf(setup{batch: 1})
	if err := r.fill(ctx, l, r.fleetOf(setup{}), controlled); err != nil {
		return nil, err
	}
	samples := make([][]sample, len(setups))
	for round := range r.rounds + 1 {
		for _, i := range order(len(setups), round) {
			one, err := r.round(ctx, b, l, setups[i], r.fleetOf(setups[i]), fmt.Sprintf("round-%d-%d", round, i))
			if err != nil {
				return nil, fmt.Errorf("%s, round %d: %w", setups[i], round, err)
			}
			b.logf("%s  %s  round %d: rolled %.1f s, verified %.1f s, CPU %.2f s, peak %d MiB",
				r.name, setups[i], round, one.rolled.Seconds(), one.verified.Seconds(), one.used.CPU.Seconds(), one.used.Peak/mebibyte)
			if round > 0 {
				samples[i] = append(samples[i], one)
			}
		}
	}
	var figures []Figure
	for i, s := range setups {
		figures = append(figures, figuresOf(r.name, s, controlled, samples[i], samples[0])...)
		if last := samples[i][r.rounds-1]; s.batch > 0 {
			b.report.Writes[r.name+", "+s.String()] = writesOf(last.requests, controlled.namespace)
			b.report.Reads[r.name+", "+s.String()] = readsOf(last.requests)
		}
	}
	return figures, nil
}

// fill creates the fleet twice, in a namespace that isn't opted in and in one under change control; and once for each peer.
func (r rolling) fill(ctx context.Context, l *lab.Lab, bystanders, controlled fleet) error {
	if _, err := bystanders.create(ctx, l, false); err != nil {
		return err
	}
	if err := (setup{batch: 100}).prepare(ctx, l); err != nil {
		return err
	}
	if _, err := controlled.create(ctx, l, true); err != nil {
		return err
	}
	for _, s := range r.setups {
		if s.peer == nil {
			continue
		}
		if err := s.peer.fill(ctx, l, r.fleetOf(s)); err != nil {
			return err
		}
	}
	return nil
}

// round rolls out the fleet once.
func (r rolling) round(ctx context.Context, b *bench, l *lab.Lab, s setup, rolled fleet, note string) (sample, error) {
	if s.peer != nil {
		return s.peer.round(ctx, l, rolled, note)
	}
	if err := s.prepare(ctx, l, b.managerArgs()...); err != nil {
		return sample{}, err
	}
	return measure(ctx, l, func() (times, error) {
		defer b.profile(ctx, s, r.name+"-"+note)()
		return rolled.roll(ctx, l, !s.native(), note)
	})
}

// fleetOf returns the fleet that is rolled out in a setup.
func (r rolling) fleetOf(s setup) fleet {
	rolled := r.fleet
	rolled.namespace = "controlled"
	switch {
	case s.native():
		rolled.namespace = "native"
	case s.peer != nil:
		rolled.namespace, rolled.kind, rolled.patience = filepath.Base(s.peer.program), s.peer.kind, peerTimeout
	}
	return rolled
}
