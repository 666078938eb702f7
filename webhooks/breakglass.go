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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/freeze"
)

// Finds a BreakGlass for a release that would otherwise be frozen or denied.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=breakglasses,verbs=list

// maxWould and maxWouldLength limit the evidence: how many sentences, and how long each is, in bytes.
const maxWould, maxWouldLength = 16, 512

// glassFor returns a BreakGlass that lets a release pass what it needs to, nil if there is none. If the release has passed already, it is
// that one. pending is about one whose use by the release before isn't counted yet: the next release would remove the only trace of it.
func (f *freezes) glassFor(
	ctx context.Context, asked start, needed []appv1alpha1.BreakGlassOverride, passed *appv1alpha1.BreakGlassPass,
) (found *appv1alpha1.BreakGlass, pending []string, err error) {
	var list appv1alpha1.BreakGlassList
	if err := f.live.List(ctx, &list, client.InNamespace(asked.request.Namespace)); err != nil {
		return nil, nil, fmt.Errorf("%s: listing the BreakGlasses in namespace %s: %w: try again", f.phrase(asked), asked.request.Namespace, err)
	}
	for i := range list.Items {
		glass := &list.Items[i]
		if passed != nil && glass.UID != passed.UID {
			continue
		}
		if !decide.IsUsable(glass, f.clock.Now()) || !decide.Overrides(glass, needed) || !freeze.Selects(glass.Spec.Workloads, f.kind, asked.object) {
			continue
		}
		if f.isCounted(glass, asked) {
			return glass, nil, nil
		}
		pending = []string{fmt.Sprintf("the last use of BreakGlass %s isn't recorded yet: try again", glass.Name)}
	}
	return nil, pending, nil
}

// isCounted reports whether a BreakGlass counts the release before, if that passed by it.
func (f *freezes) isCounted(glass *appv1alpha1.BreakGlass, asked start) bool {
	release := decide.ReleaseNumber(asked.before)
	passed := appv1alpha1.BreakGlassPassOf(asked.before, release)
	return passed == nil || passed.UID != glass.UID || decide.IsCounted(glass, f.kind.GroupVersionKind().Kind, f.name(asked), release, passed)
}

// letsThrough reports whether the BreakGlass by which a release passed lets it through a suspension, false if passed is nil. Any
// caller may claim so.
func (f *freezes) letsThrough(ctx context.Context, asked start, passed *appv1alpha1.BreakGlassPass) (bool, error) {
	if passed == nil {
		return false, nil
	}
	glass, _, err := f.glassFor(ctx, asked, []appv1alpha1.BreakGlassOverride{appv1alpha1.OverrideSuspension}, passed)
	return glass != nil, err
}

// suspension returns why the validating webhook denies a release that doesn't pass by a BreakGlass, empty if it admits it.
func (d *defaulter) suspension(ctx context.Context, asked start, oldObject *unstructured.Unstructured, old, updated marks) (string, error) {
	version, err := updated.computedVersion()
	if err != nil || updated.beforeFirstCall(old).ignoresSuspension() && !old.hasSpentLabel() {
		return "", nil //nolint:nilerr // stamping reports the error
	}
	refused, phrase := d.past.refusalOf(ctx, asked.known, oldObject, updated, version, d.clock.Now()), d.freezes.phrase(asked)
	switch {
	case !old.suspended() && refused == nil:
		return "", nil
	case !old.suspended():
		return refusalSentence(phrase, refused), nil
	case refused != nil:
		return phrase + " is suspended", nil
	}
	workloads, err := d.past.workloads(ctx, asked.known)
	if err != nil {
		return "", err
	}
	if returns, err := d.past.isReturn(ctx, asked.known, oldObject, updated, version, workloads); returns || err != nil {
		return "", err
	}
	return phrase + " is suspended", nil
}

func breakGlassPass(glass *appv1alpha1.BreakGlass, user string, now time.Time, would []string) *appv1alpha1.BreakGlassPass {
	pass := &appv1alpha1.BreakGlassPass{Name: glass.Name, UID: glass.UID, User: decide.Shorten(user, 253), Time: metav1.NewTime(now)}
	for _, sentence := range would[:min(len(would), maxWould)] {
		pass.Would = append(pass.Would, decide.Shorten(sentence, maxWouldLength))
	}
	return pass
}
