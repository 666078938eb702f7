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

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// firstRelease is the value of AnnotationHeld on a workload that is held at its creation.
const firstRelease = "1"

// hold pauses a created workload that is one release, if its content failed its check before, unless it has the label ignored-suspend.
// One that its creator has paused, for a queue, is that controller's to start.
func (d *defaulter) hold(ctx context.Context, request admission.Request, before marks, after *marks) (warnings []string, err error) {
	if _, once := d.kind.(workload.Once); !once || before.exempt {
		return nil, nil
	}
	record, err := d.past.refusedBy(ctx, request.Namespace, after.labels[appv1alpha1.LabelVersion])
	if err != nil || record == "" {
		return nil, err
	}
	phrase := workload.Phrase(d.kind, request.Name)
	failed := fmt.Sprintf("the pod template of %s failed its check before, in ChangeWorkload %s", phrase, record)
	_, isHeld := before.annotations[appv1alpha1.AnnotationRefused] // by an earlier call of the webhook for this request
	switch {
	case before.ignoresSuspension():
		return []string{failed + "; it runs all the same"}, nil
	case before.paused && !isHeld:
		return []string{failed}, nil
	}
	after.paused = true
	after.annotations[appv1alpha1.AnnotationHeld] = firstRelease
	after.annotations[appv1alpha1.AnnotationRefused] = record
	return []string{failed + ", so it is suspended", fmt.Sprintf(
		"to run it all the same, set its spec.suspend to false, or create it with the label %s=%s",
		appv1alpha1.LabelIgnoredSuspend, appv1alpha1.IgnoredSuspendTrue)}, nil
}

// refusedBy returns the ChangeWorkload in which a version failed its check in a namespace, empty if there is none. One whose workload is gone
// doesn't count: the garbage collector may take a while.
func (p *past) refusedBy(ctx context.Context, namespace, version string) (string, error) {
	var records appv1alpha1.ChangeWorkloadList
	err := p.accounts.cache.List(ctx, &records, client.InNamespace(namespace), client.MatchingLabels{appv1alpha1.LabelVersion: version},
		client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	if err != nil {
		return "", fmt.Errorf("listing the ChangeWorkloads of version %s in namespace %s: %w", version, namespace, err)
	}
	var present []appv1alpha1.ChangeWorkload
	for i := range records.Items {
		found, err := index.Controller(ctx, p.accounts.cache, &records.Items[i], p.kind.GroupVersionKind(), p.kind.New())
		if err != nil {
			return "", fmt.Errorf("looking for the workload of ChangeWorkload %s: %w", client.ObjectKeyFromObject(&records.Items[i]), err)
		}
		if found {
			present = append(present, records.Items[i])
		}
	}
	return decide.RefusedBy(present, p.kind.GroupVersionKind().Kind, version), nil
}
