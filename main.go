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

// Command manager runs AlterShield Operator: change control for Kubernetes Deployments.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"time"

	_ "golang.org/x/crypto/x509roots/fallback" // the image has no certificate authorities of its own
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // lets a kubeconfig outside the cluster use any login method
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers"
	"github.com/traas-stack/altershield-operator/controllers/history"
	"github.com/traas-stack/altershield-operator/controllers/platform/buildinfo"
	"github.com/traas-stack/altershield-operator/controllers/platform/contact"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/platform/tracing"
	"github.com/traas-stack/altershield-operator/controllers/rollback"
	"github.com/traas-stack/altershield-operator/controllers/verifier/altershield"
	"github.com/traas-stack/altershield-operator/routers"
	"github.com/traas-stack/altershield-operator/runnable"
	"github.com/traas-stack/altershield-operator/webhooks"
	"github.com/traas-stack/altershield-operator/webhooks/servingcert"
)

const (
	leaderElectionID = "altershieldoperator.app.ops.cloud.alipay.com"
	// reconciliationTimeout ends a reconcile whose API server doesn't answer; the work queue tries again.
	reconciliationTimeout = time.Minute
	// serverTimeout ends a call to an AlterShield Server that doesn't answer; the work queue tries again.
	serverTimeout = 5 * time.Second
)

// Stamped by the linker: go build -ldflags "-X main.version=... -X main.commit=...".
var (
	version = "dev"
	commit  = "unknown" //nolint:gochecknoglobals // the linker stamps nothing but variables
)

type options struct {
	namespace            string
	metricsAddress       string
	healthProbeAddress   string
	pprofAddress         string
	webhookPort          int
	webhookCertDir       string
	webhookCertSecret    string
	leaderElect          bool
	gracefulShutdownTime time.Duration
	shutdownDelay        time.Duration
	server               altershield.Config
	failurePolicy        string
	callbackAddress      string
	callbackCertDir      string
	traces               tracing.Config
}

const failurePass, failureFail = "pass", "fail"

func (o *options) bind(flags *flag.FlagSet) {
	flags.StringVar(&o.namespace, "namespace", appv1alpha1.SystemNamespace,
		"Namespace of the operator: its settings (OpsConfigInfo objects) and its leader election lease live there.")
	flags.StringVar(&o.metricsAddress, "metrics-bind-address", ":8089",
		"Address of the metrics endpoint, served over TLS to users whom Kubernetes lets get /metrics. 0 turns it off.")
	flags.StringVar(&o.healthProbeAddress, "health-probe-bind-address", ":8088",
		"Address of /healthz and /readyz. Ready means: caches synced, webhooks and callbacks served.")
	flags.StringVar(&o.pprofAddress, "pprof-bind-address", "0",
		"Address of /debug/pprof. It asks nobody who they are, and shows what is in memory: bind nothing but loopback, such as 127.0.0.1:6060. 0 turns it off.")
	flags.IntVar(&o.webhookPort, "webhook-port", 1443, "Port of the admission webhooks.")
	flags.StringVar(&o.webhookCertDir, "webhook-cert-dir", "/tmp/k8s-webhook-server/serving-certs",
		"Directory of the certificate of the webhooks and the metrics: tls.crt and tls.key, read again when they change. "+
			"With --webhook-cert-secret: a directory for the operator to write to.")
	flags.StringVar(&o.webhookCertSecret, "webhook-cert-secret", "",
		"Secret of --namespace that keeps the certificate of the webhooks and the metrics. The operator fills an empty one, renews the certificate, "+
			"and has the webhook configurations trust it. Empty: the files of --webhook-cert-dir are used.")
	flags.BoolVar(&o.leaderElect, "leader-elect", false,
		"Elect a leader among several replicas: the leader reconciles, every replica serves the webhooks and the callbacks.")
	flags.DurationVar(&o.shutdownDelay, "shutdown-delay", 0,
		"How long to go on as before when the operator is told to stop, until nobody sends it requests any more.")
	flags.DurationVar(&o.gracefulShutdownTime, "graceful-shutdown-timeout", 30*time.Second,
		"How long reconciles and requests may take to finish when the operator is told to stop.")
	o.traces.Bind(flags)
	o.bindServer(flags)
}

func (o *options) bindServer(flags *flag.FlagSet) {
	o.server.Bind(flags)
	flags.StringVar(&o.failurePolicy, "altershield-failure-policy", failurePass,
		"What a batch counts as that AlterShield Server did not check, because it refused or was not there in time: pass or fail.")
	flags.StringVar(&o.callbackAddress, "callback-bind-address", ":8080",
		"Address of the callbacks of AlterShield Server, and of the questions and rollbacks of people, who send their token. 0 turns it off.")
	flags.StringVar(&o.callbackCertDir, "callback-cert-dir", "",
		"Directory of the certificate for --callback-bind-address: tls.crt and tls.key, read again when they change. Empty: no TLS, "+
			"since AlterShield Server v1.0 sends no server name and knows only the certificate authorities of its Java.")
}

func (o *options) validate() error {
	var problems []error
	if faults := validation.IsDNS1123Label(o.namespace); len(faults) > 0 {
		problems = append(problems, fmt.Errorf("--namespace %q is not the name of a namespace: %s", o.namespace, faults[0]))
	}
	if o.webhookPort < 1 || o.webhookPort > 65535 {
		problems = append(problems, fmt.Errorf("--webhook-port %d is not a port: it must be from 1 to 65535", o.webhookPort))
	}
	if err := o.validateWebhookCert(); err != nil {
		problems = append(problems, err)
	}
	if o.shutdownDelay < 0 {
		problems = append(problems, fmt.Errorf("--shutdown-delay %s is negative", o.shutdownDelay))
	}
	if o.gracefulShutdownTime < 0 {
		problems = append(problems, fmt.Errorf("--graceful-shutdown-timeout %s is negative", o.gracefulShutdownTime))
	}
	return errors.Join(append(problems, o.traces.Validate(), o.validateServer())...)
}

func (o *options) validateWebhookCert() error {
	if o.webhookCertSecret == "" {
		if err := checkCertificate(o.webhookCertDir); err != nil {
			return fmt.Errorf("--webhook-cert-dir: the webhooks need a certificate: %w", err)
		}
		return nil
	}
	if faults := validation.IsDNS1123Subdomain(o.webhookCertSecret); len(faults) > 0 {
		return fmt.Errorf("--webhook-cert-secret %q is not the name of a Secret: %s", o.webhookCertSecret, faults[0])
	}
	return nil
}

func (o *options) validateServer() error {
	var problems []error
	if o.server.Address != "" {
		problems = append(problems, o.server.Validate())
		if o.callbackAddress == "0" {
			problems = append(problems, errors.New("--callback-bind-address=0: AlterShield Server could tell no verdict"))
		}
	}
	if o.failurePolicy != failurePass && o.failurePolicy != failureFail {
		problems = append(problems, fmt.Errorf("--altershield-failure-policy %q must be %s or %s", o.failurePolicy, failurePass, failureFail))
	}
	if o.callbackCertDir != "" {
		if err := checkCertificate(o.callbackCertDir); err != nil {
			problems = append(problems, fmt.Errorf("--callback-cert-dir: %w", err))
		}
	}
	return errors.Join(problems...)
}

func checkCertificate(dir string) error {
	_, certFault := os.Stat(filepath.Join(dir, "tls.crt"))
	_, keyFault := os.Stat(filepath.Join(dir, "tls.key"))
	return errors.Join(certFault, keyFault)
}

func main() {
	var opts options
	logging := zap.Options{}
	opts.bind(flag.CommandLine)
	logging.BindFlags(flag.CommandLine)
	showVersion := flag.Bool("version", false, "Print the version and exit.")
	flag.Parse()
	build := buildinfo.Build{Version: version, Commit: commit}
	if *showVersion {
		fmt.Println(build)
		return
	}
	ctrl.SetLogger(events.Lazy(zap.New(zap.UseFlagOptions(&logging))))

	err := opts.validate()
	if err == nil {
		err = run(ctrl.SetupSignalHandler(), opts, build)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "altershield-operator: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, opts options, build buildinfo.Build) error {
	ctrl.Log.Info("AlterShield Operator starts", "version", build.Version, "commit", build.Commit, "go", runtime.Version())
	if err := build.Register(metrics.Registry); err != nil {
		return err
	}
	kubeconfig, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the API server: %w", err)
	}
	operator, err := whoAmI(ctx, kubeconfig)
	if err != nil {
		return err
	}
	certificate := &servingcert.Source{
		Secret: client.ObjectKey{Namespace: opts.namespace, Name: opts.webhookCertSecret}, Dir: opts.webhookCertDir,
	}
	touch := contact.New(clock.RealClock{})
	kubeconfig.Wrap(touch.Wrap)
	mgr, err := newManager(kubeconfig, opts, certificate)
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
	keyring := altershield.NewKeyring(opts.server.Credentials)
	verifier, err := addVerifier(mgr, opts, keyring)
	if err != nil {
		return err
	}
	if err := controllers.SetupWithManager(ctx, mgr, controllers.Options{
		Namespace: opts.namespace, Clock: clock.RealClock{}, Metrics: metrics.Registry, Tracer: tracer,
		Verifier: verifier, Cluster: opts.server.Cluster, FailClosed: opts.failurePolicy == failureFail,
	}); err != nil {
		return err
	}
	roller, err := addRollback(mgr, opts, tracer, touch)
	if err != nil {
		return err
	}
	if err := addRouter(mgr, opts, keyring, tracer, roller); err != nil {
		return err
	}
	if err := addWebhooks(ctx, mgr, opts, tracer, operator); err != nil {
		return err
	}
	if err := addChecks(mgr); err != nil {
		return err
	}
	if err := mgr.Start(lateBy(ctx, opts.shutdownDelay)); err != nil {
		return fmt.Errorf("running the manager: %w", err)
	}
	return nil
}

// lateBy is a context that ends some time after another one.
func lateBy(ctx context.Context, delay time.Duration) context.Context {
	late, end := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() { time.AfterFunc(delay, end) })
	return late
}

// addVerifier is nil where no AlterShield Server is configured.
func addVerifier(mgr ctrl.Manager, opts options, keyring *altershield.Keyring) (controllers.Verifier, error) {
	if opts.server.Address == "" {
		return nil, nil
	}
	serverMetrics, err := altershield.NewMetrics(metrics.Registry)
	if err != nil {
		return nil, err
	}
	opts.server.Timeout = serverTimeout
	server := altershield.NewClient(opts.server, keyring, clock.RealClock{}, serverMetrics)
	if err := mgr.Add(server); err != nil {
		return nil, fmt.Errorf("adding the heartbeat of AlterShield Server: %w", err)
	}
	return server, nil
}

// addRollback adds the Runnable that takes releases back, and returns what it does that with.
func addRollback(mgr ctrl.Manager, opts options, tracer *tracing.Tracer, touch *contact.Contact) (*rollback.Roller, error) {
	rollbacks, err := rollback.NewMetrics(metrics.Registry)
	if err != nil {
		return nil, err
	}
	obstacles, err := runnable.NewMetrics(metrics.Registry)
	if err != nil {
		return nil, err
	}
	if err := mgr.Add(touch); err != nil {
		return nil, fmt.Errorf("adding what notes when the operator leads: %w", err)
	}
	kube, live, recorder := mgr.GetClient(), mgr.GetAPIReader(), controllers.NewRecorder(mgr)
	roller := &rollback.Roller{
		Client: kube, Live: live, History: &history.Keeper{Client: kube, Live: live},
		Recorder: recorder, Metrics: rollbacks, Clock: clock.RealClock{}, Tracer: tracer,
		Namespace: opts.namespace,
	}
	decider := &runnable.Rollback{
		Client: kube, Live: live, Roller: roller, Recorder: recorder, Metrics: obstacles, Clock: clock.RealClock{}, Contact: touch,
		Namespace: opts.namespace,
	}
	return roller, decider.SetupWithManager(mgr)
}

func addRouter(mgr ctrl.Manager, opts options, keyring *altershield.Keyring, tracer *tracing.Tracer, roller routers.Roller) error {
	if opts.callbackAddress == "0" {
		return nil
	}
	routing := routers.Options{
		Address: opts.callbackAddress, CertDir: opts.callbackCertDir,
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Cache: mgr.GetCache(),
		Clock: clock.RealClock{}, Metrics: metrics.Registry, Tracer: tracer, Roller: roller,
	}
	if opts.server.Address != "" {
		routing.Keyring = keyring
	}
	router, err := routers.New(routing)
	if err != nil {
		return err
	}
	if err := mgr.Add(router); err != nil {
		return fmt.Errorf("adding the router: %w", err)
	}
	if err := mgr.AddReadyzCheck("router", router.Ready); err != nil {
		return fmt.Errorf("adding the readiness check of the router: %w", err)
	}
	return nil
}

func addWebhooks(ctx context.Context, mgr ctrl.Manager, opts options, tracer *tracing.Tracer, operator string) error {
	if err := webhooks.Watch(ctx, mgr.GetCache()); err != nil {
		return err
	}
	if err := webhooks.Register(mgr.GetWebhookServer(), webhooks.Options{
		Reader: mgr.GetCache(), Live: mgr.GetAPIReader(), Operator: operator, Clock: clock.RealClock{}, Metrics: metrics.Registry,
		Recorder: mgr.GetEventRecorder(controllers.Reporter), Tracer: tracer, Leaving: ctx.Done(),
	}); err != nil {
		return err
	}
	return webhooks.RegisterExpiry(metrics.Registry, fmt.Sprintf("localhost:%d", opts.webhookPort))
}

func newManager(kubeconfig *rest.Config, opts options, certificate *servingcert.Source) (ctrl.Manager, error) {
	scheme := apiruntime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(appv1alpha1.AddToScheme(scheme))
	scoped, err := scope.CacheOptions()
	if err != nil {
		return nil, err
	}
	certificate.Watch(&scoped)
	mgr, err := ctrl.NewManager(kubeconfig, ctrl.Options{
		Scheme: scheme,
		Cache:  scoped,
		Client: client.Options{
			FieldOwner: "altershield-operator",
			// A reconcile that doesn't see its own last write would make it again.
			Cache: &client.CacheOptions{EnableReadYourWritesConsistency: ptr.To(true)},
		},
		Controller: config.Controller{ReconciliationTimeout: reconciliationTimeout},
		Metrics: metricsserver.Options{
			BindAddress:    opts.metricsAddress,
			SecureServing:  true,
			CertDir:        opts.webhookCertDir,
			TLSOpts:        certificate.TLSOptions(),
			FilterProvider: filters.WithAuthenticationAndAuthorization,
		},
		HealthProbeBindAddress: opts.healthProbeAddress,
		PprofBindAddress:       opts.pprofAddress,
		WebhookServer: webhook.NewServer(webhook.Options{
			Port: opts.webhookPort, CertDir: opts.webhookCertDir, TLSOpts: certificate.TLSOptions(),
		}),
		LeaderElection:                opts.leaderElect,
		LeaderElectionID:              leaderElectionID,
		LeaderElectionNamespace:       opts.namespace,
		LeaderElectionReleaseOnCancel: true,
		GracefulShutdownTimeout:       &opts.gracefulShutdownTime,
	})
	if err != nil {
		return nil, fmt.Errorf("creating the manager: %w", err)
	}
	return mgr, nil
}

// whoAmI asks for the name that the API server knows the operator by: the webhooks let its own updates pass.
func whoAmI(ctx context.Context, kubeconfig *rest.Config) (string, error) {
	clientset, err := kubernetes.NewForConfig(kubeconfig)
	if err != nil {
		return "", fmt.Errorf("creating a client: %w", err)
	}
	review, err := clientset.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("asking the API server for the operator's own user name: %w", err)
	}
	return review.Status.UserInfo.Username, nil
}

func addChecks(mgr ctrl.Manager) error {
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("adding the health check: %w", err)
	}
	if err := mgr.AddReadyzCheck("webhooks", mgr.GetWebhookServer().StartedChecker()); err != nil {
		return fmt.Errorf("adding the readiness check of the webhooks: %w", err)
	}
	if err := mgr.AddReadyzCheck("caches", cachesSynced(mgr.GetCache())); err != nil {
		return fmt.Errorf("adding the readiness check of the caches: %w", err)
	}
	return nil
}

func cachesSynced(informers cache.Informers) healthz.Checker {
	return func(request *http.Request) error {
		ctx, cancel := context.WithTimeout(request.Context(), 100*time.Millisecond)
		defer cancel()
		if !informers.WaitForCacheSync(ctx) {
			return errors.New("the caches are not synced yet")
		}
		return nil
	}
}
