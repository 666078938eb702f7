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
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/local/cluster"
)

// kind is a kind of workloads, each with the spec and the counts of a Deployment.
type kind struct {
	schema.GroupVersionKind
	// title names it in figures.
	title string
	// webhooks are the paths of its webhooks.
	webhooks []string
	// objects returns the objects by which the pods of a Deployment are rolled out.
	objects func(kind, *appsv1.Deployment) ([]client.Object, error)
}

func deployments() kind {
	return kind{
		GroupVersionKind: appsv1.SchemeGroupVersion.WithKind("Deployment"), title: "Deployments",
		webhooks: []string{"/mutate-apps-v1-deployment", "/validate-apps-v1-deployment"},
		objects: func(_ kind, deployment *appsv1.Deployment) ([]client.Object, error) {
			return []client.Object{deployment}, nil
		},
	}
}

// gadgets returns the declared kind.
func gadgets() kind {
	return kind{
		GroupVersionKind: schema.GroupVersionKind{Group: "bench.example.com", Version: "v1", Kind: "Gadget"}, title: "declared kind",
		webhooks: []string{"/mutate-kind", "/validate-kind"},
		objects: func(k kind, deployment *appsv1.Deployment) ([]client.Object, error) {
			object, err := k.like(deployment)
			return []client.Object{object}, err
		},
	}
}

// namespace returns the namespace of workloads of the kind.
func (k kind) namespace() string { return strings.ToLower(k.Kind) + "s" }

// empty returns a workload without content.
func (k kind) empty() *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(k.GroupVersionKind)
	return object
}

// list returns an empty list of workloads.
func (k kind) list() *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(k.GroupVersion().WithKind(k.Kind + "List"))
	return list
}

// like returns a workload with the spec of a Deployment. The API server drops the fields that the kind doesn't have.
func (k kind) like(deployment *appsv1.Deployment) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(deployment)
	if err != nil {
		return nil, fmt.Errorf("creating a %s: %w", k.Kind, err)
	}
	delete(fields, "status")
	object := &unstructured.Unstructured{Object: fields}
	object.SetGroupVersionKind(k.GroupVersionKind)
	return object, nil
}

// create creates what rolls out the pods of a Deployment.
func (k kind) create(ctx context.Context, kube client.Client, deployment *appsv1.Deployment) error {
	objects, err := k.objects(k, deployment)
	for i := 0; i < len(objects) && err == nil; i++ {
		err = kube.Create(ctx, objects[i])
	}
	if err != nil {
		return fmt.Errorf("creating %s %s/%s: %w", k.Kind, deployment.Namespace, deployment.Name, err)
	}
	return nil
}

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
