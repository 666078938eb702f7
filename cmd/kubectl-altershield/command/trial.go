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

package command

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

// Field managers of kubectl apply.
const (
	clientSideApply = "kubectl-client-side-apply"
	serverSideApply = "kubectl"
)

// workloads reads the objects of a file, or of the standard input if it is -, that may be workloads.
func (t *tool) workloads(file string) ([]*unstructured.Unstructured, error) {
	if file == "-" {
		return workloads(t.In, file)
	}
	opened, err := os.Open(filepath.Clean(file))
	if err != nil {
		return nil, fmt.Errorf("reading the file: %w", err)
	}
	defer opened.Close()
	return workloads(opened, file)
}

// workloads reads objects that may be workloads. Those of the core group never are.
func workloads(in io.Reader, file string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	documents := utilyaml.NewYAMLReader(bufio.NewReader(in))
	for {
		text, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		encoded, err := yaml.YAMLToJSON(text)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		object := &unstructured.Unstructured{}
		if err := utiljson.Unmarshal(encoded, &object.Object); err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		items := []unstructured.Unstructured{*object}
		if object.IsList() && strings.HasSuffix(object.GetKind(), "List") {
			list, err := object.ToList()
			if err != nil {
				return nil, fmt.Errorf("reading %s: %w", file, err)
			}
			items = list.Items
		}
		for i := range items {
			if items[i].GetKind() != "" && items[i].GetName() != "" && items[i].GetAPIVersion() != "v1" {
				objects = append(objects, &items[i])
			}
		}
	}
}

// try asks the API server what would become of an object that is applied. Nothing changes.
func (t *tool) try(ctx context.Context, cluster *cluster, object *unstructured.Unstructured, serverSide bool) (view.Why, error) {
	if object.GetNamespace() == "" {
		object.SetNamespace(cluster.namespace)
	}
	reference := appv1alpha1.WorkloadReference{APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Name: object.GetName()}
	before, err := cluster.workload(ctx, object.GetNamespace(), reference)
	if apierrors.IsNotFound(err) {
		before, err = nil, nil
	}
	if err != nil {
		return view.Why{}, err
	}
	t.warnings.take()
	answer, err := cluster.apply(ctx, client.NewDryRunClient(cluster), before, manifest{object: object, serverSide: serverSide})
	trial, err := trialOf(before, answer, err)
	if err != nil {
		return view.Why{}, fmt.Errorf("trying %s in namespace %s: %w", view.Argument(reference), object.GetNamespace(), err)
	}
	trial.Warnings = t.warnings.take()
	why := view.Why{Kind: "Why", APIVersion: view.APIVersion, Workload: view.Workload{
		Namespace: object.GetNamespace(), Kind: object.GetKind(), Name: object.GetName(),
	}}
	if trial.Verdict == view.Denied {
		if why, err = t.explained(ctx, cluster, object.GetNamespace(), reference); err != nil {
			return view.Why{}, err
		}
	}
	why.Trial = &trial
	return why, nil
}

func trialOf(before, answer *unstructured.Unstructured, err error) (view.Trial, error) {
	if err == nil {
		return view.TrialOf(before, answer), nil
	}
	if status, ok := statusOf(err); ok {
		if trial, rejected := view.Rejected(status); rejected {
			return trial, nil
		}
	}
	return view.Trial{}, err
}

// explained returns why a workload is as it is, and what the user may do.
func (t *tool) explained(ctx context.Context, cluster *cluster, namespace string, reference appv1alpha1.WorkloadReference) (view.Why, error) {
	facts, err := cluster.refresh(ctx, view.Facts{Namespace: namespace, Reference: reference})
	if err == nil {
		err = errors.Join(cluster.addBatches(ctx, &facts), cluster.addKept(ctx, &facts))
	}
	if err != nil {
		return view.Why{}, err
	}
	why := view.WhyOf(facts, t.Clock.Now())
	err = cluster.review(ctx, &why)
	return why, err
}

// manifest is an object of a file.
type manifest struct {
	object *unstructured.Unstructured
	// serverSide reports whether it is sent as by kubectl apply --server-side.
	serverSide bool
	// repairs reports whether it passes a suspension. The label for that is in the request alone: it isn't part of what was applied last, and
	// so never lands in the file.
	repairs bool
	// reason is why it does, empty for none.
	reason string
}

// apply sends the request of kubectl apply. A repair concerns the object that was read before alone.
func (c *cluster) apply(ctx context.Context, writer client.Client, before *unstructured.Unstructured, applied manifest) (*unstructured.Unstructured, error) {
	answer := applied.object.DeepCopy()
	if applied.serverSide {
		if applied.repairs {
			view.MarkRepair(answer, applied.reason)
			answer.SetResourceVersion(before.GetResourceVersion())
		}
		return answer, writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(answer), client.FieldOwner(serverSideApply))
	}
	modified, err := withLastApplied(applied.object)
	if err != nil {
		return nil, err
	}
	if before == nil {
		if err := json.Unmarshal(modified, &answer.Object); err != nil {
			return nil, err
		}
		return answer, writer.Create(ctx, answer, client.FieldOwner(clientSideApply))
	}
	if applied.repairs {
		mark := func(object *unstructured.Unstructured) { view.MarkRepair(object, applied.reason) }
		if modified, err = edited(modified, mark); err != nil {
			return nil, err
		}
	}
	patch, err := c.patch(before, modified)
	if err != nil {
		return nil, err
	}
	if applied.repairs {
		if patch, err = locked(patch, before.GetResourceVersion()); err != nil {
			return nil, err
		}
	}
	return answer, writer.Patch(ctx, answer, patch, client.FieldOwner(clientSideApply))
}

// locked returns a patch that the API server rejects unless the object has this resourceVersion.
func locked(patch client.Patch, resourceVersion string) (client.Patch, error) {
	data, err := patch.Data(nil) // a raw patch doesn't depend on the object
	if err != nil {
		return nil, err
	}
	data, err = edited(data, func(object *unstructured.Unstructured) { object.SetResourceVersion(resourceVersion) })
	return client.RawPatch(patch.Type(), data), err
}

// edited returns an object in JSON with a change.
func edited(encoded []byte, change func(*unstructured.Unstructured)) ([]byte, error) {
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(encoded, &object.Object); err != nil {
		return nil, fmt.Errorf("decoding the object: %w", err)
	}
	change(object)
	return json.Marshal(object.Object)
}

// withLastApplied returns an object in JSON as kubectl apply sends it: with itself in an annotation.
func withLastApplied(object *unstructured.Unstructured) ([]byte, error) {
	applied := object.DeepCopy()
	annotations := applied.GetAnnotations()
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	if annotations == nil {
		annotations = map[string]string{}
	}
	applied.SetAnnotations(annotations)
	original, err := runtime.Encode(unstructured.UnstructuredJSONScheme, applied)
	if err != nil {
		return nil, fmt.Errorf("encoding the object: %w", err)
	}
	annotations[corev1.LastAppliedConfigAnnotation] = string(original)
	applied.SetAnnotations(annotations)
	return runtime.Encode(unstructured.UnstructuredJSONScheme, applied)
}

// patch returns the patch of kubectl apply: from what was applied last, what is applied now, and what is there.
func (c *cluster) patch(before *unstructured.Unstructured, modified []byte) (client.Patch, error) {
	current, err := runtime.Encode(unstructured.UnstructuredJSONScheme, before)
	if err != nil {
		return nil, fmt.Errorf("encoding the present object: %w", err)
	}
	original := []byte(before.GetAnnotations()[corev1.LastAppliedConfigAnnotation])
	typed, err := c.Scheme().New(before.GroupVersionKind())
	if isCRD := before.GroupVersionKind().Group == appv1alpha1.GroupVersion.Group; isCRD || runtime.IsNotRegisteredError(err) {
		patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(original, modified, current)
		if err != nil {
			return nil, fmt.Errorf("comparing the file with the present object: %w", err)
		}
		return client.RawPatch(types.MergePatchType, patch), nil
	}
	if err != nil {
		return nil, err
	}
	lookup, err := strategicpatch.NewPatchMetaFromStruct(typed)
	if err != nil {
		return nil, fmt.Errorf("reading the type of the object: %w", err)
	}
	patch, err := strategicpatch.CreateThreeWayMergePatch(original, modified, current, lookup, true)
	if err != nil {
		return nil, fmt.Errorf("comparing the file with the present object: %w", err)
	}
	return client.RawPatch(types.StrategicMergePatchType, patch), nil
}
