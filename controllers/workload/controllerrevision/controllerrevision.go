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

// Package controllerrevision is what StatefulSets and DaemonSets share: their controllers keep each pod template in a
// ControllerRevision.
package controllerrevision

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Set reads the revisions of one kind whose controller keeps ControllerRevisions. Its fields are what these kinds differ in.
type Set struct {
	Kind workload.Kind
	// PodLabel returns what the label controller-revision-hash of the pods of a revision holds.
	PodLabel func(revision *appsv1.ControllerRevision) string
	// Healthy reports whether a revision still runs all the pods that it is to run. The workload is of the type that Kind makes.
	Healthy func(workload client.Object, podLabel string, pods Pods) bool
}

// Pods counts the pods of a revision that are not being deleted, and those of them that are ready.
type Pods struct {
	There, Ready int
}

// Revision reads a ControllerRevision, but for its health, which depends on the pods.
func (s Set) Revision(object client.Object) decide.Revision {
	kept, ok := object.(*appsv1.ControllerRevision)
	if !ok {
		return decide.Revision{}
	}
	revision := decide.Revision{
		Version: kept.Labels[appv1alpha1.LabelVersion],
		Number:  kept.Revision,
		Created: kept.CreationTimestamp.Time,
		Gate:    kept.Labels[appv1alpha1.LabelGate],
		Pods:    decide.PodsOf{Label: appsv1.ControllerRevisionHashLabelKey, Value: s.PodLabel(kept)},
	}
	if owner := metav1.GetControllerOfNoCopy(kept); owner != nil {
		revision.Pods.Owner = owner.UID
	}
	return revision
}

// Revisions lists the ControllerRevisions that a workload controls.
func (s Set) Revisions(ctx context.Context, cache client.Reader, object client.Object) ([]decide.Revision, error) {
	var list appsv1.ControllerRevisionList
	if err := index.Owned(ctx, cache, &list, object.GetNamespace(), object.GetUID()); err != nil {
		return nil, err
	}
	pods, err := index.PodsOf(ctx, cache, object.GetNamespace(), decide.PodsOf{Owner: object.GetUID()})
	if err != nil {
		return nil, err
	}
	return s.read(object, list.Items, pods), nil
}

// read reads the ControllerRevisions of a workload with these pods.
func (s Set) read(object client.Object, kept []appsv1.ControllerRevision, pods []corev1.Pod) []decide.Revision {
	counts, unready := map[string]Pods{}, map[string][]*corev1.Pod{}
	for i := range pods {
		if pods[i].DeletionTimestamp != nil {
			continue
		}
		label := pods[i].Labels[appsv1.ControllerRevisionHashLabelKey]
		count := counts[label]
		count.There++
		if decide.IsReady(&pods[i]) {
			count.Ready++
		} else {
			unready[label] = append(unready[label], &pods[i])
		}
		counts[label] = count
	}
	revisions := make([]decide.Revision, 0, len(kept))
	for i := range kept {
		revision := s.Revision(&kept[i])
		count := counts[revision.Pods.Value]
		serves := s.Healthy(object, revision.Pods.Value, Pods{There: count.Ready, Ready: count.Ready})
		revision.Healthy = s.Healthy(object, revision.Pods.Value, count)
		revision.Presumed = serves && count.Ready == 0
		if serves {
			revision.Unready = unready[revision.Pods.Value]
		}
		revisions = append(revisions, revision)
	}
	return revisions
}

// OwnerOf returns the workload of a ControllerRevision or of a pod: it controls both directly.
func (s Set) OwnerOf(ctx context.Context, cache client.Reader, object client.Object) (*workload.Owner, error) {
	return index.OwnerOf(ctx, cache, s.Kind, object)
}
