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

// Judge measures how well the checks that look at metrics judge releases: 120 bad and 120 good ones, as series in a real Prometheus, which are
// replayed look by look. It prints Markdown tables with 95% intervals beside the targets, and exits with 1 if one is missed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/replaytool"
	"github.com/traas-stack/altershield-operator/controllers/verification/replay"
	"github.com/traas-stack/altershield-operator/hack/judge/report"
	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/prometheus"
)

// heldOut is added to the seeds of a set that nothing may be tuned by.
const heldOut = 1_000_000

// maxDelay is the time in which half of the good releases with traffic have to pass.
const maxDelay = 2 * time.Minute

func main() {
	set := flag.Uint64("set", 1, "Number of the set of seeds.")
	held := flag.Bool("held-out", false, "Use the held-out set of that number. Look at it to report, never to tune anything.")
	times := flag.Int("times", 1, "How many times 120 bad and 120 good releases are judged.")
	flag.Parse()
	if *held {
		*set += heldOut
	}
	lab.Main("judge", func(ctx context.Context) error { return run(ctx, *set, *times) })
}

// run judges the releases of a set of seeds, prints the tables, and returns an error if a target is certainly missed.
func run(ctx context.Context, set uint64, times int) error {
	releases := newReleases(append(good(), bad()...), times, set)
	programs, err := prometheus.Ensure(ctx, os.Stderr)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "judge-")
	if err != nil {
		return fmt.Errorf("create a folder for Prometheus: %w", err)
	}
	defer os.RemoveAll(dir)
	address, stop, err := programs.Start(ctx, dir, samples(releases))
	if err != nil {
		return err
	}
	defer stop()
	judged, err := judgeAll(ctx, address, releases)
	if err != nil {
		return err
	}
	fmt.Printf("Seeds: `rand.NewPCG(%d, n)` of release n = 1 to %d.\n\n", set, len(releases))
	found := report.Report{Decided: "until a good release with traffic was decided", Within: maxDelay}
	for i := range judged {
		found.Releases = append(found.Releases, judgedRelease(&releases[i], &judged[i]))
	}
	met := found.Write(os.Stdout)
	fmt.Println("\nTimes are from the end of the warm-up of the new pods. Intervals are those of Clopper and Pearson.")
	if !met {
		return errors.New("a target is missed")
	}
	return nil
}

// judgedRelease returns a release with what its checks said, at times since the end of the warm-up of the new pods.
func judgedRelease(of *release, said *replay.Report) report.Release {
	judged := report.Release{Class: of.class.Class}
	for i := range said.Checks {
		check := &said.Checks[i]
		after := time.Duration(check.After)*time.Second - readyAfter - warmup
		judged.Checks = append(judged.Checks, report.Check{Name: check.Name, Failed: check.Verdict == appv1alpha1.CheckFail, After: after})
		judged.Decided = max(judged.Decided, after)
	}
	return judged
}

// judgeAll replays the releases from a Prometheus.
func judgeAll(ctx context.Context, address string, releases []release) (all []replay.Report, err error) {
	source := &appv1alpha1.VerificationSource{}
	source.Name = "prometheus"
	source.Spec = appv1alpha1.VerificationSourceSpec{
		Type: appv1alpha1.SourcePrometheus, URL: address,
		Prometheus: &appv1alpha1.PrometheusSource{Labels: appv1alpha1.SourceLabels{Pod: "pod", Namespace: "namespace"}, EnforceNamespace: true},
		Limits: appv1alpha1.SourceLimits{
			QueriesPerSecond: 10_000, Burst: 1000, Concurrent: 4, TimeoutSeconds: 5, MaxBytes: 8 << 20, MaxSeries: 5000,
		},
	}
	metrics, err := replaytool.Open(ctx, nil, "", []*appv1alpha1.VerificationSource{source}, began())
	if err != nil {
		return nil, err
	}
	for i := range releases {
		past := pastOf(&releases[i])
		results, err := past.Run(ctx, policy(), metrics.Read, past.Ended)
		if err != nil {
			return nil, fmt.Errorf("judge %s: %w", releases[i].namespace, err)
		}
		all = append(all, replay.NewReport(past, policy().Name, results, past.Ended))
	}
	return all, nil
}

// pastOf returns a release as its record has it.
func pastOf(of *release) *replay.Past {
	past := &replay.Past{
		Ended: began().Add(watched), Release: checks.Scene{Kind: "Deployment", Namespace: of.namespace, Name: "web", Number: 1, Began: began()},
	}
	for _, pod := range of.pods {
		if pod.isNew {
			past.Release.New = append(past.Release.New, checks.Pod{
				Name: pod.name, UID: types.UID(pod.name), Ready: true, Since: began().Add(readyAfter), Created: began().Add(createdAfter),
			})
		}
	}
	return past
}

// policy returns the policy that judges: both comparisons with their defaults.
func policy() *appv1alpha1.VerificationPolicy {
	objective := appv1alpha1.RatioObjective{Comparison: &appv1alpha1.RatioComparison{Tolerance: "1.5", MinDelta: "0.5%", MinEvents: 5}}
	from := appv1alpha1.SourceReference{Name: "prometheus"}
	policy := &appv1alpha1.VerificationPolicy{}
	policy.Name = "judge"
	policy.Spec.VerificationTerms = appv1alpha1.VerificationTerms{
		Mode: appv1alpha1.CheckEnforce, WarmupSeconds: int32(warmup / time.Second), IntervalSeconds: int32(interval / time.Second),
		Checks: []appv1alpha1.VerificationCheck{
			{Name: errorsCheck, Type: appv1alpha1.CheckRatio, Ratio: &appv1alpha1.RatioCheck{
				SourceRef: from, RatioObjective: objective,
				Total: appv1alpha1.MetricSelector{Metric: "http_requests_total"}, Bad: appv1alpha1.MetricSelector{Matchers: []string{`code=~"5.."`}},
			}},
			{Name: latencyCheck, Type: appv1alpha1.CheckLatency, Latency: &appv1alpha1.LatencyCheck{
				SourceRef: from, RatioObjective: objective, Metric: "http_request_duration_seconds", ThresholdSeconds: thresholdSeconds,
			}},
		},
	}
	return policy
}
