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

// Command ecosystem has the operator work with cert-manager and with the Prometheus operator, which run beside it on a local control plane. It
// prints what it sees, and fails where that isn't as documented.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/traas-stack/altershield-operator/hack/altershield"
	"github.com/traas-stack/altershield-operator/hack/lab"
)

func main() {
	manager := flag.String("manager", "bin/manager", "`program` of the manager")
	flag.Parse()
	lab.Main("ecosystem", func(ctx context.Context) error { return ecosystem(ctx, *manager, os.Stdout) })
}

// ecosystem tries cert-manager, and then with its certificates the Prometheus operator.
func ecosystem(ctx context.Context, manager string, out io.Writer) (err error) {
	began := time.Now()
	l, err := lab.Open(ctx, lab.Options{Manager: manager, Config: overlay})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close(ctx)) }()
	if err := l.Serve(ctx, altershield.Options{InsertTime: -1}); err != nil {
		return err
	}
	s := newStage(l, out)
	if err := tryCertManager(ctx, s); err != nil {
		return fmt.Errorf("cert-manager: %w", err)
	}
	if err := tryPrometheusOperator(ctx, s); err != nil {
		return fmt.Errorf("the Prometheus operator: %w", err)
	}
	fmt.Fprintf(out, "\nIn %s: all is as documented.\n", time.Since(began).Round(time.Second))
	return nil
}
