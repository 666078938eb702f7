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

package source

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	prometheusv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/traas-stack/altershield-operator/controllers/platform/oneline"
)

// answerOf returns a value of the Prometheus API in a window, with at most so many series.
func answerOf(value model.Value, warnings prometheusv1.Warnings, window Window, maxSeries int32) (Answer, error) {
	answer := Answer{Partial: missingBy(warnings)}
	switch value := value.(type) {
	case model.Matrix:
		for _, stream := range value[:min(len(value), int(maxSeries)+1)] { // one too many tells that there are
			answer.add(window, stream.Metric, stream.Values, len(stream.Histograms))
		}
	case model.Vector:
		for _, sample := range value {
			if sample.Histogram != nil {
				answer.add(window, sample.Metric, nil, 1)
				continue
			}
			answer.add(window, sample.Metric, []model.SamplePair{{Timestamp: sample.Timestamp, Value: sample.Value}}, 0)
		}
	case *model.Scalar:
		answer.add(window, nil, []model.SamplePair{{Timestamp: value.Timestamp, Value: value.Value}}, 0)
	default:
		return Answer{}, &Error{Kind: KindBadQuery, Message: fmt.Sprintf("the query returns a %s, not numbers", value.Type())}
	}
	if len(answer.Series) > int(maxSeries) {
		return Answer{}, &Error{Kind: KindTooLarge, Message: fmt.Sprintf("the answer has more than limits.maxSeries, %d series", maxSeries)}
	}
	return answer, nil
}

// missingBy returns what of an answer is missing by the first of its warnings in order, empty if nothing is. Thanos, Cortex and the remote read of
// Prometheus tell in words of their own that a part of them is away, so each warning counts but those of the engine of PromQL. Those are about the
// query and what it finds, such as a mix of histograms and floats: all stores answered, and a check that counted them would never be judged. Infos
// come apart from warnings, but not from a Prometheus before 2.54.
func missingBy(warnings prometheusv1.Warnings) string {
	missing := slices.DeleteFunc(slices.Sorted(slices.Values(warnings)), func(warning string) bool {
		return strings.HasPrefix(warning, annotations.PromQLWarning.Error()+": ") || strings.HasPrefix(warning, annotations.PromQLInfo.Error()+": ") ||
			strings.HasSuffix(warning, " more warning annotations omitted")
	})
	if len(missing) == 0 {
		return ""
	}
	return oneline.Of(missing[0], maxMessage)
}

// add adds a series. Series of which nothing is left stay: they tell that there is something without a number.
func (a *Answer) add(window Window, metric model.Metric, samples []model.SamplePair, histograms int) {
	series := Series{Labels: make(map[string]string, len(metric)), Values: slices.Repeat([]float64{math.NaN()}, window.steps())}
	for name, value := range metric {
		series.Labels[string(name)] = string(value)
	}
	a.Gaps += histograms
	for _, pair := range samples {
		value := float64(pair.Value)
		if math.IsNaN(value) || math.IsInf(value, 0) {
			a.Gaps++
		} else if step := window.stepAt(pair.Timestamp.Time()); step >= 0 {
			series.Values[step] = value
		}
	}
	a.Series = append(a.Series, series)
}

// failureOf returns the failure that the API client returned: one of the exchange, or of decoding an answer that is none of the API. The
// latter's message may have parts of the body, so it isn't shown.
func failureOf(err error) *Error {
	if failure, ok := errors.AsType[*Error](err); ok {
		return failure
	}
	return &Error{Kind: KindUnavailable, Message: "the answer is not one of the Prometheus API: see spec.url", err: err}
}
