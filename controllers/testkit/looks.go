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
	"testing"
	"time"

	"github.com/onsi/gomega"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/traas-stack/altershield-operator/controllers/looks"
)

// Looks makes looks in the background until a context ends. The names of the releases that are to be reconciled again come out of woken.
func Looks(ctx context.Context, t *testing.T, clock clock.PassiveClock) (background *looks.Background, woken <-chan string) {
	t.Helper()
	names := make(chan string, 100)
	background = &looks.Background{Clock: clock}
	gomega.NewWithT(t).Expect(background.Start(ctx, queue{names: names})).To(gomega.Succeed())
	return background, names
}

// queue tells what is added to it.
type queue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	names chan<- string
}

func (q queue) Add(request reconcile.Request) { q.names <- request.Name }

// AddAfter adds nothing: time stands still.
func (q queue) AddAfter(reconcile.Request, time.Duration) {}
