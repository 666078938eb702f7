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
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/render"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

func (t *tool) settings() *cobra.Command {
	var flags acting
	var namespace string
	command := &cobra.Command{
		Use: "settings [NAME [on|off|VALUE]]", Short: "List the settings of the operator, or change one",
		Long: `List the settings of the operator (OpsConfigInfos) with the value in effect, and why an object has none. With a value, change one: on and off keep
its content, and any other value switches it on. It takes effect without a restart.`,
		Example: "  kubectl altershield settings\n  kubectl altershield settings branch 20\n  kubectl altershield settings suspended-rollback on",
		Args:    atMost(2),
		RunE: func(command *cobra.Command, args []string) error {
			name := ""
			if len(args) > 0 {
				name = objectName(args[0], "opsconfiginfo")
			}
			if len(args) == 2 {
				return t.runSetting(command.Context(), namespace, name, args[1], flags)
			}
			return t.runSettings(command.Context(), namespace, name)
		},
	}
	flags.bind(command)
	command.Flags().StringVar(&namespace, "operator-namespace", appv1alpha1.SystemNamespace, "Namespace of the operator.")
	return command
}

func (t *tool) runSettings(ctx context.Context, namespace, name string) error {
	cluster, err := t.connect(ctx)
	if err != nil {
		return err
	}
	list, err := cluster.settings(ctx, namespace, name)
	if err != nil {
		return err
	}
	var names []string
	for _, setting := range list.Items {
		names = append(names, "opsconfiginfo."+appv1alpha1.GroupVersion.Group+"/"+setting.Name)
	}
	return t.print(list, func() string { return render.Settings(list, t.style()) }, names)
}

// settings lists the settings of the operator in its namespace, one of them if a name is given.
func (c *cluster) settings(ctx context.Context, namespace, name string) (view.SettingList, error) {
	var objects appv1alpha1.OpsConfigInfoList
	if err := c.List(ctx, &objects, client.InNamespace(namespace)); err != nil {
		return view.SettingList{}, fmt.Errorf("listing OpsConfigInfos in namespace %s: %w", namespace, err)
	}
	list, err := view.SettingsOf(objects.Items, name)
	if err != nil {
		return list, usageError(err)
	}
	return list, nil
}

func (t *tool) runSetting(ctx context.Context, namespace, name, value string, flags acting) error {
	cluster, err := t.connect(ctx)
	if err != nil {
		return err
	}
	object := &appv1alpha1.OpsConfigInfo{}
	err = cluster.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object)
	if apierrors.IsNotFound(err) {
		object, err = nil, nil
	}
	if err != nil {
		return fmt.Errorf("reading opsconfiginfo/%s in namespace %s: %w", name, namespace, err)
	}
	request, changed, err := view.SettingOf(namespace, name, value, object)
	if err != nil {
		return usageError(err)
	}
	return t.act(ctx, cluster, flags, &action{request, func(ctx context.Context, writer client.Client, request *view.Request) error {
		if object == nil {
			err = writer.Create(ctx, changed.DeepCopy())
		} else {
			err = writer.Patch(ctx, changed.DeepCopy(), client.MergeFromWithOptions(object, client.MergeFromWithOptimisticLock{}))
		}
		if err != nil {
			return fmt.Errorf("changing %s in namespace %s: %w", request.Object, namespace, err)
		}
		return nil
	}})
}
