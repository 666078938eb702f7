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

package plugin

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/plugin"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
)

// Reads the verdicts on releases that others report.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=changeverdicts,verbs=list;watch
// Makes the place for the verdict on a release before a plug-in is asked for it.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=changeverdicts,verbs=create
// Reads a verdict from the API server, not from the cache, before a check ends without any.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=changeverdicts,verbs=get
// Removes what stands in the place of a verdict: that of a deleted record of the same name, or what somebody made by hand.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=changeverdicts,verbs=delete

// await returns the verdict that is reported in a ChangeVerdict. Until there is one, it asks for it once a look, so that a plug-in which was
// restarted has another go.
func (a *Asker) await(
	ctx context.Context, record types.NamespacedName, release *checks.Scene, asked *plugin.Question,
) (answer plugin.Answer, there bool, err error) {
	verdict, err := a.ensure(ctx, asked.Verdict)
	switch {
	case scope.IsDenied(err), apierrors.IsAlreadyExists(err): // a retry would not help
		return plugin.Broken(plugin.ReasonNotCreated, err.Error()), true, nil
	case err != nil:
		return plugin.Answer{}, false, err
	case verdict.Status != nil:
		return plugin.OfVerdict(release, verdict), true, nil
	}
	question := *asked
	question.Verdict = verdict
	answer, there, err = a.ask(record, release, &question, a.post)
	if err != nil || !there || !asked.Last {
		return answer, there, err
	}
	// The check ends with this look, and the cache may not show yet what was reported.
	if verdict, err = a.live(ctx, asked.Verdict); err != nil || verdict == nil || verdict.Status == nil {
		return answer, true, err
	}
	return plugin.OfVerdict(release, verdict), true, nil
}

// ensure returns the ChangeVerdict that is awaited, which it creates if there is none. Another one of this name is removed: it would never
// count, and keep the check from its verdict.
func (a *Asker) ensure(ctx context.Context, awaited *appv1alpha1.ChangeVerdict) (*appv1alpha1.ChangeVerdict, error) {
	key, found := client.ObjectKeyFromObject(awaited), &appv1alpha1.ChangeVerdict{}
	err := a.Client.Get(ctx, key, found)
	switch {
	case err == nil && plugin.IsAwaited(found, awaited):
		return found, nil
	case err == nil:
		// The cache may show the successor without the deletion, for which the client would wait for ever.
		err = a.Client.Delete(ctx, found, client.Preconditions{UID: &found.UID}, client.DisableReadYourWritesConsistency)
	}
	if scope.IgnoreGone(err) != nil {
		return nil, fmt.Errorf("looking for ChangeVerdict %s: %w", key, err)
	}
	created := awaited.DeepCopy()
	if err = a.Client.Create(ctx, created); err == nil {
		return created, nil
	}
	if apierrors.IsAlreadyExists(err) { // the cache is behind, or the other one has finalizers
		if found, liveErr := a.live(ctx, awaited); liveErr != nil || found != nil {
			return found, liveErr
		}
	}
	return nil, fmt.Errorf("creating ChangeVerdict %s: %w", key, err)
}

// live reads the ChangeVerdict that is awaited from the API server; nil if there is none.
func (a *Asker) live(ctx context.Context, awaited *appv1alpha1.ChangeVerdict) (*appv1alpha1.ChangeVerdict, error) {
	key, found := client.ObjectKeyFromObject(awaited), &appv1alpha1.ChangeVerdict{}
	err := a.Live.Get(ctx, key, found)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading ChangeVerdict %s: %w", key, err)
	case !plugin.IsAwaited(found, awaited):
		return nil, nil
	}
	return found, nil
}
