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
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func losesItsLeader(ctx context.Context) {
	namespace := controlledNamespace(ctx, "leaderless")
	bothReady(ctx)
	old := leadingPod(ctx)
	object := slowly(namespace, "sleep")
	Expect(kube.Create(ctx, object)).To(Succeed())
	record := recordOf(object)
	Eventually(ctx, outcome(namespace, record)).Should(Equal("Running, Verifying"))
	Expect(kube.Delete(ctx, old)).To(Succeed())
	succeeds(ctx, namespace, record)
	Eventually(ctx, leader).ShouldNot(Or(Equal(old.Name), BeEmpty()))
	bothReady(ctx)
}

func survivesADrain(ctx context.Context) {
	namespace := controlledNamespace(ctx, "drained")
	verifies(ctx, slowly(namespace, "sleep"))
	bothReady(ctx)
	visitor := visit(ctx, namespace)
	node := leadingPod(ctx).Spec.NodeName
	record, err := release(ctx, namespace, "sleep", "during a drain")
	Expect(err).NotTo(HaveOccurred())

	kubectl(ctx, "drain", node, "--delete-emptydir-data", "--ignore-daemonsets", "--timeout=3m")
	DeferCleanup(func(ctx context.Context) { kubectl(ctx, "uncordon", node) })
	bothReady(ctx)
	succeeds(ctx, namespace, record)

	admitted, failures := visitor.leaves()
	figure("%d releases admitted while a node was drained, %d not", admitted, len(failures))
	Expect(failures).To(BeEmpty())
}

const (
	rounds = 10 // of five releases each, in which the leader is lost twice
	fleet  = 5
)

func losesItsLeaderAgainAndAgain(ctx context.Context) {
	namespace := controlledNamespace(ctx, "again")
	for i := range fleet {
		object := slowly(namespace, fmt.Sprintf("sleep-%d", i))
		Expect(kube.Create(ctx, object)).To(Succeed())
	}
	for i := range fleet {
		succeeds(ctx, namespace, recordOf(theDeployment(ctx, namespace, fmt.Sprintf("sleep-%d", i))))
	}
	visitor := visit(ctx, namespace)
	kills := 0
	for round := range rounds {
		var records []string
		for i := range fleet {
			record, err := release(ctx, namespace, fmt.Sprintf("sleep-%d", i), fmt.Sprintf("round %d", round))
			Expect(err).NotTo(HaveOccurred())
			records = append(records, record)
		}
		for range 2 {
			bothReady(ctx)
			Expect(kube.Delete(ctx, leadingPod(ctx))).To(Succeed())
			kills++
		}
		for _, record := range records {
			succeeds(ctx, namespace, record)
		}
	}
	for i := range fleet {
		Expect(theDeployment(ctx, namespace, fmt.Sprintf("sleep-%d", i)).Annotations).To(
			HaveKeyWithValue("altershield.defense.antgroup.com/release", strconv.Itoa(1+rounds)))
	}
	admitted, failures := visitor.leaves()
	figure("%d releases verified while the leader was deleted %d times", rounds*fleet, kills)
	figure("%d further releases admitted meanwhile, %d not", admitted, len(failures))
	Expect(failures).To(BeEmpty())
}

// isKilledOnTheSpot deletes the leader without grace, and then kills another process with SIGKILL. Its webhook may be gone
// before Kubernetes notices, and releases may fail until then: their number is printed, not checked.
func isKilledOnTheSpot(ctx context.Context) {
	namespace := controlledNamespace(ctx, "killed")
	verifies(ctx, slowly(namespace, "sleep"))
	visitor := visit(ctx, namespace)

	bothReady(ctx)
	record, err := release(ctx, namespace, "sleep", "while the leader is deleted without grace")
	Expect(err).NotTo(HaveOccurred())
	Expect(kube.Delete(ctx, leadingPod(ctx), client.GracePeriodSeconds(0))).To(Succeed())
	bothReady(ctx)
	succeeds(ctx, namespace, record)

	// A request to the killed replica may fail this release, too.
	Eventually(ctx, func() (err error) {
		record, err = release(ctx, namespace, "sleep", "while the leader is killed")
		return err
	}).Should(Succeed())
	killed := leadingPod(ctx)
	before := restarts(ctx, killed)
	Expect(syscall.Kill(processOf(killed), syscall.SIGKILL)).To(Succeed())
	Eventually(ctx, func(ctx context.Context) int32 { return restarts(ctx, killed) }).Should(Equal(before + 1))
	bothReady(ctx)
	succeeds(ctx, namespace, record)
	admitted, failures := visitor.leaves()
	figure("%d releases admitted around a leader's deletion without grace and a SIGKILL, %d not", admitted, len(failures))
	for _, failure := range failures {
		GinkgoWriter.Println(failure)
	}
}

func restarts(ctx context.Context, pod *corev1.Pod) int32 {
	var now corev1.Pod
	if err := kube.Get(ctx, client.ObjectKeyFromObject(pod), &now); err != nil || len(now.Status.ContainerStatuses) == 0 {
		return -1
	}
	return now.Status.ContainerStatuses[0].RestartCount
}

// processOf returns the process of a pod's manager on this machine, found by its cgroup.
func processOf(pod *corev1.Pod) int {
	GinkgoHelper()
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	Expect(err).NotTo(HaveOccurred())
	for _, path := range commands {
		command, err := os.ReadFile(path)
		if err != nil || !strings.HasPrefix(string(command), "/manager\x00") {
			continue // it has exited, or is another program
		}
		cgroups, err := os.ReadFile(filepath.Join(filepath.Dir(path), "cgroup"))
		if err == nil && strings.Contains(string(cgroups), string(pod.UID)) {
			id, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			Expect(err).NotTo(HaveOccurred())
			return id
		}
	}
	Fail("no process of pod " + pod.Name)
	return 0
}

func isUpgraded(ctx context.Context) {
	namespace := controlledNamespace(ctx, "upgraded")
	verified := verifies(ctx, slowly(namespace, "sleep"))
	rolling := slowly(namespace, "rolling")
	rolling.Spec.MinReadySeconds = 15 // so that the rollout is in progress all the time
	Expect(kube.Create(ctx, rolling)).To(Succeed())
	visitor := visit(ctx, namespace)
	before := incarnations(ctx, namespace)

	deploy(ctx, current)
	for _, pod := range operatorPods(ctx) {
		Expect(pod.Spec.Containers[0].Image).To(Equal(current))
	}

	By("continuing the release that was in progress")
	succeeds(ctx, namespace, recordOf(rolling))
	after := incarnations(ctx, namespace)
	for name, incarnation := range before {
		if strings.HasPrefix(name, "sleep-") {
			Expect(after).To(HaveKeyWithValue(name, incarnation))
		}
	}
	Expect(outcome(namespace, verified)(ctx)).To(Equal("Success, AllPodsPassed"))
	Expect(recordOf(theDeployment(ctx, namespace, "sleep"))).To(Equal(verified))
	admitted, failures := visitor.leaves()
	figure("%d releases admitted during the upgrade, %d not", admitted, len(failures))
	Expect(failures).To(BeEmpty())

	By("running the new version")
	Expect(buildVersions(ctx, scraperToken(ctx))).To(HaveEach("current"))
}

// askEvery is the pause between two releases of a visitor.
const askEvery = 100 * time.Millisecond

// visitor is a client of the cluster that releases continuously by dry runs: the API server calls the webhook,
// and nothing changes.
type visitor struct {
	stop     context.CancelFunc
	done     sync.WaitGroup
	admitted atomic.Int64
	// last is the name of the record that the previous release would have had.
	last     string
	failures []string
}

// visit starts a visitor that releases a Deployment of its own.
func visit(ctx context.Context, namespace string) *visitor {
	GinkgoHelper()
	visited := slowly(namespace, "visited")
	visited.Spec.Replicas = new(int32)
	Expect(kube.Create(ctx, visited)).To(Succeed())
	visiting, stop := context.WithCancel(context.WithoutCancel(ctx))
	v := &visitor{stop: stop}
	v.done.Go(func() {
		n := 0
		wait.NonSlidingUntilWithContext(visiting, func(ctx context.Context) {
			v.ask(ctx, namespace, n)
			n++
		}, askEvery)
	})
	DeferCleanup(stop)
	return v
}

func (v *visitor) ask(ctx context.Context, namespace string, n int) {
	object := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "visited"}}
	patch := fmt.Appendf(nil, `{"spec":{"template":{"metadata":{"annotations":{"visit":"%d"}}}}}`, n)
	err := kube.Patch(ctx, object, client.RawPatch("application/merge-patch+json", patch), client.DryRunAll)
	stamped := recordOf(object)
	if err == nil && stamped == v.last {
		err = fmt.Errorf("visit %d has the version of the previous one: no webhook was called", n)
	}
	v.last = stamped
	switch {
	case ctx.Err() != nil: // the last answer doesn't count
	case err != nil:
		v.failures = append(v.failures, fmt.Sprintf("%s: %v", time.Now().Format(time.TimeOnly), err))
	default:
		v.admitted.Add(1)
	}
}

// staysFor waits until the given number of further releases were admitted.
func (v *visitor) staysFor(ctx context.Context, releases int64) {
	GinkgoHelper()
	enough := v.admitted.Load() + releases
	Eventually(ctx, v.admitted.Load).Should(BeNumerically(">=", enough))
}

// leaves ends the visit and returns the number of admitted releases, and the errors of the others.
func (v *visitor) leaves() (int64, []string) {
	GinkgoHelper()
	v.stop()
	v.done.Wait()
	Expect(v.admitted.Load()).To(BeNumerically(">", 0))
	return v.admitted.Load(), v.failures
}
