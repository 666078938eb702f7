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

package command_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/command"
)

const system = "altershieldoperator-system"

// policies are those of the namespace shop and of the platform.
func policies() []client.Object {
	prod := &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "prod"}}
	steps := []appv1alpha1.ReleaseStep{{Replicas: 1}, {Percent: 100}}
	return []client.Object{
		verified(7, "49"), web(7, "49"),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"tier": "prod"}}},
		&appv1alpha1.ReleasePolicy{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "careful"}, Spec: appv1alpha1.ReleasePolicySpec{NamespaceSelector: prod, Steps: steps}},
		&appv1alpha1.ReleasePolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "of-api"}, Spec: appv1alpha1.ReleasePolicySpec{
			Workloads: []appv1alpha1.WorkloadSelector{{Kind: "Deployment.apps", Name: "api"}}, Steps: steps,
		}},
		&appv1alpha1.VerificationPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "builtin"}, Spec: appv1alpha1.VerificationPolicySpec{
			NamespaceSelector: &metav1.LabelSelector{}, VerificationTerms: appv1alpha1.VerificationTerms{Mode: "Enforce", Checks: []appv1alpha1.VerificationCheck{{Name: "pods"}}},
		}},
		&appv1alpha1.ChangeFreeze{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "friday"}, Spec: appv1alpha1.ChangeFreezeSpec{
			Action: "Park", Windows: []appv1alpha1.FreezeWindow{{Days: []appv1alpha1.Weekday{"Fri"}, From: "16:00", To: "24:00", TimeZone: "UTC"}},
		}},
	}
}

func TestPoliciesOfAWorkloadAreThoseThatTheOperatorFinds(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, policies()...)
	g.Expect(b.run("policies", "web").expects(g, command.OK)).To(Equal(
		"KIND                NAMESPACE                   NAME     DOES                                     SELECTS\n" +
			"ReleasePolicy       altershieldoperator-system  careful  steps: 1, 100%                           all workloads in namespaces with tier=prod\n" +
			"VerificationPolicy  altershieldoperator-system  builtin  mode: Enforce; checks: pods              all workloads in namespaces with any label\n" +
			"ChangeFreeze        shop                        friday   action: Park; from 2026-11-27T16:00:00Z  all workloads in namespace shop\n"))
	g.Expect(b.run("policies", "web", "-o", "name").expects(g, command.OK)).To(ContainSubstring("verificationpolicy.app.ops.cloud.alipay.com/builtin\n"))
	g.Expect(b.run("policies", "web", "--operator-namespace=other").expects(g, command.OK)).NotTo(ContainSubstring("builtin"))
}

func TestPoliciesOfANamespaceAreAllOfThem(t *testing.T) {
	g := NewWithT(t)
	text := newBench(t, policies()...).run("policies").expects(g, command.OK)
	for _, name := range []string{"careful", "of-api", "builtin", "friday"} {
		g.Expect(text).To(ContainSubstring(" " + name + " "))
	}
	g.Expect(newBench(t).run("policies").expects(g, command.OK)).To(Equal("no policies and no freezes\n"))
}

func TestPoliciesThatMayNotBeReadAreNoted(t *testing.T) {
	g := NewWithT(t)
	b := newBenchWith(t, refuses("ReleasePolicy", "Namespace"), policies()...)
	text := b.run("policies", "web").expects(g, command.OK)
	g.Expect(text).To(And(ContainSubstring("you may not list releasepolicys in namespace "+system+": some policies are not shown\n"),
		ContainSubstring("you may not get namespaces in namespace shop: some policies are not shown\n"), ContainSubstring("friday")))
	g.Expect(text).NotTo(ContainSubstring("builtin"), "the labels of the namespace aren't known")
}

func TestPoliciesThatCanNotBeReadAreAnError(t *testing.T) {
	for _, kind := range []string{"ReleasePolicyList", "VerificationPolicyList", "ChangeFreezeList"} {
		b := newBenchWith(t, interceptor.Funcs{List: func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if strings.HasSuffix(fmt.Sprintf("%T", list), kind) {
				return apierrors.NewInternalError(errors.New("disk full"))
			}
			return kube.List(ctx, list, options...)
		}}, policies()...)
		NewWithT(t).Expect(b.run("policies", "web").err).To(ContainSubstring("disk full"), kind)
		NewWithT(t).Expect(b.run("policies").err).To(ContainSubstring("listing policies in namespace shop: Internal error occurred: disk full"), kind)
	}
	b := newBenchWith(t, refuses("Deployment"), policies()...)
	NewWithT(t).Expect(b.run("policies", "web").err).To(ContainSubstring("deployment/web can't be read, so that it isn't known which policies concern it"))
}
