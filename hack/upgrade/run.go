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
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/traas-stack/altershield-operator/hack/altershield"
	"github.com/traas-stack/altershield-operator/hack/lab"
)

const (
	controlled, outside = "controlled", "outside"
	// copies is the number of Deployments in each state: one half goes on after the upgrade, one after the way back.
	copies = 5
	// checkTime is how long AlterShield Server checks a batch: long enough for an upgrade in the meantime.
	checkTime = 15 * time.Second
	// watched is how long it is watched what the new version does to releases that wait.
	watched = 20 * time.Second
)

// run is an upgrade of a cluster with Deployments in all states.
type run struct {
	lab  *lab.Lab
	out  io.Writer
	apps []*app
	// guests are there for the second way back.
	guests []*guest
}

// open starts a cluster with two replicas of the earlier version, and AlterShield Server beside them.
func open(ctx context.Context, earlier version, out io.Writer) (*run, error) {
	l, err := lab.Open(ctx, lab.Options{Manager: earlier.manager, Config: earlier.config})
	if err != nil {
		return nil, err
	}
	r := &run{lab: l, out: out}
	for _, state := range states() {
		for i := range copies {
			r.apps = append(r.apps, newApp(l, state, i))
		}
	}
	err = l.Serve(ctx, altershield.Options{PostDelay: checkTime, InsertTime: -1})
	if err == nil {
		err = l.StartReplicas(ctx, []string{"manager-1", "manager-2"}, earlier.run)
	}
	if err == nil {
		err = errors.Join(l.Namespace(ctx, controlled, true), l.Namespace(ctx, outside, false))
	}
	if err != nil {
		return nil, errors.Join(err, l.Close(ctx))
	}
	return r, nil
}

// thereAndBack upgrades, checks what has become of every release, and goes back. One half of the releases of each state goes on after the
// upgrade, the other half after the way back.
func (r *run) thereAndBack(ctx context.Context, earlier, present version) error {
	fmt.Fprintf(r.out, "%d Deployments in %d states, under two replicas of %s and AlterShield Server.\n", len(r.apps), len(states()), earlier.name)
	early, late := halves(r.apps)
	all := func(apps []*app, act func(*app, context.Context) error) func(context.Context) error {
		return func(ctx context.Context) error { return each(ctx, apps, act) }
	}
	for _, act := range []func(context.Context) error{
		r.createUncontrolled, all(r.apps, (*app).prepare), all(r.apps, (*app).begin),
		r.replacement(present), r.observes, all(early, (*app).goOn),
		r.replacement(earlier), all(late, (*app).goOn), all(early, (*app).releaseAgain),
	} {
		if err := act(ctx); err != nil {
			return err
		}
	}
	return r.upgradeAndLeave(ctx, earlier, present)
}

// halves returns every second one of the apps of each state, and the others.
func halves(apps []*app) (even, odd []*app) {
	for _, app := range apps {
		if app.copy%2 == 0 {
			even = append(even, app)
		} else {
			odd = append(odd, app)
		}
	}
	return even, odd
}

// replacement installs a version, replaces the replicas one after the other, and checks that it changed nothing but what was under way.
func (r *run) replacement(to version) func(context.Context) error {
	return func(ctx context.Context) error {
		position, err := r.lab.Position()
		if err != nil {
			return err
		}
		err = r.unchanged(ctx, "the replacement by "+to.name, func(ctx context.Context) error {
			began := time.Now()
			if err := r.lab.ReplaceReplicas(ctx, to.run); err != nil {
				return err
			}
			fmt.Fprintf(r.out, "Two replicas of %s after %s.\n", to.name, time.Since(began).Round(time.Second))
			return each(ctx, r.apps, (*app).arrived)
		})
		if err != nil {
			return err
		}
		writes, err := r.writes(position)
		fmt.Fprintf(r.out, "%d writes to Deployments that aren't under way.\n", writes)
		return err
	}
}

// unchanged checks that an act changes no workload whose release isn't under way, and takes no record away.
func (r *run) unchanged(ctx context.Context, name string, act func(context.Context) error) error {
	before, err := r.picture(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := act(ctx); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	took := time.Since(began).Round(time.Second)
	if err := lab.Pause(ctx, watched); err != nil { // the new version could do something that it shouldn't
		return err
	}
	after, err := r.picture(ctx)
	if err != nil {
		return err
	}
	if changes := before.changes(after); len(changes) > 0 {
		return fmt.Errorf("%s changed what was there: %q", name, changes)
	}
	fmt.Fprintf(r.out, "After %s, in %s: %d pods and %d records are as before.\n", name, took, len(before.pods), len(before.records))
	return nil
}

// writes returns the number of writes of the operator, since a position of the audit log, to Deployments whose release isn't under way.
func (r *run) writes(position int64) (int, error) {
	requests, err := r.lab.RequestsSince(position)
	count := 0
	for i := range requests {
		ref, written := requests[i].ObjectRef, slices.Contains([]string{"update", "patch", "create", "delete"}, requests[i].Verb)
		if written && ref != nil && ref.Resource == "deployments" && slices.ContainsFunc(r.apps, func(a *app) bool { return a.Name == ref.Name && !a.state.moves }) {
			count++
		}
	}
	return count, err
}

// each does something with several apps or guests at once. Its error names the one.
func each[T fmt.Stringer](ctx context.Context, all []T, act func(T, context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, one := range all {
		group.Go(func() error {
			if err := act(one, ctx); err != nil {
				return fmt.Errorf("%s: %w", one, err)
			}
			return nil
		})
	}
	return group.Wait()
}
