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
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/lab"
)

const (
	// writers is how many workloads are written concurrently.
	writers = 8
	// rolloutTimeout is how long all rollouts may take together.
	rolloutTimeout = time.Hour
)

// fleet is a number of workloads of the same size in a namespace.
type fleet struct {
	kind      kind
	namespace string
	count     int
	replicas  int
	// free reports whether its namespace isn't opted in.
	free bool
	// late reports whether its pods take one second to be ready in the first workload, two in the next, five at most. With random
	// times the slowest workload would vary from round to round.
	late bool
	// patience is how long all rollouts may take together if some may never complete, 0 if all must.
	patience time.Duration
}

// deploymentsIn returns a fleet of Deployments.
func deploymentsIn(namespace string, count, replicas int) fleet {
	return fleet{kind: deployments(), namespace: namespace, count: count, replicas: replicas}
}

func (f fleet) pods() int { return f.count * f.replicas }

func (f fleet) name(i int) string { return fmt.Sprintf("app-%d", i) }

// times are the durations of releases that were made at once.
type times struct {
	// rolled is until all rollouts were complete, verified until all releases were verified, zero without verification.
	rolled, verified time.Duration
	// missing is the number of rollouts that were not complete in time.
	missing int
}

// create creates all workloads at once in a new namespace, and waits as roll does.
func (f fleet) create(ctx context.Context, l *lab.Lab) error {
	if err := l.Namespace(ctx, f.namespace, !f.free); err != nil {
		return err
	}
	_, err := f.follow(ctx, l, "first", func(ctx context.Context, i int) error {
		deployment := lab.Deployment(f.namespace, f.name(i), int32(f.replicas))
		deployment.Spec.Template.Annotations = map[string]string{"note": "first"}
		if f.late {
			deployment.Spec.Template.Annotations["local.altershield.io/ready-after"] = fmt.Sprintf("%ds", 1+i%5)
		}
		return f.kind.create(ctx, l.Kube, deployment)
	})
	return err
}

// roll releases all workloads at once and waits until they are complete, and then verified unless they are free.
func (f fleet) roll(ctx context.Context, l *lab.Lab, note string) (times, error) {
	return f.follow(ctx, l, note, func(ctx context.Context, i int) error {
		return l.Release(ctx, f.kind.GroupVersionKind, f.namespace, f.name(i), note)
	})
}

// follow releases each workload and watches them.
func (f fleet) follow(ctx context.Context, l *lab.Lab, note string, release func(context.Context, int) error) (times, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(f.patience, rolloutTimeout))
	defer cancel()
	var took times
	seen, begin := newProgress(note, f.count), time.Now()
	group, grouped := errgroup.WithContext(ctx)
	group.Go(func() error { return atOnce(grouped, writers, f.count, release) })
	group.Go(func() error {
		if err := watchUntil(grouped, l, f.namespace, f.kind.list(), seen.sawWorkload); err != nil {
			return err
		}
		took.rolled = time.Since(begin)
		if f.free {
			return nil
		}
		err := watchUntil(grouped, l, f.namespace, &appv1alpha1.ChangeWorkloadList{}, seen.sawRecord)
		took.verified = time.Since(begin)
		return err
	})
	err := group.Wait()
	if f.patience > 0 && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return times{rolled: f.patience, missing: f.count - len(seen.rolled)}, nil
	}
	if err != nil {
		return times{}, fmt.Errorf("in namespace %s %d of %d rollouts are complete, of these %v not verified: %w", f.namespace, len(seen.rolled), f.count, seen.unverified(), err)
	}
	return took, nil
}

// watchUntil passes the objects of a list to saw, and watches them from then on, until saw reports the end. It goes on where a busy API
// server ends a watch.
func watchUntil(ctx context.Context, l *lab.Lab, namespace string, list client.ObjectList, saw func(runtime.Object) (end bool)) error {
	if err := l.Kube.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("listing %T: %w", list, err)
	}
	end := false
	if err := meta.EachListItem(list, func(object runtime.Object) error { end = saw(object) || end; return nil }); err != nil {
		return fmt.Errorf("listing %T: %w", list, err)
	}
	if end {
		return nil
	}
	_, err := watchtools.Until(ctx, list.GetResourceVersion(), &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return l.Kube.Watch(ctx, list, client.InNamespace(namespace), &client.ListOptions{Raw: &options})
		},
	}, func(event watch.Event) (bool, error) {
		switch event.Type {
		case watch.Error:
			return false, apierrors.FromObject(event.Object)
		case watch.Added, watch.Modified:
			return saw(event.Object), nil
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("watching %T: %w", list, err)
	}
	return nil
}

// atOnce calls do for each number below count, with so many concurrent writers.
func atOnce(ctx context.Context, writers, count int, do func(context.Context, int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for i := range count {
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}

// progress is the progress of releases that were made at once.
type progress struct {
	// note is the annotation of their templates.
	note  string
	count int
	// rolled are the workloads whose rollout is complete, verified those whose release reached Success, by name, with the version.
	rolled   map[string]string
	verified map[[2]string]bool
}

func newProgress(note string, count int) *progress {
	return &progress{note: note, count: count, rolled: map[string]string{}, verified: map[[2]string]bool{}}
}

// sawWorkload records the state of a workload. It reports whether all rollouts are complete.
func (p *progress) sawWorkload(object runtime.Object) bool {
	workload, _ := object.(*unstructured.Unstructured)
	note, _, _ := unstructured.NestedString(workload.Object, "spec", "template", "metadata", "annotations", "note")
	if note == p.note && isComplete(workload) {
		p.rolled[workload.GetName()] = workload.GetLabels()[appv1alpha1.LabelVersion]
	}
	return len(p.rolled) == p.count
}

// sawRecord records the state of a ChangeWorkload. It reports whether the releases of all rollouts are verified.
func (p *progress) sawRecord(object runtime.Object) bool {
	record, _ := object.(*appv1alpha1.ChangeWorkload)
	if record.Status.Status == appv1alpha1.ChangeWorkloadSuccess {
		p.verified[[2]string{record.Spec.AppName, record.Spec.Reversion}] = true
	}
	return len(p.unverified()) == 0
}

// unverified returns the complete rollouts whose release isn't verified, with their versions.
func (p *progress) unverified() map[string]string {
	left := maps.Clone(p.rolled)
	maps.DeleteFunc(left, func(name, version string) bool { return p.verified[[2]string{name, version}] })
	return left
}

// isComplete reports whether kubectl rollout status would succeed, and a Rollout of Argo Rollouts is healthy.
func isComplete(workload *unstructured.Unstructured) bool {
	status, _, _ := unstructured.NestedMap(workload.Object, "status")
	phase, has := status["phase"]
	// Argo Rollouts writes the observed generation as text.
	if fmt.Sprint(status["observedGeneration"]) != strconv.FormatInt(workload.GetGeneration(), 10) || has && phase != "Healthy" {
		return false
	}
	desired, _, _ := unstructured.NestedInt64(workload.Object, "spec", "replicas")
	for _, field := range []string{"replicas", "updatedReplicas", "availableReplicas"} {
		if count, _, _ := unstructured.NestedInt64(status, field); count != desired {
			return false
		}
	}
	return true
}
