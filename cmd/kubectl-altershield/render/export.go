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
	"html"
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
		"traceId", "changeRecord", "sha256", "releaseReason",
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
		release.ReleaseReason,
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
		text := "go-on " + pass.To + " " + pass.User
		if pass.Reason != "" {
			text += " (" + pass.Reason + ")"
		}
		how = append(how, text)
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

// ExportHTML prints an export as a page that needs nothing else, and prints to PDF. It is no template: html/template makes the linker keep every
// method, which is a fifth of the binary.
func ExportHTML(export view.Export, style Style) string {
	page := &page{style: style}
	page.write(`<!DOCTYPE html>
<html lang="`, string(style.language()), `">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>`, html.EscapeString(style.text("export.title")), "</title>\n", exportStyle, "</head>\n<body>\n")
	page.element("h1", "", style.text("export.title"))
	where := style.text("export.everywhere")
	if export.Namespace != "" {
		where = style.text("export.namespace", export.Namespace)
	}
	page.element("p", "", where+" · "+timeText(export.From)+" – "+timeText(export.To))
	page.element("p", "", countsOf(export, style))
	page.chain(export)
	page.write("<table>\n<thead><tr>")
	for _, title := range []string{
		style.text("export.workload"), style.text("export.release"), style.text("export.outcome"), style.text("export.who"), style.text("export.when"),
		style.text("export.what"), style.text("export.approvals"), style.text("export.record"),
	} {
		page.element("th", "", title)
	}
	page.write("</tr></thead>\n<tbody>\n")
	for i := range export.Items {
		page.row(&export.Items[i])
	}
	page.write("</tbody>\n</table>\n</body>\n</html>\n")
	return page.String()
}

// page is a page of HTML.
type page struct {
	strings.Builder
	style Style
}

// write writes HTML as it is.
func (p *page) write(parts ...string) {
	for _, part := range parts {
		p.WriteString(part)
	}
}

// element writes an element with lines of text, without those that are empty.
func (p *page) element(name, class string, lines ...string) {
	p.write("<", name)
	if class != "" {
		p.write(` class="`, html.EscapeString(class), `"`)
	}
	p.write(">")
	for i, line := range slices.DeleteFunc(lines, func(line string) bool { return line == "" }) {
		if i > 0 {
			p.write("<br>")
		}
		p.write(html.EscapeString(line))
	}
	p.write("</", name, ">\n")
}

// chain writes whether the chains of the records are whole.
func (p *page) chain(export view.Export) {
	switch {
	case !export.Verified:
		p.element("p", "", p.style.text("export.unverified"))
	case len(export.Faults) == 0:
		p.element("p", "", p.style.text("export.sound"))
	default:
		p.element("p", "fault", faultLines(export, p.style)...)
	}
}

func (p *page) row(release *view.ExportedRelease) {
	outcome := string(release.Outcome)
	if release.Correction > 0 {
		outcome += " (" + p.style.text("export.corrected") + ")"
	}
	back := ""
	if release.RolledBackBy > 0 {
		back = p.style.text("export.back", release.RolledBackBy)
	}
	p.write("<tr>")
	p.element("td", "", release.Namespace+"/"+release.Workload.Name, release.Workload.Kind)
	p.element("td", "", strconv.FormatInt(release.Release, 10), string(release.Type))
	p.element("td", string(release.Outcome), outcome, release.Message, failedPods(release), back)
	p.element("td", "", release.ReleasedBy, release.ReleaseReason)
	p.element("td", "", timeText(release.StartedAt.Time), timeText(release.EndedAt.Time))
	p.element("td", "", append(slices.Clone(release.Changes), images(release))...)
	p.element("td", "", approvals(release), bypass(release))
	p.element("td", "", release.Record, release.SHA256)
	p.write("</tr>\n")
}

// countsOf returns the number of releases, and how many have each outcome.
func countsOf(export view.Export, style Style) string {
	text := style.text("export.releases", len(export.Items))
	for _, outcome := range []appv1alpha1.ReleaseOutcome{
		appv1alpha1.OutcomeVerified, appv1alpha1.OutcomeFailed, appv1alpha1.OutcomeRolledBack, appv1alpha1.OutcomeSuperseded, appv1alpha1.OutcomeUnchecked,
	} {
		if count := export.Counts[outcome]; count > 0 {
			text += fmt.Sprintf(" · %s %d", outcome, count)
		}
	}
	return text
}

// language returns the language of the style, English by default.
func (s Style) language() Language {
	if s.Language == Chinese {
		return Chinese
	}
	return English
}

const exportStyle = `<style>
body{font:14px/1.4 system-ui,sans-serif;margin:2rem;color:#1b1b1b;background:#fff}
table{border-collapse:collapse;width:100%}
th,td{border-bottom:1px solid #ccc;padding:.3rem .5rem;text-align:left;vertical-align:top;overflow-wrap:anywhere}
th{background:#f2f2f2}
.Failed,.RolledBack,.fault{color:#a30000;font-weight:600}
@media print{body{margin:0;font-size:9pt}thead{display:table-header-group}tr{break-inside:avoid}}
</style>
`

// Faults prints the records that are missing or were edited, one per line.
func Faults(export view.Export, style Style) string {
	if len(export.Faults) == 0 {
		return join([]string{style.text("export.sound")})
	}
	return join(faultLines(export, style))
}

func faultLines(export view.Export, style Style) []string {
	lines := make([]string, 0, len(export.Faults))
	for _, fault := range export.Faults {
		sentence := key("export.edited")
		if fault.Missing {
			sentence = key("export.missing")
		}
		lines = append(lines, style.text(sentence, fault.Namespace, fault.Name, fault.By))
	}
	return lines
}
