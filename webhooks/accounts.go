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

package webhooks

import (
	"context"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/platform/tracing"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Limits of the decisions that are accounted for: per second, and in a burst.
const (
	perWorkload, perWorkloadBurst = 1, 20
	overall, overallBurst         = 50, 1000
	// maxLimited is the number of workloads with a limiter of their own: those with the latest decisions.
	maxLimited = 1024
	// maxUser is the maximum length of a user name in the log, in bytes.
	maxUser = 256
)

// accounts counts, logs, traces and reports the decisions of the webhooks. API servers present no certificate to webhooks, so any
// caller who reaches the port can send any review. Only decisions that the cache confirms are accounted for, at a limited rate.
type accounts struct {
	kind workload.Kind
	// cache holds the workloads of the kind under change control.
	cache    client.Reader
	clock    clock.PassiveClock
	recorder events.Recorder
	metrics  *Metrics
	tracer   *tracing.Tracer
	// all limits the decisions on all workloads together, limited those on each one, by UID.
	all     flowcontrol.PassiveRateLimiter
	limited *lru.Cache
}

func newAccounts(options Options, metrics *Metrics) *accounts {
	return &accounts{
		cache: options.Reader, clock: options.Clock, recorder: options.Recorder, metrics: metrics, tracer: options.Tracer,
		all:     flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(overall, overallBurst, options.Clock),
		limited: lru.New(maxLimited),
	}
}

// of returns the accounts of one kind, which share the limits with those of all others.
func (a accounts) of(kind workload.Kind) *accounts {
	a.kind = kind
	return &a
}

// known returns the workload of a request from the cache, shared with the cache. It returns nil if the cache has none with this name
// and UID, which leaves the request unconfirmed.
func (a *accounts) known(ctx context.Context, request admission.Request, uid types.UID) client.Object {
	object := a.kind.New()
	key := client.ObjectKey{Namespace: request.Namespace, Name: request.Name}
	err := a.cache.Get(ctx, key, object, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	if err != nil || uid == "" || object.GetUID() != uid {
		return nil
	}
	return object
}

// take counts and logs a decision on a release of a workload and reports whether it did: not for a dry run, not without
// confirmation, and not beyond the limits.
func (a *accounts) take(ctx context.Context, made decision, request admission.Request, known client.Object, release decide.Release) bool {
	if ptr.Deref(request.DryRun, false) || !confirms(known, made, a.clock.Now()) || !a.allow(known.GetUID()) {
		return false
	}
	if !isVersion(release.Version) { // the label of an unstamped request may hold any text
		release.Version = ""
	}
	a.metrics.decisions.WithLabelValues(string(made)).Inc()
	values := []any{"namespace", known.GetNamespace(), "user", decide.Shorten(request.UserInfo.Username, maxUser)}
	ctrl.LoggerFrom(ctx).Info("Decided on the admission of a release", append(values, events.Release(a.kind.GroupVersionKind().Kind, known.GetName(), release, string(made))...)...)
	return true
}

func (a *accounts) allow(uid types.UID) bool {
	own, found := a.limited.Get(uid)
	if !found {
		own = flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(perWorkload, perWorkloadBurst, a.clock)
		a.limited.Add(uid, own)
	}
	limiter, isLimiter := own.(flowcontrol.PassiveRateLimiter)
	return isLimiter && limiter.TryAccept() && a.all.TryAccept()
}

// confirms reports whether the cached workload, which may be nil, justifies a decision.
func confirms(known client.Object, made decision, now time.Time) bool {
	if known == nil {
		return false
	}
	switch made {
	case decisionDenied, decisionIgnored, decisionReturned:
		return decide.IsSuspended(known)
	case decisionRefused, decisionRefusalIgnored:
		return len(refusedVersions(appv1alpha1.RollbacksOf(known.GetAnnotations()), now)) > 0
	}
	return true
}

// isVersion reports whether a text has the form of a release version.
func isVersion(text string) bool {
	return len(text) == 32 && strings.Trim(text, "0123456789abcdef") == ""
}
