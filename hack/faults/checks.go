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
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
	"github.com/traas-stack/altershield-operator/hack/lab"
)

const (
	// bake is enough for two looks that count, and for one more if the source is away or the manager was killed.
	bake, lookEvery = 40, 10
	// shortBake is too short for the verdict of a comparison, which takes four looks.
	shortBake = 15
	// waitSeconds is how long pods wait for a check, which is longer than they have to.
	waitSeconds = 600
	// warmup is enough for the first scrape of a pod: else it has no data at the first look, which are too few of the looks of a release.
	warmup = 5
	// away is how long the source is away: for one look that would have failed the release, at least.
	away = 20 * time.Second
)

func ofChecks() []scenario {
	return []scenario{
		// A pod crashes once its release was verified.
		{name: "crash", play: inTurn(createDeployment, verified(1), crash, suspended(1), denied)},
		// A release passes its checks, and another one has too many errors.
		{name: "checks", measured: true, looks: true, troubles: []trouble{{"source-away", sourceAway}}, play: withSource(inTurn(
			enforceChecks(1), createDeployment, verified(1), decided("errors", "Pass CheckPassed"),
			failing, asked, moment, suspended(2), decided("errors", "Fail CheckFailed"), batchesEnd, denied))},
		// A release has too many errors, and its source is lost once it was asked, and for good: it passes, as one bad look doesn't fail it.
		{name: "checks-blind", measured: true, looks: true, play: withSource(inTurn(
			createDeployment, verified(1), enforceChecks(2), failing, asked, lose, verified(2), decided("errors", "Inconclusive SourceUnavailable")))},
		// The new pod of a release in steps has more errors than the old ones beside it. When its bake ends, too few looks were made to tell that,
		// so the pod waits for the check, which fails it later.
		{name: "checks-compared", kind: statefulset.Kind{}, measured: true, looks: true, play: withSource(inTurn(
			twoSteps(policy{}), createStatefulSet(replicas), verified(1), compareErrors,
			failing, asked, waitsFor("errors"), suspended(2), decided("errors", "Fail CheckFailed"), batchesEnd, denied))},
	}
}

// failing makes a release whose pods have too many errors.
func failing(ctx context.Context, s *stage) error {
	s.source.before = len(s.calls.Records(s.namespace))
	return s.patch(ctx, template("failing", ""))
}

// front is where the manager asks for the metrics of a namespace. Connections are refused while it is lost.
type front struct {
	address string
	// close ends the connections, and refuses further ones.
	close context.CancelFunc
	// before is the number of queries before the release that fails.
	before int
}

// withSource returns a play with a VerificationSource of its own, so that others don't lose theirs.
func withSource(play step) step {
	return func(ctx context.Context, s *stage) error {
		s.source = &front{address: lab.AnyPort}
		if err := s.find(ctx); err != nil {
			return err
		}
		defer func() { s.source.close() }()
		return s.asking(ctx, appv1alpha1.SourcePrometheus, s.source.address, play)
	}
}

// asking plays with a VerificationSource.
func (s *stage) asking(ctx context.Context, kind appv1alpha1.SourceType, address string, play step) error {
	source := &appv1alpha1.VerificationSource{ObjectMeta: metav1.ObjectMeta{Namespace: appv1alpha1.SystemNamespace, Name: s.namespace}}
	source.Spec.Type, source.Spec.URL = kind, "http://"+address
	return s.with(ctx, source, readyIn(&source.Status.Conditions), play)
}

// find lets the manager reach the source, at the same address as before.
func (s *stage) find(ctx context.Context) (err error) {
	serving, stop := context.WithCancel(ctx)
	s.source.close = stop
	s.source.address, err = lab.ServeHTTP(serving, http.Handler(s.calls), s.source.address, "")
	return err
}

// lose refuses the connections of the manager to the source from now on.
func lose(_ context.Context, s *stage) error {
	s.source.close()
	return nil
}

// sourceAway loses the source for some time.
func sourceAway(ctx context.Context, s *stage) error {
	return errors.Join(lose(ctx, s), lab.Pause(ctx, away), s.find(ctx))
}

// enforceChecks creates a VerificationPolicy that looks at the errors of the pods, and fails a release at a number of bad looks in a row.
func enforceChecks(looks int32) step {
	return func(ctx context.Context, s *stage) error {
		failed := s.errorsBy(appv1alpha1.RatioObjective{Threshold: &appv1alpha1.RatioThreshold{Max: "1%", Consecutive: looks, MinEvents: 20}})
		return s.enforce(ctx, bake, appv1alpha1.VerificationCheck{Name: "pods", Type: appv1alpha1.CheckPodHealth}, failed)
	}
}

// compareErrors creates one that compares them with those of the old pods, and has the new ones wait until it can tell.
func compareErrors(ctx context.Context, s *stage) error {
	compared := s.errorsBy(appv1alpha1.RatioObjective{Comparison: &appv1alpha1.RatioComparison{
		Baseline: appv1alpha1.BaselineConcurrent, Tolerance: "1.5", MinDelta: "0.5%", MinEvents: 5,
	}})
	compared.OnInconclusive, compared.TimeoutSeconds, compared.OnTimeout = appv1alpha1.InconclusiveHold, waitSeconds, appv1alpha1.FallbackPass
	return s.enforce(ctx, shortBake, compared)
}

// errorsBy returns a check of the errors of the pods.
func (s *stage) errorsBy(objective appv1alpha1.RatioObjective) appv1alpha1.VerificationCheck {
	return appv1alpha1.VerificationCheck{Name: "errors", Type: appv1alpha1.CheckRatio, Ratio: &appv1alpha1.RatioCheck{
		SourceRef: appv1alpha1.SourceReference{Name: s.namespace},
		Total:     appv1alpha1.MetricSelector{Metric: "http_requests_total"}, Bad: appv1alpha1.MetricSelector{Matchers: []string{`code="500"`}},
		RatioObjective: objective,
	}}
}

// enforce creates a VerificationPolicy of some checks, which looks at the pods for some seconds.
func (s *stage) enforce(ctx context.Context, seconds int32, checks ...appv1alpha1.VerificationCheck) error {
	policy := &appv1alpha1.VerificationPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "slo"}}
	policy.Spec.Mode, policy.Spec.Checks = appv1alpha1.CheckEnforce, checks
	policy.Spec.BakeSeconds, policy.Spec.IntervalSeconds, policy.Spec.WarmupSeconds = seconds, lookEvery, warmup
	return s.createReady(ctx, policy, readyIn(&policy.Status.Conditions))
}

// batchesEnd waits until the batches of the present release have ended: those of a release that failed at once are still in their bake,
// and a manager that was killed checks the others later.
func batchesEnd(ctx context.Context, s *stage) error {
	return awaits("the end of the batches", func(ctx context.Context, s seen) error {
		var batches appv1alpha1.ChangePodList
		if err := s.Kube.List(ctx, &batches, client.InNamespace(s.namespace)); err != nil {
			return err
		}
		for i := range batches.Items {
			batch := &batches.Items[i]
			if metav1.IsControlledBy(batch, s.record) && batch.Status.Status != appv1alpha1.ChangePodExecuteDone {
				return fmt.Errorf("ChangePod %s has the status %q", batch.Name, batch.Status.Status)
			}
		}
		return nil
	})(ctx, s)
}

// asked waits until the source was asked about the release that fails.
func asked(ctx context.Context, s *stage) error {
	return until(ctx, "a query", func(context.Context) error {
		records := s.calls.Records(s.namespace)
		return expect(len(records) > s.source.before && records[len(records)-1].Status == http.StatusOK, "the source wasn't asked")
	})
}

// decided waits for a verdict and a reason of a check.
func decided(check, verdict string) step {
	return resulting(check, "the verdict "+verdict, func(result *appv1alpha1.CheckResult) error {
		found := string(result.Verdict) + " " + result.Reason
		return expect(found == verdict, "it is %s", found)
	})
}

// waitsFor waits until pods, or a release, wait for a check.
func waitsFor(check string) step {
	return resulting(check, "a wait", func(result *appv1alpha1.CheckResult) error {
		return expect(result.HeldUntil != nil, "nothing waits, its verdict is %s", result.Verdict)
	})
}

// resulting waits for a result of a check. It takes longer than other states: a new leader asks a source that is lost for one more minute.
func resulting(check, what string, is func(*appv1alpha1.CheckResult) error) step {
	found := func(_ context.Context, s seen) error {
		for i := range s.record.Status.Checks {
			if result := &s.record.Status.Checks[i]; result.Name == check {
				return is(result)
			}
		}
		return errors.New("there is no result")
	}
	return func(ctx context.Context, s *stage) error {
		return lab.Until(ctx, 2*patience, what+" of the check "+check, s.now(s.watched, found))
	}
}

// crash makes the pod of the first batch crash, again and again.
func crash(ctx context.Context, s *stage) error {
	return acts("a pod that crashes", func(ctx context.Context, s seen) error {
		batch := &appv1alpha1.ChangePod{}
		if err := s.Kube.Get(ctx, s.key(decide.ChangePodName(s.record.Name, 1)), batch); err != nil {
			return err
		}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: batch.Spec.PodInfos[0].Pod}}
		return s.Kube.Patch(ctx, pod, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"local.altershield.io/crash":"now"}}}`)))
	})(ctx, s)
}
