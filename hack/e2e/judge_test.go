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
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	prometheusapi "github.com/prometheus/client_golang/api"
	prometheusv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/testkit/witness"
	"github.com/traas-stack/altershield-operator/hack/judge/report"
)

var (
	judgedPart = flag.Int("judge.part", 1, "which part of 60 bad and 60 good releases is judged: 60 for one of each class")
	judgedSet  = flag.Uint64("judge.set", 1, "number of the set of seeds")
)

const (
	// judgedLabel on a namespace has the releases in it judged: its first release isn't.
	judgedLabel = "judged"
	// mostWait is for how long half of the good releases may be delayed.
	mostWait = 2 * time.Minute
	// patient is how long anything of a release may take on a busy machine, but for its checks.
	patient = 10 * time.Minute
)

// judgesReleases releases as many bad as good versions of an application, which the policy builtin and the samples for metrics judge, and
// prints how well that went. A release is over once it is suspended, or its second step begins.
func judgesReleases(ctx context.Context) {
	deploy(ctx, current)
	kubectl(ctx, "apply", "-k", "config/gates")
	pushShop(ctx)
	address := scrapes(ctx, "5s", client.MatchingLabels{"app": "shop"})
	asks(ctx, address, "True Ready the source answers")
	kubectl(ctx, "patch", "vsrc", "prometheus", "-n", system, "--type=merge", "-p", `{"spec":{"limits":{"queriesPerSecond":100,"burst":200,"concurrent":20}}}`)
	for _, sample := range []string{errorsCheck, latencyCheck} {
		kubectl(ctx, "apply", "-n", system, "-f", "config/samples/verification/"+sample+".yaml")
		kubectl(ctx, "patch", "vpol", sample, "-n", system, "--type=merge", "-p", fmt.Sprintf(
			`{"spec":{"namespaceSelector":{"matchLabels":{%q:"true"}},"warmupSeconds":%.0f,"intervalSeconds":10}}`, judgedLabel, warmsUp.Seconds()))
		kubectl(ctx, "wait", "vpol/"+sample, "-n", system, "--for=condition=Ready", "--timeout=1m")
	}
	// The samples pass early, and would not wait for what pods do later.
	kubectl(ctx, "patch", "vpol", "builtin", "-n", system, "--type=merge", "-p", `{"spec":{"bakeSeconds":100}}`)
	asked, err := prometheusapi.NewClient(prometheusapi.Config{Address: address})
	Expect(err).NotTo(HaveOccurred())
	court := court{metrics: prometheusv1.NewAPI(asked)}

	waiting, count := queues(*judgedPart, *judgedSet)
	began := time.Now()
	var running sync.WaitGroup
	for _, lane := range lanes() {
		for range lane.atOnce {
			running.Go(func() {
				for of := range waiting[lane.name] {
					court.hears(ctx, &of)
				}
			})
		}
	}
	running.Wait()
	fmt.Printf("Seeds: `shop --seed=%d` of release 1, and so on; each pod adds its name.\n\n", 1000**judgedSet+1)
	found := report.Report{Releases: court.judged(), Decided: "until the second step of a good release with traffic began", Within: mostWait}
	met := found.Write(os.Stdout)
	fmt.Println("\nDelays of errors and slow requests are from the end of the warm-up, those of pods from when the status of the pod showed the trouble; it\n" +
		"has to be unready for 30 s before. Second steps are from when the pod of the first one had finished. Intervals are those of Clopper and Pearson.")
	figure("%d of %d releases on real nodes were judged in %s", len(found.Releases), count, time.Since(began).Round(time.Second))
	Expect(found.Releases).To(HaveLen(count))
	Expect(met).To(BeTrue(), "a target is missed")
}

// court judges releases.
type court struct {
	metrics prometheusv1.API

	mutex   sync.Mutex
	results map[int]report.Release
}

// judged returns the results in the order of the releases.
func (c *court) judged() (all []report.Release) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, number := range slices.Sorted(maps.Keys(c.results)) {
		all = append(all, c.results[number])
	}
	return all
}

// hears releases a version, waits until its release is over, and notes what was found.
func (c *court) hears(ctx context.Context, of *judged) {
	defer GinkgoRecover()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: of.namespace, Labels: map[string]string{optIn: "enabled"}}}
	Expect(kube.Create(ctx, namespace)).To(Succeed())
	defer func() { Expect(client.IgnoreNotFound(kube.Delete(ctx, namespace))).To(Succeed()) }()
	inEffect(ctx, byPolicy, &appv1alpha1.ReleasePolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: of.namespace, Name: "careful"},
		Spec:       appv1alpha1.ReleasePolicySpec{Steps: []appv1alpha1.ReleaseStep{{Replicas: 1}, {Percent: 100}}},
	})
	object := of.before()
	Expect(kube.Create(ctx, object)).To(Succeed())
	Eventually(ctx, outcome(of.namespace, recordOf(object))).WithTimeout(patient).Should(Equal("Success, AllPodsPassed"), of.namespace)
	before := namespace.DeepCopy()
	namespace.Labels[judgedLabel] = "true"
	Expect(kube.Patch(ctx, namespace, client.MergeFrom(before))).To(Succeed())
	Eventually(ctx, c.knows(of)).WithTimeout(patient).Should(BeTrue(), "all pods of %s were read", of.namespace)
	if of.restarted {
		Eventually(ctx, restartsOf(of)).WithTimeout(patient).Should(Equal([]int32{1, 1, 1, 1}), "restarts of the pods of %s", of.namespace)
	}
	seen, err := witness.Watch(ctx, kube, of.namespace, &appv1alpha1.ChangePodList{})
	Expect(err).NotTo(HaveOccurred())
	defer seen.Stop()
	earlier := object.DeepCopy()
	of.release(object)
	Eventually(ctx, func() error { // as a pipeline does, which is told to try again where the API server is too slow for an admission
		return kube.Patch(ctx, object, client.MergeFrom(earlier))
	}).WithTimeout(patient).Should(Succeed())
	heard := hearing{of, seen, object.Labels[versionLabel]}
	Eventually(ctx, func() bool { return heard.end() != nil }).WithTimeout(patient).WithPolling(time.Second).Should(BeTrue(), "%s is over", of.namespace)
	result := heard.result()
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.results == nil {
		c.results = map[int]report.Release{}
	}
	c.results[of.number] = result
	fmt.Println(heard.told(&result))
}

// knows returns whether Prometheus has read each pod of a release three times.
func (c *court) knows(of *judged) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		value, _, err := c.metrics.Query(ctx, fmt.Sprintf(`count(count_over_time(up{namespace=%q}[5m]) >= 3) >= 4`, of.namespace), time.Now())
		if err != nil {
			return false, err
		}
		read, isVector := value.(model.Vector)
		return isVector && len(read) > 0, nil
	}
}

// restartsOf returns how often each pod of a release was restarted.
func restartsOf(of *judged) func(context.Context) ([]int32, error) {
	return func(ctx context.Context) (counts []int32, err error) {
		var pods corev1.PodList
		err = kube.List(ctx, &pods, client.InNamespace(of.namespace))
		for i := range pods.Items {
			for _, status := range pods.Items[i].Status.ContainerStatuses {
				counts = append(counts, status.RestartCount)
			}
		}
		return counts, err
	}
}

// before returns the workload as it is before the release: four pods, which get no more than what they need.
func (of *judged) before() *appsv1.Deployment {
	object := slowly(of.namespace, "shop")
	object.Spec.Replicas, object.Spec.MinReadySeconds = ptr.To[int32](4), 0
	container := &object.Spec.Template.Spec.Containers[0]
	container.Image, container.Command = "shop", of.command()
	container.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1m"), corev1.ResourceMemory: resource.MustParse("8Mi")}
	container.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")}
	container.ReadinessProbe = &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromInt32(80)}},
		PeriodSeconds: 5, TimeoutSeconds: 5, FailureThreshold: 2,
	}
	return object
}

// release changes the workload to the release.
func (of *judged) release(object *appsv1.Deployment) {
	object.Spec.Template.Annotations = map[string]string{"note": "next"}
	object.Spec.Template.Spec.Containers[0].Command = of.command(of.flags...)
}

func (of *judged) command(flags ...string) []string {
	command := []string{"/shop", "--visits=80", "--failed=0.01", "--slow=0.01", fmt.Sprintf("--seed=%d", of.seed)}
	return slices.Concat(command, of.both, flags)
}
