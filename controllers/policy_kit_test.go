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
	"maps"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/local/cluster"
	"github.com/traas-stack/altershield-operator/hack/local/operator"
)

const (
	suspendLabel      = "altershield.defense.antgroup.com/suspend"
	statusLabel       = "altershield.defense.antgroup.com/defense-status"
	ignoredByKey      = "altershield.defense.antgroup.com/ignored-suspend-by"
	ignoredRemovedKey = "altershield.defense.antgroup.com/ignored-suspend-removed"
	ignoredSuspend    = "altershield.defense.antgroup.com/ignored-suspend"
	finishedLabel     = "altershield.defense.antgroup.com/operate-finished"
	releaseKey        = "altershield.defense.antgroup.com/release"
	releasedByKey     = "altershield.defense.antgroup.com/released-by"
	rollbackKey       = "altershield.defense.antgroup.com/rollback"
	rollbackByKey     = "altershield.defense.antgroup.com/rollback-by"
	rollbacksKey      = "altershield.defense.antgroup.com/rollbacks"
	heldKey           = "altershield.defense.antgroup.com/held"
	frozenKey         = "altershield.defense.antgroup.com/frozen"
	breakGlassKey     = "altershield.defense.antgroup.com/break-glass"
)

// The users of requests. dev may edit the namespace, overrider may also override suspensions, admin may do everything.
const (
	dev                  = "dev"
	overrider            = `ACME\sre "on call"` // a name that JSON has to escape
	admin                = "admin"
	theOperator          = "system:serviceaccount:altershieldoperator-system:altershieldoperator-controller-manager"
	deploymentController = "system:serviceaccount:kube-system:deployment-controller"
	replicaSetController = "system:serviceaccount:kube-system:replicaset-controller"
)

// as returns a client of a user.
func as(user string) client.Client {
	GinkgoHelper()
	if user == admin {
		return kube
	}
	config := plane.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	impersonating, err := client.New(config, client.Options{Scheme: kube.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	return impersonating
}

// mayEdit lets a user edit the objects in a namespace, and binds further roles.
func mayEdit(ctx context.Context, namespace, user string, roles ...string) {
	GinkgoHelper()
	for _, role := range append(roles, "edit") {
		Expect(kube.Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "may-"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		})).To(Succeed())
	}
}

// installPolicies installs config/admission-policy until the container ends.
func installPolicies(ctx context.Context, namespace string) {
	GinkgoHelper()
	root, err := filepath.Abs("..")
	Expect(err).NotTo(HaveOccurred())
	policies := filepath.Join(root, "config", "admission-policy")
	Expect(plane.Install(ctx, policies, cluster.WebhookEndpoint{})).To(Succeed())
	DeferCleanup(func(ctx context.Context) {
		output, err := kubectl(ctx, "delete", "-k", policies)
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(policiesInForce(ctx, namespace)).Should(BeEmpty())
	})
	Eventually(policiesInForce(ctx, namespace)).Should(ConsistOf("suspension", "deployment-keys", "pod-keys", "records"))
}

// policiesInForce reports whether each policy denies a dry run that nothing else denies, on the suspended Deployment sleep of a
// namespace.
func policiesInForce(ctx context.Context, namespace string) func() []string {
	return func() []string {
		labelled, forged := get(ctx, namespace, "sleep"), get(ctx, namespace, "sleep")
		labelled.Labels[ignoredSuspend] = "true"
		forged.Annotations[rollbacksKey] = "[]"
		pod := sleepPod(namespace)
		pod.Labels = map[string]string{finishedLabel: "1"}
		var names []string
		for _, denied := range []error{
			as(dev).Update(ctx, labelled, client.DryRunAll),
			kube.Status().Update(ctx, forged, client.DryRunAll),
			kube.Create(ctx, pod, client.DryRunAll),
			kube.Create(ctx, recordByHand(namespace), client.DryRunAll),
		} {
			if denied == nil {
				continue
			}
			_, rest, found := strings.Cut(denied.Error(), "ValidatingAdmissionPolicy 'altershieldoperator-")
			name, _, _ := strings.Cut(rest, "'")
			if !found {
				name = denied.Error()
			}
			names = append(names, name)
		}
		return names
	}
}

// recordByHand returns a ChangeRecord as an administrator might forge it.
func recordByHand(namespace string) *appv1alpha1.ChangeRecord {
	now := metav1.Now()
	return &appv1alpha1.ChangeRecord{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "by-hand"},
		Spec: appv1alpha1.ChangeRecordSpec{
			Workload: appv1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "sleep", UID: "1"},
			Release:  1, Version: "6a8ff823a5011291b0f02a1d83c2222d", Type: appv1alpha1.TypeRelease, StartedAt: now, EndedAt: now,
			Outcome: appv1alpha1.OutcomeVerified, TraceID: "0af7651916cd43dd8448eb211c80319c",
		},
	}
}

func sleepPod(namespace string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "by-hand"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "sleep", Image: "busybox"}}},
	}
}

// stopAndRemoveWebhooks stops the operator and removes its webhooks until the container ends.
func stopAndRemoveWebhooks(ctx context.Context, namespace string) {
	GinkgoHelper()
	Expect(manager.Stop(ctx)).To(Succeed())
	DeferCleanup(func(ctx context.Context) {
		installed, err := operator.Install(ctx, plane, manager.Options())
		Expect(err).NotTo(HaveOccurred())
		manager = installed
		Expect(manager.Start(ctx)).To(Succeed())
		Eventually(stamps(ctx, namespace)).Should(Equal("stamped"))
	})
	Expect(kube.Delete(ctx, &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "altershieldoperator-mutating-webhook-configuration"}})).To(Succeed())
	Expect(kube.Delete(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "altershieldoperator-validating-webhook-configuration"}})).To(Succeed())
	Eventually(stamps(ctx, namespace)).Should(Equal("not stamped"))
}

// stamps reports whether new Deployments are stamped.
func stamps(ctx context.Context, namespace string) func() string {
	return func() string {
		deployment := sleep(namespace, alone("probe"))
		if err := kube.Create(ctx, deployment, client.DryRunAll); err != nil {
			return err.Error()
		}
		if deployment.Labels[versionLabel] == "" {
			return "not stamped"
		}
		return "stamped"
	}
}

// ownKeys returns the operator's labels and annotations of a Deployment and of its template; for a release only those that it must
// not change.
func ownKeys(deployment *appsv1.Deployment, released bool) map[string]string {
	keys := map[string]string{}
	collect := func(place string, from map[string]string) {
		maps.Copy(keys, prefixed(place, from, func(key string) bool {
			if released {
				return key == suspendLabel || key == rollbacksKey || place == "template " && key == finishedLabel
			}
			return strings.Contains(key, "altershield") && key != ignoredSuspend && key != rollbackKey
		}))
	}
	collect("label ", deployment.Labels)
	collect("annotation ", deployment.Annotations)
	collect("template ", deployment.Spec.Template.Labels)
	return keys
}

func prefixed(prefix string, from map[string]string, wanted func(string) bool) map[string]string {
	result := map[string]string{}
	for key, value := range from {
		if wanted(key) {
			result[prefix+key] = value
		}
	}
	return result
}

// noVersion is the version of no template.
const noVersion = "00000000000000000000000000000000"

// stamp makes a release of a Deployment's second version look like one stamped by the webhook.
func stamp(user, version string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Labels[versionLabel], d.Spec.Template.Labels[versionLabel] = version, version
		delete(d.Labels, statusLabel)
		d.Annotations[releaseKey] = "2"
		d.Annotations[releasedByKey] = fmt.Sprintf(`{"user":%q,"time":"2026-11-21T16:29:39Z","version":%q,"release":2}`, user, version)
	}
}
