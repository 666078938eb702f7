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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/command"
)

// requested returns the request in the annotation of the Deployment web.
func requested(t *testing.T, b *bench) string {
	t.Helper()
	return stored(t, b).Annotations["altershield.defense.antgroup.com/rollback"]
}

func rollbackBench(t *testing.T, funcs interceptor.Funcs) *bench {
	t.Helper()
	return newBenchWith(t, funcs, failed(7, "49"), verified(5, "a1"), web(7, "49", suspendedLabel), kept(5, "a1", "web:1.8"))
}

func TestRollbackAsksTheUserAndThenTheOperator(t *testing.T) {
	g := NewWithT(t)
	b := rollbackBench(t, interceptor.Funcs{})
	for _, answer := range []string{"", "n\n", "no"} {
		b.in = answer
		ran := b.run("rollback", "web")
		g.Expect(ran.code).To(Equal(command.Failed))
		g.Expect(ran.err).To(Equal("shop/web goes back: release 7 4900000 → release 5 a100000\n  spec.containers[web].image: web:1.9 -> web:1.8\n" +
			"Do you want this? [y/N] error: nothing was changed; -y answers yes\n"))
		g.Expect(requested(t, b)).To(BeEmpty())
	}
	b.in = "Yes\n"
	g.Expect(b.run("rollback", "web").out).To(Equal("asked the operator; kubectl altershield wait deployment/web -n shop follows\n"))
	g.Expect(requested(t, b)).To(Equal(version("a1")))
}

func TestRollbackWithoutAQuestion(t *testing.T) {
	g := NewWithT(t)
	b := rollbackBench(t, interceptor.Funcs{})
	g.Expect(b.run("rollback", "web", "--to=5", "-y", "-o", "json").expects(g, command.OK)).To(ContainSubstring(`"kind": "RollbackRequest"`))
	g.Expect(requested(t, b)).To(Equal(version("a1")))
}

func TestRollbackParksAStatefulSet(t *testing.T) {
	g := NewWithT(t)
	held := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db", UID: "db",
		Labels:      map[string]string{"admission-webhook-altershield.antgroup.com/version": version("d1"), "altershield.defense.antgroup.com/suspend": "1"},
		Annotations: map[string]string{"altershield.defense.antgroup.com/release": "1", "altershield.defense.antgroup.com/held": "1"}}}
	held.Spec.Replicas = ptr.To[int32](3)
	held.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: "RollingUpdate", RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: ptr.To[int32](2147483647)}}
	held.Status = appsv1.StatefulSetStatus{Replicas: 3, UpdatedReplicas: 1}
	b := newBench(t, set("db"), held)
	ran := b.run("rollback", "statefulset/db", "--park", "-y")
	g.Expect(ran.expects(g, command.OK)).To(Equal("asked the operator; kubectl altershield status statefulset/db -n shop shows how far it is\n"))
	g.Expect(ran.err).To(BeEmpty())
	g.Expect(b.kube.Get(t.Context(), client.ObjectKeyFromObject(held), held)).To(Succeed())
	g.Expect(held.Annotations).To(HaveKeyWithValue("altershield.defense.antgroup.com/rollback", "park"))
	g.Expect(b.run("rollback", "statefulset/db", "--park", "--to=5").code).To(Equal(command.Usage))
	g.Expect(rollbackBench(t, interceptor.Funcs{}).run("rollback", "web", "--park").err).To(ContainSubstring("deployment/web can't be parked: only a StatefulSet can"))
}

func TestRollbackDryRunsAskForNothing(t *testing.T) {
	g := NewWithT(t)
	patched := 0
	b := rollbackBench(t, interceptor.Funcs{Patch: func(_ context.Context, _ client.WithWatch, _ client.Object, _ client.Patch, options ...client.PatchOption) error {
		var asked client.PatchOptions
		asked.ApplyOptions(options)
		g.Expect(asked.DryRun).To(Equal([]string{"All"}))
		patched++
		return nil
	}})
	g.Expect(b.run("rollback", "web", "--dry-run=client").expects(g, command.OK)).To(HaveSuffix("nothing was changed: this was a dry run\n"))
	g.Expect(patched).To(BeZero())
	g.Expect(b.run("rollback", "web", "--dry-run=server").expects(g, command.OK)).To(HaveSuffix("nothing was changed: this was a dry run\n"))
	g.Expect(patched).To(Equal(1))
	answer := b.run("rollback", "web", "--dry-run=maybe")
	g.Expect(answer.code).To(Equal(command.Usage))
}

func TestRollbackSaysWhatIsInItsWay(t *testing.T) {
	for name, row := range map[string]struct {
		failure error
		args    []string
		says    string
	}{
		"an unknown release": {nil, []string{"--to=6"}, "deployment/web can't go back to 6: no such release is known; the verified versions are"},
		"a change meanwhile": {conflict(), nil, "deployment/web has changed since it was read, so nothing was changed: try again"},
		"a missing right":    {forbidden("patch", "apps", "deployments"), nil, "you (bob) may not patch deployments.apps in namespace shop"},
		"a policy":           {denied(), nil, "changing deployment/web in namespace shop: " + denial},
	} {
		b := rollbackBench(t, interceptor.Funcs{Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return row.failure
		}})
		answer := b.run(append([]string{"rollback", "web", "-y"}, row.args...)...)
		NewWithT(t).Expect(answer.code).To(Equal(command.Failed), name)
		NewWithT(t).Expect(answer.err).To(ContainSubstring(row.says), name)
	}
}

func TestRollbackToAVersionWhoseContentIsUnreadable(t *testing.T) {
	broken := kept(5, "a1", "web:1.8")
	broken.Data.Raw = []byte(`{}`)
	answer := newBench(t, failed(7, "49"), verified(5, "a1"), web(7, "49"), broken).run("rollback", "web", "-y")
	NewWithT(t).Expect(answer.err).To(ContainSubstring("the kept content has no pod template"))
}
