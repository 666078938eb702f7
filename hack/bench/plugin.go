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
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/traas-stack/altershield-operator/hack/lab"
)

// pluginRuns is how often each command of the plugin is run.
const pluginRuns = 10

// pluginCommand is a command of the plugin, and what it must print.
type pluginCommand struct {
	name, line, prints string
}

// pluginCommands returns the commands that are measured on two fleets.
func pluginCommands(many, big fleet) []pluginCommand {
	return []pluginCommand{
		{pluginList, "list -A", fmt.Sprintf("%d verified", many.deployments+big.deployments)},
		{pluginListAll, "list -A --all", many.namespace},
		{pluginStatus, "status " + big.name(0) + " -n " + big.namespace, fmt.Sprintf("%d passed", big.replicas)},
		{pluginHistory, "history " + big.name(0) + " -n " + big.namespace, "Success"},
	}
}

// runPlugin measures how long a user waits for commands of the plugin, whose program starts anew each time.
func runPlugin(many, big fleet) measurement {
	many.namespace, big.namespace = "many", "big"
	return func(ctx context.Context, b *bench, l *lab.Lab) ([]Figure, error) {
		if err := (setup{batch: 100}).prepare(ctx, l); err != nil {
			return nil, err
		}
		for _, of := range []fleet{many, big} {
			created, err := of.create(ctx, l, true)
			if err != nil {
				return nil, err
			}
			if created.missing > 0 {
				return nil, fmt.Errorf("%d of %d Deployments of %d pods weren't verified in time", created.missing, of.deployments, of.replicas)
			}
			b.logf("%s: %d Deployments of %d pods verified after %s", of.namespace, of.deployments, of.replicas, created.verified.Round(time.Second))
		}
		commands := pluginCommands(many, big)
		took, err := runEach(ctx, commands, b.plugin, l.Plane.Kubeconfig())
		if err != nil {
			return nil, err
		}
		return waitedFigures(loadPlugin, pluginSetup(many, big), commands, took), nil
	}
}

// waited is what one run of a command took: the time until it ended, and the processor time of its process, which other programs on the machine
// hardly change.
type waited struct {
	time, processor time.Duration
}

// runEach runs each command several times, and returns what it took, by name.
func runEach(ctx context.Context, commands []pluginCommand, program, kubeconfig string) (map[string][]waited, error) {
	took := map[string][]waited{}
	for _, command := range commands {
		for range pluginRuns {
			one, err := command.run(ctx, program, kubeconfig)
			if err != nil {
				return nil, err
			}
			took[command.name] = append(took[command.name], one)
		}
	}
	return took, nil
}

// waitedFigures returns the figures of the runs of each command.
func waitedFigures(load, setup string, commands []pluginCommand, took map[string][]waited) []Figure {
	var figures []Figure
	for _, command := range commands {
		var times, processor []float64
		for _, one := range took[command.name] {
			times, processor = append(times, one.time.Seconds()*1000), append(processor, one.processor.Seconds()*1000)
		}
		figures = append(figures, figureOf(load, setup, command.name, "ms", times...), figureOf(load, setup, command.name+", processor time", "ms", processor...))
	}
	return figures
}

func pluginSetup(many, big fleet) string {
	return fmt.Sprintf("%d Deployments of %d pods, %d of %d", many.deployments, many.replicas, big.deployments, big.replicas)
}

// run runs the command once.
func (c pluginCommand) run(ctx context.Context, program, kubeconfig string) (waited, error) {
	command := exec.CommandContext(ctx, program, strings.Fields(c.line)...)
	command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "LANG=C.UTF-8")
	began := time.Now()
	output, err := command.CombinedOutput()
	took := time.Since(began)
	switch {
	case err != nil:
		return waited{}, fmt.Errorf("%s: %w: %s", c.line, err, output)
	case !strings.Contains(string(output), c.prints):
		return waited{}, fmt.Errorf("%s doesn't print %q but: %s", c.line, c.prints, output)
	}
	return waited{took, command.ProcessState.UserTime() + command.ProcessState.SystemTime()}, nil
}
