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

// Package routers serves HTTP on every replica: it takes the callbacks of AlterShield Server, answers the questions of
// people, and takes Deployments back for them.
package routers

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/tracing"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Reads what a verdict is about once more where the cache lags, and the release of a verdict that comes early.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=changepods;changeworkloads,verbs=get
// Saves the verdicts of AlterShield Server; those that come early wait with their release.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=changepods/status;changeworkloads/status,verbs=patch

// Options are what the server needs.
type Options struct {
	// Kind is what users ask about and roll back.
	Kind workload.Kind
	// Address is where it listens, as host:port or :port.
	Address string
	// CertDir holds tls.crt and tls.key, which are read again when they change. It is empty where there is no TLS.
	CertDir string
	// Receiver reads the callbacks of the verifier.
	Receiver verifier.Receiver
	// Client reads from the cache, which has the indexes of package index, and writes.
	Client client.Client
	// Live reads from the API server, where the cache lags.
	Live client.Reader
	// Cache is what Client reads from; it tells of ChangePods.
	Cache cache.Cache
	// Roller makes the rollbacks that users ask for.
	Roller Roller
	// Clock tells the time.
	Clock clock.PassiveClock
	// Tracer sends spans of what was written; nil where nothing is traced.
	Tracer *tracing.Tracer
	// Metrics takes the metrics of the server.
	Metrics prometheus.Registerer
}

// Server is the HTTP server. Every replica runs it, as callers reach any of them.
type Server struct {
	options   Options
	arrivals  *arrivals
	handler   http.Handler
	listening atomic.Bool
}

var (
	_ manager.Runnable               = &Server{}
	_ manager.LeaderElectionRunnable = &Server{}
	_ healthz.Checker                = (&Server{}).Ready
)

// New registers the metrics.
func New(options Options) (*Server, error) {
	metrics, err := newMetrics(options.Metrics)
	if err != nil {
		return nil, err
	}
	arrivals := newArrivals()
	callbacks := &callbacks{
		receiver: options.Receiver, client: options.Client, live: options.Live, clock: options.Clock, metrics: metrics, arrivals: arrivals,
		tracer: options.Tracer,
	}
	access := newAccess(options.Client, options.Clock)
	suspended := &suspended{kind: options.Kind, reader: options.Client, access: access}
	rollbacks := &rollbacks{kind: options.Kind, live: options.Live, roller: options.Roller, access: access}
	// Questions of people don't take the room of callbacks.
	server, people := newLobby(), newLobby()
	callback := route{method: http.MethodPost, handle: callbacks.handle, refuse: callbacks.refuse, lobby: server}
	routes := map[string]route{
		"/openapi/altershield/suspend/deployment": {
			method: http.MethodGet, handle: suspended.handle, refuse: access.refuse, lobby: people, timeout: peopleTimeout,
		},
		"/openapi/altershield/deployment/rollback": {
			method: http.MethodPut, handle: rollbacks.handle, refuse: rollbacks.refuse, lobby: people, timeout: peopleTimeout,
		},
		"/openapi/altershield/liveTest": {method: http.MethodPost, handle: liveTest},
	}
	for _, path := range options.Receiver.Paths() {
		routes[path] = callback
	}
	return &Server{options: options, arrivals: arrivals, handler: newRouter(routes)}, nil
}

// NeedLeaderElection is false.
func (s *Server) NeedLeaderElection() bool { return false }

// Ready fails while the server doesn't listen.
func (s *Server) Ready(*http.Request) error {
	if !s.listening.Load() {
		return errors.New("the HTTP server is not listening")
	}
	return nil
}

// Start serves until ctx ends, and gives the requests under way ten seconds then. It begins when the cache is synced. It
// fails if the cache can't be read, the certificate can't be used or the address is taken.
func (s *Server) Start(ctx context.Context) error {
	err := s.watch(ctx)
	select {
	case <-ctx.Done():
		return nil
	default:
	}
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.options.Address)
	if err != nil {
		return fmt.Errorf("listening on %s: %w", s.options.Address, err)
	}
	return s.serve(ctx, listener)
}

// watch has the cache hold what the server reads, also on replicas that reconcile nothing.
func (s *Server) watch(ctx context.Context) error {
	for _, object := range []client.Object{&corev1.Namespace{}, s.options.Kind.New(), &appv1alpha1.ChangeWorkload{}, &appv1alpha1.OpsConfigInfo{}} {
		if _, err := s.options.Cache.GetInformer(ctx, object); err != nil {
			return fmt.Errorf("watching %T: %w", object, err)
		}
	}
	changePods, err := s.options.Cache.GetInformer(ctx, &appv1alpha1.ChangePod{})
	if err != nil {
		return fmt.Errorf("watching ChangePods: %w", err)
	}
	if _, err := changePods.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    s.arrivals.announce,
		UpdateFunc: func(_, changed any) { s.arrivals.announce(changed) },
	}); err != nil {
		return fmt.Errorf("watching ChangePods: %w", err)
	}
	if !s.options.Cache.WaitForCacheSync(ctx) {
		return errors.New("the cache doesn't sync")
	}
	return nil
}

func (s *Server) serve(ctx context.Context, listener net.Listener) error {
	log := ctrl.LoggerFrom(ctx).WithName("router")
	ctx, stop := context.WithCancel(ctrl.LoggerInto(ctx, log))
	var background sync.WaitGroup
	defer background.Wait()
	defer stop()
	if s.options.CertDir != "" {
		certificate, err := certwatcher.New(filepath.Join(s.options.CertDir, "tls.crt"), filepath.Join(s.options.CertDir, "tls.key"))
		if err != nil {
			return errors.Join(fmt.Errorf("reading the certificate: %w", err), listener.Close())
		}
		background.Go(func() {
			if err := certificate.Start(ctx); err != nil && ctx.Err() == nil {
				log.Error(err, "A new certificate will not be noticed")
			}
		})
		listener = tls.NewListener(listener, &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: certificate.GetCertificate})
	}
	s.listening.Store(true)
	defer s.listening.Store(false)
	serving := manager.Server{Server: newHTTPServer(ctx, s.handler), Listener: listener, ShutdownTimeout: ptr.To(shutdownTimeout)}
	return serving.Start(ctx)
}
