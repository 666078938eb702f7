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

package routers

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/rollback"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
)

// suspendedSet returns a StatefulSet at release 4 of version.
func suspendedSet(name string) *appsv1.StatefulSet {
	deployment := suspendedDeployment("default", name)
	return &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: name, UID: "s-" + deployment.UID, Labels: deployment.Labels, Annotations: deployment.Annotations,
	}}
}

func TestListReturnsTheKind(t *testing.T) {
	for query, names := range map[string]string{
		"":                   "sleep|",
		"&kind=Deployment":   "sleep|",
		"&kind=StatefulSet":  "web|",
		"&kind=statefulset":  "web|",
		"&kind=STATEFULSETS": "web|",
	} {
		t.Run("default"+query, func(t *testing.T) {
			g := NewWithT(t)
			answer := ask(t, "?namespace=default"+query, suspendedDeployment("default", "sleep"), suspendedSet("web"))
			g.Expect(answer.Code).To(Equal(200))
			g.Expect(namesAndNext(t, answer)).To(Equal(names))
		})
	}
	g := NewWithT(t)
	g.Expect(ask(t, "?namespace=default&kind=StatefulSet", suspendedSet("web")).Body.String()).To(ContainSubstring(`{"kind":"StatefulSet","namespace":"default","name":"web",`))
	unknown := ask(t, "?namespace=default&kind=Pod")
	g.Expect(unknown.Code).To(Equal(400))
	g.Expect(unknown.Body.String()).To(beFailure(`the kind \"Pod\" is not under change control: it must be one of Deployment, StatefulSet, DaemonSet, CronJob, Job`))
	forbidden := ask(t, "?namespace=default&kind=DaemonSet")
	g.Expect(forbidden.Code).To(Equal(403))
	g.Expect(forbidden.Body.String()).To(beFailure(`user \"alice\" cannot list resource \"daemonsets\" in API group \"apps\" in the namespace \"default\"`))
}

func TestRollbacksOfAnotherKind(t *testing.T) {
	g := NewWithT(t)
	newSetBench := func() *bench {
		return newBench(t, (&reviews{}).funcs(), suspendedSet("web"), suspendedDeployment("default", "web"))
	}
	b := newSetBench()
	answer := b.takeBack(t, `{"kind":"statefulset","namespace":"default","name":"web"}`)
	g.Expect(answer.Body.String()).To(MatchJSON(`{"success": true, "retry": false,
		"msg": "statefulset default/web goes back from version c6c45d23c098bdf181853a85b60b5d74 (release 4) to version 00000000000000000000000000000001 (release 5)",
		"kind": "StatefulSet", "namespace": "default", "name": "web", "fromVersion": "c6c45d23c098bdf181853a85b60b5d74", "fromRelease": 4,
		"toVersion": "00000000000000000000000000000001", "toRelease": 5}`))
	g.Expect(b.roller.asked).To(HaveExactElements(And(
		HaveField("Kind", statefulset.Kind{}), HaveField("Workload", client.ObjectKey{Namespace: "default", Name: "web"}))))

	b = newSetBench()
	b.roller.fails = []error{&rollback.Obstacle{Reason: "Data", Message: "statefulset web has volumeClaimTemplates"}}
	answer = b.takeBack(t, `{"kind":"StatefulSet","namespace":"default","name":"web"}`)
	g.Expect(answer.Code).To(Equal(409))
	g.Expect(answer.Body.String()).To(beFailure("statefulset web has volumeClaimTemplates"))
	g.Expect(string(b.log.Contents())).To(ContainSubstring(`"namespace":"default","statefulset":"web","user":"alice"`))

	answer = newSetBench().takeBack(t, `{"namespace":"default","name":"web"}`)
	g.Expect(answer.Code).To(Equal(403), "alice may patch the StatefulSet alone")
}
