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
	_ "embed"
	"errors"
	"fmt"
	"reflect"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/local/cluster"
)

const (
	// gadgetKinds is the name of the ControlledKind.
	gadgetKinds = "gadgets.bench.example.com"
	// declaredTimeout is how long a kind may take to be under control, or to end.
	declaredTimeout = time.Minute
)

// gadgetDeclaration is the CRD of the declared kind and its ControlledKind.
//
//go:embed gadgets.yaml
var gadgetDeclaration []byte

// probeNamespace is opted in.
const probeNamespace = "probe"

// withGadgets measures a load with the declared kind and its controller.
func withGadgets(run measurement) measurement {
	return func(ctx context.Context, t *testbed) ([]Figure, error) {
		if err := t.prepare(ctx, setup{batch: 100}); err != nil { // which installs the CRD of ControlledKinds
			return nil, err
		}
		if err := errors.Join(t.Namespace(ctx, probeNamespace, true), t.declare(ctx)); err != nil {
			return nil, err
		}
		stop, err := startStandIn(ctx, t.Lab)
		if err != nil {
			return nil, err
		}
		figures, err := run(ctx, t)
		return figures, errors.Join(err, stop())
	}
}

// declare installs the declared kind. Setups that are prepared from then on wait for its webhooks.
func (t *testbed) declare(ctx context.Context) error {
	t.declared = true
	return t.Apply(ctx, gadgetDeclaration, cluster.WebhookEndpoint{})
}

// awaitDeclared waits until the API server calls the webhooks of the declared kind.
func (t *testbed) awaitDeclared(ctx context.Context) error {
	object, err := gadgets().like(lab.Deployment(probeNamespace, "probe", 0))
	if err != nil {
		return err
	}
	return lab.Until(ctx, declaredTimeout, "waiting until "+gadgetKinds+" are under control", func(ctx context.Context) error {
		probe := object.DeepCopy()
		if err := t.Kube.Create(ctx, probe, client.DryRunAll); err != nil {
			return err // the webhooks of a new manager may not answer yet
		}
		if probe.GetLabels()[appv1alpha1.LabelVersion] == "" {
			return errors.New("a Gadget gets no version")
		}
		return nil
	})
}

// undeclare deletes the ControlledKind and returns how long its end took.
func (t *testbed) undeclare(ctx context.Context) (time.Duration, error) {
	t.declared = false
	ending := &appv1alpha1.ControlledKind{ObjectMeta: metav1.ObjectMeta{Name: gadgetKinds}}
	begin := time.Now()
	if err := t.Kube.Delete(ctx, ending); err != nil {
		return 0, fmt.Errorf("deleting ControlledKind %s: %w", gadgetKinds, err)
	}
	err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, declaredTimeout, true, func(ctx context.Context) (gone bool, err error) {
		err = t.Kube.Get(ctx, client.ObjectKeyFromObject(ending), ending)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	if err != nil {
		return 0, fmt.Errorf("waiting for the end of ControlledKind %s: %w", gadgetKinds, err)
	}
	return time.Since(begin), nil
}

// standIn is the controller of Gadgets. It rolls out their pods as the Deployment controller does those of Deployments, by ReplicaSets.
type standIn struct{ client client.Client }

// startStandIn runs the controller of Gadgets until it is stopped.
func startStandIn(ctx context.Context, l *lab.Lab) (stop func() error, err error) {
	mgr, err := ctrl.NewManager(l.Plane.Config(), ctrl.Options{
		Scheme: l.Kube.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: ctrlconfig.Controller{SkipNameValidation: ptr.To(true)}, // each load has one
	})
	if err == nil {
		err = ctrl.NewControllerManagedBy(mgr).For(gadgets().empty()).Owns(&appsv1.ReplicaSet{}).
			WithOptions(controller.Options{MaxConcurrentReconciles: writers}).Complete(standIn{mgr.GetClient()})
	}
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
	object := gadgets().empty()
	if err := s.client.Get(ctx, request.NamespacedName, object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var gadget appsv1.Deployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &gadget); err != nil {
		return ctrl.Result{}, fmt.Errorf("reading Gadget %s: %w", request, err)
	}
	var sets appsv1.ReplicaSetList
	if err := s.client.List(ctx, &sets, client.InNamespace(request.Namespace), client.MatchingLabels{"app": request.Name}); err != nil {
		return ctrl.Result{}, fmt.Errorf("listing the ReplicaSets of Gadget %s: %w", request, err)
	}
	current := replicaSetOf(&gadget, gadgets())
	err := errors.Join(s.scale(ctx, current, sets.Items, *gadget.Spec.Replicas), s.report(ctx, object, current.Name, sets.Items))
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return ctrl.Result{}, nil // the cache brings the newer object
	}
	return ctrl.Result{}, err
}

// replicaSetOf returns the ReplicaSet that the controller of a workload creates for its template. The note distinguishes the templates.
func replicaSetOf(workload *appsv1.Deployment, k kind) *appsv1.ReplicaSet {
	template := workload.Spec.Template.DeepCopy()
	note := cmp.Or(template.Annotations["note"], "none")
	hash := map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: note}
	template.Labels = labels.Merge(template.Labels, hash)
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: workload.Namespace, Name: workload.Name + "-" + note, Labels: template.Labels,
			Annotations:     map[string]string{"deployment.kubernetes.io/revision": "1"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(workload, k.GroupVersionKind)},
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: workload.Spec.Replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels.Merge(labels.Set{"app": workload.Name}, hash)},
			Template: *template,
		},
	}
}

// sizes returns the next size of each ReplicaSet: a quarter of the pods more or less than desired at a time, as for a Deployment.
func sizes(desired int32, current string, sets []appsv1.ReplicaSet) map[string]int32 {
	var present, ready, old int32
	for i := range sets {
		if sets[i].Name == current {
			present, ready = *sets[i].Spec.Replicas, sets[i].Status.ReadyReplicas
		} else {
			old += *sets[i].Spec.Replicas
		}
	}
	next := map[string]int32{current: min(desired, max(present, desired+(desired+3)/4-old))}
	left := max(desired-desired/4-ready, 0)
	for i := range sets {
		if sets[i].Name != current {
			next[sets[i].Name] = min(*sets[i].Spec.Replicas, left)
			left -= next[sets[i].Name]
		}
	}
	return next
}

// scale sets the size of each ReplicaSet, and creates the current one.
func (s standIn) scale(ctx context.Context, current *appsv1.ReplicaSet, sets []appsv1.ReplicaSet, desired int32) error {
	next := sizes(desired, current.Name, sets)
	var faults []error
	for i := range sets {
		set, size := &sets[i], next[sets[i].Name]
		delete(next, set.Name)
		if *set.Spec.Replicas != size {
			patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, size)
			faults = append(faults, s.client.Patch(ctx, set, client.RawPatch("application/merge-patch+json", patch)))
		}
	}
	for _, size := range next { // of the current one, which doesn't exist yet
		current.Spec.Replicas = &size
		faults = append(faults, s.client.Create(ctx, current))
	}
	return errors.Join(faults...)
}

// report writes the status of a Gadget.
func (s standIn) report(ctx context.Context, object *unstructured.Unstructured, current string, sets []appsv1.ReplicaSet) error {
	var total, updated, available int32
	for i := range sets {
		total += sets[i].Status.Replicas
		available += sets[i].Status.AvailableReplicas
		if sets[i].Name == current {
			updated = sets[i].Status.Replicas
		}
	}
	status := map[string]any{
		"observedGeneration": object.GetGeneration(), "replicas": int64(total), "updatedReplicas": int64(updated), "availableReplicas": int64(available),
	}
	if reflect.DeepEqual(object.Object["status"], status) {
		return nil
	}
	before := object.DeepCopy()
	object.Object["status"] = status
	return s.client.Status().Patch(ctx, object, client.MergeFrom(before))
}
