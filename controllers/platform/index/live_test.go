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

package index_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/traas-stack/altershield-operator/controllers/platform/index"
)

func TestLiveListsTheObjectsOfATypeOnce(t *testing.T) {
	g, lists := NewWithT(t), 0
	of := func(name, owner string) *appsv1.ReplicaSet {
		return &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "apps/v1", Kind: "Deployment", Name: owner, UID: types.UID(owner), Controller: ptr.To(true)}}}}
	}
	api := fake.NewClientBuilder().WithObjects(of("a-1", "a"), of("a-2", "a"), of("b-1", "b")).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, inner client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			lists++
			return inner.List(ctx, list, options...)
		},
	}).Build()
	live := index.Live(api)
	for owner, number := range map[types.UID]int{"a": 2, "b": 1, "c": 0} {
		var found appsv1.ReplicaSetList
		g.Expect(index.Owned(t.Context(), live, &found, "shop", owner)).To(Succeed())
		g.Expect(found.Items).To(HaveLen(number), string(owner))
	}
	g.Expect(lists).To(Equal(1))
	g.Expect(index.Owned(t.Context(), live, &appsv1.StatefulSetList{}, "shop", "a")).To(Succeed())
	g.Expect(index.Owned(t.Context(), live, &appsv1.ReplicaSetList{}, "other", "a")).To(Succeed())
	g.Expect(lists).To(Equal(3))
}
