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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
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
		{"list -A", "list -A", fmt.Sprintf("%d verified", many.count+big.count)},
		{"list -A --all", "list -A --all", many.namespace},
		{"status of the big one", "status " + big.name(0) + " -n " + big.namespace, fmt.Sprintf("%d passed", big.replicas)},
		{"history of the big one", "history " + big.name(0) + " -n " + big.namespace, "Success"},
	}
}

// runPlugin measures how long a user waits for commands of the plugin, whose program starts anew each time.
func runPlugin(many, big fleet) measurement {
	return func(ctx context.Context, t *testbed) ([]Figure, error) {
		if err := t.fill(ctx, contestant{setup: setup{batch: 100}, fleet: many}, contestant{setup: setup{batch: 100}, fleet: big}); err != nil {
			return nil, err
		}
		return runEach(ctx, pluginSetup(many, big), pluginCommands(many, big), plugin, t.Plane.Kubeconfig())
	}
}

// runEach runs each command several times. Its figures are the time until it ended, and the processor time of its process, which other programs
// on the machine hardly change.
func runEach(ctx context.Context, setup string, commands []pluginCommand, program, kubeconfig string) ([]Figure, error) {
	var figures []Figure
	for _, command := range commands {
		var times, processor []float64
		for range pluginRuns {
			took, used, err := command.run(ctx, program, kubeconfig)
			if err != nil {
				return nil, err
			}
			times, processor = append(times, inMilliseconds(took)), append(processor, inMilliseconds(used))
		}
		figures = append(figures, figureOf(setup, command.name, "ms", times...), figureOf(setup, command.name+", processor time", "ms", processor...))
	}
	return figures, nil
}

func pluginSetup(many, big fleet) string {
	return fmt.Sprintf("%d Deployments of %d pods, %d of %d", many.count, many.replicas, big.count, big.replicas)
}

// run runs the command once. It returns how long that took, and the processor time.
func (c pluginCommand) run(ctx context.Context, program, kubeconfig string) (took, processor time.Duration, err error) {
	command := exec.CommandContext(ctx, program, strings.Fields(c.line)...)
	command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "LANG=C.UTF-8")
	began := time.Now()
	output, err := command.CombinedOutput()
	took = time.Since(began)
	switch {
	case err != nil:
		return 0, 0, fmt.Errorf("%s: %w: %s", c.line, err, output)
	case !strings.Contains(string(output), c.prints):
		return 0, 0, fmt.Errorf("%s doesn't print %q but: %s", c.line, c.prints, output)
	}
	return took, command.ProcessState.UserTime() + command.ProcessState.SystemTime(), nil
}

const (
	recordsNamespace = "kept"
	// recordedWorkloads is the number of workloads with ChangeRecords, recordedReleases that of the records of each.
	recordedWorkloads, recordedReleases = 100, 100
	// recordsPeriod is how long ago the oldest record is: younger than what is removed by default.
	recordsPeriod = 80 * 24 * time.Hour
)

// runRecords measures what ChangeRecords take of the API server's storage and of the operator's memory, and how long they take to be exported.
func runRecords(ctx context.Context, t *testbed) ([]Figure, error) {
	if err := t.Namespace(ctx, recordsNamespace, true); err != nil {
		return nil, err
	}
	before, err := t.heapAtRest(ctx, true)
	if err != nil {
		return nil, err
	}
	size, began := 0, time.Now().Add(-recordsPeriod)
	for of := range recordedWorkloads {
		if size, err = recordReleases(ctx, t.Kube, of, began); err != nil {
			return nil, err
		}
	}
	after, err := t.heapAtRest(ctx, true)
	if err != nil {
		return nil, err
	}
	setup := recordsSetup()
	figures, err := runEach(ctx, setup, recordsCommands(), plugin, t.Plane.Kubeconfig())
	return append(figures,
		figureOf(setup, "JSON of a record", "KiB", float64(size)/1024),
		figureOf(setup, "heap without records", "MiB", before/mebibyte),
		figureOf(setup, "heap with records", "MiB", after/mebibyte),
	), err
}

func recordsSetup() string { return fmt.Sprintf("%d records", recordedWorkloads*recordedReleases) }

// recordsCommands returns the commands of the plugin that read the records.
func recordsCommands() []pluginCommand {
	return []pluginCommand{
		{"export as CSV", "export -A --from 2000-01-01", "web-0"},
		{"export as HTML", "export -A --from 2000-01-01 --format html", "web-0"},
		{"export --verify", "export -A --from 2000-01-01 --verify", "web-0"},
	}
}

// recordReleases creates the records of a workload, and returns the size of the JSON of the last one in bytes.
func recordReleases(ctx context.Context, kube client.Client, of int, began time.Time) (size int, err error) {
	facts := decide.RecordFacts{}
	for number := range int64(recordedReleases) {
		began = began.Add(recordsPeriod / (recordedReleases + 1))
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(recordOf(of, number+1, began, facts))
		if err != nil {
			return 0, fmt.Errorf("encoding a ChangeRecord: %w", err)
		}
		stored := &unstructured.Unstructured{Object: content}
		stored.SetGroupVersionKind(appv1alpha1.GroupVersion.WithKind("ChangeRecord"))
		if err := kube.Create(ctx, stored); err != nil {
			return 0, fmt.Errorf("creating ChangeRecord %s: %w", stored.GetName(), err)
		}
		text, err := stored.MarshalJSON()
		if err != nil {
			return 0, fmt.Errorf("encoding ChangeRecord %s: %w", stored.GetName(), err)
		}
		previous, hash, err := decide.DecodeRecord(stored)
		if err != nil {
			return 0, fmt.Errorf("reading ChangeRecord %s: %w", stored.GetName(), err)
		}
		size, facts.Previous, facts.PreviousHash = len(text), &previous, hash
	}
	return size, nil
}

// recordOf returns the record of a release of ten pods that were verified after two minutes.
func recordOf(of int, release int64, began time.Time, facts decide.RecordFacts) *appv1alpha1.ChangeRecord {
	name := fmt.Sprintf("web-%d", of)
	version := strings.Repeat(fmt.Sprintf("%08x", release), 4)
	workload := &appv1alpha1.ChangeWorkload{
		ObjectMeta: metav1.ObjectMeta{Namespace: recordsNamespace, Name: name + "--x--" + version},
		Spec: appv1alpha1.ChangeWorkloadSpec{
			AppName: name, Reversion: version, Release: release, CreateTimeUnix: began.Unix(), ReleasedBy: "system:serviceaccount:ci:deployer",
			Changes: []string{fmt.Sprintf("container web: image shop/web:1.%d -> shop/web:1.%d", release-1, release)},
			WorkloadRef: &appv1alpha1.WorkloadReference{
				APIVersion: "apps/v1", Kind: "Deployment", Name: name, UID: types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", of)),
			},
		},
	}
	status := &appv1alpha1.ChangeWorkloadStatus{ObservedRelease: release, Status: appv1alpha1.ChangeWorkloadSuccess}
	status.Counts.Desired, status.Counts.Passed = 10, 10
	facts.Images = []appv1alpha1.RecordedImage{{Container: "web", Image: fmt.Sprintf("shop/web:1.%d", release)}}
	return decide.NewChangeRecord(workload, status, decide.RecordPlan{Outcome: appv1alpha1.OutcomeVerified}, facts, began.Add(2*time.Minute))
}
