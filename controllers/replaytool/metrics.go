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

package replaytool

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
	"github.com/traas-stack/altershield-operator/controllers/source"
	"github.com/traas-stack/altershield-operator/controllers/verification"
	"github.com/traas-stack/altershield-operator/controllers/verification/replay"
)

// Metrics reads stored metrics.
type Metrics struct {
	sources *source.Sources
	clock   *pastClock
}

// pastClock is the time of a look, until whose next one an answer is kept.
type pastClock struct{ at time.Time }

func (c *pastClock) Now() time.Time                        { return c.at }
func (c *pastClock) Since(earlier time.Time) time.Duration { return c.at.Sub(earlier) }

// Open returns a reader of sources, which answer now. Their Secrets, and the namespaces that they allow, are read from the cluster.
func Open(ctx context.Context, cluster client.Reader, namespace string, objects []*appv1alpha1.VerificationSource, now time.Time) (*Metrics, error) {
	counted, err := source.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		return nil, err
	}
	opened := &Metrics{clock: &pastClock{now}}
	opened.sources = &source.Sources{
		Client: cluster, Secrets: cluster, Namespace: namespace, Metrics: counted, Clock: opened.clock,
		// The user of the command could connect to any address without it.
		Guard: source.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}},
	}
	for _, object := range objects {
		failure, err := opened.sources.Look(ctx, object)
		if err != nil {
			return nil, err
		}
		if failure != nil {
			return nil, failure
		}
	}
	return opened, nil
}

// Read reads the metrics of a release as they were seen at a time. A source that doesn't answer now says nothing about the past.
func (m *Metrics) Read(ctx context.Context, release *checks.Scene, asked decide.AskedCheck, at time.Time) (measure.Readings, error) {
	m.clock.at = at
	readings, err := verification.Read(ctx, m.sources, release, asked, at)
	switch source.Kind(readings.Reason) {
	case source.KindUnavailable, source.KindThrottled, source.KindUnauthorized:
		return measure.Readings{}, fmt.Errorf("reading metrics for the check %s: %s", asked.Name, readings.Message)
	}
	return readings, err
}

// openMetrics opens the sources that the checks name, or that of --source-url in their place.
func (t *tool) openMetrics(ctx context.Context) (*Metrics, error) {
	var objects []*appv1alpha1.VerificationSource
	for i := range t.policy.Spec.Checks {
		measured := replay.Measured(&t.policy.Spec.Checks[i])
		if measured == nil {
			continue
		}
		object, err := t.source(ctx, measured.Source())
		if err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	opened, err := Open(ctx, t.cluster, t.Namespace, objects, t.now)
	if _, failed := errors.AsType[*source.Error](err); failed && t.SourceURL == "" {
		return nil, fmt.Errorf("%w (for a source that can't be reached from here, use kubectl port-forward and --source-url)", err)
	}
	return opened, err
}

// source returns a VerificationSource of the cluster, or one with the URL of the option. Only the latter gets no credentials. It keeps namespaces apart
// where the operator would make the queries of the policy by no other source.
func (t *tool) source(ctx context.Context, name string) (*appv1alpha1.VerificationSource, error) {
	object := &appv1alpha1.VerificationSource{ObjectMeta: metav1.ObjectMeta{Namespace: t.Namespace, Name: name}}
	if t.SourceURL == "" {
		if err := t.cluster.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return nil, fmt.Errorf("reading VerificationSource %s/%s: %w", t.Namespace, name, err)
		}
		return object, nil
	}
	object.Spec = appv1alpha1.VerificationSourceSpec{
		Type: appv1alpha1.SourcePrometheus, URL: t.SourceURL, Prometheus: &appv1alpha1.PrometheusSource{Labels: t.Labels, EnforceNamespace: t.mustConfine(name)},
		Limits: appv1alpha1.SourceLimits{
			QueriesPerSecond: 10, Burst: 20, Concurrent: 4, TimeoutSeconds: 20, MaxBytes: 64 << 20, MaxSeries: 100_000,
		},
	}
	return object, nil
}

// mustConfine reports whether the policy has a query of its own for a source, and isn't in the namespace of the operator.
func (t *tool) mustConfine(source string) bool {
	return t.policy.Namespace != t.Namespace && slices.ContainsFunc(t.policy.Spec.Checks, func(check appv1alpha1.VerificationCheck) bool {
		return check.Query != nil && check.Query.SourceRef.Name == source
	})
}
