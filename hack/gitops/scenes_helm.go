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
	"slices"
	"strings"
)

// Flags of Helm. It applies at the server unless it is told otherwise.
const (
	atClient = "--server-side=false"
	force    = "--force-conflicts"
	wait     = "--wait"
	goBack   = "--rollback-on-failure"
	brief    = "--timeout=20s"
	lasting  = "--timeout=4m"
)

// ofHelm returns the scenes of Helm alone.
func ofHelm() []scene {
	suspended, quarantined := "deployment NAME is suspended", "deployment NAME refuses version"
	return []scene{
		{name: "client-repaired-deployment", manifest: deployment, flags: []string{atClient}, steps: repaired(image, suspended)},
		{name: "client-repaired-cluster", manifest: clusters, flags: []string{atClient}, steps: repaired(kubeVersion, "kubernetescluster NAME is suspended")},
		{name: "client-resumed-deployment", manifest: deployment, flags: []string{atClient}, steps: resumed()},
		{name: "client-resumed-statefulset", manifest: statefulSet, flags: []string{atClient}, steps: resumed()},
		{name: "client-stuck-deployment", manifest: deployment, flags: []string{atClient}, steps: stuckWithImage(quarantined)},
		{name: "client-frozen-deployment", manifest: deployment, flags: []string{atClient}, steps: parked()},
		{name: "stated-deployment", manifest: deployment, steps: stated(".spec.paused")},
		{name: "stated-statefulset", manifest: statefulSet, steps: stated(".spec.updateStrategy.rollingUpdate.partition")},
		{name: "forced-deployment", manifest: deployment, flags: []string{force}, steps: resumed()},
		{name: "conflicting", manifest: deployment, steps: conflicting(quarantined)},
		{name: "left-out", manifest: deployment, steps: leftOutOfChart(quarantined)},
		{name: "waits-frozen", manifest: plainDeployment, steps: waitsFrozen()},
		{name: "waits-stuck", manifest: plainDeployment, steps: waitsStuck()},
		{name: "waits-paced", manifest: plainDeployment, steps: waitsPaced()},
		{name: "waits-before", manifest: plainDeployment, steps: waitsBefore()},
		{name: "waits-frozen-statefulset", manifest: plainStatefulSet, steps: waitsFrozen()},
		{name: "waits-killed", manifest: plainDeployment, steps: waitsKilled()},
		{name: "goes-back-held", manifest: plainDeployment, steps: goesBackHeld()},
		{name: "goes-back-suspended", manifest: plainDeployment, steps: goesBackSuspended()},
		{name: "goes-back-paced", manifest: plainDeployment, steps: goesBackPaced()},
		{name: "goes-back-stuck", manifest: plainDeployment, steps: goesBackStuck()},
		{name: "goes-back-quarantined", manifest: plainDeployment, steps: goesBackQuarantined()},
	}
}

// A release whose pods don't start, and one that repairs it.
const (
	cantStart  = `{"spec":{"template":{"metadata":{"labels":{"local.altershield.io/start":"never"}},` + containers + `"image":"app:2"}]}}}}`
	canStart   = `{"spec":{"template":{"metadata":{"labels":{"local.altershield.io/start":null}},` + containers + `"image":"app:3"}]}}}}`
	containers = `"spec":{"containers":[{"name":"app","env":[{"name":"MODE","value":"fast"}],`
)

// with gives the commands of Helm from now on these flags.
func with(flags ...string) step {
	return func(a *app, _ context.Context) error {
		if c, isChart := a.tool.(*chart); isChart {
			c.flags = slices.Concat(a.flags, flags)
		}
		a.tell("user", "uses %v", flags)
		return nil
	}
}

// kill kills Helm.
func kill(a *app, ctx context.Context) error {
	c := a.tool.(*chart)
	c.newest.cancel()
	a.tell("user", "kills Helm")
	return c.settle(ctx)
}

// stated is the course of a bad release where the chart states the field that holds the rollout.
func stated(field string) []step {
	conflict := `conflict with "altershield-operator" using apps/v1: ` + field
	return []step{
		bad, commit("a bad release", slow), applied, release(2, suspend, ""), young(1, 2), again, fails(conflict), still, young(1, 2),
		revert(1), fails(conflict), still,
		with(force), revert(2), applied, release(3, success, "AllPodsPassed"), like, with(), again, applied, still,
	}
}

// conflicting is the course of a release that can't start, and changes a field that the rollback changes back.
func conflicting(refusal string) []step {
	const conflict = `conflict with "altershield-operator"`
	return []step{
		commit("a release that can't start", cantStart), applied, release(3, success, "AllPodsPassed"), again, fails(conflict), still,
		commit("a repair", canStart), fails(conflict), still,
		with(force), commit("the same", cantStart), refused(refusal), still,
		commit("a repair again", canStart), applied, release(4, success, "AllPodsPassed"), like, still,
		with(), again, applied, still,
	}
}

// stuckWithImage is the course of a release that can't start, whose repeat is denied, and which is repaired.
func stuckWithImage(refusal string) []step {
	return []step{
		commit("a release that can't start", cantStart), applied, release(3, success, "AllPodsPassed"), again, refused(refusal), still,
		commit("a repair", canStart), applied, release(4, success, "AllPodsPassed"), like, still,
	}
}

// leftOutOfChart is that of one whose manifest also left something out. It is rolled back twice before it is quarantined.
func leftOutOfChart(refusal string) []step {
	return []step{
		commit("a release that can't start, without env", cantStartWithoutEnv),
		applied, release(3, success, "AllPodsPassed"), again, applied, release(5, success, "AllPodsPassed"), again, refused(refusal), still,
		commit("a repair", canStartWithoutEnv),
		applied, release(6, success, "AllPodsPassed"), kept, still,
	}
}

// waitsFrozen is the course of a release during a freeze. Helm leaves out Deployments that are paused when it has applied them.
func waitsFrozen() []step {
	return []step{
		create(freeze), ready(freeze, "Active"), with(goBack, brief), commit("a release during a freeze", "{"+image(2)+"}"), applied, release(2, running, "Frozen"), young(0, 0), still,
		young(0, 0), remove(freeze), release(2, success, "AllPodsPassed"), like, still,
	}
}

// waitsStuck is that of a release that can't start while Helm waits: the workload is ready again after the rollback by the operator.
func waitsStuck() []step {
	return []step{
		with(wait, lasting), commit("a release that can't start", cantStart), applied, release(3, success, "AllPodsPassed"), with(), again, fails("conflict"), still,
	}
}

// waitsPaced is that of a release in steps for whose end Helm waits.
func waitsPaced() []step {
	return []step{
		create(policy), ready(policy, "Ready"), with(wait, lasting), commit("a release in steps", "{"+image(2)+"}"), release(2, running, "Paced"), awaiting,
		approve, applied, release(2, success, "AllPodsPassed"), like, still,
	}
}

// waitsKilled is that of one where Helm is killed while it waits.
func waitsKilled() []step {
	return []step{
		create(policy), ready(policy, "Ready"), with(wait, lasting), commit("a release in steps", "{"+image(2)+"}"), release(2, running, "Paced"), awaiting, kill, fails("pending-upgrade"),
		again, fails("another operation"), still, with(), revert(1), applied, release(3, success, "AllPodsPassed"), like, still,
	}
}

// waitsBefore is that of one whose rollout is paused at admission, so that Helm doesn't wait.
func waitsBefore() []step {
	before := strings.Replace(policy, "steps:", "traffic: Before, steps:", 1)
	return []step{
		create(before), ready(before, "Ready"), with(wait, lasting), commit("a release in steps", "{"+image(2)+"}"), applied, release(2, running, "Paced"), awaiting, still,
		approve, release(2, success, "AllPodsPassed"), like, still,
	}
}

// goesBackHeld is that of a release that fails at its first pod while Helm waits, which goes back itself when its time is over.
func goesBackHeld() []step {
	return []step{
		with(goBack, brief), bad, commit("a bad release", slow), release(2, suspend, ""), fails("has been rolled back due to rollback-on-failure"), release(3, success, "AllPodsPassed"),
	}
}

// goesBackSuspended is that of a denied release: Helm goes back to the one that failed, which changes nothing.
func goesBackSuspended() []step {
	return []step{
		with(goBack, lasting), commit("a bad release", "{"+image(2)+"}"), applied, release(2, success, "AllPodsPassed"), judged, release(2, suspend, ""),
		commit("another one", "{"+image(3)+"}"), fails("has been rolled back due to rollback-on-failure"), still,
		with(), commit("a repair with ignored-suspend", "{"+labelled+","+image(4)+"}"), applied, release(3, success, "AllPodsPassed"), like, still,
	}
}

// goesBackPaced is that of a release in steps that waits for longer than Helm does.
func goesBackPaced() []step {
	return []step{
		create(policy), ready(policy, "Ready"), with(goBack, brief), commit("a release in steps", "{"+image(2)+"}"), release(2, running, "Paced"), awaiting,
		fails("has been rolled back due to rollback-on-failure"), release(3, success, "AllPodsPassed"),
	}
}

// goesBackStuck is that of a release that can't start, from which Helm goes back before the operator does.
func goesBackStuck() []step {
	return []step{
		with(goBack, "--timeout=10s"), commit("a release that can't start", cantStart), fails("has been rolled back due to rollback-on-failure"), release(3, success, "AllPodsPassed"),
	}
}

// goesBackQuarantined is that of one from which the operator went back, while Helm takes it for its last good revision.
func goesBackQuarantined() []step {
	return []step{
		commit("a release that can't start", cantStart), applied, release(3, success, "AllPodsPassed"),
		with(goBack, force, lasting), again, fails("an error occurred while rolling back the release"),
		again, fails(""), with(force), commit("a repair", canStart), applied, release(4, success, "AllPodsPassed"), like, still,
	}
}
