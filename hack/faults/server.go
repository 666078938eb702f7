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

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"

	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
	"github.com/traas-stack/altershield-operator/hack/altershield"
	"github.com/traas-stack/altershield-operator/hack/lab"
)

// serverGroup is the group whose releases AlterShield Server checks.
const serverGroup = "server"

// ofServer returns the scenarios that AlterShield Server checks.
func ofServer() []scenario {
	return []scenario{
		// AlterShield Server fails the order of a release after its last step. A user withdraws that.
		{name: "steps-order", kind: statefulset.Kind{}, play: inTurn(
			twoSteps(policy{}), createStatefulSet(heldReplicas), verified(1), failAfterwards(altershield.Rule{Name: "budget", Message: "spent", Order: true}),
			secondRelease, awaitsApproval, approve, suspended(2), withdrawn(1), verified(2), unpaced)},
		// AlterShield Server passes a release and fails another one.
		{name: "server", play: inTurn(createRecreated, verified(1), failLastBatch, secondRelease, suspended(2), batchesEnd, denied)},
		{name: "repair", play: inTurn(failLastBatch, createDeployment, suspended(1), batchesEnd, repair, verified(2))},
	}
}

// createRecreated creates a Deployment whose old pods are gone before the new ones start, as each of a StatefulSet is: the rollout is over when the
// check of its last batch begins, however fast the server fails it, and isn't held.
func createRecreated(ctx context.Context, s *stage) error {
	deployment := lab.Deployment(s.namespace, s.name, replicas)
	deployment.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	return s.created(ctx, deployment)
}

// failLastBatch makes the server fail the check of the last batch, with which every pod is replaced: after an earlier failure the
// rollout may or may not be over.
func failLastBatch(ctx context.Context, s *stage) error {
	return failAfterwards(altershield.Rule{Name: "error rate", Message: "5xx above 1%", Batch: ptr.To(replicas - 1)})(ctx, s)
}

// failAfterwards makes the server fail the check after a batch, or an order, once.
func failAfterwards(rule altershield.Rule) step {
	return func(_ context.Context, s *stage) error {
		rule := rule // each run has its own
		rule.Deployment, rule.Stage, rule.Verdict, rule.Remaining = s.namespace+"/"+workloadName, altershield.StagePost, altershield.VerdictFail, 1
		s.Server.AddRule(rule)
		return nil
	}
}
