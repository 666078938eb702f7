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

// Command faults plays scenarios while single writes of the manager fail, while the manager is killed at them, and while what it
// sees is late, incomplete or repeated. Each time the end has to be that of an undisturbed run. See docs/reliability.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

func main() {
	var opts options
	opts.bind(flag.CommandLine)
	flag.Parse()
	log.SetLogger(logr.Discard()) // what fails is in the results
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := faults(ctx, opts, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "\nfaults: %v\n", err)
		os.Exit(1)
	}
}

// options say what to try.
type options struct {
	manager, config, out string
	only                 string
	sample, parallel     int
}

func (o *options) bind(flags *flag.FlagSet) {
	flags.StringVar(&o.manager, "manager", "bin/manager", "the manager's `program`")
	flags.StringVar(&o.config, "config", "config/local", "kustomization `folder` to install")
	flags.StringVar(&o.out, "out", "bin/faults.json", "`file` for the results")
	flags.StringVar(&o.only, "only", "", "the `plans` to try, as failures name them, such as 'walkthrough/patch changepods/status#2/killed-after', with commas between; empty: all")
	flags.IntVar(&o.sample, "sample", 1, "try every `n`-th plan")
	flags.IntVar(&o.parallel, "parallel", 8, "how many namespaces are at work at a time")
}

func (o *options) validate() error {
	if o.sample < 1 || o.parallel < 1 {
		return errors.New("--sample and --parallel have to be 1 at least")
	}
	_, err := o.plans()
	return err
}

// plans are those to try where not all are.
func (o *options) plans() ([]plan, error) {
	var plans []plan
	for name := range strings.SplitSeq(o.only, ",") {
		if name == "" {
			continue
		}
		parsed, err := parsePlan(name)
		if err != nil {
			return nil, err
		}
		plans = append(plans, parsed)
	}
	return plans, nil
}
