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

package replaytool_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/replaytool"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/hack/prometheus"
)

const (
	errorsSample = "../../config/samples/verification/errors.yaml"
	// began is 2026-01-01T00:00:00Z, a multiple of the interval.
	began = 1767225600

	twoChecks = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: app.ops.cloud.alipay.com/v1alpha1
kind: VerificationPolicy
metadata: {name: web}
spec:
  checks:
  - {name: pods, type: PodHealth}
  - name: errors
    type: Ratio
    ratio: {sourceRef: {name: prometheus}, total: {metric: http_requests_total}, bad: {matchers: ['code="500"']}, comparison: {}}
`
)

// history returns ten minutes of two Deployments web, from two minutes before their releases: of a thousand requests each 15 seconds, 2 fail
// on each of three old pods, and on the new pod, which begins after 30 seconds, as many in the namespace bank and 32 in the namespace shop.
func history() string {
	var text strings.Builder
	text.WriteString("# TYPE http_requests counter\n")
	series := func(namespace, pod string, from int, failed float64) {
		for code, each := range map[string]float64{"200": 1000 - failed, "500": failed} {
			for at := from; at <= 600; at += 15 {
				fmt.Fprintf(&text, "http_requests_total{namespace=%q,pod=%q,code=%q} %g %d\n", namespace, pod, code, each*float64((at-from)/15), began+at)
			}
		}
	}
	for namespace, failed := range map[string]float64{"shop": 32, "bank": 2} {
		for _, pod := range []string{"web-5c6f8-b2c4d", "web-5c6f8-d4f6g", "web-5c6f8-z8x9k"} {
			series(namespace, pod, -120, 2)
		}
		series(namespace, "web-7d4b9-x7k2p", 30, failed)
	}
	return text.String() + "# EOF\n"
}

// start returns the address of a real Prometheus with the history.
func start(t *testing.T) string {
	t.Helper()
	g := NewWithT(t)
	programs, err := prometheus.Ensure(t.Context(), os.Stderr)
	if errors.Is(err, prometheus.ErrUnavailable) {
		t.Skip(err)
	}
	g.Expect(err).NotTo(HaveOccurred())
	address, stop, err := programs.Start(t.Context(), t.TempDir(), history())
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(stop)
	return address
}

// cluster returns a cluster with the record of release 3 in each namespace, which was verified after a minute.
func cluster(t *testing.T, address string) client.Reader {
	source := &appv1alpha1.VerificationSource{
		ObjectMeta: metav1.ObjectMeta{Namespace: "altershieldoperator-system", Name: "prometheus", UID: "1"},
		Spec: appv1alpha1.VerificationSourceSpec{
			Type: "Prometheus", URL: address, AllowedNamespaces: &metav1.LabelSelector{},
			Limits:     appv1alpha1.SourceLimits{QueriesPerSecond: 1000, Burst: 1000, Concurrent: 4, TimeoutSeconds: 5, MaxBytes: 8388608, MaxSeries: 2000},
			Prometheus: &appv1alpha1.PrometheusSource{Labels: appv1alpha1.SourceLabels{Pod: "pod", Namespace: "namespace"}, EnforceNamespace: true},
		},
	}
	objects := []client.Object{source}
	for _, namespace := range []string{"shop", "bank"} {
		objects = append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, &appv1alpha1.ChangeWorkload{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web--x--3"},
			Spec: appv1alpha1.ChangeWorkloadSpec{
				Release: 3, CreateTimeUnix: began, WorkloadRef: &appv1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			},
			Status: appv1alpha1.ChangeWorkloadStatus{
				ObservedRelease: 3, Status: "Success", EntryTimeUnix: began + 60,
				DefenseCheckPassPods: []appv1alpha1.PodSummary{{Pod: "web-7d4b9-x7k2p", UID: "x7k2p", FinishTimeUnix: began + 30}},
			},
		})
	}
	return testkit.NewFake(t, objects...)
}

// run runs the command in 2027.
func run(t *testing.T, options replaytool.Options, connect replaytool.Connect) (output string, failed bool, err error) {
	t.Helper()
	var out strings.Builder
	options.Kind = "Deployment.apps"
	options.Namespace, options.Labels = "altershieldoperator-system", appv1alpha1.SourceLabels{Pod: "pod", Namespace: "namespace"}
	failed, err = replaytool.Run(t.Context(), options, connect, time.Unix(began, 0).AddDate(1, 0, 0), &out)
	return out.String(), failed, err
}

// write writes a file, and returns its path.
func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	NewWithT(t).Expect(os.WriteFile(file, []byte(text), 0o600)).To(Succeed())
	return file
}

func TestRunReplaysFromARealPrometheus(t *testing.T) {
	address := start(t)
	reader := cluster(t, address)
	connect := func() (client.Reader, error) { return reader, nil }
	offline := func() (client.Reader, error) { return nil, errors.New("there is no cluster") }
	stored := func(workload, from, pods string) replaytool.Options {
		return replaytool.Options{
			Policy: errorsSample, Workload: workload, From: from, To: "2026-01-01T00:08:00Z", NewPods: pods, SourceURL: address, Output: "table",
		}
	}
	for name, row := range map[string]struct {
		options replaytool.Options
		connect replaytool.Connect
		failed  bool
		out     string
	}{
		"a bad release": {replaytool.Options{Policy: errorsSample, Workload: "shop/web", Release: 3, Output: "table"}, connect, true, `
Deployment shop/web, release 3, new pods: 1, from 2026-01-01T00:00:00Z until 2026-01-01T00:04:00Z
CHECK    TYPE    VERDICT   REASON        AFTER   MESSAGE
errors   Ratio   Fail      CheckFailed   2m30s   3.2% on 1 new pod (128 events), 0.2% on 3 old pods (x16, tolerated x1.5)
A check of errors would have failed.
`},
		"a good release": {replaytool.Options{Policy: errorsSample, Workload: "bank/web", Release: 3, Output: "table"}, connect, false, `
Deployment bank/web, release 3, new pods: 1, from 2026-01-01T00:00:00Z until 2026-01-01T00:04:00Z
CHECK    TYPE    VERDICT   REASON        AFTER   MESSAGE
errors   Ratio   Pass      PassedEarly   2m30s   0.2% on 1 new pod (8 events), 0.2% on 3 old pods (x1, tolerated x1.5)
No check of errors would have failed.
`},
		"a source outside, as JSON": {
			replaytool.Options{Policy: write(t, twoChecks), Workload: "shop/web", Release: 3, SourceURL: address, Output: "json"}, connect, true, `
{
  "policy": "web",
  "kind": "Deployment",
  "namespace": "shop",
  "name": "web",
  "release": 3,
  "newPods": 1,
  "began": "2026-01-01T00:00:00Z",
  "until": "2026-01-01T00:06:00Z",
  "failed": true,
  "checks": [
    {
      "name": "errors",
      "type": "Ratio",
      "verdict": "Fail",
      "reason": "CheckFailed",
      "afterSeconds": 150,
      "message": "3.2% on 1 new pod (128 events), 0.2% on 3 old pods (x16, tolerated x1.5)"
    },
    {
      "name": "pods",
      "type": "PodHealth",
      "verdict": "Skipped",
      "reason": "NotStored",
      "message": "the past status of pods is not stored"
    }
  ]
}
`},
		"bad, without record and cluster": {stored("shop/web", "2026-01-01T00:00:00Z", "web-7d4b9-.*"), offline, true, `
Deployment shop/web, new pods: 1, from 2026-01-01T00:00:00Z until 2026-01-01T00:08:00Z
CHECK    TYPE    VERDICT   REASON        AFTER   MESSAGE
errors   Ratio   Fail      CheckFailed   2m30s   3.2% on 1 new pod (128 events), 0.2% on 3 old pods (x16, tolerated x1.5)
A check of errors would have failed.
`},
		"old pods against old pods": {stored("bank/web", "2026-01-01T00:01:00+00:00", "web-5c6f8-b.*"), offline, false, `
Deployment bank/web, new pods: 1, from 2026-01-01T00:01:00Z until 2026-01-01T00:08:00Z
CHECK    TYPE    VERDICT   REASON        AFTER   MESSAGE
errors   Ratio   Pass      PassedEarly   1m30s   0.2% on 1 new pod (8 events), 0.2% on 3 old pods (x1, tolerated x1.5)
No check of errors would have failed.
`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			out, failed, err := run(t, row.options, row.connect)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect("\n" + out).To(Equal(row.out))
			g.Expect(failed).To(Equal(row.failed))
		})
	}
	t.Run("other names", func(t *testing.T) {
		_, _, err := run(t, stored("shop/web", "2026-01-01T00:00:00Z", "x7k2p"), offline)
		NewWithT(t).Expect(err).To(MatchError("no pod of Deployment.apps shop/web in the series matches --new-pods x7k2p"))
	})
}

func TestRunSaysWhatIsMissing(t *testing.T) {
	reader := cluster(t, "http://127.0.0.1:1")
	connect := func() (client.Reader, error) { return reader, nil }
	release := replaytool.Options{Policy: errorsSample, Workload: "shop/web", Release: 3, Output: "table"}
	with := func(change func(*replaytool.Options)) replaytool.Options {
		changed := release
		change(&changed)
		return changed
	}
	policy := func(replacements ...string) replaytool.Options {
		return with(func(o *replaytool.Options) {
			o.Policy = write(t, strings.NewReplacer(replacements...).Replace(twoChecks))
		})
	}
	for name, row := range map[string]struct {
		options replaytool.Options
		problem string
	}{
		"a source that doesn't answer": {release,
			"VerificationSource prometheus: dial: connect: connection refused (for a source that can't be reached from here, use kubectl port-forward and --source-url)"},
		"no source": {policy("name: prometheus", "name: thanos"), `reading VerificationSource altershieldoperator-system/thanos: verificationsources.app.ops.cloud.alipay.com "thanos" not found`},
		"both ways": {with(func(o *replaytool.Options) { o.From = "2026-01-01T00:00:00Z" }), "either --release is needed, or --from, --to and --new-pods"},
		"an address that doesn't answer": {with(func(o *replaytool.Options) { o.SourceURL = "http://127.0.0.1:1" }),
			"VerificationSource prometheus: dial: connect: connection refused"},
		"all flags": {replaytool.Options{From: "noon", NewPods: "(", SourceURL: "127.0.0.1:9090"}, `--workload "" is not namespace/name
--policy is needed
-o "" is neither table nor json
--source-url "127.0.0.1:9090" is not an address such as http://127.0.0.1:9090
--from "noon" is not a time such as 2026-11-21T10:00:00Z
--to "" is not a time such as 2026-11-21T10:00:00Z
--new-pods "(" is not a regular expression for the names of pods`},
		"an address without a scheme": {with(func(o *replaytool.Options) { o.SourceURL = "prometheus:9090" }),
			`--source-url "prometheus:9090" is not an address such as http://127.0.0.1:9090`},
		"times in the wrong order": {replaytool.Options{
			Policy: errorsSample, Workload: "shop/web", From: "2026-01-01T00:00:00Z", To: "2026-01-01T00:00:00Z", NewPods: "web.*", Output: "table",
		}, "--to 2026-01-01T00:00:00Z is not after --from 2026-01-01T00:00:00Z"},
		"no file":          {with(func(o *replaytool.Options) { o.Policy = "none.yaml" }), "reading --policy: open none.yaml: no such file or directory"},
		"another kind":     {policy("VerificationPolicy", "ReleasePolicy"), "there is no VerificationPolicy in FILE"},
		"a misspelt field": {policy("checks:", "check:"), `reading the VerificationPolicy in FILE: error unmarshaling JSON: while decoding JSON: json: unknown field "check"`},
		"a value that the API server denies": {policy("comparison: {}", `comparison: {tolerance: "0.5"}`),
			`reading the VerificationPolicy in FILE: spec.checks[1].ratio.comparison.tolerance: Invalid value: "0.5": spec.checks[1].ratio.comparison.tolerance in body should match '^[1-9][0-9]{0,2}(\.[0-9]{1,4})?$'`},
		"a type with another's field": {policy("type: Ratio", "type: Latency"),
			`reading the VerificationPolicy in FILE: [spec.checks[1]: Invalid value: ratio is needed for type Ratio, and for it only, spec.checks[1]: Invalid value: latency is needed for type Latency, and for it only]`},
		"two checks with a name": {policy("name: errors", "name: pods"),
			`reading the VerificationPolicy in FILE: spec.checks[1]: Duplicate value: {"name":"pods"}`},
		"an unusable matcher": {policy(`code="500"`, "code"),
			`reading the VerificationPolicy in FILE: the check errors: bad.matchers[0]: "code" is not one label matcher, such as code=~"5.."`},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := run(t, row.options, connect)
			NewWithT(t).Expect(err).To(MatchError(strings.ReplaceAll(row.problem, "FILE", row.options.Policy)))
		})
	}
}
