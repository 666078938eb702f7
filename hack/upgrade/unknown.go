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

import "github.com/traas-stack/altershield-operator/hack/widget"

// unknown is a state that v0.1 doesn't know, in which its operator finds a workload.
type unknown struct {
	name, manifest string
	// beside are objects that bring the release of the workload to the state, which the record of the release shows.
	beside, state string
	// fails reports that the release fails, and that its rollout stays held.
	fails bool
	// starts reports that the workload itself is created in this state.
	starts bool
}

const (
	guestDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, namespace: leaving}
spec:
  replicas: 3
` + guestPods
	guestStatefulSet = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: NAME, namespace: leaving}
spec:
  serviceName: NAME
  replicas: 3
  podManagementPolicy: Parallel
` + guestPods
	guestDaemonSet = `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: NAME, namespace: leaving}
spec:
` + guestPods
	guestPods = `
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: app, image: app}]
`
	guestWidget = `
apiVersion: example.com/v1
kind: Widget
metadata: {name: NAME, namespace: leaving}
spec: {replicas: 1, template: {metadata: {labels: {app: NAME}}, spec: {containers: [{name: app, image: app}]}}}
`
	guestJob = `
apiVersion: batch/v1
kind: Job
metadata: {name: NAME, namespace: leaving}
spec: {template: {metadata: {labels: {app: NAME}}, spec: {restartPolicy: Never, containers: [{name: app, image: app}]}}}
`
	inSteps = `
apiVersion: app.ops.cloud.alipay.com/v1alpha1
kind: ReleasePolicy
metadata: {name: NAME, namespace: leaving}
spec: {workloads: [{kind: KIND, name: NAME}], traffic: With, steps: [{replicas: 1}, {percent: 100, approvals: 1}]}
`
	beforeTraffic = `
apiVersion: app.ops.cloud.alipay.com/v1alpha1
kind: ReleasePolicy
metadata: {name: NAME, namespace: leaving}
spec: {workloads: [{kind: KIND, name: NAME}], traffic: Before, steps: [{replicas: 2}, {percent: 100, approvals: 1}]}
`
	frozen = `
apiVersion: app.ops.cloud.alipay.com/v1alpha1
kind: ChangeFreeze
metadata: {name: NAME, namespace: leaving}
spec: {reason: no releases today, expires: 8h, workloads: [{kind: KIND, name: NAME}]}
`
	brokenGlass = frozen + `
---
apiVersion: app.ops.cloud.alipay.com/v1alpha1
kind: BreakGlass
metadata: {name: NAME, namespace: leaving}
spec: {reason: urgent, workloads: [{kind: KIND, name: NAME}], overrides: [Freeze], for: 2h, uses: 1}
`
	enforced = `
apiVersion: app.ops.cloud.alipay.com/v1alpha1
kind: VerificationPolicy
metadata: {name: NAME, namespace: leaving}
spec:
  workloads: [{kind: KIND, name: NAME}]
  mode: Enforce
  checks: [{name: good, type: Rule, rule: {expression: "newPods.all(pod, pod.labels.test != 'bad')"}}]
`
	// widgets are a declared kind, which is held by its field.
	widgets = widget.Definition + `
apiVersion: app.ops.cloud.alipay.com/v1alpha1
kind: ControlledKind
metadata: {name: widgets.example.com}
spec:
  version: v1
  mode: Enforce
  release: {templates: [spec.template]}
  pods: {by: Owner}
  counts: {desired: spec.replicas}
  hold: [{path: spec.paused, value: true}]
`
	// prepareKinds enforces all kinds. The operator may delete the pods of DaemonSets.
	prepareKinds = `
kubectl apply -f config/components/pod-deletion/role.yaml
kubectl apply -f -
for kind in statefulsets.apps daemonsets.apps jobs.batch; do
  kubectl patch controlledkind $kind --type=merge -p '{"spec":{"mode":"Enforce"}}'
done
kubectl wait --for=condition=Ready --timeout=2m controlledkinds --all
`
	prepareBeside = `
kubectl apply -f -
kubectl wait -n leaving --for=condition=Ready --timeout=2m releasepolicies,verificationpolicies --all
kubectl wait -n leaving --for=condition=Active --timeout=2m changefreezes --all
kubectl wait -n leaving --for=create --timeout=2m releasegate/altershield
`
)

func unknowns() []unknown {
	return []unknown{
		{name: "paced-deployment", manifest: guestDeployment, beside: inSteps, state: "Paced AwaitingApproval"},
		{name: "paced-before", manifest: guestDeployment, beside: beforeTraffic, state: "Paced AwaitingApproval"},
		{name: "paced-statefulset", manifest: guestStatefulSet, beside: inSteps, state: "Paced AwaitingApproval"},
		{name: "paced-daemonset", manifest: guestDaemonSet, beside: inSteps, state: "Paced AwaitingApproval"},
		{name: "frozen-deployment", manifest: guestDeployment, beside: frozen, state: "Frozen"},
		{name: "frozen-statefulset", manifest: guestStatefulSet, beside: frozen, state: "Frozen"},
		{name: "frozen-daemonset", manifest: guestDaemonSet, beside: frozen, state: "Frozen"},
		{name: "frozen-widget", manifest: guestWidget, beside: frozen, state: "Frozen"},
		{name: "frozen-job", manifest: guestJob, beside: frozen, state: "Frozen", starts: true},
		{name: "passed-glass", manifest: guestDeployment, beside: brokenGlass, state: "BreakGlass"},
		{name: "failed-deployment", manifest: guestDeployment, beside: enforced, state: "Suspend", fails: true},
		{name: "failed-statefulset", manifest: guestStatefulSet, beside: enforced, state: "Suspend", fails: true},
		{name: "failed-daemonset", manifest: guestDaemonSet, beside: enforced, state: "Suspend", fails: true},
	}
}
