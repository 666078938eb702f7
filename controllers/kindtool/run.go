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

// Package kindtool implements `manager kind`: it infers ControlledKinds from CRDs, tries them on files, and renders their rules as
// policies.
package kindtool

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/workload/declared"
)

const usage = `Usage:
  manager kind infer [--version v1] <crd.yaml>
        Print the ControlledKind that a CustomResourceDefinition suggests, and the ClusterRole that the operator needs for it.
  manager kind test --kind <kind.yaml> [--crd <crd.yaml>] [-f <new.yaml>] [--old <old.yaml>]
        Print the effects of creating (-f), updating (-f and --old) or deleting (--old) an object. Exits with 1 if it is denied.
  manager kind policy --kind <kind.yaml> [--crd <crd.yaml>]
        Print the rules of a ControlledKind as a ValidatingAdmissionPolicy, which is enforced while the operator is down.
The file - is the standard input. Without --crd, the paths of the ControlledKind are not checked against a schema.
`

// Run runs one of the commands with its arguments.
func Run(args []string, in io.Reader, out io.Writer, clock clock.PassiveClock) error {
	commands := map[string]func(tool, []string) error{"infer": tool.infer, "test": tool.test, "policy": tool.policy}
	name := ""
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	command, known := commands[name]
	if !known {
		if name == "-h" || name == "--help" || name == "help" {
			_, err := io.WriteString(out, usage)
			return err
		}
		return fmt.Errorf("unknown command %q of kind\n%s", name, usage)
	}
	err := command(tool{in: in, out: out, now: clock.Now}, args)
	if errors.Is(err, flag.ErrHelp) {
		_, err = io.WriteString(out, usage)
	}
	return err
}

// tool reads files and prints.
type tool struct {
	in  io.Reader
	out io.Writer
	now func() time.Time
}

// parse parses flags, and returns the arguments after them.
func parse(args []string, values map[string]*string) ([]string, error) {
	flags := flag.NewFlagSet("kind", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the error is returned
	for name, value := range values {
		flags.StringVar(value, name, "", "")
	}
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	return flags.Args(), nil
}

func (t tool) infer(args []string) error {
	var version string
	files, err := parse(args, map[string]*string{"version": &version})
	if err != nil {
		return err
	}
	if len(files) != 1 {
		return fmt.Errorf("expected one file with a CustomResourceDefinition after the flags, got %d arguments", len(files))
	}
	definition, err := t.definition(files[0], version)
	if err != nil {
		return err
	}
	kind, notes := declared.Infer(definition)
	for _, note := range notes {
		fmt.Fprintf(t.out, "# %s\n", note)
	}
	return t.print(kind, declared.ClusterRole(definition))
}

func (t tool) policy(args []string) error {
	var kindFile, crdFile string
	rest, err := parse(args, map[string]*string{"kind": &kindFile, "crd": &crdFile})
	if err != nil {
		return err
	}
	if kindFile == "" || len(rest) > 0 {
		return errors.New("expected --kind and optionally --crd, and no other arguments")
	}
	kind, err := t.compile(kindFile, crdFile, nil)
	if err != nil {
		return err
	}
	policy, binding := declared.Policy(kind)
	if policy == nil {
		return fmt.Errorf("%s has neither rules nor immutable fields", kindFile)
	}
	return t.print(policy, binding)
}

// print writes objects as YAML, without their empty statuses.
func (t tool) print(objects ...any) error {
	texts := make([]string, len(objects))
	for i, object := range objects {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return fmt.Errorf("writing %T as YAML: %w", object, err)
		}
		delete(fields, "status")
		text, err := yaml.Marshal(fields)
		if err != nil {
			return fmt.Errorf("writing %T as YAML: %w", object, err)
		}
		texts[i] = string(text)
	}
	_, err := io.WriteString(t.out, strings.Join(texts, "---\n"))
	return err
}

// definition reads a CustomResourceDefinition.
func (t tool) definition(file, version string) (declared.Definition, error) {
	text, err := t.document(file, "CustomResourceDefinition")
	if err != nil {
		return declared.Definition{}, err
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return declared.Definition{}, fmt.Errorf("reading the CustomResourceDefinition in %s: %w", file, err)
	}
	if crd.APIVersion != apiextensionsv1.SchemeGroupVersion.String() {
		return declared.Definition{}, fmt.Errorf("the CustomResourceDefinition in %s has apiVersion %s, not %s", file, crd.APIVersion, apiextensionsv1.SchemeGroupVersion)
	}
	definition, err := declared.DefinitionOf(&crd, version)
	if err != nil {
		return declared.Definition{}, fmt.Errorf("%s: %w", file, err)
	}
	return definition, nil
}

// compile reads a ControlledKind and compiles it. Without a CRD, the kind is that of the object.
func (t tool) compile(kindFile, crdFile string, object *identity) (declared.Kind, error) {
	text, err := t.document(kindFile, "ControlledKind")
	if err != nil {
		return nil, err
	}
	var kind appv1alpha1.ControlledKind
	if err := yaml.UnmarshalStrict(text, &kind); err != nil {
		return nil, fmt.Errorf("reading the ControlledKind in %s: %w", kindFile, err)
	}
	definition := guess(&kind, object)
	if crdFile != "" {
		if definition, err = t.definition(crdFile, kind.Spec.Version); err != nil {
			return nil, err
		}
	}
	compiler, err := declared.NewCompiler()
	if err != nil {
		return nil, err
	}
	compiled, problems := compiler.Compile(&kind, definition)
	if len(problems) > 0 {
		return nil, fmt.Errorf("ControlledKind %s in %s: %w", kind.Name, kindFile, problems.ToAggregate())
	}
	return compiled, nil
}
