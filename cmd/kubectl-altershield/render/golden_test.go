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

package render_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/render"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
	"github.com/traas-stack/altershield-operator/controllers/kindtool"
	"github.com/traas-stack/altershield-operator/controllers/verification/replay"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

var update = flag.Bool("update", false, "write the golden files")

var now = time.Date(2026, 11, 22, 16, 41, 52, 0, time.UTC)

func ago(d time.Duration) *metav1.Time { return &metav1.Time{Time: now.Add(-d)} }

func version(digits string) string { return digits + strings.Repeat("0", 32-len(digits)) }

// suspended is a release whose pods failed.
func suspended() view.Release {
	return view.Release{
		Namespace: "shop", Kind: "Deployment", Workload: "web", Record: "web--x--491e30c", Number: 7, Version: version("491e30c"), State: "Suspend",
		Reason: "PodsFailed", Why: "pod web-85c4-b6lg8 failed its check: 错误率过高 above 1%; pod web-85c4-q2nvm failed its check: 错误率过高 above 1%",
		By: "alice@corp", ReleaseReason: "CHG-4711: 促销 for the sale", Started: ago(12*time.Minute + 13*time.Second), Since: ago(12 * time.Minute), Current: true,
		Pods:    view.Pods{Desired: 20, Passed: 4, Failed: 2},
		Changes: []string{"spec.containers[web].image: web:1.8 -> web:1.9", "spec.containers[web].env[LOG_LEVEL].value: changed, value not shown", "spec.volumes: reordered"},
	}
}

func releases() []view.Release {
	return []view.Release{
		suspended(),
		{Namespace: "shop", Kind: "StatefulSet", Workload: "cart", Record: "statefulsets.cart--x--1", Number: 3, Version: version("c1"), State: "Running", Reason: "Paced",
			Why: "step 2 of 3: 8 of 10 pods passed", By: "argocd", Since: ago(40 * time.Second), Started: ago(time.Minute), Step: "2/3",
			Pods: view.Pods{Desired: 20, Passed: 8, Checking: 3, Waiting: 1}},
		{Namespace: "pay", Kind: "Deployment", Workload: "ledger", Record: "ledger--x--1", Number: 4, Version: version("e1"), State: "RolledBack", Reason: "PodsNotRunning",
			Why: "pod ledger-1: ImagePullBackOff\x1b[31m", By: "system:serviceaccount:altershieldoperator-system:altershieldoperator-controller-manager",
			Since: ago(3 * time.Hour), RollbackOf: 3, RefusedUntil: &metav1.Time{Time: now.Add(21 * time.Hour)}, Pods: view.Pods{Desired: 6, Passed: 6}},
		{Namespace: "pay", Kind: "CronJob", Workload: "nightly", Record: "cronjobs.nightly--x--1", Number: 1, Version: version("f1"), State: "Waiting", Reason: "AwaitingRun",
			Why: "no Job of the release has begun yet", By: "bob", Since: ago(50 * time.Hour)},
	}
}

func status() view.Status {
	present := suspended()
	return view.Status{
		Present: &present, From: version("a15e8a3"),
		Workload: view.Workload{Namespace: "shop", Kind: "Deployment", Name: "web", Known: true, Release: 7, Version: version("491e30c"), Wanted: 20, Ready: 20, Updated: 6, Old: 14,
			Suspended: true, Held: true, RequestReason: "INC-99"},
		Batches: []view.Batches{
			{Numbers: "5-6", Count: 2, Outcome: "failed", Pods: []string{"web-85c4-b6lg8", "web-85c4-q2nvm"}, Message: "error rate: 5xx above 1%"},
			{Numbers: "7", Count: 1, Outcome: "checking", Stage: "POST", Reason: "Verifying", Due: &metav1.Time{Time: now.Add(80 * time.Second)}},
			{Numbers: "8", Count: 1, Outcome: "checking", Stage: "PRE", Reason: "ServerUnavailable", Due: &metav1.Time{Time: now.Add(-time.Second)}},
			{Numbers: "9", Count: 1, Outcome: "not checked", Reason: "CheckNotConfigured"},
			{Numbers: "1-4", Count: 4, Outcome: "passed", PreSeconds: 2, PostSeconds: 10},
		},
		FailedPods: []view.FailedPod{{Pod: "web-85c4-b6lg8", Message: "5xx"}},
		Checks: []view.Check{
			{Policy: "shop/errors", Name: "http", Mode: "Enforce", Verdict: "Fail", Message: "2% of 5xx, 0.1% before"},
			{Policy: "altershieldoperator-system/builtin", Name: "health", Mode: "Observe", Verdict: "Pass"},
			{Policy: "shop/errors", Name: "slow", Mode: "Enforce", Verdict: "Inconclusive", Reason: "NoData", Message: "no value in 10 of 12 looks"}, {Policy: "shop/errors", Name: "p99", Mode: "Warn", Verdict: "Pending"},
		},
		Earlier: []view.Release{
			{Number: 6, Version: version("ac18b34"), State: "RolledBack", Reason: "PodsNotRunning", Why: "ImagePullBackOff", RefusedUntil: &metav1.Time{Time: now.Add(24 * time.Hour)}},
			{Number: 5, Version: version("a15e8a3"), State: "Success", Since: ago(55 * time.Hour), TookSeconds: 250, Kept: true, Target: true, Repair: true},
			{Number: 4, Version: version("b1"), State: "Success", Since: ago(80 * time.Hour), RollbackOf: 3, Observed: true, ReleaseReason: "INC-99"},
		},
		Ways: ways(), Next: &ways()[1],
	}
}

func ways() []view.Way {
	yes, no := true, false
	return []view.Way{
		{Name: "repair", Command: "kubectl altershield repair deployment/web -n shop -f FILE", May: &yes},
		{Name: "rollback", Command: "kubectl altershield rollback deployment/web -n shop", To: version("a15e8a3"), Release: 5, May: &yes},
		{Name: "withdraw", Command: "kubectl altershield verdict web--x--5 pass -n shop --reason WHY", May: &no,
			Needs: view.Right{Verb: "patch", Group: "app.ops.cloud.alipay.com", Resource: "changepods", Subresource: "status"}},
	}
}

// stuck is a release whose pods don't run.
func stuck() view.Status {
	present := suspended()
	present.State, present.Reason, present.Why, present.Pods, present.Changes = "Running", "Verifying", "", view.Pods{Desired: 5}, nil
	waiting := view.NotRunning{RollbackAt: &metav1.Time{Time: now.Add(80 * time.Second)}}
	for _, pod := range []string{"web-7f-2xq", "web-7f-9rt", "web-7f-b6l", "web-7f-q2n"} {
		waiting.Pods = append(waiting.Pods, view.FailedPod{Pod: pod, Message: "container web: ErrImagePull: web:missing: not found"})
	}
	waiting.Pods = append(waiting.Pods, view.FailedPod{Pod: "web-7f-z", Message: "Unschedulable: 0/2 nodes are available"})
	waiting.NotCreated = `pods "web-7f-" is forbidden: exceeded quota: pods`
	return view.Status{
		Present: &present, Workload: view.Workload{Namespace: "shop", Kind: "Deployment", Name: "web", Known: true, Wanted: 5, Ready: 4, Updated: 5, Old: 4}, NotRunning: &waiting,
	}
}

func notes() []view.Note {
	return []view.Note{
		{Verb: "list", Resource: "changepods", Namespace: "shop", Lacks: "batches"}, {Verb: "create", Resource: "selfsubjectaccessreviews", Lacks: "reviews"},
	}
}

// huge is a release of 5,000 pods.
func huge() view.Status {
	shown := status()
	present := *shown.Present
	present.Pods = view.Pods{Desired: 5000, Passed: 4000, Failed: 300, Checking: 50, Waiting: 20}
	present.Changes = nil
	for i := range 32 {
		present.Changes = append(present.Changes, fmt.Sprintf("spec.containers[web].env[V%d]: added", i))
	}
	shown.Present, shown.Batches, shown.FailedPods = &present, nil, nil
	for i := range 300 {
		shown.FailedPods = append(shown.FailedPods, view.FailedPod{Pod: fmt.Sprintf("web-85c4-%d", i), Message: "5xx above 1%"})
	}
	for i := range 12 {
		shown.Earlier = append(shown.Earlier, view.Release{Number: int64(3 - i), Version: version("d"), State: "Superseded"})
	}
	return shown
}

func TestGolden(t *testing.T) {
	list := view.ReleaseList{Items: releases(), Counts: map[view.State]int{"Suspend": 1, "Running": 1, "RolledBack": 1, "Waiting": 1, "Success": 31}, Hidden: 31}
	history := view.ReleaseList{Items: append([]view.Release{suspended()}, status().Earlier...), Notes: notes()[:1]}
	denied := view.Why{Workload: status().Workload, Present: status().Present, Ways: ways(), Failures: status().FailedPods, MoreFailures: 1, Trial: &view.Trial{
		Verdict: "Denied", Sentence: `admission webhook "vdeployment.kb.io" denied the request: deployment web is suspended`, Warnings: []string{"to let a repair through, set the label"},
	}}
	why := view.Why{Workload: status().Workload, Present: status().Present, Ways: ways(), Refused: status().Earlier[:1], Notes: notes()}
	admitted := view.Why{Workload: status().Workload, Trial: &view.Trial{Verdict: "Admitted", Release: 8, Version: version("bb"), Changes: suspended().Changes, Frozen: []string{"shop/weekend"}, Paced: "shop/careful"}}
	events := view.EventList{Items: []view.Event{
		{Time: ago(5 * time.Minute), Type: "Normal", Reason: "ReleaseRecorded", Object: "Deployment/web", Message: "release 7 by alice@corp", Count: 1},
		{Time: ago(3 * time.Minute), Type: "Warning", Reason: "ReleaseSuspended", Object: "Deployment/web", Message: "错误率过高\nabove 1%", Count: 3},
	}}
	difference := view.Difference{From: view.Side{Release: 5, Version: version("a15e8a3")}, To: view.Side{File: "web.yaml"}, Changes: []string{
		"spec.containers[web].image: web:1.8 -> web:1.9", "spec.containers[proxy]: added, image envoy:1", "spec.nodeSelector[disk]: removed (was ssd)",
	}}
	past := view.Replay{Namespace: "shop", Workload: "web", Policy: "errors", Release: 3, NewPods: 1, Began: now.Add(-time.Hour), Until: now.Add(-50 * time.Minute), Failed: true,
		Checks: []replay.Check{
			{Name: "errors", Type: "Ratio", Verdict: "Fail", Reason: "CheckFailed", After: 150, Message: "错误率过高: 3.2% on 1 new pod (128 events), 0.2% on 3 old pods (x16, tolerated x1.5)"},
			{Name: "latency\x1b[31m", Type: "Latency", Verdict: "Inconclusive", Reason: "NoData"}, {Name: "slow", Type: "Query", Verdict: "Pass", After: 300},
		}}
	trial := view.KindTrialOf(kindtool.Effects{
		Operation: "update", ObjectKind: "CloneSet", Name: "web", Mode: "Observe", Release: "Release", Version: version("bb"), Changed: []string{"/spec/template", "/spec/image"},
		Warnings: []string{"the CRD drops the version label of spec.template: set release.identity"}, Pods: "those that status.labelSelector selects",
		Hold: "Possible", HoldOperations: []workload.Operation{{Op: "add", Path: "/spec/updateStrategy", Value: map[string]any{"paused": true}}, {Op: "remove", Path: "/spec/x"}},
		Health: "InProgress", HealthReason: "spec.health.current is false", Violations: []kindtool.Violation{{Rule: "one-at-a-time", Message: "已有操作在进行 an operation is in progress"}},
	})
	for name, draw := range map[string]func(render.Style) string{
		"replay":     func(style render.Style) string { return render.Replay(past, style) },
		"kind-trial": func(style render.Style) string { return render.KindTrial(trial, style) },
		"list":       func(style render.Style) string { return render.List(list, style, "") },
		"list-wide": func(style render.Style) string {
			style.Wide = true
			return render.List(list, style, "shop")
		},
		"status":  func(style render.Style) string { return render.Status(status(), style) },
		"huge":    func(style render.Style) string { style.Height = 24; return render.Status(huge(), style) },
		"history": func(style render.Style) string { return render.History(history, style) },
		"stuck": func(style render.Style) string {
			return render.Why(view.Why{Workload: stuck().Workload, Present: stuck().Present, NotRunning: stuck().NotRunning}, style) + render.Status(stuck(), style)
		},
		"why":      func(style render.Style) string { return render.Why(why, style) },
		"denied":   func(style render.Style) string { return render.Why(denied, style) },
		"admitted": func(style render.Style) string { return render.Why(admitted, style) },
		"events":   func(style render.Style) string { return render.Events(events, style) },
		"doctor":   func(style render.Style) string { return render.Diagnosis(diagnosis(), style) },
		"diff":     func(style render.Style) string { return render.Difference(difference, style) },
	} {
		for _, width := range []int{60, 100, 200} {
			for _, language := range []render.Language{"en", "zh"} {
				for _, colour := range []bool{false, true} {
					file := fmt.Sprintf("%s-%d-%s", name, width, language)
					if colour {
						file += "-colour"
					}
					t.Run(file, func(t *testing.T) {
						text := draw(render.Style{Width: width, Colour: colour, Language: language, Now: now})
						golden(t, file, text)
						fits(t, text, width, name)
					})
				}
			}
		}
	}
	t.Run("ascii", func(t *testing.T) {
		text := render.Status(status(), render.Style{Width: 100, ASCII: true, Now: now}) + render.List(list, render.Style{Width: 100, ASCII: true, Now: now}, "")
		golden(t, "ascii-100-en", text)
		for _, char := range strings.NewReplacer("错误率过高", "", "促销", "").Replace(text) {
			if char > 127 {
				t.Errorf("%q isn't ASCII", char)
			}
		}
	})
}

// golden compares a text with a file.
func golden(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wanted, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; go test ./cmd/kubectl-altershield/render -update writes it", err)
	}
	NewWithT(t).Expect(text).To(Equal(string(wanted)), "go test ./cmd/kubectl-altershield/render -update, and look at the difference")
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

// fits checks that no line is wider than the terminal. The sentence of a denial and lines of a difference aren't cut.
func fits(t *testing.T, text string, width int, name string) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = escapes.ReplaceAllString(strings.TrimSuffix(line, "\n"), "")
		if strings.ContainsRune(line, '\x1b') {
			t.Errorf("an escape sequence of others got through: %q", line)
		}
		uncut := name == "diff" || strings.Contains(line, "  kubectl ") || strings.Contains(line, "admission webhook") || strings.HasPrefix(line, "!")
		if columns := render.Columns(line); columns > width && !uncut {
			t.Errorf("%d columns: %s", columns, line)
		}
	}
}

func TestStatusOf5000PodsFits24Lines(t *testing.T) {
	for _, width := range []int{60, 100, 200} {
		text := render.Status(huge(), render.Style{Width: width, Height: 24, Now: now})
		g := NewWithT(t)
		g.Expect(strings.Count(text, "\n")).To(BeNumerically("<=", 24))
		g.Expect(text).To(ContainSubstring("4000 passed"))
		g.Expect(text).To(ContainSubstring("300 failed"))
		g.Expect(text).To(ContainSubstring("web-85c4-0"), "failed pods are named first")
		g.Expect(text).To(MatchRegexp(`and \d+ more`))
	}
}

func TestStatusOfAReleaseWhosePodsCanNotBeCreated(t *testing.T) {
	status := stuck()
	status.NotRunning.Pods = nil
	NewWithT(t).Expect(render.Status(status, render.Style{Width: 100, Now: now})).To(ContainSubstring(
		"├─ pods that don't run  the operator rolls back by 2026-11-22 16:43:12 if they don't run\n   │  └─ not created       pods \"web-7f-\" is forbidden: exceeded quota: pods\n"))
}
