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
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/hack/altershield"
	"github.com/traas-stack/altershield-operator/hack/lab"
)

// scenario is a sequence of actions of users in a namespace, with the states to wait for.
type scenario struct {
	name string
	// kind is the kind of the workload, which is chosen with the scenario if it is a Deployment, or is declared: a WebApp.
	kind     workload.Kind
	declared bool
	// checked reports whether AlterShield Server checks the releases.
	checked bool
	// measured reports whether checks look at metrics of the pods.
	measured bool
	play     step
	// troubles may strike at its moment; apart reports that no other faults apply to it.
	troubles []trouble
	apart    bool
	// objects are objects without a namespace, or other namespaces, that faults apply to, in place of those in the namespace. Its runs are alone.
	objects []string
}

func scenarios() []scenario {
	return slices.Concat(ofDeployments(), ofSets(), ofFreezes(), ofSteps(), ofChecks(), ofReceivers(), ofDeclaredKinds(), ofServer())
}

func ofDeployments() []scenario {
	const neverStarts = `{"spec":{"template":{"metadata":{"labels":{"local.altershield.io/start":"never"}}}}}`
	return []scenario{
		// The documented one: a release passes, a verdict by hand suspends it, the next one is denied, a repair is admitted.
		{name: "walkthrough", troubles: []trouble{
			{"past-records", pastOf("changeworkloads", "changepods")}, {"past-changepods", pastOf("changepods")},
		}, play: inTurn(createDeployment, verified(1), remember, failed(1), suspended(1), moment, denied, repair, verified(2))},
		// A release whose pods never start.
		{name: "stuck", play: inTurn(createDeployment, verified(1), change(neverStarts), verified(3))},
		// A verified release goes back to the previous one on request.
		{name: "rollback", play: inTurn(createDeployment, verified(1), secondRelease, verified(2), requestRollback, verified(3))},
		// The pods of a release take some time to start.
		{name: "late", apart: true, troubles: []trouble{
			{"stale-pods", stalePods}, {"apiserver-away", apiServerAway}, {"manager-away", managerAway},
		}, play: inTurn(createDeployment, verified(1), change(neverStarts), pending, moment, runPods, ready(replicas), verified(2))},
		// A release fails while half of the pods are replaced, and is held, of a Deployment whose template a webhook completes. It is rolled back
		// on request.
		{name: "held", apart: true, troubles: []trouble{{"unaware-client", unawareClient}}, play: inTurn(
			createInjected, verified(1), slowRelease, ready(1), failed(1), suspended(2), held,
			change(fmt.Sprintf(`{"metadata":{"labels":{%s}}}`, repairing)),
			moment, askToGoBack, verified(3))},
	}
}

// ofServer returns those of AlterShield Server, in which it passes a release and fails another one.
func ofServer() []scenario {
	return []scenario{
		{name: "server", checked: true, play: inTurn(createDeployment, verified(1), failLastBatch, secondRelease, suspended(2), denied)},
		{name: "repair", checked: true, play: inTurn(failLastBatch, createDeployment, suspended(1), batchesEnd, repair, verified(2))},
	}
}

// isAlone reports whether its runs are alone, because they change what others share.
func (s scenario) isAlone() bool { return len(s.objects) > 0 }

const replicas = 2

func createDeployment(ctx context.Context, s *stage) error { return s.createLabelled(ctx, nil) }

func (s *stage) createLabelled(ctx context.Context, labels map[string]string) error {
	deployment := lab.Deployment(s.namespace, s.name, replicas)
	maps.Copy(deployment.Labels, labels)
	// All pods are replaced at once, so that a rollout is over when its last batch fails: otherwise it would be held.
	deployment.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: ptr.To(intstr.FromInt32(replicas))}
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

// step is something that users do, or wait for.
type step = func(context.Context, *stage) error

func inTurn(steps ...step) step {
	return func(ctx context.Context, s *stage) error {
		for _, act := range steps {
			if err := act(ctx, s); err != nil {
				return err
			}
		}
		return nil
	}
}

func change(patch string) step {
	return func(ctx context.Context, s *stage) error { return s.patch(ctx, patch) }
}

func secondRelease(ctx context.Context, s *stage) error { return s.patch(ctx, template("second", "")) }

func repair(ctx context.Context, s *stage) error {
	return s.patch(ctx, template("repaired", repairing))
}

func requestRollback(ctx context.Context, s *stage) error {
	return s.patch(ctx, fmt.Sprintf(`{"metadata":{"annotations":{%q:"true"}}}`, appv1alpha1.AnnotationRollback))
}
