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
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/rollback"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
)

const rollbackPath = "/openapi/altershield/deployment/rollback"

// roller makes rollbacks and records the requests.
type roller struct {
	// fails are the errors of the next attempts.
	fails []error
	// during is called during a rollback.
	during func(context.Context) error
	asked  []rollback.Request
}

func (r *roller) RollBack(ctx context.Context, request rollback.Request) (*appv1alpha1.Rollback, error) {
	r.asked = append(r.asked, request)
	if r.during != nil {
		if err := r.during(ctx); err != nil {
			return nil, err
		}
	}
	if len(r.fails) >= len(r.asked) {
		return nil, fmt.Errorf("rolling back %s: %w", request, r.fails[len(r.asked)-1])
	}
	made := &appv1alpha1.Rollback{
		Version: request.From.Version, Release: request.From.Number, To: request.To, ToRelease: request.From.Number + 1,
		Reason: request.Reason, Message: request.Message, User: request.User,
	}
	if made.To == "" {
		made.To = oldest
	}
	return made, nil
}

func (r *roller) Park(_ context.Context, request rollback.Request) error {
	r.asked = append(r.asked, request)
	if len(r.fails) >= len(r.asked) {
		return fmt.Errorf("parking %s: %w", request, r.fails[len(r.asked)-1])
	}
	return nil
}

// newRollbackBench returns a bench whose API server lets alice roll back the first of its Deployments, but not the second.
func newRollbackBench(t testing.TB) (*bench, *reviews) {
	t.Helper()
	api := &reviews{}
	return newBench(t, api.funcs(), suspendedDeployment("default", "sleep"), suspendedDeployment("default", "awake")), api
}

// takeBack sends a rollback request of alice.
func (b *bench) takeBack(t testing.TB, body string) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), "PUT", rollbackPath, strings.NewReader(body))
	request.Header.Set("Authorization", "Bearer of-alice")
	return b.serveHTTP(request)
}

func TestRollbacksAreMadeForUsersWhoMayPatch(t *testing.T) {
	for _, row := range []struct {
		name, body, asked, to string
	}{
		{"to the version that they name", `{"namespace":"default","name":"sleep","version":"0123456789abcdef0123456789abcdef"}`,
			"0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdef"},
		{"to whichever is best", `{"namespace":"default","name":"sleep"}`, "", "00000000000000000000000000000001"},
		{"to whichever is best, with spaces around", " {\"namespace\": \"default\", \"name\": \"sleep\", \"version\": \"\"}\r\n", "", "00000000000000000000000000000001"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			b, _ := newRollbackBench(t)
			answer := b.takeBack(t, row.body)
			g.Expect(answer.Code).To(Equal(200))
			g.Expect(answer.Header().Get("Content-Type")).To(Equal("application/json"))
			g.Expect(answer.Body.String()).To(MatchJSON(`{"success": true, "retry": false,
				"msg": "deployment default/sleep goes back from version c6c45d23c098bdf181853a85b60b5d74 (release 4) to version ` + row.to + ` (release 5)",
				"kind": "Deployment", "namespace": "default", "name": "sleep", "fromVersion": "c6c45d23c098bdf181853a85b60b5d74", "fromRelease": 4,
				"toVersion": "` + row.to + `", "toRelease": 5}`))
			g.Expect(b.roller.asked).To(HaveExactElements(rollback.Request{
				Kind: deployment.Kind{}, Workload: client.ObjectKey{Namespace: "default", Name: "sleep"},
				From: decide.Release{Version: "c6c45d23c098bdf181853a85b60b5d74", Number: 4},
				To:   row.asked, Reason: "Requested", Message: "alice asked for it", User: "alice",
			}))
			g.Expect(string(b.log.Contents())).To(BeEmpty(), "the roller logs the rollback")
		})
	}
}

func TestRollbacksNeedAnAuthorizedUser(t *testing.T) {
	const show = "the header Authorization must hold a bearer token of the cluster"
	const lookFirst = "the rollback of deployment default/sleep may have failed: check the Deployment before you try again; the operator's log has the error"
	for _, row := range []struct {
		name, authorization, deployment, down string
		code                                  int
		message                               string
	}{
		{"no request without a token", "", "sleep", "", 401, show},
		{"no request with a password", "Basic of-alice", "sleep", "", 401, show},
		{"no request with an unknown token", "Bearer of-mallory", "sleep", "", 401, "the cluster doesn't accept the bearer token"},
		{"no user who may not patch this one", "Bearer of-alice", "awake", "", 403,
			`user \"alice\" cannot patch resource \"deployments\" named \"awake\" in API group \"apps\" in the namespace \"default\"`},
		{"no user who may not know whether it exists", "Bearer of-alice", "dream", "", 403,
			`user \"alice\" cannot patch resource \"deployments\" named \"dream\" in API group \"apps\" in the namespace \"default\"`},
		{"no user while the access review fails", "Bearer of-alice", "sleep", "*v1.SubjectAccessReview", 500, lookFirst},
		{"no user while the token review fails", "Bearer of-alice", "sleep", "*v1.TokenReview", 500, lookFirst},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			b, api := newRollbackBench(t)
			api.down = row.down
			request := httptest.NewRequestWithContext(t.Context(), "PUT", rollbackPath, strings.NewReader(`{"namespace":"default","name":"`+row.deployment+`"}`))
			request.Header.Set("Authorization", row.authorization)
			answer := b.serveHTTP(request)
			g.Expect(answer.Code).To(Equal(row.code))
			g.Expect(answer.Header().Get("WWW-Authenticate")).To(Equal(map[int]string{401: "Bearer"}[row.code]))
			g.Expect(answer.Body.String()).To(beFailure(row.message))
			g.Expect(b.roller.asked).To(BeEmpty())
			g.Expect(string(b.log.Contents())).NotTo(ContainSubstring("of-"))
		})
	}
}

func TestRollbacksReportWhyADeploymentDoesNotGoBack(t *testing.T) {
	deployments := schema.GroupResource{Group: "apps", Resource: "deployments"}
	conflict := apierrors.NewConflict(deployments, "sleep", errors.New("the object has been modified"))
	const lookFirst = "the rollback of deployment default/sleep may have failed: check the Deployment before you try again; the operator's log has the error"
	for _, row := range []struct {
		name     string
		fails    []error
		attempts int
		code     int
		message  string
	}{
		{"it can't", []error{&rollback.Obstacle{Reason: "NoVerifiedVersion", Message: "deployment sleep has no other verified version to go back to"}}, 1,
			409, "deployment sleep has no other verified version to go back to"},
		{"it is gone by now", []error{apierrors.NewNotFound(deployments, "sleep")}, 1,
			404, "deployment default/sleep does not exist or is not under change control"},
		{"it changes all the time", []error{conflict, conflict, conflict}, 3, 409, "the Deployment is changing: try again"},
		{"it changed, and then it can't", []error{conflict, &rollback.Obstacle{Reason: "MovedOn", Message: "deployment sleep is at another release now"}}, 2,
			409, "deployment sleep is at another release now"},
		{"the API server fails", []error{apierrors.NewInternalError(errors.New("etcd is away"))}, 1, 500, lookFirst},
		{"the API server is down", []error{errors.New("connection refused")}, 1, 500, lookFirst},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			b, _ := newRollbackBench(t)
			b.roller.fails = row.fails
			answer := b.takeBack(t, `{"namespace":"default","name":"sleep"}`)
			g.Expect(answer.Code).To(Equal(row.code))
			g.Expect(answer.Body.String()).To(beFailure(row.message))
			g.Expect(b.roller.asked).To(HaveLen(row.attempts))
			log := string(b.log.Contents())
			g.Expect(strings.Count(log, `"level"`)).To(Equal(1))
			g.Expect(log).To(ContainSubstring(`"namespace":"default","deployment":"sleep","user":"alice"`))
			if row.code == 500 {
				g.Expect(log).To(And(ContainSubstring(`"level":"error"`), ContainSubstring(row.fails[0].Error())))
			} else {
				g.Expect(log).To(And(ContainSubstring(`"level":"info"`), ContainSubstring(row.message), ContainSubstring(`"reason":"ReleaseNotRolledBack"`)))
			}
			g.Expect(log).NotTo(ContainSubstring("of-alice"))
		})
	}
}

func TestRollBackIsRetriedOnTheSameReleaseOfAChangingDeployment(t *testing.T) {
	g := NewWithT(t)
	b, _ := newRollbackBench(t)
	conflict := apierrors.NewConflict(schema.GroupResource{Group: "apps", Resource: "deployments"}, "sleep", errors.New("the object has been modified"))
	b.roller.fails = []error{conflict, conflict}
	b.roller.during = func(ctx context.Context) error { // another rollback happens
		deployment := suspendedDeployment("default", "sleep")
		return b.kube.Patch(ctx, deployment, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{
			"labels":{"admission-webhook-altershield.antgroup.com/version":"0123456789abcdef0123456789abcdef"},
			"annotations":{"altershield.defense.antgroup.com/release":"5"}}}`)))
	}
	g.Expect(b.takeBack(t, `{"namespace":"default","name":"sleep"}`).Code).To(Equal(200))
	g.Expect(b.roller.asked).To(HaveLen(3))
	for _, request := range b.roller.asked {
		g.Expect(request.From).To(Equal(decide.Release{Version: "c6c45d23c098bdf181853a85b60b5d74", Number: 4}))
	}
}

func TestRollBackFailsWhereTheDeploymentCanNotBeRead(t *testing.T) {
	for _, row := range []struct {
		name    string
		fault   error
		code    int
		message string
	}{
		{"as it doesn't exist", apierrors.NewNotFound(schema.GroupResource{Group: "apps", Resource: "deployments"}, "sleep"), 404,
			"deployment default/sleep does not exist or is not under change control"},
		{"as the API server is down", errors.New("connection refused"), 500,
			"the rollback of deployment default/sleep may have failed: check the Deployment before you try again; the operator's log has the error"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			funcs := (&reviews{}).funcs()
			funcs.Get = func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
				return row.fault
			}
			b := newBench(t, funcs)
			answer := b.takeBack(t, `{"namespace":"default","name":"sleep"}`)
			g.Expect(answer.Code).To(Equal(row.code))
			g.Expect(answer.Body.String()).To(beFailure(row.message))
			g.Expect(b.roller.asked).To(BeEmpty())
		})
	}
}

func TestRollbacksTakeUpThePlacesOfUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		b := newBench(t, (&reviews{}).funcs(), changePod("PostSubmitted", ""))
		// They wait for bodies that don't arrive.
		body, end := io.Pipe()
		var callers sync.WaitGroup
		for i := range 64 {
			request := httptest.NewRequestWithContext(t.Context(), "PUT", rollbackPath, body)
			request.Header.Set("Authorization", "Bearer of-alice")
			request.RemoteAddr = fmt.Sprintf("10.0.0.%d:1234", i/16)
			callers.Go(func() { b.serveHTTP(request) })
		}
		synctest.Wait()
		request := httptest.NewRequestWithContext(t.Context(), "GET", "/openapi/altershield/suspend/deployment?namespace=default", nil)
		request.Header.Set("Authorization", "Bearer of-alice")
		g.Expect(b.serveHTTP(request).Code).To(Equal(503))
		g.Expect(b.callBack(t, bodyOf("POST", "pass")).Code).To(Equal(200))
		g.Expect(end.Close()).To(Succeed())
		callers.Wait()
		g.Expect(b.serveHTTP(request).Code).To(Equal(200))
	})
}
