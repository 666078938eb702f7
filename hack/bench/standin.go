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
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/traas-stack/altershield-operator/hack/lab"
)

// templateLabel distinguishes the pods of the templates of a Gadget.
const templateLabel = "bench.example.com/template"

// standIn is the controller of Gadgets. It rolls out their pods as the Deployment controller does those of Deployments, by ReplicaSets.
type standIn struct{ client client.Client }

// startStandIn runs the controller of Gadgets until it is stopped.
func startStandIn(ctx context.Context, l *lab.Lab) (stop func() error, err error) {
	mgr, err := ctrl.NewManager(l.Plane.Config(), ctrl.Options{
		Scheme: l.Kube.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: ctrlconfig.Controller{SkipNameValidation: ptr.To(true)}, // each load has one
	})
	if err != nil {
		return nil, fmt.Errorf("creating the controller of Gadgets: %w", err)
	}
	err = ctrl.NewControllerManagedBy(mgr).For(newGadget()).Owns(&appsv1.ReplicaSet{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: writers}).Complete(standIn{mgr.GetClient()})
	if err != nil {
		return nil, fmt.Errorf("creating the controller of Gadgets: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	return func() error {
		cancel()
		return <-ended
	}, nil
}

// Reconcile takes a step of the rollout of a Gadget.
func (s standIn) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	object := newGadget()
	if err := s.client.Get(ctx, request.NamespacedName, object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	current, desired, err := replicaSet(object)
	if err != nil {
		return ctrl.Result{}, err
	}
	var sets appsv1.ReplicaSetList
	err = s.client.List(ctx, &sets, client.InNamespace(request.Namespace), client.MatchingLabels{"app": request.Name})
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("listing the ReplicaSets of Gadget %s: %w", request, err)
	}
	var faults []error
	for name, size := range sizes(desired, current.Name, sets.Items) {
		faults = append(faults, s.scale(ctx, object, current, sets.Items, name, size))
	}
	faults = append(faults, s.report(ctx, object, current.Name, sets.Items))
	err = errors.Join(faults...)
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return ctrl.Result{}, nil // the cache brings the newer object
	}
	return ctrl.Result{}, err
}

// replicaSet returns the ReplicaSet of the template of a Gadget, and the number of pods that the Gadget wants.
func replicaSet(object *unstructured.Unstructured) (*appsv1.ReplicaSet, int32, error) {
	var spec struct {
		Replicas int32                  `json:"replicas"`
		Template corev1.PodTemplateSpec `json:"template"`
	}
	fields, _, _ := unstructured.NestedMap(object.Object, "spec")
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &spec); err != nil {
		return nil, 0, fmt.Errorf("reading Gadget %s: %w", object.GetName(), err)
	}
	text, err := json.Marshal(spec.Template)
	if err != nil {
		return nil, 0, fmt.Errorf("reading Gadget %s: %w", object.GetName(), err)
	}
	sum := fnv.New32a()
	sum.Write(text)
	template := fmt.Sprintf("%08x", sum.Sum32())
	metav1.SetMetaDataLabel(&spec.Template.ObjectMeta, templateLabel, template)
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: object.GetNamespace(), Name: object.GetName() + "-" + template, Labels: spec.Template.Labels},
		Spec: appsv1.ReplicaSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": object.GetName(), templateLabel: template}},
			Template: spec.Template,
		},
	}, spec.Replicas, nil
}

// sizes returns the next size of each ReplicaSet: a quarter of the pods more or less than desired at a time, as for a Deployment.
func sizes(desired int32, current string, sets []appsv1.ReplicaSet) map[string]int32 {
	var present, ready, old int32
	for i := range sets {
		if sets[i].Name == current {
			present, ready = ptr.Deref(sets[i].Spec.Replicas, 1), sets[i].Status.ReadyReplicas
		} else {
			old += ptr.Deref(sets[i].Spec.Replicas, 1)
		}
	}
	next := map[string]int32{current: min(desired, max(present, desired+(desired+3)/4-old))}
	left := max(desired-desired/4-ready, 0)
	for i := range sets {
		if sets[i].Name != current {
			next[sets[i].Name] = min(ptr.Deref(sets[i].Spec.Replicas, 1), left)
			left -= next[sets[i].Name]
		}
	}
	return next
}

// scale sets the size of a ReplicaSet, and creates the current one.
func (s standIn) scale(ctx context.Context, owner client.Object, current *appsv1.ReplicaSet, sets []appsv1.ReplicaSet, name string, size int32) error {
	for i := range sets {
		if sets[i].Name != name {
			continue
		}
		if ptr.Deref(sets[i].Spec.Replicas, 1) == size {
			return nil
		}
		patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, size)
		return s.client.Patch(ctx, &sets[i], client.RawPatch("application/merge-patch+json", patch))
	}
	current.Spec.Replicas = &size
	if err := controllerutil.SetControllerReference(owner, current, s.client.Scheme()); err != nil {
		return err
	}
	return s.client.Create(ctx, current)
}

// report writes the status of a Gadget.
func (s standIn) report(ctx context.Context, object *unstructured.Unstructured, current string, sets []appsv1.ReplicaSet) error {
	var total, updated, ready int32
	for i := range sets {
		total += sets[i].Status.Replicas
		ready += sets[i].Status.ReadyReplicas
		if sets[i].Name == current {
			updated = sets[i].Status.Replicas
		}
	}
	status := map[string]any{
		"observedGeneration": object.GetGeneration(), "replicas": int64(total), "updatedReplicas": int64(updated), "readyReplicas": int64(ready),
	}
	if before, _, _ := unstructured.NestedMap(object.Object, "status"); equality.Semantic.DeepEqual(before, status) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return err
	}
	return s.client.Status().Patch(ctx, object, client.RawPatch("application/merge-patch+json", patch))
}
