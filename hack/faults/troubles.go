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

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"gomodules.xyz/jsonpatch/v2"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/faults/proxy"
	"github.com/traas-stack/altershield-operator/hack/faults/state"
	"github.com/traas-stack/altershield-operator/hack/lab"
)

// trouble is a failure at one moment of a scenario. It tempts the operator to take an irreversible step: the workload has
// to stay unchanged.
type trouble struct {
	name   string
	strike step
}

const (
	// beyond is how long a trouble lasts after the pods of a release that doesn't start would be late.
	beyond = 2 * time.Second
	// outage is the minimum time without an API server: much longer than the longest backoff of a client.
	outage = 10 * time.Second
)

// moment is when the trouble of a plan strikes, if it has one.
func moment(ctx context.Context, s *stage) error {
	if s.trouble == nil {
		return nil
	}
	before, err := s.deployment(ctx)
	if err != nil {
		return err
	}
	if err := s.findLate(ctx); err != nil {
		return err
	}
	if err := s.trouble.strike(ctx, s); err != nil {
		return fmt.Errorf("injecting %s: %w", s.trouble.name, err)
	}
	s.struck = true
	after, err := s.deployment(ctx)
	if err != nil {
		return err
	}
	if changes := state.NewReference(before).Differences(after); len(changes) > 0 {
		return fmt.Errorf("%s changed the Deployment:\n        %s", s.trouble.name, strings.Join(changes, "\n        "))
	}
	return nil
}

// deployment returns the content of the Deployment, with times: a suspension that was lifted and set again counts as a change.
func (s *stage) deployment(ctx context.Context) (state.State, error) {
	found := state.State{}
	err := until(ctx, "a look at the Deployment", func(ctx context.Context) error {
		object, err := s.Object(ctx, appsv1.SchemeGroupVersion.WithKind("Deployment"), s.namespace, workloadName)
		if err != nil {
			return err
		}
		found.Add("Deployment", pick(object.Object, []string{"metadata.labels", "metadata.annotations", "spec"}), state.Masks{})
		return nil
	})
	return found, err
}

// stalePods starts the pods while the manager doesn't see it, until they would be late.
func stalePods(ctx context.Context, s *stage) error {
	s.api.Disturb(proxy.Disturbance{View: proxy.Stale, Resources: []string{"pods"}, For: patience, Times: 1})
	defer s.api.Disturb(proxy.Disturbance{})
	return errors.Join(runPods(ctx, s), lab.Pause(ctx, time.Until(s.late)))
}

// apiServerAway stops the API server until pods would be late, and starts them a moment after it is back.
func apiServerAway(ctx context.Context, s *stage) error {
	if err := s.StopAPIServer(ctx); err != nil {
		return err
	}
	return errors.Join(lab.Pause(ctx, max(outage, time.Until(s.late))), s.StartAPIServer(ctx), runPodsSoon(ctx, s))
}

// managerAway stops the manager until pods would be late, and starts them a moment after it is back.
func managerAway(ctx context.Context, s *stage) error {
	return errors.Join(s.keeper.away(ctx, func(ctx context.Context) error { return lab.Pause(ctx, time.Until(s.late)) }), runPodsSoon(ctx, s))
}

// runPodsSoon gives the manager some time before the pods start, and some after that.
func runPodsSoon(ctx context.Context, s *stage) error {
	return errors.Join(lab.Pause(ctx, quiet), runPods(ctx, s), lab.Pause(ctx, quiet))
}

// pastOf starts a new manager that sees some resources as they were at the remembered revision, and all others as they are.
func pastOf(resources ...string) step {
	return func(ctx context.Context, s *stage) error {
		defer s.api.Disturb(proxy.Disturbance{})
		if err := s.keeper.away(ctx, func(context.Context) error {
			s.api.Disturb(proxy.Disturbance{View: proxy.Past, Resources: resources, Revision: s.revision, For: patience, Times: 1000})
			return nil
		}); err != nil {
			return err
		}
		return lab.Pause(ctx, quiet)
	}
}

// unawareClient replaces the Deployment by the content of its file. The webhook completes it, so that nothing changes.
func unawareClient(ctx context.Context, s *stage) error { return s.replace(ctx, nil) }

// askToGoBack requests a rollback; an unaware client does so with its file.
func askToGoBack(ctx context.Context, s *stage) error {
	if s.trouble == nil {
		return requestRollback(ctx, s)
	}
	return s.replace(ctx, map[string]string{appv1alpha1.AnnotationRollback: "true"})
}

// replace replaces the Deployment like kubectl replace, with more annotations, and without that of the template that the webhook adds.
func (s *stage) replace(ctx context.Context, annotations map[string]string) error {
	return s.write(ctx, "an object without what the webhook adds", func(ctx context.Context) error {
		deployment := &appsv1.Deployment{}
		if err := s.Kube.Get(ctx, s.key(workloadName), deployment); err != nil {
			return err
		}
		maps.Copy(deployment.Annotations, annotations)
		delete(deployment.Spec.Template.Annotations, injectedAnnotation)
		return s.Kube.Update(ctx, deployment)
	})
}

// remember stores the current revision of the API server.
func remember(ctx context.Context, s *stage) error {
	var list appv1alpha1.ChangePodList
	if err := s.Kube.List(ctx, &list, client.Limit(1)); err != nil {
		return fmt.Errorf("reading the revision of the API server: %w", err)
	}
	s.revision = list.ResourceVersion
	return nil
}

// findLate finds the time at which pods that don't run are certainly late.
func (s *stage) findLate(ctx context.Context) error {
	pods, err := s.idle(ctx, corev1.PodPending)
	for i := range pods {
		if late := pods[i].CreationTimestamp.Add(stuckLate + beyond); late.After(s.late) {
			s.late = late
		}
	}
	return err
}

const (
	// injectLabel marks the Deployments whose templates get injectedAnnotation.
	injectLabel        = "faults.altershield.io/inject"
	injectedAnnotation = "injected"
	// injectorName sorts behind that of the operator's webhook, which is then called again.
	injectorName = "zz-injector"
)

// createInjected creates a Deployment whose template the webhook completes, which is its first release.
func createInjected(ctx context.Context, s *stage) error {
	return s.createWith(ctx, map[string]string{injectLabel: "true"}, nil)
}

// inject installs a mutating webhook as platforms use them, and waits until it is called.
func (g *group) inject(ctx context.Context) error {
	address, err := lab.ServeHTTP(ctx, &admission.Webhook{Handler: admission.HandlerFunc(injector)}, lab.AnyPort, g.dir)
	if err != nil {
		return err
	}
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: injectorName},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name:                    "injector.faults.altershield.io",
			ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: ptr.To("https://" + address), CABundle: g.authority},
			ObjectSelector:          &metav1.LabelSelector{MatchLabels: map[string]string{injectLabel: "true"}},
			SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNone),
			ReinvocationPolicy:      ptr.To(admissionregistrationv1.IfNeededReinvocationPolicy),
			AdmissionReviewVersions: []string{"v1"},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}},
			}},
		}},
	}
	if err := g.Kube.Create(ctx, configuration); err != nil {
		return fmt.Errorf("installing the webhook %s: %w", injectorName, err)
	}
	return until(ctx, "an answer of the webhook "+injectorName, func(ctx context.Context) error {
		probe := lab.Deployment(metav1.NamespaceDefault, workloadName, 0)
		probe.Labels[injectLabel] = "true"
		if err := g.Kube.Create(ctx, probe, client.DryRunAll); err != nil {
			return err
		}
		return expect(probe.Spec.Template.Annotations[injectedAnnotation] != "", "it isn't called")
	})
}

// injector is the webhook: it adds its annotation to a pod template without it.
func injector(_ context.Context, request admission.Request) admission.Response {
	var deployment appsv1.Deployment
	if err := json.Unmarshal(request.Object.Raw, &deployment); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	const at = "/spec/template/metadata/annotations"
	switch annotations := deployment.Spec.Template.Annotations; {
	case annotations == nil:
		return admission.Patched("", jsonpatch.NewOperation("add", at, map[string]string{injectedAnnotation: "true"}))
	case annotations[injectedAnnotation] == "":
		return admission.Patched("", jsonpatch.NewOperation("add", at+"/"+injectedAnnotation, "true"))
	}
	return admission.Allowed("")
}
