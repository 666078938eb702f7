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

package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/render"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

func (t *tool) diff() *cobra.Command {
	var file string
	var show full
	command := &cobra.Command{
		Use: "diff NAME [REL[..REL]] | diff -f FILE", Short: "Compare the contents of releases, or of a file with the present one",
		Long: `Compare the present content of a workload with that of an earlier release, by default the newest verified one before, or two releases.
Contents of verified releases are kept; of others only what they changed is known. Values that may be secret are not shown,
unless you ask for the lines of YAML that differ with --full.
With -f it asks the API server, by a dry run, what that file would change; it exits with 4 if the file would be denied.`,
		Example: "  kubectl altershield diff web\n  kubectl altershield diff web 5..7\n  kubectl altershield diff -f web.yaml",
		Args:    atMost(2),
		RunE: func(command *cobra.Command, args []string) error {
			switch {
			case file != "" && len(args) == 0 && !show.wanted:
				return t.runDiffOfFile(command.Context(), file)
			case file != "" && show.wanted:
				return usageError(errors.New("--full compares releases, not files: kubectl diff -f shows what a file changes"))
			case file != "" || len(args) == 0:
				return usageError(errors.New("name a workload, or a file with -f"))
			}
			return t.runDiff(command.Context(), args, show)
		},
		ValidArgsFunction: t.completeNames,
	}
	command.Flags().StringVarP(&file, "filename", "f", "", "File with the workload, - for the standard input.")
	command.Flags().BoolVar(&show.wanted, "full", false, "Show the lines of YAML that differ, with values that may be secret.")
	command.Flags().BoolVarP(&show.yes, "yes", "y", false, "With --full: don't ask.")
	return command
}

// full is how --full is given.
type full struct{ wanted, yes bool }

func (t *tool) runDiff(ctx context.Context, args []string, show full) error {
	var from, to int64
	var err error
	if len(args) == 2 {
		if from, to, err = view.ParseReleases(args[1]); err != nil {
			return usageError(err)
		}
	}
	cluster, facts, err := t.open(ctx, args[0])
	if err != nil {
		return err
	}
	kept, err := cluster.kept(ctx, &facts)
	if err != nil {
		return err
	}
	if show.wanted && !show.yes {
		if err := t.confirm(render.AskSecrets(t.style())); err != nil {
			return err
		}
	}
	difference, err := compare(facts, kept, from, to, show.wanted)
	if err != nil {
		return err
	}
	return t.print(difference, func() string { return render.Difference(difference, t.style()) }, workloadName(facts.Reference))
}

// compare compares two releases of a workload; 0 stands for the newest kept one before the present one, and for the present one.
func compare(facts view.Facts, kept []unstructured.Unstructured, from, to int64, full bool) (view.Difference, error) {
	if facts.Workload == nil {
		return view.Difference{}, fmt.Errorf("%s can't be read, so its releases can't be compared", view.Argument(facts.Reference))
	}
	present := decide.ReleaseOf(facts.Workload)
	if to == 0 {
		to = present.Number
	}
	difference := view.Difference{Kind: "Difference", APIVersion: view.APIVersion, To: side(facts, kept, to)}
	if from == 0 {
		for _, revision := range kept {
			if version := revision.GetLabels()[appv1alpha1.LabelVersion]; numberOf(revision) < to && version != difference.To.Version {
				from = numberOf(revision)
				break
			}
		}
	}
	if from == 0 {
		return view.Difference{}, fmt.Errorf("no content of a release before %d is kept: kubectl altershield history %s shows the releases", to, facts.Arguments())
	}
	difference.From = side(facts, kept, from)
	before, err := contentOf(facts, kept, from, nil)
	var after view.Content
	if err == nil {
		after, err = contentOf(facts, kept, to, before)
	}
	switch {
	case err != nil && full:
		return view.Difference{}, err
	case err != nil:
		return recorded(facts, difference, err)
	case full:
		difference.Full, err = view.FullChangesOf(before, after)
	}
	difference.Changes = view.ChangesOf(before, after)
	return difference, err
}

// recorded returns what the record of a release has of its changes, if the other side is the release before. cause is why the contents can't
// be compared.
func recorded(facts view.Facts, difference view.Difference, cause error) (view.Difference, error) {
	if difference.From.Release+1 != difference.To.Release {
		return view.Difference{}, cause
	}
	record := view.RecordOf(facts, decide.Release{Number: difference.To.Release})
	if record == nil {
		return view.Difference{}, cause
	}
	difference.Changes = record.Spec.Changes
	return difference, nil
}

func side(facts view.Facts, kept []unstructured.Unstructured, number int64) view.Side {
	if present := decide.ReleaseOf(facts.Workload); present.Number == number {
		return view.Side{Release: number, Version: present.Version}
	}
	for _, revision := range kept {
		if numberOf(revision) == number {
			return sideOf(revision)
		}
	}
	side := view.Side{Release: number}
	if record := view.RecordOf(facts, decide.Release{Number: number}); record != nil {
		side.Version = record.Spec.Reversion
	}
	return side
}

// contentOf returns the content of a release: that of the workload for the present one, else the kept one. like is the content to compare with.
func contentOf(facts view.Facts, kept []unstructured.Unstructured, number int64, like view.Content) (view.Content, error) {
	for _, revision := range kept {
		if numberOf(revision) != number {
			continue
		}
		return contentIn(revision)
	}
	if decide.ReleaseOf(facts.Workload).Number == number && like != nil {
		return view.ContentOf(facts.Workload.Object, like), nil
	}
	return nil, fmt.Errorf("the content of release %d of %s isn't kept: kubectl altershield history %s marks those that are",
		number, view.Argument(facts.Reference), facts.Arguments())
}

// contentIn returns the content that a ControllerRevision keeps.
func contentIn(revision unstructured.Unstructured) (view.Content, error) {
	data, _, _ := unstructured.NestedMap(revision.Object, "data")
	content, err := view.KeptContent(data)
	if err != nil {
		return nil, fmt.Errorf("reading ControllerRevision %s: %w", revision.GetName(), err)
	}
	return content, nil
}

func (t *tool) runDiffOfFile(ctx context.Context, file string) error {
	objects, err := t.workloads(file)
	if err != nil {
		return err
	}
	if len(objects) == 0 {
		return usageError(fmt.Errorf("there is no workload in %s", file))
	}
	cluster, err := t.connect(ctx)
	if err != nil {
		return err
	}
	show := t.print
	for _, object := range objects {
		why, err := t.try(ctx, cluster, object, false)
		if err != nil {
			return err
		}
		if why.Trial.Verdict == view.Denied {
			return &ending{Denied, errors.New(why.Trial.Sentence)}
		}
		difference := view.Difference{
			Kind: "Difference", APIVersion: view.APIVersion, From: why.Trial.From, To: view.Side{File: file}, Changes: why.Trial.Changes,
			NotControlled: why.Trial.Verdict == view.NotControlled,
		}
		if err := show(difference, func() string { return render.Difference(difference, t.style()) }, nil); err != nil {
			return err
		}
		show = t.printMore
	}
	return nil
}
