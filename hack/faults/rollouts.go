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
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/daemonset"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/lab/webapp"
)

const (
	// heldReplicas are enough for a rollout that is held at its second pod.
	heldReplicas = 3
	// parkedReplicas are enough for one that is parked at its fourth.
	parkedReplicas = 5
)

// ofRollouts returns the scenarios of rollouts that go on pod by pod, of sets and of a declared kind.
func ofRollouts() []scenario {
	return []scenario{
		// A release of an OrderedReady StatefulSet whose first pod fails. It is held by the partition, the next release is denied, and a repair is
		// admitted and verified.
		{name: "statefulset", kind: statefulset.Kind{}, play: inTurn(
			createStatefulSet(heldReplicas), verified(1),
			slowRelease, ready(1), replaced, failed(1), suspended(2), held, denied,
			ready(1), checked(2), // a pod that isn't ready would block the repair
			repairedSet, verified(3))},
		// The same with a DaemonSet, which is held by the strategy OnDelete.
		{name: "daemonset", kind: daemonset.Kind{}, play: inTurn(
			createDaemonSet(nil), verified(1), slowRelease, ready(1), replaced, failed(1), suspended(2), held, denied, repairedSet, verified(3))},
		// A release of a StatefulSet whose third pod fails, and is parked on request. A repair then rolls forward.
		{name: "park", kind: statefulset.Kind{}, play: inTurn(
			createStatefulSet(parkedReplicas), verified(1),
			slowRelease, ready(1), ready(1), ready(1), replaced, failed(3), suspended(2), held,
			change(fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, appv1alpha1.AnnotationRollback, appv1alpha1.RollbackPark)),
			parked, repairedSet, verified(3))},
		{name: "steps-partition", kind: statefulset.Kind{}, play: paced(createStatefulSet(heldReplicas), policy{})},
		{name: "steps-nodes", kind: daemonset.Kind{}, play: paced(createDaemonSet(nil), policy{})},
		// A release in steps of a StatefulSet fails after its first step, and is parked by its policy.
		{name: "park-on-fail", kind: statefulset.Kind{}, play: inTurn(
			twoSteps(policy{OnFail: appv1alpha1.OnFailPark}), createStatefulSet(parkedReplicas), verified(1),
			slowRelease, ready(1), awaitsApproval, failed(1), suspended(2), parked)},
		// A release of a DaemonSet starts on one node, where its pod passes, and goes on to the others.
		{name: "first-nodes", kind: daemonset.Kind{}, play: inTurn(
			createDaemonSet(map[string]string{appv1alpha1.AnnotationFirstNodes: corev1.LabelHostname + "=node-1"}), verified(1), secondRelease, verified(2))},
		// A release of a WebApp whose first pod fails. It is held by the declared fields, and the next release is denied. It goes on once the
		// verdict is withdrawn, is verified, and is rolled back on request.
		{name: "declared", declared: true, play: inTurn(
			declare, createWebApp, verified(1),
			slowRelease, ready(1), replaced, failed(1), suspended(2), held, denied,
			ready(1), checked(2), withdrawn(1), ready(1), verified(2), requestRollback, verified(3))},
		// WebApps are put under change control, and taken out of it while the rollout of one is held, which then goes on.
		{name: "undeclared", declared: true, objects: []string{"webapps.lab.altershield.io", kindsMutating, kindsValidating}, play: inTurn(
			declare, createWebApp, verified(1),
			slowRelease, ready(1), replaced, failed(1), suspended(2), held,
			undeclare, ready(1), ready(1))},
	}
}

// slowRelease is a release whose pods run, and are ready once the harness makes them so.
func slowRelease(ctx context.Context, s *stage) error {
	return s.patch(ctx, `{"spec":{"template":{"metadata":{"annotations":{"local.altershield.io/ready-after":"600s"}}}}}`)
}

// repairedSet is the repair of that release.
func repairedSet(ctx context.Context, s *stage) error {
	return s.patch(ctx, fmt.Sprintf(`{"metadata":{"labels":{%s}},"spec":{"template":{"metadata":{"labels":{"test":"repaired"},"annotations":null}}}}`, repairing))
}

func createStatefulSet(replicas int32) step {
	return func(ctx context.Context, s *stage) error {
		return s.created(ctx, lab.StatefulSet(s.namespace, workloadName, replicas))
	}
}

// createDaemonSet creates a DaemonSet with one pod on each of some nodes.
func createDaemonSet(annotations map[string]string) step {
	return func(ctx context.Context, s *stage) error {
		set := lab.DaemonSet(s.namespace, workloadName)
		set.Annotations = annotations
		set.Spec.MinReadySeconds = 2 // else a pod may verify the first release alone, before the controller has counted the nodes
		nodes := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{"node-1", "node-2", "node-3"}},
		}}
		set.Spec.Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{nodes}},
		}}
		return s.created(ctx, set)
	}
}

// checked waits until the n-th batch of the current release is checked.
func checked(batch int64) step {
	return awaits(fmt.Sprintf("the check of batch %d", batch), func(ctx context.Context, s seen) error {
		_, err := lab.CheckedBatch(ctx, s.Kube, s.record, batch)
		return err
	})
}

// parked waits until all pods of a StatefulSet came back as before its parked release, whose template stays.
func parked(ctx context.Context, s *stage) error {
	return awaits("a parked release", func(_ context.Context, s seen) error {
		status, template := s.object.(*appsv1.StatefulSet).Status, s.object.(*appsv1.StatefulSet).Spec.Template
		isParked := meta.IsStatusConditionTrue(s.record.Status.Conditions, appv1alpha1.ConditionParked)
		observed := status.ObservedGeneration == s.object.GetGeneration()
		return expect(isParked && template.Annotations != nil && observed && status.UpdatedReplicas == 0 && status.ReadyReplicas == parkedReplicas,
			"the condition Parked is %t, the annotations of the template are %v, its status was observed %t, %d pods are of the release, %d of any are ready",
			isParked, template.Annotations, observed, status.UpdatedReplicas, status.ReadyReplicas)
	})(ctx, s)
}

// kindsMutating and kindsValidating are the configurations of the webhooks of declared kinds.
const (
	kindsMutating   = "altershieldoperator-kinds-mutating-webhook-configuration"
	kindsValidating = "altershieldoperator-kinds-validating-webhook-configuration"
)

// declare puts WebApps under change control, unless they are.
func declare(ctx context.Context, s *stage) error {
	controlled, err := webapp.Controlled()
	if err != nil {
		return err
	}
	return s.createReady(ctx, controlled, readyIn(&controlled.Status.Conditions))
}

// undeclare takes WebApps out of change control, and waits until the webhooks are no longer called for them.
func undeclare(ctx context.Context, s *stage) error {
	controlled := &appv1alpha1.ControlledKind{ObjectMeta: metav1.ObjectMeta{Name: workload.ControlledKindName(s.kind)}}
	if err := s.write(ctx, "the end of the ControlledKind", func(ctx context.Context) error {
		return client.IgnoreNotFound(s.Kube.Delete(ctx, controlled))
	}); err != nil {
		return err
	}
	return until(ctx, "the end of the change control of "+controlled.Name, func(ctx context.Context) error {
		if err := s.Kube.Get(ctx, client.ObjectKeyFromObject(controlled), controlled); !apierrors.IsNotFound(err) {
			return cmp.Or(err, errors.New("its ControlledKind still exists"))
		}
		var mutating admissionregistrationv1.MutatingWebhookConfiguration
		var validating admissionregistrationv1.ValidatingWebhookConfiguration
		if err := errors.Join(
			s.Kube.Get(ctx, client.ObjectKey{Name: kindsMutating}, &mutating), s.Kube.Get(ctx, client.ObjectKey{Name: kindsValidating}, &validating),
		); err != nil {
			return err
		}
		return expect(!strings.Contains(fmt.Sprint(mutating.Webhooks, validating.Webhooks), controlled.Name), "its webhooks are still called")
	})
}

func createWebApp(ctx context.Context, s *stage) error {
	return s.created(ctx, webapp.New(s.namespace, workloadName, heldReplicas))
}

// seenFor is the age at which the manager has certainly seen a pod.
const seenFor = 2 * time.Second

// idle returns the pods of a phase that aren't ready.
func (s *stage) idle(ctx context.Context, phase corev1.PodPhase) ([]corev1.Pod, error) {
	return lab.Idle(ctx, s.Kube, phase, client.InNamespace(s.namespace))
}

// pending waits until the manager has seen all pods of the new release, none of them started.
func pending(ctx context.Context, s *stage) error {
	return until(ctx, "pods that don't start", func(ctx context.Context) error {
		pods, err := s.idle(ctx, corev1.PodPending)
		if err != nil {
			return err
		}
		for i := range pods {
			if age := time.Since(pods[i].CreationTimestamp.Time); age < seenFor {
				return fmt.Errorf("pod %s is only %s old", pods[i].Name, age)
			}
		}
		return expect(len(pods) == replicas, "there are %d of %d", len(pods), replicas)
	})
}

// runPods starts all pending pods instead of the kubelet. They aren't ready yet, so that the rollout isn't over.
func runPods(ctx context.Context, s *stage) error {
	return s.write(ctx, "the start of the pods", func(ctx context.Context) error {
		pods, err := s.idle(ctx, corev1.PodPending)
		for i := range pods {
			err = errors.Join(err, lab.Report(ctx, s.Kube, &pods[i], false))
		}
		return err
	})
}

// ready makes some of the running pods ready instead of the kubelet.
func ready(count int) step {
	return func(ctx context.Context, s *stage) error {
		return s.write(ctx, "pods that are ready", func(ctx context.Context) error {
			pods, err := s.idle(ctx, corev1.PodRunning)
			if err := cmp.Or(err, expect(len(pods) >= count, "%d pods of %d are running and not ready", len(pods), count)); err != nil {
				return err
			}
			for i := range pods[:count] {
				err = errors.Join(err, lab.Report(ctx, s.Kube, &pods[i], true))
			}
			return err
		})
	}
}

// replaced waits until the rollout waits for one more pod, which is running and not ready.
func replaced(ctx context.Context, s *stage) error {
	return until(ctx, "the next pod of the rollout", func(ctx context.Context) error {
		pods, err := s.idle(ctx, corev1.PodRunning)
		return cmp.Or(err, expect(len(pods) == 1, "%d pods are running and not ready", len(pods)))
	})
}

// held waits until the operator has paused the rollout.
func held(ctx context.Context, s *stage) error {
	return awaits("a rollout that is held", func(_ context.Context, s seen) error {
		paused := s.kind.Rollout(s.object).Paused
		held := s.object.GetAnnotations()[appv1alpha1.AnnotationHeld]
		return expect(paused && held == strconv.FormatInt(s.record.Spec.Release, 10), "paused is %t, the hold %q", paused, held)
	})(ctx, s)
}
