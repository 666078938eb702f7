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

package verification

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/ratio"
	"github.com/traas-stack/altershield-operator/controllers/source"
)

// looksBefore is how many looks before the release are read: old pods that are gone are known by them.
const looksBefore = 2

// Counters reads the counters of a release that a check asks for, since the release began. They say why if the source can't be asked; the
// error is one of the API server.
func Counters(
	ctx context.Context, sources *source.Sources, release *checks.Scene, asked decide.AskedCheck, now time.Time,
) (ratio.Counters, error) {
	counters, err := read(ctx, sources, release, asked, now)
	if failure, ok := errors.AsType[*source.Error](err); ok {
		return ratio.Counters{Reason: string(failure.Kind), Message: failure.Error()}, nil
	}
	if err != nil {
		return ratio.Counters{}, fmt.Errorf("reading metrics for the check %s of %s: %w", asked.Name, asked.Policy, err)
	}
	return counters, nil
}

func read(
	ctx context.Context, sources *source.Sources, release *checks.Scene, asked decide.AskedCheck, now time.Time,
) (ratio.Counters, error) {
	reader, err := sources.Reader(ctx, asked.Ratio.SourceRef.Name, release.Namespace)
	if err != nil {
		return ratio.Counters{}, err
	}
	bad, total, err := ratio.Queries(release, asked.Ratio, reader.Labels)
	if err != nil {
		return ratio.Counters{}, &source.Error{Source: asked.Ratio.SourceRef.Name, Kind: source.KindBadQuery, Message: err.Error()}
	}
	window := source.Align(release.Began.Add(-looksBefore*asked.Interval), now, asked.Interval)
	counters := ratio.Counters{Moments: momentsOf(window)}
	for query, into := range map[string]*map[string][]float64{bad: &counters.Bad, total: &counters.Total} {
		answer, err := reader.Range(ctx, query, window)
		if err != nil {
			return ratio.Counters{}, err
		}
		*into = valuesOf(answer, reader.Labels.Pod, counters.Moments)
	}
	return counters, nil
}

func momentsOf(window source.Window) (moments []time.Time) {
	for at := window.Start; !at.After(window.End); at = at.Add(window.Step) {
		moments = append(moments, at)
	}
	return moments
}

// valuesOf returns the values of each pod at the moments, NaN where there is none.
func valuesOf(answer source.Answer, label string, moments []time.Time) map[string][]float64 {
	values := make(map[string][]float64, len(answer.Series))
	for _, series := range answer.Series {
		of := make([]float64, len(moments))
		for i := range of {
			of[i] = math.NaN()
		}
		for _, sample := range series.Samples {
			if i, found := slices.BinarySearchFunc(moments, sample.At, time.Time.Compare); found {
				of[i] = sample.Value
			}
		}
		values[series.Labels[label]] = of
	}
	return values
}
