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
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// hostile is a text that a spreadsheet and a browser would execute.
const hostile = `=HYPERLINK("http://evil","x")<script>alert(1)</script>`

func exported() view.Export {
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	return view.Export{
		Namespace: "shop", From: at.Add(-time.Hour), To: at.Add(time.Hour), Counts: map[appv1alpha1.ReleaseOutcome]int{"Failed": 1}, Verified: true,
		Items: []view.ExportedRelease{{
			Namespace: "shop", Record: "60c5c0e29ee40c2a-3", SHA256: "9f86", RolledBackBy: 4,
			ChangeRecordSpec: appv1alpha1.ChangeRecordSpec{
				Workload: appv1alpha1.WorkloadReference{Kind: "Deployment", Name: "web"}, Release: 3, Correction: 1, Type: "Release", Version: "6a8f", FromVersion: "c6c4",
				Outcome: "Failed", Reason: "PodsFailed", Message: hostile, ReleasedBy: "@alice", StartedAt: metav1.NewTime(at), EndedAt: metav1.NewTime(at.Add(time.Minute)),
				Changes: []string{"image of web: nginx:1 -> nginx:2", "env A"}, Images: []appv1alpha1.RecordedImage{{Container: "web", Image: "nginx:2", Digest: "sha256:01"}, {Container: "log", Image: "fluentd"}},
				Pods:       appv1alpha1.RecordedPods{Desired: 3, Passed: 1, Failed: 2, Unchecked: 1},
				FailedPods: []appv1alpha1.RecordedPod{{Name: "web-1", Message: "+crashed"}, {Name: "web-2"}},
				Batches:    2, Approvals: []appv1alpha1.RecordedApproval{{User: "carol", Decision: "Approve", Reason: "CHG-1"}, {User: "dan", Decision: "Deny"}},
				BreakGlass: &appv1alpha1.RecordedBypass{Name: "incident-7", User: "bob"}, IgnoredSuspend: true, Passes: []appv1alpha1.PacePass{{To: "2", User: "eve", Reason: "quiet night"}, {To: "3", User: "eve"}},
				OrderID: "order", TraceID: "0af7", ReleaseReason: "=CHG-4711",
			},
		}},
	}
}

func TestExportCSVQuotesFormulas(t *testing.T) {
	g := NewWithT(t)
	text, err := ExportCSV(exported())
	g.Expect(err).NotTo(HaveOccurred())
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(rows).To(Equal([][]string{
		{
			"namespace", "kind", "workload", "release", "correction", "type", "outcome", "reason", "message", "releasedBy", "startedAt", "endedAt", "fromVersion", "version",
			"rolledBackBy", "podsDesired", "podsPassed", "podsFailed", "podsUnchecked", "failedPods", "batches", "images", "changes", "approvals", "bypass", "orderId",
			"traceId", "changeRecord", "sha256", "releaseReason",
		},
		{
			"shop", "Deployment", "web", "3", "1", "Release", "Failed", "PodsFailed", "'" + hostile, "'@alice", "2026-11-21T10:00:00Z", "2026-11-21T10:01:00Z", "c6c4", "6a8f",
			"4", "3", "1", "2", "1", "web-1: +crashed; web-2", "2", "web=nginx:2@sha256:01; log=fluentd", "image of web: nginx:1 -> nginx:2; env A",
			"Approve carol (CHG-1); Deny dan", "BreakGlass incident-7 bob; ignored-suspend; go-on 2 eve (quiet night); go-on 3 eve", "order", "0af7", "60c5c0e29ee40c2a-3", "9f86", "'=CHG-4711",
		},
	}))
}

func TestExportCSVQuotesEachBeginningOfAFormula(t *testing.T) {
	for _, text := range []string{"=1", "+1", "-1", "@a", "\tx", "\rx", "\nx", "＝1", "＋1", "－1", "＠a"} {
		NewWithT(t).Expect(quoteFormula(text)).To(Equal("'"+text), text)
	}
	for _, text := range []string{"", "a=1", "1-1", "'=1"} {
		NewWithT(t).Expect(quoteFormula(text)).To(Equal(text))
	}
}

func TestExportHTMLIsInertAndNeedsNothingElse(t *testing.T) {
	for language, title := range map[Language]string{English: "<title>Releases</title>", Chinese: "<title>发布记录</title>", "": `<html lang="en">`} {
		g := NewWithT(t)
		page := ExportHTML(exported(), Style{Language: language})
		g.Expect(page).To(ContainSubstring(title))
		g.Expect(page).NotTo(ContainSubstring("<script"), "it is escaped")
		g.Expect(page).NotTo(MatchRegexp(`(src|href|url)\s*[=(]["']?http`))
		g.Expect(page).To(ContainSubstring("&lt;script&gt;alert(1)&lt;/script&gt;"))
		g.Expect(page).To(ContainSubstring("default-src 'none'"))
		for _, shown := range []string{"shop/web", "web-1: +crashed; web-2", "Approve carol (CHG-1)", "BreakGlass incident-7 bob", "9f86", "sha256:01", "=CHG-4711"} {
			g.Expect(page).To(ContainSubstring(shown))
		}
	}
}

func TestExportHTMLNamesFaults(t *testing.T) {
	g, export := NewWithT(t), exported()
	export.Namespace = ""
	page := func() string { return ExportHTML(export, Style{}) }
	g.Expect(page()).To(And(ContainSubstring("No ChangeRecord is missing or was edited."), ContainSubstring("all namespaces")))
	export.Faults = []decide.ChainFault{{Namespace: "shop", Name: "a-2", Missing: true, By: "a-3"}, {Namespace: "shop", Name: "a-4", By: "a-5"}}
	g.Expect(page()).To(And(ContainSubstring("ChangeRecord shop/a-2 is missing: a-3 names it"),
		ContainSubstring("ChangeRecord shop/a-4 was edited: it is not what a-5 was written after")))
	export.Verified = false
	g.Expect(page()).To(ContainSubstring("The chains of the records were not verified (--verify)."))
}

func TestFaultsAreOneALine(t *testing.T) {
	g, export := NewWithT(t), exported()
	g.Expect(Faults(export, Style{})).To(Equal("No ChangeRecord is missing or was edited.\n"))
	export.Faults = []decide.ChainFault{{Namespace: "shop", Name: "a-2", Missing: true, By: "a-3"}, {Namespace: "shop", Name: "a-4", By: "a-5"}}
	g.Expect(Faults(export, Style{Language: Chinese})).To(Equal("ChangeRecord shop/a-2 缺失：a-3 引用了它\nChangeRecord shop/a-4 被修改过：与写入 a-5 时不一致\n"))
}
