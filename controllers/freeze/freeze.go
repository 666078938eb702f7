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
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/calendar"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

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

// Of returns the ChangeFreezes that concern a workload, the strictest first: Deny, Park, Warn, and of those the one that ends last. One with
// an unusable spec concerns none. They are shared with the cache and must not be changed.
func (r Reader) Of(ctx context.Context, kind workload.Kind, object client.Object, now time.Time) ([]Found, error) {
	of := targetOf(kind, object)
	var found []Found
	for _, namespace := range slices.Compact([]string{of.namespace, r.Namespace}) {
		var list appv1alpha1.ChangeFreezeList
		err := r.Freezes.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
		if err != nil {
			return nil, fmt.Errorf("listing the ChangeFreezes in namespace %s: %w", namespace, err)
		}
		for i := range list.Items {
			freeze := &list.Items[i]
			if freeze.Spec.Namespaces != nil && of.namespaceLabels == nil {
				if of.namespaceLabels, err = r.labelsOf(ctx, of.namespace); err != nil {
					return nil, err
				}
			}
			if times, problems := Check(freeze, r.Namespace); len(problems) == 0 && of.isConcernedBy(freeze) {
				found = append(found, Found{freeze, times.At(now)})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b Found) int {
		return cmp.Or(cmp.Compare(strictness(b.Spec.Action), strictness(a.Spec.Action)), b.Until.Compare(a.Until))
	})
	return found, nil
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

// target is a workload that ChangeFreezes may concern.
type target struct {
	namespace, name         string
	kind                    schema.GroupKind
	labels, namespaceLabels labels.Set
}

func targetOf(kind workload.Kind, object client.Object) target {
	return target{kind: kind.GroupVersionKind().GroupKind(), name: object.GetName(), labels: object.GetLabels(), namespace: object.GetNamespace()}
}

// Selects reports whether selectors select a workload. No selectors select all.
func Selects(selectors []appv1alpha1.WorkloadSelector, kind workload.Kind, object client.Object) bool {
	return targetOf(kind, object).isOneOf(selectors)
}

// isConcernedBy reports whether a usable freeze concerns the workload.
func (t target) isConcernedBy(freeze *appv1alpha1.ChangeFreeze) bool {
	if freeze.Spec.Namespaces == nil {
		return freeze.Namespace == t.namespace && t.isOneOf(freeze.Spec.Workloads)
	}
	return matches(freeze.Spec.Namespaces, t.namespaceLabels) && t.isOneOf(freeze.Spec.Workloads)
}

// isOneOf reports whether selectors select the workload. No selectors select all.
func (t target) isOneOf(selectors []appv1alpha1.WorkloadSelector) bool {
	return len(selectors) == 0 || slices.ContainsFunc(selectors, func(selector appv1alpha1.WorkloadSelector) bool {
		switch {
		case schema.ParseGroupKind(selector.Kind) != t.kind:
			return false
		case selector.Name != "":
			return selector.Name == t.name
		}
		return selector.Selector == nil || matches(selector.Selector, t.labels)
	})
}

// matches reports whether a selector matches labels. An unusable one matches none.
func matches(selector *metav1.LabelSelector, set labels.Set) bool {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && parsed.Matches(set)
}

// Excepts reports whether a user's releases are excepted from a freeze.
func (f Found) Excepts(user authenticationv1.UserInfo) bool {
	except := f.Spec.Except
	return except != nil && (slices.Contains(except.Users, user.Username) ||
		slices.ContainsFunc(user.Groups, func(group string) bool { return slices.Contains(except.Groups, group) }))
}

// stops reports whether a freeze keeps releases from starting.
func (f Found) stops() bool { return f.Spec.Action != appv1alpha1.FreezeWarn }

// InForce returns the freeze that is on now and keeps releases from going on, nil if there is none. Of several, it is one that holds
// releases under way if there is one, and then that which ends last.
func InForce(found []Found) *decide.InForce {
	var inForce *decide.InForce
	for _, freeze := range found {
		if !freeze.Active || !freeze.stops() {
			continue
		}
		candidate := freeze.Describe()
		if inForce == nil || candidate.Holds && !inForce.Holds || candidate.Holds == inForce.Holds && candidate.Until.After(inForce.Until) {
			inForce = candidate
		}
	}
	return inForce
}

// Describe returns the freeze for decisions and messages.
func (f Found) Describe() *decide.InForce {
	return &decide.InForce{
		By: f.Namespace + "/" + f.Name, Reason: f.Spec.Reason, Since: f.Since, Until: f.Until,
		Holds: f.Spec.Running == appv1alpha1.FreezeHold, Concurrent: f.Spec.Thaw.Concurrent,
	}
}

// NextHold returns when the next freeze begins that holds releases under way; zero if none is known.
func NextHold(found []Found) time.Time {
	var next time.Time
	for _, freeze := range found {
		if freeze.stops() && freeze.Spec.Running == appv1alpha1.FreezeHold && !freeze.Next.IsZero() && (next.IsZero() || freeze.Next.Before(next)) {
			next = freeze.Next
		}
	}
	return next
}
