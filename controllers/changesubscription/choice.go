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

package changesubscription

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/changesubscription/notice"
	"github.com/traas-stack/altershield-operator/controllers/freeze"
	"github.com/traas-stack/altershield-operator/controllers/platform/oneline"
)

// choice is what a subscription selects. A nil selector selects everything.
type choice struct {
	events                []appv1alpha1.SubscribedEvent
	namespaces, workloads labels.Selector
}

// newChoice returns what a subscription selects, or why its spec is unusable.
func newChoice(spec *appv1alpha1.ChangeSubscriptionSpec) (chosen choice, problem string) {
	chosen.events = spec.Events
	for _, selector := range []struct {
		place string
		from  *metav1.LabelSelector
		to    *labels.Selector
	}{{"spec.namespaceSelector", spec.NamespaceSelector, &chosen.namespaces}, {"spec.selector", spec.Selector, &chosen.workloads}} {
		if selector.from == nil {
			continue
		}
		compiled, err := metav1.LabelSelectorAsSelector(selector.from)
		if err != nil {
			return choice{}, oneline.Of(selector.place+": "+err.Error(), 256)
		}
		*selector.to = compiled
	}
	return chosen, ""
}

// find returns the events that a choice selects, since the time until which the status of a subscription says that they were told, in the order of
// time. It notes in the status the freezes whose end is to be told although their beginning isn't, and the releases whose workloads may be deleted.
func (r *Reconciler) find(ctx context.Context, chosen choice, object *appv1alpha1.ChangeSubscription) ([]notice.Event, error) {
	status := &object.Status
	since := status.ToldUntil.Time
	var releases appv1alpha1.ChangeWorkloadList
	if err := r.Client.List(ctx, &releases, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the ChangeWorkloads: %w", err)
	}
	search := search{Reconciler: r, choice: chosen, namespaces: map[string]bool{}, workloads: map[types.UID]bool{}}
	begun := notice.BeginningsOf(releases.Items)
	found, err := r.findFreezes(ctx, &search, object)
	if err != nil {
		return nil, err
	}
	for i := range releases.Items {
		selected, err := search.among(ctx, notice.Of(&releases.Items[i], begun, since))
		if err != nil {
			return nil, err
		}
		found = append(found, selected...)
	}
	for _, event := range notice.OfFailures(status.ToldFailures, begun, r.Clock.Now()) {
		if notice.Selects(chosen.events, &event) { // its workload may be gone
			found = append(found, event)
		}
	}
	named, err := search.findNamed(ctx, releases.Items, begun, status)
	if err != nil {
		return nil, err
	}
	found = append(found, named...)
	slices.SortStableFunc(found, notice.Compare)
	return found, nil
}

// findFreezes returns the events of ChangeFreezes that a choice selects, since the time until which a status says that they were told.
func (r *Reconciler) findFreezes(ctx context.Context, search *search, object *appv1alpha1.ChangeSubscription) (found []notice.Event, err error) {
	status := &object.Status
	if !notice.SelectsFreezes(search.events) {
		status.ToldFreezes = nil
		return nil, nil
	}
	var freezes appv1alpha1.ChangeFreezeList
	if err := r.Client.List(ctx, &freezes, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the ChangeFreezes: %w", err)
	}
	now, concerned := r.Clock.Now(), map[types.UID]bool{}
	for i := range freezes.Items {
		one := &freezes.Items[i]
		events, concerns, err := search.ofFreeze(ctx, one, object, now)
		if err != nil {
			return nil, err
		}
		concerned[one.UID] = concerns
		found = append(found, events...)
	}
	found = append(found, notice.OfGoneFreezes(status.ToldFreezes, func(uid types.UID) bool { return concerned[uid] }, now)...)
	return slices.DeleteFunc(found, func(event notice.Event) bool {
		if notice.Selects(search.events, &event) {
			return false
		}
		notice.NoteFreeze(status, &event)
		return true
	}), nil
}

// ofFreeze returns the events of a ChangeFreeze, and whether it is one that concerns a subscription. A subscription that is new or edited hears nothing of
// those that are on already: their end is noted to be told.
func (s *search) ofFreeze(
	ctx context.Context, one *appv1alpha1.ChangeFreeze, object *appv1alpha1.ChangeSubscription, now time.Time,
) (events []notice.Event, concerns bool, err error) {
	times, problems := freeze.Check(one, s.Namespace)
	if len(problems) > 0 {
		return nil, false, nil
	}
	status, isNew := &object.Status, object.Status.ObservedGeneration != object.Generation
	events = notice.OfFreeze(one, times, status.ToldFreezes, status.ToldUntil.Time, now)
	isTold := notice.IsToldFreeze(status, one.UID)
	if len(events) == 0 && !isTold && !times.At(now).Active {
		return nil, false, nil
	}
	concerns, err = s.isConcernedBy(ctx, one)
	newly := notice.OfNewlyConcerning(one, times, now)
	switch {
	case err != nil:
		return nil, false, err
	case !concerns && isNew: // it is on, but the subscription selects other ones now
		notice.ForgetFreeze(status, one.UID)
		return nil, false, nil
	case !concerns:
		return nil, false, nil
	case len(events) > 0 && !notice.IsOnAgain(status, events):
	case isTold:
		notice.KeepFreeze(status, &newly)
	case isNew:
		notice.NoteFreeze(status, &newly)
	case len(status.ToldFreezes) < appv1alpha1.MaxToldFreezes: // otherwise it may be one that was told
		events = append(events, newly)
	}
	return events, true, nil
}

// isConcernedBy reports whether a ChangeFreeze freezes releases of a selected namespace.
func (s *search) isConcernedBy(ctx context.Context, object *appv1alpha1.ChangeFreeze) (bool, error) {
	if object.Spec.Namespaces == nil {
		return s.hasNamespace(ctx, object.Namespace)
	}
	if s.choice.namespaces == nil {
		return true, nil
	}
	frozen, err := metav1.LabelSelectorAsSelector(object.Spec.Namespaces)
	if err != nil {
		return false, fmt.Errorf("ChangeFreeze %s/%s: spec.namespaces: %w", object.Namespace, object.Name, err)
	}
	var namespaces corev1.NamespaceList
	if err := s.Client.List(ctx, &namespaces, client.MatchingLabelsSelector{Selector: frozen}, client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("listing the namespaces of ChangeFreeze %s/%s: %w", object.Namespace, object.Name, err)
	}
	return slices.ContainsFunc(namespaces.Items, func(namespace corev1.Namespace) bool {
		return s.choice.namespaces.Matches(labels.Set(namespace.Labels))
	}), nil
}

// search reads each namespace and each workload once.
type search struct {
	*Reconciler
	choice
	namespaces map[string]bool
	workloads  map[types.UID]bool
}

// among returns those of some events that are selected.
func (s *search) among(ctx context.Context, events []notice.Event) (found []notice.Event, err error) {
	for i := range events {
		if !notice.Selects(s.events, &events[i]) {
			continue
		}
		selected, err := s.selects(ctx, &events[i])
		if err != nil {
			return nil, err
		}
		if selected {
			found = append(found, events[i])
		}
	}
	return found, nil
}

// selects reports whether the namespace and the workload of an event are selected.
func (s *search) selects(ctx context.Context, event *notice.Event) (bool, error) {
	if selected, err := s.hasNamespace(ctx, event.Namespace); err != nil || !selected {
		return false, err
	}
	if s.choice.workloads == nil {
		return true, nil
	}
	if selected, known := s.workloads[event.Workload.UID]; known {
		return selected, nil
	}
	found, err := s.labelsOf(ctx, &event.Workload, event.Namespace)
	if err != nil {
		return false, err
	}
	selected := found.there && s.choice.workloads.Matches(found.labels)
	s.workloads[event.Workload.UID] = selected
	return selected, nil
}

// hasNamespace reports whether a namespace is selected.
func (s *search) hasNamespace(ctx context.Context, name string) (bool, error) {
	if s.choice.namespaces == nil {
		return true, nil
	}
	selected, known := s.namespaces[name]
	if known {
		return selected, nil
	}
	var namespace corev1.Namespace
	err := s.Client.Get(ctx, client.ObjectKey{Name: name}, &namespace, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading namespace %s for spec.namespaceSelector: %w", name, err)
	}
	s.namespaces[name] = err == nil && s.choice.namespaces.Matches(labels.Set(namespace.Labels))
	return s.namespaces[name], nil
}
