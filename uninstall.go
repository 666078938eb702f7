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

package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/traas-stack/altershield-operator/controllers/uninstall"
)

// uninstallCommand, as the first argument, removes the operator from the cluster.
const uninstallCommand = "uninstall"

func uninstallOperator() error {
	var options uninstall.Options
	options.Bind(flag.CommandLine)
	if err := flag.CommandLine.Parse(os.Args[2:]); err != nil {
		return err
	}
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; -h lists the flags", flag.Arg(0))
	}
	if err := options.Validate(); err != nil {
		return err
	}
	ctrl.SetLogger(logr.Discard()) // controller-runtime warns if none is set
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("loading the kubeconfig: %w", err)
	}
	fmt.Printf("Removing AlterShield Operator from %s\n", config.Host)
	uninstaller, err := uninstall.New(config, builtIn(), options, os.Stdout)
	if err != nil {
		return err
	}
	if err := uninstaller.Run(ctrl.SetupSignalHandler()); err != nil {
		return fmt.Errorf("uninstalling (incomplete: run it again to continue): %w", err)
	}
	return nil
}
