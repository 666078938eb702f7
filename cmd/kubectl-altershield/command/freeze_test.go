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
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/command"
)

func changeFreeze(namespace, name string, expires time.Duration) *appv1alpha1.ChangeFreeze {
	created := &appv1alpha1.ChangeFreeze{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "freeze-uid"},
		Spec:       appv1alpha1.ChangeFreezeSpec{Action: "Park", Reason: "INC-99"},
		Status:     appv1alpha1.ChangeFreezeStatus{Active: expires > 0, Parked: 1},
	}
	if expires > 0 {
		created.Spec.Expires, created.Status.Until = &metav1.Duration{Duration: expires}, &metav1.Time{Time: now.Add(expires)}
	}
	return created
}

func TestFreezeListShowsThoseOfTheNamespaceOrAll(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, changeFreeze("shop", "inc-99", time.Hour), changeFreeze("pay", "friday", 0))
	g.Expect(b.run("freeze", "list").expects(g, command.OK)).To(Equal(
		"NAMESPACE  NAME    ACTION  ACTIVE  UNTIL                PARKED  REASON\nshop       inc-99  Park    yes     2026-11-22 17:41:52  1       INC-99\n"))
	g.Expect(b.run("freeze", "list", "-A", "-o", "name").expects(g, command.OK)).To(Equal("changefreeze.app.ops.cloud.alipay.com/inc-99\nchangefreeze.app.ops.cloud.alipay.com/friday\n"))
	g.Expect(b.run("freeze", "list", "-n", "none").expects(g, command.OK)).To(Equal("no ChangeFreezes\n"))
	g.Expect(b.run("freeze").expects(g, command.OK)).To(ContainSubstring("freeze VERB [flags]"))
}

func TestFreezeLockAndUnlock(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, verified(7, "49"), web(7, "49"), set("db"))
	b.in = "y\n"
	answer := b.run("freeze", "lock", "inc-99", "web", "statefulset/db", "--for=2h", "--reason", "INC-99")
	g.Expect(answer.err).To(Equal("the releases of namespace shop are frozen from now on\n  workloads: deployment/web, statefulset/db\n  action: Park\n  running: Finish\n" +
		"  expires: 2h0m0s\n  reason    INC-99\nDo you want this? [y/N] "))
	g.Expect(answer.out).To(Equal("frozen; kubectl altershield freeze unlock inc-99 -n shop ends it\n"))
	var lock appv1alpha1.ChangeFreeze
	g.Expect(b.kube.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "inc-99"}, &lock)).To(Succeed())
	g.Expect(lock.Spec.Expires.Duration).To(Equal(2 * time.Hour))
	g.Expect(lock.Spec.Workloads).To(HaveLen(2))

	g.Expect(b.run("freeze", "unlock", "changefreeze/inc-99", "-y").expects(g, command.OK)).To(Equal("changefreeze/inc-99 in namespace shop has ended; releases that it parked start\n"))
	g.Expect(b.kube.Get(t.Context(), client.ObjectKeyFromObject(&lock), &lock)).NotTo(Succeed())
}

func TestUnlockTakesTheNameThatListPrints(t *testing.T) {
	for _, name := range []string{"inc-99", "changefreeze/inc-99", "changefreezes/inc-99", "changefreeze.app.ops.cloud.alipay.com/inc-99"} {
		b := newBench(t, changeFreeze("shop", "inc-99", time.Hour))
		NewWithT(t).Expect(b.run("freeze", "unlock", name, "-y").expects(NewWithT(t), command.OK)).To(HavePrefix("changefreeze/inc-99 in namespace shop has ended"))
	}
	answer := newBench(t, changeFreeze("shop", "inc-99", time.Hour)).run("freeze", "unlock", "changepod.app.ops.cloud.alipay.com/inc-99", "-y")
	NewWithT(t).Expect(answer.code).To(Equal(command.Failed))
}

func TestUnlockDeletesTheVeryLockThatWasShown(t *testing.T) {
	g := NewWithT(t)
	b := newBenchWith(t, interceptor.Funcs{Delete: func(_ context.Context, _ client.WithWatch, _ client.Object, options ...client.DeleteOption) error {
		var asked client.DeleteOptions
		asked.ApplyOptions(options)
		g.Expect(*asked.Preconditions.UID).To(BeEquivalentTo("freeze-uid"))
		g.Expect(asked.DryRun).To(Equal([]string{"All"}))
		return nil
	}}, changeFreeze("shop", "inc-99", time.Hour))
	g.Expect(b.run("freeze", "unlock", "inc-99", "--dry-run=server").expects(g, command.OK)).To(Equal(
		"changefreeze/inc-99 in namespace shop ends\n  parked: 1\nnothing was changed: this was a dry run\n"))
}

func TestBreakGlassIsCreated(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, verified(7, "49"), web(7, "49"))
	b.in = "y\n"
	answer := b.run("break-glass", "web", "--override=Freeze,Pace", "--reason", "INC-99")
	g.Expect(answer.err).To(Equal("releases in namespace shop pass what would stop them\n  workloads: deployment/web\n  overrides: Freeze, Pace\n  for: 1h0m0s\n  uses: 1\n" +
		"  reason    INC-99\nDo you want this? [y/N] "))
	var list appv1alpha1.BreakGlassList
	g.Expect(b.kube.List(t.Context(), &list, client.InNamespace("shop"))).To(Succeed())
	g.Expect(list.Items).To(HaveLen(1))
	g.Expect(answer.out).To(Equal("created breakglass/" + list.Items[0].Name + " in namespace shop; it keeps who uses it for what. A parked release goes on by resume --override\n"))
	g.Expect(list.Items[0].Spec.Overrides).To(Equal([]appv1alpha1.BreakGlassOverride{"Freeze", "Pace"}))
}

func TestFreezesAndBreakGlassSayWhatIsInTheirWay(t *testing.T) {
	for line, row := range map[string]struct {
		code command.Code
		says string
	}{
		"freeze lock":                                     {command.Usage, "requires at least 1 arg(s)"},
		"freeze lock x":                                   {command.Usage, "--reason is needed: it is kept"},
		"freeze lock x --reason r --action park":          {command.Usage, `--action "park" is none of Park, Deny, Warn`},
		"freeze lock x --reason r --running Stop":         {command.Usage, `--running "Stop" is none of Finish, Hold`},
		"freeze lock x none --reason r":                   {command.Failed, "there is no workload none"},
		"freeze lock x web pay/deployment/api --reason r": {command.Usage, "the workloads must be of one namespace"},
		"freeze lock friday --reason r -y":                {command.Failed, "creating changefreeze/friday in namespace shop"},
		"freeze unlock x":                                 {command.Failed, "reading changefreeze/x in namespace shop"},
		"freeze unlock friday":                            {command.Failed, "changefreeze/friday is a calendar and no lock"},
		"break-glass web --reason r":                      {command.Usage, "--override is needed"},
		"break-glass web --override All --reason r":       {command.Usage, `"All" can't be overridden`},
		"break-glass none --override Pace --reason r":     {command.Failed, "there is no workload none"},
	} {
		api := web(1, "49")
		api.Namespace, api.Name = "pay", "api"
		answer := newBench(t, web(7, "49"), api, changeFreeze("shop", "friday", 0)).run(split(line)...)
		NewWithT(t).Expect(answer.code).To(Equal(row.code), line)
		NewWithT(t).Expect(answer.err).To(ContainSubstring(row.says), line)
	}
}
