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

// Package ratio judges a release by the ratio of bad events to all, from two counters of each pod.
package ratio

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
	"github.com/traas-stack/altershield-operator/controllers/decide/statistics"
)

// Judge judges a release by two counters of its pods. Before the end, a check only fails, or passes early. What can't be told fails nothing.
func Judge(release *checks.Scene, objective *appv1alpha1.RatioObjective, counters Counters, terms measure.Terms) checks.Finding {
	series := counters.series(release)
	looks := statistics.Looks(counters.Moments, series, terms.Warmup)
	found, err := judge(objective, looks, terms)
	if err != nil {
		return measure.Broken(appv1alpha1.ReasonEvaluationError, err.Error(), terms)
	}
	return measure.Concluded(release, found, describe(found, series, objective), terms)
}

// judge returns the finding of the statistics.
func judge(objective *appv1alpha1.RatioObjective, looks []statistics.Look, terms measure.Terms) (found statistics.Finding, err error) {
	if threshold := objective.Threshold; threshold != nil {
		limit, err := percent(threshold.Max)
		if err != nil {
			return found, fmt.Errorf("threshold.max: %w", err)
		}
		return statistics.Threshold(looks, limit, int(threshold.Consecutive), float64(threshold.MinEvents), terms.Ended), nil
	}
	settings := statistics.Defaults()
	settings.MinEvents = float64(objective.Comparison.MinEvents)
	if settings.Tolerance, err = strconv.ParseFloat(objective.Comparison.Tolerance, 64); err != nil {
		return found, fmt.Errorf("comparison.tolerance: %w", err)
	}
	if settings.MinDelta, err = percent(objective.Comparison.MinDelta); err != nil {
		return found, fmt.Errorf("comparison.minDelta: %w", err)
	}
	return statistics.Concurrent(looks, settings, terms.Share, terms.Ended), nil
}

// LeastLooks returns how many looks an objective needs to fail.
func LeastLooks(objective *appv1alpha1.RatioObjective) int32 {
	if objective.Threshold != nil {
		return objective.Threshold.Consecutive
	}
	return 4 // none of them alone has more than four times the evidence, of which a hundred times is needed
}

// Spends returns which part of the false alarms of a release an objective may cause.
func Spends(objective *appv1alpha1.RatioObjective) measure.Spending {
	if objective.Comparison != nil {
		return measure.Evidence
	}
	return measure.Nothing
}

// percent returns the number of a text like 0.5%.
func percent(text string) (float64, error) {
	value, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a percentage: %w", text, err)
	}
	return value / 100, nil
}

// describe returns the ratios, and what they were compared with, as a person reads them; or how many series there were, if too few.
func describe(found statistics.Finding, series []statistics.Series, objective *appv1alpha1.RatioObjective) string {
	news, olds := 0, 0
	for i := range series {
		if series[i].New {
			news++
		} else {
			olds++
		}
	}
	switch found.Reason {
	case statistics.NoData, statistics.MetricMissing, statistics.MissingOnNewPods: // a ratio would pass for a measured one
		text := fmt.Sprintf("series in %d of %d looks at %s", found.NewPods.Seen, found.NewPods.Wanted, measure.PodCount(news, "new"))
		if objective.Threshold != nil {
			return text
		}
		return text + fmt.Sprintf(", in %d of %d at %s", found.OldPods.Seen, found.OldPods.Wanted, measure.PodCount(olds, "old"))
	}
	text := fmt.Sprintf("%.3g%% on %s (%.0f events)", found.New*100, measure.PodCount(news, "new"), found.NewEvents)
	if objective.Threshold != nil {
		return text + fmt.Sprintf(", at most %s is allowed", objective.Threshold.Max)
	}
	text += fmt.Sprintf(", %.3g%% on %s", found.Old*100, measure.PodCount(olds, "old"))
	if !math.IsInf(found.Ratio, 0) {
		text += fmt.Sprintf(" (x%.3g, tolerated x%s)", found.Ratio, objective.Comparison.Tolerance)
	}
	return text + measure.Detectable(found)
}
