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
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/render"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

// reporting are the flags of report.
type reporting struct {
	file, operator string
	logs           bool
}

func (t *tool) report() *cobra.Command {
	var asked reporting
	command := &cobra.Command{
		Use: "report", Short: "Collect what a report about the operator needs, in a zip file",
		Long: `Collect the objects of the operator's kinds, the metadata of workloads under change control, Events, versions and the output of doctor in a zip
file, and with --logs the logs of the operator. It has no Secrets, no ConfigMaps, no pod templates of workloads and no values of environment
variables; what looks like a login is redacted. Names of workloads and users are there: look at it before you pass it on. With few rights it
is partial, and lists what is missing. With -n it is about that namespace and the operator's. -f - writes the file to the standard output.`,
		Example: "  kubectl altershield report --logs\n  kubectl altershield report -n shop -f shop.zip",
		Args:    exactly(0),
		RunE: func(command *cobra.Command, _ []string) error {
			if _, _, isTerminal := t.Terminal(); isTerminal && asked.file == "-" {
				return usageError(errors.New("a zip file isn't written to a terminal: name a file with -f, or redirect the output"))
			}
			return t.runReport(command.Context(), asked)
		},
	}
	set := command.Flags()
	set.StringVarP(&asked.file, "filename", "f", "", "File to write, - for the standard output; by default altershield-report-<time>.zip.")
	set.BoolVar(&asked.logs, "logs", false, "Add the logs of the operator.")
	set.StringVar(&asked.operator, "operator-namespace", appv1alpha1.SystemNamespace, "Namespace of the operator.")
	return command
}

func (t *tool) runReport(ctx context.Context, asked reporting) error {
	cluster, err := t.connect(ctx)
	if err != nil {
		return err
	}
	now := t.Clock.Now().UTC()
	if asked.file == "" {
		asked.file = "altershield-report-" + now.Format("20060102-150405") + ".zip"
	}
	collected, err := t.collect(ctx, cluster, asked)
	if err != nil {
		return err
	}
	packed, err := collected.finish(asked.file)
	if err != nil {
		return err
	}
	report := collected.report
	if asked.file == "-" {
		if _, err := t.Out.Write(packed); err != nil {
			return fmt.Errorf("writing the report: %w", err)
		}
		_, err := fmt.Fprint(t.Err, render.Report(report, t.style()))
		return err
	}
	if err := os.WriteFile(filepath.Clean(asked.file), packed, 0o600); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return t.print(report, func() string { return render.Report(report, t.style()) }, []string{asked.file})
}

// collect reads what a report has. What can't be read is missing.
func (t *tool) collect(ctx context.Context, cluster *cluster, asked reporting) (*collection, error) {
	installation, err := t.examine(ctx, cluster, asked.operator)
	if err != nil {
		return nil, err
	}
	c := newCollection(cluster, t.Clock.Now().UTC(), t.only(cluster), asked.operator)
	plain := render.Style{Now: t.Clock.Now().UTC()}
	diagnosis := c.redactor.Diagnosis(view.DiagnosisOf(installation))
	c.add("doctor.txt", []byte(render.Diagnosis(diagnosis, plain)), 0, false)
	c.addModel("doctor.json", diagnosis)
	version := t.built()
	addOperators(&version, asked.operator, installation.Operators)
	c.addModel("version.json", version)
	c.addKinds(ctx)
	c.addWorkloads(ctx, installation.Records.Items)
	c.addEvents(ctx)
	pods := c.addOperator(ctx, installation.Operators)
	if asked.logs {
		c.addLogs(ctx, pods)
	}
	return c, ctx.Err()
}
