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

// Package source asks the sources of metrics that VerificationSources define.
//
// A check asks like this:
//
//	reader, err := sources.Reader(ctx, "prometheus", "shop")
//	...
//	answer, err := reader.Range(ctx, `sum by (pod) (rate(errors_total[1m]))`, source.Align(began, now, 15*time.Second, 0))
//
// Every failure of a source is an *Error, whose Kind is the reason that a check shows. None of them says anything about the release.
package source

import (
	"context"
	"time"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/oneline"
	"github.com/traas-stack/altershield-operator/controllers/source/tenancy"
)

// Querier answers queries in PromQL. What it returns may be shared, and must not be changed.
type Querier interface {
	// Range returns the series of a query at each step of a window.
	Range(ctx context.Context, query string, window Window) (Answer, error)
	// Instant returns the series of a query at one time, each with one value. A scalar is a series without labels.
	Instant(ctx context.Context, query string, at time.Time) (Answer, error)
}

// Answer is the answer to a query.
type Answer struct {
	Series []Series
	// Gaps is the number of samples that were left out: NaN, infinite ones, and histograms.
	Gaps int
	// Partial says what is missing, as the source does; empty if nothing is.
	Partial string
}

// Series has a finite value at each step of a window, or of an instant at the one, NaN where there is none.
type Series struct {
	Labels map[string]string
	Values []float64
}

// Reader asks a source about the workloads of one namespace.
type Reader struct {
	// Labels are the names of the labels by which the series of the source belong to pods.
	Labels appv1alpha1.SourceLabels
	// Whole reports whether a partial answer counts as none.
	Whole     bool
	endpoint  *endpoint
	namespace string
	enforced  bool
}

var _ Querier = &Reader{}

// Range returns the series of a query at each step of a window, which Align returned.
func (r *Reader) Range(ctx context.Context, query string, window Window) (Answer, error) {
	confined, err := r.confine(query)
	if err != nil {
		return Answer{}, err
	}
	return r.judgeable(r.endpoint.queryRange(ctx, confined, window))
}

// Instant returns the series of a query at a time.
func (r *Reader) Instant(ctx context.Context, query string, at time.Time) (Answer, error) {
	confined, err := r.confine(query)
	if err != nil {
		return Answer{}, err
	}
	return r.judgeable(r.endpoint.queryInstant(ctx, confined, at))
}

// judgeable returns an answer, or the error of a partial one that counts as none.
func (r *Reader) judgeable(answer Answer, err error) (Answer, error) {
	if err == nil && r.Whole && answer.Partial != "" {
		return Answer{}, &Error{Source: r.endpoint.name, Kind: KindPartial, Message: "the answer is partial: " + answer.Partial}
	}
	return answer, err
}

// IsConfined reports whether no query can find series of other namespaces.
func (r *Reader) IsConfined() bool { return r.enforced }

func (r *Reader) confine(query string) (string, error) {
	if !r.enforced {
		return query, nil
	}
	confined, err := tenancy.Confine(query, r.Labels.Namespace, r.namespace)
	if err != nil {
		return "", &Error{Source: r.endpoint.name, Kind: KindBadQuery, Message: oneline.Of(err.Error(), maxMessage), err: err}
	}
	return confined, nil
}
