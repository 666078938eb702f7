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
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var _ = Describe("The plug-in of docs/plugins.md", func() {
	BeforeEach(patient)
	BeforeEach(withoutBuiltIn)

	It("suspends a Deployment whose pods it fails, and answers no question that somebody else sends again", func(ctx context.Context) {
		DeferCleanup(func(ctx context.Context) {
			bash(ctx, "kubectl delete -n "+system+" --ignore-not-found secret/placement-key vsrc/placement")
		})
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace, onEveryNode))).To(Succeed())
		verified(ctx, namespace, "sleep")
		bash(ctx, strings.ReplaceAll(strings.Join(blocks("plugins.md", "A first plug-in"), ""), "-n default", "-n "+namespace))
		key := bash(ctx, "kubectl get secret placement-key -n "+system+" -o jsonpath='{.data.key}' | base64 -d")
		seen := &recorder{}
		output, err := kubectl(ctx, "-n", system, "patch", "vsrc", "placement", "--type=merge", "-p",
			`{"spec":{"url":"`+seen.before(documentedPlugin(ctx, key))+`"}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(func() string { return readiness(ctx, "placement") }).Should(Equal("True Ready: the source answers"))
		output, err = kubectl(ctx, "-n", namespace, "patch", "vpol", "placement", "--type=merge", "-p", `{"spec":{"intervalSeconds":10}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		known(ctx, "vpol", namespace, "placement")

		output, err = release(ctx, namespace, "misplaced")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(func() string { return resultIn(ctx, namespace) }).Should(MatchRegexp(`^Suspend PodsFailed, Fail CheckFailed: RefusedNode: [1-5] pods$`))
		Eventually(labelsOf(ctx, namespace)).Should(HaveKey(suspendLabel))
		Eventually(func() []string { return failedPods(ctx, namespace) }).ShouldNot(BeEmpty())
		nodes := map[string]string{}
		for _, pod := range podsAt(ctx, namespace, labelsOf(ctx, namespace)()[versionLabel]) {
			nodes[pod.Name] = pod.Spec.NodeName
		}
		for _, failed := range failedPods(ctx, namespace) {
			name, message, _ := strings.Cut(failed, ": ")
			Expect(nodes[name]).To(BeElementOf("node-1", "node-2"), "it fails no other pods")
			Expect(message).To(Equal("runs on " + nodes[name] + " (VerificationPolicy " + namespace + "/placement placement)"))
		}

		By("sending the question again")
		Expect(seen.again(nil)).To(Equal("200 OK"), "the same question has the same answer")
		Expect(seen.again(func(question *http.Request) {
			question.Header.Set("webhook-timestamp", strconv.FormatInt(time.Now().Unix()+1, 10))
		})).To(Equal("401 Unauthorized"), "as if it were a new one")
		Expect(seen.again(func(question *http.Request) {
			question.Header.Set("webhook-id", "another")
		})).To(Equal("401 Unauthorized"), "as if it were another one")
	})
})

// onEveryNode spreads the pods of each version over all nodes.
func onEveryNode(d *appsv1.Deployment) {
	d.Spec.Template.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "sleep"}}, MatchLabelKeys: []string{"pod-template-hash"},
	}}
}

// documentedPlugin starts the plug-in of docs/plugins.md with a key until the end of the spec, and returns its address.
func documentedPlugin(ctx context.Context, key string) string {
	GinkgoHelper()
	python, err := exec.LookPath("python3")
	if err != nil {
		Skip("there is no python3")
	}
	page, err := os.ReadFile(filepath.Join("..", "docs", "plugins.md"))
	Expect(err).NotTo(HaveOccurred())
	_, script, _ := strings.Cut(string(page), "```python\n")
	script, _, found := strings.Cut(script, "```\n")
	Expect(found).To(BeTrue())
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	command := exec.CommandContext(running, python, "-c", script)
	command.Env = append(os.Environ(), "KEY="+key, "PORT=0")
	output, err := command.StdoutPipe()
	Expect(err).NotTo(HaveOccurred())
	Expect(command.Start()).To(Succeed())
	DeferCleanup(func() {
		stop()
		_ = command.Wait() // which says that it was stopped
	})
	line, err := bufio.NewReader(output).ReadString('\n')
	Expect(err).NotTo(HaveOccurred())
	return "http://127.0.0.1:" + strings.TrimPrefix(strings.TrimSpace(line), "listens on port ")
}

// recorder is a proxy that keeps the last question to a plug-in, as somebody on its way can.
type recorder struct {
	address string

	mutex  sync.Mutex
	header http.Header
	body   []byte
}

// before returns the address of the proxy before a plug-in.
func (r *recorder) before(address string) string {
	GinkgoHelper()
	to, err := url.Parse(address)
	Expect(err).NotTo(HaveOccurred())
	r.address = address
	plugin := httputil.NewSingleHostReverseProxy(to)
	server := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		if request.Method == http.MethodPost {
			body, err := io.ReadAll(request.Body)
			if err != nil {
				http.Error(writer, err.Error(), http.StatusBadGateway)
				return
			}
			request.Body = io.NopCloser(bytes.NewReader(body))
			r.mutex.Lock()
			r.header, r.body = request.Header.Clone(), body
			r.mutex.Unlock()
		}
		plugin.ServeHTTP(writer, request)
	}))
	DeferCleanup(server.Close)
	return server.URL
}

// again sends the last question to the plug-in again, after a change, and returns the status of the answer.
func (r *recorder) again(change func(*http.Request)) string {
	GinkgoHelper()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	question, err := http.NewRequestWithContext(context.Background(), http.MethodPost, r.address, bytes.NewReader(r.body))
	Expect(err).NotTo(HaveOccurred())
	question.Header = r.header.Clone()
	if change != nil {
		change(question)
	}
	response, err := http.DefaultClient.Do(question)
	Expect(err).NotTo(HaveOccurred())
	Expect(response.Body.Close()).To(Succeed())
	return response.Status
}
