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
	"strings"
	"time"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/alerts"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/query"
	"github.com/traas-stack/altershield-operator/controllers/source"
)

const (
	// looksBefore is how many looks before the release are read: old pods that are gone are known by them.
	looksBefore = 2
	// pastPeriod is the time before the release with which it is compared where there are no old pods beside it, in looks of pastLook at least.
	pastPeriod, pastLook = 30 * time.Minute, time.Minute
)

// Read reads the metrics of a release that a check asks for, since the release began until its last look, or where only the
// present counts, at the last looks. The readings say why if the source can't be asked; the error is one of the API server.
func Read(ctx context.Context, sources *source.Sources, release *checks.Scene, asked decide.AskedCheck, now time.Time) (measure.Readings, error) {
	readings, err := read(ctx, sources, release, asked, asked.Last(now))
	if failure, ok := errors.AsType[*source.Error](err); ok {
		return measure.Readings{Reason: string(failure.Kind), Message: failure.Error(), Unsent: failure.Unsent()}, nil
	}
	if err != nil {
		return measure.Readings{}, fmt.Errorf("reading metrics for the check %s of %s: %w", asked.Name, asked.Policy, err)
	}
	return readings, nil
}

func read(ctx context.Context, sources *source.Sources, release *checks.Scene, asked decide.AskedCheck, now time.Time) (measure.Readings, error) {
	reader, err := sources.Reader(ctx, asked.Source(), release.Namespace)
	if err != nil {
		return measure.Readings{}, err
	}
	// It is refused here, where everything that asks comes by.
	if why := unconfined(asked.Check, reader.Labels, release); why != "" && !reader.IsConfined() && !strings.HasPrefix(asked.Policy, sources.Namespace+"/") {
		return measure.Readings{}, &source.Error{Source: asked.Source(), Kind: source.KindQueryRefused, Message: fmt.Sprintf(
			"%s move the policy %s to namespace %s", why, asked.Policy, sources.Namespace)}
	}
	queries, err := asked.Queries(release, reader.Labels)
	var ofOthers []string
	past, hasPast := asked.Check.(measure.PastCheck)
	if hasPast && err == nil {
		ofOthers, err = past.QueriesOfOthers(release, reader.Labels)
	}
	if err != nil {
		return measure.Readings{}, &source.Error{Source: asked.Source(), Kind: source.KindBadQuery, Message: err.Error()}
	}
	reader.Whole = needsWhole(asked.Check)
	start, recent := release.Began.Add(-looksBefore*asked.Interval), recentSince(release, asked.Interval, now)
	if latest := now.Add(-source.MaxSteps * asked.Interval); asked.Present && start.Before(latest) {
		start = latest // with longer steps, the last one would be of the past
	}
	readings, err := readWindows(ctx, reader, asked.Check, queries, source.Windows(start, recent, now, asked.Interval, asked.Offset))
	if err != nil || !hasPast || !past.NeedsPast(release, readings, asked.Warmup) {
		return readings, err
	}
	// The past has a window of its own: one until now would have the fewer looks before the release the older that is.
	step := asked.Interval * ((pastLook-1)/asked.Interval + 1)
	start = release.Began.Add(-pastPeriod)
	window := source.Align(start, release.Began, step, asked.Offset)
	window.Fixed = true
	before, err := readWindow(ctx, reader, asked.Check, queries, window)
	if err != nil {
		return measure.Readings{}, err
	}
	others, err := readWindows(ctx, reader, asked.Check, ofOthers, source.Windows(start, recent, now, step, asked.Offset))
	readings.Past, readings.Others = &before, &others
	return readings, err
}

// recentSince returns since when metrics are read in steps that the age of a release doesn't make longer: since its last pod finished, and for at
// least 45 of the 60 steps of a window. A step may be approved a day after the one before. While pods keep finishing, it stays for 15 steps, so that
// what was before is asked once in these.
func recentSince(release *checks.Scene, interval time.Duration, now time.Time) time.Time {
	const moves = source.MaxSteps / 4
	var finished time.Time
	latest := now.Add(-(source.MaxSteps - moves) * interval).Truncate(moves * interval)
	for i := range release.New {
		if since := release.New[i].Since; since.After(finished) {
			finished = since
		}
	}
	if finished.Before(latest) {
		return finished
	}
	return latest
}

// unconfined returns why a check may only be made by a source that keeps namespaces apart, empty for one that any source may make. Series of other
// namespaces are for no tenant: not the value of a query of its own, and not the names of alerts.
func unconfined(check measure.Check, names appv1alpha1.SourceLabels, release *checks.Scene) string {
	switch check := check.(type) {
	case query.Check:
		return "a check of the type Query could read series of every namespace: set spec.prometheus.enforceNamespace, or"
	case alerts.Check:
		if of := check.Spec.MatchLabels[names.Namespace]; of != "" && of != release.Namespace {
			return "matchLabels selects alerts of another namespace, " + of + ":"
		}
	}
	return ""
}

// needsWhole reports whether a check takes what an answer lacks for what isn't there: requests that a query of one's own counts, or an alert that
// fires. The others see of how many pods there are series. They go on while a store of Thanos is away, which may be that of another cluster.
func needsWhole(check measure.Check) bool {
	switch check.(type) {
	case query.Check, alerts.Check:
		return true
	default:
		return false
	}
}

// readWindows reads the answers to queries of a check in windows that follow each other.
func readWindows(
	ctx context.Context, reader *source.Reader, check measure.Check, queries []string, windows []source.Window,
) (whole measure.Readings, err error) {
	for i, window := range windows {
		readings, err := readWindow(ctx, reader, check, queries, window)
		if err != nil {
			return measure.Readings{}, err
		}
		if i > 0 {
			readings = whole.Then(readings)
		}
		whole = readings
	}
	return whole, nil
}

// readWindow reads the answers to queries of a check in a window.
func readWindow(
	ctx context.Context, reader *source.Reader, check measure.Check, queries []string, window source.Window,
) (measure.Readings, error) {
	readings := measure.Readings{Moments: window.Moments(), PodLabel: reader.Labels.Pod, NamespaceLabel: reader.Labels.Namespace}
	requests := measure.Requests(check, queries)
	answers, err := readAnswers(ctx, reader, requests, window)
	failure, ok := errors.AsType[*source.Error](err)
	if ok && failure.Kind == source.KindTooLarge && len(requests) < len(queries) { // each by itself may be small enough
		answers, err = readAnswers(ctx, reader, queries, window)
	}
	if err != nil {
		return measure.Readings{}, err
	}
	readings.Answers = measure.AnswersOf(check, answers)
	return readings, nil
}

// readAnswers reads the series of each request in a window.
func readAnswers(ctx context.Context, reader *source.Reader, requests []string, window source.Window) (answers [][]measure.Series, err error) {
	for _, text := range requests {
		answer, err := reader.Range(ctx, text, window)
		if err != nil {
			return nil, err
		}
		series := make([]measure.Series, len(answer.Series))
		for i := range series {
			series[i] = measure.Series(answer.Series[i])
		}
		answers = append(answers, series)
	}
	return answers, nil
}
