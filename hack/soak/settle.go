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
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/soak/invariant"
)

const (
	// settleDeadline is twice the longest wait of the operator for a verdict, restDeadline twice the longest delay of a
	// write, and goneDeadline three times as long as a deletion may wait for the server.
	settleDeadline, restDeadline, goneDeadline = 16 * time.Minute, 4 * time.Minute, 3 * time.Minute
	// restWindow is how long nothing may be written.
	restWindow = 20 * time.Second
	lookEvery  = time.Second
)

// settle waits until every release is over or says what it waits for.
func (s *soak) settle(ctx context.Context) invariant.Result {
	result := invariant.Result{}
	result.Violations = s.await(ctx, settleDeadline, func() ([]string, error) {
		var open []string
		result.Observations = 0
		for _, namespace := range optedIn() {
			var deployments appsv1.DeploymentList
			var workloads appv1alpha1.ChangeWorkloadList
			err := errors.Join(s.lab.Kube.List(ctx, &deployments, client.InNamespace(namespace)),
				s.lab.Kube.List(ctx, &workloads, client.InNamespace(namespace)))
			if err != nil {
				return nil, err
			}
			result.Observations += len(deployments.Items)
			for i := range deployments.Items {
				if reason := invariant.Settled(&deployments.Items[i], workloads.Items); reason != "" {
					open = append(open, reason)
				}
			}
		}
		return open, nil
	})
	return result
}

// rest waits until the operator writes nothing any more.
func (s *soak) rest(ctx context.Context) invariant.Result {
	begin := time.Now()
	return invariant.Result{Observations: 1, Violations: s.await(ctx, restDeadline, func() ([]string, error) {
		if time.Since(begin) < restWindow {
			return []string{"the quiet period isn't over"}, nil
		}
		writes, system := s.watch.until(time.Now())
		for i, write := range writes {
			if write.Time.After(time.Now().Add(-restWindow)) {
				return invariant.Rest(writes[i:], system).Violations, nil
			}
		}
		return nil, nil
	})}
}

// drain deletes all Deployments and waits until nothing is left of them.
func (s *soak) drain(ctx context.Context) invariant.Result {
	result := invariant.Result{Observations: 1}
	for _, namespace := range append(optedIn(), outside) {
		deletion := []client.DeleteAllOfOption{client.InNamespace(namespace), client.PropagationPolicy("Background")}
		if err := s.lab.Kube.DeleteAllOf(ctx, &appsv1.Deployment{}, deletion...); err != nil {
			return invariant.Result{Observations: 1, Violations: []string{fmt.Sprintf("delete the Deployments of namespace %s: %v", namespace, err)}}
		}
	}
	result.Violations = s.await(ctx, goneDeadline, func() ([]string, error) {
		var left []string
		for _, list := range []client.ObjectList{
			&appv1alpha1.ChangeWorkloadList{}, &appv1alpha1.ChangePodList{}, &appsv1.ControllerRevisionList{},
			&appsv1.DeploymentList{}, &appsv1.ReplicaSetList{},
		} {
			if err := s.lab.Kube.List(ctx, list); err != nil {
				return nil, err
			}
			kept, err := names(list)
			if err != nil {
				return nil, err
			}
			left = append(left, kept...)
		}
		return left, nil
	})
	return result
}

// await polls every second until there are no obstacles, and returns those at the deadline.
func (s *soak) await(ctx context.Context, deadline time.Duration, obstacles func() ([]string, error)) []string {
	var found []string
	err := wait.PollUntilContextTimeout(ctx, lookEvery, deadline, true, func(context.Context) (bool, error) {
		var err error
		if found, err = obstacles(); err != nil {
			found = []string{err.Error()}
		}
		return len(found) == 0, nil
	})
	if err != nil {
		found = append(found, "after "+strings.TrimSuffix(deadline.String(), "0s"))
	}
	return found
}

// names returns the names of the objects in a list.
func names(list client.ObjectList) ([]string, error) {
	var left []string
	err := meta.EachListItem(list, func(item runtime.Object) error {
		object, err := meta.Accessor(item)
		if err != nil {
			return err
		}
		left = append(left, fmt.Sprintf("%T %s/%s is left", item, object.GetNamespace(), object.GetName()))
		return nil
	})
	return left, err
}
