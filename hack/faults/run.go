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
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/altershield"
	"github.com/traas-stack/altershield-operator/hack/faults/proxy"
	"github.com/traas-stack/altershield-operator/hack/faults/state"
	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/local/cluster"
	"github.com/traas-stack/altershield-operator/hack/local/operator"
)

// stuckAfter is how long pods may take to run before their release goes back: much longer than good ones take here.
const stuckAfter = "8s"

const (
	// The checks of the test server take so long that a rollout is over when its last batch fails.
	preDelay, postDelay = 200 * time.Millisecond, 800 * time.Millisecond
	headerTimeout       = 10 * time.Second
)

// faults runs the matrix and writes down what came of it.
func faults(ctx context.Context, opts options, out io.Writer) (err error) {
	if err := opts.validate(); err != nil {
		return err
	}
	began := time.Now()
	l, err := lab.Open(ctx, lab.Options{Manager: opts.manager, Config: opts.config, Log: out})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close(ctx)) }()
	dir, err := os.MkdirTemp("", "altershield-faults-")
	if err != nil {
		return fmt.Errorf("make a folder for the certificate of the proxy: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	ctx, stop := context.WithCancel(ctx)
	defer stop()

	suite := &suite{opts: opts, lab: l, dir: dir, out: out}
	for _, checked := range []bool{false, true} {
		if err := suite.phase(ctx, checked); err != nil {
			return err
		}
	}
	return errors.Join(suite.report(time.Since(began)), suite.checkLog())
}

// suite is all that is tried: first without AlterShield Server, then with it.
type suite struct {
	opts    options
	lab     *lab.Lab
	dir     string
	out     io.Writer
	results []result
	// namespaces counts those that were made.
	namespaces atomic.Int64
	// log is where the manager writes its log.
	log string
}

// phase tries the plans of the scenarios with AlterShield Server, or those without.
func (s *suite) phase(ctx context.Context, checked bool) error {
	chosen, only, err := s.choose(checked)
	if err != nil || len(chosen) == 0 {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	m, err := s.matrix(ctx, checked)
	if err != nil {
		return err
	}
	go func() {
		select {
		case err := <-m.keeper.broken:
			stop(fmt.Errorf("the manager doesn't come back: %w", err))
		case <-ctx.Done():
		}
	}()
	if err := s.tryAll(ctx, m, chosen, only); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return s.lab.StopOperator(ctx)
}

// choose is which scenarios to play, and the plans to try where not all are.
func (s *suite) choose(checked bool) (chosen map[string]scenario, only []plan, err error) {
	if only, err = s.opts.plans(); err != nil {
		return nil, nil, err
	}
	chosen = map[string]scenario{}
	for _, scenario := range scenarios() {
		wanted := len(only) == 0 || slices.ContainsFunc(only, func(plan plan) bool { return plan.scenario == scenario.name })
		if scenario.checked == checked && wanted {
			chosen[scenario.name] = scenario
		}
	}
	only = slices.DeleteFunc(only, func(plan plan) bool { return chosen[plan.scenario].name == "" })
	return chosen, only, nil
}

func (s *suite) tryAll(ctx context.Context, m *matrix, chosen map[string]scenario, only []plan) error {
	written, err := m.undisturbed(ctx, chosen)
	if err != nil {
		return err
	}
	var errs, kills []plan
	for _, name := range slices.Sorted(maps.Keys(written)) {
		fmt.Fprintf(s.out, "%s: %d positions, %d values vary between undisturbed runs\n", name, len(written[name]), len(m.references[name].Varies))
		for _, varies := range m.references[name].Varies {
			fmt.Fprintf(s.out, "    varies: %s\n", varies)
		}
		for _, plan := range writePlans(name, written[name]) {
			if plan.fault.Mode.Kills() {
				kills = append(kills, plan)
			} else {
				errs = append(errs, plan)
			}
		}
	}
	if len(only) > 0 {
		s.tryOnly(ctx, m, chosen, only)
		return nil
	}
	s.results = append(s.results, m.all(ctx, chosen, sample(errs, s.opts.sample), s.opts.parallel)...)
	s.tellTime("errors")
	s.results = append(s.results, m.all(ctx, chosen, sample(kills, s.opts.sample), s.opts.parallel)...)
	s.tellTime("kills")
	for _, disturbance := range sample(viewPlans(), s.opts.sample) {
		s.results = append(s.results, m.disturb(ctx, chosen, disturbance)...)
	}
	s.tellTime("views")
	return nil
}

// tryOnly tries plans one after the other.
func (s *suite) tryOnly(ctx context.Context, m *matrix, chosen map[string]scenario, only []plan) {
	for i, plan := range only {
		if plan.fault != nil {
			s.results = append(s.results, m.all(ctx, chosen, only[i:i+1], 1)...)
			continue
		}
		alone := map[string]scenario{plan.scenario: chosen[plan.scenario]}
		s.results = append(s.results, m.disturb(ctx, alone, plan.disturbance)...)
	}
}

func (s *suite) tellTime(what string) {
	fmt.Fprintf(s.out, "%s %s: %d plans in all so far\n", time.Now().Format(time.TimeOnly), what, len(s.results))
}

// matrix starts the proxies, and the manager behind them.
func (s *suite) matrix(ctx context.Context, checked bool) (*matrix, error) {
	m := &matrix{
		lab: s.lab, keeper: newKeeper(ctx, nil), out: s.out, namespaces: &s.namespaces, references: map[string]state.Reference{},
	}
	endpoint, err := s.proxyAPI(ctx, m)
	if err != nil {
		return nil, err
	}
	m.calls = proxy.New(proxy.Options{Target: &url.URL{}, Transport: http.DefaultTransport, IsWrite: isCall, Kill: m.keeper.kill})
	var args []string
	if checked {
		if err := s.lab.Serve(ctx, altershield.Options{PreDelay: preDelay, PostDelay: postDelay}); err != nil {
			return nil, err
		}
		target, err := url.Parse(s.lab.ServerURL)
		if err != nil {
			return nil, fmt.Errorf("read the address of the test server: %w", err)
		}
		m.calls = proxy.New(proxy.Options{Target: target, Transport: http.DefaultTransport, IsWrite: isCall, Kill: m.keeper.kill})
		address, err := serve(ctx, m.calls)
		if err != nil {
			return nil, err
		}
		args = []string{"--altershield-address=http://" + address}
	}
	if err := s.lab.StartOperator(ctx, func(options *operator.Options) {
		options.Through = endpoint
		options.Args = append(options.Args, args...)
	}); err != nil {
		return nil, err
	}
	m.keeper.operator, s.log = s.lab.Operator, s.lab.Operator.LogPath()
	if checked {
		address, err := serve(ctx, newRelay(ctx, s.lab.Operator.CallbackURL()))
		if err != nil {
			return nil, err
		}
		s.lab.Server.SetCallbackURL("http://" + address)
	}
	return m, s.hurry(ctx)
}

// proxyAPI starts the proxy in front of the API server.
func (s *suite) proxyAPI(ctx context.Context, m *matrix) (*cluster.APIEndpoint, error) {
	ca, err := cluster.NewServingCert(s.dir)
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(s.lab.Plane.Config().Host)
	if err != nil {
		return nil, fmt.Errorf("read the address of the API server: %w", err)
	}
	authority := x509.NewCertPool()
	if !authority.AppendCertsFromPEM(rest.AnonymousClientConfig(s.lab.Plane.Config()).CAData) {
		return nil, errors.New("the authority of the API server is no certificate")
	}
	// It shows no certificate of its own: the token of the client is what the API server sees.
	m.api = proxy.New(proxy.Options{
		Target: target, IsWrite: proxy.KubernetesWrite, Kill: m.keeper.kill,
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: authority, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true, DisableCompression: true,
		},
	})
	address, _, err := m.api.ServeTLS(ctx, filepath.Join(s.dir, "tls.crt"), filepath.Join(s.dir, "tls.key"))
	if err != nil {
		return nil, err
	}
	return &cluster.APIEndpoint{URL: "https://" + address, CABundle: ca}, nil
}

// serve serves plain HTTP on this machine until the context ends.
func serve(ctx context.Context, handler http.Handler) (address string, err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen: %w", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout}
	go func() { _ = server.Serve(listener) }() // it ends with the context
	context.AfterFunc(ctx, func() { _ = server.Close() })
	return listener.Addr().String(), nil
}

// hurry has releases that don't start go back soon.
func (s *suite) hurry(ctx context.Context) error {
	return until(ctx, "the setting "+appv1alpha1.ConfigStuckRollback, func(ctx context.Context) error {
		setting := &appv1alpha1.OpsConfigInfo{}
		key := client.ObjectKey{Namespace: appv1alpha1.SystemNamespace, Name: appv1alpha1.ConfigStuckRollback}
		if err := s.lab.Kube.Get(ctx, key, setting); err != nil {
			return err
		}
		before := setting.DeepCopy()
		setting.Spec.Content = stuckAfter
		return s.lab.Kube.Patch(ctx, setting, client.MergeFrom(before))
	})
}
