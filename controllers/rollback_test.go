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
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// putRollback requests a rollback from the operator, with a bearer token.
func putRollback(ctx context.Context, token, body string) answer {
	GinkgoHelper()
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, manager.RouterURL()+"/openapi/altershield/deployment/rollback", strings.NewReader(body))
	Expect(err).NotTo(HaveOccurred())
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	return do(request)
}

// sre returns the token of an account with a ClusterRole in a namespace, or without any if it is empty.
func sre(ctx context.Context, namespace, role string) string {
	GinkgoHelper()
	Expect(kube.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sre"}})).To(Succeed())
	if role != "" {
		Expect(kube.Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sre"},
			RoleRef:    rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: "sre"}},
		})).To(Succeed())
	}
	account, err := plane.ServiceAccountConfig(ctx, namespace, "sre")
	Expect(err).NotTo(HaveOccurred())
	return account.BearerToken
}

var _ = Describe("A rollback on request", func() {
	annotate := func(ctx context.Context, namespace, value string) {
		GinkgoHelper()
		output, err := kubectl(ctx, "-n", namespace, "annotate", "deployment", "sleep", "altershield.defense.antgroup.com/rollback="+value)
		Expect(err).NotTo(HaveOccurred(), output)
	}

	It("by annotation goes to the newest verified version, although no ReplicaSet has it any more", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		second := twoVerified(ctx, namespace, func(deployment *appsv1.Deployment) { deployment.Spec.RevisionHistoryLimit = ptr.To[int32](0) })
		Eventually(func() int { return len(replicaSets(ctx, namespace)) }).Should(Equal(1))
		Expect(revisions(ctx, namespace)).To(Equal([]string{
			"sleep--x--" + second + " deployment.apps/sleep 2", first + " deployment.apps/sleep 1",
		}))
		annotate(ctx, namespace, "true")
		backAtFirst(ctx, namespace)
		record := rollbacksOf(ctx, namespace)
		Expect(record).To(HaveLen(1))
		Expect(record[0].User).To(Equal("admin"))
		Expect(record[0].Reason).To(BeEquivalentTo("Requested"))
		Expect(record[0].RefusedUntil).NotTo(BeNil())
		Expect(get(ctx, namespace, "sleep").Annotations).NotTo(Or(
			HaveKey("altershield.defense.antgroup.com/rollback"), HaveKey("altershield.defense.antgroup.com/rollback-by")))
		Expect(workload(ctx, namespace, first).Spec.ReleasedBy).To(Equal("admin"))
		Eventually(notes(ctx, namespace, "ReleaseRolledBack")).Should(ConsistOf(ContainSubstring("admin asked for it")))
		Eventually(func() []string { return revisions(ctx, namespace) }).Should(ContainElement(first+" deployment.apps/sleep 3"), "verified again")
	})

	It("by annotation for a version that was never verified is turned down", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		second := twoVerified(ctx, namespace)
		annotate(ctx, namespace, "0123456789abcdef0123456789abcdef")
		Eventually(notes(ctx, namespace, "ReleaseNotRolledBack")).Should(ConsistOf(And(
			ContainSubstring("can't go back to version \"0123456789abcdef0123456789abcdef\""), ContainSubstring(firstVersion))))
		Expect(get(ctx, namespace, "sleep").Annotations).NotTo(HaveKey("altershield.defense.antgroup.com/rollback"))
		Expect(released(ctx, namespace)()).To(Equal(second))
	})

	It("that is empty is none, and one that a release overtakes is not met", slow, func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		second := twoVerified(ctx, namespace)
		annotate(ctx, namespace, "")
		Consistently(released(ctx, namespace)).Should(Equal(second))
		output, err := patchSleep(ctx, namespace, `{"metadata":{"annotations":{"altershield.defense.antgroup.com/rollback":"true"}},"spec":{"template":{"metadata":{"labels":{"test":"repaired"}}}}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		Expect(get(ctx, namespace, "sleep").Annotations).NotTo(HaveKey("altershield.defense.antgroup.com/rollback"))
		third := verified(ctx, namespace, "sleep").Spec.Reversion
		Consistently(released(ctx, namespace)).Should(Equal(third))
	})

	It("is forgotten once the version was forced in again and verified", slow, func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		second := twoVerified(ctx, namespace)
		annotate(ctx, namespace, "true")
		backAtFirst(ctx, namespace)
		output, err := release(ctx, namespace, "1234")
		Expect(err).To(HaveOccurred())
		Expect(output).To(ContainSubstring("because admin asked for it"))
		repairSleep(ctx, namespace, 5)
		Expect(verified(ctx, namespace, "sleep").Spec.Reversion).To(Equal(second))
		Eventually(func() []appv1alpha1.Rollback { return rollbacksOf(ctx, namespace) }).Should(BeEmpty())
		output, err = release(ctx, namespace, "123")
		Expect(err).NotTo(HaveOccurred(), output)
		verified(ctx, namespace, "sleep")
		output, err = release(ctx, namespace, "1234")
		Expect(err).NotTo(HaveOccurred(), output)
	})

	It("of a rollback needs a version, so that a request in Git doesn't swing between two", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		second := twoVerified(ctx, namespace)
		annotate(ctx, namespace, "true")
		backAtFirst(ctx, namespace)
		annotate(ctx, namespace, "true")
		Eventually(notes(ctx, namespace, "ReleaseNotRolledBack")).Should(ConsistOf(ContainSubstring("release 3 of deployment sleep is a rollback itself: name the version to go back to")))
		annotate(ctx, namespace, second)
		Eventually(notes(ctx, namespace, "ReleaseNotRolledBack")).Should(ContainElement(ContainSubstring("can't go back to version \""+second)), "it is refused")
		Expect(released(ctx, namespace)()).To(Equal(firstVersion))
	})

	It("by HTTP is for users who may patch the Deployment, and is recorded with their name", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		second := twoVerified(ctx, namespace)
		body := `{"namespace":"` + namespace + `","name":"sleep"}`
		Expect(putRollback(ctx, "", body).status).To(Equal(401))
		Expect(putRollback(ctx, "guess", body).status).To(Equal(401))
		token := sre(ctx, namespace, "view")
		denied := putRollback(ctx, token, body)
		Expect(denied.status).To(Equal(403))
		Expect(denied.body).To(ContainSubstring(`cannot patch resource \"deployments\" named \"sleep\"`))
		Expect(released(ctx, namespace)()).To(Equal(second))

		output, err := kubectl(ctx, "-n", namespace, "create", "rolebinding", "editor", "--clusterrole=edit", "--serviceaccount="+namespace+":sre")
		Expect(err).NotTo(HaveOccurred(), output)
		Expect(putRollback(ctx, token, `{"namespace":"`+namespace+`"}`).status).To(Equal(400))
		var done answer
		Eventually(func() int {
			done = putRollback(ctx, token, `{"namespace":"`+namespace+`","name":"sleep","version":"`+firstVersion+`"}`)
			return done.status
		}).Should(Equal(200), "a denial is remembered for a while")
		var told map[string]any
		Expect(json.Unmarshal([]byte(done.body), &told)).To(Succeed())
		Expect(told).To(HaveKeyWithValue("fromVersion", second))
		Expect(told).To(HaveKeyWithValue("toVersion", firstVersion))
		backAtFirst(ctx, namespace)
		Expect(rollbacksOf(ctx, namespace)[0].User).To(Equal("system:serviceaccount:" + namespace + ":sre"))
		Expect(workload(ctx, namespace, first).Spec.ReleasedBy).To(Equal("system:serviceaccount:" + namespace + ":sre"))
		again := putRollback(ctx, token, body)
		Expect(again.status).To(Equal(409))
		Expect(again.body).To(ContainSubstring("is a rollback itself"))
		parked := putRollback(ctx, token, `{"namespace":"`+namespace+`","name":"sleep","park":true}`)
		Expect(parked.status).To(Equal(409))
		Expect(parked.body).To(ContainSubstring("deployment sleep can't be parked: only StatefulSets with the strategy RollingUpdate can"))
		Expect(putRollback(ctx, token, `{"namespace":"`+namespace+`","name":"absent"}`).status).To(Equal(404))
	})

	It("ends a suspension in mid-rollout: the rest kept the old version", slow, func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace, replicas(20)))).To(Succeed())
		verified(ctx, namespace, "sleep")
		output, err := patchSleep(ctx, namespace, `{"spec":{"strategy":{"rollingUpdate":{"maxSurge":1,"maxUnavailable":0}},
			"template":{"metadata":{"labels":{"test":"bad"},"annotations":{"local.altershield.io/ready-after":"2s"}}}}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		bad := currentName(ctx, namespace, "sleep")
		Eventually(func() []string { return names(ctx, namespace) }).Should(ContainElement(bad + "--x--3"))
		fail(ctx, namespace, bad+"--x--3")
		Eventually(labelsOf(ctx, namespace)).Should(HaveKey("altershield.defense.antgroup.com/suspend"))
		token := sre(ctx, namespace, "edit")
		Eventually(func() int { return putRollback(ctx, token, `{"namespace":"`+namespace+`","name":"sleep"}`).status }).Should(Equal(200))
		Expect(get(ctx, namespace, "sleep").Spec.Paused).To(BeFalse(), "the same admission ends the hold")
		Eventually(readyPods(ctx, namespace)).Should(Equal([]string{firstVersion + " x20"}))
		Eventually(labelsOf(ctx, namespace)).ShouldNot(HaveKey("altershield.defense.antgroup.com/suspend"))
		Expect(released(ctx, namespace)()).To(Equal(firstVersion))
	})
})

var _ = Describe("A suspended release", func() {
	It("goes back by itself where that is switched on", func(ctx context.Context) {
		configure(ctx, "suspended-rollback", `{"spec":{"enable":true}}`)
		namespace := controlledNamespace(ctx)
		second := twoVerified(ctx, namespace)
		fail(ctx, namespace, "sleep--x--"+second+"--x--1")
		backAtFirst(ctx, namespace)
		Eventually(labelsOf(ctx, namespace)).ShouldNot(HaveKey("altershield.defense.antgroup.com/suspend"))
		record := rollbacksOf(ctx, namespace)
		Expect(record[0].Reason).To(BeEquivalentTo("PodsFailed"))
		Expect(record[0].Message).To(ContainSubstring("find error"))
		Expect(record[0].User).To(BeEmpty())

		By("failing the version that it went back to: a rollback doesn't follow another")
		third := names(ctx, namespace)
		Expect(third).To(HaveLen(5))
		fail(ctx, namespace, third[0])
		Eventually(labelsOf(ctx, namespace)).Should(HaveKey("altershield.defense.antgroup.com/suspend"))
		Eventually(notes(ctx, namespace, "ReleaseNotRolledBack")).Should(ConsistOf(ContainSubstring("is a rollback itself")))
		Expect(released(ctx, namespace)()).To(Equal(firstVersion))
	})

	It("stays if no other version was verified, with an Event", func(ctx context.Context) {
		configure(ctx, "suspended-rollback", `{"spec":{"enable":true}}`)
		namespace := controlledNamespace(ctx)
		suspended(ctx, namespace)
		Eventually(notes(ctx, namespace, "ReleaseNotRolledBack")).Should(ConsistOf(ContainSubstring("has no other verified version to go back to")))
		Expect(released(ctx, namespace)()).To(Equal(firstVersion))
	})
})
