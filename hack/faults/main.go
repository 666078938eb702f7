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
	"iter"
	"os"
	"slices"
	"strings"

	"github.com/traas-stack/altershield-operator/hack/lab"
)

func main() {
	var opts options
	opts.bind(flag.CommandLine)
	flag.Parse()
	lab.Main("faults", func(ctx context.Context) error { return faults(ctx, opts, os.Stdout) })
}

// options select what to test.
type options struct {
	manager, config, out string
	scenarios, only      string
	faults               string
	share                share
	parallel             int
}

func (o *options) bind(flags *flag.FlagSet) {
	flags.StringVar(&o.manager, "manager", "bin/manager", "`program` of the manager")
	flags.StringVar(&o.config, "config", "config/local", "kustomization `folder` to install")
	flags.StringVar(&o.out, "out", "bin/faults.json", "`file` to write the results to")
	flags.StringVar(&o.scenarios, "scenarios", "", "`names` of the scenarios to play, separated by commas; empty: all")
	flags.StringVar(&o.faults, "faults", "", "`kinds` of faults to inject, by the columns of the table, separated by commas; empty: all")
	flags.StringVar(&o.only, "only", "", "`plans` to run, by the names in failures, such as 'walkthrough/patch changepods/status#2/killed-after', separated by commas; empty: all")
	flags.IntVar(&o.share.every, "sample", 1, "run every `n`-th plan")
	flags.IntVar(&o.share.part, "part", middle, "with --sample, the `number` of the part of all plans to run, from 0 to n-1, which are all of them; -1: the one in the middle")
	flags.IntVar(&o.parallel, "parallel", 8, "number of namespaces in use at the same time")
}

func (o *options) validate() error {
	if o.share.every < 1 || o.parallel < 1 {
		return errors.New("--sample and --parallel must be at least 1")
	}
	if o.share.part < middle || o.share.part >= o.share.every {
		return errors.New("--part must be from 0 to one less than --sample")
	}
	for name := range named(o.scenarios) {
		if !slices.ContainsFunc(scenarios(), func(known scenario) bool { return known.name == name }) {
			return fmt.Errorf("there is no scenario %q", name)
		}
	}
	for name := range named(o.faults) {
		if !slices.Contains(classes(), name) {
			return fmt.Errorf("there is no fault %q", name)
		}
	}
	_, err := o.plans()
	return err
}

// named returns the names in a list.
func named(list string) iter.Seq[string] {
	return strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' })
}

// selects reports whether a list has a name. An empty one has all.
func selects(list, name string) bool {
	return list == "" || slices.Contains(slices.Collect(named(list)), name)
}

// plans returns the plans of --only.
func (o *options) plans() ([]plan, error) {
	var plans []plan
	for name := range named(o.only) {
		parsed, err := parsePlan(name)
		if err != nil {
			return nil, err
		}
		plans = append(plans, parsed)
	}
	return plans, nil
}
