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

// Package webapp is a kind of workload that the operator knows only by its declaration, with a small controller, which runs the pods of a
// WebApp in a StatefulSet.
package webapp

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"reflect"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/declared"
	"github.com/traas-stack/altershield-operator/hack/lab"
)

// Manifest has the CRD of WebApps, their ControlledKind and the permissions of the operator.
//
//go:embed webapp.yaml
var Manifest []byte

// GenerationAnnotation is the generation of the WebApp whose spec a StatefulSet has.
const GenerationAnnotation = "lab.altershield.io/generation"

// GroupVersionKind returns that of WebApps.
func GroupVersionKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "lab.altershield.io", Version: "v1", Kind: "WebApp"}
}

// Controlled returns the ControlledKind of WebApps.
func Controlled() (*appv1alpha1.ControlledKind, error) {
	_, controlled, err := read()
	return controlled, err
}

// Kind returns the kind WebApp as the operator compiles it.
func Kind() (workload.Kind, error) {
	crd, controlled, err := read()
	if err != nil {
		return nil, err
	}
	definition, err := declared.DefinitionOf(crd, "")
	if err != nil {
		return nil, err
	}
	compiler, err := declared.NewCompiler()
	if err != nil {
		return nil, err
	}
	kind, problems := compiler.Compile(controlled, definition)
	return kind, problems.ToAggregate()
}

// read returns the CRD of WebApps and their ControlledKind.
func read() (*apiextensionsv1.CustomResourceDefinition, *appv1alpha1.ControlledKind, error) {
	crd, controlled := &apiextensionsv1.CustomResourceDefinition{}, &appv1alpha1.ControlledKind{}
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(Manifest), len(Manifest))
	if err := errors.Join(documents.Decode(crd), documents.Decode(controlled)); err != nil {
		return nil, nil, fmt.Errorf("reading webapp.yaml: %w", err)
	}
	return crd, controlled, nil
}

// New returns a WebApp of fake pods, which are ready at once, like those of lab.Deployment.
func New(namespace, name string, replicas int32) *unstructured.Unstructured {
	app := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"replicas": int64(replicas),
		"template": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"app": name}},
			"spec": map[string]any{
				"terminationGracePeriodSeconds": int64(0),
				"containers":                    []any{map[string]any{"name": "app", "image": "app"}},
			},
		},
	}}}
	app.SetGroupVersionKind(GroupVersionKind())
	app.SetNamespace(namespace)
	app.SetName(name)
	app.SetLabels(map[string]string{"app": name})
	return app
}

// Controller is the controller of WebApps.
type Controller struct {
	Kube client.Client
	// As calls each reconcile, nil to call it directly.
	As func(reconcile func() error) error
}

// Run runs the controller until the context ends.
func (c Controller) Run(ctx context.Context) {
	for lab.Pause(ctx, lab.Glance) == nil {
		c.reconcileAll(ctx)
	}
}

// reconcileAll reconciles all WebApps. One that fails is reconciled again with the next tick.
func (c Controller) reconcileAll(ctx context.Context) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(GroupVersionKind())
	if err := c.Kube.List(ctx, list); err != nil {
		return
	}
	for i := range list.Items {
		if list.Items[i].GetDeletionTimestamp() != nil {
			continue
		}
		reconcile := func() error { return c.reconcile(ctx, &list.Items[i]) }
		if c.As == nil {
			_ = reconcile()
		} else {
			_ = c.As(reconcile)
		}
	}
}

// content is the part of a WebApp that its controller reads.
type content struct {
	Spec struct {
		Replicas int32                  `json:"replicas"`
		Template corev1.PodTemplateSpec `json:"template"`
		Rollout  struct {
			Paused    bool  `json:"paused"`
			Partition int32 `json:"partition"`
		} `json:"rollout"`
	} `json:"spec"`
}

func (c Controller) reconcile(ctx context.Context, app *unstructured.Unstructured) error {
	var read content
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(app.Object, &read); err != nil {
		return err
	}
	set := &appsv1.StatefulSet{}
	if err := c.Kube.Get(ctx, client.ObjectKeyFromObject(app), set); client.IgnoreNotFound(err) != nil {
		return err
	} else if apierrors.IsNotFound(err) {
		return c.Kube.Create(ctx, statefulSetOf(app, read, set))
	}
	if set.Annotations[GenerationAnnotation] != strconv.FormatInt(app.GetGeneration(), 10) {
		return c.Kube.Update(ctx, statefulSetOf(app, read, set))
	}
	status := map[string]any{
		"observedGeneration": app.GetGeneration(), "replicas": int64(set.Status.Replicas),
		"updatedReplicas": int64(set.Status.UpdatedReplicas), "readyReplicas": int64(set.Status.ReadyReplicas),
	}
	if set.Status.ObservedGeneration != set.Generation || reflect.DeepEqual(status, app.Object["status"]) {
		return nil
	}
	before := app.DeepCopy()
	app.Object["status"] = status
	return c.Kube.Status().Patch(ctx, app, client.MergeFrom(before))
}

// statefulSetOf returns a StatefulSet with the spec of a WebApp.
func statefulSetOf(app *unstructured.Unstructured, read content, set *appsv1.StatefulSet) *appsv1.StatefulSet {
	set.Namespace, set.Name = app.GetNamespace(), app.GetName()
	set.Annotations = map[string]string{GenerationAnnotation: strconv.FormatInt(app.GetGeneration(), 10)}
	set.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(app, app.GroupVersionKind())}
	set.Spec.Replicas, set.Spec.Template = &read.Spec.Replicas, read.Spec.Template
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": app.GetName()}}
	rolling := &appsv1.RollingUpdateStatefulSetStrategy{Partition: ptr.To[int32](0)}
	if read.Spec.Rollout.Paused {
		rolling.Partition = &read.Spec.Rollout.Partition
	}
	set.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: rolling}
	return set
}
