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
	"encoding/json"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/command"
)

func wentBack(reason string) func(*appsv1.Deployment) {
	text, _ := json.Marshal([]appv1alpha1.Rollback{{
		Version: version("49"), Release: 7, To: version("a1"), ToRelease: 8, Reason: appv1alpha1.RollbackReason(reason), Message: "ImagePullBackOff", Time: metav1.NewTime(now),
	}})
	return func(deployment *appsv1.Deployment) {
		deployment.Annotations["altershield.defense.antgroup.com/rollbacks"] = string(text)
	}
}

// unsuspended has a failed release suspend nothing.
func unsuspended(record *appv1alpha1.ChangeWorkload) *appv1alpha1.ChangeWorkload {
	record.Status.Conditions = append(record.Status.Conditions,
		metav1.Condition{Type: "Suspended", Status: "False", Reason: "BlockingDisabled", Message: "releases are not denied"})
	return record
}

func TestWaitEndsWithTheOutcomeOfTheRelease(t *testing.T) {
	unstamped := func(deployment *appsv1.Deployment) { deployment.Labels = nil }
	for _, row := range []struct {
		name   string
		object *appsv1.Deployment
		record *appv1alpha1.ChangeWorkload
		args   []string
		code   int
		says   string
	}{
		{"verified", web(7, "49"), verified(7, "49"), nil, 0, "release 7  ✔ Success  1✔ 1✖ of 4  verified\n"},
		{"suspended", web(7, "49", suspendedLabel), failed(7, "49"), nil, 10, "✖ Suspend  1✔ 1✖ of 4  suspended: because of it\n"},
		{"failed while blocking is off", web(7, "49"), unsuspended(failed(7, "49")), nil, 10, "✖ Suspend  1✔ 1✖ of 4  failed: because of it; releases are not denied\n"},
		{"rolled back by itself", web(8, "a1", wentBack("PodsNotRunning")), verified(8, "a1"), nil, 11, "release 7  ↩ RolledBack  rolled back: PodsNotRunning: ImagePullBackOff\n"},
		{"a rollback on request", web(8, "a1", wentBack("Requested")), verified(8, "a1"), nil, 0, "release 8  ✔ Success"},
		{"superseded", web(7, "49"), record(7, "49", "Running", "Unknown", "Superseded"), nil, 12, "○ Superseded  1✔ 1✖ of 4: because of it\n"},
		{"an earlier one", web(9, "bb"), record(7, "49", "Running", "Unknown", "Verifying"), []string{"--release=7"}, 12, "superseded by release 9"},
		{"an earlier one that went back, without a record", web(9, "bb", wentBack("PodsNotRunning")), verified(9, "bb"), []string{"--release=7"}, 11, "release 7  ↩ RolledBack"},
		{"refused by the server", web(7, "49"), record(7, "49", "Failed", "Unknown", "OrderRefused"), nil, 13, "not checked: because of it"},
		{"opted out", web(7, "49"), record(7, "49", "Running", "Unknown", "NamespaceOptedOut"), nil, 13, "not checked"},
		{"without change control", web(7, "49", unstamped), verified(7, "49"), []string{"--release=7"}, 0, "verified"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			answer := newBench(t, row.object, row.record).run(append([]string{"wait", "web"}, row.args...)...)
			g.Expect(int(answer.code)).To(Equal(row.code), answer.out+answer.err)
			g.Expect(answer.out).To(ContainSubstring(row.says))
			g.Expect(answer.err).To(BeEmpty())
		})
	}
}

func TestWaitOfAReleaseWithoutARecordTellsNoOutcome(t *testing.T) {
	unstamped := func(deployment *appsv1.Deployment) { deployment.Labels, deployment.Annotations = nil, nil }
	for name, objects := range map[string][]client.Object{
		"pruned":        {web(9, "bb"), verified(9, "bb")},
		"all deleted":   {web(9, "bb")},
		"only observed": {web(9, "bb", unstamped), observed(verified(9, "bb"))},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := newBench(t, objects...)
			b.tick(func(int) {})
			answer := b.run("wait", "web", "--release=7")
			g.Expect(answer.code).To(Equal(command.Failed), answer.out)
			g.Expect(answer.out).To(BeEmpty())
			g.Expect(answer.err).To(Equal("error: nothing tells how release 7 of deployment/web in namespace shop ended: it has no record, and the workload is " +
				"at a later one; kubectl altershield history deployment/web -n shop shows the releases that are known\n"))
		})
	}
}

func TestWaitOfAWorkloadThatIsNotUnderChangeControl(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, web(1, "49", func(deployment *appsv1.Deployment) { deployment.Labels = nil }))
	b.tick(func(int) {})
	answer := b.run("wait", "web")
	g.Expect(answer.code).To(Equal(command.NotChecked))
	g.Expect(answer.out).To(ContainSubstring("NotControlled"))
}

func TestWaitOfAWorkloadThatLeftChangeControl(t *testing.T) {
	shop := func(labels map[string]string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: labels}}
	}
	in, out := shop(map[string]string{"admission-webhook-altershield": "enabled"}), shop(nil)
	stateful := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "db", Labels: web(1, "d1").Labels, Annotations: web(1, "d1").Annotations,
	}}
	release := set("db")
	release.Status.Status, release.Status.Conditions = appv1alpha1.ChangeWorkloadSuccess, verified(1, "d1").Status.Conditions
	enforced := &appv1alpha1.ControlledKind{ObjectMeta: metav1.ObjectMeta{Name: "statefulsets.apps"}, Spec: appv1alpha1.ControlledKindSpec{Mode: "Enforce"}}
	deleted := enforced.DeepCopy()
	deleted.DeletionTimestamp, deleted.Finalizers = &metav1.Time{Time: now}, []string{"x"}
	const uncontrolled = "○ NotChecked  not checked: NotControlled\n"
	for name, row := range map[string]struct {
		objects []client.Object
		refused string
		args    []string
		code    command.Code
		says    string
	}{
		"opted out":                          {[]client.Object{out, web(7, "49"), verified(7, "49")}, "", []string{"web"}, command.NotChecked, uncontrolled},
		"opted out while suspended":          {[]client.Object{out, web(7, "49", suspendedLabel), failed(7, "49")}, "", []string{"web"}, command.NotChecked, uncontrolled},
		"opted out, and a release was named": {[]client.Object{out, web(7, "49"), verified(7, "49")}, "", []string{"web", "--release=7"}, command.OK, "verified"},
		"opted in":                           {[]client.Object{in, web(7, "49"), verified(7, "49")}, "", []string{"web"}, command.OK, "verified"},
		"no right to read the namespace":     {[]client.Object{out, web(7, "49"), verified(7, "49")}, "Namespace", []string{"web"}, command.OK, "verified"},
		"no right to read the workload":      {[]client.Object{out, verified(7, "49")}, "Deployment", []string{"web"}, command.NotChecked, uncontrolled},
		"no ControlledKind":                  {[]client.Object{in, stateful, release}, "", []string{"statefulset/db"}, command.NotChecked, uncontrolled},
		"a ControlledKind that is deleted":   {[]client.Object{in, stateful, release, deleted}, "", []string{"statefulset/db"}, command.NotChecked, uncontrolled},
		"a ControlledKind":                   {[]client.Object{in, stateful, release, enforced}, "", []string{"statefulset/db"}, command.OK, "verified"},
		"no right to read ControlledKinds":   {[]client.Object{in, stateful, release}, "ControlledKind", []string{"statefulset/db"}, command.OK, "verified"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := newBench(t, row.objects...)
			if row.refused != "" {
				b = newBenchWith(t, refuses(row.refused), row.objects...)
			}
			answer := b.run(append([]string{"wait"}, row.args...)...)
			g.Expect(answer.code).To(Equal(row.code), answer.out+answer.err)
			g.Expect(answer.out).To(ContainSubstring(row.says))
		})
	}
}

func TestWaitPrintsEachChangeOnce(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, web(7, "49"))
	b.tick(func(second int) {
		switch second {
		case 2:
			g.Expect(b.kube.Create(context.Background(), record(7, "49", "Running", "Unknown", "Verifying"))).To(Succeed())
		case 5:
			g.Expect(b.kube.Update(context.Background(), newer(b, verified(7, "49")))).To(Succeed())
		}
	})
	text := b.run("wait", "web").expects(g, command.OK)
	g.Expect(text).To(MatchRegexp(`^.* ◌ Pending\n.* ◌ Running  1✔ 1✖ of 4\n.* ✔ Success  1✔ 1✖ of 4  verified\n$`))
}

func TestWaitFollowsARollbackThatTheOperatorHasYetToMake(t *testing.T) {
	asked := func(deployment *appsv1.Deployment) {
		deployment.Annotations["altershield.defense.antgroup.com/rollback"] = "true"
	}
	for name, row := range map[string]struct {
		then *appsv1.Deployment
		code command.Code
		says string
	}{
		"made":    {web(8, "a1", wentBack("Requested")), command.OK, "release 8  ✔ Success"},
		"dropped": {web(7, "49", suspendedLabel), command.Suspended, "release 7  ✖ Suspend"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := newBench(t, web(7, "49", suspendedLabel, asked), failed(7, "49"), verified(8, "a1"))
			b.tick(func(second int) {
				if second == 3 {
					g.Expect(b.kube.Update(context.Background(), newer(b, row.then))).To(Succeed())
				}
			})
			answer := b.run("wait", "web")
			g.Expect(answer.code).To(Equal(row.code), answer.out+answer.err)
			g.Expect(answer.out).To(ContainSubstring(row.says))
		})
	}
}

func TestWaitEndsAtItsTimeout(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, web(7, "49"), record(7, "49", "Running", "Unknown", "Verifying"))
	b.tick(func(int) {})
	answer := b.run("wait", "web", "--timeout=5s")
	g.Expect(answer.code).To(Equal(command.Timeout))
	g.Expect(answer.err).To(Equal("error: not decided within 5s\n"))
	g.Expect(b.clock.Since(now)).To(BeNumerically("<", 30*time.Second))
}

func TestWaitForAWorkloadCountsTowardsTheTimeout(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t)
	b.tick(func(second int) {
		if second == 8 {
			g.Expect(b.kube.Create(context.Background(), web(7, "49"))).To(Succeed())
			g.Expect(b.kube.Create(context.Background(), record(7, "49", "Running", "Unknown", "Verifying"))).To(Succeed())
		}
	})
	answer := b.run("wait", "web", "--timeout=12s")
	g.Expect(answer.code).To(Equal(command.Timeout), answer.err)
	g.Expect(answer.err).To(Equal("error: not decided within 12s\n"))
	g.Expect(b.clock.Since(now)).To(BeNumerically("<=", 13*time.Second))
}

func TestWaitEndsWhereTheWorkloadIsDeleted(t *testing.T) {
	again := web(1, "a1")
	again.UID = "another-uid"
	for name, then := range map[string]*appsv1.Deployment{"for good": nil, "and created again": again} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := newBench(t, web(7, "49"), record(7, "49", "Running", "Unknown", "Verifying"))
			b.tick(func(second int) {
				if second == 3 {
					g.Expect(b.kube.Delete(context.Background(), web(7, "49"))).To(Succeed())
					g.Expect(b.kube.Delete(context.Background(), verified(7, "49"))).To(Succeed())
				}
				if second == 3 && then != nil {
					g.Expect(b.kube.Create(context.Background(), then)).To(Succeed())
				}
			})
			answer := b.run("wait", "web")
			g.Expect(answer.code).To(Equal(command.Failed), answer.err)
			g.Expect(answer.err).To(Equal("error: deployment/web in namespace shop was deleted, so that its release 7 doesn't end\n"))
		})
	}
}

func TestWaitIsInterrupted(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, web(7, "49"), record(7, "49", "Running", "Unknown", "Verifying"))
	ctx, cancel := context.WithCancel(t.Context())
	b.tick(func(second int) {
		if second == 2 {
			cancel()
		}
	})
	answer := b.runIn(ctx, "wait", "web")
	g.Expect(answer.code).To(Equal(command.Interrupted))
	g.Expect(answer.err).To(BeEmpty())
}

func TestWaitAsJSONPrintsTheOutcomeAlone(t *testing.T) {
	g := NewWithT(t)
	answer := newBench(t, web(7, "49"), failed(7, "49")).run("wait", "web", "-o", "json")
	g.Expect(answer.code).To(Equal(command.Suspended))
	g.Expect(answer.out).To(MatchJSON(answer.out))
	g.Expect(answer.out).To(ContainSubstring(`"kind": "ReleaseOutcome"`))
}

func TestWaitOutlastsAnAPIServerThatIsAwayForAMoment(t *testing.T) {
	g := NewWithT(t)
	away := map[int]error{2: apierrors.NewServiceUnavailable("away"), 3: errors.New("connection refused"), 4: apierrors.NewTooManyRequests("busy", 1)}
	calls := 0
	b := newBenchWith(t, interceptor.Funcs{Get: func(ctx context.Context, kube client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
		if object.GetObjectKind().GroupVersionKind().Kind == "Deployment" {
			if calls++; away[calls] != nil {
				return away[calls]
			}
		}
		return kube.Get(ctx, key, object, options...)
	}}, web(7, "49"), record(7, "49", "Running", "Unknown", "Verifying"))
	b.tick(func(second int) {
		if second == 5 {
			g.Expect(b.kube.Update(context.Background(), newer(b, verified(7, "49")))).To(Succeed())
		}
	})
	g.Expect(b.run("wait", "web").expects(g, command.OK)).To(HaveSuffix("verified\n"))
	g.Expect(calls).To(BeNumerically(">", 4))
}

func TestWaitEndsWhereReadingIsNotAllowedAnyMore(t *testing.T) {
	g := NewWithT(t)
	lists := 0
	b := newBenchWith(t, interceptor.Funcs{List: func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		if lists++; lists > 2 {
			return forbidden("list", "g", "changeworkloads")
		}
		return kube.List(ctx, list, options...)
	}}, web(7, "49"), record(7, "49", "Running", "Unknown", "Verifying"))
	b.tick(func(int) {})
	answer := b.run("wait", "web")
	g.Expect(answer.code).To(Equal(command.Failed))
	g.Expect(answer.err).To(ContainSubstring("you (bob) may not list changeworkloads.g"))
}

func observed(record *appv1alpha1.ChangeWorkload) *appv1alpha1.ChangeWorkload {
	record.Spec.Observed = true
	return record
}

func TestWaitOfAnObservedKindAwaitsTheRecordOfItsRelease(t *testing.T) {
	changed := func(deployment *appsv1.Deployment) {
		deployment.Labels, deployment.Annotations, deployment.Generation = nil, nil, 8
	}
	for name, row := range map[string]struct {
		before, then *appv1alpha1.ChangeWorkload
		args         []string
		code         command.Code
		says         string
	}{
		"it comes":          {observed(verified(7, "49")), observed(failed(8, "bb")), nil, command.Suspended, "release 8  ✖ Suspend"},
		"no release":        {observed(verified(7, "49")), nil, nil, command.OK, "release 7  ✔ Success"},
		"no release, soon":  {observed(verified(7, "49")), nil, []string{"--timeout=5s"}, command.OK, "release 7  ✔ Success"},
		"the first one":     {nil, observed(failed(8, "bb")), nil, command.Suspended, "release 8  ✖ Suspend"},
		"it is recorded":    {observed(verified(8, "49")), nil, []string{"--timeout=1s"}, command.OK, "release 8  ✔ Success"},
		"the one before it": {observed(verified(7, "49")), observed(failed(8, "bb")), []string{"--release=7"}, command.OK, "release 7  ✔ Success"},
		"enforced before":   {verified(7, "49"), observed(failed(8, "bb")), nil, command.OK, "release 7  ✔ Success"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			objects := []client.Object{web(0, "49", changed)}
			if row.before != nil {
				objects = append(objects, row.before)
			}
			b := newBench(t, objects...)
			b.tick(func(second int) {
				if second == 3 && row.then != nil {
					g.Expect(b.kube.Create(context.Background(), row.then)).To(Succeed())
				}
			})
			answer := b.run(append([]string{"wait", "web"}, row.args...)...)
			g.Expect(answer.code).To(Equal(row.code), answer.out+answer.err)
			g.Expect(answer.out).To(MatchRegexp("^.*" + row.says + ".*\n$"))
		})
	}
}

func TestWaitAwaitsTheFirstReleaseThatIsObserved(t *testing.T) {
	kind := func(mode string) *appv1alpha1.ControlledKind {
		return &appv1alpha1.ControlledKind{ObjectMeta: metav1.ObjectMeta{Name: "deployments.apps"}, Spec: appv1alpha1.ControlledKindSpec{Mode: appv1alpha1.ControlledKindMode(mode)}}
	}
	for name, row := range map[string]struct {
		mode        string
		then        *appv1alpha1.ChangeWorkload
		args        []string
		code        command.Code
		says        string
		takesAWhile bool
	}{
		"it comes":              {"Observe", observed(failed(8, "bb")), nil, command.Suspended, "release 8  ✖ Suspend", true},
		"no release":            {"Observe", nil, nil, command.OK, "release 7  ✔ Success", true},
		"another was asked for": {"Observe", observed(failed(8, "bb")), []string{"--release=7"}, command.OK, "release 7  ✔ Success", false},
		"it is enforced":        {"Enforce", nil, nil, command.OK, "release 7  ✔ Success", false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := newBench(t, web(7, "49"), verified(7, "49"), kind(row.mode))
			b.tick(func(second int) {
				if second == 3 && row.then != nil {
					g.Expect(b.kube.Create(context.Background(), row.then)).To(Succeed())
				}
			})
			answer := b.run(append([]string{"wait", "web"}, row.args...)...)
			takes := BeNumerically("<=", 2*time.Second)
			if row.takesAWhile {
				takes = BeNumerically(">", 2*time.Second)
			}
			g.Expect(answer.code).To(Equal(row.code), answer.out+answer.err)
			g.Expect(answer.out).To(MatchRegexp("^.*" + row.says + ".*\n$"))
			g.Expect(b.clock.Since(now)).To(takes)
		})
	}
}

func TestWaitAwaitsTheFirstRecordOfADeclaredKind(t *testing.T) {
	g := NewWithT(t)
	declared := func(phase string) *appv1alpha1.ChangeWorkload {
		created := set("ring")
		created.Labels = map[string]string{"altershield.defense.antgroup.com/workload": "clonesets.ring"}
		created.Spec.WorkloadRef.Kind, created.Spec.WorkloadRef.APIVersion = "CloneSet", "apps.kruise.io/v1alpha1"
		created.Status.Status, created.Status.Conditions = appv1alpha1.ChangeWorkloadPhase(phase), verified(1, "d1").Status.Conditions
		return created
	}
	kind := &appv1alpha1.ControlledKind{ObjectMeta: metav1.ObjectMeta{Name: "clonesets.apps.kruise.io"}, Spec: appv1alpha1.ControlledKindSpec{Mode: "Enforce"}}
	b := newBench(t, kind)
	b.tick(func(second int) {
		if second == 3 {
			g.Expect(b.kube.Create(context.Background(), declared("Success"))).To(Succeed())
		}
	})
	g.Expect(b.run("wait", "cloneset/ring").expects(g, command.OK)).To(ContainSubstring("✔ Success"))

	b = newBenchWith(t, only("shop"))
	b.tick(func(second int) {
		if second == 3 {
			g.Expect(b.kube.Create(context.Background(), declared("Success"))).To(Succeed())
		}
	})
	g.Expect(b.run("wait", "cloneset/ring").expects(g, command.OK)).To(ContainSubstring("✔ Success"), "the word before the slash is no namespace")

	for _, args := range [][]string{nil, {"--timeout=5s"}} {
		b = newBench(t)
		b.tick(func(int) {})
		answer := b.run(append([]string{"wait", "cloneset/ring"}, args...)...)
		g.Expect(answer.code).To(Equal(command.Failed))
		g.Expect(answer.err).To(ContainSubstring("there is no workload cloneset/ring in namespace shop"))
		g.Expect(b.clock.Since(now)).To(BeNumerically("<", 15*time.Second))
	}
}
