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

package audit_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/hack/permissions/audit"
	"github.com/traas-stack/altershield-operator/hack/permissions/grant"
)

const operator = "system:serviceaccount:system:operator"

// Lines of the audit log of Kubernetes 1.36, shortened.
const log = `
{"stage":"ResponseComplete","requestURI":"/api/v1/pods?watch=true","verb":"watch","user":{"username":"system:serviceaccount:system:operator"},"objectRef":{"resource":"pods","apiVersion":"v1"},"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-11-21T19:03:41.742925Z"}
{"stage":"ResponseComplete","requestURI":"/api/v1/namespaces/a/secrets/s","verb":"get","user":{"username":"system:admin"},"objectRef":{"resource":"secrets","namespace":"a","name":"system:serviceaccount:system:operator","apiVersion":"v1"},"responseStatus":{"code":403}}
{"stage":"ResponseComplete","requestURI":"/apis/apps/v1/namespaces/a/deployments/d/status","verb":"patch","user":{"username":"system:serviceaccount:system:operator"},"objectRef":{"resource":"deployments","subresource":"status","namespace":"a","name":"d","apiGroup":"apps","apiVersion":"v1"},"responseStatus":{"code":409}}
{"stage":"ResponseComplete","requestURI":"/apis/coordination.k8s.io/v1/namespaces/system/leases/leader?timeout=5s","verb":"update","user":{"username":"system:serviceaccount:system:operator"},"objectRef":{"resource":"leases","namespace":"system","name":"leader","apiGroup":"coordination.k8s.io","apiVersion":"v1"},"responseStatus":{"code":200}}
{"stage":"ResponseComplete","requestURI":"/metrics?a=b","verb":"get","user":{"username":"system:serviceaccount:system:operator"},"responseStatus":{"code":200}}
`

const forbidden = `
{"requestURI":"/api/v1/namespaces/a/secrets","verb":"list","user":{"username":"system:serviceaccount:system:operator"},"objectRef":{"resource":"secrets","namespace":"a","apiVersion":"v1"},"responseStatus":{"code":403,"reason":"Forbidden","message":"secrets is forbidden: User cannot list"}}
{"requestURI":"/api/v1/namespaces/a/secrets","verb":"list","user":{"username":"system:serviceaccount:system:operator"},"objectRef":{"resource":"secrets","namespace":"a","apiVersion":"v1"},"responseStatus":{"code":403,"reason":"Forbidden","message":"secrets is forbidden: User cannot list"}}
{"requestURI":"/version","verb":"get","user":{"username":"system:serviceaccount:system:operator"},"responseStatus":{"code":403,"message":"forbidden: User cannot get path"}}
{"requestURI":"/apis/events.k8s.io/v1/namespaces/a/events","verb":"create","user":{"username":"system:serviceaccount:system:operator"},"objectRef":{"resource":"events","namespace":"a","apiGroup":"events.k8s.io"},"responseStatus":{"code":403,"message":"events is forbidden: unable to create new content in namespace a because it is being terminated"}}
{"requestURI":"/apis/a/v1/namespaces/a/changepods","verb":"create","user":{"username":"system:serviceaccount:system:operator"},"objectRef":{"resource":"changepods","namespace":"a","apiGroup":"a"},"responseStatus":{"code":403,"message":"changepods is forbidden: create not allowed while custom resource definition is terminating"}}
{"requestURI":"/apis/a/v1/namespaces/a/changeworkloads","verb":"create","user":{"username":"system:serviceaccount:system:operator"},"objectRef":{"resource":"changeworkloads","namespace":"a","apiGroup":"a"},"responseStatus":{"code":403,"message":"changeworkloads is forbidden: cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion b/v1 Kind B"}}
{"requestURI":"/api/v1/pods","verb":"list","user":{"username":"system:serviceaccount:system:operator"},"objectRef":{"resource":"pods"},"responseStatus":{"code":500}}
{"requestURI":"/api/v1/pods","verb":"watch","user":{"username":"system:serviceaccount:system:operator"},"objectRef":{"resource":"pods"}}
`

func TestForbiddenRequestsAreCounted(t *testing.T) {
	g := NewWithT(t)
	requests, err := audit.Read(strings.NewReader(strings.TrimSpace(forbidden)), operator)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(requests).To(HaveLen(8))
	g.Expect(audit.Forbidden(requests)).To(Equal([]string{
		"get /version was answered with 403: forbidden: User cannot get path (1 times)",
		"list secrets in namespace a was answered with 403: secrets is forbidden: User cannot list (2 times)",
	}))
}

func TestForbiddenIsEmptyWhereNothingWasForbidden(t *testing.T) {
	g := NewWithT(t)
	requests, err := audit.Read(strings.NewReader(strings.TrimSpace(log)), operator)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(requests).To(HaveLen(4), "the fifth is another user's")
	g.Expect(audit.Forbidden(requests)).To(BeEmpty())
}

func TestReadFailsAtALineThatIsNoEvent(t *testing.T) {
	_, err := audit.Read(strings.NewReader("{}\n{"+operator), operator)
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("reading line 2 of the audit log")))
}

func TestUnusedLeavesOutWhatARequestNeeds(t *testing.T) {
	requests, err := audit.Read(strings.NewReader(strings.TrimSpace(log)), operator)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	lease := grant.Permission{Group: "coordination.k8s.io", Resource: "leases", Verb: "update"}
	for name, test := range map[string]struct {
		granted grant.Grant
		unused  bool
	}{
		"on all objects of the core group": {grant.Grant{Permission: grant.Permission{Resource: "pods", Verb: "watch"}}, false},
		"with another verb":                {grant.Grant{Permission: grant.Permission{Resource: "pods", Verb: "list"}}, true},
		"of another group":                 {grant.Grant{Permission: grant.Permission{Group: "apps", Resource: "pods", Verb: "watch"}}, true},
		"of another user":                  {grant.Grant{Permission: grant.Permission{Resource: "secrets", Verb: "get"}}, true},
		"on a subresource":                 {grant.Grant{Permission: grant.Permission{Group: "apps", Resource: "deployments/status", Verb: "patch"}}, false},
		"on the object, not its status":    {grant.Grant{Permission: grant.Permission{Group: "apps", Resource: "deployments", Verb: "patch"}}, true},
		"in its namespace":                 {grant.Grant{Permission: lease, Namespace: "system"}, false},
		"in another namespace":             {grant.Grant{Permission: lease, Namespace: "other"}, true},
		"on a URL":                         {grant.Grant{Permission: grant.Permission{URL: "/metrics", Verb: "get"}}, false},
		"on another URL":                   {grant.Grant{Permission: grant.Permission{URL: "/version", Verb: "get"}}, true},
		"by a wildcard, which can't be told": {grant.Grant{Permission: grant.Permission{
			Resource: "*", Verb: "watch"}}, true},
		"on the one object":   {grant.Grant{Permission: grant.Permission{Group: "coordination.k8s.io", Resource: "leases", Verb: "update", Name: "leader"}}, false},
		"on another object":   {grant.Grant{Permission: grant.Permission{Group: "coordination.k8s.io", Resource: "leases", Verb: "update", Name: "other"}}, true},
		"that was a conflict": {grant.Grant{Permission: grant.Permission{Group: "apps", Resource: "deployments/status", Verb: "patch"}, Namespace: "a"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			unused := audit.Unused([]grant.Grant{test.granted}, requests, nil)
			if !test.unused {
				g.Expect(unused).To(BeEmpty())
				return
			}
			g.Expect(unused).To(ConsistOf(test.granted.String() + " is granted and was never used"))
		})
	}
}

func TestUnusedTakesAnExceptionThatIsGranted(t *testing.T) {
	g := NewWithT(t)
	granted := []grant.Grant{{Permission: grant.Permission{Group: "apps", Resource: "deployments/finalizers", Verb: "update"}, Role: grant.Role{Kind: "ClusterRole", Name: "operator"}}}
	g.Expect(audit.Unused(granted, nil, nil)).To(HaveLen(1))
	g.Expect(audit.Unused(granted, nil, []audit.Exception{{Permission: granted[0].Permission}})).To(BeEmpty())
	g.Expect(audit.Unused(granted, nil, audit.Exceptions())).To(ConsistOf(
		"update statefulsets.apps/finalizers is an exception and is not granted",
		"update daemonsets.apps/finalizers is an exception and is not granted",
		"update cronjobs.batch/finalizers is an exception and is not granted",
		"update jobs.batch/finalizers is an exception and is not granted",
		"update changeworkloads.app.ops.cloud.alipay.com/finalizers is an exception and is not granted",
		"delete changepods.app.ops.cloud.alipay.com is an exception and is not granted",
		"delete changerecords.app.ops.cloud.alipay.com is an exception and is not granted"))
}
