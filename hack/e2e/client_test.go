//go:build e2e

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

package e2e_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// askEvery is the pause between two releases of a visitor.
const askEvery = 100 * time.Millisecond

// visitor is a client of the cluster that releases continuously by dry runs: the API server calls the webhook,
// and nothing changes.
type visitor struct {
	stop     context.CancelFunc
	done     sync.WaitGroup
	admitted atomic.Int64
	// last is the name of the record that the previous release would have had.
	last     string
	failures []string
}

// visit starts a visitor that releases a Deployment of its own.
func visit(ctx context.Context, namespace string) *visitor {
	GinkgoHelper()
	visited := slowly(namespace, "visited")
	visited.Spec.Replicas = new(int32)
	Expect(kube.Create(ctx, visited)).To(Succeed())
	visiting, stop := context.WithCancel(context.WithoutCancel(ctx))
	v := &visitor{stop: stop}
	v.done.Go(func() {
		tick := time.NewTicker(askEvery)
		defer tick.Stop()
		for n := 0; ; n++ {
			v.ask(visiting, namespace, n)
			select {
			case <-visiting.Done():
				return
			case <-tick.C:
			}
		}
	})
	DeferCleanup(stop)
	return v
}

func (v *visitor) ask(ctx context.Context, namespace string, n int) {
	object := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "visited"}}
	patch := fmt.Appendf(nil, `{"spec":{"template":{"metadata":{"annotations":{"visit":"%d"}}}}}`, n)
	err := kube.Patch(ctx, object, client.RawPatch("application/merge-patch+json", patch), client.DryRunAll)
	stamped := recordOf(object)
	if err == nil && stamped == v.last {
		err = fmt.Errorf("visit %d has the version of the previous one: no webhook was called", n)
	}
	v.last = stamped
	switch {
	case ctx.Err() != nil: // the last answer doesn't count
	case err != nil:
		v.failures = append(v.failures, fmt.Sprintf("%s: %v", time.Now().Format(time.TimeOnly), err))
	default:
		v.admitted.Add(1)
	}
}

// staysFor waits until the given number of further releases were admitted.
func (v *visitor) staysFor(ctx context.Context, releases int64) {
	GinkgoHelper()
	enough := v.admitted.Load() + releases
	Eventually(ctx, v.admitted.Load).Should(BeNumerically(">=", enough))
}

// leaves ends the visit and returns the number of admitted releases, and the errors of the others.
func (v *visitor) leaves() (int64, []string) {
	GinkgoHelper()
	v.stop()
	v.done.Wait()
	Expect(v.admitted.Load()).To(BeNumerically(">", 0))
	return v.admitted.Load(), v.failures
}
