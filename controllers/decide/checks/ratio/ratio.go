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
	"time"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/statistics"
)

// Terms are how a release is looked at.
type Terms struct {
	// Warmup is how long the counters of a pod don't count after it finished.
	Warmup time.Duration
	// Share is the probability with which the check may fail a release without fault.
	Share float64
	// Ended reports whether this look is the last one.
	Ended bool
	// Again is the time until the next one.
	Again time.Duration
}

// Judge judges a release by its counters. Before the end, a check only fails, or passes early. What can't be told fails nothing.
func Judge(release *checks.Scene, check *appv1alpha1.RatioCheck, counters Counters, terms Terms) checks.Finding {
	if counters.Reason != "" {
		return undecided(counters.Reason, counters.Message, terms)
	}
	series := counters.series(release)
	looks := statistics.Looks(counters.Moments, series, terms.Warmup)
	found, compared, err := judge(check, looks, terms)
	if err != nil {
		return undecided(appv1alpha1.ReasonEvaluationError, err.Error(), terms)
	}
	message := describe(found, series, compared)
	switch found.Verdict {
	case statistics.Fail:
		failed := checks.Finding{Verdict: appv1alpha1.CheckFail, Reason: string(found.Reason), Message: message}
		for i := range release.New {
			failed.Pods = append(failed.Pods, appv1alpha1.CheckedPod{Pod: release.New[i].Name, UID: release.New[i].UID, Message: message})
		}
		return failed
	case statistics.Pass:
		return checks.Finding{Verdict: appv1alpha1.CheckPass, Reason: string(found.Reason), Message: message, Final: true, Again: terms.Again}
	default:
		return undecided(string(found.Reason), message, terms)
	}
}

// undecided returns that nothing was found yet, or at the end why nothing can be told.
func undecided(reason, message string, terms Terms) checks.Finding {
	if !terms.Ended {
		return checks.Passed(terms.Again)
	}
	return checks.Finding{Verdict: appv1alpha1.CheckInconclusive, Reason: reason, Message: message}
}

// judge returns the finding of the statistics, and what it was compared with.
func judge(check *appv1alpha1.RatioCheck, looks []statistics.Look, terms Terms) (found statistics.Finding, compared string, err error) {
	if threshold := check.Threshold; threshold != nil {
		limit, err := percent(threshold.Max)
		if err != nil {
			return found, "", fmt.Errorf("threshold.max: %w", err)
		}
		compared = fmt.Sprintf("at most %s is allowed", threshold.Max)
		return statistics.Threshold(looks, limit, int(threshold.Consecutive), float64(threshold.MinEvents), terms.Ended), compared, nil
	}
	settings := statistics.Defaults()
	settings.MinEvents = float64(check.Comparison.MinEvents)
	if settings.Tolerance, err = strconv.ParseFloat(check.Comparison.Tolerance, 64); err != nil {
		return found, "", fmt.Errorf("comparison.tolerance: %w", err)
	}
	if settings.MinDelta, err = percent(check.Comparison.MinDelta); err != nil {
		return found, "", fmt.Errorf("comparison.minDelta: %w", err)
	}
	return statistics.Concurrent(looks, settings, terms.Share, terms.Ended), "tolerated x" + check.Comparison.Tolerance, nil
}

// LeastLooks returns how many looks a check needs to fail.
func LeastLooks(check *appv1alpha1.RatioCheck) int32 {
	if check.Threshold != nil {
		return check.Threshold.Consecutive
	}
	return 4 // none of them alone has more than four times the evidence, of which a hundred times is needed
}

// percent returns the number of a text like 0.5%.
func percent(text string) (float64, error) {
	value, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a percentage: %w", text, err)
	}
	return value / 100, nil
}

// describe returns the ratios as a person reads them.
func describe(found statistics.Finding, series []statistics.Series, compared string) string {
	news, olds := 0, 0
	for i := range series {
		if series[i].New {
			news++
		} else {
			olds++
		}
	}
	text := fmt.Sprintf("%.3g%% on %s (%.0f events)", found.New*100, pods(news, "new"), found.NewEvents)
	if strings.HasPrefix(compared, "tolerated") {
		text += fmt.Sprintf(", %.3g%% on %s", found.Old*100, pods(olds, "old"))
		if !math.IsInf(found.Ratio, 0) {
			text += fmt.Sprintf(" (x%.3g, %s)", found.Ratio, compared)
		}
		return text
	}
	return text + ", " + compared
}

func pods(count int, which string) string {
	if count == 1 {
		return "1 " + which + " pod"
	}
	return fmt.Sprintf("%d %s pods", count, which)
}
