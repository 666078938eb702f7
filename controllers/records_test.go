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
	"os"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/traas-stack/altershield-operator/hack/local/operator"
	"github.com/traas-stack/altershield-operator/hack/permissions/audit"
)

var _ = Describe("A version that is released again and again", func() {
	It("has the batches of two releases at most", slow, func(ctx context.Context) {
		patient(ctx)
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		verified(ctx, namespace, "sleep")
		for i := range 4 {
			output, err := patchSleep(ctx, namespace, fmt.Sprintf(
				`{"spec":{"template":{"metadata":{"labels":{"test":"stuck-%d"}},"spec":{"containers":[{"name":"sleep","image":"busybox:missing"}]}}}}`, i))
			Expect(err).NotTo(HaveOccurred(), output)
			Eventually(troubles(ctx, namespace, released(ctx, namespace)())).Should(ContainElement("ErrImagePull"))
			losePatience(ctx, func() { Eventually(released(ctx, namespace)).Should(Equal(firstVersion)) })
			backAtFirst(ctx, namespace)
			Expect(len(changePods(ctx, namespace))).To(BeNumerically("<=", 10))
		}
		Eventually(func() int { return len(changePods(ctx, namespace)) }).Should(BeNumerically("<=", 5), "those of its last release")
		Expect(len(removals(namespace))).To(BeNumerically("<=", 4), "one request for each release")
	})
})

// removals returns the requests of the operator and of the garbage collector that delete ChangePods of a namespace.
func removals(namespace string) []auditv1.Event {
	GinkgoHelper()
	log, err := os.Open(plane.AuditLog())
	Expect(err).NotTo(HaveOccurred())
	defer log.Close()
	var found []auditv1.Event
	for _, user := range []string{operator.User, "system:serviceaccount:kube-system:generic-garbage-collector"} {
		_, err := log.Seek(0, 0)
		Expect(err).NotTo(HaveOccurred())
		asked, err := audit.Read(log, user)
		Expect(err).NotTo(HaveOccurred())
		for _, call := range asked {
			object := call.ObjectRef
			if object != nil && object.Namespace == namespace && object.Resource == "changepods" && (call.Verb == "delete" || call.Verb == "deletecollection") {
				found = append(found, call)
			}
		}
	}
	return found
}
