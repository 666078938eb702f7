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

package expressions

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// Reads returns the paths in a variable that an expression depends on, as names of fields, each once. An empty path means the whole variable.
func (e *Expression) Reads(variable string) [][]string {
	var found [][]string
	var visit func(ast.NavigableExpr)
	visit = func(expr ast.NavigableExpr) {
		if path, isPath := selected(expr, variable); isPath {
			if !slices.ContainsFunc(found, func(known []string) bool { return slices.Equal(known, path) }) {
				found = append(found, path)
			}
			return
		}
		for _, child := range expr.Children() {
			visit(child)
		}
	}
	visit(ast.NavigateAST(e.checked))
	return found
}

// selected returns the path of an expression that selects a field of a variable by constant names.
func selected(expr ast.Expr, variable string) ([]string, bool) {
	switch expr.Kind() {
	case ast.IdentKind:
		return nil, expr.AsIdent() == variable
	case ast.SelectKind:
		above, isPath := selected(expr.AsSelect().Operand(), variable)
		return append(slices.Clip(above), expr.AsSelect().FieldName()), isPath
	case ast.CallKind:
		call := expr.AsCall()
		byName := slices.Contains([]string{operators.Index, operators.OptIndex, operators.OptSelect}, call.FunctionName())
		if !byName || len(call.Args()) != 2 || call.Args()[1].Kind() != ast.LiteralKind {
			return nil, false
		}
		key, isText := call.Args()[1].AsLiteral().(types.String)
		above, isPath := selected(call.Args()[0], variable)
		return append(slices.Clip(above), string(key)), isPath && isText
	default:
		return nil, false
	}
}
