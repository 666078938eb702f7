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

// Command bench measures the cost of the operator: the same releases with and without it on a control plane of its own with fake
// nodes, interleaved. It prints a table of figures and goals, and writes them as JSON.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/traas-stack/altershield-operator/hack/lab"
)

const (
	// config is the kustomization to install, plugin the program of the kubectl plugin, results the file of the figures.
	config  = "config/local"
	plugin  = "bin/kubectl-altershield"
	results = "bin/bench.json"
)

// bench is a run of the benchmark.
type bench struct {
	// manager is the manager's program.
	manager string
	// profiles is a folder for profiles of the manager, empty for none; pprof is the address where it serves them.
	profiles, pprof string
	// other is the program of another manager to compare with, empty for none.
	other  string
	setups []setup
	report Report
	log    io.Writer
	// failures are errors of the cleanup.
	failures []error
}

func main() {
	b := &bench{log: os.Stderr}
	loads := flag.String("loads", "", "`loads` to measure, separated by commas: "+strings.Join(loadNames(), ", ")+"; empty: those that take a quarter of an hour in total")
	setups := flag.String("setups", "1,10,unlabelled-10", "sizes of `batches`, separated by commas; server-10: the test server checks batches of 10; unlabelled-10: finished pods get no label; "+
		"unchecked-10: no VerificationPolicy; paced-10: two steps, and three checks more")
	full := flag.Bool("full", false, "measure everything, with and without the test server, in batches of 1, 10 and 100; takes some five hours")
	flag.IntVar(&b.report.Rounds, "rounds", 2, "number of rounds that count; one more runs first and is dropped")
	flag.StringVar(&b.report.Commit, "commit", "", "commit that is measured, for the report")
	flag.StringVar(&b.manager, "manager", "bin/manager", "`program` of the manager")
	flag.StringVar(&b.other, "other", "", "`program` of another manager to compare with, such as that of the previous commit; empty: none")
	flag.StringVar(&b.profiles, "profiles", "", "`folder` for profiles of the manager in each round, which slow it down; empty: none")
	peers := flag.Bool("peers", false, "compare with Argo Rollouts and Kruise Rollouts, built from their Go modules, which takes some minutes the first time")
	flag.Parse()
	if *full {
		*setups = "1,10,100,server-1,server-10,server-100"
		if *loads == "" {
			*loads = strings.Join(loadNames()[1:], ",")
		}
	}
	lab.Main("bench", func(ctx context.Context) error { return b.run(ctx, *loads, *setups, *peers) })
}

func (b *bench) run(ctx context.Context, names, setups string, peers bool) error {
	var err error
	if b.setups, err = parseSetups(setups); err != nil {
		return err
	}
	if b.other != "" {
		if b.other, err = filepath.Abs(b.other); err != nil {
			return err
		}
		b.setups = withOther(b.setups, b.other)
	}
	if peers {
		for _, p := range []*peer{argoRollouts(), kruiseRollouts()} {
			b.logf("building %s", p.name)
			if err := p.build(ctx, filepath.Dir(results)); err != nil {
				return err
			}
			b.setups = append(b.setups, setup{peer: p})
		}
	}
	if b.report.Rounds < 1 {
		return errors.New("--rounds must be 1 or more")
	}
	chosen, err := chooseLoads(names)
	if err != nil {
		return err
	}
	if b.profiles != "" {
		if b.pprof, err = pprofAddress(); err != nil {
			return err
		}
		if err := os.MkdirAll(b.profiles, 0o700); err != nil {
			return err
		}
	}
	b.report.Began, b.report.Machine, b.report.Writes = time.Now().UTC(), thisMachine(), map[string]map[string]int{}
	b.report.Reads = map[string]map[string]int{}
	b.logf("%s; load average %.2f", b.report.Machine, b.report.Machine.Load)
	for _, load := range chosen {
		begin := time.Now()
		figures, err := load.run(ctx, b)
		if err != nil {
			return fmt.Errorf("load %s: %w", load.name, err)
		}
		b.report.Figures = append(b.report.Figures, judge(figures, goals())...)
		b.logf("%s took %s", load.name, time.Since(begin).Round(time.Second))
	}
	b.report.Took = time.Since(b.report.Began).Round(time.Second).String()
	return errors.Join(b.tell(os.Stdout), errors.Join(b.failures...))
}

// tell prints the figures and writes them to a file.
func (b *bench) tell(table io.Writer) error {
	if err := lab.Save(results, b.report); err != nil {
		return err
	}
	fmt.Fprintf(table, "%s\n%d rounds; load average %.2f at the start; %s in total\n",
		b.report.Machine, b.report.Rounds, b.report.Machine.Load, b.report.Took)
	return printTable(table, b.report.Figures)
}

func (b *bench) logf(format string, args ...any) {
	fmt.Fprintf(b.log, time.Now().Format(time.TimeOnly)+"  "+format+"\n", args...)
}

// closed keeps an error of the cleanup until the figures are printed.
func (b *bench) closed(err error) {
	if err != nil {
		b.failures = append(b.failures, err)
	}
}
