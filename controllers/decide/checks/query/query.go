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

// Package query judges a release by the one value of a user's own query in PromQL.
package query

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

// ReasonNotOneSeries means that the query returns several series, of which none is the one to judge by.
const ReasonNotOneSeries = "NotOneSeries"

// Check is a check of the type Query.
type Check struct{ Spec *appv1alpha1.QueryCheck }

var _ measure.Present = Check{}

// Source names the VerificationSource that is asked.
func (c Check) Source() string { return c.Spec.SourceRef.Name }

// Queries returns the query with the variables of the release replaced.
func (c Check) Queries(release *checks.Scene, _ appv1alpha1.SourceLabels) ([]string, error) {
	rendered, err := render(c.Spec.Query, release)
	if err != nil {
		return nil, fmt.Errorf("query: %w", err)
	}
	return []string{rendered}, nil
}

// Judge judges a release by the values of the query since its warm-up. Looks without a value neither count nor interrupt.
func (c Check) Judge(release *checks.Scene, readings measure.Readings, terms measure.Terms) checks.Finding {
	limits, problems := c.limits()
	if len(problems) > 0 {
		return measure.Broken(appv1alpha1.ReasonEvaluationError, strings.Join(problems, "; "), terms)
	}
	series := readings.Answer(0)
	if len(series) > 1 {
		return measure.Undecided(ReasonNotOneSeries, tooMany(series), terms)
	}
	warm, looks, running, last := release.Began.Add(terms.Warmup), 0, int32(0), 0.0
	for _, one := range series {
		for i, value := range one.Values {
			if !readings.Moments[i].After(warm) || math.IsNaN(value) {
				continue
			}
			looks, last = looks+1, value
			problem := limits.problem(value)
			if problem == "" {
				running = 0
				continue
			}
			if running++; running == c.Spec.Consecutive {
				failed := measure.Failed(release, appv1alpha1.ReasonCheckFailed, fmt.Sprintf("%s in %s running", problem, count(int(running))))
				failed.Numbers = limits.numbers(value)
				return failed
			}
		}
	}
	switch {
	case looks == 0:
		return measure.Undecided(string(statistics.NoData), noValue, terms)
	case running > 0 && terms.LooksAgain(readings.Step()):
		message := fmt.Sprintf("%s in %d of %s running", limits.problem(last), running, count(int(c.Spec.Consecutive)))
		undecided := measure.Undecided(string(statistics.InProgress), message, terms)
		undecided.Numbers = limits.numbers(last)
		return undecided
	case terms.Ended:
		passed := measure.Passed(appv1alpha1.ReasonCheckPassed, fmt.Sprintf("%.6g at the last of %s", last, count(looks)), terms)
		passed.Numbers = limits.numbers(last)
		return passed
	default:
		return checks.Passed(terms.Again)
	}
}

// JudgePresent passes a release if the value is within its limits now.
func (c Check) JudgePresent(release *checks.Scene, readings measure.Readings) checks.Finding {
	limits, problems := c.limits()
	series, ended := readings.Answer(0), measure.Terms{Ended: true}
	switch {
	case len(problems) > 0:
		return measure.Broken(appv1alpha1.ReasonEvaluationError, strings.Join(problems, "; "), ended)
	case len(series) > 1:
		return measure.Undecided(ReasonNotOneSeries, tooMany(series), ended)
	case len(series) == 0 || len(series[0].Values) == 0 || math.IsNaN(series[0].Values[len(series[0].Values)-1]):
		return measure.Undecided(string(statistics.NoData), noValue, ended)
	}
	value := series[0].Values[len(series[0].Values)-1]
	found := measure.Passed(appv1alpha1.ReasonCheckPassed, fmt.Sprintf("%.6g", value), ended)
	if problem := limits.problem(value); problem != "" {
		found = measure.Failed(release, appv1alpha1.ReasonCheckFailed, problem)
	}
	found.Numbers = limits.numbers(value)
	return found
}

const noValue = "the query returns no value"

func tooMany(series []measure.Series) string {
	return fmt.Sprintf("the query returns %d series instead of one: aggregate them, such as by sum()", len(series))
}

// Problems returns why the check is unusable, each with its field.
func (c Check) Problems() []string {
	limits, problems := c.limits()
	if limits.lowest > limits.highest {
		problems = append(problems, fmt.Sprintf("min: %s is larger than max, %s: no value passes", c.Spec.Min, c.Spec.Max))
	}
	if _, err := render(c.Spec.Query, &checks.Scene{}); err != nil {
		problems = append(problems, "query: "+err.Error())
	}
	return problems
}

// LeastLooks returns how many looks the check needs to fail.
func (c Check) LeastLooks(int32) int32 { return c.Spec.Consecutive }

// Spends returns that the check compares with a fixed objective.
func (c Check) Spends() measure.Spending { return measure.Nothing }

// limits are the smallest and the largest value that pass.
type limits struct{ lowest, highest float64 }

func (c Check) limits() (parsed limits, problems []string) {
	parse := func(field, text string, without float64) float64 {
		if text == "" {
			return without
		}
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s: %q is not a number: %v", field, text, err))
		}
		return value
	}
	parsed = limits{parse("min", c.Spec.Min, math.Inf(-1)), parse("max", c.Spec.Max, math.Inf(1))}
	return parsed, problems
}

// problem returns why a value doesn't pass, empty for one that does.
func (l limits) problem(value float64) string {
	switch {
	case value < l.lowest:
		return fmt.Sprintf("%.6g is below %.15g", value, l.lowest)
	case value > l.highest:
		return fmt.Sprintf("%.6g is above %.15g", value, l.highest)
	default:
		return ""
	}
}

// numbers returns a value and the limit that it exceeds, or the only one that it has.
func (l limits) numbers(value float64) *appv1alpha1.CheckNumbers {
	numbers := &appv1alpha1.CheckNumbers{New: checks.Decimal(value)}
	hasLowest, hasHighest := !math.IsInf(l.lowest, 0), !math.IsInf(l.highest, 0)
	switch {
	case value > l.highest, hasHighest && !hasLowest:
		numbers.Threshold = checks.Decimal(l.highest)
	case value < l.lowest, hasLowest && !hasHighest:
		numbers.Threshold = checks.Decimal(l.lowest)
	}
	return numbers
}

func count(looks int) string {
	if looks == 1 {
		return "1 look"
	}
	return fmt.Sprintf("%d looks", looks)
}
