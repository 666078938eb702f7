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

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
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
		moving[app.name] = app.state.moves
	}
	for _, guest := range r.guests {
		moving[guest.app.name] = !guest.fails
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
