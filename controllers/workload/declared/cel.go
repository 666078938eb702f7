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

	"github.com/google/cel-go/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/traas-stack/altershield-operator/controllers/platform/expressions"
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

// oldestMinor is the oldest supported minor version of Kubernetes: rules can be rendered as policies for each API server.
const oldestMinor = 30

// NewCompiler returns a Compiler.
func NewCompiler() (*Compiler, error) {
	var problems []error
	env := func(variables []cel.EnvOption, declared ...*apiservercel.DeclType) *cel.Env {
		env, err := expressions.Env(oldestMinor, variables, declared...)
		problems = append(problems, err)
		return env
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
	return expressions.Object("altershield.Release", map[string]*apiservercel.DeclType{
		"time": apiservercel.TimestampType, "number": apiservercel.IntType, "version": apiservercel.StringType,
	})
}

// requestType has the fields of the variable request in a ValidatingAdmissionPolicy.
func requestType() *apiservercel.DeclType {
	text, texts := apiservercel.StringType, apiservercel.NewListType(apiservercel.StringType, -1)
	kind := expressions.Object("kubernetes.GroupVersionKind", map[string]*apiservercel.DeclType{"group": text, "version": text, "kind": text})
	resource := expressions.Object("kubernetes.GroupVersionResource", map[string]*apiservercel.DeclType{"group": text, "version": text, "resource": text})
	user := expressions.Object("kubernetes.UserInfo", map[string]*apiservercel.DeclType{
		"username": text, "uid": text, "groups": texts, "extra": apiservercel.NewMapType(text, texts, -1),
	})
	return expressions.Object("kubernetes.AdmissionRequest", map[string]*apiservercel.DeclType{
		"kind": kind, "resource": resource, "subResource": text, "requestKind": kind, "requestResource": resource, "requestSubResource": text,
		"name": text, "namespace": text, "operation": text, "userInfo": user, "dryRun": apiservercel.BoolType, "options": apiservercel.DynType,
	})
}

// expression is compiled CEL.
type expression struct {
	*expressions.Expression
	// reads are the fields of the variable object that it depends on.
	reads []Path
}

// compile compiles an expression. The result of a condition must be a boolean.
func compile(env *cel.Env, text string, condition bool) (*expression, error) {
	var result *cel.Type
	if condition {
		result = cel.BoolType
	}
	compiled, err := expressions.Compile(env, text, result)
	if err != nil {
		return nil, err
	}
	var reads []Path
	for _, fields := range compiled.Reads(varObject) {
		var path Path
		for _, field := range fields {
			path = path.child(field)
		}
		reads = append(reads, path)
	}
	return &expression{Expression: compiled, reads: reads}, nil
}
