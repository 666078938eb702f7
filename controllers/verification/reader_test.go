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

package verification_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/verification"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
)

type option = func(*appv1alpha1.VerificationPolicy)

func policy(namespace, name string, changes ...option) client.Object {
	policy := &appv1alpha1.VerificationPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	for _, change := range changes {
		change(policy)
	}
	return policy
}

func of(workloads ...appv1alpha1.WorkloadSelector) option {
	return func(policy *appv1alpha1.VerificationPolicy) { policy.Spec.Workloads = workloads }
}

func across(tier string) option {
	return func(policy *appv1alpha1.VerificationPolicy) {
		policy.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": tier}}
	}
}

func created(seconds int64) option {
	return func(policy *appv1alpha1.VerificationPolicy) {
		policy.CreationTimestamp = metav1.NewTime(time.Unix(seconds, 0))
	}
}

// ofServer has a policy judge the verdicts of the server.
func ofServer(policy *appv1alpha1.VerificationPolicy) {
	policy.Spec.Checks = []appv1alpha1.VerificationCheck{{Name: "pods", Type: "PodHealth"}, {Name: "server", Type: "Server"}}
}

// web is the workload of the tests.
var web = &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Labels: map[string]string{"app": "web"}}}

func TestReaderFindsEveryPolicyOfAWorkload(t *testing.T) {
	for name, row := range map[string]struct {
		policies []client.Object
		found    []string
	}{
		"none":                                          {},
		"one of all workloads":                          {[]client.Object{policy("shop", "a")}, []string{"shop/a"}},
		"none of another namespace":                     {[]client.Object{policy("bar", "a")}, nil},
		"none of the operator's own":                    {[]client.Object{policy("system", "a")}, nil},
		"the platform's":                                {[]client.Object{policy("system", "a", across("prod"))}, []string{"system/a"}},
		"none of other namespaces":                      {[]client.Object{policy("system", "a", across("dev"))}, nil},
		"none that may not select some":                 {[]client.Object{policy("shop", "a", across("prod"))}, nil},
		"none of other workloads":                       {[]client.Object{policy("shop", "a", of(appv1alpha1.WorkloadSelector{Kind: "Deployment.apps", Name: "api"}))}, nil},
		"none that may not loosen what the server says": {[]client.Object{policy("shop", "a", ofServer)}, nil},
		"the platform's of what the server says":        {[]client.Object{policy("system", "a", across("prod"), ofServer)}, []string{"system/a"}},
		"the platform's first, then the oldest": {
			[]client.Object{policy("shop", "a", created(3)), policy("shop", "b", created(2)), policy("system", "c", created(4), across("prod"))},
			[]string{"system/c", "shop/b", "shop/a"},
		},
		"by its labels": {[]client.Object{policy("shop", "a", of(appv1alpha1.WorkloadSelector{
			Kind: "Deployment.apps", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		}))}, []string{"shop/a"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"tier": "prod"}}}
			reader := verification.Reader{Client: testkit.NewFake(t, append(row.policies, namespace)...), Namespace: "system"}
			policies, err := reader.Of(t.Context(), deployment.Kind{}, web)
			g.Expect(err).NotTo(HaveOccurred())
			var found []string
			for i := range policies {
				found = append(found, policies[i].Namespace+"/"+policies[i].Name)
			}
			g.Expect(found).To(Equal(row.found))
		})
	}
}

func TestReaderReturnsErrors(t *testing.T) {
	reader := verification.Reader{Client: fake.NewClientBuilder().Build(), Namespace: "system"}
	_, err := reader.Of(t.Context(), deployment.Kind{}, web)
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("listing the VerificationPolicies in namespace system: ")))
}
