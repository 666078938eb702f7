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
	"fmt"
	"maps"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
)

// reviewAgain is how long the answer of a review counts: no event shows that a permission was granted or revoked.
const reviewAgain = time.Minute

// reviews are the last answers to whether the operator may delete the pods of a namespace. The zero value is empty.
type reviews struct {
	mutex sync.Mutex
	known map[string]review
}

type review struct {
	allowed bool
	until   time.Time
}

// of returns what is known of a namespace.
func (r *reviews) of(namespace string, now time.Time) (known review, isKnown bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	maps.DeleteFunc(r.known, func(_ string, old review) bool { return !now.Before(old.until) })
	known, isKnown = r.known[namespace]
	return known, isKnown
}

func (r *reviews) note(namespace string, found review) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.known == nil {
		r.known = map[string]review{}
	}
	r.known[namespace] = found
}

// undeletable returns which permission the operator lacks to delete the pods of a namespace, empty if it has it. A review that fails keeps no release
// from going on: the deletion itself shows what is missing.
func (r *Reconciler) undeletable(ctx context.Context, namespace string) string {
	now := r.Clock.Now()
	known, isKnown := r.reviews.of(namespace, now)
	if !isKnown {
		asked := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "delete", Resource: "pods"},
		}}
		if err := r.Direct.Create(ctx, asked); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Failed to review whether the operator may delete pods", "namespace", namespace)
			return ""
		}
		known = review{allowed: asked.Status.Allowed, until: now.Add(reviewAgain)}
		r.reviews.note(namespace, known)
	}
	if known.allowed {
		return ""
	}
	return fmt.Sprintf("the operator lacks the permission to delete pods in namespace %s: %s", namespace, scope.PodDeletions)
}
