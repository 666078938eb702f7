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

// Package controllers wires the reconcilers of the operator.
package controllers

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/traas-stack/altershield-operator/controllers/breakglass"
	"github.com/traas-stack/altershield-operator/controllers/changeapproval"
	"github.com/traas-stack/altershield-operator/controllers/changefreeze"
	"github.com/traas-stack/altershield-operator/controllers/changepod"
	"github.com/traas-stack/altershield-operator/controllers/changerecord"
	"github.com/traas-stack/altershield-operator/controllers/changesubscription"
	"github.com/traas-stack/altershield-operator/controllers/changeworkload"
	"github.com/traas-stack/altershield-operator/controllers/controlledkind"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/rule"
	"github.com/traas-stack/altershield-operator/controllers/delivery"
	"github.com/traas-stack/altershield-operator/controllers/history"
	"github.com/traas-stack/altershield-operator/controllers/looks"
	"github.com/traas-stack/altershield-operator/controllers/opsconfiginfo"
	"github.com/traas-stack/altershield-operator/controllers/platform/bounded"
	"github.com/traas-stack/altershield-operator/controllers/platform/bykind"
	"github.com/traas-stack/altershield-operator/controllers/platform/dynamic"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/platform/statemetrics"
	"github.com/traas-stack/altershield-operator/controllers/platform/tracing"
	"github.com/traas-stack/altershield-operator/controllers/plugin"
	"github.com/traas-stack/altershield-operator/controllers/pod"
	"github.com/traas-stack/altershield-operator/controllers/record"
	"github.com/traas-stack/altershield-operator/controllers/releasegate"
	"github.com/traas-stack/altershield-operator/controllers/releasepolicy"
	"github.com/traas-stack/altershield-operator/controllers/settings"
	"github.com/traas-stack/altershield-operator/controllers/source"
	"github.com/traas-stack/altershield-operator/controllers/verificationpolicy"
	"github.com/traas-stack/altershield-operator/controllers/verificationsource"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/declared"
)

// Reports releases and settings in Events.
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create
// Counts a repeated Event instead of creating another one.
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=patch

// Reporter is the name of the operator in Events.
const Reporter = "altershield-operator"

// Options configures the reconcilers.
type Options struct {
	// Kinds are the kinds of workloads under change control.
	Kinds *workload.Set
	// Declared runs the declared kinds.
	Declared *dynamic.Runner
	// Compiler compiles the declared kinds.
	Compiler *declared.Compiler
	// Rules compiles the rules of VerificationPolicies.
	Rules *rule.Compiler
	// Operator is the user name of the operator.
	Operator string
	// Namespace is the namespace of the OpsConfigInfo objects.
	Namespace string
	Clock     clock.PassiveClock
	// Agreed returns the current time, not ahead of the API server's.
	Agreed func() time.Time
	// Since returns since when this process leads and reaches the API server.
	Since   func() time.Time
	Metrics prometheus.Registerer
	// Delivery measures how releases are delivered.
	Delivery *delivery.Metrics
	// Tracer is nil if tracing is off.
	Tracer *tracing.Tracer
	// Verifier checks the batches. If it is nil, every batch passes.
	Verifier verifier.Verifier
	// FailClosed makes unchecked batches count as failed.
	FailClosed bool
	// SourceGuard decides to which addresses of VerificationSources and ChangeSubscriptions the operator connects.
	SourceGuard source.Guard
}

// NewRecorder returns a recorder that writes Events and logs each as a decision.
func NewRecorder(mgr ctrl.Manager) events.Recorder {
	return events.Recorder{Events: mgr.GetEventRecorder(Reporter), Log: mgr.GetLogger().WithName("decision")}
}

// SetupWithManager registers the indexes and adds every reconciler to the manager.
func SetupWithManager(ctx context.Context, mgr ctrl.Manager, options Options) error {
	if err := index.Setup(ctx, mgr.GetFieldIndexer(), options.Kinds.Snapshot()); err != nil {
		return err
	}
	if err := statemetrics.Setup(ctx, mgr, options.Metrics, options.Kinds, options.Clock); err != nil {
		return err
	}
	parts, err := newParts(mgr, options)
	if err != nil {
		return err
	}
	for kind, reconciler := range parts.reconcilers() {
		if err := reconciler.SetupWithManager(mgr); err != nil {
			return fmt.Errorf("setting up the %s reconciler: %w", kind, err)
		}
	}
	if err := mgr.AddReadyzCheck("kinds", parts.catalog.Ready); err != nil {
		return fmt.Errorf("adding the readiness check of the declared kinds: %w", err)
	}
	return nil
}

// parts are what the reconcilers are made of.
type parts struct {
	Options
	// kube reads from the cache, live and direct from the API server.
	kube, direct client.Client
	live         client.Reader
	mapper       meta.RESTMapper
	recorder     events.Recorder
	settings     settings.Reader
	catalog      *controlledkind.Catalog
	sources      *source.Sources
	looks        *looks.Background
	records      *changerecord.Writer

	releases      *changeworkload.Metrics
	batches       *changepod.Metrics
	notifications *changesubscription.Metrics
}

func newParts(mgr ctrl.Manager, options Options) (*parts, error) {
	p := &parts{
		Options: options, kube: mgr.GetClient(), live: mgr.GetAPIReader(), mapper: mgr.GetRESTMapper(), recorder: NewRecorder(mgr),
		settings: settings.Reader{Client: mgr.GetClient(), Namespace: options.Namespace}, looks: &looks.Background{Clock: options.Clock},
	}
	requests, err := source.NewMetrics(options.Metrics)
	if err != nil {
		return nil, err
	}
	if p.releases, err = changeworkload.NewMetrics(options.Metrics); err != nil {
		return nil, err
	}
	if p.batches, err = changepod.NewMetrics(options.Metrics); err != nil {
		return nil, err
	}
	if p.notifications, err = changesubscription.NewMetrics(options.Metrics); err != nil {
		return nil, err
	}
	p.direct, err = client.New(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: p.mapper})
	if err != nil {
		return nil, fmt.Errorf("creating a client without a cache: %w", err)
	}
	p.catalog = &controlledkind.Catalog{Kinds: options.Kinds, Client: p.kube, Live: p.live, Compiler: options.Compiler}
	p.sources = &source.Sources{
		Client: p.kube, Secrets: p.live, Namespace: options.Namespace, Guard: options.SourceGuard, Clock: options.Clock, Metrics: requests,
		Traced: options.Tracer.Transport,
	}
	p.records = &changerecord.Writer{Client: p.kube, Live: p.live, Settings: p.settings, Clock: options.Clock, Delivery: options.Delivery}
	return p, nil
}

// reconcilers returns the reconcilers by what they reconcile.
func (p *parts) reconcilers() map[string]interface{ SetupWithManager(mgr ctrl.Manager) error } {
	builtIn := p.Kinds.Snapshot()
	reconcilers := map[string]interface{ SetupWithManager(mgr ctrl.Manager) error }{
		"Pod": &pod.Reconciler{Kinds: p.Kinds, Declared: p.Declared, Client: p.kube, Live: p.live, Clock: p.Clock, Agreed: p.Agreed, Settings: p.settings},
		"ChangeWorkload": &changeworkload.Reconciler{
			Kinds: p.Kinds, Declared: p.Declared, Client: p.kube, Live: p.live, Direct: p.direct, Recorder: p.recorder,
			History: &history.Keeper{Client: p.kube, Live: p.live}, Records: p.records, Metrics: p.releases, Delivery: p.Delivery, Clock: p.Clock,
			Since: p.Since, Agreed: p.Agreed, Tracer: p.Tracer, Settings: p.settings, Rules: p.Rules, Sources: p.sources, Looks: p.looks,
			Asker:    &plugin.Asker{Sources: p.sources, Client: p.kube, Live: p.live, Jobs: p.direct, Looks: p.looks, Tracer: p.Tracer},
			Verifier: p.Verifier, FailClosed: p.FailClosed,
		},
		"ChangePod": &changepod.Reconciler{
			Client: p.kube, Live: p.live, Recorder: p.recorder, Metrics: p.batches, Clock: p.Clock, Tracer: p.Tracer,
			Verifier: p.Verifier, FailClosed: p.FailClosed,
		},
		"ControlledKind": &controlledkind.Reconciler{
			Kinds: builtIn, Client: p.kube, Live: p.live, Direct: p.direct, Mapper: p.mapper, Operator: p.Operator, Clock: p.Clock,
			Declared: p.catalog, Runner: p.Declared,
		},
		"DeclaredKind":  p.catalog,
		"ReleasePolicy": &releasepolicy.Reconciler{Kinds: p.Kinds, Client: p.kube, Live: p.live, Clock: p.Clock, Namespace: p.Namespace},
		"VerificationPolicy": &verificationpolicy.Reconciler{
			Kinds: p.Kinds, Client: p.kube, Live: p.live, Clock: p.Clock, Namespace: p.Namespace, Rules: p.Rules,
		},
		"VerificationSource": &verificationsource.Reconciler{Client: p.kube, Clock: p.Clock, Sources: p.sources, Namespace: p.Namespace},
		"ChangeSubscription": &changesubscription.Reconciler{
			Kinds: p.Kinds, Client: p.kube, Live: p.live, Workloads: bounded.NewReader(p.live, p.Clock), Recorder: p.recorder,
			Metrics: p.notifications, Clock: p.Clock, Guard: p.SourceGuard, Namespace: p.Namespace, Jitter: rand.Float64,
		},
		"ReleaseGate":    &releasegate.Reconciler{Client: p.kube, Namespace: p.Namespace},
		"ChangeApproval": &changeapproval.Reconciler{Client: p.kube, Clock: p.Clock},
		"ChangeFreeze":   &changefreeze.Reconciler{Client: p.kube, Clock: p.Clock, Namespace: p.Namespace},
		"BreakGlass":     &breakglass.Reconciler{Client: p.kube, Clock: p.Clock},
		"ChangeRecord":   &changerecord.Retention{Client: p.kube, Live: p.live, Settings: p.settings, Agreed: p.Agreed},
		"OpsConfigInfo":  &opsconfiginfo.Reconciler{Client: p.kube, Recorder: p.recorder, Clock: p.Clock, Namespace: p.Namespace},
		"declared kinds": p.recorded("declared", p.Declared),
	}
	for _, kind := range builtIn {
		reconcilers[kind.GroupVersionKind().Kind] = p.recorded(workload.Noun(kind), bykind.Only{Kind: kind})
	}
	return reconcilers
}

// recorded returns the reconcilers of workloads that record the releases of kinds.
func (p *parts) recorded(name string, kinds bykind.Kinds) *record.Controller {
	return &record.Controller{Name: name, Kinds: kinds, Client: p.kube, Reconciler: func(kind workload.Kind) reconcile.Reconciler {
		return &record.Reconciler{
			Kind: kind, Kinds: p.Kinds, Client: p.kube, Live: p.live, Recorder: p.recorder, Clock: p.Clock, Agreed: p.Agreed, Tracer: p.Tracer,
			Settings: p.settings, Records: p.records, Ordered: verifier.StateOf(p.Verifier, p.FailClosed).Announced,
		}
	}}
}
