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

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/hack/soak/plan"
)

// meddle changes or deletes objects that the operator and the cluster have created for a workload.
func (a *actor) meddle(ctx context.Context, action plan.Action) error {
	of := []client.ListOption{client.InNamespace(action.Namespace), workload.RecordLabel(a.kinds[action.Of], action.Name)}
	switch action.Kind {
	case plan.DeletePod:
		return a.deleteOne(ctx, &corev1.PodList{}, action.Count, podsOf(action)...)
	case plan.Crash:
		return a.crash(ctx, action)
	case plan.DeleteRecord:
		return a.deleteOne(ctx, &appv1alpha1.ChangeWorkloadList{}, action.Count, of...)
	case plan.DeleteBatch:
		return a.deleteOne(ctx, &appv1alpha1.ChangePodList{}, action.Count, of...)
	case plan.Evict:
		return a.evict(ctx, action)
	}
	var batches appv1alpha1.ChangePodList
	if err := a.lab.Kube.List(ctx, &batches, of...); err != nil {
		return err
	}
	if action.Kind == plan.Fail {
		return a.failNewest(ctx, batches.Items)
	}
	return a.withdraw(ctx, batches.Items)
}

// deleteOne deletes the object at an index of a list, modulo their number.
func (a *actor) deleteOne(ctx context.Context, list client.ObjectList, at int, of ...client.ListOption) error {
	if err := a.lab.Kube.List(ctx, list, of...); err != nil {
		return err
	}
	items, err := meta.ExtractList(list)
	if err != nil || len(items) == 0 {
		return cmp.Or(err, errNothing)
	}
	object, _ := items[at%len(items)].(client.Object)
	return a.lab.Kube.Delete(ctx, object)
}

func podsOf(action plan.Action) []client.ListOption {
	return []client.ListOption{client.InNamespace(action.Namespace), client.MatchingLabels{"app": action.Name}}
}

// crash has a pod crash again and again, or ends that for all of a workload.
func (a *actor) crash(ctx context.Context, action plan.Action) error {
	var list corev1.PodList
	err := a.lab.Kube.List(ctx, &list, podsOf(action)...)
	if err != nil || len(list.Items) == 0 {
		return cmp.Or(err, errNothing)
	}
	if action.Text == "" {
		return patch(ctx, a.lab.Kube, &list.Items[action.Count%len(list.Items)], fmt.Sprintf(`{"metadata":{"labels":{%q:"now"}}}`, crashLabel))
	}
	return a.mend(ctx, podsOf(action)...)
}

// mend ends the crashes of pods.
func (a *actor) mend(ctx context.Context, of ...client.ListOption) error {
	var list corev1.PodList
	if err := a.lab.Kube.List(ctx, &list, append(of, client.HasLabels{crashLabel})...); err != nil {
		return err
	}
	var failures []error
	for i := range list.Items {
		failures = append(failures, patch(ctx, a.lab.Kube, &list.Items[i], fmt.Sprintf(`{"metadata":{"labels":{%q:null}}}`, crashLabel)))
	}
	return errors.Join(failures...)
}

// evict fails a pod that isn't over yet. It stays as it is, and its controller creates another one.
func (a *actor) evict(ctx context.Context, action plan.Action) error {
	var list corev1.PodList
	err := a.lab.Kube.List(ctx, &list, podsOf(action)...)
	pods := slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool {
		return pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodFailed || action.Text == "ready" && !decide.IsReady(&pod)
	})
	if err != nil || len(pods) == 0 {
		return cmp.Or(err, errNothing)
	}
	slices.SortFunc(pods, func(x, y corev1.Pod) int {
		return cmp.Or(y.CreationTimestamp.Compare(x.CreationTimestamp.Time), cmp.Compare(x.Name, y.Name))
	})
	pod := &pods[action.Count%len(pods)]
	before := pod.DeepCopy()
	pod.Status.Phase, pod.Status.Reason, pod.Status.Message = corev1.PodFailed, "Evicted", "The node was low on resource: ephemeral-storage."
	for i := range pod.Status.Conditions {
		if condition := &pod.Status.Conditions[i]; condition.Type == corev1.PodReady || condition.Type == corev1.ContainersReady {
			condition.Status, condition.Reason, condition.LastTransitionTime = corev1.ConditionFalse, "PodFailed", metav1.Now()
		}
	}
	return a.lab.Kube.Status().Patch(ctx, pod, client.MergeFrom(before))
}

// failNewest sets a bad verdict by hand, as documented.
func (a *actor) failNewest(ctx context.Context, batches []appv1alpha1.ChangePod) error {
	if len(batches) == 0 {
		return errNothing
	}
	newest := slices.MaxFunc(batches, func(x, y appv1alpha1.ChangePod) int { return x.CreationTimestamp.Compare(y.CreationTimestamp.Time) })
	return a.setVerdict(ctx, newest, appv1alpha1.VerdictUnpass, decide.CheckedBy(&newest)[:1])
}

func (a *actor) withdraw(ctx context.Context, batches []appv1alpha1.ChangePod) error {
	came := errNothing
	for _, batch := range batches {
		failed := func(pod appv1alpha1.PodSummary) bool { return pod.Verdict == appv1alpha1.VerdictUnpass }
		if !slices.ContainsFunc(batch.Status.PodResults, failed) {
			continue
		}
		if came = a.setVerdict(ctx, batch, appv1alpha1.VerdictPass, batch.Status.PodResults); came != nil {
			return came
		}
	}
	return came
}

func (a *actor) setVerdict(ctx context.Context, batch appv1alpha1.ChangePod, verdict appv1alpha1.Verdict, pods []appv1alpha1.PodSummary) error {
	before := batch.DeepCopy()
	batch.Status.Message = string(appv1alpha1.ChangePodPostFinish)
	batch.Status.PodResults = nil
	for _, pod := range pods {
		batch.Status.PodResults = append(batch.Status.PodResults, appv1alpha1.PodSummary{Pod: pod.Pod, Verdict: verdict, Message: "by hand"})
	}
	return a.lab.Kube.Status().Patch(ctx, &batch, client.MergeFrom(before))
}

// intrude tries to release as a user who may not override a suspension. If nothing is suspended, that is an ordinary release.
func (a *actor) intrude(ctx context.Context, action plan.Action) error {
	present, err := a.present(ctx, action)
	if err != nil {
		return err
	}
	metadata, resumed := "{}", ""
	next := decide.ReleaseNumber(present.GetAnnotations()) + 1
	switch action.Text {
	case "apply":
		return a.apply(ctx, action)
	case "ignored-suspend":
		metadata = fmt.Sprintf(`{"labels":{%q:%q}}`, appv1alpha1.LabelIgnoredSuspend, appv1alpha1.IgnoredSuspendTrue)
	case "unlabel":
		metadata = fmt.Sprintf(`{"labels":{%q:null}}`, appv1alpha1.LabelSuspend)
		if err := patch(ctx, a.intruder, a.named(action), `{"metadata":`+metadata+`}`); err != nil {
			return err
		}
	case "forge-record":
		record, err := json.Marshal(appv1alpha1.IgnoredSuspend{User: "admin", Release: next, Version: strings.Repeat("0", 32), Time: metav1.NowMicro()})
		if err != nil {
			return err
		}
		metadata = fmt.Sprintf(`{"annotations":{%q:%q}}`, appv1alpha1.AnnotationIgnoredSuspendBy, record)
	case "forge-rollback":
		rollbacks, err := json.Marshal([]appv1alpha1.Rollback{{Version: present.GetLabels()[appv1alpha1.LabelVersion], Release: next - 1,
			To: strings.Repeat("0", 32), ToRelease: next, Reason: appv1alpha1.RollbackRequested, Time: metav1.NewTime(time.Now())}})
		if err != nil {
			return err
		}
		metadata = fmt.Sprintf(`{"annotations":{%q:%q,%q:"%d"}}`, appv1alpha1.AnnotationRollbacks, rollbacks, appv1alpha1.AnnotationRelease, next)
	case "resume":
		resumed = map[plan.Of]string{
			plan.Deployment: `"paused":false,`, plan.StatefulSet: `"updateStrategy":{"rollingUpdate":{"partition":0}},`,
			plan.DaemonSet: `"updateStrategy":{"type":"RollingUpdate"},`, plan.WebApp: `"rollout":{"paused":false},`,
		}[action.Of]
	}
	return patch(ctx, a.intruder, a.named(action), fmt.Sprintf(`{"metadata":%s,"spec":{%s"template":%s}}`, metadata, resumed, template(action.Template)))
}

// apply releases by server-side apply.
func (a *actor) apply(ctx context.Context, action plan.Action) error {
	wanted := a.named(action)
	notes := map[string]any{noteAnnotation: action.Template.Note}
	if err := unstructured.SetNestedMap(wanted.Object, notes, "spec", "template", "metadata", "annotations"); err != nil {
		return err
	}
	err := a.intruder.Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), client.FieldOwner("soak-intruder"), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("apply %s %s/%s: %w", action.Of, action.Namespace, action.Name, err)
	}
	return nil
}
