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

// Command upgrade replaces an earlier version of the operator by the present one while Deployments are in all states of a release, and
// goes back to it. Two replicas are replaced one after the other. It checks that no pod restarts and no record is lost, that each release
// goes on where it was, and that everything new only observes. Then it upgrades again, and goes back as docs/install.md says while workloads
// are in states that the earlier version doesn't know.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/traas-stack/altershield-operator/hack/lab"
)

func main() {
	manager := flag.String("manager", "bin/manager", "`program` of the manager to upgrade to")
	from := flag.String("from", "9de4dbe", "`commit` of the version to upgrade from")
	flag.Parse()
	lab.Main("upgrade", func(ctx context.Context) error { return upgrade(ctx, *manager, *from, os.Stdout) })
}

// upgrade goes to the present version and back on a cluster in a temporary folder.
func upgrade(ctx context.Context, manager, from string, out io.Writer) (err error) {
	began := time.Now()
	present := version{name: "the present version"}
	for path, given := range map[*string]string{&present.manager: manager, &present.config: "config/local"} {
		if *path, err = filepath.Abs(given); err != nil {
			return fmt.Errorf("finding the present version: %w", err)
		}
	}
	earlier, remove, err := build(ctx, from, out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	r, err := open(ctx, earlier, out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.lab.Close(ctx)) }()
	if err := r.thereAndBack(ctx, earlier, present); err != nil {
		return err
	}
	fmt.Fprintf(out, "No pod restarted, and no record was lost. %s in total.\n", time.Since(began).Round(time.Second))
	return nil
}
