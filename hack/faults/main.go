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

// Command faults plays scenarios while single writes of the manager fail, while the manager is killed at them, and while its view
// is late, incomplete or repeated. Each run has to end like an undisturbed one. See docs/reliability.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/local/cluster"
)

func main() {
	var opts options
	opts.bind(flag.CommandLine)
	flag.Parse()
	lab.Main("faults", func(ctx context.Context) error { return faults(ctx, opts, os.Stdout) })
}

// faults runs the matrix and writes the results. The groups of scenarios run concurrently.
func faults(ctx context.Context, opts options, out io.Writer) (err error) {
	if err := opts.validate(); err != nil {
		return err
	}
	chosen, err := choose(opts, out)
	if err != nil {
		return err
	}
	began := time.Now()
	defer func() {
		for _, g := range chosen {
			err = errors.Join(err, g.close(ctx))
		}
	}()
	for _, g := range chosen {
		if g.Lab, err = lab.Open(ctx, lab.Options{Manager: opts.manager, Config: opts.config, Log: out}); err != nil {
			return err
		}
	}
	if err := givePorts(chosen); err != nil {
		return err
	}
	running, together := errgroup.WithContext(ctx)
	for _, g := range chosen {
		running.Go(func() error { return g.run(together) })
	}
	failure := running.Wait()
	var results []result
	for _, g := range chosen {
		results = append(results, g.results...)
	}
	return errors.Join(failure, report(out, opts.out, results, time.Since(began)))
}

// givePorts chooses the ports of all managers at once: they start at the same time, and one may choose a port that another has chosen and doesn't
// listen on yet.
func givePorts(chosen []*group) error {
	var all []*int
	for _, g := range chosen {
		all = append(all, &g.ports.Webhook, &g.ports.Metrics, &g.ports.Probe, &g.ports.Callback)
	}
	return cluster.FreePorts(all...)
}

// options select what to test.
type options struct {
	manager, config, out string
	// scenarios and faults are names, empty for all.
	scenarios, faults []string
	only              []plan
	share             share
	parallel          int
}

func (o *options) bind(flags *flag.FlagSet) {
	var known []string
	for _, scenario := range scenarios() {
		known = append(known, scenario.name)
	}
	flags.StringVar(&o.manager, "manager", "bin/manager", "`program` of the manager")
	flags.StringVar(&o.config, "config", "config/local", "kustomization `folder` to install")
	flags.StringVar(&o.out, "out", "bin/faults.json", "`file` to write the results to")
	flags.Func("scenarios", "`names` of the scenarios to play, separated by commas; empty: all", names(&o.scenarios, known))
	flags.Func("faults", "`kinds` of faults to inject, by the columns of the table, separated by commas; empty: all", names(&o.faults, classes()))
	flags.Func("only", "`plans` to run, by the names in failures, such as 'walkthrough/patch changepods/status#2/killed-after', separated by commas; empty: all", o.limit)
	flags.IntVar(&o.share.every, "sample", 1, "run every `n`-th plan")
	flags.IntVar(&o.share.part, "part", middle, "with --sample, the `number` of the part of all plans to run, from 0 to n-1, which are all of them; -1: the one in the middle")
	flags.IntVar(&o.parallel, "parallel", 8, "number of namespaces in use at the same time on each control plane")
}

// limit limits the plans to some, and the scenarios to theirs.
func (o *options) limit(list string) error {
	for name := range separated(list) {
		parsed, err := parsePlan(name)
		if err != nil {
			return err
		}
		o.only, o.scenarios = append(o.only, parsed), append(o.scenarios, parsed.scenario)
	}
	return nil
}

// names returns the parser of a list of known names.
func names(into *[]string, known []string) func(string) error {
	return func(list string) error {
		*into = slices.Collect(separated(list))
		for _, name := range *into {
			if !slices.Contains(known, name) {
				return fmt.Errorf("there is no %q among %s", name, strings.Join(known, ", "))
			}
		}
		return nil
	}
}

func separated(list string) iter.Seq[string] {
	return strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' })
}

// selects reports whether a list has a name. An empty one has all.
func selects(list []string, name string) bool { return len(list) == 0 || slices.Contains(list, name) }

func (o *options) validate() error {
	if o.share.every < 1 || o.parallel < 1 {
		return errors.New("--sample and --parallel must be at least 1")
	}
	if o.share.part < middle || o.share.part >= o.share.every {
		return errors.New("--part must be from 0 to one less than --sample")
	}
	return nil
}
