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

package command_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/command"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// chainOf returns the ChangeRecords of releases of the Deployment web, one a day until now.
func chainOf(t *testing.T, releases int64) []client.Object {
	t.Helper()
	var records []client.Object
	var previous *appv1alpha1.PreviousRecord
	for release := int64(1); release <= releases; release++ {
		began := now.Add(-time.Duration(releases-release) * 24 * time.Hour).Add(-time.Hour)
		record := &appv1alpha1.ChangeRecord{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: decide.ChangeRecordName(decide.RecordKey("u", false), release, 0), Labels: map[string]string{"app.kubernetes.io/deployment-name": "web"},
			},
			Spec: appv1alpha1.ChangeRecordSpec{
				Workload: appv1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "u"}, Release: release,
				Version: version("a1"), Type: "Release", Outcome: "Verified", ReleasedBy: "alice", StartedAt: metav1.NewTime(began),
				EndedAt: metav1.NewTime(began.Add(time.Minute)), TraceID: strings.Repeat("0", 32), Previous: previous,
			},
		}
		spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&record.Spec)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		hash, err := decide.RecordHash(record.Namespace, record.Name, spec)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		previous = &appv1alpha1.PreviousRecord{Name: record.Name, SHA256: hash}
		records = append(records, record)
	}
	return records
}

func TestExportRefusesTheFormatsOfOtherVerbs(t *testing.T) {
	for _, format := range []string{"yaml", "name", "wide", "jsonpath={.items}"} {
		g := NewWithT(t)
		answer := newBench(t, chainOf(t, 1)...).run("export", "-o", format)
		g.Expect(answer.code).To(Equal(command.Usage))
		g.Expect(answer.out).To(BeEmpty())
		g.Expect(answer.err).To(Equal("error: --output \"" + format + "\" is none of export: --format sets csv, json or html\n"))
	}
	g := NewWithT(t)
	b := newBench(t, chainOf(t, 1)...)
	g.Expect(b.run("export", "-o", "json").expects(g, command.OK)).To(Equal(b.run("export", "--format=json").out))
	g.Expect(b.run("export", "-o", "json", "--format=json").code).To(Equal(command.OK))
	g.Expect(b.run("export", "-o", "json", "--format=csv").code).To(Equal(command.Usage))
}

func TestExportWritesThePeriodInEachFormat(t *testing.T) {
	g, b := NewWithT(t), newBench(t, chainOf(t, 60)...)
	lines := func(args ...string) int {
		return strings.Count(b.run(append([]string{"export"}, args...)...).expects(g, command.OK), "\r\n")
	}
	g.Expect(lines()).To(Equal(31), "a header and 30 days")
	g.Expect(lines("--from", "2026-11-20")).To(Equal(4))
	g.Expect(lines("--from", "2026-11-20", "--to", "2026-11-21T15:41:52Z")).To(Equal(2), "the end is not part of it")
	g.Expect(lines("-n", "bank")).To(Equal(1))
	g.Expect(lines("-A", "--from", "2026-01-01")).To(Equal(61))
	var export struct {
		Kind   string                   `json:"kind"`
		Items  []map[string]any         `json:"items"`
		Counts map[string]int           `json:"counts"`
		Faults []map[string]interface{} `json:"faults"`
	}
	g.Expect(json.Unmarshal([]byte(b.run("export", "--format", "json").expects(g, command.OK)), &export)).To(Succeed())
	g.Expect(export.Kind).To(Equal("ReleaseExport"))
	g.Expect(export.Counts).To(Equal(map[string]int{"Verified": 30}))
	g.Expect(export.Items[0]).To(HaveKeyWithValue("releasedBy", "alice"))
	g.Expect(b.run("export", "--format", "html", "--lang", "zh").expects(g, command.OK)).To(ContainSubstring("<title>发布记录</title>"))
}

// schemaOfExports returns the published schema. It has no fields but its own, so that one that isn't published shows.
func schemaOfExports(t *testing.T) *jsonschema.Schema {
	t.Helper()
	g := NewWithT(t)
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "schemas", "release-export.json"))
	g.Expect(err).NotTo(HaveOccurred())
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	g.Expect(err).NotTo(HaveOccurred())
	closeObjects(schema)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	g.Expect(compiler.AddResource("export.json", schema)).To(Succeed())
	compiled, err := compiler.Compile("export.json")
	g.Expect(err).NotTo(HaveOccurred())
	return compiled
}

func closeObjects(value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, inner := range value {
			closeObjects(inner)
		}
		if value["type"] == "object" {
			value["additionalProperties"] = false
		}
	case []any:
		for _, inner := range value {
			closeObjects(inner)
		}
	}
}

func TestExportInJSONHasThePublishedSchema(t *testing.T) {
	schema := schemaOfExports(t)
	records := chainOf(t, 6)
	failed := records[4].(*appv1alpha1.ChangeRecord)
	at := metav1.NewTime(now.Add(-time.Hour))
	failed.Spec.Outcome, failed.Spec.Reason, failed.Spec.Message, failed.Spec.Type, failed.Spec.Correction = "Failed", "PodsFailed", "1 pod failed", "Repair", 1
	failed.Spec.FromVersion, failed.Spec.Changes, failed.Spec.OrderID, failed.Spec.IgnoredSuspend = version("b2"), []string{"image"}, "o-1", true
	failed.Spec.CommitTime, failed.Spec.FailingSince, failed.Spec.Batches, failed.Spec.LongestBatchSeconds = &at, &at, 2, 30
	failed.Spec.Images = []appv1alpha1.RecordedImage{{Container: "web", Image: "nginx", Digest: "sha256:9f86"}}
	failed.Spec.Pods = appv1alpha1.RecordedPods{Desired: 2, Passed: 1, Failed: 1, Unchecked: 1}
	failed.Spec.FailedPods = []appv1alpha1.RecordedPod{{Name: "web-1", Message: "it restarts"}}
	failed.Spec.Approvals = []appv1alpha1.RecordedApproval{{User: "carol", Decision: "Approve", Reason: "CHG-1", Time: at}}
	failed.Spec.Passes = []appv1alpha1.PacePass{{To: "2", User: "bob", Time: at}}
	failed.Spec.BreakGlass = &appv1alpha1.RecordedBypass{Name: "incident-7", User: "alice", Overrides: []appv1alpha1.BreakGlassOverride{"Freeze"}}
	records[3].(*appv1alpha1.ChangeRecord).Spec.Observed = true
	back := records[5].(*appv1alpha1.ChangeRecord)
	back.Spec.Type, back.Spec.Rollback = "Rollback", &appv1alpha1.Rollback{
		Version: version("a1"), Release: 5, To: version("b2"), ToRelease: 6, Reason: "PodsFailed", Message: "pod web-1 failed", User: "alice", Time: at, RefusedUntil: &at, Unstamped: true,
	}
	for name, row := range map[string]struct {
		objects []client.Object
		args    string
		code    command.Code
		has     string
	}{
		"of releases":  {records, "", command.OK, `"rolledBackBy"`},
		"with a fault": {append(append([]client.Object{}, records[:2]...), records[3:]...), "-A --verify", command.Findings, `"missing": true`},
		"of nothing":   {nil, "-n bank", command.OK, `"items": []`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			answer := newBench(t, row.objects...).run(append([]string{"export", "--format", "json"}, strings.Fields(row.args)...)...)
			g.Expect(answer.code).To(Equal(row.code))
			g.Expect(answer.out).To(ContainSubstring(row.has))
			export, err := jsonschema.UnmarshalJSON(strings.NewReader(answer.out))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(schema.Validate(export)).To(Succeed())
			delete(export.(map[string]any), "counts")
			g.Expect(schema.Validate(export)).NotTo(Succeed(), "it is required")
		})
	}
}

func TestExportVerifiesTheChains(t *testing.T) {
	g, records := NewWithT(t), chainOf(t, 6)
	answer := newBench(t, records...).run("export", "--verify")
	g.Expect(answer.code).To(Equal(command.OK))
	g.Expect(answer.err).To(Equal("No ChangeRecord is missing or was edited.\n"))

	answer = newBench(t, append(append([]client.Object{}, records[:2]...), records[3:]...)...).run("export", "--verify")
	g.Expect(answer.code).To(Equal(command.Findings))
	g.Expect(answer.err).To(Equal("ChangeRecord shop/" + records[2].GetName() + " is missing: " + records[3].GetName() + " names it\n"))
	g.Expect(answer.out).To(ContainSubstring(records[5].GetName()))

	records[1].(*appv1alpha1.ChangeRecord).Spec.ReleasedBy = "mallory"
	answer = newBench(t, records...).run("export", "--verify")
	g.Expect(answer.code).To(Equal(command.Findings))
	g.Expect(answer.err).To(Equal("ChangeRecord shop/" + records[1].GetName() + " was edited: it is not what " + records[2].GetName() + " was written after\n"))
}

func TestExportRefusesAnImpossiblePeriodOrFormat(t *testing.T) {
	for arguments, message := range map[string]string{
		"--format pdf":                      `--format "pdf" is none of csv, json, html`,
		"--from yesterday":                  `--from "yesterday" is neither a day such as 2026-01-31 nor a time such as 2026-01-31T10:00:00Z`,
		"--to 2026-13-01":                   `--to "2026-13-01" is neither a day`,
		"--from 2026-11-22 --to 2026-11-22": "--from isn't before --to",
	} {
		g := NewWithT(t)
		answer := newBench(t).run(append([]string{"export"}, strings.Fields(arguments)...)...)
		g.Expect(answer.code).To(Equal(command.Usage))
		g.Expect(answer.err).To(ContainSubstring(message))
	}
}

// withoutRecords answers lists of ChangeRecords with an error.
func withoutRecords(err error) interceptor.Funcs {
	return interceptor.Funcs{List: func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		if list.GetObjectKind().GroupVersionKind().Kind == "ChangeRecordList" {
			return err
		}
		return kube.List(ctx, list, options...)
	}}
}

func TestExportAndHistoryWithoutRights(t *testing.T) {
	denied := forbidden("list", "app.ops.cloud.alipay.com", "changerecords")
	g, b := NewWithT(t), newBenchWith(t, withoutRecords(denied), verified(5, "a1"), web(5, "a1"))
	g.Expect(b.run("export").code).To(Equal(command.Failed))
	g.Expect(b.run("history", "web").expects(g, command.OK)).To(ContainSubstring("you may not list changerecords in namespace shop: releases without a ChangeWorkload are not shown"))
}

func TestHistoryOfAnOlderOperatorHasNoChangeRecords(t *testing.T) {
	missing := &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "app.ops.cloud.alipay.com", Kind: "ChangeRecord"}}
	g, b := NewWithT(t), newBenchWith(t, withoutRecords(missing), verified(5, "a1"), web(5, "a1"))
	g.Expect(b.run("history", "web").expects(g, command.OK)).To(MatchRegexp(`(?m)^5 `))
}

func TestHistoryListsReleasesThatChangeRecordsAloneKnow(t *testing.T) {
	live := web(5, "a1")
	objects := append(chainOf(t, 4), verified(5, "a1"), live)
	for _, object := range objects {
		if record, ok := object.(*appv1alpha1.ChangeRecord); ok {
			record.Spec.Workload.UID = live.GetUID()
		}
	}
	g, b := NewWithT(t), newBench(t, objects...)
	history := b.run("history", "web").expects(g, command.OK)
	for _, number := range []string{"1", "2", "3", "4", "5"} {
		g.Expect(history).To(MatchRegexp(`(?m)^` + number + ` `))
	}
}
