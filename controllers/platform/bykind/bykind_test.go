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

package bykind_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/bykind"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
)

func named(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: "uid-1",
		Labels: map[string]string{"admission-webhook-altershield.antgroup.com/version": "0123456789abcdef0123456789abcdef"},
	}
}

func request(kind, namespace, name string) bykind.Request {
	return bykind.Request{Kind: schema.GroupKind{Group: "apps", Kind: kind}, ObjectKey: client.ObjectKey{Namespace: namespace, Name: name}}
}

func TestMapper(t *testing.T) {
	deployments, sets := bykind.Only{Kind: deployment.Kind{}}, bykind.Only{Kind: statefulset.Kind{}}
	both := workload.Registry{deployment.Kind{}, statefulset.Kind{}}
	kube := testkit.NewFake(t,
		&appsv1.Deployment{ObjectMeta: named("shop", "web")}, &appsv1.Deployment{ObjectMeta: named("bank", "web")}, &appsv1.StatefulSet{ObjectMeta: named("shop", "db")})
	owned := func(apiVersion, kind string) client.Object {
		controls := true
		return &appv1alpha1.ChangeWorkload{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", OwnerReferences: []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: "web", Controller: &controls}},
		}}
	}
	shop := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	kindOf := func(name string) client.Object {
		return &appv1alpha1.ControlledKind{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	for _, row := range []struct {
		name   string
		kinds  workload.Kinds
		by     func(bykind.Mapper, context.Context, client.Object) []bykind.Request
		object client.Object
		want   []bykind.Request
	}{
		{"a namespace, to those of one kind", deployments, bykind.Mapper.Namespace, shop, []bykind.Request{request("Deployment", "shop", "web")}},
		{"a namespace, to those of two kinds", both, bykind.Mapper.Namespace, shop, []bykind.Request{request("Deployment", "shop", "web"), request("StatefulSet", "shop", "db")}},
		{"a setting, to all", both, bykind.Mapper.All, &appv1alpha1.OpsConfigInfo{},
			[]bykind.Request{request("Deployment", "bank", "web"), request("Deployment", "shop", "web"), request("StatefulSet", "shop", "db")}},
		{"a ControlledKind, to those of its kind", both, bykind.Mapper.ControlledKind, kindOf("statefulsets.apps"), []bykind.Request{request("StatefulSet", "shop", "db")}},
		{"a ControlledKind of another kind, to none", deployments, bykind.Mapper.ControlledKind, kindOf("statefulsets.apps"), nil},
		{"an object, to its controller", both, bykind.Mapper.Owner, owned("apps/v1", "Deployment"), []bykind.Request{request("Deployment", "shop", "web")}},
		{"an object, to its controller in another version", both, bykind.Mapper.Owner, owned("apps/v1beta1", "Deployment"), []bykind.Request{request("Deployment", "shop", "web")}},
		{"an object of another kind, to none", sets, bykind.Mapper.Owner, owned("apps/v1", "Deployment"), nil},
		{"an object of another group, to none", both, bykind.Mapper.Owner, owned("apps.kruise.io/v1", "StatefulSet"), nil},
		{"an object without a controller, to none", both, bykind.Mapper.Owner, &appv1alpha1.ChangeWorkload{}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(row.by(bykind.Mapper{Kinds: row.kinds, Client: kube}, t.Context(), row.object)).To(ConsistOf(row.want))
		})
	}
}

func TestOnlyReconcilesTheWorkloadsOfItsKind(t *testing.T) {
	g, failure := NewWithT(t), errors.New("conflict")
	reconciler := bykind.Only{Kind: deployment.Kind{}}.Reconciler(func(kind workload.Kind) reconcile.Reconciler {
		g.Expect(kind).To(Equal(deployment.Kind{}))
		return reconcile.Func(func(_ context.Context, request reconcile.Request) (reconcile.Result, error) {
			g.Expect(request).To(Equal(reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "shop", Name: "web"}}))
			return reconcile.Result{Priority: new(7)}, failure
		})
	})
	result, err := reconciler.Reconcile(t.Context(), request("Deployment", "shop", "web"))
	g.Expect(err).To(Equal(failure))
	g.Expect(*result.Priority).To(Equal(7))
}
