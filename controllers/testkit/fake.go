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

package testkit

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/cronjob"
	"github.com/traas-stack/altershield-operator/controllers/workload/daemonset"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
	"github.com/traas-stack/altershield-operator/controllers/workload/job"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
)

// Kinds returns the kinds of workloads under change control.
func Kinds() workload.Registry {
	return workload.Registry{deployment.Kind{}, statefulset.Kind{}, daemonset.Kind{}, cronjob.Kind{}, job.Kind{}}
}

// Scheme returns a scheme with the kinds of Kubernetes and of the operator.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(appv1alpha1.AddToScheme(scheme))
	utilruntime.Must(apiextensionsv1.AddToScheme(scheme))
	return scheme
}

// ControlledKind returns the ControlledKind of a built-in kind.
func ControlledKind(name string, mode appv1alpha1.ControlledKindMode) *appv1alpha1.ControlledKind {
	return &appv1alpha1.ControlledKind{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       appv1alpha1.ControlledKindSpec{BuiltIn: true, Mode: mode},
	}
}

// NewFake returns a fake client with the objects, the indexes of package index, and status subresources. Kinds without a ControlledKind among
// the objects are enforced.
func NewFake(t testing.TB, objects ...client.Object) client.WithWatch {
	t.Helper()
	for _, kind := range Kinds() {
		name := workload.ControlledKindName(kind)
		if !slices.ContainsFunc(objects, func(object client.Object) bool {
			_, controlled := object.(*appv1alpha1.ControlledKind)
			return controlled && object.GetName() == name
		}) {
			objects = append(objects, ControlledKind(name, appv1alpha1.ModeEnforce))
		}
	}
	builder := fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(objects...).
		// The API server selects by name without an index.
		WithIndex(&corev1.Namespace{}, "metadata.name", func(object client.Object) []string { return []string{object.GetName()} }).
		WithStatusSubresource(&appv1alpha1.ChangePod{}, &appv1alpha1.ChangeWorkload{}, &appv1alpha1.OpsConfigInfo{}, &appv1alpha1.ControlledKind{},
			&appv1alpha1.ChangeFreeze{}, &appv1alpha1.BreakGlass{}, &appv1alpha1.ReleasePolicy{}, &appv1alpha1.ChangeApproval{}, &appv1alpha1.VerificationPolicy{},
			&appv1alpha1.VerificationSource{}, &appv1alpha1.ChangeVerdict{}, &appv1alpha1.ChangeSubscription{})
	if err := index.Setup(t.Context(), fakeIndexer{builder}, Kinds()); err != nil {
		t.Fatal(err)
	}
	return builder.Build()
}

// Denied returns the answer to a write that a webhook denies with a code.
func Denied(code int32) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Message: `admission webhook "guard.example.com" denied the request: no`}}
}

type fakeIndexer struct{ *fake.ClientBuilder }

func (i fakeIndexer) IndexField(_ context.Context, object client.Object, field string, extract client.IndexerFunc) error {
	i.WithIndex(object, field, extract)
	return nil
}
