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
	"log"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/local/cluster"
)

const (
	// config is the kustomization to install, plugin the program of the kubectl plugin, results the file of the figures.
	config  = "config/local"
	plugin  = "bin/kubectl-altershield"
	results = "bin/bench.json"
)

// bench is a run of the benchmark.
type bench struct {
	// manager is the manager's program, other that of another manager to compare with, empty for none.
	manager, other string
	// pprof is the address where a manager serves its profiles.
	pprof  string
	setups []setup
	report Report
	// failures are errors of the cleanup.
	failures []error
}

func main() {
	log.SetFlags(log.Ltime)
	b := &bench{}
	wanted := flag.String("loads", "", "`loads` to measure, separated by commas: "+strings.Join(names(loads()), ", ")+
		"; empty: those that take a quarter of an hour in total")
	setups := flag.String("setups", "1,10,unlabelled-10", "sizes of `batches`, separated by commas; server-10: the test server checks batches of 10; unlabelled-10: finished pods get no label; "+
		"unchecked-10: no VerificationPolicy; paced-10: two steps, and three checks more")
	full := flag.Bool("full", false, "measure everything, with and without the test server, in batches of 1, 10 and 100; takes some five hours")
	flag.IntVar(&b.report.Rounds, "rounds", 2, "number of rounds that count; one more runs first and is dropped")
	flag.StringVar(&b.report.Commit, "commit", "", "commit that is measured, for the report")
	flag.StringVar(&b.manager, "manager", "bin/manager", "`program` of the manager")
	flag.StringVar(&b.other, "other", "", "`program` of another manager to compare with, such as that of the previous commit; empty: none")
	flag.StringVar(&b.pprof, "pprof", "", "`address` where the manager serves its profiles, such as 127.0.0.1:6060; empty: any free port")
	peers := flag.Bool("peers", false, "compare with Argo Rollouts and Kruise Rollouts, built from their Go modules, which takes some minutes the first time")
	flag.Parse()
	if *full {
		*setups = "1,10,100,server-1,server-10,server-100"
		if *wanted == "" {
			*wanted = strings.Join(names(loads())[1:], ",")
		}
	}
	lab.Main("bench", func(ctx context.Context) error { return b.run(ctx, *wanted, *setups, *peers) })
}

func (b *bench) run(ctx context.Context, names, setups string, peers bool) error {
	chosen, err := chooseLoads(names)
	if err != nil {
		return err
	}
	if err := b.choose(ctx, setups, peers); err != nil {
		return err
	}
	b.report.Began = time.Now().UTC()
	b.report.Machine, b.report.Load = thisMachine()
	b.report.Writes, b.report.Reads = map[string]map[string]int{}, map[string]map[string]int{}
	log.Printf("%s; load average %.2f", b.report.Machine, b.report.Load)
	for _, load := range chosen {
		begin := time.Now()
		for _, part := range load.parts {
			figures, err := b.inLab(ctx, load, part)
			if err != nil {
				return fmt.Errorf("load %s: %w", load.name, err)
			}
			b.report.Figures = append(b.report.Figures, judge(load.name, figures)...)
		}
		log.Printf("%s took %s", load.name, time.Since(begin).Round(time.Second))
	}
	b.report.Took = time.Since(b.report.Began).Round(time.Second).String()
	if err := lab.Save(results, b.report); err != nil {
		return err
	}
	fmt.Printf("%s\n%d rounds; load average %.2f at the start; %s in total\n", b.report.Machine, b.report.Rounds, b.report.Load, b.report.Took)
	return errors.Join(printTable(os.Stdout, b.report.Figures), errors.Join(b.failures...))
}

// choose sets what is compared.
func (b *bench) choose(ctx context.Context, setups string, peers bool) (err error) {
	if b.report.Rounds < 1 {
		return errors.New("--rounds must be 1 or more")
	}
	if b.setups, err = parseSetups(setups); err != nil {
		return err
	}
	if b.pprof == "" {
		port, err := cluster.FreePort()
		if err != nil {
			return err
		}
		b.pprof = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	}
	if b.other != "" {
		if b.other, err = filepath.Abs(b.other); err != nil {
			return err
		}
		b.setups = withOther(b.setups)
	}
	if !peers {
		return nil
	}
	for _, p := range []*peer{argoRollouts(), kruiseRollouts()} {
		log.Printf("building %s", p.name)
		if err := p.build(ctx, filepath.Dir(results)); err != nil {
			return err
		}
		b.setups = append(b.setups, setup{peer: p})
	}
	return nil
}

// inLab measures in a lab of its own.
func (b *bench) inLab(ctx context.Context, of load, run measurement) ([]Figure, error) {
	opened, err := lab.Open(ctx, lab.Options{Manager: b.manager, Config: config, Nodes: of.nodes})
	if err != nil {
		return nil, err
	}
	t := &testbed{bench: b, Lab: opened, load: of.name}
	figures, err := run(ctx, t)
	b.failures = append(b.failures, t.stopPeer(ctx), t.Close(ctx)) // which are told after the figures
	return figures, err
}
