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

package rollback

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// LetBySteps returns how many pods of a release that is paced by its nodes there may be by the step that it is at; nil where it isn't, or no
// more of them come now.
func LetBySteps(record *appv1alpha1.ChangeWorkload) *int32 {
	paced, steps := decide.StoredPace(record), record.Status.Pace
	switch {
	case paced == nil, paced.Status != metav1.ConditionTrue:
		return nil
	case steps == nil, steps.Lever != appv1alpha1.LeverNodes, steps.Target == 0:
		return nil
	case paced.Reason == appv1alpha1.ReasonStepFailed, paced.Reason == appv1alpha1.ReasonPaceOnHold:
		return nil
	}
	return &steps.Target
}

// TurnOf returns whose pods a release replaces now: those on the first nodes that it waits for, or on any nodes as far as its step lets them come
// back with the release. It returns nil where it replaces none.
func TurnOf(record *appv1alpha1.ChangeWorkload) *decide.Turn {
	turn := &decide.Turn{Version: record.Spec.Reversion, Nodes: decide.AwaitedFirstNodes(record), Let: LetBySteps(record)}
	if len(turn.Nodes) == 0 && turn.Let == nil {
		return nil
	}
	return turn
}

// liveTurn returns the turn of a release by its record on the API server, nil if its pods would come back with another template.
func (r *Roller) liveTurn(ctx context.Context, request PodRequest, object client.Object) (*decide.Turn, error) {
	key := client.ObjectKey{Namespace: request.Workload.Namespace, Name: workload.RecordName(request.Kind, request.Workload.Name, request.From.Version)}
	var record appv1alpha1.ChangeWorkload
	if err := r.Live.Get(ctx, key, &record); err != nil {
		return nil, client.IgnoreNotFound(fmt.Errorf("reading ChangeWorkload %s: %w", key, err))
	}
	if record.Spec.Release != request.From.Number {
		return nil, nil
	}
	turn := TurnOf(&record)
	if turn == nil {
		return nil, nil
	}
	stamped, unseen, err := r.History.Stamped(ctx, request.Kind, object, turn.Version)
	if err != nil || unseen {
		return nil, err
	}
	if stamped != nil {
		turn.Of = &stamped.Pods
	}
	return turn, nil
}
