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
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/traas-stack/altershield-operator/hack/lab"
)

const (
	// strategy is ignored, as a release in steps changes it.
	strategy = `{group: apps, kind: Deployment, jsonPointers: [/spec/strategy/rollingUpdate]}`
	// always is the recommended retry, with a shorter time.
	always = `{limit: -1, refresh: true, backoff: {duration: 3s, factor: 1}}`
)

// ofArgoCD returns all scenes of Argo CD, most of them twice: it applies on the client, as by default, and on the server.
func ofArgoCD() []scene {
	suspended, quarantined := "deployment NAME is suspended", "deployment NAME refuses version"
	twice := slices.Concat(common(plainDeployment, plainStatefulSet), []scene{
		{name: "resumed-statefulset", manifest: statefulSet, steps: resumed()},
		{name: "rolled-back", manifest: plainDeployment, steps: rolledBack(suspended, sync)},
		{name: "pruned", manifest: plainDeployment, steps: []step{bad, commit("a bad release", "{"+image(2)+"}"), applied, release(2, suspend, ""), pruned}},
	})
	all := []scene{
		{name: "retried", manifest: plainDeployment, retry: always, steps: retried()},
		{name: "retried-rolled-back", manifest: plainDeployment, retry: always, steps: rolledBack(suspended)},
		{name: "left-out", manifest: plainDeployment, steps: leftOutOnClient(quarantined)},
		{name: "server-left-out", manifest: plainDeployment, serverSide: true, steps: leftOut(quarantined)},
		{name: "unchecked-deployment", manifest: plainDeployment, steps: unchecked("Suspended")},
		{name: "unchecked-statefulset", manifest: plainStatefulSet, steps: unchecked("Healthy")},
		{name: "resumed-deployment", manifest: deployment, steps: resumed()},
		{name: "server-stated-deployment", manifest: deployment, serverSide: true, steps: statedInGit()},
		{name: "compared-on-server", manifest: plainDeployment, serverSide: true, serverSideDiff: true, steps: compared()},
	}
	for _, s := range twice {
		all = append(all, s)
		s.name, s.serverSide = "server-"+s.name, true
		all = append(all, s)
	}
	return all
}

// statedInGit is the course of a release that fails at its first pod where Git states paused: false. Argo CD sees no difference, but applies it with the next commit.
func statedInGit() []step {
	return []step{
		bad, commit("a bad release", slow), applied, release(2, suspend, ""), young(1, 2), still,
		commit("a change of the ConfigMap alone", "{}"), applied, young(3, 3), still,
		revert(2), applied, release(3, success, "AllPodsPassed"), still,
	}
}

// rolledBack is the course of a denied release after a rollback by hand, which ends the suspension: it is applied by itself, or has to be told.
func rolledBack(refusal string, told ...step) []step {
	steps := []step{
		bad, commit("a bad release", "{"+image(2)+"}"), applied, release(2, suspend, ""), commit("another one", "{"+image(3)+"}"), denied(refusal), rollBack,
	}
	if len(told) > 0 {
		steps = slices.Concat(steps, []step{release(3, success, ""), denied(refusal), still}, told)
	}
	return append(steps, release(4, success, "AllPodsPassed"), applied, still)
}

// retried is the course of a denied release that is tried again and again, and of its repair.
func retried() []step {
	return []step{
		bad, commit("a bad release", "{"+image(2)+"}"), applied, release(2, suspend, ""), commit("another one", "{"+image(3)+"}"), fails("Retrying attempt #3"), still,
		commit("a repair with ignored-suspend", "{"+labelled+","+image(4)+"}"), applied, release(3, success, "AllPodsPassed"), still,
	}
}

// leftOutOnClient is the course of one whose manifest also left something out: the rollback sets it, and the repair removes it again.
func leftOutOnClient(refusal string) []step {
	return []step{
		commit("a release that can't start, without env", cantStartWithoutEnv),
		denied(refusal), release(3, success, "AllPodsPassed"), still,
		commit("a repair", canStartWithoutEnv),
		applied, release(4, success, "AllPodsPassed"), like, still,
	}
}

// unchecked is the course of a release that fails at its first pod, with its health without the documented checks.
func unchecked(health string) []step {
	return []step{bad, commit("a bad release", slow), applied, release(2, suspend, ""), builtin(health)}
}

// compared is the course of a denied release where Argo CD also compares on the server.
func compared() []step {
	return []step{
		bad, commit("a bad release", slow), applied, release(2, suspend, ""), commit("another one", "{"+image(3)+"}"), hidden,
		revert(2), applied, release(3, success, "AllPodsPassed"), still,
	}
}

// builtin waits until Argo CD gives the workload this health without the documented checks.
func builtin(health string) step {
	return func(a *app, ctx context.Context) error {
		of := a.tool.(*application)
		return a.Awaits(ctx, "the health without the documented checks: "+health, func(ctx context.Context, now lab.Seen) error {
			err := of.assess(ctx, now.Unstructured, a.argoCD.bare, health)
			if err == nil {
				a.tell("argocd", "without the health checks: %s", health)
			}
			return err
		})
	}
}

// hidden waits until Argo CD takes the newest commit, which is denied, for synced: it keeps the comparison with the commit before.
func hidden(a *app, ctx context.Context) error {
	of := a.tool.(*application)
	return lab.Until(ctx, patience, "a denied commit that is shown as Synced", func(ctx context.Context) error {
		v, err := of.view(ctx)
		if err != nil {
			return err
		}
		if v.Sync.Status != "Synced" || v.Sync.Revision != of.head || v.OperationState.SyncResult.Revision == of.head {
			return fmt.Errorf("at %s it shows %s", v.Sync.Revision, v.says())
		}
		a.tell("argocd", "%s", v.says())
		return a.configured(ctx, false)
	})
}

// rollBack asks the operator for a rollback.
func rollBack(a *app, ctx context.Context) error {
	a.tell("user", "kubectl annotate ... rollback=true")
	return a.Patch(ctx, `{"metadata":{"annotations":{"altershield.defense.antgroup.com/rollback":"true"}}}`)
}

// sync asks Argo CD for a sync, as argocd app sync does.
func sync(a *app, ctx context.Context) error {
	a.tell("user", "argocd app sync")
	return a.lab.Patch(ctx, applicationKind(), argoSystem, a.name, `{"operation":{"initiatedBy":{"username":"admin"},"sync":{"prune":true}}}`)
}

// pruned removes the workload from Git, and waits until Argo CD has deleted it.
func pruned(a *app, ctx context.Context) error {
	of := a.tool.(*application)
	a.tell("user", "removes the workload")
	if err := errors.Join(of.run(ctx, "rm", "--quiet", "workload.yaml"), of.commit(ctx, "gone")); err != nil {
		return err
	}
	return lab.Until(ctx, patience, "no workload", func(ctx context.Context) error {
		_, err := a.Present(ctx)
		if apierrors.IsNotFound(err) {
			a.tell("argocd", "deletes it")
			return nil
		}
		return fmt.Errorf("it is still there: %w", err)
	})
}
