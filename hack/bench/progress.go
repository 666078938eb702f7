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

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// progress is the progress of releases that were made at once.
type progress struct {
	// note is the annotation of their templates.
	note        string
	deployments int
	// rolled has each Deployment whose rollout is complete, with the name of its ChangeWorkload, which is empty without the operator.
	rolled map[string]string
	// verified are the ChangeWorkloads that reached Success.
	verified map[string]bool
}

func newProgress(note string, deployments int) *progress {
	return &progress{note: note, deployments: deployments, rolled: map[string]string{}, verified: map[string]bool{}}
}

// sawDeployment records the current state of a Deployment.
func (p *progress) sawDeployment(deployment *appsv1.Deployment) {
	if deployment.Spec.Template.Annotations["note"] != p.note || !isComplete(deployment) {
		return
	}
	name := ""
	if version := deployment.Labels[appv1alpha1.LabelVersion]; version != "" {
		name = decide.ChangeWorkloadName(deployment.Name, version)
	}
	p.rolled[deployment.Name] = name
}

// sawWorkload records the current state of a ChangeWorkload.
func (p *progress) sawWorkload(workload *appv1alpha1.ChangeWorkload) {
	if workload.Status.Status == appv1alpha1.ChangeWorkloadSuccess {
		p.verified[workload.Name] = true
	}
}

// isRolled reports whether all rollouts are complete.
func (p *progress) isRolled() bool { return len(p.rolled) == p.deployments }

// isVerified reports whether all rollouts are complete and all releases verified.
func (p *progress) isVerified() bool { return p.isRolled() && len(p.unverified()) == 0 }

// unverified returns the complete rollouts whose release isn't verified, each with the name of its ChangeWorkload.
func (p *progress) unverified() map[string]string {
	left := maps.Clone(p.rolled)
	maps.DeleteFunc(left, func(_, workload string) bool { return p.verified[workload] })
	return left
}

// left tells how many rollouts are complete, and which of them aren't verified.
func (p *progress) left(controlled bool) string {
	rolled := fmt.Sprintf("%d of %d rollouts are complete", len(p.rolled), p.deployments)
	if !controlled {
		return rolled
	}
	return fmt.Sprintf("%s, of these %v are not verified", rolled, p.unverified())
}

// isComplete reports whether kubectl rollout status would succeed.
func isComplete(deployment *appsv1.Deployment) bool {
	desired, status := ptr.Deref(deployment.Spec.Replicas, 1), deployment.Status
	return status.ObservedGeneration >= deployment.Generation &&
		status.UpdatedReplicas == desired && status.Replicas == desired && status.AvailableReplicas == desired
}
