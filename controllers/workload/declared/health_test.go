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

package declared

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

func TestKindHealthByTheUsualSigns(t *testing.T) {
	for _, row := range []struct {
		name, plural, object string
		health               workload.Health
		message              string
	}{
		{"nothing to go by", "kubernetesclusters", "{metadata: {generation: 3}, status: {observedGeneration: 3, phase: Running}}", workload.HealthUnknown,
			"the object has neither a condition Ready nor counts of updated and ready pods"},
		{"no status", "kubernetesclusters", "{metadata: {generation: 3}, spec: {}}", workload.HealthUnknown, "the object has no status"},
		{"a generation that wasn't seen", "clonesets", "{metadata: {generation: 3}, status: {observedGeneration: 2, conditions: [{type: Ready, status: 'True'}]}}",
			workload.HealthInProgress, "the controller has not observed the latest generation"},
		{"a generation that is a string", "rollouts", "{metadata: {generation: 3}, status: {observedGeneration: '2'}}", workload.HealthInProgress,
			"the controller has not observed the latest generation"},
		{"a generation that is no number", "rollouts", "{metadata: {generation: 3}, status: {observedGeneration: 'x', conditions: [{type: Ready, status: 'True'}]}}",
			workload.HealthCurrent, "condition Ready is True"},
		{"Stalled", "knativeservices", "status: {conditions: [{type: Ready, status: 'False'}, {type: Stalled, status: 'True', message: no quota}]}", workload.HealthFailed,
			"condition Stalled is True: no quota"},
		{"Reconciling", "knativeservices", "status: {conditions: [{type: Ready, status: 'True'}, {type: Reconciling, status: 'True'}]}", workload.HealthInProgress,
			"condition Reconciling is True"},
		{"Ready", "knativeservices", "status: {conditions: [{type: Ready, status: 'True'}]}", workload.HealthCurrent, "condition Ready is True"},
		{"not Ready", "knativeservices", "status: {conditions: [{type: Ready, status: Unknown, message: waiting}]}", workload.HealthInProgress, "condition Ready is Unknown: waiting"},
		{"Ready of an earlier generation", "jobsets", "{metadata: {generation: 3}, status: {conditions: [{type: Ready, status: 'True', observedGeneration: 2}]}}", workload.HealthInProgress,
			"condition Ready is Unknown: it was True at generation 2"},
		{"Stalled of an earlier generation", "jobsets",
			"{metadata: {generation: 3}, status: {conditions: [{type: Stalled, status: 'True', observedGeneration: 2}, {type: Ready, status: 'True', observedGeneration: 3}]}}",
			workload.HealthCurrent, "condition Ready is True"},
		{"Ready of a controller that leaves the generation of conditions 0", "jobsets",
			"{metadata: {generation: 3}, status: {conditions: [{type: Ready, status: 'True', observedGeneration: 0}]}}", workload.HealthCurrent, "condition Ready is True"},
		{"old pods", "clonesets", "{spec: {replicas: 3}, status: {replicas: 4, updatedReplicas: 3, readyReplicas: 4}}", workload.HealthInProgress, "1 of 4 pods are old"},
		{"missing pods", "clonesets", "{spec: {replicas: 3}, status: {replicas: 2, updatedReplicas: 2, readyReplicas: 2}}", workload.HealthInProgress, "2 of 3 pods are updated"},
		{"pods that aren't ready", "clonesets", "{spec: {replicas: 3}, status: {replicas: 3, updatedReplicas: 3, readyReplicas: 2}}", workload.HealthInProgress, "2 of 3 pods are ready"},
		{"all pods", "clonesets", "{spec: {replicas: 3}, status: {replicas: 3, updatedReplicas: 3, readyReplicas: 3}}", workload.HealthCurrent, "all pods are updated and ready"},
		{"counts before Ready", "clonesets", "{spec: {replicas: 3}, status: {replicas: 3, updatedReplicas: 2, conditions: [{type: Ready, status: 'True'}]}}", workload.HealthInProgress,
			"2 of 3 pods are updated"},
		{"no pods of the release, where 0 is left out", "clonesets", "{spec: {replicas: 3}, status: {replicas: 3, readyReplicas: 3, conditions: [{type: Ready, status: 'True'}]}}",
			workload.HealthInProgress, "0 of 3 pods are updated"},
		{"no ready pods, where 0 is left out", "clonesets", "{spec: {replicas: 3}, status: {replicas: 3, updatedReplicas: 3}}", workload.HealthInProgress, "0 of 3 pods are ready"},
		{"no counts of pods", "clonesets", "{spec: {replicas: 3}, status: {conditions: [{type: Ready, status: 'True'}]}}", workload.HealthCurrent, "condition Ready is True"},
		{"a count that the CRD doesn't have", "machinedeployments", "{spec: {replicas: 3}, status: {replicas: 3, readyReplicas: 3, conditions: [{type: Ready, status: 'True'}]}}",
			workload.HealthCurrent, "condition Ready is True"},
		{"its deletion", "clonesets", "metadata: {deletionTimestamp: '2026-11-21T10:00:00Z'}", workload.HealthInProgress, "the object is being deleted"},
	} {
		t.Run(row.name, func(t *testing.T) {
			health, message := compiled(t, row.plural, "{}").Health(objectOf(t, row.object))
			NewWithT(t).Expect(health).To(Equal(row.health))
			NewWithT(t).Expect(message).To(Equal(row.message))
		})
	}
}

func TestKindHealthByExpressions(t *testing.T) {
	const current, inProgress, failed = `current: "object.status.phase == 'Good'"`, `inProgress: "object.status.phase == 'Busy'"`, `failed: "object.status.phase == 'Bad'"`
	for _, row := range []struct {
		name, rules, phase string
		health             workload.Health
		message            string
	}{
		{"current", current, "Good", workload.HealthCurrent, "spec.health.current is true"},
		{"not current", current, "Busy", workload.HealthInProgress, "spec.health.current is false"},
		{"none of two", current + ", " + inProgress, "Bad", workload.HealthUnknown, "no expression of spec.health is true"},
		{"in progress", current + ", " + inProgress, "Busy", workload.HealthInProgress, "spec.health.inProgress is true"},
		{"failed", current + ", " + failed, "Bad", workload.HealthFailed, "spec.health.failed is true"},
		{"not failed: what is usual decides", failed, "Good", workload.HealthUnknown, "the object has neither a condition Ready nor counts of updated and ready pods"},
		{"an error", `current: "object.status.missing == ''"`, "Good", workload.HealthUnknown, "evaluating spec.health.current: no such key: missing"},
	} {
		t.Run(row.name, func(t *testing.T) {
			kind := compiled(t, "kubernetesclusters", "health: {"+row.rules+"}")
			health, message := kind.Health(objectOf(t, "status: {phase: "+row.phase+"}"))
			NewWithT(t).Expect(health).To(Equal(row.health))
			NewWithT(t).Expect(message).To(Equal(row.message))
		})
	}
}

func TestKindHealthKnowsTheRelease(t *testing.T) {
	g := NewWithT(t)
	kind := compiled(t, "kubernetesclusters", `health: {current: "release.number == 4 && release.version == 'v' && release.time == timestamp('2026-11-21T10:00:00Z')"}`)
	object := objectOf(t, `{metadata: {labels: {admission-webhook-altershield.antgroup.com/version: v}, annotations: {altershield.defense.antgroup.com/release: "4"}}}`)
	health, _ := kind.Health(object)
	g.Expect(health).To(Equal(workload.HealthInProgress), "the time isn't known")
	annotations := object.GetAnnotations()
	annotations["altershield.defense.antgroup.com/released-by"] = `{"user":"a","time":"2026-11-21T10:00:00Z","version":"v","release":4}`
	object.SetAnnotations(annotations)
	health, _ = kind.Health(object)
	g.Expect(health).To(Equal(workload.HealthCurrent))
}

func TestKindHealthOfSamples(t *testing.T) {
	const released = `{"altershield.defense.antgroup.com/release": "1", "altershield.defense.antgroup.com/released-by": '{"user":"a","time":"2026-11-21T10:00:00Z","version":"v","release":1}'}`
	for _, row := range []struct {
		sample, plural, object string
		health                 workload.Health
	}{
		{"rollout", "rollouts", "{metadata: {generation: 2}, status: {observedGeneration: '1', phase: Healthy}}", workload.HealthInProgress},
		{"rollout", "rollouts", "{metadata: {generation: 2}, status: {observedGeneration: '2', phase: Healthy}}", workload.HealthCurrent},
		{"rollout", "rollouts", "{metadata: {generation: 2}, status: {observedGeneration: '2', phase: Degraded}}", workload.HealthFailed},
		{"rollout", "rollouts", "metadata: {generation: 1}", workload.HealthInProgress},
		{"raycluster", "rayclusters", "{metadata: {generation: 2}, status: {observedGeneration: 2, state: ready}}", workload.HealthCurrent},
		{"raycluster", "rayclusters", "metadata: {generation: 2}", workload.HealthInProgress},
		{"jobset", "jobsets", "status: {terminalState: Failed}", workload.HealthFailed},
		{"jobset", "jobsets", "metadata: {name: a}", workload.HealthInProgress},
		{"knative-service", "knativeservices", "{metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [{type: Ready, status: 'True'}]}}", workload.HealthCurrent},
		{"knative-service", "knativeservices", "metadata: {generation: 2}", workload.HealthInProgress},
		{"cluster-api-cluster", "clusters", "metadata: {generation: 2}", workload.HealthInProgress},
		{"cluster-api-cluster", "clusters", "{metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [{type: RollingOut, status: 'False'}, {type: Available, status: 'True'}]}}", workload.HealthCurrent},
		{"cluster-api-cluster", "clusters", "{metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [{type: RollingOut, status: 'True'}, {type: Available, status: 'True'}]}}", workload.HealthInProgress},
		{"cluster-api-machinedeployment", "machinedeployments", "{metadata: {generation: 2}, status: {observedGeneration: 2}}", workload.HealthUnknown},
		{"kubernetescluster", "kubernetesclusters", "{metadata: {annotations: " + released + "}, status: {phase: Running, lastTransitionTime: '2026-11-21T09:59:00Z'}}", workload.HealthInProgress},
		{"kubernetescluster", "kubernetesclusters", "{metadata: {annotations: " + released + "}, status: {phase: Running, lastTransitionTime: '2026-11-21T10:01:00Z'}}", workload.HealthCurrent},
		{"kubernetescluster", "kubernetesclusters", "{metadata: {annotations: " + released + "}, status: {phase: Failed, lastTransitionTime: '2026-11-21T10:01:00Z'}}", workload.HealthFailed},
		{"kubernetescluster", "kubernetesclusters", "metadata: {name: a}", workload.HealthInProgress},
	} {
		t.Run(row.sample+" "+row.object, func(t *testing.T) {
			health, message := sample(t, row.sample, row.plural).Health(objectOf(t, row.object))
			NewWithT(t).Expect(health).To(Equal(row.health), message)
		})
	}
}

func TestKindRollout(t *testing.T) {
	const partitioned = "{pace: {partition: {path: spec.updateStrategy.partition, counts: Old}}}"
	const resume = "change back spec.updateStrategy.partition"
	for _, row := range []struct {
		name, plural, spec, object string
		want                       decide.Rollout
	}{
		{"nothing known", "rayclusters", "{}", "spec: {}", decide.Rollout{Desired: 1}},
		{"pods", "clonesets", "hold: [{path: spec.updateStrategy.paused, value: true}]",
			"{spec: {replicas: 3, minReadySeconds: 5, updateStrategy: {paused: true}}, status: {replicas: 3, updatedReplicas: 1}}",
			decide.Rollout{Desired: 3, MinReadySeconds: 5, Rolling: true, Paused: true, Resume: "change back spec.updateStrategy.paused"}},
		{"none updated, where 0 is left out", "leaderworkersets", "{}", "{spec: {replicas: 3}, status: {replicas: 3, readyReplicas: 3}}", decide.Rollout{Desired: 3, Rolling: true}},
		{"all updated", "clonesets", "{}", "{spec: {replicas: 3}, status: {replicas: 3, updatedReplicas: 3}}", decide.Rollout{Desired: 3}},
		{"without the pods that a partition of a user keeps back", "clonesets", partitioned,
			"{spec: {replicas: 5, updateStrategy: {partition: 40%}}, status: {replicas: 5, updatedReplicas: 3}}", decide.Rollout{Desired: 3, Kept: 2, Resume: resume}},
		{"of which some have yet to come", "clonesets", partitioned,
			"{spec: {replicas: 5, updateStrategy: {partition: 2}}, status: {replicas: 5, updatedReplicas: 1}}", decide.Rollout{Desired: 3, Kept: 2, Rolling: true, Resume: resume}},
		{"also while the operator paces the release by another one", "clonesets", partitioned,
			`{metadata: {annotations: {altershield.defense.antgroup.com/paced: '{"release":1,"lever":"Partition","from":{"/spec/updateStrategy/partition":2}}'}}, ` +
				"spec: {replicas: 5, updateStrategy: {partition: 4}}, status: {replicas: 5, updatedReplicas: 1}}", decide.Rollout{Desired: 3, Kept: 2, Rolling: true, Resume: resume}},
		{"or holds it", "clonesets", partitioned,
			`{metadata: {annotations: {altershield.defense.antgroup.com/held-from: '{"/spec/updateStrategy/partition":2}'}}, ` +
				"spec: {replicas: 5, updateStrategy: {partition: 2147483647}}, status: {replicas: 5, updatedReplicas: 1}}",
			decide.Rollout{Desired: 3, Kept: 2, Rolling: true, Paused: true, Resume: resume}},
		{"a user holds it by the partition", "clonesets", partitioned,
			"{spec: {replicas: 5, updateStrategy: {partition: 5}}, status: {replicas: 5, updatedReplicas: 0}}",
			decide.Rollout{Desired: 5, Rolling: true, Paused: true, Resume: resume}},
		{"a partition that keeps all pods back beside a field that holds", "clonesets", "{hold: [{path: spec.updateStrategy.paused, value: true}], " + partitioned[1:],
			"{spec: {replicas: 5, updateStrategy: {partition: 100%}}, status: {replicas: 5, updatedReplicas: 0}}",
			decide.Rollout{Kept: 5, Idle: "its partition keeps all of its pods as they are", Resume: "change back spec.updateStrategy.paused"}},
		{"by its health", "knativeservices", "{}", "status: {conditions: [{type: Ready, status: 'False'}]}", decide.Rollout{Desired: 1, Rolling: true}},
		{"failed", "knativeservices", "{}", "status: {conditions: [{type: Stalled, status: 'True'}]}", decide.Rollout{Desired: 1, Rolling: true}},
		{"units", "kubernetesclusters", "{pods: {by: None}, units: {list: spec.cluster.nodeList, name: ip}}",
			"spec: {cluster: {nodeList: [{ip: 10.0.0.1}, {ip: 10.0.0.2}]}}", decide.Rollout{Desired: 2}},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(compiled(t, row.plural, row.spec).Rollout(objectOf(t, row.object))).To(Equal(row.want))
		})
	}
}

func TestReleaseOfWithoutARecordIsOfLongAgo(t *testing.T) {
	release := releaseOf(&metav1.PartialObjectMetadata{})
	NewWithT(t).Expect(release["time"]).To(Equal(time.Unix(0, 0).UTC()))
	NewWithT(t).Expect(release["number"]).To(BeEquivalentTo(1))
}
