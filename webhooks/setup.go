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

// Package webhooks holds the admission of Deployments: the mutating webhook stamps releases, the validating webhook
// denies those of a suspended Deployment and those of a version that was rolled back.
package webhooks

import (
	"context"
	"fmt"
	"net/http"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/platform/tracing"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Paths that the webhook configurations name.
const (
	MutatePath   = "/mutate-apps-v1-deployment"
	ValidatePath = "/validate-apps-v1-deployment"
)

// +kubebuilder:webhook:path=/mutate-apps-v1-deployment,mutating=true,failurePolicy=fail,sideEffects=None,groups=apps,resources=deployments,verbs=create;update,versions=v1,name=mdeployment.kb.io,admissionReviewVersions=v1,reinvocationPolicy=IfNeeded,timeoutSeconds=10
// +kubebuilder:webhook:path=/validate-apps-v1-deployment,mutating=false,failurePolicy=fail,sideEffects=NoneOnDryRun,groups=apps,resources=deployments,verbs=update,versions=v1,name=vdeployment.kb.io,admissionReviewVersions=v1,timeoutSeconds=10

// Options are what the webhooks need.
type Options struct {
	// Kind is what they admit.
	Kind workload.Kind
	// Reader reads what Watch watches, from a cache that has the indexes of package index.
	Reader client.Reader
	// Live reads from the API server, to settle what can't be taken back and what the cache doesn't have.
	Live client.Reader
	// Operator is the user name of the operator itself, which may write its own keys and roll back.
	Operator string
	// Clock tells the time that is recorded with a release, and whether a version is still refused.
	Clock clock.PassiveClock
	// Recorder writes the Events about denied versions. It needs no log: each decision has a line of its own.
	Recorder events.Recorder
	// Metrics takes the metrics of the webhooks.
	Metrics prometheus.Registerer
	// Tracer sends spans of denials; nil where nothing is traced.
	Tracer *tracing.Tracer
	// Leaving is closed when the process is to end before long; nil if it never tells.
	Leaving <-chan struct{}
}

// Watch has the cache hold what the webhooks read, also on replicas that reconcile nothing.
func Watch(ctx context.Context, informers cache.Informers, kind workload.Kind) error {
	for _, object := range []client.Object{&corev1.Namespace{}, kind.New(), &appv1alpha1.ChangeWorkload{}} {
		if _, err := informers.GetInformer(ctx, object); err != nil {
			return fmt.Errorf("watching %T: %w", object, err)
		}
	}
	return nil
}

// Register adds both webhooks to server.
func Register(server webhook.Server, options Options) error {
	metrics, err := NewMetrics(options.Metrics)
	if err != nil {
		return err
	}
	accounts := newAccounts(options, metrics)
	past := newPast(options, accounts)
	log := boundedLog(options.Clock)
	server.Register(MutatePath, lastAnswers{options.Leaving, &admission.Webhook{
		Handler:        &deploymentDefaulter{kind: options.Kind, operator: options.Operator, clock: options.Clock, accounts: accounts, past: past},
		LogConstructor: log,
	}})
	server.Register(ValidatePath, lastAnswers{options.Leaving, &admission.Webhook{
		Handler:        &deploymentValidator{kind: options.Kind, operator: options.Operator, clock: options.Clock, accounts: accounts, past: past},
		LogConstructor: log,
	}})
	return nil
}

// boundedLog keeps what anybody may send out of the log: the values of a request, and all but one line a second about requests
// that aren't admission reviews.
func boundedLog(clock clock.PassiveClock) func(logr.Logger, *admission.Request) logr.Logger {
	limiter := flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(1, 10, clock)
	return func(base logr.Logger, request *admission.Request) logr.Logger {
		if request == nil && !limiter.TryAccept() {
			return logr.Discard()
		}
		return base
	}
}

// lastAnswers closes each connection with its next answer once the process is leaving. The API server keeps connections to
// webhooks, by HTTP/1.1: a request on one that the server closes at that very moment is lost, as POSTs aren't sent again, and
// its release fails.
type lastAnswers struct {
	leaving <-chan struct{}
	handler http.Handler
}

func (l lastAnswers) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	select {
	case <-l.leaving:
		w.Header().Set("Connection", "close")
	default:
	}
	l.handler.ServeHTTP(w, request)
}
