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
	"fmt"
	"maps"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// progress is the progress of releases that were made at once.
type progress struct {
	// note is the annotation of their templates.
	note  string
	count int
	// rolled are the workloads whose rollout is complete, verified those whose release reached Success, by name, with the version.
	rolled   map[string]string
	verified map[[2]string]bool
}

func newProgress(note string, count int) *progress {
	return &progress{note: note, count: count, rolled: map[string]string{}, verified: map[[2]string]bool{}}
}

// sawWorkload records the state of a workload. It reports whether all rollouts are complete.
func (p *progress) sawWorkload(object runtime.Object) bool {
	workload, _ := object.(*unstructured.Unstructured)
	note, _, _ := unstructured.NestedString(workload.Object, "spec", "template", "metadata", "annotations", "note")
	if note == p.note && isComplete(workload) {
		p.rolled[workload.GetName()] = workload.GetLabels()[appv1alpha1.LabelVersion]
	}
	return len(p.rolled) == p.count
}

// sawRecord records the state of a ChangeWorkload. It reports whether the releases of all rollouts are verified.
func (p *progress) sawRecord(object runtime.Object) bool {
	record, _ := object.(*appv1alpha1.ChangeWorkload)
	if record.Status.Status == appv1alpha1.ChangeWorkloadSuccess {
		p.verified[[2]string{record.Spec.AppName, record.Spec.Reversion}] = true
	}
	return len(p.unverified()) == 0
}

// unverified returns the complete rollouts whose release isn't verified, with their versions.
func (p *progress) unverified() map[string]string {
	left := maps.Clone(p.rolled)
	maps.DeleteFunc(left, func(name, version string) bool { return p.verified[[2]string{name, version}] })
	return left
}

// left tells how many rollouts are complete, and which of them aren't verified.
func (p *progress) left(controlled bool) string {
	rolled := fmt.Sprintf("%d of %d rollouts are complete", len(p.rolled), p.count)
	if !controlled {
		return rolled
	}
	return fmt.Sprintf("%s, of these %v are not verified", rolled, p.unverified())
}

// isComplete reports whether kubectl rollout status would succeed, and a Rollout of Argo Rollouts is healthy.
func isComplete(workload *unstructured.Unstructured) bool {
	status, _, _ := unstructured.NestedMap(workload.Object, "status")
	phase, has := status["phase"]
	// Argo Rollouts writes the observed generation as text.
	if fmt.Sprint(status["observedGeneration"]) != strconv.FormatInt(workload.GetGeneration(), 10) || has && phase != "Healthy" {
		return false
	}
	desired, _, _ := unstructured.NestedInt64(workload.Object, "spec", "replicas")
	for _, field := range []string{"replicas", "updatedReplicas", "availableReplicas"} {
		if count, _, _ := unstructured.NestedInt64(status, field); count != desired {
			return false
		}
	}
	return true
}
