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

// Package expressions compiles and evaluates CEL as the API server does: with its libraries and its limits of cost.
package expressions

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/util/version"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// Env returns an environment with variables and the types that they have. Its CEL is that of a minor version of Kubernetes 1.
func Env(minor uint, variables []cel.EnvOption, declared ...*apiservercel.DeclType) (*cel.Env, error) {
	extended, err := environment.MustBaseEnvSet(version.MajorMinor(1, minor)).Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0), EnvOptions: variables, DeclTypes: declared,
	})
	if err != nil {
		return nil, fmt.Errorf("preparing CEL: %w", err)
	}
	return extended.NewExpressionsEnv(), nil
}

// Object returns a type with named fields.
func Object(name string, fields map[string]*apiservercel.DeclType) *apiservercel.DeclType {
	declared := make(map[string]*apiservercel.DeclField, len(fields))
	for field, kind := range fields {
		declared[field] = apiservercel.NewDeclField(field, kind, false, nil, nil)
	}
	return apiservercel.NewObjectType(name, declared)
}

// Expression is compiled CEL.
type Expression struct {
	Text    string
	checked *ast.AST
	program cel.Program
}

// Compile compiles an expression whose result must have a type, nil for any. An error names the line and the column. options may lower the
// limit of the cost, for example.
func Compile(env *cel.Env, text string, result *cel.Type, options ...cel.ProgramOption) (*Expression, error) {
	checked, issues := env.Compile(text)
	if issues.Err() != nil {
		return nil, compileError(issues)
	}
	if result != nil && !checked.OutputType().IsExactType(result) {
		err := fmt.Errorf("the result has type %s, not %s", checked.OutputType(), result)
		if result == cel.BoolType {
			err = fmt.Errorf("%w; compare it with a value", err)
		}
		return nil, err
	}
	program, err := env.Program(checked, append(options, cel.InterruptCheckFrequency(celconfig.CheckFrequency))...)
	if err != nil {
		return nil, fmt.Errorf("preparing the expression: %w", err)
	}
	return &Expression{Text: text, checked: checked.NativeRep(), program: program}, nil
}

func compileError(issues *cel.Issues) error {
	var problems []string
	for _, problem := range issues.Errors() {
		problems = append(problems, fmt.Sprintf("line %d, column %d: %s", problem.Location.Line(), problem.Location.Column()+1, problem.Message))
	}
	return errors.New(strings.Join(problems, "; "))
}

// Budget is the remaining cost of all expressions for one request, in the unit of the API server.
type Budget struct{ left uint64 }

// NewBudget returns the whole budget of a request.
func NewBudget() *Budget { return &Budget{left: celconfig.RuntimeCELCostBudget} }

// evaluate evaluates an expression. Its cost is limited as in the API server: for each expression, and for all of them together.
func (e *Expression) evaluate(variables map[string]any, allowed *Budget) (ref.Val, error) {
	result, details, err := e.program.Eval(variables)
	if details != nil && details.ActualCost() != nil {
		cost := *details.ActualCost()
		if cost > allowed.left {
			allowed.left = 0
			return nil, errors.New("the expressions exceed the cost limit together")
		}
		allowed.left -= cost
	}
	if err != nil {
		return nil, err
	}
	return result, nil
}

// Holds reports whether a condition is true.
func (e *Expression) Holds(variables map[string]any, allowed *Budget) (bool, error) {
	result, err := e.evaluate(variables, allowed)
	if err != nil {
		return false, err
	}
	return result == types.True, nil
}

// Value evaluates an expression to a JSON value.
func (e *Expression) Value(variables map[string]any, allowed *Budget) (any, error) {
	result, err := e.evaluate(variables, allowed)
	if err != nil {
		return nil, err
	}
	return jsonOf(result)
}
