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
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// policies remembers for each workload the ReleasePolicy that says how long its pods may take to run: one that is deleted may be created again in a
// moment. After a restart of the operator pods have their full time anew. The zero value is empty.
type policies struct {
	memory[knownPolicy]
}

type knownPolicy struct {
	of     types.UID
	policy *appv1alpha1.ReleasePolicy
	// gone is when it was first missed; zero while it is there.
	gone time.Time
}

// note returns the ReleasePolicy that counts for a workload: the present one, or that which is gone for a moment. left is for how long it still
// counts then.
func (p *policies) note(workload client.Object, present *appv1alpha1.ReleasePolicy, now time.Time) (policy *appv1alpha1.ReleasePolicy, left time.Duration) {
	policy = present
	p.update(client.ObjectKeyFromObject(workload), func(known knownPolicy) (knownPolicy, bool) {
		switch {
		case present != nil && present.Spec.StuckAfter != nil:
			return knownPolicy{of: workload.GetUID(), policy: present}, true
		case known.of != workload.GetUID():
			return known, false
		case known.gone.IsZero():
			known.gone = now
		}
		if left = max(0, known.gone.Add(decide.PolicyWait).Sub(now)); left > 0 {
			policy = known.policy
		}
		return known, left > 0
	})
	return policy, left
}
