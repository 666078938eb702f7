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

package cluster

import (
	"net"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/traas-stack/altershield-operator/hack/manifests"
)

func TestCheckPortsNamesEachTakenPort(t *testing.T) {
	g := NewWithT(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	defer listener.Close()
	taken := listener.Addr().(*net.TCPAddr).Port
	free, err := FreePort()
	g.Expect(err).NotTo(HaveOccurred())

	g.Expect(CheckPorts(Port{Number: free, For: "nothing", Setting: "X"})).To(Succeed())
	err = CheckPorts(Port{Number: taken, For: "the API server", Setting: "A=<port>"}, Port{Number: free},
		Port{Number: taken, For: "etcd", Setting: "B=<port>"})
	g.Expect(err).To(MatchError(MatchRegexp(
		`^port %[1]d, for the API server, is not available \(.*in use\): .* with A=<port>\nport %[1]d, for etcd, .* with B=<port>$`, taken)))
}

func TestPickKeepsChosenPortsAndFindsDifferentOnes(t *testing.T) {
	g := NewWithT(t)
	ports := Ports{EtcdPeer: 2380}
	g.Expect(ports.pick()).To(Succeed())
	g.Expect(ports.EtcdPeer).To(Equal(2380))
	different := map[int]bool{ports.APIServer: true, ports.EtcdClient: true, 2380: true, ports.ControllerManager: true, ports.Scheduler: true}
	g.Expect(different).To(And(HaveLen(5), Not(HaveKey(0))))
}

func TestFreePortsAreDifferent(t *testing.T) {
	g := NewWithT(t)
	numbers := make([]int, 1000)
	ports := make([]*int, len(numbers))
	for i := range numbers {
		ports[i] = &numbers[i]
	}
	g.Expect(FreePorts(ports...)).To(Succeed())
	different := map[int]bool{}
	for _, number := range numbers {
		different[number] = true
	}
	g.Expect(different).To(HaveLen(1000))
}

func TestPointWebhooks(t *testing.T) {
	for name, c := range map[string]struct{ clientConfig, url string }{
		"service":            {`{service: {name: s, namespace: n, path: /mutate}, caBundle: b2xk}`, "https://127.0.0.1:1443/mutate"},
		"service, no path":   {`{service: {name: s, namespace: n}}`, "https://127.0.0.1:1443/"},
		"URL":                {`{url: "https://example.com:9/validate?x=y"}`, "https://127.0.0.1:1443/validate"},
		"no client at all":   {`{}`, "https://127.0.0.1:1443/"},
		"path, no slash":     {`{service: {path: mutate}}`, "https://127.0.0.1:1443/mutate"},
		"URL without a path": {`{url: "https://example.com"}`, "https://127.0.0.1:1443/"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			object := one(g, "kind: MutatingWebhookConfiguration\nmetadata: {name: m}\nwebhooks: [{name: w, clientConfig: "+c.clientConfig+"}]")
			g.Expect(pointWebhooks(object, WebhookEndpoint{Port: 1443, CABundle: []byte("new")})).To(Succeed())
			g.Expect(object.Object["webhooks"]).To(Equal([]any{map[string]any{
				"name":         "w",
				"clientConfig": map[string]any{"url": c.url, "caBundle": "bmV3"},
			}}))
		})
	}
}

func TestPointWebhooksLeavesTheAuthorityToWhatKeepsIt(t *testing.T) {
	g := NewWithT(t)
	object := one(g, "kind: MutatingWebhookConfiguration\nmetadata: {name: m}\nwebhooks: [{name: w, clientConfig: {service: {path: /mutate}}}]")
	g.Expect(pointWebhooks(object, WebhookEndpoint{Port: 1443})).To(Succeed())
	g.Expect(object.Object["webhooks"]).To(Equal([]any{map[string]any{"name": "w", "clientConfig": map[string]any{"url": "https://127.0.0.1:1443/mutate"}}}))
}

func TestPointWebhooksLeavesOtherObjectsAlone(t *testing.T) {
	g := NewWithT(t)
	object := one(g, "kind: ConfigMap\nmetadata: {name: c}\nwebhooks: [1]")
	before := object.DeepCopy()
	g.Expect(pointWebhooks(object, WebhookEndpoint{})).To(Succeed())
	g.Expect(object).To(Equal(before))
}

func TestPointWebhooksRefusesWhatIsNone(t *testing.T) {
	g := NewWithT(t)
	object := one(g, "kind: ValidatingWebhookConfiguration\nmetadata: {name: v}\nwebhooks: [x]")
	g.Expect(pointWebhooks(object, WebhookEndpoint{})).To(MatchError("ValidatingWebhookConfiguration v: webhook 0 is not an object"))
}

func TestRankIsTheOrderOfInstallation(t *testing.T) {
	g := NewWithT(t)
	var ranks []int
	for _, kind := range []string{"Namespace", "CustomResourceDefinition", "Deployment", "ValidatingWebhookConfiguration"} {
		ranks = append(ranks, rank(&unstructured.Unstructured{Object: map[string]any{"kind": kind}}))
	}
	g.Expect(ranks).To(Equal([]int{0, 1, 2, 3}))
}

// one decodes a single object.
func one(g Gomega, document string) *unstructured.Unstructured {
	objects, err := manifests.Decode(strings.NewReader("apiVersion: v1\n" + document))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(objects).To(HaveLen(1))
	return objects[0]
}
