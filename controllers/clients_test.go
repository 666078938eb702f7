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

package controllers_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

// The specs are the table "What other clients say" of docs/pace.md.
var _ = Describe("While a step waits, other clients say", slow, func() {
	const updating, complete = "Waiting for deployment", "partitioned roll out complete: 1 new pods have been updated..."
	says := func(ctx context.Context, web *inStep, kubectlSays string, others gomegatypes.GomegaMatcher) {
		GinkgoHelper()
		Eventually(func() string { return verdicts(ctx, web.webSet) }).Should(others, web.kind)
		output, err := kubectl(ctx, "-n", web.namespace, "rollout", "status", web.noun, "web", "--timeout=2s")
		Expect(output).To(ContainSubstring(kubectlSays))
		Expect(err == nil).To(Equal(kubectlSays == complete), output)
	}

	It("of each lever that the rollout is suspended, complete or healthy", func(ctx context.Context) {
		webs := atFirstSteps(ctx)
		says(ctx, webs[0], updating, Equal("Argo CD Suspended, helm 3 ready, kstatus InProgress"))
		says(ctx, webs[1], complete, Equal("Argo CD Healthy, helm 3 ready, kstatus Current"))
		says(ctx, webs[2], "rollout status is only available for RollingUpdate strategy type", Equal("Argo CD Healthy, helm 3 ready, kstatus InProgress"))
	})

	It("of a Deployment that it is suspended, too, if its pods are checked before they get traffic", func(ctx context.Context) {
		patient(ctx)
		web := &inStep{webSet: deployment(pacedNamespace(ctx, one, `,"traffic":"Before"`), 4)}
		web.create(ctx)
		web.old = web.verified(ctx)
		web.next = web.released(ctx, "second")
		Eventually(web.step(ctx)).Should(Equal("1/2 True AwaitingApproval"))
		says(ctx, web, updating, Equal("Argo CD Suspended, helm 3 ready, kstatus InProgress"))
	})
})

// verdicts returns what clients conclude from a workload: the health of Argo CD (gitops-engine, pkg/health), whether helm 3 and helm
// --wait=legacy take it for ready (pkg/kube, ReadyChecker), and the status by kstatus, for which helm 4 and Flux wait. All follow the same
// fields; the functions below have the conditions of theirs that matter to a workload whose spec was observed.
func verdicts(ctx context.Context, web webSet) string {
	GinkgoHelper()
	content := web.get(ctx).Object
	decoded := func(into any) {
		Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(content, into)).To(Succeed())
	}
	argo, ready, current := "Healthy", true, true
	var generation, observed int64
	switch web.kind {
	case "Deployment":
		var object appsv1.Deployment
		decoded(&object)
		generation, observed = object.Generation, object.Status.ObservedGeneration
		argo, ready, current = deploymentSays(&object)
	case "StatefulSet":
		var object appsv1.StatefulSet
		decoded(&object)
		generation, observed = object.Generation, object.Status.ObservedGeneration
		argo, ready, current = statefulSetSays(&object)
	case "DaemonSet":
		var object appsv1.DaemonSet
		decoded(&object)
		generation, observed = object.Generation, object.Status.ObservedGeneration
		argo, ready, current = daemonSetSays(&object)
	}
	if observed < generation {
		return "its spec isn't observed"
	}
	return fmt.Sprintf("Argo CD %s, helm 3 %s, kstatus %s", argo, either(ready, "ready", "waits"), either(current, "Current", "InProgress"))
}

func either(condition bool, yes, no string) string {
	if condition {
		return yes
	}
	return no
}

func deploymentSays(object *appsv1.Deployment) (argo string, ready, current bool) {
	status, desired := object.Status, *object.Spec.Replicas
	current = status.Replicas == desired && status.UpdatedReplicas >= desired && status.AvailableReplicas >= status.UpdatedReplicas && status.ReadyReplicas >= desired
	if object.Spec.Paused {
		return "Suspended", true, current
	}
	if status.UpdatedReplicas < desired || status.Replicas > status.UpdatedReplicas || status.AvailableReplicas < status.UpdatedReplicas {
		return "Progressing", false, current
	}
	return "Healthy", true, current
}

func statefulSetSays(object *appsv1.StatefulSet) (argo string, ready, current bool) {
	status, desired := object.Status, *object.Spec.Replicas
	partition := ptr.Deref(object.Spec.UpdateStrategy.RollingUpdate.Partition, 0)
	current = status.ReadyReplicas == desired && status.UpdatedReplicas >= desired-partition
	return either(current, "Healthy", "Progressing"), current && (partition > 0 || status.CurrentRevision == status.UpdateRevision), current
}

func daemonSetSays(object *appsv1.DaemonSet) (argo string, ready, current bool) {
	status := object.Status
	current = status.UpdatedNumberScheduled >= status.DesiredNumberScheduled && status.NumberAvailable >= status.DesiredNumberScheduled
	if object.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType {
		return "Healthy", true, current
	}
	return either(current, "Healthy", "Progressing"), current, current
}
