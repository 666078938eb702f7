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
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"os"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("A stopping operator", func() {
	It("answers what it was asked, and lets another lead at once", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		suspended(ctx, namespace)
		leader := func() string {
			var lease coordinationv1.Lease
			Expect(kube.Get(ctx, client.ObjectKey{
				Namespace: "altershieldoperator-system", Name: "altershieldoperator.app.ops.cloud.alipay.com"}, &lease)).To(Succeed())
			return ptr.Deref(lease.Spec.HolderIdentity, "")
		}
		Expect(leader()).NotTo(BeEmpty())
		asked := askForAdmission(ctx, namespace)
		Eventually(asked.begun).Should(BeClosed())

		stopped := make(chan error)
		before := logged()
		go func() { stopped <- manager.Stop(ctx) }()
		DeferCleanup(func(ctx context.Context) { Expect(manager.Start(ctx)).To(Succeed()) })
		Eventually(func() string { return strings.TrimPrefix(logged(), before) }).Should(ContainSubstring("Shutting down webhook server"))
		Consistently(stopped, 500*time.Millisecond).ShouldNot(Receive(), "while a question isn't answered")
		asked.finish()
		var answer *admissionv1.AdmissionResponse
		Eventually(asked.answer).Should(Receive(&answer))
		Expect(answer.Allowed).To(BeFalse())
		Expect(answer.Result.Message).To(Equal("deployment sleep is suspended"))
		Eventually(stopped).Should(Receive(Succeed()))
		Expect(strings.TrimPrefix(logged(), before)).To(ContainSubstring("Wait completed, proceeding to shutdown the manager"))
		Expect(leader()).To(BeEmpty())
	})
})

func logged() string {
	GinkgoHelper()
	content, err := os.ReadFile(manager.LogPath())
	Expect(err).NotTo(HaveOccurred())
	return string(content)
}

// question is an admission review that is under way.
type question struct {
	// begun is closed once the manager reads it; finish sends the rest.
	begun  chan struct{}
	finish func()
	answer chan *admissionv1.AdmissionResponse
}

// askForAdmission begins an admission review of a release of the Deployment sleep with other labels, like the API server.
func askForAdmission(ctx context.Context, namespace string) question {
	GinkgoHelper()
	old := get(ctx, namespace, "sleep")
	updated := old.DeepCopy()
	updated.Spec.Template.Labels["test"] = "1234"
	review := admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "question", Kind: metav1.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
			Operation: admissionv1.Update, Namespace: namespace, Name: "sleep",
			Object: runtime.RawExtension{Object: updated}, OldObject: runtime.RawExtension{Object: old},
		},
	}
	content, err := json.Marshal(review)
	Expect(err).NotTo(HaveOccurred())
	asked := question{begun: make(chan struct{}), answer: make(chan *admissionv1.AdmissionResponse, 1)}
	body, rest := io.Pipe()
	asked.finish = func() {
		_, err := rest.Write(content)
		Expect(rest.CloseWithError(err)).To(Succeed())
	}
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{Got100Continue: func() { close(asked.begun) }})
	url := fmt.Sprintf("https://127.0.0.1:%d/validate-apps-v1-deployment", manager.Options().Ports.Webhook)
	request, err := http.NewRequestWithContext(traced, http.MethodPost, url, body)
	Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Expect", "100-continue")
	caller := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: authority()}, ForceAttemptHTTP2: true, ExpectContinueTimeout: time.Minute,
	}}
	go func() {
		defer GinkgoRecover()
		response, err := caller.Do(request)
		Expect(err).NotTo(HaveOccurred())
		defer response.Body.Close()
		var answered admissionv1.AdmissionReview
		Expect(json.NewDecoder(response.Body).Decode(&answered)).To(Succeed())
		asked.answer <- answered.Response
	}()
	return asked
}
