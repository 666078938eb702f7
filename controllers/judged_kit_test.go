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
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// judged is a release that a check judges by a source of its own.
type judged struct {
	// source is the spec of the VerificationSource with a name.
	name, source string
	// check is the type of the check and what it asks SOURCE.
	check string
	// pods is the label test of the pods of the release.
	pods string
	// result is what the user of the release sees in the end: its state, and that of the check. ready is what the source says of itself then.
	result, ready string
}

// judgeAll releases a Deployment of two pods for each row, all at the same time, and expects what their users see. The releases begin after
// meanwhile, when the Deployments are verified and the sources answer for the first time.
func judgeAll(ctx context.Context, rows []judged, bake int, meanwhile func()) {
	GinkgoHelper()
	expected, namespaces := map[string][2]string{}, make([]string, len(rows))
	for i, row := range rows {
		expected[row.name] = [2]string{row.result, row.ready}
		namespaces[i] = controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespaces[i], replicas(2)))).To(Succeed())
	}
	for i := range rows {
		verified(ctx, namespaces[i], "sleep")
		rows[i].apply(ctx, namespaces[i], bake)
	}
	meanwhile()
	for i, row := range rows {
		output, err := release(ctx, namespaces[i], row.pods)
		Expect(err).NotTo(HaveOccurred(), output)
	}
	Eventually(func() map[string][2]string {
		seen := map[string][2]string{}
		for i, row := range rows {
			seen[row.name] = [2]string{resultIn(ctx, namespaces[i]), readiness(ctx, row.name)}
		}
		return seen
	}).WithPolling(time.Second).Should(Equal(expected))
	for i, row := range rows {
		if strings.HasPrefix(row.result, "Success ") {
			Expect(failedPods(ctx, namespaces[i])).To(BeEmpty(), row.name)
			Expect(labelsOf(ctx, namespaces[i])()).NotTo(HaveKey(suspendLabel), row.name)
		}
	}
}

// apply creates the source and an enforced policy that asks it, and waits until the operator has asked the source.
func (j *judged) apply(ctx context.Context, namespace string, bake int) {
	GinkgoHelper()
	output, err := kubectlWith(ctx, fmt.Sprintf(`{"apiVersion": "app.ops.cloud.alipay.com/v1alpha1", "kind": "VerificationSource",
		"metadata": {"namespace": %q, "name": %q}, "spec": {%s}}`, system, j.name, j.source), "apply", "-f", "-")
	Expect(err).NotTo(HaveOccurred(), output)
	DeferCleanup(func(ctx context.Context) {
		output, err := kubectl(ctx, "-n", system, "delete", "vsrc", j.name)
		Expect(err).NotTo(HaveOccurred(), output)
	})
	output, err = kubectlWith(ctx, fmt.Sprintf(`{"apiVersion": "app.ops.cloud.alipay.com/v1alpha1", "kind": "VerificationPolicy",
		"metadata": {"namespace": %q, "name": "own"}, "spec": {"mode": "Enforce", "bakeSeconds": %d, "warmupSeconds": 0, "intervalSeconds": 10,
		"checks": [{"name": "own", %s}]}}`, namespace, bake, strings.ReplaceAll(j.check, "SOURCE", j.name)), "apply", "-f", "-")
	Expect(err).NotTo(HaveOccurred(), output)
	known(ctx, "vpol", namespace, "own")
	Eventually(func() string { return readiness(ctx, j.name) }).ShouldNot(BeEmpty())
}

// resultIn returns what the user of the only Deployment of a namespace sees of its release and of the one check of it.
func resultIn(ctx context.Context, namespace string) string {
	var record appv1alpha1.ChangeWorkload
	name := "sleep--x--" + labelsOf(ctx, namespace)()[versionLabel]
	if err := kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &record); err != nil || len(record.Status.Checks) != 1 {
		return fmt.Sprintf("%d checks: %v", len(record.Status.Checks), err)
	}
	check := &record.Status.Checks[0]
	text := fmt.Sprintf("%s %s, %s %s: %s", record.Status.Status, reason(record.Status.Conditions, "Verified"), check.Verdict, check.Reason, check.Message)
	text = regexp.MustCompile(`\b[1-9]\d* (events|of)\b`).ReplaceAllString(text, "N $1") // which depend on the time
	text = strings.ReplaceAll(text, "on 6 old pods", "on 5 old pods")                    // a Deployment may have one more than it needs while a step waits
	return strings.ReplaceAll(regexp.MustCompile(`\bof \d+`).ReplaceAllString(text, "of N"), namespace, "NAMESPACE")
}

// readiness returns what a source says of itself, empty before the operator has asked it.
func readiness(ctx context.Context, name string) string {
	var object appv1alpha1.VerificationSource
	if err := kube.Get(ctx, client.ObjectKey{Namespace: system, Name: name}, &object); err != nil {
		return err.Error()
	}
	ready := meta.FindStatusCondition(object.Status.Conditions, "Ready")
	if ready == nil {
		return ""
	}
	return fmt.Sprintf("%s %s: %s", ready.Status, ready.Reason, ready.Message)
}

// front is a proxy before a source, which fails from a moment on.
type front struct {
	*httptest.Server
	fails atomic.Bool
}

// frontOf returns a proxy before the source at an address that answers by a fault once it fails.
func frontOf(address string, fault http.HandlerFunc) *front {
	GinkgoHelper()
	to, err := url.Parse(address)
	Expect(err).NotTo(HaveOccurred())
	proxy, source := &front{}, httputil.NewSingleHostReverseProxy(to)
	proxy.Server = httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		if proxy.fails.Load() {
			fault(writer, request)
			return
		}
		source.ServeHTTP(writer, request)
	}))
	DeferCleanup(proxy.Close)
	return proxy
}
