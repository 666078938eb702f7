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

	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
)

// Finds out whether a pod that is not scheduled waits for a node of the autoscaler.
// +kubebuilder:rbac:groups="",resources=events,verbs=list

const (
	// provisionTime is how long a new node may take: the default of --max-node-provision-time of cluster-autoscaler.
	provisionTime = 15 * time.Minute
	// nodeWait is how often to read a node that is not ready: nodes are not watched.
	nodeWait = time.Minute
)

// surroundings reads what pods need besides their release, on demand.
type surroundings struct {
	live      client.Reader
	threshold time.Duration
	now       time.Time

	nodes map[string]time.Time
	// scaleUps has the last announcement of a node to each pod, nil until it is read.
	scaleUps map[types.UID]time.Time
}

// excuse returns the time until which a pod that is not running does not count.
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

// ofNode excuses the pods of a node that is not ready, or has not been ready for threshold yet.
func (s *surroundings) ofNode(ctx context.Context, name string) (time.Time, error) {
	if until, known := s.nodes[name]; known {
		return until, nil
	}
	until := s.now.Add(nodeWait)
	switch node, err := scope.ReadNode(ctx, s.live, name); {
	case apierrors.IsForbidden(err):
		unreadable(ctx, "Not permitted to read nodes: pods on a node that is not ready count as stuck", err)
		until = time.Time{}
	case err != nil:
		return time.Time{}, err
	case node.Ready:
		until = node.Since.Add(s.threshold)
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
			unreadable(ctx, "Not permitted to list Events: pods that wait for a new node count as stuck", err)
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

// lastSeen returns the last time of an Event of either API.
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
