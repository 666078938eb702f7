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
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/lab"
)

const (
	// writers is how many Deployments are written concurrently.
	writers = 8
	// rolloutTimeout is how long all rollouts may take together.
	rolloutTimeout = time.Hour
)

// fleet is a number of Deployments of the same size in a namespace.
type fleet struct {
	namespace   string
	deployments int
	replicas    int
	// late reports whether its pods take one second to be ready in the first Deployment, two in the next, five at most. With random
	// times the slowest Deployment would vary from round to round.
	late bool
	// peer rolls out the fleet, nil for none.
	peer *peer
	// declared reports whether there are Gadgets instead of Deployments.
	declared bool
}

func (f fleet) pods() int { return f.deployments * f.replicas }

func (f fleet) name(i int) string { return fmt.Sprintf("app-%d", i) }

// times are the durations of releases that were made at once.
type times struct {
	// rolled is until all rollouts were complete, verified until all releases were verified, zero without verification.
	rolled, verified time.Duration
	// missing is the number of rollouts of a peer that were not complete in time.
	missing int
}

// create creates all Deployments at once, in a namespace that is opted in if they are controlled, and waits until they are complete, and then verified.
func (f fleet) create(ctx context.Context, l *lab.Lab, controlled bool) (times, error) {
	if err := l.Namespace(ctx, f.namespace, controlled); err != nil {
		return times{}, err
	}
	if f.declared {
		if err := awaitDeclared(ctx, l, f.namespace); err != nil {
			return times{}, err
		}
	}
	return f.follow(ctx, l, controlled, "first", func(ctx context.Context, i int) error {
		deployment := lab.Deployment(f.namespace, f.name(i), int32(f.replicas))
		deployment.Spec.Template.Annotations = map[string]string{"note": "first"}
		if f.late {
			deployment.Spec.Template.Annotations["local.altershield.io/ready-after"] = fmt.Sprintf("%ds", 1+i%5)
		}
		objects, err := f.objects(deployment)
		for i := 0; i < len(objects) && err == nil; i++ {
			err = l.Kube.Create(ctx, objects[i])
		}
		return err
	})
}

// objects returns the objects by which the pods of a Deployment are rolled out.
func (f fleet) objects(deployment *appsv1.Deployment) ([]client.Object, error) {
	switch {
	case f.peer != nil:
		return f.peer.objects(deployment)
	case f.declared:
		object, err := gadget(deployment)
		return []client.Object{object}, err
	default:
		return []client.Object{deployment}, nil
	}
}

// roll releases all Deployments at once and waits until they are complete, and verified if they are controlled.
func (f fleet) roll(ctx context.Context, l *lab.Lab, controlled bool, note string) (times, error) {
	return f.follow(ctx, l, controlled, note, func(ctx context.Context, i int) error {
		return l.Release(ctx, f.kind(), f.namespace, f.name(i), note)
	})
}

// timeout returns how long all of it may take.
func (f fleet) timeout() time.Duration {
	if f.peer != nil {
		return peerTimeout
	}
	return rolloutTimeout
}

// kind returns the kind that is rolled out.
func (f fleet) kind() schema.GroupVersionKind {
	switch {
	case f.peer != nil && f.peer.replaced:
		return rolloutKind()
	case f.declared:
		return gadgetKind()
	default:
		return appsv1.SchemeGroupVersion.WithKind("Deployment")
	}
}

// list returns an empty list of the kind that is rolled out.
func (f fleet) list() client.ObjectList {
	kind := f.kind()
	if kind.Group == appsv1.GroupName {
		return &appsv1.DeploymentList{}
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	return list
}

// watch passes the objects of a list to saw, and watches them from then on. It goes on where a busy API server ends a watch.
func (f fleet) watch(ctx context.Context, l *lab.Lab, list client.ObjectList, saw func(runtime.Object)) (watch.Interface, error) {
	if err := l.Kube.List(ctx, list, client.InNamespace(f.namespace)); err != nil {
		return nil, fmt.Errorf("listing %T: %w", list, err)
	}
	if err := meta.EachListItem(list, func(object runtime.Object) error { saw(object); return nil }); err != nil {
		return nil, fmt.Errorf("listing %T: %w", list, err)
	}
	watched, err := watchtools.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return l.Kube.Watch(ctx, list, client.InNamespace(f.namespace), &client.ListOptions{Raw: &options})
		},
	})
	if err != nil {
		return nil, fmt.Errorf("watching %T: %w", list, err)
	}
	return watched, nil
}

// follow releases each Deployment and watches until all rollouts are complete.
func (f fleet) follow(ctx context.Context, l *lab.Lab, controlled bool, note string, release func(context.Context, int) error) (times, error) {
	ctx, cancel := context.WithTimeout(ctx, f.timeout())
	defer cancel()
	seen := newProgress(note, f.deployments)
	deployments, err := f.watch(ctx, l, f.list(), seen.saw)
	if err != nil {
		return times{}, err
	}
	defer deployments.Stop()
	var workloads watch.Interface = watch.NewFake() // which sends nothing
	if controlled {
		if workloads, err = f.watch(ctx, l, &appv1alpha1.ChangeWorkloadList{}, seen.saw); err != nil {
			return times{}, err
		}
	}
	defer workloads.Stop()
	begin := time.Now()
	group, grouped := errgroup.WithContext(ctx)
	group.Go(func() error { return atOnce(grouped, writers, f.deployments, release) })
	var took times
	group.Go(func() error {
		for {
			if took.rolled == 0 && seen.isRolled() {
				took.rolled = time.Since(begin)
			}
			if took.rolled > 0 && (!controlled || seen.isVerified()) {
				break
			}
			if err := seen.next(grouped, deployments.ResultChan(), workloads.ResultChan()); err != nil {
				return err
			}
		}
		if controlled {
			took.verified = time.Since(begin)
		}
		return nil
	})
	err = group.Wait()
	if f.peer != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return times{rolled: f.timeout(), missing: f.deployments - len(seen.rolled)}, nil
	}
	if err != nil {
		return times{}, fmt.Errorf("in namespace %s %s: %w", f.namespace, seen.left(controlled), err)
	}
	return took, nil
}

func (p *progress) next(ctx context.Context, deployments, workloads <-chan watch.Event) error {
	event, err := nextOf(ctx, deployments, workloads)
	if err != nil {
		return err
	}
	if event.Type != watch.Deleted {
		p.saw(event.Object)
	}
	return nil
}

// saw records the current state of an object.
func (p *progress) saw(object runtime.Object) {
	switch object := object.(type) {
	case *appsv1.Deployment:
		p.sawDeployment(object)
	case *unstructured.Unstructured:
		if object.GroupVersionKind() == gadgetKind() {
			p.sawGadget(object)
		} else {
			p.sawRollout(object)
		}
	case *appv1alpha1.ChangeWorkload:
		p.sawWorkload(object)
	}
}

// nextOf returns the next event of either of two watches.
func nextOf(ctx context.Context, one, other <-chan watch.Event) (watch.Event, error) {
	var event watch.Event
	var open bool
	select {
	case <-ctx.Done():
		return event, ctx.Err()
	case event, open = <-one:
	case event, open = <-other:
	}
	switch {
	case !open:
		return event, errors.New("the watch has ended")
	case event.Type == watch.Error:
		return event, fmt.Errorf("the watch has ended: %w", apierrors.FromObject(event.Object))
	}
	return event, nil
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
