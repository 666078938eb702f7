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

	"github.com/prometheus/client_golang/prometheus"
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
	Metrics   prometheus.Registerer
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
	builtIn := options.Kinds.Snapshot()
	if err := index.Setup(ctx, mgr.GetFieldIndexer(), builtIn); err != nil {
		return err
	}
	releases, err := changeworkload.NewMetrics(options.Metrics)
	if err != nil {
		return err
	}
	batches, err := changepod.NewMetrics(options.Metrics)
	if err != nil {
		return err
	}
	sourceMetrics, err := source.NewMetrics(options.Metrics)
	if err != nil {
		return err
	}
	notifications, err := changesubscription.NewMetrics(options.Metrics)
	if err != nil {
		return err
	}
	if err := statemetrics.Setup(ctx, mgr, options.Metrics, options.Kinds); err != nil {
		return err
	}
	kube, recorder := mgr.GetClient(), NewRecorder(mgr)
	live, reader := mgr.GetAPIReader(), settings.Reader{Client: mgr.GetClient(), Namespace: options.Namespace}
	direct, err := client.New(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return fmt.Errorf("creating a client without a cache: %w", err)
	}
	catalog := &controlledkind.Catalog{Kinds: options.Kinds, Client: kube, Live: live, Compiler: options.Compiler}
	sources := &source.Sources{
		Client: kube, Secrets: live, Namespace: options.Namespace, Guard: options.SourceGuard, Clock: options.Clock, Metrics: sourceMetrics,
		Traced: options.Tracer.Transport,
	}
	background := &looks.Background{Clock: options.Clock}
	records := &changerecord.Writer{Client: kube, Live: live, Settings: reader, Clock: options.Clock, Delivery: options.Delivery}
	reconcilers := map[string]interface{ SetupWithManager(mgr ctrl.Manager) error }{
		"Pod": &pod.Reconciler{Kinds: options.Kinds, Declared: options.Declared, Client: kube, Clock: options.Clock, Settings: reader},
		"ChangeWorkload": &changeworkload.Reconciler{
			Kinds: options.Kinds, Declared: options.Declared, Client: kube, Live: live, Direct: direct, Recorder: recorder, History: &history.Keeper{Client: kube, Live: live}, Records: records, Metrics: releases, Delivery: options.Delivery,
			Clock: options.Clock, Tracer: options.Tracer, Settings: reader, Rules: options.Rules, Sources: sources,
			Asker:    &plugin.Asker{Sources: sources, Client: kube, Live: live, Jobs: direct, Looks: background, Tracer: options.Tracer},
			Looks:    background,
			Verifier: options.Verifier, FailClosed: options.FailClosed,
		},
		"ChangePod": &changepod.Reconciler{
			Client: kube, Live: live, Recorder: recorder, Metrics: batches, Clock: options.Clock, Tracer: options.Tracer,
			Verifier: options.Verifier, FailClosed: options.FailClosed,
		},
		"ControlledKind": &controlledkind.Reconciler{
			Kinds: builtIn, Client: kube, Live: live, Direct: direct, Mapper: mgr.GetRESTMapper(), Operator: options.Operator, Clock: options.Clock,
			Declared: catalog, Runner: options.Declared,
		},
		"DeclaredKind": catalog,
		"ReleasePolicy": &releasepolicy.Reconciler{
			Kinds: options.Kinds, Client: kube, Live: live, Clock: options.Clock, Namespace: options.Namespace,
		},
		"VerificationPolicy": &verificationpolicy.Reconciler{
			Kinds: options.Kinds, Client: kube, Live: live, Clock: options.Clock, Namespace: options.Namespace, Rules: options.Rules,
		},
		"VerificationSource": &verificationsource.Reconciler{
			Client: kube, Clock: options.Clock, Sources: sources, Namespace: options.Namespace,
		},
		"ChangeSubscription": &changesubscription.Reconciler{
			Kinds: options.Kinds, Client: kube, Live: live, Recorder: recorder, Metrics: notifications, Clock: options.Clock,
			Guard: options.SourceGuard, Namespace: options.Namespace, Jitter: rand.Float64,
		},
		"ReleaseGate":    &releasegate.Reconciler{Client: kube, Namespace: options.Namespace},
		"ChangeApproval": &changeapproval.Reconciler{Client: kube, Clock: options.Clock},
		"ChangeFreeze":   &changefreeze.Reconciler{Client: kube, Clock: options.Clock, Namespace: options.Namespace},
		"BreakGlass":     &breakglass.Reconciler{Client: kube, Clock: options.Clock},
		"ChangeRecord":   &changerecord.Retention{Client: kube, Live: live, Settings: reader, Clock: options.Clock},
		"OpsConfigInfo":  &opsconfiginfo.Reconciler{Client: kube, Recorder: recorder, Clock: options.Clock, Namespace: options.Namespace},
	}
	recorded := func(name string, kinds bykind.Kinds) *record.Controller {
		return &record.Controller{Name: name, Kinds: kinds, Client: kube, Reconciler: func(kind workload.Kind) reconcile.Reconciler {
			return &record.Reconciler{
				Kind: kind, Kinds: options.Kinds, Client: kube, Live: live, Recorder: recorder, Clock: options.Clock, Tracer: options.Tracer,
				Settings: reader, Records: records, Ordered: verifier.StateOf(options.Verifier, options.FailClosed).Announced,
			}
		}}
	}
	reconcilers["declared kinds"] = recorded("declared", options.Declared)
	for _, kind := range builtIn {
		reconcilers[kind.GroupVersionKind().Kind] = recorded(workload.Noun(kind), bykind.Only{Kind: kind})
	}
	for kind, reconciler := range reconcilers {
		if err := reconciler.SetupWithManager(mgr); err != nil {
			return fmt.Errorf("setting up the %s reconciler: %w", kind, err)
		}
	}
	if err := mgr.AddReadyzCheck("kinds", catalog.Ready); err != nil {
		return fmt.Errorf("adding the readiness check of the declared kinds: %w", err)
	}
	return nil
}
