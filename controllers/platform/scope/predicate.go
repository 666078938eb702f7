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

package scope

import (
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// CreatedOrDeleted passes objects that enter or leave the cache. Namespaces do so as they enter or leave change control: the cache selects them by
// label.
func CreatedOrDeleted() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}
}

// Changed passes objects that enter or leave the cache, and updates that change a value of an object.
func Changed[Object client.Object, Value comparable](of func(Object) Value) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, isOld := e.ObjectOld.(Object)
		after, isNew := e.ObjectNew.(Object)
		return isOld && isNew && of(before) != of(after)
	}}
}

// Created passes objects that enter the cache.
func Created() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(event.UpdateEvent) bool { return false },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

// NotAtStart passes all events but those of the objects that are there when a controller starts. It is for objects that are mapped to what the
// controller lists at its start anyway: to list that once more for each of them takes a multiple of its memory.
func NotAtStart() predicate.Predicate {
	return predicate.Funcs{CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList }}
}
