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

package rollback

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Finds out whether a pod doesn't run because its node isn't ready, which is no fault of its release.
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get
// Finds out whether a pod that isn't scheduled waits for a node that the autoscaler adds.
// +kubebuilder:rbac:groups="",resources=events,verbs=list

const (
	// provisionTime is how long a new node may take to come: --max-node-provision-time of cluster-autoscaler, unless it is set.
	provisionTime = 15 * time.Minute
	// nodeWait is when to look again at a node that isn't ready: nodes are not watched.
	nodeWait = time.Minute
)

// surroundings is what pods need from others to run, read when it is asked for.
type surroundings struct {
	live      client.Reader
	threshold time.Duration
	now       time.Time

	nodes map[string]time.Time
	// scaleUps is when a node was announced to pods last, nil until that was read.
	scaleUps map[types.UID]time.Time
}

// excuse is until when a pod that doesn't run doesn't count.
func (s *surroundings) excuse(ctx context.Context, pod *corev1.Pod) (time.Time, error) {
	if pod.Spec.NodeName != "" {
		return s.ofNode(ctx, pod.Spec.NodeName)
	}
	if s.scaleUps == nil {
		if err := s.readScaleUps(ctx, pod.Namespace); err != nil {
			return time.Time{}, err
		}
	}
	announced, found := s.scaleUps[pod.UID]
	if !found {
		return time.Time{}, nil
	}
	return announced.Add(provisionTime), nil
}

// ofNode excuses the pods of a node that isn't ready, and for threshold those of one that came to be.
func (s *surroundings) ofNode(ctx context.Context, name string) (time.Time, error) {
	if until, known := s.nodes[name]; known {
		return until, nil
	}
	var node corev1.Node
	until := s.now.Add(nodeWait)
	switch err := s.live.Get(ctx, client.ObjectKey{Name: name}, &node); {
	case apierrors.IsForbidden(err):
		unreadable(ctx, "Nodes can't be read: pods on a node that isn't ready count as stuck", err)
		until = time.Time{}
	case client.IgnoreNotFound(err) != nil:
		return time.Time{}, fmt.Errorf("reading node %s: %w", name, err)
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
			until = condition.LastTransitionTime.Add(s.threshold)
		}
	}
	if s.nodes == nil {
		s.nodes = map[string]time.Time{}
	}
	s.nodes[name] = until
	return until, nil
}

// readScaleUps reads the Events by which cluster-autoscaler and Karpenter announce a node to a pod. Both write core Events.
func (s *surroundings) readScaleUps(ctx context.Context, namespace string) error {
	s.scaleUps = map[types.UID]time.Time{}
	for _, reason := range []string{"TriggeredScaleUp", "Nominated"} {
		var list corev1.EventList
		err := s.live.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{"reason": reason})
		if apierrors.IsForbidden(err) {
			unreadable(ctx, "Events can't be listed: pods that wait for a new node count as stuck", err)
			return nil
		}
		if err != nil {
			return fmt.Errorf("listing the Events %s in namespace %s: %w", reason, namespace, err)
		}
		for i := range list.Items {
			event := &list.Items[i]
			if pod, at := event.InvolvedObject.UID, lastSeen(event); at.After(s.scaleUps[pod]) {
				s.scaleUps[pod] = at
			}
		}
	}
	return nil
}

// lastSeen is when an Event happened last, by whichever API it was written.
func lastSeen(event *corev1.Event) time.Time {
	seen := event.LastTimestamp.Time
	if event.EventTime.After(seen) {
		seen = event.EventTime.Time
	}
	if event.Series != nil && event.Series.LastObservedTime.After(seen) {
		seen = event.Series.LastObservedTime.Time
	}
	return seen
}

func unreadable(ctx context.Context, message string, err error) {
	ctrl.LoggerFrom(ctx).Info(message, "error", err.Error())
}
