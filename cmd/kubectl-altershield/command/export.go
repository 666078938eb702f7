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
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/render"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// exporting are the flags of export.
type exporting struct {
	from, to, format string
	verify           bool
}

// defaultPeriod is the period of an export without --from.
const defaultPeriod = 30 * 24 * time.Hour

func (t *tool) export() *cobra.Command {
	var asked exporting
	command := &cobra.Command{
		Use: "export", Short: "Export the records of releases: who released what, and how it ended",
		Long: `Export the ChangeRecords of releases that began in a period, as CSV, JSON or a page of HTML that prints to PDF. It takes the right to list
changerecords. With --verify the chains of all records are verified: a record that was edited or removed is named, and the exit code is 3.`,
		Example: "  kubectl altershield export -A --from 2026-01-01 --to 2026-04-01 --format html >releases.html\n  kubectl altershield export --verify >releases.csv",
		Args:    exactly(0),
		RunE: func(command *cobra.Command, _ []string) error {
			if t.flags.output == "json" && !command.Flags().Changed("format") {
				asked.format = "json"
			}
			return t.runExport(command.Context(), asked)
		},
	}
	set := command.Flags()
	set.BoolVarP(&t.flags.allNamespaces, "all-namespaces", "A", false, "Export all namespaces.")
	set.StringVar(&asked.from, "from", "", "First day or time, such as 2026-01-31 or 2026-01-31T10:00:00Z; by default 30 days before --to.")
	set.StringVar(&asked.to, "to", "", "Day or time at which the period ends, not part of it; by default now.")
	set.StringVar(&asked.format, "format", "csv", "Format: csv, json or html.")
	set.BoolVar(&asked.verify, "verify", false, "Verify the chains of the records.")
	return command
}

func (t *tool) runExport(ctx context.Context, asked exporting) error {
	period, err := t.period(asked)
	if err != nil {
		return err
	}
	if t.flags.output != "table" && t.flags.output != asked.format {
		return usageError(fmt.Errorf("--output %q is none of export: --format sets csv, json or html", t.flags.output))
	}
	cluster, err := t.connect(ctx)
	if err != nil {
		return err
	}
	export, err := cluster.exportOf(ctx, t.flags.listed(cluster), period, asked.verify)
	if err != nil {
		return err
	}
	text, err := t.exported(export, asked.format)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprint(t.Out, text); err != nil {
		return fmt.Errorf("writing the export: %w", err)
	}
	if !asked.verify {
		return nil
	}
	if _, err := fmt.Fprint(t.Err, render.Faults(export, t.style())); err != nil {
		return fmt.Errorf("writing what was verified: %w", err)
	}
	if len(export.Faults) > 0 {
		return told(Findings)
	}
	return nil
}

// exportOf reads the ChangeRecords of a period in a namespace, in all for an empty one.
func (c *cluster) exportOf(ctx context.Context, namespace string, period view.Period, verify bool) (view.Export, error) {
	records, err := c.changeRecords(ctx, client.InNamespace(namespace))
	if err != nil {
		return view.Export{}, err
	}
	return view.ExportOf(records, namespace, period, verify), nil
}

func (t *tool) exported(export view.Export, format string) (string, error) {
	switch format {
	case "csv":
		return render.ExportCSV(export)
	case "html":
		return render.ExportHTML(export, t.style()), nil
	}
	encoded, err := json.MarshalIndent(export, "", "  ")
	if err != nil {
		return "", fmt.Errorf("encoding the export: %w", err)
	}
	return string(encoded) + "\n", nil
}

// period returns the period of an export.
func (t *tool) period(asked exporting) (view.Period, error) {
	if asked.format != "csv" && asked.format != "json" && asked.format != "html" {
		return view.Period{}, usageError(fmt.Errorf("--format %q is none of csv, json, html", asked.format))
	}
	to, err := t.parseTime("--to", asked.to, t.Clock.Now())
	if err != nil {
		return view.Period{}, err
	}
	from, err := t.parseTime("--from", asked.from, to.Add(-defaultPeriod))
	if err != nil {
		return view.Period{}, err
	}
	if !from.Before(to) {
		return view.Period{}, usageError(errors.New("--from isn't before --to"))
	}
	return view.Period{From: from, To: to}, nil
}

// parseTime parses a day, in the time zone of the user, or a time.
func (t *tool) parseTime(flag, text string, otherwise time.Time) (time.Time, error) {
	if text == "" {
		return otherwise, nil
	}
	if day, err := time.ParseInLocation(time.DateOnly, text, t.Location); err == nil {
		return day, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, usageError(fmt.Errorf("%s %q is neither a day such as 2026-01-31 nor a time such as 2026-01-31T10:00:00Z", flag, text))
	}
	return at, nil
}

// changeRecords lists ChangeRecords with their hashes.
func (c *cluster) changeRecords(ctx context.Context, options ...client.ListOption) ([]view.StoredRecord, error) {
	fresh := func() *unstructured.UnstructuredList {
		page := &unstructured.UnstructuredList{}
		page.SetGroupVersionKind(appv1alpha1.GroupVersion.WithKind("ChangeRecordList"))
		return page
	}
	all, _, err := listed(ctx, c, fresh, 0, func(page *unstructured.UnstructuredList) (stored []view.StoredRecord, err error) {
		for i := range page.Items {
			record, hash, err := decide.DecodeRecord(&page.Items[i])
			if err != nil {
				return nil, err
			}
			stored = append(stored, view.StoredRecord{ChangeRecord: record, Hash: hash})
		}
		return stored, nil
	}, options...)
	if err != nil {
		return nil, fmt.Errorf("listing ChangeRecords: %w", err)
	}
	return all, nil
}

// addRecorded adds the ChangeRecords of a workload. Without the right the facts have a note; an operator from before v0.2 writes none.
func (c *cluster) addRecorded(ctx context.Context, facts *view.Facts) error {
	records, err := c.changeRecords(ctx, client.InNamespace(facts.Namespace), client.MatchingLabels(view.SelectorOf(*facts)))
	switch {
	case lacksRight(err):
		facts.Notes = append(facts.Notes, view.Note{Verb: "list", Resource: "changerecords", Namespace: facts.Namespace, Lacks: view.LacksRecorded})
		return nil
	case meta.IsNoMatchError(err):
		return nil
	}
	facts.Recorded = records
	return err
}
