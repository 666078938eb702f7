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
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/command"
	"github.com/traas-stack/altershield-operator/hack/prometheus"
)

const errorsPolicy = "../../../config/samples/verification/errors.yaml"

// podsPolicy writes a policy without checks of metrics, and returns its file.
func podsPolicy(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pods.yaml")
	policy := "apiVersion: app.ops.cloud.alipay.com/v1alpha1\nkind: VerificationPolicy\nmetadata: {name: builtin}\nspec: {checks: [{name: pods, type: PodHealth}]}\n"
	if err := os.WriteFile(file, []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// past returns a record of a release of the Deployment web with one pod, verified a minute after it began.
func past(number int64, began int64) *appv1alpha1.ChangeWorkload {
	of := verified(number, fmt.Sprint(number))
	of.Spec.CreateTimeUnix, of.Status.EntryTimeUnix = began, began+60
	of.Status.DefenseCheckPassPods = []appv1alpha1.PodSummary{{Pod: "web-7d4b9-x7k2p", UID: "x7k2p", FinishTimeUnix: began + 30}}
	return of
}

func TestReplayShowsWhatCannotBeReplayed(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, past(3, 1767225600), past(4, 1767229200))
	b.env["LANG"] = "C"
	g.Expect(b.run("replay", "web", "--policy", podsPolicy(t), "--release=3").expects(g, command.OK)).To(Equal(`shop/web  release 3  new pods: 1
  2026-01-01 00:00:00 -> 2026-01-01 00:06:00
CHECK  TYPE       VERDICT    REASON     MESSAGE
pods   PodHealth  - Skipped  NotStored  the past status of pods is not stored
no check of builtin would have failed
`))
	g.Expect(b.run("replay", "deployment/web", "--policy", podsPolicy(t)).expects(g, command.OK)).To(HavePrefix("shop/web  release 4  "), "the present release")
	g.Expect(b.run("replay", "web", "--policy", podsPolicy(t), "--lang=zh").expects(g, command.OK)).To(ContainSubstring("\nbuiltin 的检查都不会判为不通过\n"))
	g.Expect(b.run("replay", "web", "--policy", podsPolicy(t), "-o", "name").expects(g, command.OK)).To(BeEmpty())
}

func TestReplayExitsWith4IfACheckWouldHaveFailed(t *testing.T) {
	g := NewWithT(t)
	programs, err := prometheus.Ensure(t.Context(), os.Stderr)
	if errors.Is(err, prometheus.ErrUnavailable) {
		t.Skip(err)
	}
	g.Expect(err).NotTo(HaveOccurred())
	const began = 1767225600
	var series strings.Builder
	series.WriteString("# TYPE http_requests counter\n")
	for pod, failed := range map[string]float64{"web-5c6f8-b2c4d": 2, "web-5c6f8-d4f6g": 2, "web-5c6f8-z8x9k": 2, "web-7d4b9-x7k2p": 32} {
		for code, each := range map[string]float64{"200": 1000 - failed, "500": failed} {
			for at := -120; at <= 600; at += 15 {
				fmt.Fprintf(&series, "http_requests_total{namespace=\"shop\",pod=%q,code=%q} %g %d\n", pod, code, each*float64((at+120)/15), began+at)
			}
		}
	}
	address, stop, err := programs.Start(t.Context(), t.TempDir(), series.String()+"# EOF\n")
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(stop)

	b := newBench(t, past(3, began))
	answer := b.run("replay", "web", "--policy", errorsPolicy, "--source-url", address, "-o", "json")
	g.Expect(answer.code).To(Equal(command.Denied), answer.err)
	g.Expect(answer.err).To(BeEmpty())
	var shown map[string]any
	g.Expect(json.Unmarshal([]byte(answer.out), &shown)).To(Succeed())
	g.Expect(shown).To(And(HaveKeyWithValue("kind", "Replay"), HaveKeyWithValue("apiVersion", "cli.altershield/v1"), HaveKeyWithValue("namespace", "shop"),
		HaveKeyWithValue("workload", "web"), HaveKeyWithValue("object", "deployment/web"), HaveKeyWithValue("policy", "errors"), HaveKeyWithValue("release", 3.0),
		HaveKeyWithValue("newPods", 1.0), HaveKeyWithValue("began", "2026-01-01T00:00:00Z"), HaveKey("until"), HaveKeyWithValue("failed", true)))
	g.Expect(shown["checks"].([]any)[0]).To(And(HaveKeyWithValue("name", "errors"), HaveKeyWithValue("verdict", "Fail"), HaveKeyWithValue("reason", "CheckFailed"),
		HaveKeyWithValue("afterSeconds", BeNumerically(">", 0)), HaveKeyWithValue("message", HavePrefix("3.2% on 1 new pod"))))
	g.Expect(b.run("replay", "web", "--policy", errorsPolicy, "--source-url", address, "-o", "name").out).To(Equal("errors\n"))
	for _, label := range []string{"--pod-label=instance", "--namespace-label=project"} {
		g.Expect(b.run("replay", "web", "--policy", errorsPolicy, "--source-url", address, label).expects(g, command.OK)).To(ContainSubstring("NoData"), label)
	}
	stored := []string{"replay", "web", "--policy", errorsPolicy, "--source-url", address, "--from=2026-01-01T00:00:00Z", "--to=2026-01-01T00:08:00Z"}
	g.Expect(b.run(append(stored, "--new-pods=web-7d4b9-.*")...).out).To(And(HavePrefix("shop/web  new pods: 1\n"), HaveSuffix("\na check of errors would have failed\n")))
	g.Expect(b.run(append(stored, "--new-pods=web-5c6f8-b.*")...).expects(g, command.OK)).To(HaveSuffix("\nno check of errors would have failed\n"))
}

func TestReplayNamesWhatIsWrong(t *testing.T) {
	source := refuses("VerificationSource")
	for line, row := range map[string]struct {
		code    command.Code
		problem string
	}{
		"replay web":                                       {command.Usage, "--policy is needed"},
		"replay web --policy x --from=noon":                {command.Usage, `--from "noon" is not a time such as 2026-11-21T10:00:00Z`},
		"replay web --policy x":                            {command.Failed, "reading --policy: open x: no such file or directory"},
		"replay new --policy x":                            {command.Failed, "deployment/new in namespace shop has no record of a release"},
		"replay none --policy x":                           {command.Failed, "there is no workload none in namespace shop"},
		"replay web --policy " + errorsPolicy:              {command.Failed, "you (bob) may not get verificationsources.apps in namespace shop"},
		"replay web --release=9 --policy " + podsPolicy(t): {command.Failed, "there is no record of release 9 of Deployment.apps web: there are those of [3]"},
	} {
		g := NewWithT(t)
		fresh := web(1, "a1")
		fresh.Name, fresh.UID = "new", "new-uid"
		answer := newBenchWith(t, source, []client.Object{past(3, 1767225600), fresh}...).run(split(line)...)
		g.Expect(answer.code).To(Equal(row.code), line)
		g.Expect(answer.err).To(ContainSubstring(row.problem), line)
		g.Expect(answer.out).To(BeEmpty(), line)
	}
}
