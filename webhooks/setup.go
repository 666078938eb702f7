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

// Package webhooks implements the admission of workloads, and of the operator's own kinds. The mutating webhook stamps releases, and holds those
// that are frozen or in steps. The validating webhook denies releases of suspended workloads and of quarantined versions.
package webhooks

import (
	"context"
	"fmt"
	"net/http"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/bounded"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/platform/oneline"
	"github.com/traas-stack/altershield-operator/controllers/platform/tracing"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Paths in the webhook configurations.
const (
	MutatePath   = "/mutate-apps-v1-deployment"
	ValidatePath = "/validate-apps-v1-deployment"
	// Paths for every other kind.
	MutateKindPath   = "/mutate-kind"
	ValidateKindPath = "/validate-kind"
	// ValidateControlledKindPath is the path for ControlledKinds.
	ValidateControlledKindPath = "/validate-controlledkind"
	// ValidateChangeFreezePath is the path for ChangeFreezes.
	ValidateChangeFreezePath = "/validate-changefreeze"
	// MutateBreakGlassPath is the path for BreakGlasses.
	MutateBreakGlassPath = "/mutate-breakglass"
	// MutateChangeApprovalPath is the path for ChangeApprovals.
	MutateChangeApprovalPath = "/mutate-changeapproval"
	// MutateChangeVerdictPath is the path for the status of ChangeVerdicts.
	MutateChangeVerdictPath = "/mutate-changeverdict"
	// ValidateReleasePolicyPath is the path for ReleasePolicies.
	ValidateReleasePolicyPath = "/validate-releasepolicy"
	// ValidateVerificationPolicyPath is the path for VerificationPolicies.
	ValidateVerificationPolicyPath = "/validate-verificationpolicy"
	// MutatePodsPath is the path for pods that may need a gate.
	MutatePodsPath = "/mutate-pods"
)

// +kubebuilder:webhook:path=/mutate-apps-v1-deployment,mutating=true,failurePolicy=fail,sideEffects=None,groups=apps,resources=deployments,verbs=create;update,versions=v1,name=mdeployment.kb.io,admissionReviewVersions=v1,reinvocationPolicy=IfNeeded,timeoutSeconds=10
// +kubebuilder:webhook:path=/validate-apps-v1-deployment,mutating=false,failurePolicy=fail,sideEffects=NoneOnDryRun,groups=apps,resources=deployments,verbs=update,versions=v1,name=vdeployment.kb.io,admissionReviewVersions=v1,timeoutSeconds=10

// While no replica answers, a ControlledKind can still be applied and changed: its condition Ready shows what is wrong with it.
// +kubebuilder:webhook:path=/validate-controlledkind,mutating=false,failurePolicy=ignore,sideEffects=None,groups=app.ops.cloud.alipay.com,resources=controlledkinds,verbs=create;update,versions=v1alpha1,name=vcontrolledkind.kb.io,admissionReviewVersions=v1,timeoutSeconds=10

// A ChangeFreeze that was not checked shows in its condition Ready what is wrong with it.
// +kubebuilder:webhook:path=/validate-changefreeze,mutating=false,failurePolicy=ignore,sideEffects=None,groups=app.ops.cloud.alipay.com,resources=changefreezes,verbs=create;update,versions=v1alpha1,name=vchangefreeze.kb.io,admissionReviewVersions=v1,timeoutSeconds=10

// Without it, a client could name another user as the author of a BreakGlass.
// +kubebuilder:webhook:path=/mutate-breakglass,mutating=true,failurePolicy=fail,sideEffects=None,groups=app.ops.cloud.alipay.com,resources=breakglasses,verbs=create,versions=v1alpha1,name=mbreakglass.kb.io,admissionReviewVersions=v1,timeoutSeconds=10

// Without it, a client could name another user as the approver of a release.
// +kubebuilder:webhook:path=/mutate-changeapproval,mutating=true,failurePolicy=fail,sideEffects=None,groups=app.ops.cloud.alipay.com,resources=changeapprovals,verbs=create,versions=v1alpha1,name=mchangeapproval.kb.io,admissionReviewVersions=v1,timeoutSeconds=10

// Without it, a client could report a verdict in the name of another user.
// +kubebuilder:webhook:path=/mutate-changeverdict,mutating=true,failurePolicy=fail,sideEffects=None,groups=app.ops.cloud.alipay.com,resources=changeverdicts/status,verbs=update,versions=v1alpha1,name=mchangeverdict.kb.io,admissionReviewVersions=v1,timeoutSeconds=10

// A ReleasePolicy that was not checked shows in its condition Ready what is wrong with it.
// +kubebuilder:webhook:path=/validate-releasepolicy,mutating=false,failurePolicy=ignore,sideEffects=None,groups=app.ops.cloud.alipay.com,resources=releasepolicies,verbs=create;update,versions=v1alpha1,name=vreleasepolicy.kb.io,admissionReviewVersions=v1,timeoutSeconds=10

// A VerificationPolicy that was not checked shows in its condition Ready what is wrong with it.
// +kubebuilder:webhook:path=/validate-verificationpolicy,mutating=false,failurePolicy=ignore,sideEffects=None,groups=app.ops.cloud.alipay.com,resources=verificationpolicies,verbs=create;update,versions=v1alpha1,name=vverificationpolicy.kb.io,admissionReviewVersions=v1,timeoutSeconds=10

// While no replica answers, pods come without a gate, rather than not at all.
// +kubebuilder:webhook:path=/mutate-pods,mutating=true,failurePolicy=ignore,sideEffects=None,groups="",resources=pods,verbs=create,versions=v1,name=mpod.kb.io,admissionReviewVersions=v1,reinvocationPolicy=IfNeeded,timeoutSeconds=5

// Options configures the webhooks.
type Options struct {
	// Kinds are the kinds of workloads that they admit.
	Kinds workload.Kinds
	// Reader reads from a cache with the objects of Watch and the indexes of package index.
	Reader client.Reader
	// Live reads from the API server, for irrevocable decisions and for objects that the cache doesn't hold.
	Live client.Reader
	// Namespace is the namespace of the operator, whose ChangeFreezes may select other namespaces.
	Namespace string
	// Operator is the user name of the operator, which may write its own keys and roll back.
	Operator string
	Clock    clock.PassiveClock
	// Recorder writes Events about denied quarantined versions. It needs no log: each decision has a line of its own.
	Recorder events.Recorder
	Metrics  prometheus.Registerer
	// Tracer is nil if tracing is off.
	Tracer *tracing.Tracer
	// ControlledKinds, ChangeFreezes, ReleasePolicies and VerificationPolicies validate objects of these kinds.
	ControlledKinds, ChangeFreezes, ReleasePolicies, VerificationPolicies admission.Handler
	// BreakGlasses and ChangeApprovals record who creates one, ChangeVerdicts who reports a verdict.
	BreakGlasses, ChangeApprovals, ChangeVerdicts admission.Handler
	// Leaving is closed when the process begins to shut down. It may be nil.
	Leaving <-chan struct{}
}

// Watch makes the cache hold the objects that the webhooks read, also on replicas that don't lead.
func Watch(ctx context.Context, informers cache.Informers, kinds workload.Kinds) error {
	for _, object := range append(kinds.Snapshot().Objects(), &corev1.Namespace{}, &appv1alpha1.ChangeWorkload{}, &appv1alpha1.ControlledKind{},
		&appv1alpha1.ChangeFreeze{}, &appv1alpha1.ReleasePolicy{}, &appv1alpha1.ReleaseGate{}) {
		if _, err := informers.GetInformer(ctx, object); err != nil {
			return fmt.Errorf("watching %T: %w", object, err)
		}
	}
	return nil
}

// Register adds the webhooks to server.
func Register(server webhook.Server, options Options) error {
	metrics, err := NewMetrics(options.Metrics)
	if err != nil {
		return err
	}
	accounts := newAccounts(options, metrics)
	past := newPast(options, accounts)
	freezes, paces := newFreezes(options, past, accounts), newPaces(options, past)
	mutate := dispatcher{options.Kinds, options.Reader, func(kind workload.Kind) admission.Handler {
		return &defaulter{
			kind: kind, operator: options.Operator, clock: options.Clock, accounts: accounts.of(kind), past: past.of(kind), freezes: freezes.of(kind),
			paces: paces.of(kind),
		}
	}}
	validate := dispatcher{options.Kinds, options.Reader, func(kind workload.Kind) admission.Handler {
		return &validator{kind: kind, operator: options.Operator, clock: options.Clock, accounts: accounts.of(kind), past: past.of(kind), freezes: freezes.of(kind)}
	}}
	log := boundedLog(options.Clock)
	for path, handler := range map[string]admission.Handler{
		MutatePath: mutate, MutateKindPath: mutate, ValidatePath: validate, ValidateKindPath: validate,
		ValidateControlledKindPath: options.ControlledKinds, ValidateChangeFreezePath: options.ChangeFreezes, ValidateReleasePolicyPath: options.ReleasePolicies,
		ValidateVerificationPolicyPath: options.VerificationPolicies,
		MutateBreakGlassPath:           options.BreakGlasses, MutateChangeApprovalPath: options.ChangeApprovals, MutateChangeVerdictPath: options.ChangeVerdicts,
		// A reader of its own: pods without a ReleaseGate must not use up the reads of releases.
		MutatePodsPath: &podGates{cache: options.Reader, live: bounded.NewReader(options.Live, options.Clock)},
	} {
		server.Register(path, closeOnShutdown{options.Leaving, &admission.Webhook{Handler: oneLine{handler}, LogConstructor: log}})
	}
	return nil
}

// maxWarning is the most characters of a warning: the API server sends no more of all warnings to a request.
const maxWarning = 4096

// oneLine keeps each warning in one line: the API server drops those with control characters, as messages of checks and of workloads may have.
type oneLine struct{ admission.Handler }

// Handle answers an admission review.
func (o oneLine) Handle(ctx context.Context, request admission.Request) admission.Response {
	response := o.Handler.Handle(ctx, request)
	for i, warning := range response.Warnings {
		response.Warnings[i] = oneline.Of(warning, maxWarning)
	}
	return response
}

// dispatcher has each admission review answered by the handler for its kind of workload.
type dispatcher struct {
	kinds   workload.Kinds
	cache   client.Reader
	handler func(kind workload.Kind) admission.Handler
}

// Handle admits workloads of kinds that aren't enforced: the webhooks of Deployments are called in any mode, and those of another kind
// until the webhook configurations show its mode.
func (d dispatcher) Handle(ctx context.Context, request admission.Request) admission.Response {
	kind := d.kinds.Snapshot().ByGroupKind(schema.GroupKind{Group: request.Kind.Group, Kind: request.Kind.Kind})
	if kind == nil {
		return d.unknown(ctx, request)
	}
	enforced, err := workload.Enforced(ctx, d.cache, kind)
	switch {
	case err != nil:
		return admission.Errored(http.StatusInternalServerError, err)
	case !enforced:
		return admission.Allowed("")
	}
	return d.handler(kind).Handle(ctx, request)
}

// unknown admits workloads of kinds that aren't under change control. Those of a declared kind that is, but that this process has not compiled yet, have
// to come again: a release would be neither stamped nor denied.
func (d dispatcher) unknown(ctx context.Context, request admission.Request) admission.Response {
	var controlled appv1alpha1.ControlledKind
	name := request.Resource.Resource + "." + request.Resource.Group
	err := d.cache.Get(ctx, client.ObjectKey{Name: name}, &controlled, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return admission.Errored(http.StatusInternalServerError, fmt.Errorf("reading ControlledKind %s: %w", name, err))
	case !controlled.Spec.BuiltIn && workload.IsEnforced(&controlled) && meta.IsStatusConditionTrue(controlled.Status.Conditions, appv1alpha1.ConditionAdmitted):
		return admission.Errored(http.StatusServiceUnavailable, fmt.Errorf("the operator has just started, and doesn't know ControlledKind %s yet: try again", name))
	}
	return admission.Allowed("")
}

// boundedLog keeps untrusted input out of the log: the values of requests, and more than one line per second about requests that
// aren't admission reviews.
func boundedLog(clock clock.PassiveClock) func(logr.Logger, *admission.Request) logr.Logger {
	limiter := flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(1, 10, clock)
	return func(base logr.Logger, request *admission.Request) logr.Logger {
		if request == nil && !limiter.TryAccept() {
			return logr.Discard()
		}
		return base
	}
}

// closeOnShutdown closes each connection with its next response once the process shuts down. The API server keeps HTTP/1.1
// connections to webhooks and doesn't retry a POST: a request on a connection that is closed at the same moment fails, and its
// release with it.
type closeOnShutdown struct {
	leaving <-chan struct{}
	handler http.Handler
}

func (c closeOnShutdown) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	select {
	case <-c.leaving:
		w.Header().Set("Connection", "close")
	default:
	}
	c.handler.ServeHTTP(w, request)
}
