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

package rule

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/expressions"
)

// varChecks is the variable with the verdicts of a policy's checks, by name.
const varChecks = "checks"

// failWhen is the text of an expression that combines the checks of a policy.
type failWhen string

// combination is a compiled failWhen.
type combination struct {
	condition *expressions.Expression
	err       error
}

// FailWhenProblems returns why the failWhen of a policy with these checks is unusable, each with line and column where it has one; none if it
// is usable.
func (c *Compiler) FailWhenProblems(expression string, checks []string) []string {
	compiled := c.combination(expression)
	if compiled.err != nil {
		return []string{compiled.err.Error()}
	}
	var problems []string
	for _, path := range compiled.condition.Reads(varChecks) {
		if len(path) > 0 && !slices.Contains(checks, path[0]) {
			problems = append(problems, fmt.Sprintf("no check is named %s, only %s", path[0], strings.Join(checks, ", ")))
		}
	}
	return problems
}

// FailWhen reports whether failed checks fail their pods. verdicts has the verdict of each check of the policy.
func (c *Compiler) FailWhen(expression string, verdicts map[string]string) (bool, error) {
	compiled := c.combination(expression)
	if compiled.err != nil {
		return false, compiled.err
	}
	holds, err := compiled.condition.Holds(map[string]any{varChecks: verdicts}, expressions.NewBudget())
	if err != nil {
		return false, fmt.Errorf("evaluating failWhen: %w", err)
	}
	return holds, nil
}

// maxPending is how many pending checks a failWhen may read before it counts: each may get four verdicts.
const maxPending = 4

// FailsAnyhow reports whether failed checks fail their pods whatever verdicts the pending ones will have. A failWhen that can't be evaluated excuses
// nothing. It waits while too many of the checks that it reads are pending.
func (c *Compiler) FailsAnyhow(expression string, verdicts map[string]string) bool {
	compiled := c.combination(expression)
	if compiled.err != nil {
		return true
	}
	paths := compiled.condition.Reads(varChecks)
	var pending []string
	for name, verdict := range verdicts {
		isRead := slices.ContainsFunc(paths, func(path []string) bool { return len(path) == 0 || path[0] == name })
		if isRead && verdict == string(appv1alpha1.CheckPending) {
			pending = append(pending, name)
		}
	}
	return len(pending) <= maxPending && c.failsFor(expression, maps.Clone(verdicts), pending)
}

// failsFor reports whether failed checks fail their pods for each combination of verdicts of the pending ones.
func (c *Compiler) failsFor(expression string, verdicts map[string]string, pending []string) bool {
	if len(pending) == 0 {
		holds, err := c.FailWhen(expression, verdicts)
		return err != nil || holds
	}
	for _, verdict := range []appv1alpha1.CheckVerdict{
		appv1alpha1.CheckPass, appv1alpha1.CheckFail, appv1alpha1.CheckInconclusive, appv1alpha1.CheckSkipped,
	} {
		verdicts[pending[0]] = string(verdict)
		if !c.failsFor(expression, verdicts, pending[1:]) {
			return false
		}
	}
	return true
}

func (c *Compiler) combination(expression string) combination {
	if known, found := c.compiled.Get(failWhen(expression)); found {
		return known.(combination)
	}
	var compiled combination
	compiled.condition, compiled.err = expressions.Compile(c.combinations, expression, cel.BoolType, cel.CostLimit(maxCost))
	c.compiled.Add(failWhen(expression), compiled)
	return compiled
}
