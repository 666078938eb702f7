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
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/render"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

func (t *tool) doctor() *cobra.Command {
	var wait time.Duration
	var operator string
	command := &cobra.Command{
		Use: "doctor", Short: "Examine the installation of the operator, and name what helps",
		Long: `Examine the installation of the operator: its kinds, pods, leader, webhooks and policies, what is under change control, and what needs a person.
A trial release by a server-side dry run proves the webhooks end to end; nothing changes. Each problem has the command that helps, where there
is one, and the exit code is 3. What you may not read is named, and no problem by itself. With -n, only the objects of that namespace and of the
operator's are examined. --wait repeats this until there is no problem, and exits with 124 if the time is over: for installation scripts.`,
		Example: "  kubectl altershield doctor\n  kubectl apply -k config/default && kubectl altershield doctor --wait=2m",
		Args:    exactly(0),
		RunE: func(command *cobra.Command, _ []string) error {
			if wait < 0 {
				return usageError(errors.New("--wait must not be negative"))
			}
			return t.runDoctor(command.Context(), operator, wait)
		},
	}
	command.Flags().DurationVar(&wait, "wait", 0, "How long to wait until there is no problem.")
	command.Flags().StringVar(&operator, "operator-namespace", appv1alpha1.SystemNamespace, "Namespace of the operator.")
	return command
}

func (t *tool) runDoctor(ctx context.Context, operator string, wait time.Duration) error {
	cluster, err := t.connect(ctx)
	if err != nil {
		return err
	}
	diagnosis, err := t.examineUntilFine(ctx, cluster, operator, wait)
	if err != nil {
		return err
	}
	var names []string
	for _, finding := range diagnosis.Items {
		if finding.Result == view.ResultProblem {
			names = append(names, string(finding.Symptom))
		}
	}
	if err := t.print(diagnosis, func() string { return render.Diagnosis(diagnosis, t.style()) }, names); err != nil {
		return err
	}
	switch {
	case diagnosis.Problems == 0:
		return nil
	case wait > 0:
		return &ending{Timeout, errors.New(render.Late(wait.String(), t.style()))}
	}
	return told(Findings)
}

// examineUntilFine examines an installation again and again until there is no problem or the time is over.
func (t *tool) examineUntilFine(ctx context.Context, cluster *cluster, operator string, wait time.Duration) (view.Diagnosis, error) {
	limit := t.Clock.NewTimer(wait)
	defer limit.Stop()
	ticker := t.Clock.NewTicker(interval)
	defer ticker.Stop()
	for {
		installation, err := t.examine(ctx, cluster, operator)
		var diagnosis view.Diagnosis
		if err == nil {
			diagnosis = view.DiagnosisOf(installation)
		}
		switch {
		case err != nil && (wait == 0 || !passes(err)), err == nil && (wait == 0 || diagnosis.Problems == 0):
			return diagnosis, err
		}
		if !nextLook(ctx, ticker.C(), limit.C()) {
			if err != nil {
				err = &ending{Timeout, err}
			}
			return diagnosis, cmp.Or(ctx.Err(), err)
		}
	}
}

// only returns the namespace that the user asks for, empty for all.
func (t *tool) only(cluster *cluster) string {
	if t.flags.namespace == "" {
		return ""
	}
	return cluster.namespace
}

// examine reads an installation. Without an answer about the version of the API server there is nothing to examine.
func (t *tool) examine(ctx context.Context, cluster *cluster, operator string) (view.Installation, error) {
	server, err := cluster.server(ctx)
	if err != nil {
		return view.Installation{}, err
	}
	installation := view.Installation{
		Namespace: operator, Mine: cluster.namespace, Plugin: t.Version, Server: server.version, Local: t.Clock.Now(), Remote: server.date,
	}
	only := t.only(cluster)
	cluster.addOperator(ctx, &installation)
	cluster.addAdmission(ctx, &installation)
	cluster.addControlled(ctx, &installation, only)
	cluster.addObjects(ctx, &installation, only)
	installation.Trials = cluster.tryRelease(ctx, installation.OptedIn())
	installation.Rights = cluster.reviewRights(ctx, view.NeededRights(cluster.namespace, operator))
	t.warnings.take() // those of the trial
	return installation, ctx.Err()
}
