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
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

const frozenMark = "altershield.defense.antgroup.com/frozen"

// applyAs applies an object of the operator as a user.
func applyAs(ctx context.Context, user, namespace, kind, name, spec string) {
	GinkgoHelper()
	output, err := kubectlWith(ctx, fmt.Sprintf(
		`{"apiVersion": "app.ops.cloud.alipay.com/v1alpha1", "kind": %q, "metadata": {"namespace": %q, "name": %q}, "spec": {%s}}`, kind, namespace, name, spec),
		"--as="+user, "--as-group=system:masters", "apply", "-f", "-")
	Expect(err).NotTo(HaveOccurred(), output)
	Expect(output).NotTo(ContainSubstring("Warning"))
}

// freezeNow freezes a namespace by a ChangeFreeze named lock, and waits until the operator knows.
func freezeNow(ctx context.Context, namespace, spec string) {
	GinkgoHelper()
	applyAs(ctx, "bob", namespace, "ChangeFreeze", "lock", spec)
	Eventually(func() bool { return lockOf(ctx, namespace).Status.Active }).Should(BeTrue())
}

func lockOf(ctx context.Context, namespace string) *appv1alpha1.ChangeFreeze {
	GinkgoHelper()
	var freeze appv1alpha1.ChangeFreeze
	Expect(kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "lock"}, &freeze)).To(Succeed())
	return &freeze
}

func endFreeze(ctx context.Context, namespace string) {
	GinkgoHelper()
	Expect(kube.Delete(ctx, lockOf(ctx, namespace))).To(Succeed())
}

// frozenBecause returns the reason of a release's Frozen condition.
func frozenBecause(ctx context.Context, namespace, name string) func() string {
	return func() string {
		var record appv1alpha1.ChangeWorkload
		if err := kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &record); err != nil {
			return err.Error()
		}
		return reason(record.Status.Conditions, "Frozen")
	}
}

// setImage releases the sample as a user.
func setImage(ctx context.Context, namespace, user, image string) (string, error) {
	return kubectl(ctx, "-n", namespace, "--as="+user, "--as-group=system:masters", "set", "image", "deployment/sleep", "sleep="+image)
}

var _ = Describe("A freeze", func() {
	It("parks a release, which neither a user nor a client that applies what is in Git starts, and lets it go on when it is deleted", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		fromGit := func(name string) string {
			GinkgoHelper()
			output, err := kubectlWith(ctx, manifest(namespace, image(name)), "apply", "--server-side", "--force-conflicts", "--field-manager=git", "-f", "-")
			Expect(err).NotTo(HaveOccurred(), output)
			return output
		}
		fromGit("busybox")
		verified(ctx, namespace, "sleep")
		freezeNow(ctx, namespace, `"expires": "1h", "reason": "INC-7"`)
		Expect(fromGit("busybox:1.36")).To(MatchRegexp(`^Warning: deployment sleep is frozen: ChangeFreeze ` + namespace + `/lock is on until \S+: INC-7\n` +
			`Warning: the release is parked: it starts when the freeze ends\n`))
		parked := currentName(ctx, namespace, "sleep")
		Eventually(frozenBecause(ctx, namespace, parked)).Should(Equal("ChangeFreeze"))
		Eventually(func() int32 { return lockOf(ctx, namespace).Status.Parked }).Should(BeEquivalentTo(1))
		Eventually(notes(ctx, namespace, "ReleaseFrozen")).Should(HaveLen(1))
		Expect(kube.Create(ctx, sleep(namespace, alone("new"), replicas(1)))).To(Succeed())
		Eventually(frozenBecause(ctx, namespace, currentName(ctx, namespace, "new"))).Should(Equal("ChangeFreeze"))
		pause(ctx, time.Second)

		before, record := get(ctx, namespace, "sleep"), workload(ctx, namespace, parked)
		for range 4 {
			Expect(fromGit("busybox:1.36")).NotTo(ContainSubstring("Warning"))
			output, err := kubectl(ctx, "-n", namespace, "--as=alice", "--as-group=system:masters", "rollout", "resume", "deployment", "sleep")
			Expect(err).NotTo(HaveOccurred())
			Expect(output).To(ContainSubstring("Warning: the release stays parked: it starts by itself"))
			pause(ctx, 500*time.Millisecond)
		}
		Expect(get(ctx, namespace, "sleep")).To(HaveField("Generation", before.Generation))
		Expect(get(ctx, namespace, "sleep")).To(HaveField("Annotations", before.Annotations))
		Expect(workload(ctx, namespace, parked)).To(HaveField("ResourceVersion", record.ResourceVersion))
		Expect(releases(ctx, namespace)()).To(HaveLen(3))
		Expect(readyPods(ctx, namespace)()).To(Equal([]string{firstVersion + " x5"}), "none of the new Deployment")

		endFreeze(ctx, namespace)
		verified(ctx, namespace, "new")
		verified(ctx, namespace, "sleep")
		after := get(ctx, namespace, "sleep")
		Expect(after.Spec.Paused).To(BeFalse())
		Expect(after.Annotations).To(And(HaveKeyWithValue("altershield.defense.antgroup.com/release", "2"), Not(HaveKey(frozenMark)), Not(HaveKey(heldKey))))
		Expect(frozenBecause(ctx, namespace, parked)()).To(Equal("Thawed"))
		Eventually(notes(ctx, namespace, "ReleaseThawed")).Should(HaveLen(2))
		Expect(notes(ctx, namespace, "RolloutResumed")()).To(BeEmpty())
	})

	DescribeTable("ends for five releases at a time", slow, func(ctx context.Context, count int, led bool) {
		const limit = 5
		namespace := controlledNamespace(ctx)
		name := func(i int) string { return fmt.Sprintf("app-%02d", i) }
		atOnce(count, func(i int) { Expect(kube.Create(ctx, sleep(namespace, alone(name(i)), replicas(1)))).To(Succeed()) })
		Eventually(func() int { return len(succeeded(ctx, namespace, 1)) }).Should(Equal(count))
		freezeNow(ctx, namespace, `"expires": "1h"`)
		if !led {
			Expect(manager.Stop(ctx)).To(Succeed())
			lead(ctx, "another")
			DeferCleanup(func(ctx context.Context) { lead(ctx, "") })
			Expect(manager.Start(ctx)).To(Succeed())
		}
		atOnce(count, func(i int) {
			output, err := kubectl(ctx, "-n", namespace, "set", "image", "deployment/"+name(i), "sleep=busybox:1.36")
			Expect(err).NotTo(HaveOccurred(), output)
		})
		if led {
			Eventually(func() int32 { return lockOf(ctx, namespace).Status.Parked }).Should(BeEquivalentTo(count))
		}

		deployments := changesOf(ctx, namespace, &appsv1.DeploymentList{})
		defer deployments.Stop()
		records := changesOf(ctx, namespace, &appv1alpha1.ChangeWorkloadList{})
		defer records.Stop()
		endFreeze(ctx, namespace)
		if !led {
			lead(ctx, "")
		}
		most, ended := underWay(ctx, deployments, records, count)
		Expect(ended).To(Equal(count))
		Expect(most).To(Equal(limit), "all places are used, and no more")
		Expect(succeeded(ctx, namespace, 2)).To(HaveLen(count))
		for i := range count {
			Expect(get(ctx, namespace, name(i)).Spec.Paused).To(BeFalse())
		}
	},
		Entry("of twenty", 20, true),
		Entry("of fifty", 50, true),
		Entry("of twenty that were parked while no leader was there", 20, false),
	)

	It("of the operator's namespace ends where a namespace isn't selected any more", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		verified(ctx, namespace, "sleep")
		output, err := kubectl(ctx, "label", "namespace", namespace, "tier="+namespace)
		Expect(err).NotTo(HaveOccurred(), output)
		applyAs(ctx, "bob", system, "ChangeFreeze", namespace, fmt.Sprintf(`"expires": "1h", "namespaces": {"matchLabels": {"tier": %q}}`, namespace))
		DeferCleanup(func(ctx context.Context) {
			output, err := kubectl(ctx, "-n", system, "delete", "changefreeze", namespace)
			Expect(err).NotTo(HaveOccurred(), output)
		})
		output, err = kubectl(ctx, "-n", system, "wait", "--for=condition=Active", "changefreeze/"+namespace)
		Expect(err).NotTo(HaveOccurred(), output)
		output, err = setImage(ctx, namespace, "alice", "busybox:1.36")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(frozenBecause(ctx, namespace, currentName(ctx, namespace, "sleep"))).Should(Equal("ChangeFreeze"))
		output, err = kubectl(ctx, "label", "namespace", namespace, "tier-")
		Expect(err).NotTo(HaveOccurred(), output)
		verified(ctx, namespace, "sleep")
	})

	It("denies a release in one sentence where it is to", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		verified(ctx, namespace, "sleep")
		freezeNow(ctx, namespace, `"expires": "1h", "action": "Deny", "reason": "INC-7"`)
		output, err := setImage(ctx, namespace, "alice", "busybox:1.36")
		Expect(err).To(HaveOccurred())
		Expect(strings.Split(strings.TrimSpace(output), "\n")).To(HaveExactElements(
			"Warning: in an emergency, create a BreakGlass in namespace "+namespace+" for Deployment.apps sleep with overrides [Freeze]",
			MatchRegexp(`^[Ee]rror.*deployment sleep is frozen: ChangeFreeze `+namespace+`/lock is on until \S+Z: INC-7$`)))
		Expect(get(ctx, namespace, "sleep").Annotations).To(HaveKeyWithValue("altershield.defense.antgroup.com/release", "1"))
		output, err = kubectl(ctx, "-n", namespace, "scale", "deployment/sleep", "--replicas=6")
		Expect(err).NotTo(HaveOccurred(), output)
	})

	It("is passed by a BreakGlass as often as that permits, which keeps the evidence", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		verified(ctx, namespace, "sleep")
		freezeNow(ctx, namespace, `"expires": "1h", "action": "Deny"`)
		applyAs(ctx, "carol", namespace, "BreakGlass", "inc-7",
			`"reason": "INC-7", "workloads": [{"kind": "Deployment.apps", "name": "sleep"}], "overrides": ["Freeze"], "for": "1h", "requestedBy": "mallory"`)
		glass := func() *appv1alpha1.BreakGlass {
			GinkgoHelper()
			var glass appv1alpha1.BreakGlass
			Expect(kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "inc-7"}, &glass)).To(Succeed())
			return &glass
		}
		Expect(glass().Spec.RequestedBy).To(Equal("carol"), "what a client claims is replaced")
		output, err := setImage(ctx, namespace, "alice", "busybox:1.36")
		Expect(err).NotTo(HaveOccurred(), output)
		Expect(output).To(ContainSubstring("Warning: deployment sleep passes by BreakGlass inc-7, which is recorded for alice, although deployment sleep is frozen"))
		passed := verified(ctx, namespace, "sleep")
		Expect(passed.Status.BreakGlass).To(HaveField("User", "alice"))
		Eventually(func() string { return reason(glass().Status.Conditions, "Usable") }).Should(Equal("UsedUp"))
		Expect(glass().Status.Uses).To(HaveExactElements(And(
			HaveField("User", "alice"), HaveField("Release", BeEquivalentTo(2)), HaveField("Version", passed.Spec.Reversion), HaveField("Would", HaveLen(1)))))
		Eventually(notes(ctx, namespace, "BreakGlassUsed")).Should(HaveExactElements(ContainSubstring("alice used BreakGlass inc-7")))

		output, err = setImage(ctx, namespace, "alice", "busybox:1.37")
		Expect(err).To(HaveOccurred())
		Expect(output).To(ContainSubstring("denied the request: deployment sleep is frozen: ChangeFreeze "))
		Expect(kube.Delete(ctx, glass())).To(Succeed())
		Expect(get(ctx, namespace, "sleep").Spec.Paused).To(BeFalse())
		Expect(workload(ctx, namespace, passed.Name).Status.BreakGlass).To(HaveField("Name", "inc-7"), "the evidence in the record stays")
	})

	It("holds a release under way if it is to, until it expires", slow, func(ctx context.Context) {
		patient(ctx)
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		verified(ctx, namespace, "sleep")
		output, err := kubectl(ctx, "-n", namespace, "patch", "deployment", "sleep", "--type=merge", "-p",
			`{"spec":{"template":{"metadata":{"labels":{"test":"slow"},"annotations":{"local.altershield.io/ready-after":"5s"}}}}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		freezeNow(ctx, namespace, `"expires": "1m", "running": "Hold"`)
		held := currentName(ctx, namespace, "sleep")
		Eventually(frozenBecause(ctx, namespace, held)).Should(Equal("ChangeFreeze"))
		Expect(get(ctx, namespace, "sleep").Spec.Paused).To(BeTrue())
		Consistently(func() bool { return get(ctx, namespace, "sleep").Spec.Paused }).Should(BeTrue())
		verified(ctx, namespace, "sleep")
		Expect(frozenBecause(ctx, namespace, held)()).To(Equal("Thawed"))
		Eventually(func() bool { return lockOf(ctx, namespace).Status.Active }).Should(BeFalse())
		Eventually(func() *appsv1.Deployment { return get(ctx, namespace, "sleep") }).Should(HaveField("Annotations", And(Not(HaveKey(frozenMark)), Not(HaveKey(heldKey)))))
	})

	DescribeTable("parks a release of a set, and denies a new one", func(ctx context.Context, of func(string) webSet, stopped, going string) {
		namespace := controlledNamespace(ctx)
		set := of(namespace)
		set.create(ctx)
		set.verified(ctx)
		freezeNow(ctx, namespace, `"expires": "1h"`)
		set.mustChange(ctx, `{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"web:2"}]}}}}`)
		Eventually(frozenBecause(ctx, namespace, set.record(ctx))).Should(Equal("ChangeFreeze"))
		Expect(set.strategy(ctx)).To(Equal(stopped))

		output, err := kubectlWith(ctx, strings.ReplaceAll(set.manifest("web:1", "", ""), `"web"`, `"new"`), "create", "-f", "-")
		Expect(err).To(HaveOccurred())
		Expect(output).To(MatchRegexp(set.noun + ` new is frozen: ChangeFreeze ` + namespace + `/lock is on until`))

		endFreeze(ctx, namespace)
		set.verified(ctx)
		Eventually(set.annotations(ctx)).ShouldNot(HaveKey(frozenMark))
		Expect(set.strategy(ctx)).To(Equal(going))
	},
		Entry("a StatefulSet", func(namespace string) webSet { return statefulSet(namespace, "OrderedReady", 2) }, "2147483647", "0"),
		Entry("a DaemonSet", daemonSet, "OnDelete", "RollingUpdate"),
	)
})

// changesOf watches the objects of a list from now on. The API server ends a watch that isn't read fast enough: another one goes on where it ended.
func changesOf(ctx context.Context, namespace string, list client.ObjectList) watch.Interface {
	GinkgoHelper()
	Expect(kube.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
	watcher, err := watchtools.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return kube.Watch(ctx, list, client.InNamespace(namespace), &client.ListOptions{Raw: &options})
		},
	})
	Expect(err).NotTo(HaveOccurred())
	return watcher
}

// underWay watches until the second releases of Deployments have gone on and are verified. It returns how many of them were under way at most
// at a time, from the end of the pause of the Deployment until the release is verified, and how many are verified.
func underWay(ctx context.Context, deployments, records watch.Interface, count int) (most, ended int) {
	GinkgoHelper()
	going, over := map[string]uint64{}, map[string]uint64{}
	first := func(seen map[string]uint64, object client.Object) {
		version, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
		Expect(err).NotTo(HaveOccurred())
		if _, known := seen[object.GetName()]; !known {
			seen[object.GetName()] = version
		}
	}
	deadline := time.After(3 * time.Minute)
	for len(going) < count || len(over) < count {
		select {
		case <-ctx.Done():
			return 0, len(over)
		case <-deadline:
			return 0, len(over)
		case event, open := <-deployments.ResultChan():
			Expect(open).To(BeTrue(), "the watch has ended")
			if deployment, ok := event.Object.(*appsv1.Deployment); ok && !deployment.Spec.Paused {
				first(going, deployment)
			}
		case event, open := <-records.ResultChan():
			Expect(open).To(BeTrue(), "the watch has ended")
			record, ok := event.Object.(*appv1alpha1.ChangeWorkload)
			if ok && record.Spec.Release == 2 && meta.IsStatusConditionTrue(record.Status.Conditions, "Verified") {
				first(over, record)
			}
		}
	}
	ends := slices.Sorted(maps.Values(over)) // resource versions order the writes of all kinds
	for i, begun := range slices.Sorted(maps.Values(going)) {
		before, _ := slices.BinarySearch(ends, begun)
		most = max(most, i+1-before)
	}
	return most, len(over)
}
