//go:build e2e

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

package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/testkit/witness"
)

// releasesInStepsAgainAndAgain rolls out a hundred releases of a kind, of so many workloads with 8 real pods, or groups of two pods, and counts
// the pods of each version in what was watched. A DaemonSet has a pod on each of the two nodes. The specs in controllers do the same with 20 pods,
// which aren't real.
func releasesInStepsAgainAndAgain(ctx context.Context, noun string, workloads int) {
	releases := 100 / workloads
	kubectl(ctx, "apply", "-k", "config/gates")
	permitDeletions(ctx)
	if noun == groups {
		controlsGroups(ctx)
	}
	began, sets, old, seen := time.Now(), make([]set, workloads), make([]string, workloads), make([]*witness.Witness, workloads)
	for i := range sets {
		namespace := controlledNamespace(ctx, fmt.Sprintf("many-%ss-%d", noun, i))
		inSteps(ctx, namespace, appv1alpha1.ReleaseStep{Percent: 25})
		of := append(setsOfEachKind(namespace), groupSet(namespace, "web"))
		sets[i] = quick(of[slices.IndexFunc(of, func(s set) bool { return s.noun == noun })])
	}
	create(ctx, sets)
	for i, s := range sets {
		old[i], seen[i] = s.version(ctx), watchReleases(ctx, s.GetNamespace())
	}
	var rolled sync.WaitGroup
	for _, s := range sets {
		rolled.Go(func() {
			defer GinkgoRecover()
			for release := range releases {
				rollsOut(ctx, s, fmt.Sprint("next-", release))
			}
		})
	}
	rolled.Wait()
	for i, s := range sets {
		excess, most := seen[i].Excess(old[i])
		Expect(excess).To(BeEmpty(), s.GetNamespace())
		delete(most, old[i])
		// While a step of the next release waits, its Deployment may run maxSurge more pods of the version before.
		Expect(slices.Collect(maps.Values(most))).To(And(HaveLen(releases), HaveEach(BeNumerically(">=", s.size()))), "every release ran all its pods in the end")
		Expect(kube.Delete(ctx, s.Object)).To(Succeed())
	}
	figure("%d releases of %ss in steps, %s, none with more pods than its step", workloads*releases, noun, time.Since(began).Round(time.Second))
}

// rollsOut releases a set, and waits until all steps are done.
func rollsOut(ctx context.Context, s set, note string) {
	GinkgoHelper()
	change := template(note, "")
	if s.noun == groups {
		change = groupTemplate(note)
	}
	Expect(s.patch(ctx, change)).To(Succeed())
	Eventually(ctx, s.step).WithTimeout(15*time.Minute).Should(Equal("3/3 AllSteps"), "%s/%s", s.GetNamespace(), s)
	settles(ctx, s)
}

// quick gives a set 8 pods, unless it has one on each node, that are available as soon as they run: probes of 80 pods would keep the machine
// busy.
func quick(s set) set {
	switch object := s.Object.(type) {
	case *appsv1.Deployment:
		object.Spec.Replicas, object.Spec.MinReadySeconds = ptr.To[int32](8), 0
		object.Spec.Template.Spec.Containers[0].ReadinessProbe = nil
	case *appsv1.StatefulSet:
		object.Spec.Replicas, object.Spec.MinReadySeconds = ptr.To[int32](8), 0
	case *appsv1.DaemonSet:
		object.Spec.MinReadySeconds = 0
	}
	return s
}
