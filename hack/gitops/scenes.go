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
	"slices"
	"strings"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// step is something that happens, or is seen.
type step func(*app, context.Context) error

// scene is what becomes of a workload that a tool brings: argocd, flux or helm.
type scene struct {
	tool, name, manifest string
	steps                []step
	// kustomization is further fields of the Kustomization, flags are those of each command of Helm.
	kustomization string
	flags         []string
	// serverSide has Argo CD apply on the server, serverSideDiff compare there; retry is the retry of a denied sync, none if empty; ignored is what the Application ignores.
	serverSide, serverSideDiff bool
	retry, ignored             string
}

const (
	deploymentHead = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, annotations: {altershield.defense.antgroup.com/stuck-after: 15s}}
spec:
  replicas: 3
  strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}
`
	statefulSetHead = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: NAME, annotations: {altershield.defense.antgroup.com/stuck-after: 15s}}
spec:
  serviceName: NAME
  replicas: 3
  podManagementPolicy: Parallel
`
	// These state the field by which the operator holds a rollout, the plain ones don't.
	deployment       = deploymentHead + "  paused: false\n" + pods
	statefulSet      = statefulSetHead + "  updateStrategy: {rollingUpdate: {partition: 0}}\n" + pods
	plainDeployment  = deploymentHead + pods
	plainStatefulSet = statefulSetHead + pods

	pods = `
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
      - {name: app, image: app, env: [{name: MODE, value: fast}]}
`
	clusters = `
apiVersion: ecs.yun.com/v1
kind: KubernetesCluster
metadata: {name: NAME}
spec: {cluster: {kubeVersion: v1.30.1, masterList: [{ip: 10.0.0.1}], nodeList: [{ip: 10.0.0.11}, {ip: 10.0.0.12}]}}
`
	freeze = `
apiVersion: app.ops.cloud.alipay.com/v1alpha1
kind: ChangeFreeze
metadata: {name: NAME, namespace: shop}
spec: {reason: no releases today, expires: 1h, workloads: [{kind: KIND.apps, name: NAME}]}
`
	policy = `
apiVersion: app.ops.cloud.alipay.com/v1alpha1
kind: ReleasePolicy
metadata: {name: NAME, namespace: shop}
spec: {workloads: [{kind: KIND.apps, name: NAME}], steps: [{replicas: 1}, {percent: 100, approvals: 1}]}
`
	watching = `, wait: true, timeout: 1m, healthCheckExprs: [{apiVersion: apps/v1, kind: Deployment,
  failed: "'altershield.defense.antgroup.com/suspend' in metadata.labels",
  current: "status.observedGeneration == metadata.generation && status.updatedReplicas == spec.replicas && status.availableReplicas == spec.replicas"}]`
	slow = `{"spec":{"template":{"metadata":{"annotations":{"local.altershield.io/ready-after":"10s"}}}}}` // its pods are ready after a while
	// These leave out env: a release that can't start, and one that repairs it.
	cantStartWithoutEnv = `{"spec":{"template":{"metadata":{"labels":{"local.altershield.io/start":"never"}},"spec":{"containers":[{"name":"app","image":"app"}]}}}}`
	canStartWithoutEnv  = `{"spec":{"template":{"metadata":{"labels":{"local.altershield.io/start":null,"repaired":"true"}},"spec":{"containers":[{"name":"app","image":"app"}]}}}}`

	labelled = `"metadata":{"labels":{"altershield.defense.antgroup.com/ignored-suspend":"true"}}`
)

const (
	success = appv1alpha1.ChangeWorkloadSuccess
	suspend = appv1alpha1.ChangeWorkloadSuspend
	running = appv1alpha1.ChangeWorkloadRunning
)

// scenes returns those of all tools.
func scenes() []scene {
	var all []scene
	for tool, scenes := range map[string][]scene{
		"argocd": ofArgoCD(),
		"flux":   slices.Concat(common(deployment, statefulSet), ofFlux()),
		"helm":   slices.Concat(common(plainDeployment, plainStatefulSet), ofHelm()),
	} {
		for _, s := range scenes {
			s.tool, s.steps = tool, slices.Concat([]step{applied, passes, release(1, success, "AllPodsPassed"), still}, s.steps)
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(one, other scene) int { return strings.Compare(one.tool, other.tool) })
	return all
}

// common returns the scenes of all three, with manifests of a Deployment and a StatefulSet.
func common(deployment, statefulSet string) []scene {
	return []scene{
		{name: "repaired-deployment", manifest: deployment, steps: repaired(image, "deployment NAME is suspended")},
		{name: "repaired-statefulset", manifest: statefulSet, steps: repaired(image, "statefulset NAME is suspended")},
		{name: "repaired-cluster", manifest: clusters, steps: repaired(kubeVersion, "kubernetescluster NAME is suspended")},
		{name: "held-deployment", manifest: plainDeployment, steps: held("deployment NAME is suspended")},
		{name: "held-statefulset", manifest: plainStatefulSet, steps: held("statefulset NAME is suspended")},
		{name: "frozen-deployment", manifest: deployment, steps: parked()},
		{name: "frozen-statefulset", manifest: statefulSet, steps: parked()},
		{name: "stuck-deployment", manifest: deployment, steps: stuck("deployment NAME refuses version")},
		{name: "stuck-statefulset", manifest: statefulSet, steps: stuck("statefulset NAME refuses version")},
		{name: "paced-deployment", manifest: deployment, ignored: strategy, steps: paced()},
		{name: "paced-statefulset", manifest: statefulSet, steps: paced()},
	}
}

// ofFlux returns those of Flux alone.
func ofFlux() []scene {
	return []scene{
		// Flux leaves paused: false out of what it applies, as it is the empty value.
		{name: "stated-deployment", manifest: deployment, steps: held("deployment NAME is suspended")},
		{name: "resumed-statefulset", manifest: statefulSet, steps: resumed()},
		{name: "left-out", manifest: deployment, steps: leftOut("deployment NAME refuses version")},
		{name: "watched", manifest: deployment, kustomization: watching, steps: watched("deployment NAME is suspended")},
	}
}

func image(number int) string {
	return fmt.Sprintf(`"spec":{"template":{"spec":{"containers":[{"name":"app","image":"app:%d"}]}}}`, number)
}

func kubeVersion(number int) string {
	return fmt.Sprintf(`"spec":{"cluster":{"kubeVersion":"v1.30.%d"}}`, number)
}

// repaired is the course of a bad release, of further ones in Git, and of repairs.
func repaired(change func(int) string, refusal string) []step {
	return []step{
		commit("a good release", "{"+change(2)+"}"), applied, passes, release(2, success, "AllPodsPassed"), still,
		bad, commit("a bad release", "{"+change(3)+"}"), applied, failed, release(3, suspend, ""), still,
		commit("another one", "{"+change(4)+"}"), refused(refusal), still,
		commit("a repair with ignored-suspend", "{"+labelled+","+change(5)+"}"), applied, passes, release(4, success, "AllPodsPassed"), still,
		bad, commit("a bad release, the label is still in Git", "{"+change(6)+"}"), applied, failed, release(5, suspend, ""), still,
		commit("a repair, the label is still in Git", "{"+change(7)+"}"), refused(refusal), still,
		revert(2), applied, passes, release(6, success, "AllPodsPassed"), still,
		commit("the label goes", `{"metadata":{"labels":null}}`), applied, still,
	}
}

// held is the course of a release that fails at its first pod.
func held(refusal string) []step {
	return []step{
		bad, commit("a bad release", slow), applied, release(2, suspend, ""), young(1, 2), still, young(1, 2),
		commit("another one", "{"+image(3)+"}"), refused(refusal), still,
		revert(2), applied, release(3, success, "AllPodsPassed"), still,
	}
}

// resumed is the course of the same where the field that holds the rollout is stated, and applied again: that resumes it.
func resumed() []step {
	return []step{
		bad, commit("a bad release", slow), applied, release(2, suspend, ""), again, young(3, 3), still,
		revert(1), applied, release(3, success, "AllPodsPassed"), still,
	}
}

// watched is the course of a bad release where Flux checks the health.
func watched(refusal string) []step {
	return []step{
		bad, commit("a bad release", "{"+image(2)+"}"), release(2, suspend, ""), fails("HealthCheckFailed"), still,
		commit("another one", "{"+image(3)+"}"), refused(refusal), still,
		revert(2), release(3, success, "AllPodsPassed"), applied, still,
	}
}

// parked is the course of a release during a freeze.
func parked() []step {
	return []step{
		create(freeze), ready(freeze, "Active"), commit("a release during a freeze", "{"+image(2)+"}"), applied, release(2, running, "Frozen"), young(0, 0), still, young(0, 0),
		remove(freeze), release(2, success, "AllPodsPassed"), like, still,
	}
}

// stuck is the course of a release that can't start.
func stuck(refusal string) []step {
	return []step{
		commit("a release that can't start", `{"spec":{"template":{"metadata":{"labels":{"local.altershield.io/start":"never"}}}}}`),
		applied, release(3, success, "AllPodsPassed"), again, denied(refusal), still,
		commit("a repair", `{"spec":{"template":{"metadata":{"labels":{"local.altershield.io/start":null,"repaired":"true"}}}}}`),
		applied, release(4, success, "AllPodsPassed"), like, still,
	}
}

// leftOut is the course of one whose manifest also left something out: the rollback sets it, and server-side apply keeps what others set.
func leftOut(refusal string) []step {
	return []step{
		commit("a release that can't start, without env", cantStartWithoutEnv),
		denied(refusal), release(5, success, "AllPodsPassed"), still,
		commit("a repair", canStartWithoutEnv),
		applied, release(6, success, "AllPodsPassed"), kept, still,
	}
}

// paced is the course of a release in steps.
func paced() []step {
	return []step{
		create(policy), ready(policy, "Ready"), commit("a release in steps", "{"+image(2)+"}"), applied, release(2, running, "Paced"), awaiting, young(1, 1), still, young(1, 1),
		approve, release(2, success, "AllPodsPassed"), like, still,
	}
}
