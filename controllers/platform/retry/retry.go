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

// Package retry limits the rate at which failed reconciles are repeated.
package retry

import (
	"time"

	"k8s.io/client-go/util/workqueue"
)

// Time until a failed reconcile is repeated: it doubles between these bounds. With an error, the time after which a reconcile wants to be repeated
// doesn't count, such as until a deadline. And what makes it fail may end without an event, as a quota that is raised.
const first, last = 5 * time.Millisecond, 30 * time.Second

// Limiter returns a rate limiter by which a failed reconcile is repeated half a minute later at most.
func Limiter[T comparable]() workqueue.TypedRateLimiter[T] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[T](first, last)
}
