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

package routers

import (
	"sync"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// arrivals notifies the callbacks that wait for the ChangePod of a check.
type arrivals struct {
	mu      sync.Mutex
	awaited map[string]*awaited
}

// awaited is a check with waiting callbacks.
type awaited struct {
	arrived chan struct{}
	waiting int
}

func newArrivals() *arrivals {
	return &arrivals{awaited: map[string]*awaited{}}
}

// expect returns a channel that is closed when a ChangePod with this check next appears in the cache. The caller must call
// forget when it stops waiting.
func (a *arrivals) expect(check string) (arrived <-chan struct{}, forget func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	expected, known := a.awaited[check]
	if !known {
		expected = &awaited{arrived: make(chan struct{})}
		a.awaited[check] = expected
	}
	expected.waiting++
	return expected.arrived, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if expected.waiting--; expected.waiting == 0 && a.awaited[check] == expected {
			delete(a.awaited, check)
		}
	}
}

// announce handles each ChangePod that appears or changes in the cache.
func (a *arrivals) announce(object any) {
	changePod, ok := object.(*appv1alpha1.ChangePod)
	if !ok || changePod.Status.ChangePodID == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if expected, known := a.awaited[changePod.Status.ChangePodID]; known {
		close(expected.arrived)
		delete(a.awaited, changePod.Status.ChangePodID)
	}
}
