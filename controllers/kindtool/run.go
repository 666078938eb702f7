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

// Package kindtool implements `manager kind`, and the verbs of the plugin: it infers ControlledKinds from CRDs, tries them on files, and renders their rules as
// policies.
package kindtool

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"k8s.io/utils/clock"

	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/declared"
)

const usage = `Usage:
  manager kind infer [--version v1] <crd.yaml>
        Print the ControlledKind that a CustomResourceDefinition suggests, and the ClusterRole that the operator needs for it.
  manager kind test --kind <kind.yaml> [--crd <crd.yaml>] [-f <new.yaml>] [--old <old.yaml>]
        Print the effects of creating (-f), updating (-f and --old) or deleting (--old) an object. Exits with 1 if it is denied. The user is
        "kind test" of the group system:authenticated.
  manager kind policy --kind <kind.yaml> [--crd <crd.yaml>]
        Print the rules of a ControlledKind as a ValidatingAdmissionPolicy, which is enforced while the operator is down.
The file - is the standard input. Without --crd, the paths of the ControlledKind are not checked against a schema, and objects
have none of its defaults.
`

// Run runs one of the commands with its arguments.
func Run(args []string, in io.Reader, out io.Writer, clock clock.PassiveClock) error {
	commands := map[string]func(printer, []string) error{"infer": printer.infer, "test": printer.test, "policy": printer.policy}
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
	err := command(printer{Tool{In: in, Now: clock.Now}, out}, args)
	if errors.Is(err, flag.ErrHelp) {
		_, err = io.WriteString(out, usage)
	}
	return err
}

// Tool reads files.
type Tool struct {
	// In is the file -.
	In  io.Reader
	Now func() time.Time
}

// printer prints what the tool returns.
type printer struct {
	Tool
	out io.Writer
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

func (p printer) infer(args []string) error {
	var version string
	files, err := parse(args, map[string]*string{"version": &version})
	if err != nil {
		return err
	}
	if len(files) != 1 {
		return fmt.Errorf("expected one file with a CustomResourceDefinition after the flags, got %d arguments", len(files))
	}
	inferred, err := p.Infer(files[0], version)
	if err != nil {
		return err
	}
	return p.print(inferred.Text())
}

// print prints a text, unless it couldn't be made.
func (p printer) print(text string, err error) error {
	if err != nil {
		return err
	}
	_, err = io.WriteString(p.out, text)
	return err
}

func (p printer) test(args []string) error {
	var files Request
	rest, err := parse(args, map[string]*string{"kind": &files.Kind, "crd": &files.CRD, "old": &files.Old, "f": &files.New})
	if err != nil {
		return err
	}
	if !files.complete() || len(rest) > 0 {
		return errors.New("expected --kind, at least one of -f and --old, and optionally --crd, and no other arguments")
	}
	effects, err := p.Try(files)
	if err != nil {
		return err
	}
	if err := effects.write(p.out); err != nil {
		return err
	}
	return effects.Denied()
}

func (p printer) policy(args []string) error {
	var kindFile, crdFile string
	rest, err := parse(args, map[string]*string{"kind": &kindFile, "crd": &crdFile})
	if err != nil {
		return err
	}
	if kindFile == "" || len(rest) > 0 {
		return errors.New("expected --kind and optionally --crd, and no other arguments")
	}
	kind, _, err := p.compile(kindFile, crdFile, nil)
	if err != nil {
		return err
	}
	policy, binding := declared.Policy(kind)
	if policy == nil {
		return fmt.Errorf("%s has neither rules nor immutable fields", kindFile)
	}
	if kind.GroupVersionKind().Version == "" {
		return fmt.Errorf("ControlledKind %s in %s has no spec.version, which a policy needs: set it, or add --crd", workload.ControlledKindName(kind), kindFile)
	}
	return p.print(yamlOf(policy, binding))
}
