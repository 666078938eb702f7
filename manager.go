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
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers"
	"github.com/traas-stack/altershield-operator/controllers/breakglass"
	"github.com/traas-stack/altershield-operator/controllers/changeapproval"
	"github.com/traas-stack/altershield-operator/controllers/changefreeze"
	"github.com/traas-stack/altershield-operator/controllers/changeverdict"
	"github.com/traas-stack/altershield-operator/controllers/controlledkind"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/rule"
	"github.com/traas-stack/altershield-operator/controllers/delivery"
	"github.com/traas-stack/altershield-operator/controllers/history"
	"github.com/traas-stack/altershield-operator/controllers/pace"
	"github.com/traas-stack/altershield-operator/controllers/platform/apiserver"
	"github.com/traas-stack/altershield-operator/controllers/platform/bounded"
	"github.com/traas-stack/altershield-operator/controllers/platform/bykind"
	"github.com/traas-stack/altershield-operator/controllers/platform/contact"
	"github.com/traas-stack/altershield-operator/controllers/platform/dynamic"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/platform/tracing"
	"github.com/traas-stack/altershield-operator/controllers/releasepolicy"
	"github.com/traas-stack/altershield-operator/controllers/rollback"
	"github.com/traas-stack/altershield-operator/controllers/settings"
	"github.com/traas-stack/altershield-operator/controllers/source"
	"github.com/traas-stack/altershield-operator/controllers/verificationpolicy"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
	"github.com/traas-stack/altershield-operator/controllers/verifier/altershield"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/cronjob"
	"github.com/traas-stack/altershield-operator/controllers/workload/daemonset"
	"github.com/traas-stack/altershield-operator/controllers/workload/declared"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
	"github.com/traas-stack/altershield-operator/controllers/workload/job"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
	"github.com/traas-stack/altershield-operator/routers"
	"github.com/traas-stack/altershield-operator/runnable"
	"github.com/traas-stack/altershield-operator/webhooks"
	"github.com/traas-stack/altershield-operator/webhooks/servingcert"
)

const (
	leaderElectionID = "altershieldoperator.app.ops.cloud.alipay.com"
	// reconciliationTimeout bounds a reconcile if the API server doesn't answer. The work queue retries it.
	reconciliationTimeout = time.Minute
	// serverTimeout bounds a call of AlterShield Server. The work queue retries it.
	serverTimeout = 5 * time.Second
)

// newCompilers returns the compilers of declared kinds and of the rules of VerificationPolicies.
func newCompilers() (*declared.Compiler, *rule.Compiler, error) {
	compiler, err := declared.NewCompiler()
	if err != nil {
		return nil, nil, err
	}
	rules, err := rule.NewCompiler()
	return compiler, rules, err
}

// builtIn returns the kinds of workloads that are built in.
func builtIn() workload.Registry {
	return workload.Registry{deployment.Kind{}, statefulset.Kind{}, daemonset.Kind{}, cronjob.Kind{}, job.Kind{}}
}

// kinds are the kinds of workloads under change control, and what runs and compiles the declared ones among them.
type kinds struct {
	*workload.Set
	declared *dynamic.Runner
	compiler *declared.Compiler
}

func newManager(kubeconfig *rest.Config, opts options, certificate *servingcert.Source, declared *dynamic.Runner) (ctrl.Manager, error) {
	scheme := apiruntime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(appv1alpha1.AddToScheme(scheme))
	utilruntime.Must(apiextensionsv1.AddToScheme(scheme))
	scoped, err := scope.CacheOptions(builtIn())
	if err != nil {
		return nil, err
	}
	certificate.Watch(&scoped)
	controlledkind.Watch(&scoped)
	mgr, err := ctrl.NewManager(kubeconfig, ctrl.Options{
		Scheme: scheme,
		Cache:  scoped,
		// Workloads of declared kinds have caches of their own.
		NewClient: declared.NewClient,
		Client: client.Options{
			FieldOwner: "altershield-operator",
			// A reconcile that doesn't see its own last write would repeat it.
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

// connect returns the kubeconfig, and the user name of the operator with it.
func connect(ctx context.Context) (kubeconfig *rest.Config, operator string, err error) {
	kubeconfig, err = ctrl.GetConfig()
	if err != nil {
		return nil, "", fmt.Errorf("loading the kubeconfig: %w", err)
	}
	clientset, err := kubernetes.NewForConfig(kubeconfig)
	if err != nil {
		return nil, "", fmt.Errorf("creating a client: %w", err)
	}
	operator, err = selfUsername(ctx, clientset)
	if err != nil {
		return nil, "", err
	}
	if server, err := clientset.ServerVersionWithContext(ctx); err != nil { // some clusters show it to few users
		ctrl.Log.Error(err, "The version of the API server is unknown")
	} else {
		ctrl.Log.Info("Connected to the API server", "version", server.GitVersion)
		for _, lack := range apiserver.Lacks(server.GitVersion) {
			ctrl.Log.Info("The API server lacks " + lack)
		}
	}
	return kubeconfig, operator, nil
}

// refuseAPIServer has no source lead to the API server of a kubeconfig.
func (o *options) refuseAPIServer(ctx context.Context, kubeconfig string) {
	servers, err := source.APIServers(ctx, apiServers(kubeconfig)...)
	if err != nil { // a proxy may look up the name instead of the operator, which needs no address then
		ctrl.Log.Error(err, "VerificationSources may lead to an address of the API server that is unknown")
	}
	o.sourceGuard.APIServers = servers
}

// apiServers returns the URLs of the API server: that of a kubeconfig, and that of its service in the cluster.
func apiServers(kubeconfig string) []string {
	host := os.Getenv("KUBERNETES_SERVICE_HOST")
	if host == "" {
		return []string{kubeconfig}
	}
	return []string{kubeconfig, "https://" + net.JoinHostPort(host, cmp.Or(os.Getenv("KUBERNETES_SERVICE_PORT"), "443"))}
}

// selfUsername returns the user name of the operator at the API server. The webhooks admit its own updates.
func selfUsername(ctx context.Context, clientset *kubernetes.Clientset) (string, error) {
	review, err := clientset.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("requesting the operator's own user name from the API server: %w", err)
	}
	return review.Status.UserInfo.Username, nil
}

// delayCancel returns a context that is cancelled a delay after ctx.
func delayCancel(ctx context.Context, delay time.Duration) context.Context {
	delayed, cancel := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() { time.AfterFunc(delay, cancel) })
	return delayed
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

// addVerifier adds the client of AlterShield Server. If no server is configured, the Verifier is nil and the Receiver rejects
// everything.
func addVerifier(mgr ctrl.Manager, opts options) (verifier.Verifier, verifier.Receiver, error) {
	if opts.server.Address == "" {
		return nil, altershield.Callbacks{}, nil
	}
	serverMetrics, err := altershield.NewMetrics(metrics.Registry)
	if err != nil {
		return nil, nil, err
	}
	opts.server.Timeout = serverTimeout
	server := altershield.NewClient(opts.server, altershield.NewKeyring(opts.server.Credentials), clock.RealClock{}, serverMetrics)
	if err := mgr.Add(server); err != nil {
		return nil, nil, fmt.Errorf("adding the heartbeat of AlterShield Server: %w", err)
	}
	return server, server, nil
}

// addRollback adds a rollback controller for each kind and returns their Roller.
func addRollback(
	mgr ctrl.Manager, opts options, tracer *tracing.Tracer, touch *contact.Contact, declared *dynamic.Runner, measures *delivery.Metrics,
) (*rollback.Roller, error) {
	rollbacks, err := rollback.NewMetrics(metrics.Registry, builtIn())
	if err != nil {
		return nil, err
	}
	obstacles, err := runnable.NewMetrics(metrics.Registry, builtIn())
	if err != nil {
		return nil, err
	}
	if err := mgr.Add(touch); err != nil {
		return nil, fmt.Errorf("adding the tracker of the contact with the API server: %w", err)
	}
	kube, live, recorder := mgr.GetClient(), mgr.GetAPIReader(), controllers.NewRecorder(mgr)
	reader := settings.Reader{Client: kube, Namespace: opts.namespace}
	keeper := &history.Keeper{Client: kube, Live: live}
	roller := &rollback.Roller{
		Client: kube, Live: live, History: keeper,
		Recorder: recorder, Metrics: rollbacks, Delivery: measures, Clock: clock.RealClock{}, Agreed: touch.Agreed, Tracer: tracer,
		Settings: reader,
	}
	decided := func(name string, kinds bykind.Kinds, like workload.Registry) *runnable.Controller {
		return &runnable.Controller{Name: name, Kinds: kinds, Like: like, Client: kube, Settings: reader, Rollback: func(kind workload.Kind) reconcile.Reconciler {
			if _, observed := kind.(workload.Observed); observed { // nothing of it is rolled back
				return reconcile.Func(func(context.Context, ctrl.Request) (ctrl.Result, error) { return ctrl.Result{}, nil })
			}
			rollbacks.Begin(kind)
			obstacles.Begin(kind)
			return &runnable.Rollback{
				Kind: kind, Client: kube, Live: live, History: keeper, Roller: roller, Recorder: recorder, Metrics: obstacles, Clock: clock.RealClock{}, Contact: touch,
				Settings: reader,
			}
		}}
	}
	if err := decided("declared", declared, builtIn()).SetupWithManager(mgr); err != nil {
		return nil, err
	}
	for _, kind := range builtIn() {
		if _, once := kind.(workload.Once); once { // it has nothing to go back to
			continue
		}
		if err := decided(workload.Noun(kind), bykind.Only{Kind: kind}, workload.Registry{kind}).SetupWithManager(mgr); err != nil {
			return nil, err
		}
	}
	return roller, nil
}

// addRouter returns a function that waits until the verdicts that arrived are saved, or its context has ended.
func addRouter(
	mgr ctrl.Manager, opts options, receiver verifier.Receiver, tracer *tracing.Tracer, roller routers.Roller, kinds kinds,
) (saved func(context.Context), err error) {
	if opts.callbackAddress == "0" {
		return func(context.Context) {}, nil
	}
	routing := routers.Options{
		Kinds: kinds, Address: opts.callbackAddress, CertDir: opts.callbackCertDir, Receiver: receiver,
		Client: mgr.GetClient(), Workloads: kinds.declared.Reader(mgr.GetClient(), bounded.NewReader(mgr.GetAPIReader(), clock.RealClock{})), Live: mgr.GetAPIReader(), Cache: mgr.GetCache(),
		Clock: clock.RealClock{}, Metrics: metrics.Registry, Tracer: tracer, Roller: roller,
	}
	if opts.verdictEndpoint {
		anonymous := rest.AnonymousClientConfig(mgr.GetConfig())
		routing.As = func(token string) (client.Client, error) {
			caller := rest.CopyConfig(anonymous)
			caller.BearerToken = token
			return client.New(caller, client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
		}
	}
	router, err := routers.New(routing)
	if err != nil {
		return nil, err
	}
	if err := mgr.Add(router); err != nil {
		return nil, fmt.Errorf("adding the router: %w", err)
	}
	if err := mgr.AddReadyzCheck("router", router.Ready); err != nil {
		return nil, fmt.Errorf("adding the readiness check of the router: %w", err)
	}
	return router.Wait, nil
}

func addWebhooks(ctx context.Context, mgr ctrl.Manager, opts options, tracer *tracing.Tracer, operator string, kinds kinds, rules *rule.Compiler) error {
	if err := webhooks.Watch(ctx, mgr.GetCache(), kinds); err != nil {
		return err
	}
	policies := pace.Reader{Namespaces: mgr.GetCache(), Policies: mgr.GetCache(), Namespace: opts.namespace}
	// Each has its own limit, so that a flood of reviews of one kind leaves reads to the others.
	live := func() *bounded.Reader { return bounded.NewReader(mgr.GetAPIReader(), clock.RealClock{}) }
	if err := webhooks.Register(mgr.GetWebhookServer(), webhooks.Options{
		Kinds: kinds, Reader: kinds.declared.Reader(mgr.GetCache(), live()), Live: mgr.GetAPIReader(),
		Namespace: opts.namespace, Operator: operator, Clock: clock.RealClock{}, Metrics: metrics.Registry,
		Recorder: events.Recorder{Events: mgr.GetEventRecorder(controllers.Reporter)}, Tracer: tracer, Leaving: ctx.Done(),
		ControlledKinds:      &controlledkind.Validator{Kinds: builtIn(), Live: live(), Compiler: kinds.compiler},
		ChangeFreezes:        &changefreeze.Validator{Clock: clock.RealClock{}, Kinds: kinds, Namespace: opts.namespace},
		ReleasePolicies:      &releasepolicy.Validator{Kinds: kinds, Namespace: opts.namespace},
		VerificationPolicies: &verificationpolicy.Validator{Kinds: kinds, Namespace: opts.namespace, Rules: rules, Live: live()},
		BreakGlasses:         breakglass.Attributor{},
		ChangeApprovals:      &changeapproval.Attributor{Kinds: kinds, Live: live(), Policies: policies},
		ChangeVerdicts:       changeverdict.Attributor{Clock: clock.RealClock{}},
	}); err != nil {
		return err
	}
	return webhooks.RegisterExpiry(metrics.Registry, fmt.Sprintf("localhost:%d", opts.webhookPort))
}
