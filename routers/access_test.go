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
	"testing"
	"time"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

// reviews is an API server that accepts the token of alice, who may list Deployments in the namespace default and patch the
// Deployment sleep in it. It records the requests.
type reviews struct {
	rights authorizationv1.SubjectAccessReviewSpec
	asked  int
	// down is the kind of requests that fail.
	down string
	// recorded reports whether a review was recorded for later reads.
	recorded bool
}

func (r *reviews) funcs() interceptor.Funcs {
	return interceptor.Funcs{Create: func(_ context.Context, _ client.WithWatch, object client.Object, options ...client.CreateOption) error {
		r.asked++
		if fmt.Sprintf("%T", object) == r.down {
			return errors.New("the API server is down")
		}
		r.recorded = r.recorded || !(&client.CreateOptions{}).ApplyOptions(options).DisableReadYourWritesConsistency
		switch review := object.(type) {
		case *authenticationv1.TokenReview:
			if review.Spec.Token == "of-alice" {
				review.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{
					Username: "alice", UID: "u-1", Groups: []string{"team-a", "system:authenticated"},
					Extra: map[string]authenticationv1.ExtraValue{"scopes": {"read"}},
				}}
			}
		case *authorizationv1.SubjectAccessReview:
			r.rights = review.Spec
			wanted := *review.Spec.ResourceAttributes
			review.Status.Allowed = wanted == authorizationv1.ResourceAttributes{Verb: "list", Group: "apps", Resource: "deployments", Namespace: "default"} ||
				wanted == authorizationv1.ResourceAttributes{Verb: "patch", Group: "apps", Resource: "deployments", Namespace: "default", Name: "sleep"} ||
				wanted == authorizationv1.ResourceAttributes{
					Verb: "patch", Group: "app.ops.cloud.alipay.com", Resource: "changeverdicts", Subresource: "status", Namespace: "default", Name: "drift",
				} ||
				wanted == authorizationv1.ResourceAttributes{Verb: "list", Group: "apps", Resource: "statefulsets", Namespace: "default"} ||
				wanted == authorizationv1.ResourceAttributes{Verb: "patch", Group: "apps", Resource: "statefulsets", Namespace: "default", Name: "web"}
		}
		return nil
	}}
}

func TestAccessToSuspendedDeployments(t *testing.T) {
	const path = "/openapi/altershield/suspend/deployment?namespace="
	const show = "the header Authorization must hold a bearer token of the cluster"
	for _, row := range []struct {
		name, authorization, namespace, down string
		code, asked                          int
		message                              string
	}{
		{"users who may list them", "Bearer of-alice", "default", "", 200, 2, ""},
		{"in any spelling of Bearer", "bearer  of-alice ", "default", "", 200, 2, ""},
		{"no request without a token", "", "default", "", 401, 0, show},
		{"no request with an empty token", "Bearer ", "default", "", 401, 0, show},
		{"no request with a password", "Basic of-alice", "default", "", 401, 0, show},
		{"no request with an unknown token", "Bearer of-mallory", "default", "", 401, 1, "the cluster doesn't accept the bearer token"},
		{"no user without the right in this namespace", "Bearer of-alice", "kube-system", "", 403, 2,
			`user \"alice\" cannot list resource \"deployments\" in API group \"apps\" in the namespace \"kube-system\"`},
		{"no user while the access review fails", "Bearer of-alice", "default", "*v1.SubjectAccessReview", 500, 2,
			"the suspended Deployments can't be listed: the operator's log has the error"},
		{"no user while the token review fails", "Bearer of-alice", "default", "*v1.TokenReview", 500, 1,
			"the suspended Deployments can't be listed: the operator's log has the error"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			api := &reviews{down: row.down}
			b := newBench(t, api.funcs())
			request := httptest.NewRequestWithContext(t.Context(), "GET", path+row.namespace, nil)
			request.Header.Set("Authorization", row.authorization)
			answer := b.serveHTTP(request)
			g.Expect(answer.Code).To(Equal(row.code))
			g.Expect(answer.Header().Get("Content-Type")).To(Equal("application/json"))
			g.Expect(answer.Header().Get("WWW-Authenticate")).To(Equal(map[int]string{401: "Bearer"}[row.code]))
			g.Expect(api.asked).To(Equal(row.asked))
			g.Expect(api.recorded).To(BeFalse(), "the cache can't watch reviews")
			if row.code == 200 {
				g.Expect(answer.Body.String()).To(MatchJSON(`{"items":[],"continue":""}`))
			} else {
				g.Expect(answer.Body.String()).To(beFailure(row.message))
			}
			g.Expect(string(b.log.Contents())).NotTo(ContainSubstring("of-"))
		})
	}
}

func TestCheckAsksWithAllThatIsKnownOfAUser(t *testing.T) {
	g := NewWithT(t)
	api := &reviews{}
	request := httptest.NewRequestWithContext(t.Context(), "PUT", "/", nil)
	request.Header.Set("Authorization", "Bearer of-alice")
	patch := authorizationv1.ResourceAttributes{Verb: "patch", Group: "apps", Resource: "deployments", Namespace: "default", Name: "sleep"}
	asking := newAccess(interceptor.NewClient(testkit.NewFake(t), api.funcs()), clocktesting.NewFakePassiveClock(now))
	g.Expect(asking.check(request, patch)).To(Equal("alice"))
	g.Expect(api.rights).To(Equal(authorizationv1.SubjectAccessReviewSpec{
		User: "alice", UID: "u-1", Groups: []string{"team-a", "system:authenticated"},
		Extra: map[string]authorizationv1.ExtraValue{"scopes": {"read"}}, ResourceAttributes: &patch,
	}))
	patch.Name = "awake"
	_, err := asking.check(request, patch)
	g.Expect(err).To(MatchError(
		`user "alice" cannot patch resource "deployments" named "awake" in API group "apps" in the namespace "default"`))
}

// shown returns the status for a token, and whether the body was read.
func shown(t *testing.T, b *bench, token string) (code int, read bool) {
	t.Helper()
	body := &counting{Reader: strings.NewReader(`{"namespace":"default","name":"sleep"}`)}
	request := httptest.NewRequestWithContext(t.Context(), "PUT", "/openapi/altershield/deployment/rollback", body)
	request.Header.Set("Authorization", "Bearer "+token)
	return b.serveHTTP(request).Code, body.reads > 0
}

// counting counts reads.
type counting struct {
	io.Reader
	reads int
}

func (c *counting) Read(into []byte) (int, error) {
	c.reads++
	return c.Reader.Read(into)
}

func TestAccessAsksAboutATokenThatIsUnknownOnceInTenSeconds(t *testing.T) {
	g := NewWithT(t)
	api := &reviews{}
	b := newBench(t, api.funcs())
	code, read := shown(t, b, "of-mallory")
	g.Expect(code).To(Equal(401))
	g.Expect(read).To(BeTrue())
	for range 1000 {
		code, read = shown(t, b, "of-mallory")
		g.Expect(code).To(Equal(401))
		g.Expect(read).To(BeFalse())
	}
	g.Expect(api.asked).To(Equal(1))
	b.clock.SetTime(now.Add(10*time.Second - 1))
	_, _ = shown(t, b, "of-mallory")
	g.Expect(api.asked).To(Equal(1))
	b.clock.SetTime(now.Add(10 * time.Second))
	_, _ = shown(t, b, "of-mallory")
	g.Expect(api.asked).To(Equal(2))
}

func TestAccessAsksAboutTenTokensASecond(t *testing.T) {
	g := NewWithT(t)
	api := &reviews{}
	b := newBench(t, api.funcs())
	codes := map[int]int{}
	guess := func(from, to int) {
		for i := from; i < to; i++ {
			code, _ := shown(t, b, fmt.Sprint("guess-", i))
			codes[code]++
		}
	}
	guess(0, 200)
	g.Expect(codes).To(Equal(map[int]int{401: 50, 429: 150}))
	g.Expect(api.asked).To(Equal(50))
	b.clock.SetTime(now.Add(time.Second))
	guess(1000, 1100)
	g.Expect(api.asked).To(Equal(60))
	b.clock.SetTime(now.Add(2 * time.Second))
	code, _ := shown(t, b, "of-alice")
	g.Expect(code).NotTo(Or(Equal(401), Equal(429)))
}

func TestAccessLimitsNoUserWhoseTokenIsKnown(t *testing.T) {
	g := NewWithT(t)
	api := &reviews{}
	b := newBench(t, api.funcs())
	codes := map[int]int{}
	ask := func(token string, times int) {
		for range times {
			code, _ := shown(t, b, token)
			codes[code]++
		}
	}
	ask("of-alice", 200)
	g.Expect(codes).To(HaveLen(1), "such as a plug-in that reports many verdicts")
	g.Expect(codes).NotTo(HaveKey(429))
	for i := range 100 {
		ask(fmt.Sprint("guess-", i), 1)
	}
	g.Expect(codes).To(And(HaveKeyWithValue(401, 49), HaveKeyWithValue(429, 51)))
	ask("of-alice", 1)
	g.Expect(codes).To(HaveKeyWithValue(429, 51), "guesses of others keep no known user out")
	b.clock.SetTime(now.Add(time.Minute))
	asked := api.asked
	ask("of-alice", 1)
	g.Expect(api.asked).To(BeNumerically(">", asked), "each request is reviewed")
}
