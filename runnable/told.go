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

package runnable

import (
	"slices"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/lifecycle"
	"github.com/traas-stack/altershield-operator/controllers/rollback"
)

// told remembers of each Deployment what was said about its release that can't be rolled back, so that one Event says it,
// however often the pods crash. A restarted operator says it once more.
type told struct {
	mutex sync.Mutex
	of    map[client.ObjectKey]remarks
}

type remarks struct {
	release lifecycle.Release
	said    []remark
}

type remark struct {
	asked    appv1alpha1.RollbackReason
	obstacle rollback.ObstacleReason
}

func newTold() *told { return &told{of: map[client.ObjectKey]remarks{}} }

// first says whether this is to be said of a release for the first time, and remembers it.
func (t *told) first(deployment client.ObjectKey, release lifecycle.Release, said remark) bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	known := t.of[deployment]
	if known.release != release {
		known = remarks{release: release}
	}
	if slices.Contains(known.said, said) {
		return false
	}
	known.said = append(known.said, said)
	t.of[deployment] = known
	return true
}

func (t *told) forget(deployment client.ObjectKey) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	delete(t.of, deployment)
}
