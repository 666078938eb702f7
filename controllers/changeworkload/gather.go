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

package changeworkload

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/lifecycle"
)

// gatherTime is how long good news of a release wait for more of them: pods finish and batches pass by the dozen, and one recount
// serves them all. A recount reads all pods and batches of the release, so one for each would take time with their square.
const gatherTime = 100 * time.Millisecond

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// gather puts off what the inner handler makes of updates, unless the object is urgent.
func gather(inner handler.EventHandler, urgent func(client.Object) bool) handler.EventHandler {
	return handler.Funcs{
		CreateFunc: inner.Create,
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			if !urgent(e.ObjectNew) {
				q = later{q}
			}
			inner.Update(ctx, e, q)
		},
		DeleteFunc: inner.Delete,
	}
}

// hasFailed says that a ChangePod has a bad verdict, which must not wait.
func hasFailed(object client.Object) bool {
	changePod, ok := object.(*appv1alpha1.ChangePod)
	return !ok || len(lifecycle.Judge(changePod).Failed) > 0
}

func never(client.Object) bool { return false }

// later is a queue that puts off what is added. A key that waits already keeps its earlier time.
type later struct{ queue }

func (l later) Add(key reconcile.Request) { l.AddAfter(key, gatherTime) }
