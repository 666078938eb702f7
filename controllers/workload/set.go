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

package workload

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Kinds are the kinds under change control.
type Kinds interface {
	// Snapshot returns the present kinds. It must not be modified.
	Snapshot() Registry
}

// Snapshot returns the registry itself, which never changes.
func (r Registry) Snapshot() Registry { return r }

// Set holds the built-in kinds, and declared ones, which come and go. The zero value is an empty set.
type Set struct {
	present atomic.Pointer[Registry]
	// writing serializes changes.
	writing sync.Mutex
}

// NewSet returns a set of kinds.
func NewSet(builtIn ...Kind) *Set {
	set := &Set{}
	registry := Registry(builtIn)
	set.present.Store(&registry)
	return set
}

// Snapshot returns the present kinds.
func (s *Set) Snapshot() Registry {
	if present := s.present.Load(); present != nil {
		return *present
	}
	return nil
}

// Put adds a kind, in place of the one of the same ControlledKind.
func (s *Set) Put(kind Kind) {
	s.change(ControlledKindName(kind), kind)
}

// Remove removes the kind of a ControlledKind.
func (s *Set) Remove(controlledKind string) {
	s.change(controlledKind)
}

func (s *Set) change(controlledKind string, added ...Kind) {
	s.writing.Lock()
	defer s.writing.Unlock()
	changed := slices.DeleteFunc(slices.Clone(s.Snapshot()), func(kind Kind) bool { return ControlledKindName(kind) == controlledKind })
	changed = append(changed, added...)
	s.present.Store(&changed)
}
