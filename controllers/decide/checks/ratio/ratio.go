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

// evidenceLooks is how many looks a comparison needs to fail: none of them alone has more than four times the evidence, of which a hundred times
// is needed.
const evidenceLooks = 4

// pastSeconds is how many seconds a comparison with the past needs to fail: fifty of them have four times the evidence at most, of which two
// hundred times is needed.
const pastSeconds = 192

// Judge judges a release by two counters of its pods since it began, and of the pods before it if there are too few to compare with since then.
// Before the end, a check only fails, or passes early. What can't be told fails nothing.
func Judge(release *checks.Scene, objective *appv1alpha1.RatioObjective, counters Counters, past Past, terms measure.Terms) checks.Finding {
	series := counters.series(release)
	if counters.Apart {
		// Bad events that aren't counted any more would pass early. A counter of errors may not be there before the first one, so what some old
		// pods don't have either is not missed.
		if newPods, oldPods := counters.haveBad(series); statistics.Lost(newPods, oldPods) {
			return measure.Undecided(string(statistics.MissingOnNewPods), fmt.Sprintf("series of bad events on 0 of %s, on %d of %s",
				measure.PodCount(newPods.Wanted, "new"), oldPods.Seen, measure.PodCount(oldPods.Wanted, "old")), terms)
		}
	}
	looks := statistics.Looks(counters.Moments, series, terms.Warmup)
	byPast := comparesWithPast(objective, counters.Moments, series, terms.Warmup)
	found, err := judge(objective, looks, terms, func(settings statistics.Settings) statistics.Finding {
		if byPast {
			past.Others.mark(looks, counters.Moments, release.Began, settings)
			return statistics.Before(past.before(release, terms.Warmup), looks, settings, terms.Share, terms.Ended)
		}
		return statistics.Concurrent(looks, settings, terms.Share, terms.Ended)
	})
	if err != nil {
		return measure.Broken(appv1alpha1.ReasonEvaluationError, err.Error(), terms)
	}
	return measure.Concluded(release, found, describe(found, series, objective, byPast), numbersOf(found, objective, byPast), terms)
}

// numbersOf returns the numbers of a finding. That of a common cause leaves out the looks at which others had more as well, so its ratios would pass
// for those of the pods.
func numbersOf(found statistics.Finding, objective *appv1alpha1.RatioObjective, byPast bool) *appv1alpha1.CheckNumbers {
	switch {
	case objective.Threshold != nil:
		return checks.NumbersOfLimit(found)
	case byPast && found.Reason == statistics.CommonCause:
		return checks.NumbersSeen(found)
	default:
		return checks.NumbersOfCounts(found)
	}
}

// judge returns the finding of the statistics.
func judge(
	objective *appv1alpha1.RatioObjective, looks []statistics.Look, terms measure.Terms, compare func(statistics.Settings) statistics.Finding,
) (found statistics.Finding, err error) {
	if threshold := objective.Threshold; threshold != nil {
		limit, err := percent(threshold.Max)
		if err != nil {
			return found, fmt.Errorf("threshold.max: %w", err)
		}
		found = statistics.Threshold(looks, limit, int(threshold.Consecutive), float64(threshold.MinEvents), terms.Ended)
		if found.Verdict == statistics.Pass && found.Running > 0 && terms.LooksAgain(looks[len(looks)-1].Time) {
			found.Verdict, found.Reason = statistics.Inconclusive, statistics.InProgress
		}
		return found, nil
	}
	settings, err := settingsOf(objective.Comparison)
	if err != nil {
		return found, err
	}
	return compare(settings), nil
}

// settingsOf returns the settings of the statistics.
func settingsOf(comparison *appv1alpha1.RatioComparison) (settings statistics.Settings, err error) {
	settings = statistics.Defaults()
	settings.MinEvents = float64(comparison.MinEvents)
	if settings.Tolerance, err = strconv.ParseFloat(comparison.Tolerance, 64); err != nil {
		return settings, fmt.Errorf("comparison.tolerance: %w", err)
	}
	if settings.MinDelta, err = percent(comparison.MinDelta); err != nil {
		return settings, fmt.Errorf("comparison.minDelta: %w", err)
	}
	return settings, nil
}

// LeastLooks returns how many looks an objective needs to fail, with so many seconds between two of them.
func LeastLooks(objective *appv1alpha1.RatioObjective, interval int32) int32 {
	switch {
	case objective.Threshold != nil:
		return objective.Threshold.Consecutive
	case objective.Comparison != nil && objective.Comparison.Baseline == appv1alpha1.BaselineBefore:
		return max(evidenceLooks, (pastSeconds-1)/max(interval, 1)+1)
	}
	return evidenceLooks
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
func describe(found statistics.Finding, series []statistics.Series, objective *appv1alpha1.RatioObjective, byPast bool) string {
	news, olds := 0, 0
	for i := range series {
		if series[i].New {
			news++
		} else {
			olds++
		}
	}
	newPods, at, on := measure.PodCount(news, "new"), "at "+measure.PodCount(olds, "old"), "on "+measure.PodCount(olds, "old")
	tolerated := "tolerated x"
	if objective.Comparison != nil {
		tolerated += objective.Comparison.Tolerance
	}
	if byPast {
		at, on, tolerated = before, before, fmt.Sprintf("less than x%d is tolerated", statistics.LeastTimes)
	}
	switch {
	case found.Reason.IsMissing(): // a ratio would pass for a measured one
		text := fmt.Sprintf("series in %d of %d looks at %s", found.NewPods.Seen, found.NewPods.Wanted, newPods)
		switch {
		case objective.Threshold != nil:
			return text
		case found.OldPods.Wanted == 0:
			return text + ", and nothing " + at + " to compare with"
		}
		return text + fmt.Sprintf(", in %d of %d %s", found.OldPods.Seen, found.OldPods.Wanted, at)
	case found.Reason == statistics.CommonCause: // the finding leaves out the looks at which others had more as well
		return fmt.Sprintf("more on %s than %s, as on the other pods of the namespace", newPods, before)
	}
	text := fmt.Sprintf("%.3g%% on %s (%.0f events)", found.New*100, newPods, found.NewEvents)
	if objective.Threshold != nil {
		text += fmt.Sprintf(", at most %s is allowed", objective.Threshold.Max)
		switch {
		case found.Reason == statistics.InProgress:
			text += fmt.Sprintf(", exceeded in %d of %d looks running", found.Running, objective.Threshold.Consecutive)
		case found.Verdict != statistics.Fail && found.New > found.Threshold:
			text += fmt.Sprintf(" in %d looks running", objective.Threshold.Consecutive)
		}
		return text
	}
	text += fmt.Sprintf(", %.3g%% %s", found.Old*100, on)
	if !math.IsInf(found.Ratio, 0) {
		text += fmt.Sprintf(" (x%.3g, %s)", found.Ratio, tolerated)
	}
	return text + measure.Detectable(found)
}

// before is what a release is compared with that isn't compared with old pods at the same time.
const before = "before the release"
