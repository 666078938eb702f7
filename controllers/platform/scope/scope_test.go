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

package scope_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
)

func TestCacheOptionsHoldTheKindsOfOneWorkloadAndNoOther(t *testing.T) {
	g := NewWithT(t)
	options, err := scope.CacheOptions(workload.Registry{deployment.Kind{}})
	g.Expect(err).NotTo(HaveOccurred())
	kinds := make([]string, 0, len(options.ByObject))
	for object := range options.ByObject {
		kinds = append(kinds, fmt.Sprintf("%T", object))
	}
	g.Expect(kinds).To(ConsistOf("*v1.Namespace", "*v1.Deployment", "*v1.ReplicaSet", "*v1.Pod",
		"*v1alpha1.ChangeWorkload", "*v1alpha1.ChangePod", "*v1alpha1.OpsConfigInfo", "*v1alpha1.ControlledKind",
		"*v1alpha1.ChangeFreeze", "*v1alpha1.BreakGlass", "*v1alpha1.ReleasePolicy", "*v1alpha1.ReleaseGate", "*v1alpha1.ChangeApproval", "*v1alpha1.ChangeVerdict",
		"*v1alpha1.VerificationPolicy", "*v1alpha1.VerificationSource", "*v1alpha1.ChangeSubscription"))
	g.Expect(options.ReaderFailOnMissingInformer).To(BeTrue(), "a kind without a watch is never watched by accident")
}

func TestCacheOptionsShareATypeOfSeveralKinds(t *testing.T) {
	g := NewWithT(t)
	options, err := scope.CacheOptions(testkit.Kinds())
	g.Expect(err).NotTo(HaveOccurred())
	kinds := make([]string, 0, len(options.ByObject))
	for object := range options.ByObject {
		kinds = append(kinds, fmt.Sprintf("%T", object))
	}
	g.Expect(kinds).To(ConsistOf("*v1.Namespace", "*v1.Deployment", "*v1.ReplicaSet", "*v1.StatefulSet", "*v1.DaemonSet", "*v1.ControllerRevision", "*v1.CronJob", "*v1.Job", "*v1.Pod",
		"*v1alpha1.ChangeWorkload", "*v1alpha1.ChangePod", "*v1alpha1.OpsConfigInfo", "*v1alpha1.ControlledKind",
		"*v1alpha1.ChangeFreeze", "*v1alpha1.BreakGlass", "*v1alpha1.ReleasePolicy", "*v1alpha1.ReleaseGate", "*v1alpha1.ChangeApproval", "*v1alpha1.ChangeVerdict",
		"*v1alpha1.VerificationPolicy", "*v1alpha1.VerificationSource", "*v1alpha1.ChangeSubscription"))
}

func TestCacheOptionsSelect(t *testing.T) {
	const version = "admission-webhook-altershield.antgroup.com/version"
	for _, row := range []struct {
		name   string
		object client.Object
		labels labels.Set
		match  bool
	}{
		{"a Namespace that is opted in", &corev1.Namespace{}, labels.Set{"admission-webhook-altershield": "enabled"}, true},
		{"no Namespace with another value", &corev1.Namespace{}, labels.Set{"admission-webhook-altershield": "disabled"}, false},
		{"no other Namespace", &corev1.Namespace{}, labels.Set{"team": "a"}, false},
		{"a Deployment with a version", &appsv1.Deployment{}, labels.Set{version: "c6c45d23c098bdf181853a85b60b5d74"}, true},
		{"no Deployment without one", &appsv1.Deployment{}, labels.Set{"app": "sleep"}, false},
		{"a ReplicaSet with a version", &appsv1.ReplicaSet{}, labels.Set{version: "c6c45d23c098bdf181853a85b60b5d74"}, true},
		{"no ReplicaSet without one", &appsv1.ReplicaSet{}, labels.Set{"app": "sleep"}, false},
		{"a Pod with a version", &corev1.Pod{}, labels.Set{version: "c6c45d23c098bdf181853a85b60b5d74"}, true},
		{"no Pod without one", &corev1.Pod{}, labels.Set{"app": "sleep"}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(optionsOf(t, row.object).Label.Matches(row.labels)).To(Equal(row.match))
		})
	}
	for _, object := range []client.Object{&appv1alpha1.ChangeWorkload{}, &appv1alpha1.ChangePod{}, &appv1alpha1.OpsConfigInfo{}} {
		t.Run(fmt.Sprintf("every %T", object), func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(optionsOf(t, object).Label).To(BeNil())
			g.Expect(optionsOf(t, object).Field).To(BeNil())
			g.Expect(optionsOf(t, object).Namespaces).To(BeEmpty())
		})
	}
}

func TestCacheOptionsDropTheManagedFieldsOfOurOwnKinds(t *testing.T) {
	g := NewWithT(t)
	options, err := scope.CacheOptions(workload.Registry{deployment.Kind{}})
	g.Expect(err).NotTo(HaveOccurred())
	result, err := options.DefaultTransform(&appv1alpha1.ChangePod{ObjectMeta: full(), Spec: appv1alpha1.ChangePodSpec{Release: 3}})
	g.Expect(err).NotTo(HaveOccurred())
	changePod := result.(*appv1alpha1.ChangePod)
	g.Expect(changePod.ManagedFields).To(BeEmpty())
	g.Expect(changePod.ResourceVersion).To(Equal("42"))
	g.Expect(changePod.Spec.Release).To(Equal(int64(3)))
}

func readerOf(funcs interceptor.Funcs, objects ...client.Object) client.Reader {
	return fake.NewClientBuilder().WithScheme(testkit.Scheme()).WithObjects(objects...).WithInterceptorFuncs(funcs).Build()
}

// unreadable answers every read with an error.
func unreadable() interceptor.Funcs {
	return interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return errors.New("not synced")
	}}
}

func TestOptedInWhileTheCacheHoldsTheNamespace(t *testing.T) {
	g := NewWithT(t)
	reader := readerOf(interceptor.Funcs{}, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
	g.Expect(scope.OptedIn(t.Context(), reader, "default")).To(BeTrue())
	g.Expect(scope.OptedIn(t.Context(), reader, "other")).To(BeFalse())
	ending := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ending", DeletionTimestamp: &now, Finalizers: []string{"kubernetes"}}}
	g.Expect(scope.OptedIn(t.Context(), readerOf(interceptor.Funcs{}, ending), "ending")).To(BeFalse(), "it is being deleted")
	_, err := scope.OptedIn(t.Context(), readerOf(unreadable()), "default")
	g.Expect(err).To(MatchError("reading namespace default: not synced"))
}

func TestOptedOutSaysWhatCouldNotBeRead(t *testing.T) {
	_, err := scope.OptedOut(t.Context(), readerOf(interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("no answer")
		},
	}), "shop")
	NewWithT(t).Expect(err).To(MatchError("checking whether namespace shop is opted out: no answer"))
}

func TestIsEndingWhereTheNamespaceIsBeingDeleted(t *testing.T) {
	g := NewWithT(t)
	refusal := apierrors.NewForbidden(schema.GroupResource{Resource: "changepods"}, "sleep", errors.New("no"))
	g.Expect(scope.IsEnding(refusal)).To(BeFalse())
	refusal.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: "NamespaceTerminating"}}
	g.Expect(scope.IsEnding(refusal)).To(BeTrue())
	g.Expect(scope.IsEnding(fmt.Errorf("creating ChangePod: %w", refusal))).To(BeTrue())
	g.Expect(scope.IsEnding(nil)).To(BeFalse())
}

func TestCreatedOrDeletedPassesNamespacesThatComeOrGo(t *testing.T) {
	g := NewWithT(t)
	namespace := &corev1.Namespace{}
	g.Expect(scope.CreatedOrDeleted().Create(event.CreateEvent{Object: namespace})).To(BeTrue())
	g.Expect(scope.CreatedOrDeleted().Delete(event.DeleteEvent{Object: namespace})).To(BeTrue())
	g.Expect(scope.CreatedOrDeleted().Update(event.UpdateEvent{ObjectOld: namespace, ObjectNew: namespace})).To(BeFalse())
}
