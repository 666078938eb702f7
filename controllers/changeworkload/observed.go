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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/observed"
)

// The least time between two lists of the pods of a release on the API server grows with their number.
const listInterval, listIntervalPerPod = 2 * time.Second, 10 * time.Millisecond

// lastList is the last list of the pods of a release on the API server: when it was, and how many there were.
type lastList struct {
	at   time.Time
	pods int
}

// observeMode observes whether the kind of an observed release is still observed.
func (r *Reconciler) observeMode(ctx context.Context, result *scene) error {
	mode, err := workload.Mode(ctx, r.Client, result.kind)
	result.Observed, result.NotEnforced = true, mode != appv1alpha1.ModeObserve
	result.kind = observed.Of(result.kind)
	return err
}

// there returns the workload of a record whose kind isn't observed any more. The cache doesn't hold it.
func there(kind workload.Kind, record *appv1alpha1.ChangeWorkload, reference *metav1.OwnerReference) client.Object {
	owner := kind.New()
	owner.SetNamespace(record.Namespace)
	owner.SetName(reference.Name)
	owner.SetUID(reference.UID)
	return owner
}

// listPods lists the finished pods of an observed release on the API server: the cache holds none, as they have no version label.
func (r *Reconciler) listPods(ctx context.Context, kind workload.Observed, record *appv1alpha1.ChangeWorkload, result *scene) error {
	if !result.OptedIn || !decide.NeedsPods(record) {
		return nil
	}
	r.lists.Add(recordOf(record), lastList{at: r.Clock.Now()})
	revision, err := kind.Identify(ctx, r.Live, record)
	if err != nil || revision == nil {
		return err
	}
	result.Run = revision.Run
	pods, err := index.LivePodsOf(ctx, r.Live, record.Namespace, revision.Pods)
	if err != nil {
		return err
	}
	r.lists.Add(recordOf(record), lastList{r.Clock.Now(), len(pods)})
	if err := r.observeRun(ctx, *revision, pods, result); err != nil {
		return err
	}
	r.observeFinished(pods, result)
	return nil
}

// listWait returns how long to wait until the pods of an observed release may be listed again.
func (r *Reconciler) listWait(record *appv1alpha1.ChangeWorkload) time.Duration {
	if !decide.NeedsPods(record) {
		return 0
	}
	return r.untilList(record)
}

// untilList returns how long to wait until the pods of a release may be listed again.
func (r *Reconciler) untilList(record *appv1alpha1.ChangeWorkload) time.Duration {
	known, _ := r.lists.Get(recordOf(record))
	last, listed := known.(lastList)
	if !listed {
		return 0
	}
	return max(listInterval+time.Duration(last.pods)*listIntervalPerPod-r.Clock.Since(last.at), 0)
}
