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

// Command coverage runs the unit tests and says how much of the decisions they reach: in each package, of the files that do
// nothing but decide. It fails where that is less than what is asked for. What talks to the API server, to other servers or to
// the file system is tested on a real control plane, which this command does without: its coverage is only shown.
//
//	go run ./hack/coverage --least 95 ./apis/... ./controllers/...
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/tabwriter"
)

func main() {
	least := flag.Float64("least", 95, "percent of the statements of pure files that tests must reach, in each package")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *least, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, least float64, patterns []string) error {
	dir, err := os.MkdirTemp("", "coverage")
	if err != nil {
		return fmt.Errorf("making a folder for the profile: %w", err)
	}
	defer os.RemoveAll(dir)
	profile := filepath.Join(dir, "profile")
	if output, err := exec.CommandContext(ctx, "go", append([]string{"test", "-short", "-coverprofile", profile}, patterns...)...).CombinedOutput(); err != nil {
		return fmt.Errorf("running the unit tests: %w\n%s", err, output)
	}
	listed, err := exec.CommandContext(ctx, "go", append([]string{"list", "-f", "{{.ImportPath}} {{.Dir}}"}, patterns...)...).Output()
	if err != nil {
		return fmt.Errorf("listing the packages: %w", err)
	}
	dirs := map[string]string{}
	for line := range strings.Lines(string(listed)) {
		path, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
		dirs[path] = dir
	}
	content, err := os.ReadFile(profile)
	if err != nil {
		return fmt.Errorf("reading the profile: %w", err)
	}
	reached, err := parseProfile(string(content))
	if err != nil {
		return err
	}
	packages, err := count(reached, func(file string) (kind, error) {
		return kindOf(filepath.Join(dirs[filepath.Dir(file)], filepath.Base(file)))
	})
	if err != nil {
		return err
	}
	return report(out, packages, least)
}

// report prints a table, and fails where tests reach less than they must.
func report(out io.Writer, packages []pkg, least float64) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "PACKAGE\tPURE\tSTATEMENTS\tREST\tSTATEMENTS")
	var low []string
	for _, shown := range packages {
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%d\n", shown.path, shown.pure, shown.pure.statements, shown.rest, shown.rest.statements)
		if shown.pure.statements > 0 && shown.pure.percent() < least {
			low = append(low, fmt.Sprintf("%s (%s)", shown.path, shown.pure))
		}
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("printing the table: %w", err)
	}
	if len(packages) == 0 {
		return errors.New("no package has a statement")
	}
	if len(low) > 0 {
		return fmt.Errorf("tests reach less than %v%% of the pure files of %s", least, strings.Join(low, ", "))
	}
	return nil
}
