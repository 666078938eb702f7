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
	"slices"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Outcomes of a request: it is admitted, admitted with the operator's keys unchanged, or denied with a message that begins with
// anything else.
const (
	admitted    = "admitted"
	kept        = "admitted, keys kept"
	isSuspended = "deployment sleep is suspended"
	isRefused   = "deployment refusing refuses version"
	isForged    = "only the operator writes "
)

// admissionCase is a request and its outcome in three setups: with the webhooks, with the webhooks and the policies, with only the
// policies.
type admissionCase struct {
	who, does                string
	request                  request
	webhooks, both, policies string
}

// request makes a dry run. It returns the Deployment before and after, if there is one.
type request func(ctx context.Context, user client.Client, namespace string) (before, after *appsv1.Deployment, err error)

func admissionCases() []admissionCase {
	return slices.Concat(releaseCases(), stricterCases(), looserCases(), everydayCases(), keyCases(), stampCases(), podCases(), exemptCases())
}

// alike returns a case with the same outcome in each setup.
func alike(who, does string, request request, outcome string) admissionCase {
	return admissionCase{who, does, request, outcome, outcome, outcome}
}

func releaseCases() []admissionCase {
	return []admissionCase{
		alike(dev, "releases a free Deployment", updates("free", template("other")), admitted),
		// A client of GitOps sets the label again after a repair, and the webhook removes it with the next release.
		alike(dev, "releases a free Deployment with a label for a repair", updates("free", template("other"), ignoring), admitted),
		alike(dev, "creates a Deployment", creates("new"), admitted),
		alike(dev, "creates a Deployment that asks to ignore a suspension", creates("new", ignoring), admitted),
		alike(dev, "releases a suspended Deployment", updates("sleep", template("other")), isSuspended),
		alike(overrider, "releases a suspended Deployment", updates("sleep", template("other")), isSuspended),
		alike(admin, "releases a suspended Deployment", updates("sleep", template("other")), isSuspended),
		alike(overrider, "repairs a suspended Deployment", updates("sleep", template("other"), ignoring), admitted),
		alike(admin, "repairs a suspended Deployment", updates("sleep", template("other"), ignoring), admitted),
		alike(admin, "releases what was repaired once and is suspended again", updates("again", template("other")), "deployment again is suspended"),
		alike(theOperator, "rolls a suspended Deployment back", updates("sleep", template("123"), rollingBack), admitted),
		alike(dev, "asks for a rollback of a suspended Deployment", updates("sleep", annotation(rollbackKey, "true")), admitted),
		alike(dev, "lets a refused version in", updates("refusing", template("second"), ignoring), admitted),
	}
}

// stricterCases returns those in which the policies deny what the webhooks admit.
func stricterCases() []admissionCase {
	return []admissionCase{
		{dev, "repairs a suspended Deployment without the verb", updates("sleep", template("other"), ignoring), admitted, isSuspended, isSuspended},
		{dev, "leaves the label for a repair without the verb", updates("sleep", ignoring), admitted, isSuspended, isSuspended},
		{dev, "uses a label for a repair that a user with the verb left", updates("labelled", template("other")), admitted, "deployment labelled is suspended", "deployment labelled is suspended"},
		// Policies don't know the verified versions. A rollback on request leads to them.
		{dev, "returns a suspended Deployment to a verified version", updates("sleep", template("123")), admitted, isSuspended, isSuspended},
		// The webhooks aren't called for the status.
		{admin, "forges rollbacks by the status", updatesStatus("sleep", annotation(rollbacksKey, "[]")), admitted, isForged, isForged},
	}
}

// looserCases returns those in which the policies alone admit what the webhooks deny.
func looserCases() []admissionCase {
	return []admissionCase{
		// CEL can't compute versions.
		{dev, "releases a version that is refused", updates("refusing", template("second")), isRefused, isRefused, admitted},
	}
}

func everydayCases() []admissionCase {
	return []admissionCase{
		alike(dev, "scales by the spec", updates("sleep", replicas(9)), admitted),
		alike(dev, "scales what has a label for a repair", updates("labelled", replicas(9)), admitted),
		alike(dev, "scales by the subresource", scales("sleep"), admitted),
		alike(deploymentController, "updates the status", updatesStatus("sleep", annotation("deployment.kubernetes.io/revision", "9")), admitted),
		alike(dev, "pauses", updates("sleep", func(d *appsv1.Deployment) { d.Spec.Paused = true }), admitted),
		alike(dev, "changes minReadySeconds", updates("sleep", func(d *appsv1.Deployment) { d.Spec.MinReadySeconds = 1 }), admitted),
		alike(dev, "sets a label and an annotation", updates("sleep", label("tier", "web"), annotation("team", "shop")), admitted),
		alike(dev, "sets a finalizer", updates("sleep", func(d *appsv1.Deployment) { d.Finalizers = []string{"example.com/wait"} }), admitted),
		alike(dev, "deletes a suspended Deployment", func(ctx context.Context, user client.Client, namespace string) (_, _ *appsv1.Deployment, err error) {
			return nil, nil, user.Delete(ctx, get(ctx, namespace, "sleep"), client.DryRunAll)
		}, admitted),
	}
}

// keyCases returns updates that are not releases.
func keyCases() []admissionCase {
	restored := func(does string, request request) admissionCase {
		return admissionCase{admin, does, request, kept, kept, isForged}
	}
	return []admissionCase{
		alike(theOperator, "lifts a suspension", updates("sleep", without(suspendLabel)), admitted),
		restored("lifts a suspension", updates("sleep", without(suspendLabel))),
		restored("suspends a free Deployment", updates("free", label(suspendLabel, "1795278581"))),
		restored("suspends a free Deployment with an empty value", updates("free", label(suspendLabel, ""))),
		restored("sets another version", updates("free", label(versionLabel, "forged"))),
		restored("sets another version on the template alone", updates("free", templateLabel(versionLabel, "forged"))),
		restored("marks pods of the template as finished", updates("free", templateLabel(finishedLabel, "1"))),
		restored("removes defense-status", updates("free", without(statusLabel))),
		restored("sets another release number", updates("free", annotation(releaseKey, "9"))),
		restored("counts a release that is none", updates("free", func(d *appsv1.Deployment) { stamp(admin, d.Labels[versionLabel])(d) })),
		restored("forges the author of the release", updates("free", annotation(releasedByKey, "{}"))),
		restored("forges the user who ignored a suspension", updates("free", annotation(ignoredByKey, "{}"))),
		restored("marks an unused label for a repair as removed", updates("free", annotation(ignoredRemovedKey, "1"))),
		restored("marks a release as frozen", updates("free", annotation(frozenKey, `{"release":1}`))),
		restored("claims a BreakGlass", updates("free", annotation(breakGlassKey, `{"release":1,"name":"inc-99","user":"kubernetes-admin","would":[]}`))),
		restored("marks a rollout as held", updates("free", annotation(heldKey, "1"))),
		restored("forgets the rollbacks", updates("refusing", without(rollbacksKey))),
		restored("replaces the object with a file that knows no operator", updates("free", func(d *appsv1.Deployment) {
			d.Labels, d.Annotations = nil, nil
			delete(d.Spec.Template.Labels, versionLabel)
		})),
		{
			dev, "requests a rollback in another name", updates("sleep", annotation(rollbackKey, "true"), annotation(rollbackByKey, "somebody")),
			admitted, admitted, rollbackByKey + " names who set ",
		},
		alike(dev, "asks for a rollback in the own name", updates("sleep", annotation(rollbackKey, "true"), annotation(rollbackByKey, dev)), admitted),
	}
}

// stampCases returns releases that carry keys of the operator.
func stampCases() []admissionCase {
	restored := func(does string, request request) admissionCase {
		return admissionCase{dev, does, request, kept, kept, isForged}
	}
	return []admissionCase{
		restored("releases and suspends", updates("free", template("other"), label(suspendLabel, "1795278581"))),
		restored("releases and forgets the rollbacks", updates("refusing", template("other"), without(rollbacksKey))),
		restored("releases pods that have finished", updates("free", template("other"), templateLabel(finishedLabel, "1"))),
		restored("releases with another version alone", updates("free", template("other"), templateLabel(versionLabel, "forged"))),
		restored("releases in another name", updates("free", template("other"), stamp("somebody", noVersion))),
		restored("releases with a number of its own", updates("free", template("other"), stamp(dev, noVersion), annotation(releaseKey, "7"))),
		restored("releases with the record of another release", updates("free", template("other"), stamp(dev, noVersion),
			annotation(releasedByKey, `{"user":"dev","time":"2026-11-21T16:29:39Z","version":"00000000000000000000000000000000","release":1}`))),
		restored("releases as if recorded already", updates("free", template("other"), stamp(dev, noVersion), label(statusLabel, "processed"))),
		restored("releases and records that another user ignored a suspension", updates("free", template("other"), stamp(dev, noVersion),
			annotation(ignoredByKey, `{"user":"somebody","time":"2026-11-21T16:29:39Z","version":"00000000000000000000000000000000","release":2}`))),
		restored("releases and records that another release dropped its label for a repair", updates("free", template("other"), stamp(dev, noVersion),
			annotation(ignoredRemovedKey, "7"))),
		restored("releases and stays held", updates("free", template("other"), stamp(dev, noVersion), annotation(heldKey, "1"))),
		restored("releases with two versions", updates("free", template("other"), stamp(dev, noVersion), templateLabel(versionLabel, "forged"))),
		restored("releases with a version that is none", updates("free", template("other"), stamp(dev, "forged"))),
		// The webhook stamps again. No policy can distinguish this from its stamp.
		alike(dev, "releases with a stamp in the own name", updates("free", template("other"), stamp(dev, noVersion)), admitted),
		alike(overrider, "releases with a stamp in the own name", updates("free", template("other"), stamp(overrider, noVersion)), admitted),
		alike(dev, "creates a part of another workload with the version of that", creates("part", part, templateLabel(versionLabel, noVersion)), admitted),
		alike(dev, "creates such a part that has the version itself", creates("part", part, label(versionLabel, noVersion), templateLabel(versionLabel, noVersion)), admitted),
		{dev, "creates a part of another workload with two versions", creates("part", part, label(versionLabel, "forged"), templateLabel(versionLabel, noVersion)), admitted, admitted, isForged},
		{dev, "creates a part of another workload with a release", creates("part", part, numbered), admitted, admitted, isForged},
		restored("makes a release a part of another workload, with another version", updates("free", part, templateLabel(versionLabel, "forged"))),
		{dev, "creates what was exported while suspended", createsFrom("sleep"), admitted, admitted, isForged},
	}
}

func podCases() []admissionCase {
	return []admissionCase{
		{dev, "marks a pod as finished", updatesPod(finishedLabel, "1"), admitted, isForged, isForged},
		{dev, "gives a pod another version", updatesPod(versionLabel, "forged"), admitted, isForged, isForged},
		{dev, "creates a pod that has finished", createsPod(finishedLabel), admitted, isForged, isForged},
		alike(theOperator, "marks a pod as finished", updatesPod(finishedLabel, "1"), admitted),
		alike(replicaSetController, "creates a pod of a version", createsPod(versionLabel), admitted),
		alike(dev, "labels a pod", updatesPod("tier", "web"), admitted),
	}
}

// exemptCases returns cases in exempt namespaces, although they are opted in, and in one that isn't opted in.
func exemptCases() []admissionCase {
	var cases []admissionCase
	for _, exempt := range []string{"default", "kube-system", "altershieldoperator-system"} {
		creates := func(object client.Object) request {
			return func(ctx context.Context, user client.Client, _ string) (_, _ *appsv1.Deployment, err error) {
				return nil, nil, user.Create(ctx, object, client.DryRunAll)
			}
		}
		pod := sleepPod(exempt)
		pod.Labels = map[string]string{finishedLabel: "1"}
		cases = append(cases,
			alike(admin, "creates a suspended Deployment in "+exempt, creates(sleep(exempt, label(suspendLabel, "1795278581"))), admitted),
			alike(admin, "creates a pod that has finished in "+exempt, creates(pod), admitted))
	}
	return cases
}

func updates(name string, changes ...func(*appsv1.Deployment)) request {
	return func(ctx context.Context, user client.Client, namespace string) (before, after *appsv1.Deployment, err error) {
		before, after = changed(ctx, namespace, name, changes...)
		return before, after, user.Patch(ctx, after, client.MergeFrom(before), client.DryRunAll)
	}
}

func updatesStatus(name string, changes ...func(*appsv1.Deployment)) request {
	return func(ctx context.Context, user client.Client, namespace string) (before, after *appsv1.Deployment, err error) {
		before, after = changed(ctx, namespace, name, changes...)
		return before, after, user.Status().Update(ctx, after, client.DryRunAll)
	}
}

// changed reads a Deployment, and changes a copy.
func changed(ctx context.Context, namespace, name string, changes ...func(*appsv1.Deployment)) (before, after *appsv1.Deployment) {
	before = get(ctx, namespace, name)
	after = before.DeepCopy()
	for _, change := range changes {
		change(after)
	}
	return before, after
}

func scales(name string) request {
	return func(ctx context.Context, user client.Client, namespace string) (_, _ *appsv1.Deployment, err error) {
		scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 9}}
		return nil, nil, user.SubResource("scale").Update(ctx, get(ctx, namespace, name), client.WithSubResourceBody(scale),
			&client.SubResourceUpdateOptions{UpdateOptions: client.UpdateOptions{DryRun: []string{metav1.DryRunAll}}})
	}
}

func creates(name string, changes ...func(*appsv1.Deployment)) request {
	return func(ctx context.Context, user client.Client, namespace string) (_, _ *appsv1.Deployment, err error) {
		return nil, nil, user.Create(ctx, sleep(namespace, append(changes, alone(name))...), client.DryRunAll)
	}
}

// createsFrom creates a full copy of a Deployment under another name.
func createsFrom(name string) request {
	return func(ctx context.Context, user client.Client, namespace string) (_, _ *appsv1.Deployment, err error) {
		exported := get(ctx, namespace, name)
		exported.ObjectMeta = metav1.ObjectMeta{
			Namespace: namespace, Name: "copy", Labels: exported.Labels, Annotations: exported.Annotations,
		}
		return nil, nil, user.Create(ctx, exported, client.DryRunAll)
	}
}

func updatesPod(key, value string) request {
	return func(ctx context.Context, user client.Client, namespace string) (_, _ *appsv1.Deployment, err error) {
		var pods corev1.PodList
		Expect(kube.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{"app": "free"})).To(Succeed())
		Expect(pods.Items).To(HaveLen(1))
		patch := client.MergeFrom(pods.Items[0].DeepCopy())
		pods.Items[0].Labels[key] = value
		return nil, nil, user.Patch(ctx, &pods.Items[0], patch, client.DryRunAll)
	}
}

func createsPod(key string) request {
	return func(ctx context.Context, user client.Client, namespace string) (_, _ *appsv1.Deployment, err error) {
		pod := sleepPod(namespace)
		pod.Labels = map[string]string{key: "1"}
		return nil, nil, user.Create(ctx, pod, client.DryRunAll)
	}
}

func template(test string) func(*appsv1.Deployment) { return templateLabel("test", test) }

func templateLabel(key, value string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Template.Labels[key] = value }
}

func label(key, value string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Labels[key] = value }
}

func annotation(key, value string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Annotations[key] = value }
}

func without(key string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		_, labelled := d.Labels[key]
		_, annotated := d.Annotations[key]
		Expect(labelled || annotated).To(BeTrue(), "there is nothing to remove")
		delete(d.Labels, key)
		delete(d.Annotations, key)
	}
}

// part makes a Deployment a part of another workload.
func part(d *appsv1.Deployment) {
	d.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Whole", Name: "whole", UID: "whole", Controller: new(true)}}
}

func numbered(d *appsv1.Deployment) { d.Annotations = map[string]string{releaseKey: "1"} }

func ignoring(d *appsv1.Deployment) { d.Labels[ignoredSuspend] = "true" }

// rollingBack adds the operator's record of a rollback that makes the third release.
func rollingBack(d *appsv1.Deployment) {
	d.Annotations[rollbacksKey] = fmt.Sprintf(
		`[{"version":%q,"release":2,"to":%q,"toRelease":3,"reason":"Requested","time":"2026-11-21T16:29:39Z"}]`, d.Labels[versionLabel], firstVersion)
}
