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
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/hack/lab"
)

// picture is what an upgrade must not change, but for releases that are under way.
type picture struct {
	// pods has the names of the pods by UID, records those of ChangeWorkloads, templates has the pod templates by the name of their workload.
	pods, records, templates map[string]string
}

// picture returns the present one. Apps whose release is under way are not in it.
func (r *run) picture(ctx context.Context) (picture, error) {
	p := picture{pods: map[string]string{}, records: map[string]string{}, templates: map[string]string{}}
	moving := map[string]bool{}
	for _, app := range r.apps {
		moving[app.Name] = app.state.moves
	}
	for _, guest := range r.guests {
		moving[guest.Name] = !guest.fails
	}
	var pods corev1.PodList
	var records appv1alpha1.ChangeWorkloadList
	if err := errors.Join(r.lab.Kube.List(ctx, &pods), r.lab.Kube.List(ctx, &records)); err != nil {
		return p, fmt.Errorf("taking a picture: %w", err)
	}
	for _, pod := range pods.Items {
		if !moving[pod.Labels["app"]] {
			p.pods[string(pod.UID)] = pod.Name
		}
	}
	for _, record := range records.Items {
		if owner := metav1.GetControllerOf(&record); owner == nil || !moving[owner.Name] {
			p.records[string(record.UID)] = record.Name
		}
	}
	for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet"} {
		var workloads unstructured.UnstructuredList
		workloads.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(kind))
		if err := r.lab.Kube.List(ctx, &workloads); err != nil {
			return p, fmt.Errorf("taking a picture: %w", err)
		}
		for _, workload := range workloads.Items {
			template, _, _ := unstructured.NestedMap(workload.Object, "spec", "template")
			content, err := json.Marshal(template)
			if err != nil {
				return p, fmt.Errorf("taking a picture: %w", err)
			}
			if !moving[workload.GetName()] {
				p.templates[workload.GetName()] = string(content)
			}
		}
	}
	return p, nil
}

// changes returns what is otherwise in a later picture, sorted.
func (p picture) changes(later picture) []string {
	var changes []string
	for uid, name := range p.pods {
		if later.pods[uid] == "" {
			changes = append(changes, "pod "+name+" is gone")
		}
	}
	for uid, name := range later.pods {
		if p.pods[uid] == "" {
			changes = append(changes, "pod "+name+" is new")
		}
	}
	for uid, name := range p.records {
		if later.records[uid] == "" {
			changes = append(changes, "ChangeWorkload "+name+" is gone")
		}
	}
	for name := range maps.Keys(p.templates) {
		if p.templates[name] != later.templates[name] {
			changes = append(changes, fmt.Sprintf("the template of %s: %s, before %s", name, later.templates[name], p.templates[name]))
		}
	}
	slices.Sort(changes)
	return changes
}

// uncontrolled returns workloads of a namespace that has opted in: v0.1 knows Deployments alone.
func uncontrolled() []client.Object {
	return []client.Object{lab.StatefulSet(controlled, "stateful", replicas), lab.DaemonSet(controlled, "daemons")}
}

func (r *run) createUncontrolled(ctx context.Context) error {
	for _, object := range uncontrolled() {
		if err := r.lab.Kube.Create(ctx, object); err != nil {
			return fmt.Errorf("creating %T: %w", object, err)
		}
	}
	return nil
}

// releaseUncontrolled checks that releases of kinds that only observe go to all pods, and that nothing is written to their workloads.
func (r *run) releaseUncontrolled(ctx context.Context) error {
	for _, object := range uncontrolled() {
		released := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"template":{"metadata":{"labels":{"test":"second"}}}}}`))
		if err := r.lab.Kube.Patch(ctx, object, released); err != nil {
			return fmt.Errorf("releasing %s: %w", object.GetName(), err)
		}
		if err := r.runs(ctx, client.ObjectKeyFromObject(object), "second"); err != nil {
			return err
		}
		if err := r.lab.Kube.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		for key := range object.GetLabels() {
			if key != "app" {
				return fmt.Errorf("%s is only observed, and has the label %s", object.GetName(), key)
			}
		}
		for key := range object.GetAnnotations() {
			if strings.Contains(key, "altershield") {
				return fmt.Errorf("%s is only observed, and has the annotation %s", object.GetName(), key)
			}
		}
	}
	return nil
}

// runs waits until all pods of a workload are of a release and ready.
func (r *run) runs(ctx context.Context, workload client.ObjectKey, note string) error {
	return lab.Until(ctx, patience, fmt.Sprintf("pods of %s that run the release %s", workload.Name, note), func(ctx context.Context) error {
		var pods corev1.PodList
		if err := r.lab.Kube.List(ctx, &pods, client.InNamespace(workload.Namespace), client.MatchingLabels{"app": workload.Name}); err != nil {
			return err
		}
		if len(pods.Items) < replicas {
			return fmt.Errorf("there are %d", len(pods.Items))
		}
		for i := range pods.Items {
			if pod := &pods.Items[i]; pod.Labels["test"] != note || !decide.IsReady(pod) {
				return fmt.Errorf("pod %s of release %q isn't ready or isn't of it", pod.Name, pod.Labels["test"])
			}
		}
		return nil
	})
}

// observes checks that an upgrade turned nothing on: kinds other than Deployments and the policy builtin only observe.
func (r *run) observes(ctx context.Context) error {
	err := lab.Until(ctx, patience, "kinds and policies that only observe", func(ctx context.Context) error {
		var kinds appv1alpha1.ControlledKindList
		var policies appv1alpha1.VerificationPolicyList
		for _, list := range []client.ObjectList{&kinds, &policies} {
			if err := r.lab.Kube.List(ctx, list); err != nil {
				return err
			}
		}
		if len(kinds.Items) < 2 || len(policies.Items) != 1 {
			return fmt.Errorf("there are %d ControlledKinds and %d VerificationPolicies", len(kinds.Items), len(policies.Items))
		}
		for _, kind := range kinds.Items {
			want := appv1alpha1.ModeObserve
			if kind.Name == "deployments.apps" {
				want = appv1alpha1.ModeEnforce
			}
			if kind.Spec.Mode != want {
				return fmt.Errorf("ControlledKind %s has the mode %s, not %s", kind.Name, kind.Spec.Mode, want)
			}
		}
		if mode := policies.Items[0].Spec.Mode; mode != appv1alpha1.CheckObserve {
			return fmt.Errorf("VerificationPolicy %s has the mode %s, not Observe", policies.Items[0].Name, mode)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return r.releaseUncontrolled(ctx)
}
