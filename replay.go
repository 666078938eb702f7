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
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/replaytool"
)

const (
	// replayCommand, as the first argument, says what checks would have said about a past release. It changes nothing.
	replayCommand = "replay"
	// exitFailed is the exit code if a check would have failed.
	exitFailed = 4
)

func replayRelease() error {
	var options replaytool.Options
	options.Bind(flag.CommandLine)
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), replaytool.Usage)
		flag.PrintDefaults()
	}
	if err := flag.CommandLine.Parse(os.Args[2:]); err != nil {
		return err
	}
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; -h lists the flags", flag.Arg(0))
	}
	ctrl.SetLogger(logr.Discard()) // controller-runtime warns if none is set
	failed, err := replaytool.Run(ctrl.SetupSignalHandler(), options, connectReader, time.Now(), os.Stdout)
	if err != nil {
		return err
	}
	if failed {
		os.Exit(exitFailed)
	}
	return nil
}

// connectReader returns a reader of the cluster of the kubeconfig.
func connectReader() (client.Reader, error) {
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("loading the kubeconfig: %w", err)
	}
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(appv1alpha1.AddToScheme(scheme))
	reader, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	return reader, nil
}
