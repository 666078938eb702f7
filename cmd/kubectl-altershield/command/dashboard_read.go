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

package command

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/dashboard"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// site answers the calls of the page by what the verbs read and write.
type site struct {
	tool     *tool
	cluster  *cluster
	operator string
	session  session
	// polls is how often what can't be watched is listed.
	polls time.Duration
}

// backend returns everything that the page can call. There is nothing in it that reads a Secret or a ConfigMap, and nothing of an object leaves
// it but in a model of package view.
func (s *site) backend() dashboard.Backend {
	now := s.tool.Clock.Now
	return dashboard.Backend{
		Follow: s.follow, Explain: failureOf, Acts: s.acts(),
		Reads: map[string]dashboard.Read{
			"session": {Answer: func(context.Context, dashboard.Query) (any, error) {
				session := s.session
				session.Now = now().UTC().Format(time.RFC3339)
				return session, nil
			}},
			"status": s.of(func(ctx context.Context, facts view.Facts, _ dashboard.Query) (any, error) {
				return s.cluster.treeOf(ctx, facts, s.operator, now())
			}),
			"history": s.of(func(ctx context.Context, facts view.Facts, _ dashboard.Query) (any, error) {
				return s.cluster.historyOf(ctx, facts, now())
			}),
			"why": s.of(func(ctx context.Context, facts view.Facts, _ dashboard.Query) (any, error) {
				return s.cluster.whyOf(ctx, facts, s.operator, now())
			}),
			"policies": s.of(func(ctx context.Context, facts view.Facts, _ dashboard.Query) (any, error) {
				return s.cluster.policiesOf(ctx, facts, s.operator, now())
			}),
			"events": s.of(func(ctx context.Context, facts view.Facts, _ dashboard.Query) (any, error) {
				return s.cluster.eventsOf(ctx, facts)
			}),
			"may": s.of(func(ctx context.Context, facts view.Facts, _ dashboard.Query) (any, error) {
				return s.cluster.actionsOf(ctx, view.ActionsOf(facts))
			}),
			"may-lock": {Answer: func(ctx context.Context, query dashboard.Query) (any, error) {
				return s.cluster.actionsOf(ctx, view.LockActionsOf(query.Namespace))
			}},
			"pods": s.of(func(ctx context.Context, facts view.Facts, _ dashboard.Query) (any, error) {
				return s.cluster.podsOf(ctx, facts)
			}),
			"diff": s.of(s.diff),
			"freezes": {Answer: func(ctx context.Context, query dashboard.Query) (any, error) {
				return s.cluster.freezes(ctx, query.Namespace)
			}},
			"settings": {Answer: func(ctx context.Context, _ dashboard.Query) (any, error) {
				return s.cluster.settings(ctx, s.operator, "")
			}},
			"doctor": {Answer: func(ctx context.Context, _ dashboard.Query) (any, error) {
				installation, err := s.tool.examine(ctx, s.cluster, s.operator)
				if err != nil {
					return nil, err
				}
				return view.DiagnosisOf(installation), nil
			}},
			"releases": {Answer: s.releases},
		},
	}
}

// of returns a call about a workload.
func (s *site) of(answer func(context.Context, view.Facts, dashboard.Query) (any, error)) dashboard.Read {
	return dashboard.Read{OfWorkload: true, Answer: func(ctx context.Context, query dashboard.Query) (any, error) {
		facts, err := s.cluster.find(ctx, pageArgument(query.Namespace, query.Kind, query.Name))
		if err != nil {
			return nil, err
		}
		return answer(ctx, facts, query)
	}}
}

// pageArgument returns a workload as the page names it: by its kind and group, or by a built-in kind alone.
func pageArgument(namespace, kind, name string) string {
	if known := view.BuiltIn(kind); len(known) > 0 {
		known[0].Name = name
		return namespace + "/" + view.FullArgument(known[0])
	}
	return namespace + "/" + kind + "/" + name
}

func (s *site) diff(ctx context.Context, facts view.Facts, query dashboard.Query) (any, error) {
	var from, to int64
	if query.From != "" {
		var err error
		if from, to, err = view.ParseReleases(query.From + ".." + query.To); err != nil {
			return nil, usageError(err)
		}
	}
	kept, err := s.cluster.kept(ctx, &facts)
	if err != nil {
		return nil, err
	}
	return compare(facts, kept, from, to, false)
}

func (s *site) releases(ctx context.Context, query dashboard.Query) (any, error) {
	period, err := s.tool.period(exporting{from: query.From, to: query.To, format: "json"})
	if err != nil {
		return nil, err
	}
	return s.cluster.exportOf(ctx, query.Namespace, period, false)
}

// actionsOf asks the API server which verbs of a list the user may use.
func (c *cluster) actionsOf(ctx context.Context, list view.ActionList) (view.ActionList, error) {
	known := map[view.Right]*bool{}
	for i := range list.Items {
		action := &list.Items[i]
		if known[action.Needs] == nil {
			may, err := c.may(ctx, action.Needs)
			switch {
			case lacksRight(err):
				list.Notes = append(list.Notes, lacksReviews())
				return list, nil
			case err != nil:
				return list, err
			}
			known[action.Needs] = &may
		}
		action.May = known[action.Needs]
	}
	return list, nil
}

// podsOf reads the pods of the present release of a workload.
func (c *cluster) podsOf(ctx context.Context, facts view.Facts) (view.PodList, error) {
	present := view.PresentOf(facts.Records)
	if present == nil {
		return view.PodsOf(facts, nil), nil
	}
	batches := func() *appv1alpha1.ChangePodList { return &appv1alpha1.ChangePodList{} }
	var err error
	facts.Batches, _, err = listed(ctx, c, batches, 0, func(page *appv1alpha1.ChangePodList) ([]appv1alpha1.ChangePod, error) {
		return page.Items, nil
	}, client.InNamespace(facts.Namespace), client.MatchingLabels{appv1alpha1.LabelBatchOf: decide.BatchOfLabel(present.UID, present.Spec.Release)})
	if err = noteLack(&facts, err, "changepods", view.LacksBatches); err != nil {
		return view.PodList{}, fmt.Errorf("listing the batches of %s: %w", present.Name, err)
	}
	placed, _, err := listed(ctx, c, func() *corev1.PodList { return &corev1.PodList{} }, 0, func(page *corev1.PodList) (placed []view.Placed, _ error) {
		for i := range page.Items {
			if page.Items[i].DeletionTimestamp == nil {
				placed = append(placed, view.PlacedOf(&page.Items[i]))
			}
		}
		return placed, nil
	}, client.InNamespace(facts.Namespace), podsOfRelease(facts, present))
	if err = noteLack(&facts, err, "pods", view.LacksPods); err != nil {
		return view.PodList{}, fmt.Errorf("listing the pods of %s: %w", view.Argument(facts.Reference), err)
	}
	return view.PodsOf(facts, placed), nil
}

// failureOf returns an error as the page gets it.
func failureOf(err error) dashboard.Failure {
	status, answered := statusOf(err)
	failure := dashboard.Failure{Status: http.StatusUnprocessableEntity, Reason: dashboard.Invalid, Message: explain(err).Error()}
	var absent missing
	var end *ending
	var unreachable *url.Error
	_, isRejected := view.Rejected(status)
	switch {
	case errors.As(err, &end):
		failure.Status = http.StatusBadRequest
	case errors.As(err, &absent), apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		failure.Status, failure.Reason = http.StatusNotFound, dashboard.NotFound
	case lacksRight(err):
		failure.Status, failure.Reason = http.StatusForbidden, dashboard.Forbidden
	case apierrors.IsConflict(err), errors.Is(err, errOther):
		failure.Status, failure.Reason = http.StatusConflict, dashboard.Conflict
	case answered && isRejected:
		failure.Reason = dashboard.Denied
	case answered, errors.As(err, &unreachable), isTimeout(err), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		failure.Status, failure.Reason = http.StatusServiceUnavailable, dashboard.Unavailable
	}
	return failure
}
