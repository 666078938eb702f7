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

package bounded_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/traas-stack/altershield-operator/controllers/platform/bounded"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

func TestReaderReadsNotTooOftenAndNotForLong(t *testing.T) {
	g := NewWithT(t)
	now := testkit.Now()
	clock := clocktesting.NewFakePassiveClock(now)
	var deadlines int
	note := func(ctx context.Context) error {
		if deadline, limited := ctx.Deadline(); limited && time.Until(deadline) <= 2*time.Second {
			deadlines++
		}
		return nil
	}
	reader := bounded.NewReader(interceptor.NewClient(testkit.NewFake(t), interceptor.Funcs{
		Get: func(ctx context.Context, _ client.WithWatch, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
			return note(ctx)
		},
		List: func(ctx context.Context, _ client.WithWatch, _ client.ObjectList, _ ...client.ListOption) error {
			return note(ctx)
		},
	}), clock)
	get := func() error {
		return reader.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, &appsv1.Deployment{})
	}
	list := func() error { return reader.List(t.Context(), &appsv1.ReplicaSetList{}) }
	for range 100 {
		g.Expect(get()).To(Succeed())
		g.Expect(list()).To(Succeed())
	}
	for _, read := range []func() error{get, list} {
		g.Expect(read()).To(MatchError("too many live reads in this second"))
	}
	clock.SetTime(now.Add(time.Second))
	g.Expect(get()).To(Succeed())
	g.Expect(list()).To(Succeed())
	g.Expect(deadlines).To(Equal(202))
}
