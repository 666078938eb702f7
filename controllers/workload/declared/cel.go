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

package declared

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apimachinery/pkg/util/version"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// Variables of expressions.
const (
	varObject    = "object"
	varOldObject = "oldObject"
	varOld       = "old"
	varRelease   = "release"
	varRequest   = "request"
)

// Compiler compiles ControlledKinds. It holds the CEL environments that all of them share.
type Compiler struct {
	when, health, hold, rule *cel.Env
}

// NewCompiler returns a Compiler for the CEL of Kubernetes 1.30, the oldest supported version: rules can be rendered as policies for
// each API server.
func NewCompiler() (*Compiler, error) {
	base := environment.MustBaseEnvSet(version.MajorMinor(1, 30))
	var problems []error
	env := func(variables []cel.EnvOption, declared ...*apiservercel.DeclType) *cel.Env {
		extended, err := base.Extend(environment.VersionedOptions{
			IntroducedVersion: version.MajorMinor(1, 0), EnvOptions: variables, DeclTypes: declared,
		})
		if err != nil {
			problems = append(problems, fmt.Errorf("preparing CEL: %w", err))
			return nil
		}
		return extended.NewExpressionsEnv()
	}
	object, oldObject := cel.Variable(varObject, cel.DynType), cel.Variable(varOldObject, cel.DynType)
	release, request := releaseType(), requestType()
	compiler := &Compiler{
		when:   env([]cel.EnvOption{object, oldObject}),
		health: env([]cel.EnvOption{object, cel.Variable(varRelease, release.CelType())}, release),
		hold:   env([]cel.EnvOption{object, cel.Variable(varOld, cel.DynType)}),
		rule:   env([]cel.EnvOption{object, oldObject, cel.Variable(varRequest, request.CelType())}, request),
	}
	return compiler, errors.Join(problems...)
}

func releaseType() *apiservercel.DeclType {
	return objectType("altershield.Release", map[string]*apiservercel.DeclType{
		"time": apiservercel.TimestampType, "number": apiservercel.IntType, "version": apiservercel.StringType,
	})
}

// requestType has the fields of the variable request in a ValidatingAdmissionPolicy.
func requestType() *apiservercel.DeclType {
	text, texts := apiservercel.StringType, apiservercel.NewListType(apiservercel.StringType, -1)
	kind := objectType("kubernetes.GroupVersionKind", map[string]*apiservercel.DeclType{"group": text, "version": text, "kind": text})
	resource := objectType("kubernetes.GroupVersionResource", map[string]*apiservercel.DeclType{"group": text, "version": text, "resource": text})
	user := objectType("kubernetes.UserInfo", map[string]*apiservercel.DeclType{
		"username": text, "uid": text, "groups": texts, "extra": apiservercel.NewMapType(text, texts, -1),
	})
	return objectType("kubernetes.AdmissionRequest", map[string]*apiservercel.DeclType{
		"kind": kind, "resource": resource, "subResource": text, "requestKind": kind, "requestResource": resource, "requestSubResource": text,
		"name": text, "namespace": text, "operation": text, "userInfo": user, "dryRun": apiservercel.BoolType, "options": apiservercel.DynType,
	})
}

func objectType(name string, fields map[string]*apiservercel.DeclType) *apiservercel.DeclType {
	declared := make(map[string]*apiservercel.DeclField, len(fields))
	for field, kind := range fields {
		declared[field] = apiservercel.NewDeclField(field, kind, false, nil, nil)
	}
	return apiservercel.NewObjectType(name, declared)
}

// expression is compiled CEL.
type expression struct {
	text    string
	program cel.Program
	// reads are the fields of the variable object that it depends on.
	reads []Path
}

// compile compiles an expression. The result of a condition must be a boolean.
func compile(env *cel.Env, text string, condition bool) (*expression, error) {
	checked, issues := env.Compile(text)
	if issues.Err() != nil {
		return nil, compileError(issues)
	}
	if condition && !checked.OutputType().IsExactType(cel.BoolType) {
		return nil, fmt.Errorf("the result has type %s, not bool; compare it with a value", checked.OutputType())
	}
	program, err := env.Program(checked, cel.InterruptCheckFrequency(celconfig.CheckFrequency))
	if err != nil {
		return nil, fmt.Errorf("preparing the expression: %w", err)
	}
	return &expression{text: text, program: program, reads: reads(checked.NativeRep())}, nil
}

func compileError(issues *cel.Issues) error {
	var problems []string
	for _, problem := range issues.Errors() {
		problems = append(problems, fmt.Sprintf("line %d, column %d: %s", problem.Location.Line(), problem.Location.Column()+1, problem.Message))
	}
	return errors.New(strings.Join(problems, "; "))
}

// budget is the remaining cost of all expressions for one request, in the unit of the API server.
type budget struct{ left uint64 }

func newBudget() *budget { return &budget{left: celconfig.RuntimeCELCostBudget} }

// evaluate evaluates an expression. Its cost is limited as in the API server: for each expression, and for all of them together.
func (e *expression) evaluate(variables map[string]any, allowed *budget) (ref.Val, error) {
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

// holds reports whether a condition is true.
func (e *expression) holds(variables map[string]any, allowed *budget) (bool, error) {
	result, err := e.evaluate(variables, allowed)
	if err != nil {
		return false, err
	}
	return result == types.True, nil
}

// value evaluates an expression to a JSON value.
func (e *expression) value(variables map[string]any, allowed *budget) (any, error) {
	result, err := e.evaluate(variables, allowed)
	if err != nil {
		return nil, err
	}
	return jsonOf(result)
}

// jsonOf converts a CEL value to a JSON value.
func jsonOf(value ref.Val) (any, error) {
	switch value := value.(type) {
	case types.Null:
		return nil, nil
	case types.Bool:
		return bool(value), nil
	case types.Int:
		return int64(value), nil
	case types.Double:
		return float64(value), nil
	case types.String:
		return string(value), nil
	case types.Timestamp:
		return value.Time.UTC().Format(time.RFC3339Nano), nil
	case traits.Mapper:
		return jsonObject(value)
	case traits.Lister:
		return jsonList(value)
	default:
		return nil, fmt.Errorf("a value of type %s has no JSON form", value.Type().TypeName())
	}
}

func jsonObject(value traits.Mapper) (any, error) {
	fields := map[string]any{}
	for keys := value.Iterator(); keys.HasNext() == types.True; {
		key := keys.Next()
		name, isText := key.(types.String)
		if !isText {
			return nil, fmt.Errorf("a field name has type %s, not string", key.Type().TypeName())
		}
		field, err := jsonOf(value.Get(key))
		if err != nil {
			return nil, err
		}
		fields[string(name)] = field
	}
	return fields, nil
}

func jsonList(value traits.Lister) (any, error) {
	elements := []any{}
	for iterator := value.Iterator(); iterator.HasNext() == types.True; {
		element, err := jsonOf(iterator.Next())
		if err != nil {
			return nil, err
		}
		elements = append(elements, element)
	}
	return elements, nil
}

// reads returns the paths in the variable object that an expression depends on. An empty path means the whole object.
func reads(checked *ast.AST) []Path {
	var found []Path
	var visit func(ast.NavigableExpr)
	visit = func(expr ast.NavigableExpr) {
		if path, isPath := selected(expr); isPath {
			if !slices.ContainsFunc(found, func(known Path) bool { return known.String() == path.String() }) {
				found = append(found, path)
			}
			return
		}
		for _, child := range expr.Children() {
			visit(child)
		}
	}
	visit(ast.NavigateAST(checked))
	return found
}

// selected returns the path of an expression that selects a field of the variable object by constant names.
func selected(expr ast.Expr) (Path, bool) {
	switch expr.Kind() {
	case ast.IdentKind:
		return Path{}, expr.AsIdent() == varObject
	case ast.SelectKind:
		above, isPath := selected(expr.AsSelect().Operand())
		return above.child(expr.AsSelect().FieldName()), isPath
	case ast.CallKind:
		call := expr.AsCall()
		byName := slices.Contains([]string{operators.Index, operators.OptIndex, operators.OptSelect}, call.FunctionName())
		if !byName || len(call.Args()) != 2 || call.Args()[1].Kind() != ast.LiteralKind {
			return Path{}, false
		}
		key, isText := call.Args()[1].AsLiteral().(types.String)
		above, isPath := selected(call.Args()[0])
		return above.child(string(key)), isPath && isText
	default:
		return Path{}, false
	}
}
