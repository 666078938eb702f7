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

package webhooks

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/concern"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// Finds a BreakGlass for a release that would otherwise be frozen or denied.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=breakglasses,verbs=list

// maxWould and maxWouldLength limit the evidence: how many sentences, and how long each is, in bytes.
const maxWould, maxWouldLength = 16, 512

// glassFor returns the BreakGlass that lets a release pass the most of what stops it, and what becomes of the release by that; nil if there
// is none. pending is about one that would let it pass more, if its use by the release before were counted: the next release would remove
// the only trace of that use.
func (f *freezes) glassFor(
	ctx context.Context, asked start, facts decide.Admission,
) (found *appv1alpha1.BreakGlass, answer decide.Admitted, pending []string, err error) {
	glasses, err := f.glasses(ctx, asked)
	var uncounted *appv1alpha1.BreakGlass
	var most int
	for _, glass := range glasses {
		facts.Glass = glass.Spec.Overrides
		switch with := decide.Admit(facts); {
		case !f.isCounted(glass, asked):
			if len(with.Uses) > most {
				uncounted, most = glass, len(with.Uses)
			}
		case len(with.Uses) > len(answer.Uses):
			found, answer = glass, with
		}
	}
	if most > len(answer.Uses) {
		pending = []string{fmt.Sprintf("the last use of BreakGlass %s isn't recorded yet: try again", uncounted.Name)}
	}
	return found, answer, pending, err
}

// isCounted reports whether a BreakGlass counts the release before, if that passed by it.
func (f *freezes) isCounted(glass *appv1alpha1.BreakGlass, asked start) bool {
	release := decide.ReleaseNumber(asked.before)
	passed := appv1alpha1.BreakGlassPassOf(asked.before, release)
	return passed == nil || passed.UID != glass.UID || decide.IsCounted(glass, f.kind.GroupVersionKind().Kind, asked.request.Name, release, passed)
}

// glasses returns the usable BreakGlasses for a workload.
func (f *freezes) glasses(ctx context.Context, asked start) (usable []*appv1alpha1.BreakGlass, err error) {
	var list appv1alpha1.BreakGlassList
	if err := f.live.List(ctx, &list, client.InNamespace(asked.request.Namespace)); err != nil {
		return nil, fmt.Errorf("%s: listing the BreakGlasses in namespace %s: %w", f.phrase(asked), asked.request.Namespace, err)
	}
	for i := range list.Items {
		glass := &list.Items[i]
		if decide.IsUsable(glass, f.clock.Now()) && concern.Selects(glass.Spec.Workloads, f.kind, asked.object) {
			usable = append(usable, glass)
		}
	}
	return usable, nil
}

// overrides returns what the BreakGlass by which a release passed overrides, none if passed is nil. Any caller may claim so.
func (f *freezes) overrides(ctx context.Context, asked start, passed *appv1alpha1.BreakGlassPass) ([]appv1alpha1.BreakGlassOverride, error) {
	if passed == nil {
		return nil, nil
	}
	glasses, err := f.glasses(ctx, asked)
	if err != nil {
		return nil, fmt.Errorf("%w: try again", err)
	}
	for _, glass := range glasses {
		if glass.UID == passed.UID {
			return glass.Spec.Overrides, nil
		}
	}
	return nil, nil
}

func breakGlassPass(
	glass *appv1alpha1.BreakGlass, user string, now time.Time, overrides []appv1alpha1.BreakGlassOverride, would []string,
) *appv1alpha1.BreakGlassPass {
	pass := &appv1alpha1.BreakGlassPass{
		Name: glass.Name, UID: glass.UID, User: decide.Shorten(user, 253), Time: metav1.NewTime(now), Overrides: overrides,
	}
	for _, sentence := range would[:min(len(would), maxWould)] {
		pass.Would = append(pass.Would, decide.Shorten(sentence, maxWouldLength))
	}
	return pass
}
