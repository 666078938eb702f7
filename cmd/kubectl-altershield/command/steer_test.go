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

package command_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/command"
)

func TestHoldPausesWithAReasonAndResumeTakesBothBack(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, verified(7, "49"), web(7, "49"))
	b.in = "yes\n"
	answer := b.run("hold", "web", "--reason", "waits for the database")
	g.Expect(answer.err).To(Equal("shop/web is paused at release 7 4900000\n  reason    waits for the database\nDo you want this? [y/N] "))
	g.Expect(answer.out).To(Equal("paused; kubectl altershield resume deployment/web -n shop lets it go on\n"))
	g.Expect(stored(t, b).Spec.Paused).To(BeTrue())
	g.Expect(stored(t, b).Annotations).To(HaveKeyWithValue("altershield.defense.antgroup.com/pause-reason", "waits for the database"))
	g.Expect(b.run("status", "web").out).To(ContainSubstring("paused by a user: waits for the database"))
	g.Expect(b.run("hold", "web", "-y").err).To(Equal("error: the rollout of deployment/web is paused by a user already\n"))

	g.Expect(b.run("resume", "web", "-y", "--dry-run=client", "--reason", "the database is back").expects(g, command.OK)).To(ContainSubstring("  reason    the database is back\n"))
	g.Expect(b.run("resume", "web", "-y").expects(g, command.OK)).To(Equal("goes on; kubectl altershield wait deployment/web -n shop follows\n"))
	g.Expect(stored(t, b).Spec.Paused).To(BeFalse())
	g.Expect(stored(t, b).Annotations).NotTo(HaveKey("altershield.defense.antgroup.com/pause-reason"))
	g.Expect(b.run("resume", "web", "-y").err).To(Equal("error: the rollout of deployment/web isn't paused\n"))
}

func TestHoldOfAStatefulSetShowsThePartition(t *testing.T) {
	g := NewWithT(t)
	db := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db", Labels: web(1, "d1").Labels, Annotations: web(1, "d1").Annotations},
		Spec:       appsv1.StatefulSetSpec{UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: "RollingUpdate"}},
	}
	b := newBench(t, set("db"), db)
	b.in = "y\n"
	answer := b.run("hold", "db", "--reason", "waits for the backup")
	g.Expect(answer.code).To(Equal(command.OK), answer.err)
	g.Expect(answer.err).To(Equal("shop/db is paused at release 1 d100000\n  spec.updateStrategy.rollingUpdate: {\"partition\":2147483647}\n" +
		"  reason    waits for the backup\nDo you want this? [y/N] "))
	g.Expect(b.kube.Get(t.Context(), client.ObjectKeyFromObject(db), db)).To(Succeed())
	g.Expect(db.Spec.UpdateStrategy.RollingUpdate.Partition).To(HaveValue(BeEquivalentTo(2147483647)))
	g.Expect(b.run("status", "db").out).To(ContainSubstring("paused by a user: waits for the backup"))
	b.run("resume", "db", "-y").expects(g, command.OK)
	g.Expect(b.kube.Get(t.Context(), client.ObjectKeyFromObject(db), db)).To(Succeed())
	g.Expect(db.Spec.UpdateStrategy.RollingUpdate.Partition).To(HaveValue(BeEquivalentTo(0)))
}

// clone returns the CloneSet web and its record.
func clone() (*unstructured.Unstructured, *appv1alpha1.ChangeWorkload) {
	created := set("web")
	created.Labels = map[string]string{"altershield.defense.antgroup.com/workload": "clonesets.web"}
	created.Spec.WorkloadRef = &appv1alpha1.WorkloadReference{APIVersion: "apps.kruise.io/v1alpha1", Kind: "CloneSet", Name: "web"}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"updateStrategy": map[string]any{"type": "ReCreate"}}}}
	object.SetAPIVersion("apps.kruise.io/v1alpha1")
	object.SetKind("CloneSet")
	object.SetNamespace("shop")
	object.SetName("web")
	return object, created
}

func TestHoldOfADeclaredKindIsThatOfItsControlledKind(t *testing.T) {
	object, created := clone()
	kind := func(hold ...appv1alpha1.HoldField) *appv1alpha1.ControlledKind {
		return &appv1alpha1.ControlledKind{ObjectMeta: metav1.ObjectMeta{Name: "clonesets.apps.kruise.io"}, Spec: appv1alpha1.ControlledKindSpec{Hold: hold}}
	}
	paused := appv1alpha1.HoldField{Path: "spec.updateStrategy.paused", Value: &apiextensionsv1.JSON{Raw: []byte("true")}}
	for says, row := range map[string]struct {
		objects []client.Object
		code    command.Code
	}{
		"paused; kubectl altershield resume cloneset.apps.kruise.io/web -n shop lets it go on\n":                           {[]client.Object{kind(paused)}, command.OK},
		"cloneset.apps.kruise.io/web has no pause: there is no spec.hold in the ControlledKind clonesets.apps.kruise.io":   {[]client.Object{kind()}, command.Failed},
		"ControlledKind clonesets.apps.kruise.io: spec.hold[0].path":                                                       {[]client.Object{kind(appv1alpha1.HoldField{Path: "spec..x", Value: paused.Value})}, command.Failed},
		"cloneset.apps.kruise.io/web has no pause: there is no spec.hold in the ControlledKind clonesets.apps.kruise.io\n": {nil, command.Failed},
	} {
		g := NewWithT(t)
		b := newBench(t, append(row.objects, object.DeepCopy(), created.DeepCopy())...)
		answer := b.run("hold", "cloneset/web", "-y")
		g.Expect(answer.code).To(Equal(row.code), answer.err)
		g.Expect(answer.out + answer.err).To(ContainSubstring(says))
		if row.code == command.OK {
			present := object.DeepCopy()
			g.Expect(b.kube.Get(t.Context(), client.ObjectKeyFromObject(object), present)).To(Succeed())
			g.Expect(present.Object["spec"]).To(Equal(map[string]any{"updateStrategy": map[string]any{"type": "ReCreate", "paused": true}}))
		}
	}
	b := newBenchWith(t, refuses("ControlledKind"), object, created)
	NewWithT(t).Expect(b.run("resume", "cloneset/web", "-y").err).To(ContainSubstring("you (bob) may not get controlledkinds.apps"))
}

func TestHoldOfADeclaredKindThatWasCreatedAgainIsThatOfItsControlledKind(t *testing.T) {
	g := NewWithT(t)
	object, created := clone()
	object.SetKind("Proxy")
	object.SetUID("new")
	created.Labels = map[string]string{"altershield.defense.antgroup.com/workload": "proxies.web"}
	created.Spec.WorkloadRef.Kind, created.Spec.WorkloadRef.UID = "Proxy", "old"
	kind := &appv1alpha1.ControlledKind{ObjectMeta: metav1.ObjectMeta{Name: "proxies.apps.kruise.io"}, Spec: appv1alpha1.ControlledKindSpec{
		Hold: []appv1alpha1.HoldField{{Path: "spec.updateStrategy.paused", Value: &apiextensionsv1.JSON{Raw: []byte("true")}}},
	}}
	g.Expect(newBench(t, kind, object, created).run("hold", "proxy/web", "-y").expects(g, command.OK)).To(HavePrefix("paused"))
}

func TestHoldOfADeclaredKindLeavesItsPartition(t *testing.T) {
	paused := []appv1alpha1.HoldField{{Path: "spec.updateStrategy.paused", Value: &apiextensionsv1.JSON{Raw: []byte("true")}}}
	for name, row := range map[string]struct {
		hold      []appv1alpha1.HoldField
		partition int64
		strategy  map[string]any
	}{
		"beside a pause, as the default":  {paused, 0, map[string]any{"partition": int64(0), "paused": true}},
		"beside a pause, as the user set": {paused, 3, map[string]any{"partition": int64(3), "paused": true}},
		"which holds, as the default":     {nil, 0, map[string]any{"partition": int64(2147483647)}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			object, created := clone()
			object.Object["spec"] = map[string]any{"replicas": int64(5), "updateStrategy": map[string]any{"partition": row.partition}}
			kind := &appv1alpha1.ControlledKind{ObjectMeta: metav1.ObjectMeta{Name: "clonesets.apps.kruise.io"}, Spec: appv1alpha1.ControlledKindSpec{
				Hold: row.hold, Counts: &appv1alpha1.CountPaths{Desired: "spec.replicas", Total: "status.replicas", Updated: "status.updatedReplicas"},
				Pace: &appv1alpha1.PaceLevers{Partition: &appv1alpha1.PartitionField{Path: "spec.updateStrategy.partition", Counts: "Old"}},
			}}
			b := newBench(t, kind, object, created)
			answer := b.run("hold", "cloneset/web", "-y")
			g.Expect(answer.code).To(Equal(command.OK), answer.err)
			g.Expect(b.kube.Get(t.Context(), client.ObjectKeyFromObject(object), object)).To(Succeed())
			g.Expect(object.Object["spec"]).To(HaveKeyWithValue("updateStrategy", row.strategy))
		})
	}
}

func TestResumeOfARolloutThatTheOperatorHoldsNeedsOverride(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, failed(7, "49"), web(7, "49", suspendedLabel, func(deployment *appsv1.Deployment) {
		deployment.Spec.Paused = true
		deployment.Annotations["altershield.defense.antgroup.com/held"] = "7"
	}))
	g.Expect(b.run("resume", "web", "-y").err).To(ContainSubstring("the operator holds the rollout of deployment/web, no user has paused it"))
	g.Expect(b.run("resume", "web", "-y", "--override").expects(g, command.OK)).To(HavePrefix("goes on"))
	g.Expect(stored(t, b).Spec.Paused).To(BeFalse())
}

func TestAReasonGoesIntoTheRequest(t *testing.T) {
	for line, state := range map[string]func(*appsv1.Deployment){
		"rollback web": suspendedLabel, "go-on web": paced,
		"resume web": func(deployment *appsv1.Deployment) { deployment.Spec.Paused = true },
	} {
		g := NewWithT(t)
		older := func(deployment *appsv1.Deployment) {
			deployment.Annotations["altershield.defense.antgroup.com/reason"] = "CHG-1"
		}
		b := newBench(t, failed(7, "49"), verified(5, "a1"), web(7, "49", state, older), kept(5, "a1", "web:1.8"))
		b.in = "y\n"
		answer := b.run(append(split(line), "--reason", "INC-99: checkout is down")...)
		g.Expect(answer.code).To(Equal(command.OK), answer.err)
		g.Expect(answer.err).To(ContainSubstring("\n  reason    INC-99: checkout is down\nDo you want this? [y/N] "), line)
		key := "altershield.defense.antgroup.com/reason"
		if line == "resume web" {
			key = "altershield.defense.antgroup.com/pause-reason"
		}
		g.Expect(stored(t, b).Annotations).To(HaveKeyWithValue(key, "INC-99: checkout is down"), line)
		g.Expect(b.run("status", "web").out).To(ContainSubstring("reason: INC-99: checkout is down"), line)
	}
}

// paced is the Deployment web at step 1 of 3.
func paced(deployment *appsv1.Deployment) {
	deployment.Annotations["altershield.defense.antgroup.com/paced"] = `{"release":7,"policy":"shop/careful","lever":"Gates"}`
}

func pacedRecord() *appv1alpha1.ChangeWorkload {
	created := record(7, "49", "Running", "Unknown", "Paced")
	created.Status.Pace = &appv1alpha1.ReleasePace{Step: 1, Progress: "1/3"}
	created.Status.Conditions = append(created.Status.Conditions, created.Status.Conditions[0])
	created.Status.Conditions[1].Type, created.Status.Conditions[1].Reason = "Paced", "AwaitingApproval"
	return created
}

func TestGoOnWritesTheReleaseAndTheStep(t *testing.T) {
	for step, value := range map[string]string{"": "7:2", "3": "7:3", "all": "7:all"} {
		g := NewWithT(t)
		b := newBench(t, pacedRecord(), web(7, "49", paced))
		g.Expect(b.run(append(split("go-on web -y"), split(step)...)...).expects(g, command.OK)).To(Equal(
			"  warning   an approval that is missing isn't passed: kubectl altershield approve deployment/web -n shop\nasked the operator; kubectl altershield wait deployment/web -n shop follows\n"))
		g.Expect(stored(t, b).Annotations).To(HaveKeyWithValue("altershield.defense.antgroup.com/go-on", value))
	}
	answer := newBench(t, verified(7, "49"), web(7, "49")).run("go-on", "web", "-y")
	NewWithT(t).Expect(answer.err).To(Equal("error: release 7 of deployment/web isn't rolled out in steps\n"))
}

func TestApproveAndDenyCreateAChangeApproval(t *testing.T) {
	for verb, decision := range map[string]appv1alpha1.ApprovalDecision{"approve": "Approve", "deny": "Deny"} {
		g := NewWithT(t)
		b := newBench(t, pacedRecord(), web(7, "49", paced))
		b.in = "y\n"
		answer := b.run(verb, "web", "--reason", "CHG-4711", "-o", "name")
		g.Expect(answer.err).To(ContainSubstring("  spec.containers[web].image: web:1.8 -> web:1.9\n  reason    CHG-4711\nDo you want this? [y/N] "))
		var list appv1alpha1.ChangeApprovalList
		g.Expect(b.kube.List(t.Context(), &list)).To(Succeed())
		g.Expect(list.Items).To(HaveLen(1))
		g.Expect(list.Items[0].Spec.Decision).To(Equal(decision))
		g.Expect(list.Items[0].Spec.Reason).To(Equal("CHG-4711"))
		g.Expect(list.Items[0].Namespace).To(Equal("shop"))
		g.Expect(answer.out).To(Equal("changeapproval/" + list.Items[0].Name + "\n"))
		g.Expect(newBench(t, web(7, "49", func(deployment *appsv1.Deployment) { deployment.Labels = nil })).run(verb, "web").err).To(ContainSubstring("nothing to approve"))
	}
}

func TestVerdictKeepsTheVerdictsOfOthers(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, failed(7, "49"), web(7, "49", suspendedLabel), batchOf(failed(7, "49"), "web-1", "web-2"))
	name := "web--x--" + version("49") + "--x--1"
	g.Expect(b.run("verdict", "changepod/"+name, "fail", "--pod", "web-2", "--reason", "5xx", "-y").expects(g, command.OK)).
		To(Equal("changed the verdicts of changepod/" + name + " in namespace shop\n"))
	b.in = "y\n"
	answer := b.run("verdict", "changepod.app.ops.cloud.alipay.com/"+name, "pass", "--pod", "web-1", "--reason", "the probe was wrong")
	g.Expect(answer.err).To(Equal("changepod/" + name + " in namespace shop gets these verdicts\n  web-1: unpass -> pass\n  reason    the probe was wrong\nDo you want this? [y/N] "))
	var changed appv1alpha1.ChangePod
	g.Expect(b.kube.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: name}, &changed)).To(Succeed())
	g.Expect(changed.Status.PodResults).To(Equal([]appv1alpha1.PodSummary{
		{Pod: "web-1", Verdict: "pass", Message: "the probe was wrong"}, {Pod: "web-2", Verdict: "unpass", Message: "5xx"},
	}))
}

// batchOf is a batch of these pods, of which the first one failed.
func batchOf(of *appv1alpha1.ChangeWorkload, pods ...string) *appv1alpha1.ChangePod {
	created := batch(of)
	for _, pod := range pods {
		created.Spec.PodInfos = append(created.Spec.PodInfos, appv1alpha1.PodSummary{Pod: pod})
	}
	return created
}

func TestVerdictSaysWhatIsInItsWay(t *testing.T) {
	name := "web--x--" + version("49") + "--x--1"
	for says, row := range map[string]struct {
		line    string
		failure error
		code    command.Code
	}{
		`"maybe" is none of pass, fail`:              {"verdict " + name + " maybe --reason r", nil, command.Usage},
		"--reason is needed: it is kept":             {"verdict " + name + " pass", nil, command.Usage},
		"reading changepod/x in namespace shop":      {"verdict x pass --reason r", nil, command.Failed},
		"didn't fail, and only a failure":            {"verdict " + name + " pass --pod web-3 --reason r", nil, command.Failed},
		"has changed since it was read":              {"verdict " + name + " pass --reason r -y", conflict(), command.Failed},
		"you (bob) may not patch changepods.g in":    {"verdict " + name + " pass --reason r -y", forbidden("patch", "g", "changepods"), command.Failed},
		"changing the verdicts of changepod/" + name: {"verdict " + name + " pass --reason r -y", denied(), command.Failed},
	} {
		b := newBenchWith(t, interceptor.Funcs{SubResourcePatch: func(
			ctx context.Context, kube client.Client, subresource string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption,
		) error {
			text, err := patch.Data(object)
			if err != nil {
				return err
			}
			NewWithT(t).Expect(string(text)).To(ContainSubstring(`"resourceVersion":"999"`))
			return row.failure
		}}, batchOf(failed(7, "49"), "web-1"))
		answer := b.run(split(row.line)...)
		if row.line[len(row.line)-1] != 'y' && row.code == command.Failed {
			NewWithT(t).Expect(answer.err).NotTo(ContainSubstring("[y/N]"), says)
		}
		NewWithT(t).Expect(answer.code).To(Equal(row.code), says)
		NewWithT(t).Expect(answer.err).To(ContainSubstring(says))
	}
}
