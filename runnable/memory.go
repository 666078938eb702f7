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
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// memory remembers something of each workload. The zero value is empty.
type memory[T any] struct {
	mutex sync.Mutex
	of    map[client.ObjectKey]T
}

// update replaces what is remembered of a workload by what a function makes of it, or forgets it if keep is false.
func (m *memory[T]) update(workload client.ObjectKey, replace func(known T) (made T, keep bool)) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	made, keep := replace(m.of[workload])
	delete(m.of, workload)
	if !keep {
		return
	}
	if m.of == nil {
		m.of = map[client.ObjectKey]T{}
	}
	m.of[workload] = made
}

func (m *memory[T]) forget(workload client.ObjectKey) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	delete(m.of, workload)
}
