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

// Package freeze finds the ChangeFreezes that concern a workload.
package freeze

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/calendar"
	"github.com/traas-stack/altershield-operator/controllers/concern"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/oneline"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// maxReason is how many characters of the reason of a freeze are shown, as the API limits it.
const maxReason = 256

// Fills the cache with the freezes, which the webhooks of every replica read.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=changefreezes,verbs=list;watch

// Reader finds ChangeFreezes.
type Reader struct {
	// Namespaces reads namespaces from the cache, Freezes reads ChangeFreezes, from the cache or from the API server.
	Namespaces, Freezes client.Reader
	// Namespace is the namespace of the operator. ChangeFreezes there may select other namespaces.
	Namespace string
}

// Found is a ChangeFreeze that concerns a workload, with its state.
type Found struct {
	*appv1alpha1.ChangeFreeze
	calendar.State
}

// Of returns the ChangeFreezes that concern a workload, the strictest first: Deny, Park, Warn, and of those the one that ends last. One
// with an unusable spec concerns none. They are shared with the cache and must not be changed.
func (r Reader) Of(ctx context.Context, kind workload.Typed, object client.Object, now time.Time) ([]Found, error) {
	own := object.GetNamespace()
	var found []Found
	var namespaceLabels labels.Set
	for _, namespace := range slices.Compact([]string{own, r.Namespace}) {
		var list appv1alpha1.ChangeFreezeList
		err := r.Freezes.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
		if err != nil {
			return nil, fmt.Errorf("listing the ChangeFreezes in namespace %s: %w", namespace, err)
		}
		for i := range list.Items {
			freeze, concerned := &list.Items[i], list.Items[i].Namespace == own
			if selector := freeze.Spec.Namespaces; selector != nil {
				if namespaceLabels == nil {
					if namespaceLabels, err = r.labelsOf(ctx, own); err != nil {
						return nil, err
					}
				}
				concerned = concern.Matches(selector, namespaceLabels)
			}
			if !concerned || !concern.Selects(freeze.Spec.Workloads, kind, object) {
				continue
			}
			if times, problems := Check(freeze, r.Namespace); len(problems) == 0 {
				found = append(found, Found{freeze, times.At(now)})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b Found) int {
		return cmp.Or(cmp.Compare(strictness(b.Spec.Action), strictness(a.Spec.Action)), b.Until.Compare(a.Until))
	})
	return found, nil
}

// IsOn reports whether a ChangeFreeze is on now, whatever workloads it concerns and whatever it makes of their releases. It is named as
// <namespace>/<name>.
func (r Reader) IsOn(ctx context.Context, by string, now time.Time) (bool, error) {
	namespace, name, _ := strings.Cut(by, "/")
	var list appv1alpha1.ChangeFreezeList
	err := r.Freezes.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	if err != nil {
		return false, fmt.Errorf("listing the ChangeFreezes in namespace %s: %w", namespace, err)
	}
	for i := range list.Items {
		if object := &list.Items[i]; object.Name == name {
			times, problems := Check(object, r.Namespace)
			return len(problems) == 0 && times.At(now).Active, nil
		}
	}
	return false, nil
}

// labelsOf returns the labels of a namespace, empty ones if it isn't opted in: the cache holds no others.
func (r Reader) labelsOf(ctx context.Context, namespace string) (labels.Set, error) {
	var object corev1.Namespace
	err := r.Namespaces.Get(ctx, client.ObjectKey{Name: namespace}, &object, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading namespace %s: %w", namespace, err)
	}
	if object.Labels == nil {
		return labels.Set{}, nil
	}
	return object.Labels, nil
}

func strictness(action appv1alpha1.FreezeAction) int {
	return slices.Index([]appv1alpha1.FreezeAction{appv1alpha1.FreezeWarn, appv1alpha1.FreezePark, appv1alpha1.FreezeDeny}, action)
}

// Excepts reports whether a user's releases are excepted from a freeze.
func (f Found) Excepts(user authenticationv1.UserInfo) bool {
	except := f.Spec.Except
	return except != nil && (slices.Contains(except.Users, user.Username) ||
		slices.ContainsFunc(user.Groups, func(group string) bool { return slices.Contains(except.Groups, group) }))
}

// stops reports whether a freeze keeps releases from starting at its times, parks whether it does so now.
func (f Found) stops() bool { return f.Spec.Action != appv1alpha1.FreezeWarn }
func (f Found) parks() bool { return f.Active && f.stops() }

// holds reports whether a freeze holds releases under way.
func (f Found) holds() bool { return f.stops() && f.Spec.Running == appv1alpha1.FreezeHold }

// Release is what decides which freezes concern a release that was admitted.
type Release struct {
	// Began is when it was admitted, or when a user last let it go on during a freeze; zero if that isn't known.
	Began time.Time
	// Parked are the freezes that parked it; nil if none did.
	Parked *appv1alpha1.Frozen
}

// ReleaseOf returns what the annotations of a workload show of its release.
func ReleaseOf(annotations map[string]string, number int64) Release {
	release := Release{Parked: appv1alpha1.FrozenOf(annotations, number)}
	if by, found := appv1alpha1.ReleaseRecordOf(annotations); found && by.Release == number {
		release.Began = by.Time.Time
	}
	return release
}

// Recorded returns what a record and the annotations of its workload show of a release.
func Recorded(record *appv1alpha1.ChangeWorkload, annotations map[string]string) Release {
	release := ReleaseOf(annotations, record.Spec.Release)
	if release.Began.IsZero() {
		release.Began = time.Unix(record.Spec.CreateTimeUnix, 0)
	}
	if letGo := decide.LetGo(record, appv1alpha1.BreakGlassPassOf(annotations, record.Spec.Release)); letGo.After(release.Began) {
		release.Began = letGo
	}
	return release
}

// InForce returns the freeze that is on now and keeps a release from going on, nil if there is none. Of several, it is one that holds the
// release if that is under way, if there is one, and then that which ends last.
func (r Release) InForce(found []Found) *decide.InForce {
	var inForce *decide.InForce
	for _, one := range found {
		if !one.parks() || r.Parked != nil && r.wasLetThrough(one) {
			continue
		}
		candidate := one.Describe()
		candidate.Holds = one.holds() && !r.wasLetThrough(one)
		if inForce == nil || candidate.Holds && !inForce.Holds || candidate.Holds == inForce.Holds && candidate.Until.After(inForce.Until) {
			inForce = candidate
		}
	}
	return inForce
}

// wasLetThrough reports whether a freeze was on when the release began and doesn't park it, because of an exception for example.
func (r Release) wasLetThrough(one Found) bool {
	return r.Began.After(one.since()) && (r.Parked == nil || !slices.Contains(r.Parked.By, one.by()))
}

// Mark returns the mark on a workload whose release the freezes park that are on now. The one that ends last decides how many go on at a
// time.
func Mark(found []Found, release int64) *appv1alpha1.Frozen {
	mark := &appv1alpha1.Frozen{Release: release}
	for _, one := range found {
		if !one.parks() {
			continue
		}
		if len(mark.By) == 0 {
			mark.Concurrent = one.Spec.Thaw.Concurrent
		}
		mark.By = append(mark.By, one.by())
	}
	return mark
}

// Describe returns the freeze for decisions and messages. Its reason is in one line: the API server drops warnings with other characters.
func (f Found) Describe() *decide.InForce {
	return &decide.InForce{By: f.by(), Reason: oneline.Of(f.Spec.Reason, maxReason), Since: f.since(), Until: f.Until, Concurrent: f.Spec.Thaw.Concurrent}
}

func (f Found) by() string { return f.Namespace + "/" + f.Name }

// since returns since when the freeze is on: not before its creation.
func (f Found) since() time.Time {
	if created := f.CreationTimestamp.Time; created.After(f.Since) {
		return created.UTC()
	}
	return f.Since
}

// NextHold returns when the next freeze begins that holds releases under way; zero if none is known.
func NextHold(found []Found) time.Time {
	var next time.Time
	for _, one := range found {
		if one.holds() && !one.Next.IsZero() && (next.IsZero() || one.Next.Before(next)) {
			next = one.Next
		}
	}
	return next
}
