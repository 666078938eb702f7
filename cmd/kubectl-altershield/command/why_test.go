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
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/command"
)

const file = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:2.0"}]}
`

func written(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "web.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestWhyNamesTheFreezeThatWouldStopAFurtherRelease(t *testing.T) {
	g := NewWithT(t)
	on := func(change func(*appv1alpha1.ChangeFreeze)) string {
		freeze := changeFreeze("shop", "inc-99", time.Hour)
		freeze.CreationTimestamp = metav1.NewTime(now)
		change(freeze)
		return newBench(t, verified(7, "49"), web(7, "49"), freeze).run("why", "web").expects(g, command.OK)
	}
	g.Expect(on(func(*appv1alpha1.ChangeFreeze) {})).To(And(ContainSubstring("nothing holds it back\n"),
		ContainSubstring("a further release would be parked by ChangeFreeze shop/inc-99 until 2026-11-22 17:41:52: INC-99\n")))
	g.Expect(on(func(freeze *appv1alpha1.ChangeFreeze) { freeze.Spec.Action = "Deny" })).To(
		ContainSubstring("a further release would be denied by ChangeFreeze shop/inc-99 until "))
	const further = "a further release would be"
	g.Expect(on(func(freeze *appv1alpha1.ChangeFreeze) { freeze.Spec.Action = "Warn" })).NotTo(ContainSubstring(further))
	g.Expect(on(func(freeze *appv1alpha1.ChangeFreeze) {
		freeze.CreationTimestamp = metav1.NewTime(now.Add(-2 * time.Hour))
	})).NotTo(ContainSubstring(further), "it is over")
	g.Expect(on(func(freeze *appv1alpha1.ChangeFreeze) {
		freeze.Spec.Workloads = []appv1alpha1.WorkloadSelector{{Kind: "Deployment.apps", Name: "api"}}
	})).NotTo(ContainSubstring(further), "it concerns another one")

	freeze := changeFreeze("shop", "inc-99", time.Hour)
	freeze.CreationTimestamp = metav1.NewTime(now)
	parked := verified(7, "49")
	parked.Status.Status = "Running"
	parked.Status.Conditions = []metav1.Condition{{Type: "Verified", Status: "Unknown", Reason: "Frozen", Message: "see Frozen"}, {Type: "Frozen", Status: "True", Reason: "ChangeFreeze", Message: "inc-99 is on"}}
	g.Expect(newBench(t, parked, web(7, "49"), freeze).run("why", "web").expects(g, command.OK)).NotTo(ContainSubstring(further), "it says itself what it waits for")
}

func TestWhyNamesWhatTheUserMayDo(t *testing.T) {
	g := NewWithT(t)
	release := failed(7, "49")
	b := newBench(t, release, batch(release), web(7, "49", suspendedLabel), verified(5, "a1"), kept(5, "a1", "web:1.8"))
	text := b.run("why", "web").expects(g, command.OK)
	g.Expect(text).To(ContainSubstring("because of it"))
	g.Expect(text).To(ContainSubstring("repair (you may): kubectl altershield repair deployment/web -n shop -f FILE"))
	g.Expect(text).To(ContainSubstring("rollback  (to release 5) (you may): kubectl altershield rollback deployment/web -n shop"))
	g.Expect(text).To(ContainSubstring("withdraw the verdict (you may not: it needs patch changepods.app.ops.cloud.alipay.com/status): kubectl altershield verdict web--x--"))
}

// patches remembers the patches, and answers them.
func patches(kinds *[]types.PatchType, texts *[]string, answer func(client.Object) error) interceptor.Funcs {
	return interceptor.Funcs{Patch: func(ctx context.Context, kube client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
		text, err := patch.Data(object)
		if err != nil {
			return err
		}
		*kinds, *texts = append(*kinds, patch.Type()), append(*texts, string(text))
		var asked client.PatchOptions
		asked.ApplyOptions(options)
		if len(asked.DryRun) == 0 {
			panic("it must be a dry run")
		}
		if answer != nil {
			return answer(object)
		}
		return kube.Patch(ctx, object, patch, options...)
	}}
}

func TestWhyOfAFileThatWouldBeDeniedExitsWith4AndTheSentenceOfTheServer(t *testing.T) {
	g := NewWithT(t)
	var kinds []types.PatchType
	var texts []string
	b := newBenchWith(t, patches(&kinds, &texts, func(client.Object) error { return denied() }), failed(7, "49"), web(7, "49", suspendedLabel))
	answer := b.run("why", "-f", written(t, file))
	g.Expect(answer.code).To(Equal(command.Denied))
	g.Expect(answer.err).To(BeEmpty())
	g.Expect(answer.out).To(HavePrefix("✖ shop/web would be DENIED: " + denial + "\n"))
	g.Expect(answer.out).To(ContainSubstring("shop/web  ✖ Suspend for 60s"))
	g.Expect(answer.out).To(ContainSubstring("ways out"))
	g.Expect(kinds).To(Equal([]types.PatchType{types.StrategicMergePatchType}))
	g.Expect(texts[0]).To(ContainSubstring(`"image":"web:2.0"`))
	g.Expect(texts[0]).To(ContainSubstring(`kubectl.kubernetes.io/last-applied-configuration`))
	g.Expect(texts[0]).To(HaveSuffix(`"spec":{"template":{"spec":{"$setElementOrder/containers":[{"name":"web"}],"containers":[{"image":"web:2.0","name":"web"}]}}}}`),
		"what doesn't change isn't sent")

	answer = b.run("diff", "-f", written(t, file))
	g.Expect(answer.code).To(Equal(command.Denied))
	g.Expect(answer.err).To(Equal("error: " + denial + "\n"))
	answer = b.run("why", "-f", written(t, file), "-o", "json")
	g.Expect(answer.code).To(Equal(command.Denied))
	g.Expect(answer.out).To(ContainSubstring(`"verdict": "Denied"`))
}

func TestWhyOfAFileThatWouldBeAdmittedChangesNothing(t *testing.T) {
	g := NewWithT(t)
	var kinds []types.PatchType
	var texts []string
	b := newBenchWith(t, patches(&kinds, &texts, func(object client.Object) error {
		object.SetLabels(map[string]string{"admission-webhook-altershield.antgroup.com/version": version("bb")})
		object.SetAnnotations(map[string]string{
			"altershield.defense.antgroup.com/release":     "8",
			"altershield.defense.antgroup.com/released-by": `{"user":"bob","time":"2026-11-22T16:41:52Z","version":"v","release":8,"changes":["spec.containers[web].image: web:1.9 -> web:2.0"]}`,
		})
		return nil
	}), verified(7, "49"), web(7, "49"))
	b.in = "---\n" + file
	text := b.run("why", "-f", "-").expects(g, command.OK)
	g.Expect(text).To(Equal("✔ shop/web would be admitted as release 8, version bb00000\n  yours     spec.containers[web].image: web:1.9 -> web:2.0\n"))
	var stored appsv1.Deployment
	g.Expect(b.kube.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, &stored)).To(Succeed())
	g.Expect(stored.Spec.Template.Spec.Containers[0].Image).To(Equal("web:1.9"))
	g.Expect(b.run("diff", "-f", "-").expects(g, command.OK)).To(Equal("release 7 4900000 → file -\n  spec.containers[web].image: web:1.9 -> web:2.0\n"))
}

func TestDiffOfAFileWithoutTheWorkload(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t)
	b.in = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n"
	answer := b.run("diff", "-f", "-")
	g.Expect(answer.code).To(Equal(command.Usage))
	g.Expect(answer.err).To(ContainSubstring("there is no workload in -"))
}

func TestDiffOfAFileWithoutChangeControlNamesNoDifferences(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, web(7, "49", func(deployment *appsv1.Deployment) { deployment.Labels, deployment.Annotations = nil, nil }))
	b.in = file
	g.Expect(b.run("diff", "-f", "-").expects(g, command.OK)).To(Equal("file - would be admitted without change control\n"))
	g.Expect(b.run("diff", "-f", "-", "-o", "json").expects(g, command.OK)).To(ContainSubstring(`"notControlled": true`))
}

func TestWhyOfANewWorkload(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t)
	b.in = file
	g.Expect(b.run("why", "-f", "-").expects(g, command.OK)).To(Equal("○ shop/web would be admitted without change control\n"))
	g.Expect(b.kube.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, &appsv1.Deployment{})).NotTo(Succeed())
}

func TestWhyOfAFileWithoutTheRightToUpdateIsASentence(t *testing.T) {
	g := NewWithT(t)
	var kinds []types.PatchType
	var texts []string
	b := newBenchWith(t, patches(&kinds, &texts, func(client.Object) error { return forbidden("patch", "apps", "deployments") }), web(7, "49"))
	b.in = file
	answer := b.run("why", "-f", "-")
	g.Expect(answer.code).To(Equal(command.Failed))
	g.Expect(answer.err).To(ContainSubstring("you (bob) may not patch deployments.apps in namespace shop"))
}

func TestSeveralObjectsOfAFileAreADocumentOfYAMLEach(t *testing.T) {
	for _, verb := range []string{"why", "diff"} {
		g := NewWithT(t)
		b := newBench(t)
		b.in = file + "---\n" + strings.ReplaceAll(file, "name: web}", "name: cart}")
		text := b.run(verb, "-f", "-", "-o", "yaml").expects(g, command.OK)
		g.Expect(text).NotTo(HavePrefix("---"))
		g.Expect(strings.Split(text, "\n---\n")).To(HaveLen(2), text)
		g.Expect(b.run(verb, "-f", "-").expects(g, command.OK)).NotTo(ContainSubstring("---"))
	}
}

func TestAListInAFileIsTriedItemByItem(t *testing.T) {
	g := NewWithT(t)
	var kinds []types.PatchType
	var texts []string
	b := newBenchWith(t, patches(&kinds, &texts, func(client.Object) error { return denied() }), web(7, "49"))
	b.in = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Service\n  metadata: {name: web}\n- apiVersion: apps/v1\n  kind: Deployment\n  metadata: {name: web}\n"
	answer := b.run("why", "-f", "-")
	g.Expect(answer.code).To(Equal(command.Denied), answer.err)
	g.Expect(answer.out).To(HavePrefix("✖ shop/web would be DENIED"))
}

func TestWhyOfServerSideApply(t *testing.T) {
	g := NewWithT(t)
	called := false
	b := newBenchWith(t, interceptor.Funcs{Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
		called = true
		return denied()
	}}, web(7, "49"))
	b.in = file
	g.Expect(b.run("why", "-f", "-", "--server-side").code).To(Equal(command.Denied))
	g.Expect(called).To(BeTrue())
}

func TestWhyOfAFileWithoutTheWorkload(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t)
	for _, text := range []string{"", "# nothing\n", "kind: List\n", "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n"} {
		b.in = text
		answer := b.run("why", "-f", "-")
		g.Expect(answer.code).To(Equal(command.Usage))
		g.Expect(answer.err).To(ContainSubstring("there is no workload in -"))
	}
	b.in = file
	g.Expect(b.run("why", "cart", "-f", "-").code).To(Equal(command.Usage))
	b.in = "{"
	g.Expect(b.run("why", "-f", "-").err).To(ContainSubstring("reading -"))
}

func TestWhyOfAFileWithAKindThatTheClusterLacks(t *testing.T) {
	g := NewWithT(t)
	b := newBenchWith(t, interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "apps.kruise.io", Kind: "CloneSet"}, SearchedVersions: []string{"v1alpha1"}}
	}})
	b.in = "apiVersion: apps.kruise.io/v1alpha1\nkind: CloneSet\nmetadata: {name: ring}\n"
	answer := b.run("why", "-f", "-")
	g.Expect(answer.code).To(Equal(command.Failed))
	g.Expect(answer.err).To(Equal(`error: this cluster doesn't have the kind (reading cloneset.apps.kruise.io/ring in namespace shop: no matches for kind "CloneSet" in version "apps.kruise.io/v1alpha1")` + "\n"))
}

func TestWhyOfADeclaredKindIsAMergePatch(t *testing.T) {
	g := NewWithT(t)
	var kinds []types.PatchType
	var texts []string
	funcs := patches(&kinds, &texts, func(client.Object) error { return denied() })
	funcs.Get = func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
		object.SetResourceVersion("1")
		return nil
	}
	b := newBenchWith(t, funcs)
	b.in = "apiVersion: apps.kruise.io/v1alpha1\nkind: CloneSet\nmetadata: {name: ring}\nspec: {replicas: 3}\n"
	g.Expect(b.run("why", "-f", "-").code).To(Equal(command.Denied))
	g.Expect(kinds).To(Equal([]types.PatchType{types.MergePatchType}))
}

func TestWhyOfADeclaredKindThatIsCalledLikeABuiltInOneHasItsRelease(t *testing.T) {
	g := NewWithT(t)
	var kinds []types.PatchType
	var texts []string
	funcs := patches(&kinds, &texts, func(client.Object) error { return denied() })
	funcs.Get = func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
		object.SetResourceVersion("1")
		return nil
	}
	release := failed(7, "49")
	release.Labels = map[string]string{"altershield.defense.antgroup.com/workload": "deployments.web"}
	release.Spec.WorkloadRef = &appv1alpha1.WorkloadReference{APIVersion: "example.com/v1", Kind: "Deployment", Name: "web"}
	b := newBenchWith(t, funcs, release)
	b.in = "apiVersion: example.com/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 3}\n"
	answer := b.run("why", "-f", "-")
	g.Expect(answer.code).To(Equal(command.Denied))
	g.Expect(answer.out).To(ContainSubstring("shop/web  ✖ Suspend for 60s  release 7"))
}

func TestWhyOfAKindOfTheOperatorIsAMergePatch(t *testing.T) {
	g := NewWithT(t)
	var kinds []types.PatchType
	var texts []string
	b := newBenchWith(t, patches(&kinds, &texts, nil), &appv1alpha1.ReleasePolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "steps"}})
	b.in = "apiVersion: app.ops.cloud.alipay.com/v1alpha1\nkind: ReleasePolicy\nmetadata: {name: steps}\nspec: {priority: 3}\n"
	g.Expect(b.run("why", "-f", "-").expects(g, command.OK)).To(Equal("○ shop/steps would be admitted without change control\n"))
	g.Expect(kinds).To(Equal([]types.PatchType{types.MergePatchType}), "the API server takes no other one of a CRD")
}
