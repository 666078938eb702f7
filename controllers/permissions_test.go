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
	"os"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/traas-stack/altershield-operator/hack/local/operator"
	"github.com/traas-stack/altershield-operator/hack/permissions/audit"
	"github.com/traas-stack/altershield-operator/hack/permissions/grant"
)

// everySpec reports whether this run includes all specs.
var everySpec bool

var _ = ReportBeforeSuite(func(report Report) {
	everySpec = report.PreRunStats.SpecsThatWillRun == report.PreRunStats.TotalSpecs
})

var _ = Describe("Permissions", slow, func() {
	It("are enough where the API server doesn't stream the first list of a watch", func(ctx context.Context) {
		before := len(listed())
		plain := settings
		plain.Env = []string{"KUBE_FEATURE_WatchListClient=false"} // as if the server didn't support it
		restartAs(ctx, plain)
		DeferCleanup(func(ctx context.Context) { restartAs(ctx, settings) })
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace, replicas(1)))).To(Succeed())
		verified(ctx, namespace, "sleep")
		Expect(listed()[before:]).To(ContainElements("namespaces", "pods", "deployments", "replicasets", "statefulsets", "daemonsets",
			"controllerrevisions", "changeworkloads", "changepods", "opsconfiginfoes", "controlledkinds", "changefreezes", "breakglasses"))
	})
})

// listed returns the resources that the operator listed in the whole cluster.
func listed() []string {
	GinkgoHelper()
	var resources []string
	for _, request := range requests() {
		if object := request.ObjectRef; object != nil && request.Verb == "list" && object.Namespace == "" {
			resources = append(resources, object.Resource)
		}
	}
	return resources
}

// expectNothingForbidden checks the requests of this process's manager, and records the permissions that it never used.
func expectNothingForbidden(ctx context.Context) {
	GinkgoHelper()
	asked := requests()
	Expect(audit.Forbidden(asked)).To(BeEmpty())
	objects, err := grant.List(ctx, kube)
	Expect(err).NotTo(HaveOccurred())
	granted := objects.Of(types.NamespacedName{Namespace: operator.Namespace, Name: operator.ServiceAccount})
	Expect(granted).NotTo(BeEmpty())
	unused, err := json.Marshal(audit.Unused(granted, asked, append(audit.Exceptions(), audit.SelfManagedCertificate()...)))
	Expect(err).NotTo(HaveOccurred())
	Expect(os.WriteFile(filepath.Join(shared, fmt.Sprintf("unused-%d.json", GinkgoParallelProcess())), unused, 0o600)).To(Succeed())
}

// expectLeastPrivilege checks that each permission was used by the manager of some process, if all specs ran.
func expectLeastPrivilege() {
	GinkgoHelper()
	notes, err := filepath.Glob(filepath.Join(shared, "unused-*.json"))
	Expect(err).NotTo(HaveOccurred())
	var unused []string
	for i, note := range notes {
		content, err := os.ReadFile(note)
		Expect(err).NotTo(HaveOccurred())
		var found []string
		Expect(json.Unmarshal(content, &found)).To(Succeed())
		if i == 0 {
			unused = found
		}
		unused = slices.DeleteFunc(unused, func(permission string) bool { return !slices.Contains(found, permission) })
	}
	if !everySpec {
		GinkgoWriter.Printf("In this part of the suite:\n%s\n", strings.Join(unused, "\n"))
		return
	}
	suite, _ := GinkgoConfiguration()
	Expect(notes).To(HaveLen(suite.ParallelTotal))
	Expect(unused).To(BeEmpty())
}

// requests returns the operator's requests to the API server, in the order of the audit log.
func requests() []auditv1.Event {
	GinkgoHelper()
	log, err := os.Open(plane.AuditLog())
	Expect(err).NotTo(HaveOccurred())
	defer log.Close()
	found, err := audit.Read(log, operator.User)
	Expect(err).NotTo(HaveOccurred())
	return found
}
