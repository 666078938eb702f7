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
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// dashboard is a page that the plugin serves.
type dashboard struct{ address, key string }

// dashboard starts the page by a documented command, and ends it after the spec.
func (p installed) dashboard(namespace string, documented int, args ...string) dashboard {
	GinkgoHelper()
	line := strings.Split(blocks("plugin.md", "The page")[0], "\n")[documented]
	fields := strings.Fields(strings.ReplaceAll(line, "shop", namespace))
	Expect(fields[:3]).To(Equal([]string{"kubectl", "altershield", "dashboard"}))
	command := exec.Command(plane.Kubectl(), append(append(fields[1:], "--open=false"), args...)...)
	command.Env = append(os.Environ(), "KUBECONFIG="+plane.Kubeconfig(), "PATH="+p.programs+":"+os.Getenv("PATH"), "LANG=C.UTF-8")
	output, err := command.StdoutPipe()
	Expect(err).NotTo(HaveOccurred())
	Expect(command.Start()).To(Succeed())
	ended := make(chan error, 1)
	lines := bufio.NewScanner(output)
	Expect(lines.Scan()).To(BeTrue(), "it prints its address")
	address, key, found := strings.Cut(strings.TrimPrefix(lines.Text(), "http://"), "/#")
	Expect(found).To(BeTrue(), lines.Text())
	go func() {
		for lines.Scan() { // what it prints must not fill the pipe
		}
		ended <- command.Wait()
	}()
	DeferCleanup(func() {
		Expect(command.Process.Signal(os.Interrupt)).To(Succeed())
		Eventually(ended).Should(Receive())
		Expect(command.ProcessState.ExitCode()).To(Equal(130))
	})
	return dashboard{address, key}
}

// send makes a call.
func (d dashboard) send(ctx context.Context, method, target, body string) *http.Response {
	GinkgoHelper()
	request, err := http.NewRequestWithContext(ctx, method, "http://"+d.address+target, strings.NewReader(body))
	Expect(err).NotTo(HaveOccurred())
	request.Header.Set("X-Altershield-Key", d.key)
	answer, err := http.DefaultClient.Do(request)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(answer.Body.Close)
	return answer
}

// call makes a call, and returns its status and the fields of its answer.
func (d dashboard) call(ctx context.Context, method, target, body string) (int, map[string]any) {
	GinkgoHelper()
	answer := d.send(ctx, method, target, body) //nolint:bodyclose // closed after the spec
	var fields map[string]any
	Expect(json.NewDecoder(answer.Body).Decode(&fields)).To(Succeed())
	return answer.StatusCode, fields
}

// follow hands over the lines of the stream.
func (d dashboard) follow(ctx context.Context, namespace string) <-chan map[string]any {
	GinkgoHelper()
	answer := d.send(ctx, http.MethodGet, "/api/stream?namespace="+namespace, "") //nolint:bodyclose // closed after the spec
	Expect(answer.StatusCode).To(Equal(http.StatusOK))
	lines := make(chan map[string]any, 1000)
	go func() {
		defer close(lines)
		decoder := json.NewDecoder(answer.Body)
		for {
			var fields map[string]any
			if decoder.Decode(&fields) != nil {
				return
			}
			lines <- fields
		}
	}()
	return lines
}

// isRelease matches a line with a release of the sample in a state.
func isRelease(number int, state string) OmegaMatcher {
	return And(HaveKeyWithValue("type", "release"), HaveKeyWithValue("release", And(
		HaveKeyWithValue("workload", "sleep"), HaveKeyWithValue("release", BeEquivalentTo(number)), HaveKeyWithValue("state", state))))
}

var _ = Describe("kubectl altershield dashboard", Ordered, func() {
	var plugin installed

	BeforeAll(func(ctx context.Context) { plugin = install(ctx) })

	It("streams a release as it goes on, and makes a rollback after a dry run", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		page := plugin.dashboard(namespace, 1)
		code, session := page.call(ctx, http.MethodGet, "/api/session", "")
		Expect(code).To(Equal(200))
		Expect(session).To(And(HaveKeyWithValue("namespace", namespace), HaveKeyWithValue("readOnly", false), HaveKeyWithValue("user", ContainSubstring("admin"))))

		lines := page.follow(ctx, namespace)
		Eventually(lines).Should(Receive(And(HaveKeyWithValue("type", "snapshot"), HaveKeyWithValue("list", HaveKeyWithValue("items", BeEmpty())))))
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		Eventually(lines).Should(Receive(isRelease(1, "Running")))
		Eventually(lines).Should(Receive(isRelease(1, "Success")))
		output, err := patchSleep(ctx, namespace, `{"spec":{"template":{"metadata":{"labels":{"a":"b"}}}}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(lines).Should(Receive(isRelease(2, "Success")))

		about := "?namespace=" + namespace + "&kind=Deployment&name=sleep"
		_, pods := page.call(ctx, http.MethodGet, "/api/pods"+about, "")
		Expect(pods).To(And(HaveKeyWithValue("release", BeEquivalentTo(2)), HaveKeyWithValue("items", HaveLen(5)), Not(HaveKey("notes"))))
		Expect(pods["items"]).To(HaveEach(And(HaveKeyWithValue("state", "unchecked"), HaveKey("node"), HaveKey("batch"))))
		_, may := page.call(ctx, http.MethodGet, "/api/may"+about, "")
		Expect(may["items"]).To(HaveEach(HaveKeyWithValue("may", true)))

		By("asking for a rollback by a dry run")
		before := get(ctx, namespace, "sleep")
		ask := `{"namespace":"` + namespace + `","kind":"Deployment","name":"sleep"`
		code, request := page.call(ctx, http.MethodPost, "/api/act/rollback", ask+`,"dryRun":true}`)
		Expect(code).To(Equal(200), "%v", request)
		Expect(request).To(And(HaveKeyWithValue("kind", "RollbackRequest"), HaveKeyWithValue("dryRun", true), HaveKeyWithValue("changes", ConsistOf("metadata.labels[a]: removed (was b)"))))
		Expect(get(ctx, namespace, "sleep")).To(And(HaveField("Generation", before.Generation), HaveField("Labels", before.Labels),
			HaveField("Annotations", before.Annotations)), "nothing has changed, but for the status, in which old pods may still go")

		By("making it")
		from, err := json.Marshal(request["from"])
		Expect(err).NotTo(HaveOccurred())
		code, request = page.call(ctx, http.MethodPost, "/api/act/rollback", ask+`,"to":"1","from":`+string(from)+`,"dryRun":false}`)
		Expect(code).To(Equal(200), "%v", request)
		Expect(request).NotTo(HaveKey("dryRun"))
		Eventually(lines).Should(Receive(isRelease(3, "RolledBack")))
		Eventually(released(ctx, namespace)).Should(Equal(firstVersion))
		code, refused := page.call(ctx, http.MethodPost, "/api/act/rollback", ask+`,"from":`+string(from)+`,"dryRun":false}`)
		Expect(code).To(Equal(409), "%v", refused)

		Expect(kube.Delete(ctx, get(ctx, namespace, "sleep"))).To(Succeed())
		Eventually(lines).Should(Receive(Equal(map[string]any{"type": "gone", "namespace": namespace, "kind": "Deployment", "group": "apps", "workload": "sleep"})))
	})

	It("has the rights of its user, and refuses what isn't its page", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		page := plugin.dashboard(namespace, 0, "--as=nobody")
		for _, target := range []string{"/api/stream?namespace=" + namespace, "/api/freezes?namespace=" + namespace, "/api/settings"} {
			code, refused := page.call(ctx, http.MethodGet, target, "")
			Expect(code).To(Equal(403), target)
			Expect(refused).To(And(HaveKeyWithValue("reason", "Forbidden"), HaveKeyWithValue("error", ContainSubstring("you (nobody) may not list"))), target)
		}
		code, refused := page.call(ctx, http.MethodPost, "/api/act/hold", `{"namespace":"`+namespace+`","kind":"Deployment","name":"sleep","dryRun":true}`)
		Expect(code).To(Equal(403))
		Expect(refused).To(HaveKeyWithValue("reason", "ReadOnly"))
		foreign := dashboard{strings.Replace(page.address, "127.0.0.1", "localhost", 1), page.key}
		code, refused = foreign.call(ctx, http.MethodGet, "/api/session", "")
		Expect(code).To(Equal(403))
		Expect(refused).To(HaveKeyWithValue("reason", "ForeignHost"))
		code, _ = dashboard{page.address, "guessed"}.call(ctx, http.MethodGet, "/api/session", "")
		Expect(code).To(Equal(401))
	})
})
