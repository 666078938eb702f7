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

// Command soak runs a random actor together with the operator for a while, on a real control plane with fake nodes and a test server,
// and continuously checks invariants. It exits with 1 if one was violated.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/hack/altershield"
	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/local/operator"
	"github.com/traas-stack/altershield-operator/hack/soak/history"
	"github.com/traas-stack/altershield-operator/hack/soak/invariant"
	"github.com/traas-stack/altershield-operator/hack/soak/plan"
)

func main() {
	options := options{}
	flag.DurationVar(&options.duration, "duration", 30*time.Minute, "how long the actor acts, not counting the duration of its actions; the same seed and duration yield the same actions")
	flag.Uint64Var(&options.seed, "seed", 0, "seed of the actions; 0: derived from the time")
	flag.StringVar(&options.manager, "manager", "bin/manager-soak", "`program` of the manager")
	flag.StringVar(&options.config, "config", "hack/soak/config", "kustomization `folder` to install")
	flag.StringVar(&options.out, "out", "bin/soak", "`folder` for the logs of the actor and of the manager")
	flag.Parse()
	if options.seed == 0 {
		options.seed = uint64(time.Now().UnixNano())
	}
	lab.Main("soak", func(ctx context.Context) error { return run(ctx, options, os.Stdout) })
}

var errViolated = errors.New("an invariant was violated")

// The namespaces: two with the webhooks only, one with the admission policies as well, one whose ReleasePolicy has a step that needs an approval,
// and one that isn't opted in.
const (
	guarded   = "soak-guarded"
	approving = "soak-approving"
	outside   = "soak-outside"
)

func optedIn() []string { return []string{"soak-one", "soak-two", guarded, approving} }

const (
	// administrator is the user of the actor, intruder a service account that may release but not override.
	administrator = "admin"
	intruder      = "soak-intruder"
	approver      = "approver"
	// stuckAfter is how long the pods of a release may take to run: shorter than the default, so that many are rolled back.
	stuckAfter = "15s"
)

type options struct {
	duration             time.Duration
	seed                 uint64
	manager, config, out string
}

// soak is a lab with its actor and its watch.
type soak struct {
	options options
	lab     *lab.Lab
	actor   *actor
	watch   *watch
	log     io.Writer
	// managers are the replicas of the operator.
	managers *managers
	report   report
}

func run(ctx context.Context, options options, out io.Writer) (err error) {
	if err := os.MkdirAll(options.out, 0o755); err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(options.out, "actions.log"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	s := &soak{options: options, log: file}
	fmt.Fprintf(out, "Soaking for %s with seed %d. The actions are logged to %s.\n", options.duration, options.seed, file.Name())
	s.lab, err = lab.Open(ctx, lab.Options{Manager: options.manager, Config: options.config, AuditObjects: true, Log: file})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.lab.Close(ctx)) }()
	if err := s.prepare(ctx); err != nil {
		return err
	}
	if err := s.live(ctx, out); err != nil {
		return err
	}
	if err := s.report.write(out); err != nil {
		return err
	}
	if count := s.report.violations(); count > 0 {
		return fmt.Errorf("%w %d times with seed %d: see %s", errViolated, count, options.seed, options.out)
	}
	return nil
}

// prepare starts the server, the managers and the plug-in, declares the kind WebApp, and creates the namespaces and the users.
func (s *soak) prepare(ctx context.Context) error {
	if err := s.lab.Serve(ctx, altershield.Options{}); err != nil {
		return err
	}
	s.managers = &managers{lab: s.lab, log: s.log, pprof: map[string]string{}}
	if err := s.managers.start(ctx); err != nil {
		return err
	}
	for _, namespace := range append(optedIn(), outside) {
		if err := s.lab.Namespace(ctx, namespace, namespace != outside); err != nil {
			return err
		}
	}
	s.actor = &actor{lab: s.lab, managers: s.managers, log: s.log, seed: s.options.seed, done: map[plan.Kind]map[string]int{}}
	if err := s.actor.prepare(ctx); err != nil {
		return err
	}
	kinds := workload.Registry(slices.Collect(maps.Values(s.actor.kinds)))
	s.watch = &watch{
		server: s.lab.Server, log: s.log, told: map[string]bool{}, lame: map[int]lameness{},
		reader: history.Reader{Path: s.lab.Plane.AuditLog(), Operator: operator.User, Kinds: kinds},
		system: invariant.System{
			Operator: operator.User, Own: operator.Namespace, OptedIn: optedIn(), Guarded: []string{guarded}, Overriders: []string{administrator},
			Approving: []string{approving},
		},
	}
	s.managers.watch, s.actor.watch = s.watch, s.watch
	s.report.actions = s.actor.done
	return errors.Join(s.lab.Set(ctx, "stuck-rollback", true, stuckAfter), s.lab.Set(ctx, "unstick", true, ""), s.lab.Set(ctx, "park", true, ""))
}

// live plays both parts of the soak under watch: one with restarts of managers, and one without, at both ends of
// which they are measured.
func (s *soak) live(ctx context.Context, out io.Writer) error {
	acting, stopActing := context.WithCancel(ctx)
	defer stopActing()
	s.watch.violated = stopActing
	watching, stopWatching := context.WithCancel(ctx)
	defer stopWatching()
	var running errgroup.Group
	running.Go(func() error { return s.watch.run(watching) })
	running.Go(func() error {
		err := s.managers.keep(watching)
		if err != nil {
			stopActing() // without the operator actions are pointless
		}
		return err
	})

	planned := plan.Options{Seed: s.options.seed, OptedIn: optedIn(), Guarded: guarded, Outside: outside, Approving: approving}
	storm, steady := planned, planned
	storm.Duration, storm.Restarts = s.options.duration*3/5, true
	steady.Duration, steady.Seed = s.options.duration-storm.Duration, planned.Seed+1
	for _, part := range []plan.Options{storm, steady} {
		if err := s.part(ctx, acting, part, out); err != nil {
			return err
		}
		if acting.Err() != nil {
			break
		}
	}
	stopWatching()
	if err := errors.Join(running.Wait(), s.watch.read()); err != nil {
		return err
	}
	return s.conclude(ctx)
}

// part plays a plan, waits until everything has settled, rested and is deleted, and measures the managers. A violation ends it,
// because it makes all later results meaningless.
func (s *soak) part(ctx, acting context.Context, options plan.Options, out io.Writer) error {
	actions := plan.New(options)
	if err := s.actor.pace(ctx, approving, approvedSteps); err != nil {
		return fmt.Errorf("create the ReleasePolicy of namespace %s: %w", approving, err)
	}
	fmt.Fprintf(out, "%s: %d actions; restarts of managers: %t\n", time.Now().Format(time.TimeOnly), len(actions), options.Restarts)
	if err := s.actor.play(acting, actions); err != nil {
		return err
	}
	s.lab.Server.ClearFaults()
	s.lab.Server.ClearRules()
	for _, step := range []struct {
		name  string
		check func(context.Context) invariant.Result
	}{
		{"every release ends, or reports what it waits for", s.settle},
		{"at rest the operator writes nothing", s.rest},
		{"nothing is left of deleted workloads", s.drain},
	} {
		if acting.Err() != nil {
			return ctx.Err()
		}
		fmt.Fprintf(out, "%s: %s\n", time.Now().Format(time.TimeOnly), step.name)
		result := named{step.name, step.check(ctx)}
		s.report.results = append(s.report.results, result)
		s.watch.tell([]named{result})
	}
	processes, err := s.measured(ctx)
	s.report.process = append(s.report.process, processes)
	return err
}

// conclude checks the whole history, and keeps the managers' logs; after a violation also the logs of the cluster.
func (s *soak) conclude(ctx context.Context) error {
	drained := len(s.report.process) == 2
	results := s.watch.judge(time.Now(), drained)
	if drained {
		results = append(results, named{"the operator recovers from each outage", s.watch.recovered()}, named{"goroutines and heap stay flat", invariant.Flat(s.report.process[0], s.report.process[1])})
	}
	crashed, err := s.managers.crashes(s.options.out)
	if err != nil {
		return err
	}
	s.report.results = append(append(s.report.results, results...), named{"no panic and no data race", crashed})
	s.watch.tell(s.report.results)
	writes, _ := s.watch.until(time.Now())
	s.report.releases = outcomes(writes, operator.User)
	if s.report.violations() > 0 {
		return errors.Join(ctx.Err(), keep(s.lab.Plane.AuditLog(), filepath.Join(s.options.out, "audit.log")),
			keepAll(filepath.Dir(s.lab.Operator.LogPath()), filepath.Join(s.options.out, "logs")))
	}
	return ctx.Err()
}

// keepAll copies a folder of the lab, and removes the copy of an earlier soak.
func keepAll(from, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return fmt.Errorf("keep logs: %w", err)
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return fmt.Errorf("keep logs: %w", err)
	}
	return nil
}

// keep copies a file of the lab, which will be removed with the lab.
func keep(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("keep a log: %w", err)
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("keep a log: %w", err)
	}
	if _, err := io.Copy(target, source); err != nil {
		return errors.Join(fmt.Errorf("keep the log %s: %w", from, err), target.Close())
	}
	return target.Close()
}
