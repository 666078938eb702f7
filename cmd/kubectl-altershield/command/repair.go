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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
)

// repairing are the flags of repair.
type repairing struct {
	acting
	file       string
	images     []string
	serverSide bool
}

func (t *tool) repair() *cobra.Command {
	var flags repairing
	command := &cobra.Command{
		Use: "repair NAME -f FILE | repair NAME --image CONTAINER=IMAGE", Short: "Release a correction of a suspended workload",
		Long: `Release a correction of a workload that is suspended, or to a version that is refused. The content and the label ignored-suspend go into one
request, so that the label lands in no file, and lets nothing else through. It shows what changes, and asks you first. The release is checked
like any other.`,
		Example: "  kubectl altershield repair web -f web.yaml && kubectl altershield wait web\n  kubectl altershield repair web --image web=web:1.9.1",
		Args:    exactly(1),
		RunE: func(command *cobra.Command, args []string) error {
			switch {
			case (flags.file == "") == (len(flags.images) == 0):
				return usageError(errors.New("give the correction with -f, or with --image"))
			case flags.file == "-" && flags.asks():
				return usageError(errors.New("the standard input has the file, so that it can't have your answer: add -y"))
			}
			return t.runRepair(command.Context(), args[0], flags)
		},
		ValidArgsFunction: t.completeNames,
	}
	flags.bind(command)
	command.Flags().StringVarP(&flags.file, "filename", "f", "", "File with the workload, - for the standard input.")
	command.Flags().StringArrayVar(&flags.images, "image", nil, "Image of a container, as CONTAINER=IMAGE; may be repeated.")
	flags.bindReason(command, reasonUsage, false)
	command.Flags().BoolVar(&flags.serverSide, "server-side", false, "Apply the file as kubectl apply --server-side.")
	return command
}

func (t *tool) runRepair(ctx context.Context, name string, flags repairing) error {
	cluster, facts, err := t.open(ctx, name)
	if err != nil {
		return err
	}
	if facts.Workload == nil {
		return fmt.Errorf("%s can't be read, so that it can't be repaired", view.Argument(facts.Reference))
	}
	repair, err := t.correction(cluster, facts, flags)
	if err != nil {
		return err
	}
	t.warnings.take()
	var trial view.Trial
	err = cluster.unlessChanged(ctx, facts, func(shown *unstructured.Unstructured) error {
		answer, err := repair(ctx, client.NewDryRunClient(cluster), shown)
		if scope.IsConflict(err) {
			return err
		}
		trial, err = trialOf(shown, answer, err)
		return err
	})
	if err != nil {
		return fmt.Errorf("trying the repair: %w", err)
	}
	if trial.Verdict == view.Denied {
		return &ending{Denied, errors.New(trial.Sentence)}
	}
	request, err := view.RepairOf(facts, trial)
	if err != nil {
		return err
	}
	request.Reason = flags.reason
	return t.act(ctx, cluster, flags.acting, &action{request, func(ctx context.Context, writer client.Client, _ *view.Request) error {
		return cluster.unlessChanged(ctx, facts, func(shown *unstructured.Unstructured) error {
			_, err := repair(ctx, writer, shown)
			return err
		})
	}})
}

// correct writes the correction of a workload that was read.
type correct func(ctx context.Context, writer client.Client, shown *unstructured.Unstructured) (*unstructured.Unstructured, error)

// correction returns what writes the correction that a user names.
func (t *tool) correction(cluster *cluster, facts view.Facts, flags repairing) (correct, error) {
	if flags.file != "" {
		object, err := t.manifestOf(facts, flags.file)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, writer client.Client, shown *unstructured.Unstructured) (*unstructured.Unstructured, error) {
			return cluster.apply(ctx, writer, shown, manifest{object: object, serverSide: flags.serverSide, repairs: true, reason: flags.reason})
		}, nil
	}
	var images []view.Image
	for _, argument := range flags.images {
		image, err := view.ParseImage(argument)
		if err != nil {
			return nil, usageError(err)
		}
		images = append(images, image)
	}
	if err := view.SetImages(facts.Workload.DeepCopy(), images); err != nil {
		return nil, fmt.Errorf("%s can't be repaired: %w", view.Argument(facts.Reference), err)
	}
	return func(ctx context.Context, writer client.Client, shown *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		changed := shown.DeepCopy()
		view.MarkRepair(changed, flags.reason)
		if err := view.SetImages(changed, images); err != nil {
			return nil, err
		}
		return changed, writer.Patch(ctx, changed, client.MergeFromWithOptions(shown, client.MergeFromWithOptimisticLock{}))
	}, nil
}

// manifestOf returns the manifest of a workload in a file.
func (t *tool) manifestOf(facts view.Facts, file string) (*unstructured.Unstructured, error) {
	objects, err := t.workloads(file)
	if err != nil {
		return nil, err
	}
	for _, object := range objects {
		if object.GetName() != facts.Reference.Name || object.GetKind() != facts.Reference.Kind || object.GetAPIVersion() != facts.Reference.APIVersion {
			continue
		}
		if object.GetNamespace() == "" {
			object.SetNamespace(facts.Namespace)
		}
		if object.GetNamespace() == facts.Namespace {
			return object, nil
		}
	}
	return nil, usageError(fmt.Errorf("there is no %s of namespace %s in %s", view.Argument(facts.Reference), facts.Namespace, file))
}
