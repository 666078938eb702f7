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
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
