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
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/command"
)

// verbs are those that read a cluster, each with what it needs.
func verbs() []string {
	return []string{"list", "status web", "wait web", "why web", "why -f -", "history web", "diff web", "diff -f -", "events web", "freeze list", "settings", "policies", "policies web", "doctor", "dashboard --open=false"}
}

// actingVerbs are those that write, each with what it needs.
func actingVerbs() []string {
	return []string{
		"rollback web -y", "repair web --image web=web:2.0 -y", "repair web -f - -y", "hold web -y", "resume web -y", "go-on web -y", "approve web -y", "deny web -y",
		"verdict web--x--" + version("49") + "--x--1 pass --reason r -y",
		"freeze lock inc-99 --reason r -y", "freeze unlock inc-98 -y", "break-glass web --override=Freeze --reason r -y",
		"settings branch on -y",
	}
}

func TestVerbsWithoutAKubeconfigAreASentence(t *testing.T) {
	b := newBench(t)
	b.in = file
	for _, line := range append(verbs(), actingVerbs()...) {
		answer := b.run(append(split(line), "--kubeconfig=/nonexistent")...)
		NewWithT(t).Expect(answer.code).To(Equal(command.Failed), line)
		NewWithT(t).Expect(answer.err).To(HavePrefix("error: reading the kubeconfig: "), line)
	}
	NewWithT(t).Expect(b.run("__complete", "status", "", "--kubeconfig=/nonexistent").out).NotTo(ContainSubstring("web"))
}

func TestWhatNeedsNoClusterNeedsNoKubeconfig(t *testing.T) {
	for _, line := range []string{"version", "completion kubectl", "--help"} {
		NewWithT(t).Expect(newBench(t).run(append(split(line), "--kubeconfig=/nonexistent")...).code).To(Equal(command.OK), line)
	}
}

func TestVerbsWithoutAClientReturnItsError(t *testing.T) {
	b := newBench(t)
	b.connect = func(*rest.Config) (client.WithWatch, error) { return nil, errors.New("no such host") }
	NewWithT(t).Expect(b.run("list").err).To(Equal("error: no such host\n"))
}

// broken is a pipe whose reader is gone.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestAClosedPipeEndsEachVerb(t *testing.T) {
	b := newBench(t, failed(7, "49"), web(7, "49", suspendedLabel), kept(5, "a1", "web:1.8"))
	b.in, b.out = file, broken{}
	for _, line := range append(verbs(), "list -o json", "list -o yaml", "wait web -o json", "status web -w", "version") {
		answer := b.run(split(line)...)
		NewWithT(t).Expect(answer.code).To(Equal(command.Failed), line)
		NewWithT(t).Expect(answer.err).To(ContainSubstring("broken pipe"), line)
	}
	b.width, b.height = 80, 24
	NewWithT(t).Expect(b.run("status", "web", "-w").code).To(Equal(command.Failed))
}

// breaks has reads of a kind end with an error of the server.
func breaks(kind string) interceptor.Funcs {
	funcs := refuses(kind)
	failure := apierrors.NewInternalError(errors.New("disk full"))
	list, get := funcs.List, funcs.Get
	funcs.List = func(ctx context.Context, kube client.WithWatch, objects client.ObjectList, options ...client.ListOption) error {
		err := list(ctx, kube, objects, options...)
		if apierrors.IsForbidden(err) {
			return failure
		}
		return err
	}
	funcs.Get = func(ctx context.Context, kube client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
		err := get(ctx, kube, key, object, options...)
		if apierrors.IsForbidden(err) {
			return failure
		}
		return err
	}
	return funcs
}

func TestErrorsOfTheServerSayWhatFailed(t *testing.T) {
	for line, row := range map[string]struct{ kind, says string }{
		"list":           {"ChangeWorkload", "listing ChangeWorkloads: Internal error occurred: disk full"},
		"status web":     {"ChangePod", "listing the batches of web--x--49"},
		"why web":        {"ControllerRevision", "listing the kept contents of deployment/web"},
		"history web":    {"ControllerRevision", "listing the kept contents of deployment/web"},
		"diff web":       {"ControllerRevision", "listing the kept contents of deployment/web"},
		"freeze list":    {"ChangeFreeze", "listing ChangeFreezes: Internal error occurred: disk full"},
		"events web":     {"Event", "listing the Events of deployment/web"},
		"wait web":       {"Deployment", "reading deployment/web in namespace shop"},
		"why -f -":       {"Deployment", "reading deployment/web in namespace shop"},
		"diff -f -":      {"Deployment", "reading deployment/web in namespace shop"},
		"status db":      {"StatefulSet", "reading statefulset/db in namespace shop"},
		"status sts/new": {"StatefulSet", "reading statefulset/new in namespace shop"},
	} {
		b := newBenchWith(t, breaks(row.kind), failed(7, "49"), web(7, "49", suspendedLabel), set("db"))
		b.in = file
		answer := b.run(split(line)...)
		NewWithT(t).Expect(answer.code).To(Equal(command.Failed), line)
		NewWithT(t).Expect(answer.err).To(And(ContainSubstring(row.says), ContainSubstring("disk full")), line)
	}
}

func TestWhyWithoutTheAnswerToAReview(t *testing.T) {
	b := newBenchWith(t, interceptor.Funcs{Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
		return apierrors.NewInternalError(errors.New("disk full"))
	}}, failed(7, "49"), web(7, "49", suspendedLabel))
	NewWithT(t).Expect(b.run("why", "web").err).To(ContainSubstring("asking whether you may patch deployments.apps: Internal error occurred: disk full"))
}

func TestAMissingRightOnAnythingElseKeepsTheSentenceOfTheServer(t *testing.T) {
	for message, sentence := range map[string]string{
		`x is forbidden: User "bob" cannot get path "/api"`:                                                             `x is forbidden: User "bob" cannot get path "/api"`,
		`users "eve" is forbidden: User "bob" cannot impersonate resource "users" in API group "" at the cluster scope`: "error: you (bob) may not impersonate users in all namespaces",
	} {
		b := newBenchWith(t, interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return &apierrors.StatusError{ErrStatus: metav1.Status{Code: 403, Message: message}}
		}})
		NewWithT(t).Expect(b.run("list").err).To(ContainSubstring(sentence))
	}
}

func TestWhyOfAFilePassesOnTheWarningsOfTheServer(t *testing.T) {
	g := NewWithT(t)
	var kinds []types.PatchType
	var texts []string
	var b *bench
	b = newBenchWith(t, patches(&kinds, &texts, func(client.Object) error {
		b.config.WarningHandlerWithContext.HandleWarningHeaderWithContext(t.Context(), 299, "-", "to let a repair through, set the label")
		return denied()
	}), failed(7, "49"), web(7, "49", suspendedLabel))
	b.in = file
	g.Expect(b.run("why", "-f", "-").out).To(ContainSubstring("  warning   to let a repair through, set the label\n"))
}

func TestEachActingVerbWithoutItsRightIsASentence(t *testing.T) {
	for line, row := range map[string]struct {
		state  func(*appsv1.Deployment)
		rights string
	}{
		"rollback web -y":                   {suspendedLabel, "patch deployments.apps"},
		"repair web --image web=web:2.0 -y": {suspendedLabel, "patch deployments.apps"},
		"repair web -f - -y":                {suspendedLabel, "patch deployments.apps"},
		"hold web -y":                       {suspendedLabel, "patch deployments.apps"},
		"resume web -y":                     {func(deployment *appsv1.Deployment) { deployment.Spec.Paused = true }, "patch deployments.apps"},
		"go-on web -y":                      {paced, "patch deployments.apps"},
		"approve web -y":                    {paced, "create changeapprovals.app.ops.cloud.alipay.com"},
		"deny web -y":                       {paced, "create changeapprovals.app.ops.cloud.alipay.com"},
		"verdict web--x--" + version("49") + "--x--1 pass --reason r -y": {suspendedLabel, "patch changepods.app.ops.cloud.alipay.com/status"},
		"freeze lock inc-99 --reason r -y":                               {suspendedLabel, "create changefreezes.app.ops.cloud.alipay.com"},
		"freeze unlock inc-98 -y":                                        {suspendedLabel, "delete changefreezes.app.ops.cloud.alipay.com"},
		"break-glass web --override=Freeze --reason r -y":                {suspendedLabel, "create breakglasses.app.ops.cloud.alipay.com"},
		"settings park on -y":                                            {suspendedLabel, "create opsconfiginfoes.app.ops.cloud.alipay.com"},
		"settings branch on -y":                                          {suspendedLabel, "patch opsconfiginfoes.app.ops.cloud.alipay.com"},
	} {
		b := newBenchWith(t, readOnly(), branch(), changeFreeze("shop", "inc-98", time.Hour), failed(7, "49"), verified(5, "a1"), web(7, "49", row.state), kept(5, "a1", "web:1.8"), batchOf(failed(7, "49"), "web-1"))
		b.in = file
		answer := b.run(split(line)...)
		NewWithT(t).Expect(answer.code).To(Equal(command.Failed), line)
		NewWithT(t).Expect(answer.err).To(Equal("error: you (bob) may not "+row.rights+" in namespace shop: ask an administrator for this right, or name another namespace with -n\n"), line)
	}
}

// readOnly refuses all writes.
func readOnly() interceptor.Funcs {
	refused := func(verb string, object client.Object) error {
		group, resource := "app.ops.cloud.alipay.com", ""
		switch object := object.(type) {
		case *appv1alpha1.ChangeApproval:
			resource = "changeapprovals"
		case *appv1alpha1.ChangeFreeze:
			resource = "changefreezes"
		case *appv1alpha1.OpsConfigInfo:
			resource = "opsconfiginfoes"
		case *appv1alpha1.BreakGlass:
			resource = "breakglasses"
		case *appv1alpha1.ChangePod:
			resource = "changepods/status"
		default:
			group, resource = "apps", strings.ToLower(object.GetObjectKind().GroupVersionKind().Kind)+"s"
		}
		return forbidden(verb, group, resource)
	}
	return interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
			return refused("create", object)
		},
		Patch: func(_ context.Context, _ client.WithWatch, object client.Object, _ client.Patch, _ ...client.PatchOption) error {
			return refused("patch", object)
		},
		SubResourcePatch: func(_ context.Context, _ client.Client, _ string, object client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
			return refused("patch", object)
		},
		Delete: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.DeleteOption) error {
			return refused("delete", object)
		},
	}
}

func TestThePluginAloneShowsItsHelp(t *testing.T) {
	g := NewWithT(t)
	text := newBench(t).run().expects(g, command.OK)
	g.Expect(text).To(And(ContainSubstring("kubectl altershield VERB [flags]"), ContainSubstring("\n  10   suspended (wait)\n")))
}

func TestHelpIsInTheLanguageOfTheUser(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t)
	g.Expect(b.run("list", "--help", "--lang=zh").out).To(And(HavePrefix("按当前发布的状态列出工作负载"), ContainSubstring("\n退出码：\n  0    正常\n")))
	b.env["LANG"] = "zh_CN.UTF-8"
	g.Expect(b.run().out).To(ContainSubstring("\n  status       显示工作负载的发布、批次、未通过的原因，以及之前的发布\n"))
	g.Expect(b.run("list", "--help", "--lang=en").out).To(HavePrefix("List workloads by the state of their present release"))
}

func TestStatusFollowsOverAnErrorThatPasses(t *testing.T) {
	g := NewWithT(t)
	lists := 0
	b := newBenchWith(t, interceptor.Funcs{List: func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		if _, isRecords := list.(*appv1alpha1.ChangeWorkloadList); isRecords {
			if lists++; lists == 3 {
				return apierrors.NewServiceUnavailable("away")
			}
			if lists > 6 {
				return forbidden("list", "g", "changeworkloads")
			}
		}
		return kube.List(ctx, list, options...)
	}}, record(7, "49", "Running", "Unknown", "Verifying"), web(7, "49"))
	b.tick(func(int) {})
	answer := b.run("status", "web", "-w", "-o", "json")
	g.Expect(answer.code).To(Equal(command.Failed))
	g.Expect(lists).To(Equal(7), "the first error passed")
	g.Expect(answer.err).To(ContainSubstring("may not list changeworkloads"))
}

func TestRecordsAreListedPageByPage(t *testing.T) {
	g := NewWithT(t)
	pages := 0
	b := newBenchWith(t, interceptor.Funcs{List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		var asked client.ListOptions
		asked.ApplyOptions(options)
		g.Expect(asked.Limit).To(BeEquivalentTo(500))
		records := list.(*appv1alpha1.ChangeWorkloadList)
		if pages++; asked.Continue == "" {
			records.Items, records.Continue = []appv1alpha1.ChangeWorkload{*failed(7, "49")}, "next"
			return nil
		}
		g.Expect(asked.Continue).To(Equal("next"))
		records.Items = []appv1alpha1.ChangeWorkload{*set("db")}
		return nil
	}})
	g.Expect(b.run("list", "-o", "name").expects(g, command.OK)).To(And(ContainSubstring("web--x--"), ContainSubstring("statefulsets.db--x--")))
	g.Expect(pages).To(Equal(2))
}
