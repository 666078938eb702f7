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
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/freeze"
)

// Finds a BreakGlass for a release that would otherwise be frozen or denied.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=breakglasses,verbs=list

// maxWould and maxWouldLength limit the evidence: how many sentences, and how long each is, in bytes.
const maxWould, maxWouldLength = 16, 512

// glassFor returns a BreakGlass that lets a release pass what it needs to, nil if there is none.
func (f *freezes) glassFor(ctx context.Context, asked start, needed []appv1alpha1.BreakGlassOverride) (*appv1alpha1.BreakGlass, error) {
	var list appv1alpha1.BreakGlassList
	if err := f.live.List(ctx, &list, client.InNamespace(asked.request.Namespace)); err != nil {
		return nil, fmt.Errorf("%s: listing the BreakGlasses in namespace %s: %w: try again", f.phrase(asked), asked.request.Namespace, err)
	}
	for i := range list.Items {
		glass := &list.Items[i]
		if decide.IsUsable(glass, f.clock.Now()) && decide.Overrides(glass, needed) && freeze.Selects(glass.Spec.Workloads, f.kind, asked.object) {
			return glass, nil
		}
	}
	return nil, nil
}

// letsThrough reports whether the BreakGlass by which a release passed lets it through a suspension, false if passed is nil. Any
// caller may claim so.
func (f *freezes) letsThrough(ctx context.Context, asked start, passed *appv1alpha1.BreakGlassPass) (bool, error) {
	if passed == nil {
		return false, nil
	}
	glass, err := f.glassFor(ctx, asked, []appv1alpha1.BreakGlassOverride{appv1alpha1.OverrideSuspension})
	return glass != nil && glass.Name == passed.Name, err
}

// suspension returns why a release is denied without a BreakGlass, empty if it isn't.
func suspension(phrase string, old, updated marks, now time.Time) string {
	version, err := updated.computedVersion()
	switch {
	case err != nil || updated.beforeFirstCall(old).ignoresSuspension() && !old.hasSpentLabel():
		return ""
	case old.suspended():
		return phrase + " is suspended"
	}
	refused := decide.RefusalOf(appv1alpha1.RollbacksOf(old.annotations), version, now)
	if refused == nil {
		return ""
	}
	return refusalSentence(phrase, refused)
}

func breakGlassPass(glass *appv1alpha1.BreakGlass, user string, now time.Time, would []string) *appv1alpha1.BreakGlassPass {
	pass := &appv1alpha1.BreakGlassPass{Name: glass.Name, User: decide.Shorten(user, 253), Time: metav1.NewTime(now)}
	for _, sentence := range would[:min(len(would), maxWould)] {
		pass.Would = append(pass.Would, decide.Shorten(sentence, maxWouldLength))
	}
	return pass
}
