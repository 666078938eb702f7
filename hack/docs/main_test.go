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

package main

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

func TestFlags(t *testing.T) {
	const usage = "Usage of manager:\n" +
		"  -address string\n    \tAddress of the server. (default \":8080\")\n" +
		"  -delay duration\n    \tHow long\n    \tto wait. (default 30s)\n" +
		"  -elect\n    \tElect a leader.\n"
	want := table{
		{"`--address`", "`:8080`", "Address of the server."},
		{"`--delay`", "`30s`", "How long to wait."},
		{"`--elect`", "", "Elect a leader."},
	}
	if got := flags(usage); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSettingsTable(t *testing.T) {
	want := []string{"`stuck-rollback`", "`isStuckRollback`", "`enable: true`, `content: \"2m\"`"}
	for _, row := range settingsTable() {
		if row[0] == want[0] && slices.Equal(row[:3], want) {
			return
		}
	}
	t.Errorf("%q is not among %q", want, settingsTable())
}

func TestMetrics(t *testing.T) {
	rows, err := metrics()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"`altershield_build_info{commit,go_version,version}`",
		"`altershield_deployments_suspended{workload_namespace}`",
		"`altershield_server_requests_total{call,result}`",
		"`altershield_suspension_seconds`",
	} {
		if !slices.ContainsFunc(rows, func(row []string) bool { return row[0] == want && row[1] != "" }) {
			t.Errorf("%s is not among %q", want, rows)
		}
	}
}

// make generate writes it.
func TestExportSchemaIsThatOfTheRecords(t *testing.T) {
	file := filepath.Join(t.TempDir(), "schema.json")
	if err := writeExportSchema(root+"/config/crd/bases", file); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(root + "/docs/schemas/release-export.json")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("docs/schemas/release-export.json is old: make generate")
	}
	if strings.Contains(string(got), "x-kubernetes-") {
		t.Error("the schema has extensions of Kubernetes")
	}
	if err := writeExportSchema(t.TempDir(), file); err == nil {
		t.Error("there are no CRDs, and no error")
	}
}

// make generate writes them.
func TestVerbsAreThoseOfThePlugin(t *testing.T) {
	folder := t.TempDir()
	if err := writeVerbs(folder); err == nil {
		t.Error("there is no folder for the Chinese page, and no error")
	}
	if err := os.Mkdir(filepath.Join(folder, "zh"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := writeVerbs(folder); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"verbs.md", "zh/verbs.md"} {
		got, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != text(t, "docs/"+name) {
			t.Errorf("docs/%s is old: make generate", name)
		}
	}
}

func TestFields(t *testing.T) {
	tables, err := fields(root + "/config/crd/bases")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range [][]string{
		{"`spec.countThreshold`", "`integer`", "countThreshold is the number of finished pods that form a batch. Default: `1`. Limits: 1 to 500."},
		{"`spec.waitTimeThreshold`", "`integer`", "waitTimeThreshold is the longest wait of a batch for countThreshold pods, in seconds. Default: `60`. At least 1."},
		{"`spec.changes`", "`[]string`", "changes lists the changes of the pod template, one per line. Values that may be secret are not shown. At most 32 items."},
		{"`spec.releaseReason`", "`string`",
			"releaseReason is why the release was made, as its author or the user who requested the rollback says. At most 256 characters."},
		{"`status.defenseCheckPassPods`", "`[]PodSummary`", "defenseCheckPassPods lists pods that passed."},
		{"`status.order.bizExecOrderId`", "`string`",
			"bizExecOrderId identifies the release at the server: <cluster>/<namespace>/<workload>/<hash>/<release>. It is never reused."},
	} {
		if !slices.ContainsFunc(tables["ChangeWorkload"], func(row []string) bool { return slices.Equal(row, want) }) {
			t.Errorf("%q is not among %q", want, tables["ChangeWorkload"])
		}
	}
}

func TestFill(t *testing.T) {
	const page = "Text.\n\n<!-- generated: flags; described by hand -->\n| Flag | What |\n|---|---|\n| `--a` | By hand \\| ever |\n| `--gone` | Gone |\n\n" +
		"<!-- generated: metrics -->\n| Metric | What |\n|---|---|\n\nMore text.\n"
	const want = "Text.\n\n<!-- generated: flags; described by hand -->\n| Flag | What |\n|---|---|\n| `--a` | By hand \\| ever |\n| `--new` | From code |\n\n" +
		"<!-- generated: metrics -->\n| Metric | What |\n|---|---|\n| `m` | x \\| &lt;y> |\n\nMore text.\n"
	tables := map[string]table{"flags": {{"`--a`", "From code"}, {"`--new`", "From code"}}, "metrics": {{"`m`", "x | <y>"}}}
	got, err := fill(page, tables)
	if err != nil || got != want {
		t.Errorf("got %v and\n%s", err, got)
	}
	if again, err := fill(got, tables); err != nil || again != want {
		t.Errorf("the second time: got %v and\n%s", err, again)
	}
	if _, err := fill(strings.Replace(page, "metrics", "metric", 1), tables); err == nil || !strings.Contains(err.Error(), "metric, metrics") {
		t.Errorf("a page without its table: got %v", err)
	}
}
