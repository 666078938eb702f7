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
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/hack/soak/invariant"
	"github.com/traas-stack/altershield-operator/hack/soak/plan"
)

const (
	// settleDeadline is twice the longest wait of the operator for a verdict, restDeadline twice the longest delay of a
	// write, and goneDeadline three times as long as a deletion may wait for the server.
	settleDeadline, restDeadline, goneDeadline = 16 * time.Minute, 4 * time.Minute, 3 * time.Minute
	// gateDeadline is longer than the operator keeps the ReleaseGate of a namespace whose pods still had gates when its last policy was deleted.
	gateDeadline = 6 * time.Minute
	// restWindow is how long nothing may be written.
	restWindow = 20 * time.Second
	lookEvery  = time.Second
)

// settle waits until every release is over or says what it waits for. Users approve what waits for that.
func (s *soak) settle(ctx context.Context) invariant.Result {
	if err := s.actor.release(ctx); err != nil {
		return invariant.Result{Observations: 1, Violations: []string{err.Error()}}
	}
	result := invariant.Result{}
	result.Violations = s.await(ctx, settleDeadline, func() ([]string, error) {
		var open []string
		result.Observations = 0
		for _, namespace := range optedIn() {
			var records appv1alpha1.ChangeWorkloadList
			var pods corev1.PodList
			if err := errors.Join(s.lab.Kube.List(ctx, &records, client.InNamespace(namespace)), s.lab.Kube.List(ctx, &pods, client.InNamespace(namespace))); err != nil {
				return nil, err
			}
			for of := range s.actor.kinds {
				seen, reasons, err := s.unsettled(ctx, namespace, of, invariant.Present{Records: records.Items, Pods: pods.Items})
				if err != nil {
					return nil, err
				}
				result.Observations += seen
				open = append(open, reasons...)
			}
		}
		return open, nil
	})
	return result
}

// unsettled returns the number of workloads of a kind, and why some are not settled.
func (s *soak) unsettled(ctx context.Context, namespace string, of plan.Of, present invariant.Present) (seen int, open []string, err error) {
	list := s.listOf(of)
	if err := s.lab.Kube.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return 0, nil, err
	}
	for i := range list.Items {
		present.Workload = &list.Items[i]
		if metav1.GetControllerOf(present.Workload) != nil { // a part of another workload
			continue
		}
		seen++
		pauser, pauses := s.actor.kinds[of].(workload.Pauser)
		present.Paused = pauses && pauser.Paused(present.Workload)
		if reason := invariant.Settled(present); reason != "" {
			open = append(open, reason)
		}
	}
	return seen, open, s.approve(ctx, of, present.Records)
}

// approve approves the releases of a kind that wait for that.
func (s *soak) approve(ctx context.Context, of plan.Of, records []appv1alpha1.ChangeWorkload) error {
	var failures []error
	for i := range records {
		paced := meta.FindStatusCondition(records[i].Status.Conditions, appv1alpha1.ConditionPaced)
		if records[i].WorkloadKind() == string(of) && paced != nil && paced.Reason == appv1alpha1.ReasonAwaitingApproval {
			failures = append(failures, s.actor.approve(ctx, of, &records[i]))
		}
	}
	return errors.Join(failures...)
}

// listOf returns an empty list of the workloads of a kind.
func (s *soak) listOf(of plan.Of) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(s.actor.kinds[of].GroupVersionKind())
	return list
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

// drain deletes all workloads, then what governs them, and waits until nothing is left of either: while pods with gates are there, the operator
// keeps the ReleaseGate of their namespace for minutes.
func (s *soak) drain(ctx context.Context) invariant.Result {
	var workloads []client.Object
	left := []client.ObjectList{
		&appv1alpha1.ChangeWorkloadList{}, &appv1alpha1.ChangePodList{}, &appv1alpha1.ChangeVerdictList{},
		&appsv1.ControllerRevisionList{}, &appsv1.ReplicaSetList{}, &corev1.PodList{},
	}
	for of := range s.actor.kinds {
		workloads, left = append(workloads, s.actor.named(plan.Action{Of: of})), append(left, s.listOf(of))
	}
	policies := []client.Object{&appv1alpha1.ReleasePolicy{}, &appv1alpha1.VerificationPolicy{}, &appv1alpha1.BreakGlass{}, &appv1alpha1.ChangeApproval{}}
	violations := s.remove(ctx, workloads, left, goneDeadline)
	if len(violations) == 0 {
		violations = s.remove(ctx, policies, []client.ObjectList{&appv1alpha1.ReleaseGateList{}}, gateDeadline)
	}
	return invariant.Result{Observations: 1, Violations: violations}
}

// remove deletes what users have created of some kinds, and waits until the lists are empty.
func (s *soak) remove(ctx context.Context, kinds []client.Object, lists []client.ObjectList, deadline time.Duration) []string {
	for _, namespace := range append(optedIn(), outside) {
		for _, kind := range kinds {
			if err := s.lab.Kube.DeleteAllOf(ctx, kind, client.InNamespace(namespace), client.PropagationPolicy("Background")); err != nil {
				return []string{fmt.Sprintf("delete each %T of namespace %s: %v", kind, namespace, err)}
			}
		}
	}
	return s.await(ctx, deadline, func() ([]string, error) {
		var left []string
		for _, list := range lists {
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
