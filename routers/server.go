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

// Package routers serves the HTTP endpoints on every replica: callbacks of AlterShield Server, and queries and rollbacks of users.
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

// Reads the ChangePod of a verdict again if the cache lags, and the ChangeWorkload of a verdict that arrives early.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=changepods;changeworkloads,verbs=get
// Saves the verdicts of AlterShield Server, early ones in the ChangeWorkload.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=changepods/status;changeworkloads/status,verbs=patch

// Options configures the server.
type Options struct {
	// Kinds are the kinds of workloads that users query and roll back.
	Kinds workload.Kinds
	// Address is the listening address, as host:port or :port.
	Address string
	// CertDir holds tls.crt and tls.key, which are reloaded when they change. If it is empty, there is no TLS.
	CertDir string
	// Receiver reads the callbacks of the verifier.
	Receiver verifier.Receiver
	// Client reads from a cache with the indexes of package index, and writes.
	Client client.Client
	// Workloads reads workloads from a cache, and those of kinds without one on this replica from the API server.
	Workloads client.Reader
	// Live reads from the API server if the cache lags.
	Live client.Reader
	// Cache is the cache of Client. It notifies of ChangePods.
	Cache cache.Cache
	// Roller makes the rollbacks that users request.
	Roller Roller
	// As returns a client with the rights of the bearer of a token, which reports verdicts; nil if none are taken.
	As    func(token string) (client.Client, error)
	Clock clock.PassiveClock
	// Tracer is nil if tracing is off.
	Tracer  *tracing.Tracer
	Metrics prometheus.Registerer
}

// Server is the HTTP server. It runs on every replica, as callers reach any of them.
type Server struct {
	options   Options
	arrivals  *arrivals
	handler   http.Handler
	listening atomic.Bool
	// saving counts the verdicts that aren't saved yet, and the server while it serves.
	saving sync.WaitGroup
}

var (
	_ manager.Runnable               = &Server{}
	_ manager.LeaderElectionRunnable = &Server{}
	_ healthz.Checker                = (&Server{}).Ready
)

// New returns a Server and registers its metrics.
func New(options Options) (*Server, error) {
	metrics, err := newMetrics(options.Metrics)
	if err != nil {
		return nil, err
	}
	server := &Server{options: options, arrivals: newArrivals()}
	callbacks := &callbacks{
		receiver: options.Receiver, client: options.Client, live: options.Live, clock: options.Clock, metrics: metrics, arrivals: server.arrivals,
		tracer: options.Tracer, saving: &server.saving,
	}
	access := newAccess(options.Client, options.Clock)
	suspended := &suspended{kinds: options.Kinds, reader: options.Workloads, access: access}
	rollbacks := &rollbacks{kinds: options.Kinds, live: options.Live, roller: options.Roller, access: access}
	// Requests of users don't take the places of callbacks.
	callers, users := newLimiter(), newLimiter()
	callback := route{method: http.MethodPost, handle: callbacks.handle, refuse: callbacks.refuse, limiter: callers}
	routes := map[string]route{
		"/openapi/altershield/suspend/deployment": {
			method: http.MethodGet, handle: suspended.handle, refuse: access.refuse, limiter: users, timeout: userTimeout,
		},
		"/openapi/altershield/deployment/rollback": {
			method: http.MethodPut, handle: rollbacks.handle, refuse: rollbacks.refuse, limiter: users, timeout: userTimeout,
		},
		"/openapi/altershield/liveTest": {method: http.MethodPost, handle: liveTest},
	}
	if options.As != nil {
		reports := &reports{access: access, as: options.As}
		routes[reportsPath] = route{method: http.MethodPost, handle: reports.handle, refuse: reports.refuse, limiter: users, timeout: userTimeout}
	}
	for _, path := range options.Receiver.Paths() {
		routes[path] = callback
	}
	server.handler = newRouter(routes)
	return server, nil
}

// NeedLeaderElection returns false.
func (s *Server) NeedLeaderElection() bool { return false }

// Ready fails until the server listens.
func (s *Server) Ready(*http.Request) error {
	if !s.listening.Load() {
		return errors.New("the HTTP server is not listening")
	}
	return nil
}

// Start serves, once the cache is synced, until ctx ends. Then it gives requests under way ten seconds. It fails if the cache
// can't be read, the certificate is unusable or the address is in use.
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

// Wait returns once the requests under way are answered and their verdicts are saved, at the latest when ctx ends. The verifier sends
// no verdict again, so the process must not end before. The manager waits for Start alone, and not even for that once it has lost the
// lease.
func (s *Server) Wait(ctx context.Context) {
	idle := make(chan struct{})
	go func() {
		s.saving.Wait()
		close(idle)
	}()
	select {
	case <-idle:
	case <-ctx.Done():
		ctrl.LoggerFrom(ctx).WithName("router").Error(nil, "The process ends before all verdicts are saved")
	}
}

// watch makes the cache hold the objects that the server reads, also on replicas that don't lead.
func (s *Server) watch(ctx context.Context) error {
	for _, object := range append([]client.Object{&corev1.Namespace{}, &appv1alpha1.ChangeWorkload{}, &appv1alpha1.OpsConfigInfo{}}, s.options.Kinds.Snapshot().Objects()...) {
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
		return errors.New("the cache didn't sync")
	}
	return nil
}

func (s *Server) serve(ctx context.Context, listener net.Listener) error {
	s.saving.Add(1)
	defer s.saving.Done()
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
				log.Error(err, "Failed to watch the certificate: a renewed one will not be served")
			}
		})
		listener = tls.NewListener(listener, &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: certificate.GetCertificate})
	}
	s.listening.Store(true)
	defer s.listening.Store(false)
	serving := manager.Server{Server: newHTTPServer(ctx, s.handler), Listener: listener, ShutdownTimeout: ptr.To(shutdownTimeout)}
	return serving.Start(ctx)
}
