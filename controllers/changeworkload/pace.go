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
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/pace"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/platform/workloadpatch"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Counts the approvals of a release, and reads them from the API server before a step begins.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=changeapprovals,verbs=list;watch

// observePace observes the steps of a release that may still go on.
func (r *Reconciler) observePace(ctx context.Context, record *appv1alpha1.ChangeWorkload, records records, result *scene) error {
	annotations, seen := result.owner.GetAnnotations(), &result.Pace
	if !result.Current || result.Observed {
		return nil
	}
	seen.Mark = appv1alpha1.PacedOf(annotations, record.Spec.Release)
	seen.GoOn = appv1alpha1.GoOnOf(annotations, record.Spec.Release)
	if seen.Mark == nil && decide.IsSettled(record) {
		return nil
	}
	if ordinals, ok := workload.OrdinalsOf(result.kind, result.owner); ok {
		seen.End = ordinals.End()
	}
	var err error
	reader := pace.Reader{Namespaces: r.Client, Policies: records.reader(), Namespace: r.Settings.Namespace}
	if seen.Policy, err = reader.Of(ctx, result.kind, result.owner); err != nil || seen.Policy == nil {
		return err
	}
	seen.Obstacle = obstacleOf(result, seen.Policy)
	if seen.Mark == nil {
		return nil
	}
	seen.Since = r.Since()
	if seen.Mark.Lever == appv1alpha1.LeverNodes {
		seen.Undeletable = r.undeletable(ctx, record.Namespace)
	}
	var approvals appv1alpha1.ChangeApprovalList
	err = records.reader().List(ctx, &approvals, client.InNamespace(record.Namespace), client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	if err != nil {
		return fmt.Errorf("listing the ChangeApprovals in namespace %s: %w", record.Namespace, err)
	}
	seen.Approvals = decide.ApprovalsOf(record, approvals.Items)
	return nil
}

// obstacleOf returns why the pods of a workload can't be held back by the steps of a ReleasePolicy, empty if they can. Pods that only get
// traffic too early for want of gates are held back by a partition, or on their nodes.
func obstacleOf(scene *scene, policy *appv1alpha1.ReleasePolicy) string {
	lever := workload.LeverOf(scene.kind)
	if scene.Pace.Mark != nil {
		lever = scene.Pace.Mark.Lever
	}
	switch {
	case len(policy.Spec.Steps) == 0:
		return ""
	case lever == "":
		return "nothing holds back the pods of a " + scene.Kind
	case lever == appv1alpha1.LeverGates && scene.Recreate:
		return "the strategy Recreate starts all pods at once"
	case lever == appv1alpha1.LeverGates && meta.IsStatusConditionFalse(policy.Status.Conditions, appv1alpha1.ConditionGated):
		return "nothing is installed that adds gates to pods"
	}
	return ""
}

// pace adds to a change what lets the pods of a paced release run, what pauses its rollout while a step waits, or what ends the pace. A
// rollout that is held for another reason stays so, as does the partition of a user who has ended a hold, and the pause of a field or of OnDelete
// paces the release by itself.
func (s *scene) pace(change *workloadpatch.Change, decision *decide.Decision) {
	mark := s.Pace.Mark
	if mark == nil || !s.Current {
		return
	}
	if change.Unpace = decision.Unpace && !decision.Pause; change.Unpace {
		return
	}
	if mark.Lever == appv1alpha1.LeverGates {
		s.rest(change, mark, decision)
		return
	}
	held := workloadpatch.IsHeld(s.owner) && !slices.Contains(change.Unannotate, appv1alpha1.AnnotationHeld)
	if partitioned, ok := s.kind.(workload.Partitioned); ok && !change.Pause && !held && s.Hold != decide.Overridden {
		let := s.letFrom(decision)
		if operations := partitioned.Let(s.owner, let, appv1alpha1.OriginalsOf(s.owner.GetAnnotations())); len(operations) > 0 {
			change.Let = &let
		}
	}
	change.Resume = false
}

// letFrom returns how many pods the partition lets the controller replace, none while a step waits: pods that are added then get the
// version before.
func (s *scene) letFrom(decision *decide.Decision) int32 {
	if decision.Rest {
		return 0
	}
	ordinals, ok := workload.OrdinalsOf(s.kind, s.owner)
	if !ok {
		ordinals = decide.Ordinals{Replicas: s.Desired + s.Kept}
	}
	return ordinals.LetFrom(s.pods, decision.Let)
}

// rest pauses the rollout of a release with gates while a step waits, and remembers that in the mark. A hold that ends meanwhile goes on as that
// pause, with the fields that it overwrote.
func (s *scene) rest(change *workloadpatch.Change, mark *appv1alpha1.Paced, decision *decide.Decision) {
	if !decision.Rest && (!mark.Rests || !change.Resume) {
		return
	}
	rests := *mark
	rests.Rests = decision.Rest
	encoded, _ := json.Marshal(rests) // it was decoded from JSON
	if decision.Rest {
		change.Pause = change.Pause || !s.Paused
		change.Unannotate = slices.DeleteFunc(change.Unannotate, func(key string) bool { return key == appv1alpha1.AnnotationHeldFrom })
	}
	change.Annotate[appv1alpha1.AnnotationPaced] = string(encoded)
	change.Given = map[string]string{appv1alpha1.AnnotationPaced: s.owner.GetAnnotations()[appv1alpha1.AnnotationPaced]}
}

// ask requests of the rollback controller what the ReleasePolicy has for a release that failed or is late, unless a user requested
// something.
func (s *scene) ask(change *workloadpatch.Change, decision *decide.Decision) {
	if _, requested := s.owner.GetAnnotations()[appv1alpha1.AnnotationRollback]; requested || s.Pace.Policy == nil {
		return
	}
	request := map[appv1alpha1.OnFail]string{
		appv1alpha1.OnFailPark: appv1alpha1.RollbackPark, appv1alpha1.OnFailUndo: appv1alpha1.RollbackNewest,
	}[decision.Ask]
	if request == "" {
		return
	}
	change.Annotate[appv1alpha1.AnnotationRollback] = request
	change.Annotate[appv1alpha1.AnnotationRollbackBy] = appv1alpha1.RollbackByPolicy + client.ObjectKeyFromObject(s.Pace.Policy).String()
}

// ofPolicy maps a ReleasePolicy to the releases that it may pace.
func (r *Reconciler) ofPolicy(ctx context.Context, object client.Object) []reconcile.Request {
	in := client.InNamespace(object.GetNamespace())
	if object.GetNamespace() == r.Settings.Namespace { // it may select other namespaces
		in = ""
	}
	return r.list(ctx, in, mayBePaced)
}

func mayBePaced(record *appv1alpha1.ChangeWorkload) bool {
	return decide.IsInProgress(record) || meta.IsStatusConditionTrue(record.Status.Conditions, appv1alpha1.ConditionPaced)
}

// policyChanged passes changes of what a ReleasePolicy defines, and of what adds gates.
func policyChanged() predicate.Predicate {
	gated := func(object client.Object) bool {
		policy, ok := object.(*appv1alpha1.ReleasePolicy)
		return ok && !meta.IsStatusConditionFalse(policy.Status.Conditions, appv1alpha1.ConditionGated)
	}
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return true },
		UpdateFunc:  func(e event.UpdateEvent) bool { return gated(e.ObjectOld) != gated(e.ObjectNew) },
		DeleteFunc:  func(event.DeleteEvent) bool { return true },
		GenericFunc: func(event.GenericEvent) bool { return false },
	})
}

// hasGate reports whether an object is a pod that was created with a gate.
func hasGate(object client.Object) bool {
	_, labelled := object.GetLabels()[appv1alpha1.LabelGate]
	return labelled
}

// gateOf returns the state of the gate of a pod.
func gateOf(object client.Object) decide.GateState {
	if pod, ok := object.(*corev1.Pod); ok && hasGate(object) {
		return decide.Gated(pod)
	}
	return decide.GateOpen
}

// gateChanged reports whether the gate of a pod was opened, or a pod with a gate ended.
func gateChanged(before, after client.Object) bool {
	old, isOld := before.(*corev1.Pod)
	updated, isNew := after.(*corev1.Pod)
	return isOld && isNew && hasGate(after) && (gateOf(before) != gateOf(after) || old.Status.Phase != updated.Status.Phase)
}

// ofApproval maps a ChangeApproval to its release.
func (r *Reconciler) ofApproval(ctx context.Context, object client.Object) []reconcile.Request {
	approval, ok := object.(*appv1alpha1.ChangeApproval)
	if !ok {
		return nil
	}
	return r.list(ctx, client.InNamespace(approval.Namespace), func(record *appv1alpha1.ChangeWorkload) bool {
		return record.Spec.Reversion == approval.Spec.Version && record.Spec.Release == approval.Spec.Release
	})
}

// reportPace writes the Events about a step that begins, one that didn't end in time, and the end of the steps.
func (r *Reconciler) reportPace(before, after *appv1alpha1.ChangeWorkload, scene *scene) {
	was := meta.FindStatusCondition(before.Status.Conditions, appv1alpha1.ConditionPaced)
	is := meta.FindStatusCondition(after.Status.Conditions, appv1alpha1.ConditionPaced)
	if !scene.Current || is == nil || after.Status.Pace == nil {
		return
	}
	step := int32(0)
	if before.Status.ObservedRelease != after.Status.ObservedRelease {
		was = nil
	} else if before.Status.Pace != nil {
		step = before.Status.Pace.Step
	}
	entered := was == nil || was.Reason != is.Reason || was.Status != is.Status
	switch {
	case is.Status == metav1.ConditionFalse:
		if entered {
			r.Recorder.Record(events.StepsEnded(scene.owner, after, is))
		}
	case entered && is.Reason == appv1alpha1.ReasonStepDeadline:
		r.Recorder.Record(events.StepLate(scene.owner, after, is.Message))
	case after.Status.Pace.Step > step:
		r.Recorder.Record(events.StepBegun(scene.owner, after, is.Message))
	case entered && is.Reason == appv1alpha1.ReasonAwaitingApproval:
		r.Recorder.Record(events.ApprovalAwaited(scene.owner, after, is.Message))
	}
}
