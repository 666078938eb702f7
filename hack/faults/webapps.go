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
	"reflect"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/hack/lab"
)

// generationAnnotation is the generation of the WebApp whose spec a StatefulSet has.
const generationAnnotation = "faults.altershield.io/generation"

// webApp is the part of a WebApp that its controller reads.
type webApp struct {
	Spec struct {
		Replicas int32                  `json:"replicas"`
		Template corev1.PodTemplateSpec `json:"template"`
		Rollout  struct {
			Paused    bool  `json:"paused"`
			Partition int32 `json:"partition"`
		} `json:"rollout"`
	} `json:"spec"`
}

// webApps is the controller of WebApps. It runs the pods of each in a StatefulSet.
type webApps struct {
	kube   client.Client
	keeper *keeper
	kind   workload.Kind
}

// run runs the controller until the context ends.
func (w webApps) run(ctx context.Context) {
	for lab.Pause(ctx, lab.Glance) == nil {
		w.reconcileAll(ctx)
	}
}

// reconcileAll reconciles all WebApps. One that fails is reconciled again with the next tick.
func (w webApps) reconcileAll(ctx context.Context) {
	list := w.kind.NewList().(*unstructured.UnstructuredList)
	if err := w.kube.List(ctx, list); err != nil {
		return
	}
	for i := range list.Items {
		if list.Items[i].GetDeletionTimestamp() == nil {
			_ = w.keeper.asUser(func() error { return w.reconcile(ctx, &list.Items[i]) })
		}
	}
}

func (w webApps) reconcile(ctx context.Context, object *unstructured.Unstructured) error {
	var app webApp
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &app); err != nil {
		return err
	}
	set := &appsv1.StatefulSet{}
	if err := w.kube.Get(ctx, client.ObjectKeyFromObject(object), set); client.IgnoreNotFound(err) != nil {
		return err
	} else if apierrors.IsNotFound(err) {
		return w.kube.Create(ctx, statefulSetOf(object, app, set))
	}
	if set.Annotations[generationAnnotation] != strconv.FormatInt(object.GetGeneration(), 10) {
		return w.kube.Update(ctx, statefulSetOf(object, app, set))
	}
	status := map[string]any{
		"observedGeneration": object.GetGeneration(), "replicas": int64(set.Status.Replicas),
		"updatedReplicas": int64(set.Status.UpdatedReplicas), "readyReplicas": int64(set.Status.ReadyReplicas),
	}
	if set.Status.ObservedGeneration != set.Generation || reflect.DeepEqual(status, object.Object["status"]) {
		return nil
	}
	before := object.DeepCopy()
	object.Object["status"] = status
	return w.kube.Status().Patch(ctx, object, client.MergeFrom(before))
}

// statefulSetOf returns a StatefulSet with the spec of a WebApp.
func statefulSetOf(object *unstructured.Unstructured, app webApp, set *appsv1.StatefulSet) *appsv1.StatefulSet {
	set.Namespace, set.Name = object.GetNamespace(), object.GetName()
	set.Annotations = map[string]string{generationAnnotation: strconv.FormatInt(object.GetGeneration(), 10)}
	set.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(object, object.GroupVersionKind())}
	set.Spec.Replicas, set.Spec.Template = &app.Spec.Replicas, app.Spec.Template
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": object.GetName()}}
	rolling := &appsv1.RollingUpdateStatefulSetStrategy{Partition: ptr.To[int32](0)}
	if app.Spec.Rollout.Paused {
		rolling.Partition = &app.Spec.Rollout.Partition
	}
	set.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: rolling}
	return set
}
