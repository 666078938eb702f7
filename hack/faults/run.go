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
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/hack/altershield"
	"github.com/traas-stack/altershield-operator/hack/faults/proxy"
	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/lab/webapp"
	"github.com/traas-stack/altershield-operator/hack/local/cluster"
	"github.com/traas-stack/altershield-operator/hack/local/operator"
	"github.com/traas-stack/altershield-operator/hack/prometheus"
)

const (
	// stuckAfter is how long pods may take to run before their release is rolled back: longer than any good ones take, however busy the machine is.
	stuckAfter = "2m"
	// stuckSoon is the same for pods that never run, stuckLate for those that run late.
	stuckSoon, stuckLate = 8 * time.Second, 20 * time.Second
)

// The checks of the test server take so long that a fault can strike while they are under way.
const preDelay, postDelay = 200 * time.Millisecond, 800 * time.Millisecond

// start starts the proxies, and the manager behind them.
func (g *group) start(ctx context.Context) error {
	watched, err := cache.New(g.Plane.Config(), cache.Options{Scheme: g.Kube.Scheme(), DefaultTransform: cache.TransformStripManagedFields()})
	if err != nil {
		return fmt.Errorf("watching the control plane: %w", err)
	}
	go func() { _ = watched.Start(ctx) }() // ends with the context
	watched.WaitForCacheSync(ctx)
	g.watched = watched
	through, err := g.proxyAPI(ctx)
	if err != nil {
		return err
	}
	address, err := g.called(ctx)
	if err != nil {
		return err
	}
	target, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("parsing the address that the manager calls: %w", err)
	}
	g.calls = proxy.New(proxy.Options{Target: target, Transport: http.DefaultTransport, IsWrite: proxy.Call, Kill: g.keeper.kill})
	if err := errors.Join(g.permit(ctx, "pod-deletion"), g.permit(ctx, "job-creation")); err != nil {
		return err
	}
	var args []string
	if g.name == serverGroup {
		address, err := lab.ServeHTTP(ctx, g.calls, lab.AnyPort, "")
		if err != nil {
			return err
		}
		args = []string{"--altershield-address=http://" + address}
	}
	if err := g.StartOperator(ctx, func(options *operator.Options) {
		options.Through, options.Ports = through, g.ports
		options.Args = append(options.Args, args...)
	}); err != nil {
		return err
	}
	g.keeper.operator = g.Operator
	if g.name == serverGroup {
		address, err := lab.ServeHTTP(ctx, relay{ctx, g.Operator.CallbackURL()}, lab.AnyPort, "")
		if err != nil {
			return err
		}
		g.Server.SetCallbackURL("http://" + address)
	}
	if err := g.Apply(ctx, webapp.Manifest, cluster.WebhookEndpoint{}); err != nil {
		return err
	}
	go webapp.Controller{Kube: g.Kube, As: g.keeper.asUser}.Run(ctx)
	var kinds []string
	for _, scenario := range g.scenarios {
		kinds = append(kinds, workload.ControlledKindName(scenario.kind))
	}
	return errors.Join(g.Set(ctx, appv1alpha1.ConfigStuckRollback, true, stuckAfter), g.Enforced(ctx, kinds...))
}

// permit grants the manager the permissions of a component.
func (g *group) permit(ctx context.Context, component string) error {
	role, err := os.ReadFile(filepath.Join(g.opts.config, "..", "components", component, "role.yaml"))
	if err != nil {
		return fmt.Errorf("reading the role of the component %s: %w", component, err)
	}
	return g.Apply(ctx, role, cluster.WebhookEndpoint{})
}

// usable waits until an object is what the manager makes of a usable one. Fields that the manager removes keep their values here.
func (g *group) usable(ctx context.Context, object client.Object, is func() error) error {
	return until(ctx, fmt.Sprintf("%T %s", object, object.GetName()), func(ctx context.Context) error {
		if err := g.Kube.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		return is()
	})
}

// called starts what the manager calls beside the API server, and returns its address: the test server, or a Prometheus that scrapes the pods of
// the control plane.
func (g *group) called(ctx context.Context) (address string, err error) {
	if g.name == serverGroup {
		// Deadlocks at the server are random: the same call would have another position in each run.
		err := g.Serve(ctx, altershield.Options{PreDelay: preDelay, PostDelay: postDelay, InsertTime: -1})
		return g.ServerURL, err
	}
	if !slices.ContainsFunc(slices.Collect(maps.Values(g.scenarios)), func(s scenario) bool { return s.measured }) {
		return "", nil
	}
	programs, err := prometheus.Ensure(ctx, g.out)
	if err != nil {
		return "", err
	}
	// A scrape that takes too long ends all series, so the pods are watched.
	metrics, err := lab.ServeHTTP(ctx, prometheus.Metrics(g.watched), lab.AnyPort, "")
	if err != nil {
		return "", err
	}
	address, g.stopScraping, err = programs.StartScraping(ctx, g.dir, metrics)
	return address, err
}

// proxyAPI starts the proxy in front of the API server.
func (g *group) proxyAPI(ctx context.Context) (through *cluster.APIEndpoint, err error) {
	g.dir = filepath.Join(filepath.Dir(g.Plane.Kubeconfig()), "faults")
	if g.authority, err = cluster.NewServingCert(g.dir); err != nil {
		return nil, err
	}
	target, err := url.Parse(g.Plane.Config().Host)
	if err != nil {
		return nil, fmt.Errorf("parsing the address of the API server: %w", err)
	}
	// The proxy has no client certificate: the API server authenticates the token of the client.
	unknown := rest.AnonymousClientConfig(g.Plane.Config())
	unknown.DisableCompression = true
	transport, err := rest.TransportFor(unknown)
	if err != nil {
		return nil, fmt.Errorf("trusting the API server: %w", err)
	}
	g.api = proxy.New(proxy.Options{Target: target, IsWrite: proxy.KubernetesWrite, Kill: g.keeper.kill, Transport: transport})
	address, err := lab.ServeHTTP(ctx, g.api, lab.AnyPort, g.dir)
	if err != nil {
		return nil, err
	}
	return &cluster.APIEndpoint{URL: "https://" + address, CABundle: g.authority}, g.inject(ctx)
}

// keeper kills and restarts the manager. Users write nothing meanwhile, because releases that bypass the webhooks aren't tested here.
type keeper struct {
	// ctx is the context of the whole run: the manager restarts whatever happens to the request at which it was killed.
	ctx context.Context
	// down is held for writing while the manager is dead, and for reading by users who write.
	down     sync.RWMutex
	operator *operator.Operator
	kills    atomic.Int64
	// fail ends the run if the manager doesn't restart.
	fail context.CancelCauseFunc
}

// kill kills the manager of a connection, and returns when it is dead. It returns false if another fault killed it first.
func (k *keeper) kill(connection context.Context) bool {
	k.down.Lock()
	if connection.Err() != nil {
		k.down.Unlock()
		return false
	}
	k.kills.Add(1)
	err := k.operator.Kill(k.ctx)
	go func() {
		defer k.down.Unlock()
		if err == nil {
			err = k.operator.Start(k.ctx)
		}
		if err != nil {
			k.fail(fmt.Errorf("the manager doesn't restart: %w", err))
		}
	}()
	return true
}

// away stops the manager while act runs, and restarts it.
func (k *keeper) away(ctx context.Context, act func(context.Context) error) error {
	k.down.Lock()
	defer k.down.Unlock()
	k.kills.Add(1)
	if err := k.operator.Kill(ctx); err != nil {
		return err
	}
	err := act(ctx)
	return errors.Join(err, k.operator.Start(k.ctx))
}

// asUser acts as a user, while the manager is running.
func (k *keeper) asUser(act func() error) error {
	k.down.RLock()
	defer k.down.RUnlock()
	return act()
}
