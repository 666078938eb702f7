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
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/altershield"
	"github.com/traas-stack/altershield-operator/hack/local/operator"
)

// serverToken is the token that the operator and the test server share. It must not appear in any log or Event.
const serverToken = "token-that-nobody-may-see"

// server is a test server with the peculiarities of AlterShield Server v1.0.
var server *altershield.Server

// onCall is called when a call was processed but not answered yet.
var onCall = &hook{}

// hook holds a function that a spec sets and the test server calls.
type hook struct {
	mutex sync.Mutex
	call  func(altershield.Call)
}

func (h *hook) set(call func(altershield.Call)) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.call = call
}

func (h *hook) run(call altershield.Call) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.call != nil {
		h.call(call)
	}
}

// checkedByServer restarts the manager with a test server, for the specs of an Ordered container.
func checkedByServer(args ...string) {
	checkedByServerWith(altershield.Options{Log: GinkgoWriter}, args...)
}

func checkedByServerWith(options altershield.Options, args ...string) {
	BeforeAll(func(ctx context.Context) {
		token := filepath.Join(settings.Dir, "altershield-token")
		Expect(os.WriteFile(token, []byte(serverToken+"\n"), 0o600)).To(Succeed())
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		Expect(err).NotTo(HaveOccurred())
		options.Token, options.OnCall = serverToken, onCall.run
		server = altershield.New(options)
		DeferCleanup(server.Close)
		serving, stop := context.WithCancel(context.WithoutCancel(ctx))
		served := make(chan error, 1)
		go func() { served <- server.Serve(serving, listener) }()
		DeferCleanup(func() {
			stop()
			Expect(<-served).To(Succeed())
		})

		checked := settings
		checked.Args = append([]string{
			"--altershield-address=http://" + listener.Addr().String(), "--altershield-token-file=" + token, "--zap-log-level=10",
		}, args...)
		DeferCleanup(func(ctx context.Context) { restartAs(ctx, settings) })
		restartAs(ctx, checked)
		server.SetCallbackURL(manager.CallbackURL())
	})
	AfterEach(func() {
		server.ClearFaults()
		server.ClearRules()
		server.SetSwitch(true)
		onCall.set(nil)
	})
}

// restartAs replaces the running manager by one with other options.
func restartAs(ctx context.Context, options operator.Options) {
	GinkgoHelper()
	Expect(manager.Stop(ctx)).To(Succeed())
	installed, err := operator.Install(ctx, plane, options)
	Expect(err).NotTo(HaveOccurred())
	manager = installed
	Expect(manager.Start(ctx)).To(Succeed())
	Eventually(staleWebhooks(ctx)).Should(BeEmpty())
}

// staleWebhooks returns the webhooks of kinds that are still called at the port of an earlier manager: the operator lets them follow those
// of Deployments.
func staleWebhooks(ctx context.Context) func() []string {
	return func() (stale []string) {
		const configuration = "altershieldoperator-kinds-%s-webhook-configuration"
		var mutating admissionregistrationv1.MutatingWebhookConfiguration
		Expect(kube.Get(ctx, client.ObjectKey{Name: fmt.Sprintf(configuration, "mutating")}, &mutating)).To(Succeed())
		var validating admissionregistrationv1.ValidatingWebhookConfiguration
		Expect(kube.Get(ctx, client.ObjectKey{Name: fmt.Sprintf(configuration, "validating")}, &validating)).To(Succeed())
		note := func(called admissionregistrationv1.WebhookClientConfig) {
			if !strings.Contains(*called.URL, fmt.Sprintf(":%d/", manager.Options().Ports.Webhook)) {
				stale = append(stale, *called.URL)
			}
		}
		for _, webhook := range mutating.Webhooks {
			note(webhook.ClientConfig)
		}
		for _, webhook := range validating.Webhooks {
			note(webhook.ClientConfig)
		}
		return stale
	}
}

// ordersOf returns the end of each order of a namespace at the server, or "open".
func ordersOf(namespace string) []string {
	var ends []string
	for _, order := range server.Orders() {
		if !isOf(order, namespace) {
			continue
		}
		end := "open"
		if len(order.Finishes) > 0 {
			end = order.Finishes[0].State
		}
		ends = append(ends, end)
	}
	return ends
}

func isOf(order altershield.Order, namespace string) bool {
	var param struct{ Namespace string }
	return json.Unmarshal([]byte(order.ChangeParamJSON), &param) == nil && param.Namespace == namespace
}

// nodesOf returns the checks of a namespace at the server.
func nodesOf(namespace string) []altershield.Node {
	var nodes []altershield.Node
	orders := map[string]bool{}
	for _, order := range server.Orders() {
		orders[order.BizExecOrderID] = isOf(order, namespace)
	}
	for _, node := range server.Nodes() {
		if orders[node.BizExecOrderID] {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// steps returns the ChangePods of a namespace as shown by kubectl: status and message.
func steps(ctx context.Context, namespace string) func() []string {
	return func() []string {
		var result []string
		for _, changePod := range changePods(ctx, namespace) {
			result = append(result, fmt.Sprintf("%s %s", changePod.Status.Status, changePod.Status.Message))
		}
		return result
	}
}

// ordered returns the status and reason of the condition Ordered of a release.
func ordered(ctx context.Context, namespace, name string) func() string {
	return func() string {
		var object appv1alpha1.ChangeWorkload
		if err := kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &object); err != nil {
			return err.Error()
		}
		for _, condition := range object.Status.Conditions {
			if condition.Type == "Ordered" {
				return string(condition.Status) + " " + condition.Reason
			}
		}
		return ""
	}
}

// eventsIn returns the Events of a namespace: reason and note.
func eventsIn(ctx context.Context, namespace string) func() []string {
	return toldOf(ctx, namespace, func(event eventsv1.Event) (string, bool) { return event.Reason + ": " + event.Note, true })
}

// toldOf returns the texts of the Events of a namespace that count.
func toldOf(ctx context.Context, namespace string, tell func(eventsv1.Event) (told string, counts bool)) func() []string {
	return func() []string {
		var list eventsv1.EventList
		if err := kube.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return []string{err.Error()}
		}
		var result []string
		for _, event := range list.Items {
			if told, counts := tell(event); counts {
				result = append(result, told)
			}
		}
		return result
	}
}

// expire ends the wait of a ChangePod now, by the deadline in its status.
func expire(ctx context.Context, namespace, changePod string) {
	GinkgoHelper()
	output, err := kubectl(ctx, "-n", namespace, "patch", "changepod", "--subresource=status", changePod, "--type=merge", "-p",
		fmt.Sprintf(`{"status":{"deadline":%q}}`, time.Now().UTC().Format(time.RFC3339)))
	Expect(err).NotTo(HaveOccurred(), output)
}

// neverReady prevents the pods of the release from starting.
func neverReady(deployment *appsv1.Deployment) {
	deployment.Spec.Template.Labels["local.altershield.io/start"] = "never"
}
