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

// Command manager runs AlterShield Operator: change control for the workloads of Kubernetes.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"

	_ "time/tzdata" // the image has no time zones of its own

	_ "golang.org/x/crypto/x509roots/fallback"  // the image has no certificate authorities of its own
	_ "k8s.io/client-go/plugin/pkg/client/auth" // lets a kubeconfig outside the cluster use any login method
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/traas-stack/altershield-operator/controllers"
	"github.com/traas-stack/altershield-operator/controllers/delivery"
	"github.com/traas-stack/altershield-operator/controllers/platform/buildinfo"
	"github.com/traas-stack/altershield-operator/controllers/platform/contact"
	"github.com/traas-stack/altershield-operator/controllers/platform/dynamic"
	"github.com/traas-stack/altershield-operator/controllers/platform/lazylog"
	"github.com/traas-stack/altershield-operator/controllers/platform/tracing"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/webhooks/servingcert"
)

// Set by the linker: go build -ldflags "-X main.version=... -X main.commit=...".
var (
	version = "dev"
	commit  = "unknown" //nolint:gochecknoglobals // the linker can only set variables
)

func main() {
	command := manage
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case uninstallCommand:
			command = uninstallOperator
		case kindCommand:
			command = tryKind
		case replayCommand:
			command = replayRelease
		}
	}
	if err := command(); err != nil {
		fmt.Fprintf(os.Stderr, "altershield-operator: %v\n", err)
		os.Exit(1)
	}
}

// manage runs the manager or prints its version.
func manage() error {
	var opts options
	logging := zap.Options{}
	opts.bind(flag.CommandLine)
	logging.BindFlags(flag.CommandLine)
	encoding := flag.Lookup("zap-time-encoding")
	encoding.Usage = strings.ReplaceAll(encoding.Usage, "'epoch'.", "'rfc3339'.") // its text names a default that isn't
	showVersion := flag.Bool("version", false, "Print the version and exit.")
	flag.Parse()
	if flag.NArg() > 0 { // the flags after it would have no effect
		return fmt.Errorf("unexpected argument %q; -h lists the flags", flag.Arg(0))
	}
	build := buildinfo.Build{Version: version, Commit: commit}
	if *showVersion {
		fmt.Println(build)
		return nil
	}
	ctrl.SetLogger(lazylog.New(zap.New(zap.UseFlagOptions(&logging))))

	if err := opts.validate(); err != nil {
		return err
	}
	return run(ctrl.SetupSignalHandler(), opts, build)
}

func run(ctx context.Context, opts options, build buildinfo.Build) error {
	ctrl.Log.Info("Starting AlterShield Operator", "version", build.Version, "commit", build.Commit, "go", runtime.Version())
	if err := build.Register(metrics.Registry); err != nil {
		return err
	}
	kubeconfig, operator, err := connect(ctx)
	if err != nil {
		return err
	}
	opts.refuseAPIServer(ctx, kubeconfig.Host)
	certificate := &servingcert.Source{
		Secret: client.ObjectKey{Namespace: opts.namespace, Name: opts.webhookCertSecret}, Dir: opts.webhookCertDir,
	}
	touch := contact.New(clock.RealClock{})
	kubeconfig.Wrap(touch.Wrap)
	compiler, rules, err := newCompilers()
	if err != nil {
		return err
	}
	kinds := kinds{workload.NewSet(builtIn()...), &dynamic.Runner{}, compiler}
	mgr, err := newManager(kubeconfig, opts, certificate, kinds.declared)
	if err != nil {
		return err
	}
	if err := certificate.SetupWithManager(ctx, mgr); err != nil {
		return err
	}
	tracer, err := tracing.New(ctx, opts.traces)
	if err != nil {
		return err
	}
	defer tracer.Shutdown()
	opts.server.Tracer = tracer
	verifier, receiver, err := addVerifier(mgr, opts)
	if err != nil {
		return err
	}
	measures, err := delivery.New(metrics.Registry, mgr.GetClient())
	if err != nil {
		return err
	}
	if err := controllers.SetupWithManager(ctx, mgr, controllers.Options{
		Kinds: kinds.Set, Declared: kinds.declared, Compiler: kinds.compiler, Rules: rules, Operator: operator, Namespace: opts.namespace, Clock: clock.RealClock{}, Agreed: touch.Agreed, Since: touch.Since, Metrics: metrics.Registry, Delivery: measures, Tracer: tracer,
		Verifier: verifier, FailClosed: opts.failurePolicy == failureFail, SourceGuard: opts.sourceGuard,
	}); err != nil {
		return err
	}
	roller, err := addRollback(mgr, opts, tracer, touch, kinds.declared, measures)
	if err != nil {
		return err
	}
	saved, err := addRouter(mgr, opts, receiver, tracer, roller, kinds)
	if err != nil {
		return err
	}
	if err := addWebhooks(ctx, mgr, opts, tracer, operator, kinds, rules); err != nil {
		return err
	}
	if err := addChecks(mgr); err != nil {
		return err
	}
	ending := delayCancel(ctx, opts.shutdownDelay)
	err = mgr.Start(ending)
	// The API server may be away, which may also be why the manager ended. The server of the probes has ended with it: without a signal the kubelet sends one
	// after 20 to 30 s, as the liveness probe fails.
	saved(delayCancel(ending, opts.gracefulShutdownTime))
	if err != nil {
		return fmt.Errorf("running the manager: %w", err)
	}
	return nil
}
