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
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	opsconfig "github.com/traas-stack/altershield-operator/controllers/settings"
	"github.com/traas-stack/altershield-operator/hack/mutate"
)

const (
	// mutationsPerRound is the number of changes of one Deployment and its objects before it must recover.
	mutationsPerRound = 25
	// creationsPerRound is the number of objects that are created after that, each an existing one with a few changes.
	creationsPerRound, changesOfCreation = 8, 3
	// defaultRounds and defaultSeed are overridden by RANDOM_ROUNDS and RANDOM_SEED.
	defaultRounds = 2
	defaultSeed   = 1
)

// Objects change at random while the operator works on them. The seed determines the changes; their effect also depends on timing.
var _ = Describe("Random changes", func() {
	It("of the operator's objects, settings, labels and Deployments are refused in words or explained, and a release recovers from them", func(ctx context.Context) {
		seed, rounds := fromEnvironment("RANDOM_SEED", defaultSeed), fromEnvironment("RANDOM_ROUNDS", defaultRounds)
		targets, token := mutationTargets(ctx), metricsToken(ctx)
		made, accepted := 0, 0
		for round := range rounds {
			run := &randomRound{
				random:  mutate.Mutator{Random: rand.New(rand.NewPCG(seed, round))},
				name:    fmt.Sprintf("RANDOM_SEED=%d, round %d", seed, round),
				targets: targets,
			}
			By(run.name)
			run.namespace = controlledNamespace(ctx)
			Expect(kube.Create(ctx, sleep(run.namespace, replicas(2)))).To(Succeed())
			verified(ctx, run.namespace, "sleep")
			for range mutationsPerRound {
				run.mutate(ctx)
			}
			for range creationsPerRound {
				run.create(ctx)
			}
			run.restoreSettings(ctx)
			run.expectExplained(ctx)
			run.expectRecovery(ctx, round)
			run.expectNothingLeft(ctx)
			expectNoPanics(ctx, token)
			Expect(kube.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: run.namespace}})).To(Succeed())
			made, accepted = made+len(run.journal), accepted+run.accepted
		}
		AddReportEntry("random changes", fmt.Sprintf("seed %d: %d rounds, %d changes, %d taken, %d refused", seed, rounds, made, accepted, made-accepted))
	})
})

func fromEnvironment(name string, otherwise uint64) uint64 {
	GinkgoHelper()
	text, given := os.LookupEnv(name)
	if !given {
		return otherwise
	}
	number, err := strconv.ParseUint(text, 10, 64)
	Expect(err).NotTo(HaveOccurred(), "%s must be a whole number", name)
	return number
}

// randomRound is a round of changes of one Deployment.
type randomRound struct {
	random    mutate.Mutator
	name      string
	namespace string
	targets   []mutationTarget
	// journal lists every change and its result.
	journal  []string
	accepted int
}

// story returns the history of a failure for its report.
func (r *randomRound) story() string { return r.name + ":\n" + strings.Join(r.journal, "\n") }

// mutate makes one change. If the API server or a webhook refuses it, the message must name the field or the object.
func (r *randomRound) mutate(ctx context.Context) {
	GinkgoHelper()
	target := r.targets[r.random.Random.IntN(len(r.targets))]
	object := target.pick(ctx, r.random.Random, r.namespace)
	if object == nil {
		return
	}
	mutation := r.random.Of(target.schema, object.Object, target.below...)
	told := fmt.Sprintf("%s %s/%s: %s", object.GetKind(), object.GetNamespace(), object.GetName(), mutation)
	r.note(told, target.apply(ctx, object, mutation), mutation.Field(), object.GetName())
}

// create creates a changed copy of an existing object: a copied Deployment, a forged record or batch, a setting.
func (r *randomRound) create(ctx context.Context) {
	GinkgoHelper()
	creatable := slices.DeleteFunc(slices.Clone(r.targets), func(target mutationTarget) bool { return !target.isCreatable() })
	target := creatable[r.random.Random.IntN(len(creatable))]
	original := target.pick(ctx, r.random.Random, r.namespace)
	if original == nil {
		return
	}
	object := another(original, fmt.Sprintf("random-%d", len(r.journal)))
	told := fmt.Sprintf("%s %s/%s made of %s:", object.GetKind(), object.GetNamespace(), object.GetName(), original.GetName())
	words := []string{object.GetName(), "cannot be handled as a " + object.GetKind()}
	for range 1 + r.random.Random.IntN(changesOfCreation) {
		mutation := r.random.Of(target.schema, object.Object, target.below...)
		told += " " + mutation.String()
		object, words = mutated(object, mutation), append(words, mutation.Field())
	}
	r.note(told, kube.Create(ctx, object), words...)
}

// note records the result of a change. A refusal must contain one of the words.
func (r *randomRound) note(told string, err error, words ...string) {
	GinkgoHelper()
	if client.IgnoreNotFound(err) != nil {
		r.journal = append(r.journal, told+" -> "+err.Error())
		Expect(isInWords(err, words...)).To(BeTrue(), r.story)
		return
	}
	r.accepted++
	r.journal = append(r.journal, told)
}

// restoreSettings resets the settings to their defaults and opts the namespace in.
func (r *randomRound) restoreSettings(ctx context.Context) {
	GinkgoHelper()
	var objects appv1alpha1.OpsConfigInfoList
	Expect(kube.List(ctx, &objects)).To(Succeed())
	for i := range objects.Items {
		setting := &objects.Items[i]
		Eventually(func() error { return assessed(ctx, setting) }).Should(Succeed(), r.story)
	}
	for i := range objects.Items {
		Expect(client.IgnoreNotFound(kube.Delete(ctx, &objects.Items[i]))).To(Succeed())
	}
	for name := range opsconfig.Defaults() {
		Eventually(func() string { return settingReason(ctx, name) }).Should(Equal("InEffect"), r.story)
	}
	optIn(ctx, r.namespace)
	Eventually(func() (bool, error) {
		probe := get(ctx, r.namespace, "sleep")
		before := probe.Annotations["altershield.defense.antgroup.com/released-by"]
		err := kube.Patch(ctx, probe, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{
			"altershield.defense.antgroup.com/ignored-suspend":"true"}},"spec":{"template":{"metadata":{"labels":{"test":"probe"}}}}}`)), client.DryRunAll)
		return probe.Annotations["altershield.defense.antgroup.com/released-by"] != before, err
	}).Should(BeTrue(), "the API server has yet to call the webhook again")
}

// assessed returns an error unless the status of a setting shows whether it is in effect.
func assessed(ctx context.Context, setting *appv1alpha1.OpsConfigInfo) error {
	var current appv1alpha1.OpsConfigInfo
	if err := kube.Get(ctx, client.ObjectKeyFromObject(setting), &current); err != nil {
		return client.IgnoreNotFound(err)
	}
	condition := meta.FindStatusCondition(current.Status.Conditions, "Effective")
	if condition == nil || condition.ObservedGeneration != current.Generation || condition.Message == "" {
		return fmt.Errorf("OpsConfigInfo %s of generation %d has the condition %+v", current.Name, current.Generation, condition)
	}
	return nil
}

// expectExplained waits until the current release of each Deployment has ended, or has a condition with the reason of its wait.
func (r *randomRound) expectExplained(ctx context.Context) {
	GinkgoHelper()
	var deployments appsv1.DeploymentList
	Expect(kube.List(ctx, &deployments, client.InNamespace(r.namespace))).To(Succeed())
	for _, deployment := range deployments.Items {
		Eventually(func() error { return explained(ctx, r.namespace, deployment.Name) }).Should(Succeed(), r.story)
	}
}

// explained returns an error unless the current release of a Deployment shows its state.
func explained(ctx context.Context, namespace, name string) error {
	GinkgoHelper()
	release := decide.ReleaseOf(get(ctx, namespace, name))
	if release.Version == "" {
		return nil // change control begins with its next release
	}
	var workload appv1alpha1.ChangeWorkload
	key := client.ObjectKey{Namespace: namespace, Name: decide.ChangeWorkloadName(name, release.Version)}
	err := kube.Get(ctx, key, &workload)
	if apierrors.IsNotFound(err) && isNotRecorded(ctx, namespace, name) {
		return nil // its version was forged while the namespace was opted out
	}
	if err != nil {
		return err
	}
	condition := meta.FindStatusCondition(workload.Status.Conditions, "Verified")
	if workload.Status.ObservedRelease != release.Number || condition == nil || condition.Reason == "" || condition.Message == "" {
		return fmt.Errorf("release %d of %s is shown as %+v", release.Number, name, workload.Status)
	}
	return nil
}

// isNotRecorded reports whether an Event on a Deployment explains why its release isn't recorded.
func isNotRecorded(ctx context.Context, namespace, deployment string) bool {
	told := toldOf(ctx, namespace, func(event eventsv1.Event) (string, bool) {
		return event.Regarding.Name, event.Reason == "ReleaseNotRecorded"
	})
	return slices.Contains(told(), deployment)
}

// expectNothingLeft deletes the Deployments and expects the deletion of all their objects.
func (r *randomRound) expectNothingLeft(ctx context.Context) {
	GinkgoHelper()
	Expect(kube.DeleteAllOf(ctx, &appsv1.Deployment{}, client.InNamespace(r.namespace), client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
	for _, kind := range []string{"deployments", "changeworkloads", "changepods", "controllerrevisions"} {
		Eventually(func() (string, error) {
			return kubectl(ctx, "-n", r.namespace, "get", kind, "-o", "jsonpath={range .items[?(@.metadata.ownerReferences)]}{.metadata.name} {end}")
		}).Should(BeEmpty(), r.story)
	}
}

// expectRecovery reverts everything that a user can revert, and expects the next release to be verified.
func (r *randomRound) expectRecovery(ctx context.Context, round uint64) {
	GinkgoHelper()
	Expect(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		deployment := get(ctx, r.namespace, "sleep")
		deployment.Spec = sleep(r.namespace, replicas(2)).Spec
		deployment.Spec.Template.Labels["test"] = fmt.Sprintf("recovery-%d", round)
		if deployment.Labels == nil {
			deployment.Labels = map[string]string{}
		}
		deployment.Labels["altershield.defense.antgroup.com/ignored-suspend"] = "true"
		return kube.Update(ctx, deployment)
	})).To(Succeed(), r.story)
	By("recovering")
	name := currentName(ctx, r.namespace, "sleep")
	Eventually(func() string { return reasonOf(ctx, r.namespace, name) }).Should(Equal("AllPodsPassed"), func() string {
		state, err := kubectl(ctx, "-n", r.namespace, "get", "deployments,replicasets,pods,changeworkloads,changepods,events", "-o", "wide")
		Expect(err).NotTo(HaveOccurred())
		return r.story() + "\n" + state
	})
	Eventually(labelsOf(ctx, r.namespace)).ShouldNot(HaveKey("altershield.defense.antgroup.com/suspend"), r.story)
}

// expectNoPanics reads the manager's metrics, which also proves that it still runs.
func expectNoPanics(ctx context.Context, token string) {
	GinkgoHelper()
	_, text := scrape(ctx, token)
	panics := regexp.MustCompile(`(?m)^controller_runtime_(?:reconcile|webhook)_panics_total(?:\{.*\})? (.*)$`).FindAllStringSubmatch(text, -1)
	Expect(panics).NotTo(BeEmpty())
	for _, counted := range panics {
		Expect(counted[1]).To(Equal("0"), counted[0])
	}
}
