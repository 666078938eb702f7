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
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/command"
)

// sent is a patch that was sent.
type sent struct {
	text   string
	dryRun bool
}

// stamps answers patches as the webhook does: what carries the label of a repair is release 8. fails has the writes that are no dry run fail.
func stamps(requests *[]sent, fails error) interceptor.Funcs {
	return interceptor.Funcs{Patch: func(
		ctx context.Context, kube client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption,
	) error {
		text, err := patch.Data(object)
		if err != nil {
			return err
		}
		var asked client.PatchOptions
		asked.ApplyOptions(options)
		*requests = append(*requests, sent{string(text), len(asked.DryRun) > 0})
		if len(asked.DryRun) == 0 && fails != nil {
			return fails
		}
		if err := kube.Patch(ctx, object, patch, options...); err != nil {
			return err
		}
		if !strings.Contains(string(text), `"altershield.defense.antgroup.com/ignored-suspend":"true"`) {
			return denied()
		}
		stamped := object.(*unstructured.Unstructured)
		stamped.SetLabels(map[string]string{"admission-webhook-altershield.antgroup.com/version": version("c0")})
		stamped.SetAnnotations(map[string]string{
			"altershield.defense.antgroup.com/release": "8",
			"altershield.defense.antgroup.com/released-by": `{"user":"bob","time":"2026-11-22T16:41:52Z","version":"` + version("c0") +
				`","release":8,"changes":["spec.containers[web].image: web:1.9 -> web:2.0"]}`,
		})
		return nil
	}}
}

func repairBench(t *testing.T, requests *[]sent) *bench {
	t.Helper()
	return newBenchWith(t, stamps(requests, nil), failed(7, "49"), web(7, "49", suspendedLabel))
}

const repairShown = "shop/web is repaired: release 7 4900000 → release 8 c000000\n  spec.containers[web].image: web:1.9 -> web:2.0\n"

func TestRepairByAnImageIsOneRequest(t *testing.T) {
	g := NewWithT(t)
	var requests []sent
	b := repairBench(t, &requests)
	b.in = "y\n"
	answer := b.run("repair", "web", "--image", "web=web:2.0")
	g.Expect(answer.err).To(Equal(repairShown + "Do you want this? [y/N] "))
	g.Expect(answer.out).To(Equal("released the repair; kubectl altershield wait deployment/web -n shop follows\n"))
	g.Expect(requests).To(HaveLen(2))
	g.Expect(requests[0].dryRun).To(BeTrue(), "it is tried first")
	g.Expect(requests[1].dryRun).To(BeFalse())
	g.Expect(requests[1].text).To(And(ContainSubstring(`"labels":{"altershield.defense.antgroup.com/ignored-suspend":"true"}`),
		ContainSubstring(`"image":"web:2.0"`), ContainSubstring(`"resourceVersion":"999"`)))
	g.Expect(stored(t, b).Spec.Template.Spec.Containers[0].Image).To(Equal("web:2.0"))
}

func TestRepairByAFileKeepsTheLabelOutOfWhatWasApplied(t *testing.T) {
	g := NewWithT(t)
	var requests []sent
	b := repairBench(t, &requests)
	g.Expect(b.run("repair", "web", "-f", written(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n---\n"+file), "-y").expects(g, command.OK)).
		To(Equal("released the repair; kubectl altershield wait deployment/web -n shop follows\n"))
	g.Expect(requests[1].text).To(ContainSubstring(`"labels":{"altershield.defense.antgroup.com/ignored-suspend":"true"}`))
	g.Expect(requests[1].text).To(ContainSubstring(`"resourceVersion":"999"`))
	deployment := stored(t, b)
	g.Expect(deployment.Annotations["kubectl.kubernetes.io/last-applied-configuration"]).To(And(ContainSubstring("web:2.0"), Not(ContainSubstring("ignored-suspend"))))
	g.Expect(deployment.Labels).To(HaveKeyWithValue("altershield.defense.antgroup.com/ignored-suspend", "true"))
}

func TestRepairHasItsReasonInTheSameRequest(t *testing.T) {
	for _, by := range []string{"--image web=web:2.0", "-f " + written(t, file)} {
		g := NewWithT(t)
		var requests []sent
		b := repairBench(t, &requests)
		b.in = "y\n"
		answer := b.run(append(split("repair web "+by), "--reason", "INC-99: checkout is down")...)
		g.Expect(answer.code).To(Equal(command.OK), answer.err)
		g.Expect(answer.err).To(Equal(repairShown + "  reason    INC-99: checkout is down\nDo you want this? [y/N] "))
		g.Expect(requests[1].text).To(ContainSubstring(`"altershield.defense.antgroup.com/reason":"INC-99: checkout is down"`))
		g.Expect(stored(t, b).Annotations["kubectl.kubernetes.io/last-applied-configuration"]).NotTo(ContainSubstring("INC-99"))
	}
}

func TestRepairDryRunsChangeNothing(t *testing.T) {
	for _, dryRun := range []string{"client", "server"} {
		g := NewWithT(t)
		var requests []sent
		b := repairBench(t, &requests)
		b.in = file
		g.Expect(b.run("repair", "web", "-f", "-", "--dry-run", dryRun).expects(g, command.OK)).To(Equal(repairShown + "nothing was changed: this was a dry run\n"))
		for _, request := range requests {
			g.Expect(request.dryRun).To(BeTrue())
		}
		g.Expect(stored(t, b).Spec.Template.Spec.Containers[0].Image).To(Equal("web:1.9"))
	}
}

func TestRepairServerSideIsAnApply(t *testing.T) {
	g := NewWithT(t)
	var applied []string
	b := newBenchWith(t, interceptor.Funcs{
		Apply: func(_ context.Context, _ client.WithWatch, _ runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			var asked client.ApplyOptions
			asked.ApplyOptions(options)
			applied = append(applied, asked.FieldManager+" "+strings.Join(asked.DryRun, ""))
			return denied()
		},
	}, failed(7, "49"), web(7, "49", suspendedLabel))
	answer := b.run("repair", "web", "-f", written(t, file), "--server-side", "-y")
	g.Expect(answer.code).To(Equal(command.Denied))
	g.Expect(answer.err).To(Equal("error: " + denial + "\n"))
	g.Expect(applied).To(Equal([]string{"kubectl All"}))
}

func TestRepairThatWouldBeDeniedIsNotSent(t *testing.T) {
	g := NewWithT(t)
	tries := 0
	b := newBenchWith(t, interceptor.Funcs{Patch: func(_ context.Context, _ client.WithWatch, _ client.Object, _ client.Patch, options ...client.PatchOption) error {
		var asked client.PatchOptions
		asked.ApplyOptions(options)
		g.Expect(asked.DryRun).NotTo(BeEmpty())
		tries++
		return denied()
	}}, failed(7, "49"), web(7, "49", suspendedLabel))
	answer := b.run("repair", "web", "--image", "web=web:2.0", "-y")
	g.Expect(answer.code).To(Equal(command.Denied))
	g.Expect(answer.err).To(Equal("error: " + denial + "\n"))
	g.Expect(tries).To(Equal(1))
}

func TestRepairSaysWhatIsInItsWay(t *testing.T) {
	var requests []sent
	other := strings.Replace(file, "{name: web}", "{name: web, namespace: pay}", 1)
	unchanged := interceptor.Funcs{Patch: func(ctx context.Context, kube client.WithWatch, object client.Object, _ client.Patch, _ ...client.PatchOption) error {
		return kube.Get(ctx, client.ObjectKeyFromObject(object), object)
	}}
	same := strings.Replace(file, "web:2.0", "web:1.9", 1)
	for name, row := range map[string]struct {
		funcs interceptor.Funcs
		args  []string
		code  command.Code
		says  string
	}{
		"neither":            {stamps(&requests, nil), nil, command.Usage, "give the correction with -f, or with --image"},
		"both":               {stamps(&requests, nil), []string{"-f", "x", "--image", "web=web:2"}, command.Usage, "give the correction with -f, or with --image"},
		"no answer":          {stamps(&requests, nil), []string{"-f", "-"}, command.Usage, "add -y"},
		"another namespace":  {stamps(&requests, nil), []string{"-f", written(t, other), "-y"}, command.Usage, "there is no deployment/web of namespace shop in "},
		"no file":            {stamps(&requests, nil), []string{"-f", "/nonexistent", "-y"}, command.Failed, "reading the file"},
		"no image":           {stamps(&requests, nil), []string{"--image", "web", "-y"}, command.Usage, `"web" is no image of a container`},
		"no container":       {stamps(&requests, nil), []string{"--image", "db=db:2", "-y"}, command.Failed, "deployment/web can't be repaired: it has no container db; its containers are web"},
		"nothing new":        {unchanged, []string{"-f", written(t, same), "-y"}, command.Failed, "the content of deployment/web is the same already"},
		"a missing right":    {stamps(&requests, forbidden("patch", "apps", "deployments")), []string{"--image", "web=web:2.0", "-y"}, command.Failed, "you (bob) may not patch deployments.apps in namespace shop"},
		"a change meanwhile": {stamps(&requests, conflict()), []string{"--image", "web=web:2.0", "-y"}, command.Failed, "deployment/web has changed since it was read, so nothing was changed: try again"},
		"a change before the trial": {interceptor.Funcs{Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return conflict()
		}}, []string{"--image", "web=web:2.0", "-y"}, command.Failed, "deployment/web has changed since it was read, so nothing was changed: try again"},
		"a trial without right": {interceptor.Funcs{Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return forbidden("patch", "apps", "deployments")
		}}, []string{"--image", "web=web:2.0", "-y"}, command.Failed, "you (bob) may not patch deployments.apps in namespace shop"},
	} {
		b := newBenchWith(t, row.funcs, failed(7, "49"), web(7, "49", suspendedLabel))
		answer := b.run(append([]string{"repair", "web"}, row.args...)...)
		NewWithT(t).Expect(answer.code).To(Equal(row.code), name)
		NewWithT(t).Expect(answer.err).To(ContainSubstring(row.says), name)
	}
}

func TestRepairOfAWorkloadThatCanNotBeRead(t *testing.T) {
	b := newBenchWith(t, refuses("Deployment"), failed(7, "49"), web(7, "49", suspendedLabel))
	NewWithT(t).Expect(b.run("repair", "web", "--image", "web=web:2.0").err).To(ContainSubstring("deployment/web can't be read, so that it can't be repaired"))
}

func TestRepairOfSomethingWithoutChangeControl(t *testing.T) {
	b := newBench(t, web(1, "49", func(deployment *appsv1.Deployment) { deployment.Labels = nil }))
	NewWithT(t).Expect(b.run("repair", "web", "--image", "web=web:2.0", "-y").err).To(ContainSubstring("deployment/web isn't under change control"))
}

func TestRepairIsTriedAgainWhileARolloutWritesTheStatus(t *testing.T) {
	for _, by := range []string{"--image web=web:2.0", "-f " + written(t, file)} {
		g := NewWithT(t)
		var requests []sent
		funcs := stamps(&requests, nil)
		stamped, isWritten := funcs.Patch, false
		funcs.Patch = func(ctx context.Context, kube client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			if !isWritten {
				isWritten = true
				return conflict()
			}
			return stamped(ctx, kube, object, patch, options...)
		}
		b := newBenchWith(t, funcs, failed(7, "49"), web(7, "49", suspendedLabel))
		g.Expect(b.run(append(split("repair web "+by), "-y")...).expects(g, command.OK)).To(HavePrefix("released the repair; "))
	}
}
