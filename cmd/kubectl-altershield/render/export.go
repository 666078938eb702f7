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

package render

import (
	"encoding/csv"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

// ExportCSV prints an export as CSV with a header. The names of the columns are a contract and have no translation.
func ExportCSV(export view.Export) (string, error) {
	var text strings.Builder
	writer := csv.NewWriter(&text)
	writer.UseCRLF = true
	rows := [][]string{{
		"namespace", "kind", "workload", "release", "correction", "type", "outcome", "reason", "message", "releasedBy", "startedAt", "endedAt", "fromVersion", "version",
		"rolledBackBy", "podsDesired", "podsPassed", "podsFailed", "podsUnchecked", "failedPods", "batches", "images", "changes", "approvals", "bypass", "orderId",
		"traceId", "changeRecord", "sha256",
	}}
	for i := range export.Items {
		rows = append(rows, csvRow(&export.Items[i]))
	}
	if err := writer.WriteAll(rows); err != nil {
		return "", fmt.Errorf("writing CSV: %w", err)
	}
	return text.String(), nil
}

func csvRow(release *view.ExportedRelease) []string {
	number := func(value int64) string { return strconv.FormatInt(value, 10) }
	row := []string{
		release.Namespace, release.Workload.Kind, release.Workload.Name, number(release.Release), number(int64(release.Correction)), string(release.Type),
		string(release.Outcome), release.Reason, release.Message, release.ReleasedBy, timeText(release.StartedAt.Time), timeText(release.EndedAt.Time),
		release.FromVersion, release.Version, number(release.RolledBackBy), number(int64(release.Pods.Desired)), number(int64(release.Pods.Passed)),
		number(int64(release.Pods.Failed)), number(int64(release.Pods.Unchecked)), failedPods(release), number(release.Batches), images(release),
		strings.Join(release.Changes, "; "), approvals(release), bypass(release), release.OrderID, release.TraceID, release.Record, release.SHA256,
	}
	for i := range row {
		row[i] = quoteFormula(row[i])
	}
	return row
}

// quoteFormula keeps a spreadsheet from evaluating a text that users chose, such as =HYPERLINK(...): it then begins with an apostrophe.
func quoteFormula(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r\n＝＋－＠", []rune(text)[0]) {
		return "'" + text
	}
	return text
}

func timeText(at time.Time) string { return at.UTC().Format(time.RFC3339) }

func failedPods(release *view.ExportedRelease) string {
	return joined(release.FailedPods, func(pod appv1alpha1.RecordedPod) string {
		if pod.Message == "" {
			return pod.Name
		}
		return pod.Name + ": " + pod.Message
	})
}

func images(release *view.ExportedRelease) string {
	return joined(release.Images, func(image appv1alpha1.RecordedImage) string {
		if image.Digest == "" {
			return image.Container + "=" + image.Image
		}
		return image.Container + "=" + image.Image + "@" + image.Digest
	})
}

func approvals(release *view.ExportedRelease) string {
	return joined(release.Approvals, func(approval appv1alpha1.RecordedApproval) string {
		text := string(approval.Decision) + " " + approval.User
		if approval.Reason != "" {
			text += " (" + approval.Reason + ")"
		}
		return text
	})
}

// bypass returns how a release passed what would have stopped it.
func bypass(release *view.ExportedRelease) string {
	var how []string
	if pass := release.BreakGlass; pass != nil {
		how = append(how, "BreakGlass "+pass.Name+" "+pass.User)
	}
	if release.IgnoredSuspend {
		how = append(how, "ignored-suspend")
	}
	for _, pass := range release.Passes {
		how = append(how, "go-on "+pass.To+" "+pass.User)
	}
	return strings.Join(how, "; ")
}

func joined[T any](items []T, text func(T) string) string {
	texts := make([]string, len(items))
	for i := range items {
		texts[i] = text(items[i])
	}
	return strings.Join(texts, "; ")
}

// ExportHTML prints an export as a page that needs nothing else, and prints to PDF.
func ExportHTML(export view.Export, style Style) (string, error) {
	page, err := template.New("export").Funcs(template.FuncMap{
		"text": func(name string, values ...any) string { return style.text(key(name), values...) }, "time": timeText,
		"pods": failedPods, "images": images, "approvals": approvals, "bypass": bypass,
		"total": func() int { return len(export.Items) },
		"outcomes": func() []appv1alpha1.ReleaseOutcome {
			outcomes := []appv1alpha1.ReleaseOutcome{
				appv1alpha1.OutcomeVerified, appv1alpha1.OutcomeFailed, appv1alpha1.OutcomeRolledBack, appv1alpha1.OutcomeSuperseded, appv1alpha1.OutcomeUnchecked,
			}
			return slices.DeleteFunc(outcomes, func(outcome appv1alpha1.ReleaseOutcome) bool { return export.Counts[outcome] == 0 })
		},
	}).Parse(exportPage)
	if err != nil {
		return "", fmt.Errorf("reading the page of an export: %w", err)
	}
	var text strings.Builder
	if err := page.Execute(&text, map[string]any{"Export": export, "Lang": string(style.language())}); err != nil {
		return "", fmt.Errorf("writing the page of an export: %w", err)
	}
	return text.String(), nil
}

// language returns the language of the style, English by default.
func (s Style) language() Language {
	if s.Language == Chinese {
		return Chinese
	}
	return English
}

const exportPage = `<!DOCTYPE html>
<html lang="{{.Lang}}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{{text "export.title"}}</title>
<style>
body{font:14px/1.4 system-ui,sans-serif;margin:2rem;color:#1b1b1b;background:#fff}
table{border-collapse:collapse;width:100%}
th,td{border-bottom:1px solid #ccc;padding:.3rem .5rem;text-align:left;vertical-align:top;overflow-wrap:anywhere}
th{background:#f2f2f2}
.Failed,.RolledBack,.fault{color:#a30000;font-weight:600}
@media print{body{margin:0;font-size:9pt}thead{display:table-header-group}tr{break-inside:avoid}}
</style>
</head>
<body>
<h1>{{text "export.title"}}</h1>
<p>{{if .Export.Namespace}}{{text "export.namespace" .Export.Namespace}}{{else}}{{text "export.everywhere"}}{{end}} · {{time .Export.From}} – {{time .Export.To}}</p>
<p>{{text "export.releases" total}}{{range $outcome := outcomes}} · <span class="{{$outcome}}">{{$outcome}} {{index $.Export.Counts $outcome}}</span>{{end}}</p>
{{if not .Export.Verified}}<p>{{text "export.unverified"}}</p>{{else if .Export.Faults}}<ul>{{range .Export.Faults}}
<li class="fault">{{if .Missing}}{{text "export.missing" .Namespace .Name .By}}{{else}}{{text "export.edited" .Namespace .Name .By}}{{end}}</li>{{end}}</ul>{{else}}<p>{{text "export.sound"}}</p>{{end}}
<table>
<thead><tr><th>{{text "export.workload"}}</th><th>{{text "export.release"}}</th><th>{{text "export.outcome"}}</th><th>{{text "export.who"}}</th><th>{{text "export.when"}}</th><th>{{text "export.what"}}</th><th>{{text "export.approvals"}}</th><th>{{text "export.record"}}</th></tr></thead>
<tbody>{{range .Export.Items}}
<tr><td>{{.Namespace}}/{{.Workload.Name}}<br>{{.Workload.Kind}}</td><td>{{.Release}}<br>{{.Type}}</td>
<td class="{{.Outcome}}">{{.Outcome}}{{if .Correction}} ({{text "export.corrected"}}){{end}}{{with .Message}}<br>{{.}}{{end}}{{with pods .}}<br>{{.}}{{end}}{{if .RolledBackBy}}<br>{{text "export.back" .RolledBackBy}}{{end}}</td>
<td>{{.ReleasedBy}}</td><td>{{time .StartedAt.Time}}<br>{{time .EndedAt.Time}}</td>
<td>{{range .Changes}}{{.}}<br>{{end}}{{images .}}</td><td>{{approvals .}}{{with bypass .}}<br>{{.}}{{end}}</td><td>{{.Record}}<br>{{.SHA256}}</td></tr>{{end}}
</tbody>
</table>
</body>
</html>
`

// Faults prints the records that are missing or were edited, one per line.
func Faults(export view.Export, style Style) string {
	lines := make([]string, 0, len(export.Faults))
	for _, fault := range export.Faults {
		sentence := key("export.edited")
		if fault.Missing {
			sentence = key("export.missing")
		}
		lines = append(lines, style.text(sentence, fault.Namespace, fault.Name, fault.By))
	}
	if len(lines) == 0 {
		lines = append(lines, style.text("export.sound"))
	}
	return join(lines)
}
