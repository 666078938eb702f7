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
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// maxRemembered limits the memory; the number of a ChangeWorkload that is dropped is still in its status.
const maxRemembered = 10000

// record identifies what numbers are counted for: a version of a workload. It stays the same when a user deletes the ChangeWorkload, and
// changes when the workload is deleted and created again.
type record struct {
	namespace, name string
	owner           types.UID
}

func recordOf(workload *appv1alpha1.ChangeWorkload) record {
	result := record{namespace: workload.Namespace, name: workload.Name}
	if owner := metav1.GetControllerOfNoCopy(workload); owner != nil {
		result.owner = owner.UID
	}
	return result
}

// numbers remembers the highest number seen of a ChangePod of each record. The status has it too, but is not written with every batch:
// without this memory the number of a ChangePod that a user deletes in between could be used again.
type numbers struct {
	mutex   sync.Mutex
	highest *lru.Cache
}

func newNumbers() *numbers { return &numbers{highest: lru.New(maxRemembered)} }

// given is a number that a ChangePod has.
type given struct {
	number int64
	// opened is when this process created the ChangePod, zero where it only saw it.
	opened time.Time
}

// raise takes a seen number into account, and returns the highest so far.
func (n *numbers) raise(of record, number int64) int64 {
	return n.note(of, given{number: number}).number
}

// open takes the number of a ChangePod into account that was created now.
func (n *numbers) open(of record, number int64, now time.Time) {
	n.note(of, given{number: number, opened: now})
}

// opened returns when this process created the ChangePod with the highest number, zero where it only saw it.
func (n *numbers) opened(of record, highest int64) time.Time {
	return n.note(of, given{number: highest}).opened
}

func (n *numbers) note(of record, latest given) given {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if known, found := n.highest.Get(of); found && known.(given).number >= latest.number {
		latest = known.(given)
	}
	n.highest.Add(of, latest)
	return latest
}

// forget drops a record.
func (n *numbers) forget(of record) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.highest.Remove(of)
}
