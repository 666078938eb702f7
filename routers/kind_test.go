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
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/decide"
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
	never := ask(t, "?namespace=default&kind=Job")
	g.Expect(never.Code).To(Equal(400))
	g.Expect(never.Body.String()).To(beFailure("a Job is one release, so that it is never suspended"))
	forbidden := ask(t, "?namespace=default&kind=DaemonSet")
	g.Expect(forbidden.Code).To(Equal(403))
	g.Expect(forbidden.Body.String()).To(beFailure(`user \"alice\" cannot list resource \"daemonsets\" in API group \"apps\" in the namespace \"default\"`))
}

// An answer would tell anyone which custom resources the cluster has.
func TestKindsAreToldToUsersOfTheClusterAlone(t *testing.T) {
	for user, expected := range map[string]struct {
		code    int
		message string
	}{
		"mallory": {401, "the cluster doesn't accept the bearer token"},
		"alice":   {400, `the kind \"Pod\" is not under change control: it must be one of Deployment, StatefulSet, DaemonSet, CronJob, Job`},
	} {
		for _, request := range []*http.Request{
			httptest.NewRequestWithContext(t.Context(), "GET", "/openapi/altershield/suspend/deployment?namespace=default&kind=Pod", nil),
			httptest.NewRequestWithContext(t.Context(), "PUT", rollbackPath, strings.NewReader(`{"kind":"Pod","namespace":"default","name":"sleep"}`)),
		} {
			g := NewWithT(t)
			request.Header.Set("Authorization", "Bearer of-"+user)
			answer := newBench(t, (&reviews{}).funcs()).serveHTTP(request)
			g.Expect(answer.Code).To(Equal(expected.code))
			g.Expect(answer.Body.String()).To(beFailure(expected.message))
		}
	}
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

func TestRollbacksParkARelease(t *testing.T) {
	const asks = `{"kind":"StatefulSet","namespace":"default","name":"web","park":true}`
	sets := schema.GroupResource{Group: "apps", Resource: "statefulsets"}
	conflict := apierrors.NewConflict(sets, "web", errors.New("the object has been modified"))
	for _, row := range []struct {
		name     string
		fails    []error
		attempts int
		code     int
		message  string
	}{
		{"on request", nil, 1, 200, "release 4 of statefulset default/web, version c6c45d23c098bdf181853a85b60b5d74, is parked"},
		{"again after a conflict", []error{conflict}, 2, 200, "release 4 of statefulset default/web, version c6c45d23c098bdf181853a85b60b5d74, is parked"},
		{"not where it can't", []error{&rollback.Obstacle{Reason: "Parked", Message: "release 4 of statefulset web is or was parked already"}}, 1,
			409, "release 4 of statefulset web is or was parked already"},
		{"not before its controller has seen it", []error{&rollback.NotStuck{Again: time.Second}}, 1, 409, "the StatefulSet is changing: try again"},
		{"not if the API server is down", []error{errors.New("connection refused")}, 1, 500,
			"the park of statefulset default/web may have failed: check the StatefulSet before you try again; the operator's log has the error"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			b := newBench(t, (&reviews{}).funcs(), suspendedSet("web"))
			b.roller.fails = row.fails
			answer := b.takeBack(t, asks)
			g.Expect(answer.Code).To(Equal(row.code))
			if row.code == 200 {
				g.Expect(answer.Body.String()).To(MatchJSON(`{"success": true, "retry": false, "msg": "` + row.message + `",
					"kind": "StatefulSet", "namespace": "default", "name": "web", "fromVersion": "c6c45d23c098bdf181853a85b60b5d74", "fromRelease": 4}`))
			} else {
				g.Expect(answer.Body.String()).To(beFailure(row.message))
			}
			if row.code == 409 {
				g.Expect(string(b.log.Contents())).To(And(ContainSubstring("Denied a requested park: "+row.message), ContainSubstring(`"reason":"ReleaseNotParked"`)))
			}
			g.Expect(b.roller.asked).To(HaveLen(row.attempts))
			for _, asked := range b.roller.asked {
				g.Expect(asked).To(Equal(rollback.Request{
					Kind: statefulset.Kind{}, Workload: client.ObjectKey{Namespace: "default", Name: "web"}, Park: true,
					From:   decide.Release{Version: "c6c45d23c098bdf181853a85b60b5d74", Number: 4},
					Reason: "Requested", Message: "alice asked for it", User: "alice",
				}))
			}
		})
	}
	g, b := NewWithT(t), newBench(t, (&reviews{}).funcs(), suspendedSet("awake"))
	answer := b.takeBack(t, `{"kind":"StatefulSet","namespace":"default","name":"awake","park":true}`)
	g.Expect(answer.Code).To(Equal(403), "alice may not patch this one")
	g.Expect(b.roller.asked).To(BeEmpty())
}
