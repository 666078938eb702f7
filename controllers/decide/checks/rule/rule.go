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

// Package rule judges a release by a user's expression over its pods, in CEL. It has no I/O and no clock.
package rule

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/utils/lru"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/platform/expressions"
)

const (
	// language is the minor version of Kubernetes whose CEL rules are written in: the first one with distinct() for lists.
	language = 34
	// maxCost limits the cost of one evaluation, in the unit of the API server, in which 1,000,000 are meant to take 0.1 seconds.
	maxCost = 200_000
	// keptRules is how many compiled rules are kept: compiling one takes some milliseconds.
	keptRules = 512
)

// Compiler compiles rules and the failWhen of policies, and keeps those that it used last.
type Compiler struct {
	// rules is the environment of rules, combinations that of failWhen.
	rules, combinations *cel.Env
	compiled            *lru.Cache
}

// NewCompiler returns a Compiler.
func NewCompiler() (*Compiler, error) {
	text, number := apiservercel.StringType, apiservercel.IntType
	pod := expressions.Object("altershield.Pod", map[string]*apiservercel.DeclType{
		"name": text, "node": text, "labels": apiservercel.NewMapType(text, text, -1), "ready": apiservercel.BoolType,
		"restarts": number, "oomKilled": apiservercel.BoolType, "since": apiservercel.TimestampType,
	})
	release := expressions.Object("altershield.Release", map[string]*apiservercel.DeclType{
		"version": text, "number": number, "time": apiservercel.TimestampType,
	})
	workload := expressions.Object("altershield.Workload", map[string]*apiservercel.DeclType{
		"kind": text, "namespace": text, "name": text, "replicas": number,
	})
	pods := cel.ListType(pod.CelType())
	rules, err := expressions.Env(language, []cel.EnvOption{
		cel.Variable("newPods", pods), cel.Variable("oldPods", pods),
		cel.Variable("release", release.CelType()), cel.Variable("workload", workload.CelType()),
	}, pod, release, workload)
	if err != nil {
		return nil, err
	}
	combinations, err := expressions.Env(language, []cel.EnvOption{cel.Variable(varChecks, cel.MapType(cel.StringType, cel.StringType))})
	if err != nil {
		return nil, err
	}
	return &Compiler{rules, combinations, lru.New(keptRules)}, nil
}

// rule is a compiled rule.
type rule struct {
	// condition is true as long as the pods pass, message says what failed, nil for none.
	condition, message *expressions.Expression
	// problems are why the rule is unusable, each with its place.
	problems []string
}

// Problems returns why a rule is unusable, each with its field, line and column; none if it is usable.
func (c *Compiler) Problems(check *appv1alpha1.RuleCheck) []string { return c.rule(check).problems }

func (c *Compiler) rule(check *appv1alpha1.RuleCheck) rule {
	if known, found := c.compiled.Get(*check); found {
		return known.(rule)
	}
	var compiled rule
	compile := func(field, text string, result *cel.Type) *expressions.Expression {
		expression, err := expressions.Compile(c.rules, text, result, cel.CostLimit(maxCost))
		if err != nil {
			compiled.problems = append(compiled.problems, field+": "+err.Error())
		}
		return expression
	}
	compiled.condition = compile("expression", check.Expression, cel.BoolType)
	if check.MessageExpression != "" {
		compiled.message = compile("messageExpression", check.MessageExpression, cel.StringType)
	}
	c.compiled.Add(*check, compiled)
	return compiled
}

// Judge judges a release by a rule. If it is false, all new pods fail. A rule that can't be evaluated is inconclusive. Where there are no new
// pods, nothing is found.
func (c *Compiler) Judge(release *checks.Scene, check *appv1alpha1.RuleCheck) checks.Finding {
	if len(release.New) == 0 && len(c.rule(check).problems) == 0 {
		return checks.Passed(0)
	}
	return c.Evaluate(release, check)
}

// Evaluate judges a release by a rule as Judge does, also where there are no new pods.
func (c *Compiler) Evaluate(release *checks.Scene, check *appv1alpha1.RuleCheck) checks.Finding {
	compiled := c.rule(check)
	if len(compiled.problems) > 0 {
		return inconclusive(errors.New(strings.Join(compiled.problems, "; ")))
	}
	variables, budget := variablesOf(release), expressions.NewBudget()
	holds, err := compiled.condition.Holds(variables, budget)
	switch {
	case err != nil:
		return inconclusive(fmt.Errorf("evaluating the expression: %w", err))
	case holds:
		return checks.Passed(0)
	}
	message := "the expression is false: " + check.Expression
	if compiled.message != nil {
		said, err := compiled.message.Value(variables, budget)
		if err == nil {
			message = said.(string) // as the compiler checked
		} else {
			message = fmt.Sprintf("the expression is false, and evaluating messageExpression failed: %v", err)
		}
	}
	failed := checks.Finding{Verdict: appv1alpha1.CheckFail, Reason: appv1alpha1.ReasonCheckFailed, Message: message}
	for i := range release.New {
		failed.Pods = append(failed.Pods, appv1alpha1.CheckedPod{Pod: release.New[i].Name, UID: release.New[i].UID, Message: message})
	}
	return failed
}

func inconclusive(err error) checks.Finding {
	return checks.Finding{Verdict: appv1alpha1.CheckInconclusive, Reason: appv1alpha1.ReasonEvaluationError, Message: err.Error()}
}

func variablesOf(release *checks.Scene) map[string]any {
	return map[string]any{
		"newPods": podsOf(release.New), "oldPods": podsOf(release.Old),
		"release": map[string]any{"version": release.Version, "number": release.Number, "time": release.Began},
		"workload": map[string]any{
			"kind": release.Kind, "namespace": release.Namespace, "name": release.Name, "replicas": int64(release.Replicas),
		},
	}
}

// podsOf returns pods in the order of their names, so that the same pods give the same verdict.
func podsOf(pods []checks.Pod) []any {
	sorted := slices.Clone(pods)
	slices.SortFunc(sorted, func(a, b checks.Pod) int { return strings.Compare(a.Name, b.Name) })
	variables := make([]any, len(sorted))
	for i := range sorted {
		pod := &sorted[i]
		variables[i] = map[string]any{
			"name": pod.Name, "node": pod.Node, "labels": pod.Labels, "ready": pod.Ready,
			"restarts": int64(pod.Restarts), "oomKilled": pod.OutOfMemory != "", "since": pod.Since.Truncate(time.Second),
		}
	}
	return variables
}
