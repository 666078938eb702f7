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

package chart

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/hack/permissions/audit"
	"github.com/traas-stack/altershield-operator/hack/permissions/grant"
	"github.com/traas-stack/altershield-operator/hack/widget"
)

// midway are workloads and pods whose release is in the middle of its steps.
const midway = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: midway
  namespace: elsewhere
  labels: {admission-webhook-altershield.antgroup.com/version: "0123456789abcdef0123456789abcdef"}
  annotations:
    altershield.defense.antgroup.com/release: "2"
    altershield.defense.antgroup.com/paced: |-
      {"release":2,"policy":"elsewhere/careful","lever":"Gates","traffic":"With","rests":true,"from":{"maxUnavailable":"25%"}}
spec:
  replicas: 0
  paused: true
  strategy: {rollingUpdate: {maxUnavailable: 0, maxSurge: 1}}
  selector: {matchLabels: {app: midway}}
  template:
    metadata: {labels: {app: midway}}
    spec: {containers: [{name: sleep, image: busybox}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: midway
  namespace: elsewhere
  labels: {admission-webhook-altershield.antgroup.com/version: "0123456789abcdef0123456789abcdef"}
  annotations:
    altershield.defense.antgroup.com/release: "2"
    altershield.defense.antgroup.com/paced: |-
      {"release":2,"policy":"elsewhere/careful","lever":"Partition","traffic":"With","from":{"partition":3}}
spec:
  replicas: 0
  updateStrategy: {rollingUpdate: {partition: 15}}
  selector: {matchLabels: {app: midway}}
  template:
    metadata: {labels: {app: midway}}
    spec: {containers: [{name: sleep, image: busybox}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: midway
  namespace: elsewhere
  labels: {admission-webhook-altershield.antgroup.com/version: "0123456789abcdef0123456789abcdef"}
  annotations:
    altershield.defense.antgroup.com/release: "2"
    altershield.defense.antgroup.com/paced: |-
      {"release":2,"policy":"elsewhere/careful","lever":"Nodes","traffic":"With"}
spec:
  updateStrategy: {type: OnDelete}
  selector: {matchLabels: {app: midway}}
  template:
    metadata: {labels: {app: midway}}
    spec: {nodeSelector: {none: none}, containers: [{name: sleep, image: busybox}]}
---
apiVersion: batch/v1
kind: CronJob
metadata:
  name: midway
  namespace: elsewhere
  labels: {admission-webhook-altershield.antgroup.com/version: "0123456789abcdef0123456789abcdef"}
  annotations:
    altershield.defense.antgroup.com/release: "2"
    altershield.defense.antgroup.com/held: "2"
    altershield.defense.antgroup.com/frozen: '{"release":2,"by":["elsewhere/lock"],"concurrent":5}'
spec:
  suspend: true
  schedule: "0 0 1 1 *"
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: sleep, image: busybox}]}}}}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: midway
  namespace: elsewhere
  labels: {admission-webhook-altershield.antgroup.com/version: "0123456789abcdef0123456789abcdef"}
  annotations:
    altershield.defense.antgroup.com/release: "1"
    altershield.defense.antgroup.com/held: "1"
    altershield.defense.antgroup.com/frozen: '{"release":1,"by":["elsewhere/lock"],"concurrent":5}'
spec:
  suspend: true
  template: {spec: {restartPolicy: Never, nodeSelector: {none: none}, containers: [{name: sleep, image: busybox}]}}
---
apiVersion: example.com/v1
kind: Widget
metadata:
  name: midway
  namespace: elsewhere
  labels: {admission-webhook-altershield.antgroup.com/version: "0123456789abcdef0123456789abcdef"}
  annotations:
    altershield.defense.antgroup.com/release: "2"
    altershield.defense.antgroup.com/paced: |-
      {"release":2,"policy":"elsewhere/careful","lever":"Partition","traffic":"With","from":{"/spec/partition":3}}
spec:
  replicas: 4
  partition: 2147483647
  template: {spec: {containers: [{name: sleep, image: busybox}]}}
---
apiVersion: v1
kind: Pod
metadata:
  name: unstarted
  namespace: elsewhere
  labels: {altershield.defense.antgroup.com/gate: start}
spec:
  schedulingGates: [{name: altershield.defense.antgroup.com/verified}]
  containers: [{name: sleep, image: busybox}]
---
apiVersion: v1
kind: Pod
metadata:
  name: unready
  namespace: elsewhere
  labels: {altershield.defense.antgroup.com/gate: ready}
spec:
  readinessGates: [{conditionType: altershield.defense.antgroup.com/verified}]
  containers: [{name: sleep, image: busybox}]
`

// widgets is a declared kind.
const widgets = widget.Definition + `
apiVersion: app.ops.cloud.alipay.com/v1alpha1
kind: ControlledKind
metadata:
  name: widgets.example.com
  finalizers: [altershield.defense.antgroup.com/kind]
spec:
  version: v1
  mode: Enforce
  release: {templates: [spec.template]}
  pods: {by: Owner}
  counts: {desired: spec.replicas}
  pace: {partition: {path: spec.partition, counts: Old}}
`

// leaveMidway creates workloads and pods whose release is in the middle of its steps.
func leaveMidway(t *testing.T, kubectl func(args ...string) string) {
	t.Helper()
	g := NewWithT(t)
	apply := func(text string) {
		file := filepath.Join(t.TempDir(), "midway.yaml")
		g.Expect(os.WriteFile(file, []byte(text), 0o600)).To(Succeed())
		kubectl("apply", "--filename="+file)
	}
	apply(widgets)
	kubectl("wait", "--for=condition=Established", "crd/widgets.example.com")
	g.Eventually(func() string {
		return kubectl("get", "clusterrole", "altershieldoperator-kinds-role", "-o=jsonpath={.rules}")
	}, time.Minute, time.Second).
		Should(ContainSubstring("widgets"))
	apply(midway)
}

// expectRolledOut expects that nothing holds back these releases any more, and deletes them.
func expectRolledOut(t *testing.T, kubectl func(args ...string) string) {
	t.Helper()
	g := NewWithT(t)
	for object, field := range map[string][2]string{
		"deployment/midway":  {"{.spec.paused}{.spec.strategy.rollingUpdate.maxUnavailable}", "25%"},
		"statefulset/midway": {"{.spec.updateStrategy.rollingUpdate.partition}", "3"},
		"daemonset/midway":   {"{.spec.updateStrategy.type}", "RollingUpdate"},
		"cronjob/midway":     {"{.spec.suspend}", "false"},
		"job/midway":         {"{.spec.suspend}", "false"},
		"widget/midway":      {"{.spec.partition}", "3"},
		"pod/unstarted":      {"{.spec.schedulingGates}", ""},
		"pod/unready":        {`{.status.conditions[?(@.type=="altershield.defense.antgroup.com/verified")].status}`, "True"},
	} {
		g.Expect(kubectl("get", object, "--namespace=elsewhere", "-o=jsonpath="+field[0])).To(Equal(field[1]), object)
		g.Expect(kubectl("get", object, "--namespace=elsewhere", `-o=jsonpath={.metadata.annotations.altershield\.defense\.antgroup\.com/paced}`)).
			To(BeEmpty(), object)
		g.Expect(kubectl("get", object, "--namespace=elsewhere", `-o=jsonpath={.metadata.annotations.altershield\.defense\.antgroup\.com/frozen}`)).
			To(BeEmpty(), object)
		kubectl("delete", object, "--namespace=elsewhere", "--cascade=foreground")
	}
	kubectl("delete", "controlledkind/widgets.example.com", "crd/widgets.example.com")
}

// readAgain are permissions of the hook for a patch that was rejected because its workload had changed, which is chance here, and those of
// the role for declared kinds that it doesn't need.
func readAgain() []audit.Exception {
	exceptions := []audit.Exception{
		{Permission: grant.Permission{Group: "example.com", Resource: "widgets", Verb: "watch"}, Reason: "The role is that of the operator."},
		{Permission: grant.Permission{Group: "example.com", Resource: "widgets/finalizers", Verb: "update"}, Reason: "The role is that of the operator."},
	}
	for resource, group := range map[string]string{
		"statefulsets": "apps", "daemonsets": "apps", "cronjobs": "batch", "jobs": "batch", "widgets": "example.com",
	} {
		exceptions = append(exceptions, audit.Exception{
			Permission: grant.Permission{Group: group, Resource: resource, Verb: "get"},
			Reason:     "It reads a workload again where its patch was rejected.",
		})
	}
	return exceptions
}
