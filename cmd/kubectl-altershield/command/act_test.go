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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/command"
)

// conflict is the answer of the API server to a change of an object that has changed meanwhile.
func conflict() error {
	return apierrors.NewConflict(schema.GroupResource{Group: "apps", Resource: "deployments"}, "web", nil)
}

// stored returns the Deployment web.
func stored(t *testing.T, b *bench) *appsv1.Deployment {
	t.Helper()
	var deployment appsv1.Deployment
	if err := b.kube.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, &deployment); err != nil {
		t.Fatal(err)
	}
	return &deployment
}

// meanwhile has the first patches of a Deployment fail, each after the Deployment has changed.
func meanwhile(times int, changes func(*appsv1.Deployment)) interceptor.Funcs {
	return interceptor.Funcs{Patch: func(
		ctx context.Context, kube client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption,
	) error {
		if times--; times >= 0 {
			var deployment appsv1.Deployment
			if err := kube.Get(ctx, client.ObjectKeyFromObject(object), &deployment); err != nil {
				return err
			}
			changes(&deployment)
			if err := kube.Update(ctx, &deployment); err != nil {
				return err
			}
		}
		return kube.Patch(ctx, object, patch, options...)
	}}
}

func TestAChangeOfTheStatusMeanwhileStopsNoVerb(t *testing.T) {
	g := NewWithT(t)
	b := rollbackBench(t, meanwhile(4, func(deployment *appsv1.Deployment) { deployment.Status.ReadyReplicas++ }))
	g.Expect(b.run("rollback", "web", "-y").expects(g, command.OK)).To(HavePrefix("asked the operator"))
	g.Expect(requested(t, b)).To(Equal(version("a1")))
}

func TestAChangeOfWhatWasShownStopsAVerb(t *testing.T) {
	for name, changes := range map[string]func(*appsv1.Deployment){
		"the spec": func(deployment *appsv1.Deployment) { deployment.Generation++ },
		"the release": func(deployment *appsv1.Deployment) {
			deployment.Annotations["altershield.defense.antgroup.com/release"] = "8"
		},
		"the hold": func(deployment *appsv1.Deployment) {
			deployment.Annotations["altershield.defense.antgroup.com/held"] = "7"
		},
	} {
		b := rollbackBench(t, meanwhile(1, changes))
		answer := b.run("rollback", "web", "-y")
		NewWithT(t).Expect(answer.code).To(Equal(command.Failed), name)
		NewWithT(t).Expect(answer.err).To(ContainSubstring("deployment/web has changed since it was read, so nothing was changed: try again"), name)
		NewWithT(t).Expect(requested(t, b)).To(BeEmpty(), name)
	}
}

func TestAVerbShowsTheDenialOfAWebhookThatAnswersAsAConflict(t *testing.T) {
	tried := 0
	b := rollbackBench(t, interceptor.Funcs{Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
		tried++
		return &apierrors.StatusError{ErrStatus: metav1.Status{Code: 409, Reason: "Conflict", Message: `admission webhook "owners.example.com" denied the request: no owner`}}
	}})
	answer := b.run("rollback", "web", "-y")
	NewWithT(t).Expect(answer.code).To(Equal(command.Failed))
	NewWithT(t).Expect(answer.err).To(Equal("error: changing deployment/web in namespace shop: admission webhook \"owners.example.com\" denied the request: no owner\n"))
	NewWithT(t).Expect(tried).To(Equal(1))
}

func TestAnErrorDoesNotSteerTheTerminal(t *testing.T) {
	b := rollbackBench(t, interceptor.Funcs{Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Code: 403, Message: "admission webhook \"x\" denied the request: frozen: \x1b]0;owned\aINC\u202e-99\nuntil\ttomorrow"}}
	}})
	answer := b.run("rollback", "web", "-y")
	NewWithT(t).Expect(answer.err).To(HaveSuffix("denied the request: frozen: ]0;ownedINC-99\nuntil tomorrow\n"))
}

func TestAVerbGivesUpAfterFiveConflicts(t *testing.T) {
	tried := 0
	b := rollbackBench(t, interceptor.Funcs{Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
		tried++
		return conflict()
	}})
	NewWithT(t).Expect(b.run("rollback", "web", "-y").err).To(ContainSubstring("try again"))
	NewWithT(t).Expect(tried).To(Equal(5))
	NewWithT(t).Expect(b.run("rollback", "web", "--dry-run=server").code).To(Equal(command.Failed), "nothing denied it")
}

func TestAVerbWhoseWorkloadCanNotBeReadAgainReturnsTheError(t *testing.T) {
	b := rollbackBench(t, interceptor.Funcs{
		Patch: func(ctx context.Context, kube client.WithWatch, object client.Object, _ client.Patch, _ ...client.PatchOption) error {
			if err := kube.Delete(ctx, &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"namespace": object.GetNamespace(), "name": object.GetName()},
			}}); err != nil {
				return err
			}
			return conflict()
		},
	})
	NewWithT(t).Expect(b.run("rollback", "web", "-y").err).To(ContainSubstring("reading deployment/web in namespace shop"))
}

func TestAServerSideDryRunThatIsDeniedExitsWith4(t *testing.T) {
	for dryRun, code := range map[string]command.Code{"server": command.Denied, "none": command.Failed} {
		b := rollbackBench(t, interceptor.Funcs{Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return denied()
		}})
		answer := b.run("rollback", "web", "-y", "--dry-run", dryRun)
		NewWithT(t).Expect(answer.code).To(Equal(code), dryRun)
		NewWithT(t).Expect(answer.err).To(ContainSubstring(denial), dryRun)
	}
}

func TestWarningsOfTheServerFollowAWrite(t *testing.T) {
	g := NewWithT(t)
	var b *bench
	b = rollbackBench(t, interceptor.Funcs{Patch: func(ctx context.Context, _ client.WithWatch, _ client.Object, _ client.Patch, _ ...client.PatchOption) error {
		b.config.WarningHandlerWithContext.HandleWarningHeaderWithContext(ctx, 299, "-", "it has no effect")
		return nil
	}})
	g.Expect(b.run("rollback", "web", "-y").expects(g, command.OK)).To(HavePrefix("  warning   it has no effect\nasked the operator"))
}

// silence is a user who never answers, and leaves by Ctrl-C.
type silence struct{ interrupt context.CancelFunc }

func (s silence) Read([]byte) (int, error) {
	s.interrupt()
	select {}
}

func TestAnInterruptEndsACommandThatWaitsForItsInput(t *testing.T) {
	for _, args := range [][]string{{"rollback", "web"}, {"diff", "web", "--full"}, {"why", "-f", "-"}} {
		ctx, cancel := context.WithCancel(t.Context())
		b := rollbackBench(t, interceptor.Funcs{})
		b.stdin = silence{cancel}
		NewWithT(t).Expect(b.runIn(ctx, args...).code).To(Equal(command.Interrupted), args[0])
		NewWithT(t).Expect(requested(t, b)).To(BeEmpty(), args[0])
	}
}
