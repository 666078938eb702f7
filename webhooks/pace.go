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

package webhooks

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/pace"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Fills the cache with the ReleaseGates, which the webhooks of every replica read, and looks for one that the cache doesn't show.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=releasegates,verbs=list;watch

// paces decides which releases are rolled out in steps.
type paces struct {
	kind     workload.Kind
	policies pace.Reader
	// cache holds the ReleaseGates.
	cache client.Reader
	past  *past
}

func newPaces(options Options, past *past) *paces {
	policies := pace.Reader{Namespaces: options.Reader, Policies: options.Reader, Namespace: options.Namespace}
	return &paces{policies: policies, cache: options.Reader, past: past}
}

// of returns the paces of workloads of one kind.
func (p paces) of(kind workload.Kind) *paces {
	p.kind, p.past = kind, p.past.of(kind)
	return &p
}

// pacing is how a release is rolled out in steps.
type pacing struct {
	policy  *appv1alpha1.ReleasePolicy
	lever   appv1alpha1.Lever
	traffic appv1alpha1.Traffic
	// gate is the gate of the pods, empty for none. gatedFrom is the first ordinal of those that the workload gains later, nil if there is none.
	gate      string
	gatedFrom *int32
	// isNew reports whether the workload is new.
	isNew bool
	// rests reports whether its rollout is paused until the first step begins.
	rests    bool
	warnings []string
}

// decide returns how a release of a workload is rolled out in steps. It is nil, with a warning if there is a policy, if it isn't. old is
// nil for a new workload.
func (p *paces) decide(ctx context.Context, phrase string, old *marks, updated marks, verified bool) (paced *pacing, warnings []string, err error) {
	policy, err := p.policies.Of(ctx, p.kind, updated.object)
	if err != nil || policy == nil || len(policy.Spec.Steps) == 0 {
		return nil, nil, err
	}
	if old == nil && policy.Spec.Traffic != appv1alpha1.TrafficBefore {
		return nil, nil, nil // there are no earlier pods to protect
	}
	not := func(why string) (*pacing, []string, error) {
		return nil, []string{phrase + " is not paced: " + why}, nil
	}
	if verified {
		return not("its version was verified before")
	}
	typed, err := typedOf(p.kind, updated.object)
	if err != nil {
		return nil, nil, err
	}
	rollout := p.kind.Rollout(typed)
	lever, why := updated.lever(old, rollout)
	if why != "" {
		return not(why)
	}
	gateless, err := p.gateless(ctx, policy, updated.object.GetNamespace())
	if err != nil {
		return nil, nil, err
	}
	if lever == appv1alpha1.LeverGates && gateless != "" {
		return not(gateless)
	}
	paced = &pacing{policy: policy, lever: lever, traffic: appv1alpha1.TrafficWith, isNew: old == nil}
	if ordinals, numbered := workload.OrdinalsOf(p.kind, typed); numbered && gateless == "" {
		paced.gatedFrom = ptr.To(ordinals.End())
	}
	paced.setGate(phrase, gateless)
	if missing := paced.missing(p.kind, updated.object, rollout.Desired); missing > 0 {
		paced.warnings = append(paced.warnings, fmt.Sprintf(
			"while a step waits, %d of %d pods of %s may be missing: the capacity of ReleasePolicy %s is AsDeclared", missing, rollout.Desired, phrase, paced.name()))
	}
	return paced, nil, nil
}

// present returns how the present release is rolled out in steps, nil if it isn't.
func (p *paces) present(ctx context.Context, of marks) (*pacing, error) {
	mark := appv1alpha1.PacedOf(of.annotations, of.release().Number)
	if mark == nil {
		return nil, nil
	}
	policy, err := p.policies.Of(ctx, p.kind, of.object)
	if err != nil || policy == nil || len(policy.Spec.Steps) == 0 {
		return nil, err
	}
	return &pacing{policy: policy, lever: mark.Lever, isNew: mark.New}, nil
}

// setGate sets the gate of the pods. gateless is why they get none, empty if they do.
func (p *pacing) setGate(phrase, gateless string) {
	switch before := p.policy.Spec.Traffic == appv1alpha1.TrafficBefore; {
	case before && gateless == "":
		p.gate, p.traffic = appv1alpha1.GateReady, appv1alpha1.TrafficBefore
	case before:
		p.warnings = append(p.warnings, fmt.Sprintf("the pods of %s get traffic before they are checked: %s", phrase, gateless))
	case p.lever == appv1alpha1.LeverGates || p.gatedFrom != nil:
		p.gate = appv1alpha1.GateStart
	}
}

// setRest has the rollout paused until the first step begins, if the gates of the pods keep them from traffic only. obstacle is why a pause
// doesn't keep them from starting, empty if it does.
func (p *pacing) setRest(phrase, obstacle string) {
	if p.lever != appv1alpha1.LeverGates || p.gate != appv1alpha1.GateReady {
		return
	}
	if p.rests = obstacle == ""; !p.rests {
		p.warnings = append(p.warnings, fmt.Sprintf("the pods of %s start, without traffic, before its first step: %s", phrase, obstacle))
	}
}

// lever returns what can hold back the pods of a release, or why nothing can. old is nil for a new workload.
func (m marks) lever(old *marks, rollout decide.Rollout) (lever appv1alpha1.Lever, why string) {
	lever = workload.LeverOf(m.kind)
	switch {
	case lever == "" || rollout.Recreate:
		return "", "nothing can hold back its pods"
	case lever == appv1alpha1.LeverGates:
		return lever, ""
	case old == nil:
		return "", "the pods of a new " + workload.Noun(m.kind) + " come at once"
	case m.isPausedByUser(*old) && !m.mayLet(lever):
		return "", "its pods are replaced only when they are deleted"
	}
	return lever, ""
}

// mayLet reports whether a lever lets the controller of a paused workload replace pods.
func (m marks) mayLet(lever appv1alpha1.Lever) bool {
	partitioned, ok := m.kind.(workload.Partitioned)
	return ok && lever == appv1alpha1.LeverPartition && len(partitioned.Let(m.object, 1, "")) > 0
}

// gateless returns why new pods of a namespace get no gates, empty if they do.
func (p *paces) gateless(ctx context.Context, policy *appv1alpha1.ReleasePolicy, namespace string) (string, error) {
	switch gated, err := p.gated(ctx, policy); {
	case err != nil:
		return "", err
	case gated == nil:
		return "ReleasePolicy " + policy.Namespace + "/" + policy.Name + " is not ready yet", nil
	case gated.Status != metav1.ConditionTrue:
		return "no gates are installed", nil
	}
	switch gate, err := releaseGateOf(ctx, p.cache, p.past.live, namespace); {
	case err != nil:
		return "", err
	case gate == nil:
		return "namespace " + namespace + " has no ReleaseGate yet", nil
	}
	return "", nil
}

// gated returns the condition Gated of a policy, nil if it has none yet. It asks the API server where the cache doesn't show one.
func (p *paces) gated(ctx context.Context, policy *appv1alpha1.ReleasePolicy) (*metav1.Condition, error) {
	if gated := meta.FindStatusCondition(policy.Status.Conditions, appv1alpha1.ConditionGated); gated != nil {
		return gated, nil
	}
	var live appv1alpha1.ReleasePolicyList
	if err := p.past.live.List(ctx, &live, client.InNamespace(policy.Namespace)); err != nil {
		return nil, fmt.Errorf("listing the ReleasePolicies of namespace %s on the API server: %w", policy.Namespace, err)
	}
	at := slices.IndexFunc(live.Items, func(found appv1alpha1.ReleasePolicy) bool { return found.UID == policy.UID })
	if at < 0 {
		return nil, nil
	}
	return meta.FindStatusCondition(live.Items[at].Status.Conditions, appv1alpha1.ConditionGated), nil
}

// typedOf returns an untyped workload as the kind reads it.
func typedOf(kind workload.Kind, object client.Object) (client.Object, error) {
	typed := kind.New()
	untyped, ok := object.(*unstructured.Unstructured)
	if _, isUntyped := typed.(*unstructured.Unstructured); isUntyped || !ok {
		return object, nil
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(untyped.Object, typed); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", workload.Phrase(kind, object.GetName()), err)
	}
	return typed, nil
}

// name returns the name of the policy, as <namespace>/<name>.
func (p *pacing) name() string { return p.policy.Namespace + "/" + p.policy.Name }

// steps describes the steps to users. The first release of a new workload has one.
func (p *pacing) steps() string {
	if p.isNew || len(p.policy.Spec.Steps) == 1 {
		return fmt.Sprintf("ReleasePolicy %s rolls it out in 1 step", p.name())
	}
	return fmt.Sprintf("ReleasePolicy %s rolls it out in %d steps", p.name(), len(p.policy.Spec.Steps))
}

// approvals describes the approvals that the steps need to users; empty if they need none.
func (p *pacing) approvals() string {
	var needed []string
	for i, step := range p.policy.Spec.Steps {
		if step.Approvals > 0 && !p.isNew {
			needed = append(needed, fmt.Sprintf("%d for step %d", step.Approvals, i+1))
		}
	}
	if len(needed) == 0 {
		return ""
	}
	return fmt.Sprintf("ReleasePolicy %s asks for approvals: %s", p.name(), strings.Join(needed, ", "))
}

// pins reports whether the strategy of the workload takes no pod away during the release. A new workload has no earlier pods.
func (p *pacing) pins() bool {
	return p.lever == appv1alpha1.LeverGates && p.policy.Spec.Capacity != appv1alpha1.CapacityAsDeclared && !p.isNew
}

// missing returns how many pods the strategy of a workload may take away while a step waits.
func (p *pacing) missing(kind workload.Kind, object client.Object, desired int32) int {
	pinned, ok := kind.(workload.Pinned)
	if !ok || p.lever != appv1alpha1.LeverGates || p.pins() || p.isNew {
		return 0
	}
	return pinned.Missing(object, desired)
}

// pace marks a release that is rolled out in steps. Its pods get their gate, and its rollout is paused in the same write where gates alone
// don't keep them from starting before their step.
func (m *marks) pace(paced *pacing, release int64) error {
	if paced == nil {
		return nil
	}
	m.setGate(paced.gate)
	mark := appv1alpha1.Paced{Release: release, Policy: paced.name(), Lever: paced.lever, Traffic: paced.traffic, New: paced.isNew,
		GatedFrom: paced.gatedFrom}
	if pinned, ok := m.kind.(workload.Pinned); ok && paced.pins() {
		change, originals := pinned.Pin(m.object)
		m.steer, mark.From = slices.Concat(m.steer, change), fromOf(originals)
	}
	switch pauser, ok := m.kind.(workload.Pauser); {
	case ok && paced.lever != appv1alpha1.LeverGates:
		m.paused, mark.From = true, fromOf(m.originalsOf(pauser))
	case ok && paced.rests:
		mark.Rests = m.rest(pauser)
	}
	return m.write(appv1alpha1.AnnotationPaced, mark)
}

// rest pauses the rollout, and reports whether the pause is the operator's: that of a user stays one.
func (m *marks) rest(pauser workload.Pauser) bool {
	if !m.paused {
		m.pause(pauser)
		return true
	}
	return m.isHeld()
}

// fromOf returns originals as a mark has them, nil for none.
func fromOf(originals string) json.RawMessage {
	if originals == "" {
		return nil
	}
	return json.RawMessage(originals)
}
