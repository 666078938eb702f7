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

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/hack/permissions/audit"
	"github.com/traas-stack/altershield-operator/hack/permissions/grant"
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

// leaveMidway creates workloads and pods whose release is in the middle of its steps.
func leaveMidway(t *testing.T, kubectl func(args ...string) string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "midway.yaml")
	NewWithT(t).Expect(os.WriteFile(file, []byte(midway), 0o600)).To(Succeed())
	kubectl("apply", "--filename="+file)
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
}

// readAgain are permissions of the hook for a patch that was rejected because its workload had changed, which is chance here.
func readAgain() []audit.Exception {
	var exceptions []audit.Exception
	for resource, group := range map[string]string{
		"statefulsets": "apps", "daemonsets": "apps", "cronjobs": "batch", "jobs": "batch",
	} {
		exceptions = append(exceptions, audit.Exception{
			Permission: grant.Permission{Group: group, Resource: resource, Verb: "get"},
			Reason:     "It reads a workload again where its patch was rejected.",
		})
	}
	return exceptions
}
