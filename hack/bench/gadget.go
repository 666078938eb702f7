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
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/local/cluster"
)

const (
	// gadgetConfig is the kustomization of the declared kind, gadgetKinds the name of its ControlledKind.
	gadgetConfig = "hack/bench/gadgets"
	gadgetKinds  = "gadgets.bench.example.com"
	// declaredTimeout is how long a kind may take to be under control, or to end.
	declaredTimeout = time.Minute
)

func gadgetKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "bench.example.com", Version: "v1", Kind: "Gadget"}
}

func newGadget() *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(gadgetKind())
	return object
}

// gadget returns a Gadget with the pods of a Deployment.
func gadget(deployment *appsv1.Deployment) (*unstructured.Unstructured, error) {
	template, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&deployment.Spec.Template)
	if err != nil {
		return nil, fmt.Errorf("creating a Gadget: %w", err)
	}
	object := newGadget()
	object.Object["spec"] = map[string]any{"replicas": int64(*deployment.Spec.Replicas), "template": template}
	object.SetNamespace(deployment.Namespace)
	object.SetName(deployment.Name)
	object.SetLabels(deployment.Labels)
	return object, nil
}

// declare installs the declared kind.
func declare(ctx context.Context, l *lab.Lab) error {
	return l.Plane.Install(ctx, gadgetConfig, cluster.WebhookEndpoint{})
}

// awaitDeclared waits until the API server calls the webhooks of the declared kind in an opted-in namespace.
func awaitDeclared(ctx context.Context, l *lab.Lab, namespace string) error {
	object, err := gadget(lab.Deployment(namespace, "probe", 0))
	if err != nil {
		return err
	}
	return lab.Until(ctx, declaredTimeout, "waiting until "+gadgetKinds+" are under control", func(ctx context.Context) error {
		probe := object.DeepCopy()
		if err := l.Kube.Create(ctx, probe, client.DryRunAll); err != nil {
			return err // the webhooks of a new manager may not answer yet
		}
		if probe.GetLabels()[appv1alpha1.LabelVersion] == "" {
			return errors.New("a Gadget gets no version")
		}
		return nil
	})
}

// undeclare deletes the ControlledKind and returns how long its end took.
func undeclare(ctx context.Context, l *lab.Lab) (time.Duration, error) {
	kind := &appv1alpha1.ControlledKind{ObjectMeta: metav1.ObjectMeta{Name: gadgetKinds}}
	begin := time.Now()
	if err := l.Kube.Delete(ctx, kind); err != nil {
		return 0, fmt.Errorf("deleting ControlledKind %s: %w", gadgetKinds, err)
	}
	err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, declaredTimeout, true, func(ctx context.Context) (gone bool, err error) {
		err = l.Kube.Get(ctx, client.ObjectKeyFromObject(kind), kind)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	if err != nil {
		return 0, fmt.Errorf("waiting for the end of ControlledKind %s: %w", gadgetKinds, err)
	}
	return time.Since(begin), nil
}

// sawGadget records the current state of a Gadget.
func (p *progress) sawGadget(gadget *unstructured.Unstructured) {
	note, _, _ := unstructured.NestedString(gadget.Object, "spec", "template", "metadata", "annotations", "note")
	desired, _, _ := unstructured.NestedInt64(gadget.Object, "spec", "replicas")
	observed, _, _ := unstructured.NestedInt64(gadget.Object, "status", "observedGeneration")
	if note != p.note || observed < gadget.GetGeneration() {
		return
	}
	if countsAre(gadget, desired, "replicas", "updatedReplicas", "readyReplicas") {
		p.rolled[gadget.GetName()] = decide.ChangeWorkloadName("gadgets."+gadget.GetName(), gadget.GetLabels()[appv1alpha1.LabelVersion])
	}
}

// countsAre reports whether each of some fields of a status has this value.
func countsAre(object *unstructured.Unstructured, desired int64, fields ...string) bool {
	return !slices.ContainsFunc(fields, func(field string) bool {
		count, _, _ := unstructured.NestedInt64(object.Object, "status", field)
		return count != desired
	})
}

// padded returns a Deployment whose JSON has 7 KB once it is stored.
func padded(namespace, name string) *appsv1.Deployment {
	deployment := lab.Deployment(namespace, name, 0)
	container := &deployment.Spec.Template.Spec.Containers[0]
	for i := range 64 {
		container.Env = append(container.Env, corev1.EnvVar{Name: fmt.Sprintf("SETTING_%02d", i), Value: name + strings.Repeat(".", 20)})
	}
	return deployment
}

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
	before := object.DeepCopy()
	object.Object["status"] = map[string]any{
		"observedGeneration": object.GetGeneration(), "replicas": int64(total), "updatedReplicas": int64(updated), "readyReplicas": int64(ready),
	}
	if equality.Semantic.DeepEqual(before, object) {
		return nil
	}
	return s.client.Status().Patch(ctx, object, client.MergeFrom(before))
}
