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

package controllers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	verifier "github.com/traas-stack/altershield-operator/controllers/verifier/altershield"
	"github.com/traas-stack/altershield-operator/hack/altershield"
	"github.com/traas-stack/altershield-operator/hack/local/operator"
)

// callback is a request to the router, signed like those of the server.
type callback struct {
	path   string
	body   string
	time   time.Time
	token  string
	router string
}

func callbackOf(node altershield.Node, stage, verdict string) callback {
	checked := "CHANGE_BATCH"
	if node.OfOrder {
		checked = "CHANGE_ORDER"
	}
	return callback{
		path: "/openapi/altershield/callback", time: time.Now(), token: serverToken, router: manager.RouterURL(),
		body: fmt.Sprintf(`{"callbackRequest":{"bizExecOrderId":%q,"changeSceneKey":"com.alipay.altershield.kubernetes.rollingupdate",`+
			`"defenseStageEnum":%q,"nodeId":%q,"verdict":{"allFinish":true,"checkPass":%t,"emergency":false,"rollback":false,"rules":[],`+
			`"verdict":%q}},"changeCheckType":%q}`, node.BizExecOrderID, stage, node.ID, verdict == "pass", verdict, checked),
	}
}

type answer struct {
	status int
	body   string
}

func post(ctx context.Context, callback callback) answer {
	GinkgoHelper()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, callback.router+callback.path, strings.NewReader(callback.body))
	Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Content-Type", "application/json;UTF-8")
	if callback.token != "" {
		timestamp := strconv.FormatInt(callback.time.UnixMilli(), 10)
		request.Header.Set("X-AlterShield-Platform", "kubernetes")
		request.Header.Set("X-AlterShield-Timestamp", timestamp)
		request.Header.Set("X-AlterShield-Sign", verifier.Sign(timestamp, []byte(callback.body), callback.token))
	}
	return do(request)
}

func do(request *http.Request) answer {
	GinkgoHelper()
	response, err := http.DefaultClient.Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	Expect(err).NotTo(HaveOccurred())
	return answer{status: response.StatusCode, body: string(body)}
}

// awaited returns the check of a release of one pod that waits for its verdict of a stage, which the server doesn't send.
func awaited(ctx context.Context, namespace, stage string) altershield.Node {
	GinkgoHelper()
	phase, action := "PreSubmitted ", altershield.ActionStartBatch
	if stage == "POST" {
		phase, action = "PostSubmitted ", altershield.ActionFinishBatch
	}
	server.SetFault(altershield.Fault{Kind: altershield.FaultCallbackLost, Actions: []string{action}})
	Expect(kube.Create(ctx, sleep(namespace, replicas(1)))).To(Succeed())
	Eventually(steps(ctx, namespace)).Should(HaveExactElements(phase))
	return nodesOf(namespace)[0]
}

var _ = Describe("Callbacks", Ordered, ContinueOnFailure, func() {
	checkedByServer()

	DescribeTable("are taken on each published path",
		func(ctx context.Context, path string) {
			namespace := controlledNamespace(ctx)
			verdict := callbackOf(awaited(ctx, namespace, "POST"), "POST", "pass")
			verdict.path = path
			Expect(post(ctx, verdict)).To(Equal(answer{200, `{"success":true,"retry":false,"msg":"the verdict is saved"}` + "\n"}))
			verified(ctx, namespace, "sleep")
		},
		Entry(nil, "/openapi/altershield/callback"),
		Entry(nil, "/openapi/opscloud/callback"),
		Entry(nil, "/openapi/callback"),
	)

	DescribeTable("that are not genuine or not readable change nothing",
		func(ctx context.Context, spoil func(*callback), status int, says string) {
			namespace := controlledNamespace(ctx)
			verdict := callbackOf(awaited(ctx, namespace, "POST"), "POST", "fail")
			spoil(&verdict)
			got := post(ctx, verdict)
			Expect(got.status).To(Equal(status), got.body)
			Expect(got.body).To(And(ContainSubstring(`"success":false`), ContainSubstring(says)))
			Expect(got.body).NotTo(ContainSubstring(serverToken))
			Expect(steps(ctx, namespace)()).To(HaveExactElements("PostSubmitted "))
			Expect(labelsOf(ctx, namespace)()).NotTo(HaveKey("altershield.defense.antgroup.com/suspend"))
		},
		Entry("unsigned", func(c *callback) { c.token = "" }, 401, "signature"),
		Entry("signed with another token", func(c *callback) { c.token = "guess" }, 401, "signature"),
		Entry("replayed the next day", func(c *callback) { c.time = c.time.Add(-24 * time.Hour) }, 401, "timestamp"),
		Entry("from a clock that is ahead", func(c *callback) { c.time = c.time.Add(time.Hour) }, 401, "timestamp"),
		Entry("of 10 MiB", func(c *callback) { c.body += strings.Repeat(" ", 10<<20) }, 413, "1 MiB"),
		Entry("malformed", func(c *callback) { c.body = `{"callbackRequest":` }, 400, ""),
		Entry("without a verdict", func(c *callback) { c.body = `{"changeCheckType":"CHANGE_BATCH"}` }, 400, ""),
		Entry("of an unknown check under an unknown order",
			func(c *callback) {
				c.body = callbackOf(altershield.Node{ID: "nobody", BizExecOrderID: "nobody"}, "POST", "fail").body
			}, 200, "no ChangePod has the check nobody"),
	)

	It("that come twice, or replayed within the window, count once", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		verdict := callbackOf(awaited(ctx, namespace, "POST"), "POST", "pass")
		Expect(post(ctx, verdict).body).To(ContainSubstring("the verdict is saved"))
		verified(ctx, namespace, "sleep")
		before := changePods(ctx, namespace)[0].ResourceVersion
		again := post(ctx, verdict)
		Expect(again.status).To(Equal(200))
		Expect(again.body).To(ContainSubstring(`"success":true`))
		Expect(changePods(ctx, namespace)[0].ResourceVersion).To(Equal(before))

		opposite := callbackOf(nodesOf(namespace)[0], "POST", "fail")
		Expect(post(ctx, opposite).status).To(Equal(200))
		Expect(changePods(ctx, namespace)[0].ResourceVersion).To(Equal(before), "the first verdict stands")
	})

	It("that overtake the id of their check are not lost", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		server.SetFault(altershield.Fault{Kind: altershield.FaultCallbackEarly})
		server.AddRule(altershield.Rule{Name: "error rate", Stage: "POST", Verdict: "FAIL", Deployment: "sleep"})
		Expect(kube.Create(ctx, sleep(namespace, replicas(1)))).To(Succeed())
		Eventually(steps(ctx, namespace)).Should(HaveExactElements("ExecuteDone PostFinish"))
		Eventually(labelsOf(ctx, namespace)).Should(HaveKey("altershield.defense.antgroup.com/suspend"))
		name := currentName(ctx, namespace, "sleep")
		early := workload(ctx, namespace, name).Status.EarlyVerdicts
		Expect(early).To(HaveLen(1), "it waited on the ChangeWorkload for the id of its check")
		Expect(early[0].ChangePodID).To(Equal(changePods(ctx, namespace)[0].Status.ChangePodID))
	})

	It("that drip in slowly are cut off, and don't delay others", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		verdict := callbackOf(awaited(ctx, namespace, "POST"), "POST", "pass")
		connection, err := net.Dial("tcp", strings.TrimPrefix(manager.RouterURL(), "http://"))
		Expect(err).NotTo(HaveOccurred())
		defer connection.Close()
		_, err = fmt.Fprintf(connection, "POST /openapi/altershield/callback HTTP/1.1\r\nHost: router\r\nContent-Length: 1000\r\n"+
			"X-AlterShield-Platform: kubernetes\r\nX-AlterShield-Timestamp: %d\r\nX-AlterShield-Sign: %s\r\n\r\n{",
			time.Now().UnixMilli(), verifier.Sign("0", nil, "guess"))
		Expect(err).NotTo(HaveOccurred())
		Expect(post(ctx, verdict).status).To(Equal(200))
		// The connection is closed, with a response or without.
		_, err = io.Copy(io.Discard, connection)
		Expect(err).NotTo(HaveOccurred())
		verified(ctx, namespace, "sleep")
	})

	It("to two replicas at once count once, and a follower's count as the leader's", slow, func(ctx context.Context) {
		dir := filepath.Join(settings.Dir, "follower")
		Expect(os.MkdirAll(dir, 0o700)).To(Succeed())
		running := manager.Options()
		follower, err := operator.Install(ctx, plane, operator.Options{
			Dir: dir, Binary: running.Binary, Config: running.Config, Args: append([]string{"--leader-elect"}, running.Args...),
		})
		Expect(err).NotTo(HaveOccurred())
		leader := running
		leader.Args = append([]string{"--leader-elect"}, running.Args...)
		restartAs(ctx, leader)
		DeferCleanup(func(ctx context.Context) {
			restartAs(ctx, running)
			server.SetCallbackURL(manager.CallbackURL())
		})
		Expect(follower.Start(ctx)).To(Succeed())
		DeferCleanup(follower.Stop)

		namespace := controlledNamespace(ctx)
		node := awaited(ctx, namespace, "PRE")
		toFollower := callbackOf(node, "PRE", "pass")
		toFollower.router = follower.RouterURL()
		server.SetFault(altershield.Fault{Kind: altershield.FaultCallbackLost})
		Expect(post(ctx, toFollower).body).To(ContainSubstring("the verdict is saved"))
		Eventually(steps(ctx, namespace)).Should(HaveExactElements("PostSubmitted "))

		verdicts := []callback{callbackOf(node, "POST", "fail"), callbackOf(node, "POST", "fail")}
		verdicts[1].router = follower.RouterURL()
		answers := make([]answer, len(verdicts))
		var group sync.WaitGroup
		for i := range verdicts {
			group.Go(func() {
				defer GinkgoRecover()
				answers[i] = post(ctx, verdicts[i])
			})
		}
		group.Wait()
		saved := 0
		for _, got := range answers {
			Expect(got.status).To(Equal(200), got.body)
			if strings.Contains(got.body, "the verdict is saved") {
				saved++
			}
		}
		Expect(saved).To(Equal(1))
		Eventually(labelsOf(ctx, namespace)).Should(HaveKey("altershield.defense.antgroup.com/suspend"))
	})
})

var _ = Describe("The router", Ordered, ContinueOnFailure, func() {
	checkedByServer()

	It("is alive", func(ctx context.Context) {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, manager.RouterURL()+"/openapi/altershield/liveTest", nil)
		Expect(err).NotTo(HaveOccurred())
		Expect(do(request).status).To(Equal(200))
	})

	It("lists suspended Deployments with the reason, for users who may list Deployments", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		server.AddRule(altershield.Rule{Name: "error rate", Message: "5xx above 1%", Stage: "POST", Verdict: "FAIL"})
		Expect(kube.Create(ctx, sleep(namespace, replicas(1)))).To(Succeed())
		Eventually(labelsOf(ctx, namespace)).Should(HaveKey("altershield.defense.antgroup.com/suspend"))
		Eventually(releases(ctx, namespace)).Should(ContainElement("Suspend"))

		ask := func(token string) answer {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet,
				manager.RouterURL()+"/openapi/altershield/suspend/deployment?namespace="+namespace, nil)
			Expect(err).NotTo(HaveOccurred())
			if token != "" {
				request.Header.Set("Authorization", "Bearer "+token)
			}
			return do(request)
		}
		Expect(ask("").status).To(Equal(401))
		Expect(ask("guess").status).To(Equal(401))
		Expect(ask(serverToken).status).To(Equal(401), "the server's token is not for users")
		Expect(kube.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sre"}})).To(Succeed())
		account, err := plane.ServiceAccountConfig(ctx, namespace, "sre")
		Expect(err).NotTo(HaveOccurred())
		denied := ask(account.BearerToken)
		Expect(denied.status).To(Equal(403))
		Expect(denied.body).To(ContainSubstring("system:serviceaccount:" + namespace + ":sre"))

		Expect(kube.Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sre"},
			RoleRef:    rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "view"},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: "sre"}},
		})).To(Succeed())
		var got answer
		Eventually(func() int {
			got = ask(account.BearerToken)
			return got.status
		}).Should(Equal(200))
		var list struct{ Items []map[string]any }
		Expect(json.Unmarshal([]byte(got.body), &list)).To(Succeed())
		Expect(list.Items).To(HaveLen(1))
		Expect(list.Items[0]).To(HaveKeyWithValue("name", "sleep"))
		Expect(got.body).To(ContainSubstring("error rate: 5xx above 1%"))
		Expect(got.body).NotTo(ContainSubstring("busybox"), "no pod template")
	})

	It("keeps the token out of every log line and Event", func() {
		log, err := os.ReadFile(manager.LogPath())
		Expect(err).NotTo(HaveOccurred())
		Expect(bytes.Contains(log, []byte("altershield"))).To(BeTrue())
		Expect(bytes.Contains(log, []byte(serverToken))).To(BeFalse())
		Expect(bytes.Contains(log, []byte("Bearer "))).To(BeFalse())
		events, err := kubectl(context.Background(), "get", "events", "-A", "-o", "yaml")
		Expect(err).NotTo(HaveOccurred())
		Expect(events).NotTo(ContainSubstring(serverToken))
	})
})
