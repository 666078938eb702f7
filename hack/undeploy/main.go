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

// Command undeploy removes AlterShield Operator from the cluster of the current kubeconfig, whatever of it is there, and says
// what it leaves. Workloads run on.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// defaultPatience is longer than the minute for which the operator keeps the record of a release that AlterShield Server
// wasn't told the end of.
const defaultPatience = 90 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		fmt.Fprintln(os.Stderr, "What is removed stays removed: run it again to go on.")
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	patience := flag.Duration("patience", defaultPatience, "how long the operator may take to let its records go")
	recordsOnly := flag.Bool("records-only", false, "remove the CRDs and their objects, nothing else")
	ctrl.SetLogger(logr.Discard()) // the library would complain about having none
	flag.Parse()                   // the library adds --kubeconfig
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; -h lists the flags", flag.Arg(0))
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	u, err := newUndeployer(config, os.Stdout, *patience)
	if err != nil {
		return err
	}
	if *recordsOnly {
		fmt.Printf("Removing the records of AlterShield Operator from %s\n", config.Host)
		return u.removeRecords(ctx)
	}
	fmt.Printf("Removing AlterShield Operator from %s\n", config.Host)
	if err := u.removeAll(ctx); err != nil {
		return err
	}
	left, err := u.survey(ctx)
	if err != nil {
		return errors.Join(errors.New("AlterShield Operator is removed, but what it leaves can't be listed"), err)
	}
	fmt.Print(left)
	return nil
}

func newUndeployer(config *rest.Config, out io.Writer, patience time.Duration) (*undeployer, error) {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(apiextensionsv1.AddToScheme(scheme)) // the client deletes no kinds that it doesn't know
	writer, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	return &undeployer{client: writer, out: out, patience: patience}, nil
}
