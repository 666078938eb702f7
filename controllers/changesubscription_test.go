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
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// dingTalk is a robot that takes signed messages, and tells their titles.
type dingTalk struct {
	*httptest.Server
	down   atomic.Bool
	mutex  sync.Mutex
	titles []string
}

func newDingTalk() *dingTalk {
	robot := &dingTalk{}
	robot.Server = httptest.NewTLSServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		query := request.URL.Query()
		mac := hmac.New(sha256.New, []byte("SEC0123456789"))
		_, _ = io.WriteString(mac, query.Get("timestamp")+"\nSEC0123456789")
		var message struct{ Markdown struct{ Title, Text string } }
		err := json.NewDecoder(request.Body).Decode(&message)
		switch {
		case robot.down.Load():
			writer.WriteHeader(http.StatusBadGateway)
			return
		case err != nil, query.Get("access_token") != "0123456789", query.Get("sign") != base64.StdEncoding.EncodeToString(mac.Sum(nil)):
			_, _ = io.WriteString(writer, `{"errcode":310000,"errmsg":"sign not match"}`)
			return
		}
		robot.mutex.Lock()
		defer robot.mutex.Unlock()
		robot.titles = append(robot.titles, message.Markdown.Title)
		_, _ = io.WriteString(writer, `{"errcode":0,"errmsg":"ok"}`)
	}))
	DeferCleanup(robot.Close)
	return robot
}

// told returns the titles about a namespace, without it.
func (d *dingTalk) told(namespace string) func() []string {
	return func() []string {
		d.mutex.Lock()
		defer d.mutex.Unlock()
		var titles []string
		for _, title := range d.titles {
			if strings.Contains(title, namespace+"/") {
				titles = append(titles, strings.ReplaceAll(title, namespace+"/", ""))
			}
		}
		return titles
	}
}

// subscribe runs the commands of docs/notifications.md for a robot that hears of one namespace: what earlier specs left may end just now.
func (d *dingTalk) subscribe(ctx context.Context, namespace string) {
	GinkgoHelper()
	DeferCleanup(func(ctx context.Context) {
		bash(ctx, "kubectl delete -n "+system+" csub/shop secret/dingtalk networkpolicy/allow-notifications --ignore-not-found")
	})
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: d.Certificate().Raw}))
	indented := "    caBundle: |\n      " + strings.ReplaceAll(strings.TrimSpace(authority), "\n", "\n      ") + "\n"
	selected := "  namespaceSelector:\n    matchLabels:\n      kubernetes.io/metadata.name: " + namespace + "\n"
	bash(ctx, strings.NewReplacer("https://oapi.dingtalk.com", d.URL, "    type: DingTalk\n", "    type: DingTalk\n"+indented, "  sink:\n", selected+"  sink:\n").
		Replace(strings.Join(blocks("notifications.md", "A first subscription"), "")))
	Eventually(func() string {
		output, _ := kubectl(ctx, "-n", system, "get", "csub", "shop", "--no-headers")
		return strings.Join(strings.Fields(output), " ")
	}).Should(Equal("shop DingTalk True Ready 0 0"))
}

var _ = Describe("The commands of docs/notifications.md", func() {
	BeforeEach(patient)

	It("tell a robot of a suspended release, and of its recovery, also while the robot and the operator are away", func(ctx context.Context) {
		robot := newDingTalk()
		namespace := controlledNamespace(ctx)
		suspended(ctx, controlledNamespace(ctx)) // isn't told, although it may be of the second in which the subscription is made
		robot.subscribe(ctx, namespace)
		suspended(ctx, namespace)
		Eventually(robot.told(namespace)).Should(Equal([]string{"[AlterShield production] sleep: release 1 failed and is suspended"}))

		robot.down.Store(true)
		first := currentName(ctx, namespace, "sleep") + "--x--1"
		output, err := kubectl(ctx, "-n", namespace, "patch", "changepod", first, "--subresource=status", "--type", "merge", "-p", `{"status":{"podResults":[]}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(func() string {
			output, _ := kubectl(ctx, "-n", system, "get", "csub", "shop", "-o", "jsonpath={.status.pending} {.status.conditions[0].reason}")
			return output
		}).Should(Equal("1 ReceiverUnavailable"))
		Expect(manager.Stop(ctx)).To(Succeed())
		robot.down.Store(false)
		Expect(manager.Start(ctx)).To(Succeed())
		wanted := []string{"[AlterShield production] sleep: release 1 failed and is suspended", "[AlterShield production] sleep: release 1 is no longer suspended"}
		Eventually(robot.told(namespace)).Should(Equal(wanted))
		Consistently(robot.told(namespace)).Should(Equal(wanted), "nothing is told twice")
		bash(ctx, strings.Join(blocks("notifications.md", "Security"), ""))
	})
})
