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

package workload_test

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/testkit/kinds"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/cronjob"
	"github.com/traas-stack/altershield-operator/controllers/workload/daemonset"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
	jobs "github.com/traas-stack/altershield-operator/controllers/workload/job"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
)

// cluster returns a KubernetesCluster with a node.
func cluster(node string) fields {
	return fields{
		"metadata": fields{"name": "dev"},
		"spec": fields{"cluster": fields{
			"kubeVersion": "v1.30.2", "masterList": []any{fields{"ip": "10.0.0.1"}}, "nodeList": []any{fields{"ip": node}},
		}},
	}
}

func TestContentOfAKindThatDefinesIt(t *testing.T) {
	g, kind := NewWithT(t), kinds.Sample(t, "../..", "kubernetescluster", "kubernetesclusters")
	old, updated := cluster("10.0.0.2"), cluster("10.0.0.3")
	g.Expect(workload.IsTemplate(kind)).To(BeFalse())
	g.Expect(workload.ContentNoun(kind)).To(Equal("content"))
	g.Expect(workload.ContentNoun(deployment.Kind{})).To(Equal("pod template"))
	content := workload.ContentOf(kind, old)
	g.Expect(content).To(HaveKeyWithValue("/spec/cluster/nodeList", []any{fields{"ip": "10.0.0.2"}}))
	g.Expect(workload.TemplateOf(kind, content)).To(BeNil())
	g.Expect(workload.VersionOf(kind, content)).To(HaveLen(32))
	g.Expect(workload.Templates(kind, old)).To(BeEmpty())
	g.Expect(workload.IsRelease(kind, old, updated)).To(BeTrue())
	g.Expect(workload.IsRelease(kind, old, old)).To(BeFalse())
	g.Expect(workload.Changes(kind, content, workload.ContentOf(kind, updated))).NotTo(BeEmpty())
	g.Expect(workload.Restore(kind, updated, content)).To(ContainElement(
		workload.Operation{Op: "replace", Path: "/spec/cluster/nodeList", Value: []any{fields{"ip": "10.0.0.2"}}}))
	g.Expect(workload.MayChange(kind)).To(ContainSubstring("nodeList"))
	g.Expect(workload.MayUndo(kind)).To(BeTrue())
	_, err := (workload.Content{"/spec": make(chan int)}).Version()
	g.Expect(err).To(MatchError(ContainSubstring("marshalling the content of a release")))
}

func TestControls(t *testing.T) {
	g, kind := NewWithT(t), kinds.Sample(t, "../..", "kubernetescluster", "kubernetesclusters")
	part := &metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Controller: new(true)}}}
	g.Expect(workload.Controls(kind, &metav1.ObjectMeta{})).To(BeTrue())
	g.Expect(workload.Controls(kind, part)).To(BeFalse())
	g.Expect(workload.Controls(deployment.Kind{}, &metav1.ObjectMeta{})).To(BeTrue())
	g.Expect(workload.Controls(deployment.Kind{}, part)).To(BeFalse())
	part.Labels = map[string]string{"admission-webhook-altershield.antgroup.com/version": "v1"}
	g.Expect(workload.Controls(deployment.Kind{}, part)).To(BeFalse(), "its controller copied the label")
	part.Annotations = map[string]string{"altershield.defense.antgroup.com/release": "3"}
	g.Expect(workload.Controls(deployment.Kind{}, part)).To(BeTrue(), "it had a release before")
	g.Expect(workload.MayUndo(deployment.Kind{})).To(BeTrue())
}

func TestHoldWith(t *testing.T) {
	g := NewWithT(t)
	g.Expect(workload.HoldWith(deployment.Kind{}, nil, cluster("10.0.0.2"))).To(BeEmpty())
	g.Expect(workload.HoldWith(kinds.Sample(t, "../..", "kubernetescluster", "kubernetesclusters"), nil, cluster("10.0.0.2"))).To(BeEmpty())
}

func TestRegistryTypesHasAJobOnce(t *testing.T) {
	types := workload.Registry{deployment.Kind{}, statefulset.Kind{}, daemonset.Kind{}, cronjob.Kind{}, jobs.Kind{}}.Types()
	NewWithT(t).Expect(types).To(ConsistOf([]client.Object{
		&appsv1.Deployment{}, &appsv1.StatefulSet{}, &appsv1.DaemonSet{}, &batchv1.CronJob{}, &batchv1.Job{},
		&appsv1.ReplicaSet{}, &appsv1.ControllerRevision{},
	}))
}

func TestRegistryRun(t *testing.T) {
	g, ended := NewWithT(t), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "backup", UID: "j-1"}}
	g.Expect(workload.Registry{jobs.Kind{}}.Run(ended)).NotTo(BeNil(), "a workload")
	g.Expect(workload.Registry{cronjob.Kind{}}.Run(ended)).NotTo(BeNil(), "between a workload and its pods")
	g.Expect(workload.Registry{deployment.Kind{}, cronjob.Kind{}}.Run(&corev1.Pod{})).To(BeNil())
}

func TestSetSnapshot(t *testing.T) {
	g, set := NewWithT(t), workload.NewSet(deployment.Kind{})
	before := set.Snapshot()
	set.Put(statefulset.Kind{})
	set.Put(statefulset.Kind{})
	g.Expect(set.Snapshot()).To(Equal(workload.Registry{deployment.Kind{}, statefulset.Kind{}}))
	g.Expect(before).To(Equal(workload.Registry{deployment.Kind{}}), "a snapshot doesn't change")
	set.Remove("statefulsets.apps")
	g.Expect(set.Snapshot().Snapshot()).To(Equal(before))
	g.Expect((&workload.Set{}).Snapshot()).To(BeEmpty())
}
