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
	"cmp"
	"context"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/daemonset"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
	"github.com/traas-stack/altershield-operator/hack/altershield"
	"github.com/traas-stack/altershield-operator/hack/lab"
)

// scenario is a sequence of actions of users in a namespace, with the states to wait for.
type scenario struct {
	name string
	// kind is the kind of the workload, a Deployment where it is nil. declared reports that it is a WebApp.
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
	return []scenario{
		{name: "walkthrough", play: walkthrough, troubles: []trouble{
			{"past-records", pastOf("changeworkloads", "changepods")}, {"past-changepods", pastOf("changepods")},
		}},
		{name: "stuck", play: stuckGoesBack},
		{name: "rollback", play: goesBackOnRequest},
		{name: "late", play: startsLate, apart: true, troubles: []trouble{
			{"stale-pods", stalePods}, {"apiserver-away", apiServerAway}, {"manager-away", managerAway},
		}},
		{name: "held", play: heldHalfway, apart: true, troubles: []trouble{{"unaware-client", unawareClient}}},
		{name: "statefulset", kind: statefulset.Kind{}, play: statefulSetHeld},
		{name: "daemonset", kind: daemonset.Kind{}, play: daemonSetHeld},
		{name: "park", kind: statefulset.Kind{}, play: statefulSetParked},
		{name: "first-nodes", kind: daemonset.Kind{}, play: daemonSetFirstNodes},
		{name: "freeze", play: freezeEnds},
		{name: "thaw", play: severalThaw},
		{name: "steps", play: pacedInSteps(createDeployment)},
		{name: "steps-before", play: pacedInSteps(createDeployment, withTraffic(appv1alpha1.TrafficBefore))},
		{name: "steps-partition", kind: statefulset.Kind{}, play: pacedInSteps(createStatefulSet(heldReplicas))},
		{name: "steps-nodes", kind: daemonset.Kind{}, play: pacedInSteps(createDaemonSet(nil))},
		{name: "undo", play: undoneWhenItFails},
		{name: "park-on-fail", kind: statefulset.Kind{}, play: parkedWhenItFails},
		{name: "steps-order", checked: true, play: orderFailsInSteps},
		{name: "crash", play: crashesLater},
		{name: "checks", measured: true, play: withSource(errorsFail), troubles: []trouble{{"source-away", sourceAway}}},
		{name: "checks-blind", measured: true, play: withSource(sourceIsLost)},
		{name: "checks-compared", measured: true, play: withSource(comparisonFails)},
		{name: "checks-asked", play: withPlugin(othersDecide)},
		{name: "declared", declared: true, play: declaredHeld},
		{name: "undeclared", declared: true, play: undeclaredHeld, objects: undeclaredObjects()},
		{name: "notify", play: withReceiver(releasesAreTold), objects: []string{appv1alpha1.SystemNamespace}},
		{name: "server", checked: true, play: serverFailsARelease},
		{name: "repair", checked: true, play: repairUnderAServer},
	}
}

// isAlone reports whether its runs are alone, because they change what others share.
func (s scenario) isAlone() bool { return len(s.objects) > 0 }

// ledgers returns the namespace and the objects without one whose writes are counted.
func (s scenario) ledgers(namespace string) []string {
	return append([]string{namespace}, s.objects...)
}

// of returns the kind of the workload.
func (s scenario) of() workload.Kind { return cmp.Or[workload.Kind](s.kind, deployment.Kind{}) }

const replicas = 2

func createDeployment(ctx context.Context, s *stage) error { return s.createLabelled(ctx, nil) }

func (s *stage) createLabelled(ctx context.Context, labels map[string]string) error {
	deployment := lab.Deployment(s.namespace, s.name, replicas)
	maps.Copy(deployment.Labels, labels)
	// All pods are replaced at once, so that a rollout is over when its last batch fails: otherwise it would be held.
	deployment.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: ptr.To(intstr.FromInt32(replicas))}
	return s.created(ctx, "the first release", deployment)
}

// walkthrough is the documented one: a release passes, a verdict by hand suspends it, the next one is denied, a repair is admitted.
func walkthrough(ctx context.Context, s *stage) error {
	return inTurn(ctx, s,
		createDeployment, verified(1), remember, failed(1), suspended(1), moment, denied,
		change("the repair", template("repaired", repairing)), verified(2))
}

// stuckGoesBack makes a release whose pods never start.
func stuckGoesBack(ctx context.Context, s *stage) error {
	return inTurn(ctx, s,
		createDeployment, verified(1),
		change("a release that can't start", `{"spec":{"template":{"metadata":{"labels":{"local.altershield.io/start":"never"}}}}}`),
		verified(3))
}

// startsLate makes a release whose pods take some time to start.
func startsLate(ctx context.Context, s *stage) error {
	return inTurn(ctx, s,
		createDeployment, verified(1),
		change("a release that starts late", `{"spec":{"template":{"metadata":{"labels":{"local.altershield.io/start":"never"}}}}}`),
		pending, moment, runPods, readyPods, verified(2))
}

// heldHalfway makes a release that fails while half of the pods are replaced, and is held, of a Deployment whose template a webhook
// completes. It is rolled back on request.
func heldHalfway(ctx context.Context, s *stage) error {
	return inTurn(ctx, s,
		createInjected, verified(1),
		change("the second release", `{"spec":{"template":{"metadata":{"annotations":{"local.altershield.io/ready-after":"600s"}}}}}`),
		readyOne, failed(1), suspended(2), held,
		change("the label for the release to come", fmt.Sprintf(`{"metadata":{"labels":{%s}}}`, repairing)),
		moment, askToGoBack, verified(3))
}

// goesBackOnRequest rolls a verified release back to the previous one.
func goesBackOnRequest(ctx context.Context, s *stage) error {
	return inTurn(ctx, s,
		createDeployment, verified(1), change("the second release", template("second", "")), verified(2),
		change("the request", fmt.Sprintf(`{"metadata":{"annotations":{%q:"true"}}}`, appv1alpha1.AnnotationRollback)), verified(3))
}

// serverFailsARelease makes AlterShield Server pass a release, and fail the last pod of the next one.
func serverFailsARelease(ctx context.Context, s *stage) error {
	return inTurn(ctx, s,
		createDeployment, verified(1), failLastBatch, change("the second release", template("second", "")),
		suspended(2), denied)
}

// repairUnderAServer makes AlterShield Server fail the last pod of the first release, and pass the repair.
func repairUnderAServer(ctx context.Context, s *stage) error {
	return inTurn(ctx, s,
		failLastBatch, createDeployment, suspended(1), batchesEnd, change("the repair", template("repaired", repairing)), verified(2))
}

// failLastBatch makes the server fail the check of the last batch, with which every pod is replaced: after an earlier failure the
// rollout may or may not be over.
func failLastBatch(_ context.Context, s *stage) error {
	s.lab.Server.AddRule(altershield.Rule{
		Name: "error rate", Message: "5xx above 1%", Deployment: s.namespace + "/" + workloadName,
		Stage: altershield.StagePost, Batch: ptr.To(replicas - 1), Verdict: altershield.VerdictFail, Remaining: 1,
	})
	return nil
}

// step is something that users do, or wait for.
type step = func(context.Context, *stage) error

func inTurn(ctx context.Context, s *stage, steps ...step) error {
	for _, act := range steps {
		if err := act(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// failed sets the verdict of the n-th batch of the current release to unpass.
func failed(batch int64) step {
	return func(ctx context.Context, s *stage) error {
		return s.judge(ctx, batch, appv1alpha1.VerdictUnpass, "find error")
	}
}

// withdrawn sets it to pass.
func withdrawn(batch int64) step {
	return func(ctx context.Context, s *stage) error { return s.judge(ctx, batch, appv1alpha1.VerdictPass, "") }
}

func change(what, patch string) step {
	return func(ctx context.Context, s *stage) error { return s.patch(ctx, what, patch) }
}
